import FolderWatch
import FoundationEssentials
import IngestModel
import SystemIO
import UploadList

/// Which files are one recording, and so go as one: chapters, and what lies beside a clip.
struct GroupKeeper {
    let list: UploadList
    let destination: DestinationAddress
    let now: @Sendable () -> Date

    enum Membership: Sendable {
        /// A recording by itself.
        case leads(UploadList.NewGroup)
        /// It goes with a recording that has been taken.
        case follows(UploadList.NewGroup)
        /// It would go with a recording, but none has been taken.
        case nobodyLeads
    }

    /// Seconds for which a recording that is done and gone still has its group: its last chapter may be written only then.
    private static let memory = 86_400.0

    /// - Parameters:
    ///   - path: the file's.
    ///   - place: what its path tells.
    ///   - isKnown: whether the file at a path has been brought before.
    /// - Returns: what it is in its group.
    /// - Throws: what the list throws.
    func membership(
        of path: FilePath, _ place: RecordingPlace, isKnown: @Sendable (FilePath) async throws -> Bool
    ) async throws -> Membership {
        let members = try await members(of: place.group).filter { $0.recording != path }
        let group = UploadList.NewGroup(
            key: place.group.key, id: members.first?.group ?? UUID(), seconds: members.last?.addedSeconds)
        if case .clip = place.role { return .leads(group) }
        let roles = members.map { $0.state == .waiting ? nil : RecordingPlace($0.recording)?.role }
        let others = try await offPool { _ in Self.files(of: place.group) }.filter { $0.path != path }
        if place.role.leads(among: others.map { $0.role }) { return .leads(group) }
        let leaders = others.filter { $0.role.leads(among: others.map { $0.role }) }
        // A sound that leads by itself does not lead another one.
        if roles.contains(where: { $0?.leads(among: []) == true && $0 != place.role }) { return .follows(group) }
        for leader in leaders where try await isKnown(leader.path) { return .follows(group) }
        return .nobodyLeads
    }

    /// Whether a file that only goes with a recording goes although its bytes are known: its own recording has been taken here, and
    /// nothing with these bytes has gone with it, or been given up.
    func isWanted(_ path: FilePath, _ place: RecordingPlace?, _ identity: RecordingIdentity) async throws -> Bool {
        guard let place, place.role.isCompanion else { return false }
        let members = try await members(of: place.group)
        guard
            members.contains(where: { RecordingPlace($0.recording)?.role.isCompanion == false && $0.state != .waiting })
        else { return false }
        let dealtWith = try await list.seen(like: identity, at: path, to: destination).map { $0.recording }
        let underWay = members.filter { $0.identity.hasSameContent(as: identity) }.map { $0.recording }
        return !(dealtWith + underWay).contains { RecordingPlace($0)?.group == place.group }
    }

    /// What to tell the folder of a file that needs no more: whether others go with it.
    func settled(_ place: RecordingPlace?) -> Taking {
        guard let place, !place.role.isCompanion else { return .settled }
        return .leads(place.group)
    }

    /// The items of the recording that has this name now: there may have been others before, which a camera has named the
    /// same. The newest first.
    private func members(of group: RecordingGroup) async throws -> [Item] {
        let moment = now()
        let items = try await list.members(ofGroup: group.key, to: destination)
        guard let newest = items.first else { return [] }
        let isPresent = try await offPool { _ in Self.isPresent(newest, at: moment) }
        return isPresent ? items.filter { $0.group == newest.group } : []
    }

    private static func isPresent(_ item: Item, at now: Date) -> Bool {
        guard let status = try? FileSystem.statusIfExists(of: item.recording) else {
            return now.timeIntervalSince(item.updated) < memory
        }
        guard status.device == item.identity.device, status.inode == item.identity.inode else { return false }
        return item.state == .waiting || status.size == item.identity.size && status.modified == item.identity.modified
    }

    /// The files of the group as they lie there.
    private static func files(of group: RecordingGroup) -> [(path: FilePath, role: RecordingRole)] {
        var directories = [group.directory]
        if group.isOnCard {
            directories = ((try? FileSystem.names(in: group.directory)) ?? []).map { group.directory.appending($0) }
        }
        return directories.flatMap { directory in
            ((try? FileSystem.names(in: directory)) ?? []).compactMap { name in
                if let beginning = group.beginning, !name.bytes.starts(with: beginning) { return nil }
                let path = directory.appending(name)
                guard let place = RecordingPlace(path), place.group == group else { return nil }
                return (path, place.role)
            }
        }
    }
}
