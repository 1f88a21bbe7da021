package import FoundationEssentials
package import IngestModel
package import SystemIO

/// Does with a recording what `--after` asks for, and only if it is still the very file that was uploaded.
///
/// A file can be exchanged for another between a look and a deletion. So it first gets a name that nobody else uses, is
/// looked at under that, and gets its own back if it is not the one. Done again after a sudden end it goes on from there.
package struct RecordingDisposal: Sendable {
    /// What became of it.
    package enum Outcome: Sendable {
        case carriedOut
        /// There was nothing left to do it with: somebody has taken the recording away, or an earlier try had done it.
        case gone
    }

    private let recording: FilePath
    private let identity: RecordingIdentity
    /// What the recording is called while it is looked at; also the beginning of the name of a copy that is being made.
    private let ownName: FileName
    private var aside: FilePath { recording.parent.appending(ownName) }

    /// - Parameters:
    ///   - recording: its path.
    ///   - identity: what was uploaded.
    ///   - id: the item's; nobody else uses names made of it.
    package init(recording: FilePath, identity: RecordingIdentity, id: UUID) {
        self.recording = recording
        self.identity = identity
        guard let name = FileName(".ingest-\(id.uuidString.lowercased())") else {
            preconditionFailure("a UUID makes a file name")
        }
        ownName = name
    }

    /// - Parameters:
    ///   - action: what is asked for.
    ///   - trash: where trash goes.
    /// - Returns: what became of it.
    /// - Throws: a `Fault` in words; the recording is then where it was.
    package func carryOut(_ action: AfterAction, trash: Trash) throws(Fault) -> Outcome {
        do {
            guard action != .keep, try takeAside() else { return .gone }
            try orPutBack {
                switch action {
                case .keep: break
                case .delete: try delete()
                case .trash: try trash.take(aside, as: recording)
                case .move(let directory): try move(into: directory)
                }
            }
            return .carriedOut
        } catch let fault as Fault {
            throw fault
        } catch {
            throw Fault(.fileSystem, "\(error)")
        }
    }

    /// Gives the recording its name back where a sudden end has left it without, for an item that is given up.
    package func restore() throws(SystemError) {
        if try FileSystem.statusIfExists(of: aside, following: false) != nil { try putBack() }
    }

    // MARK: - Out of others' way

    /// Gives the recording its other name. `false` if there is nothing left to do: it is gone.
    private func takeAside() throws -> Bool {
        // Taken by an earlier try; whoever has its old name by now is another.
        if try FileSystem.statusIfExists(of: aside, following: false) != nil {
            try orPutBack { try checkIsTheOne(aside) }
            return true
        }
        guard let status = try FileSystem.statusIfExists(of: recording, following: false) else { return false }
        if status.kind == .link {
            throw Fault(.notAFile, "it was reached through a symbolic link, and what that points to is left alone")
        }
        try checkIsTheOne(recording)
        try FileSystem.renameWithoutReplacing(recording, to: aside)
        try orPutBack { try checkIsTheOne(aside) }
        return true
    }

    private func checkIsTheOne(_ path: FilePath) throws(Fault) {
        let present = try Recording(path)
        guard try present.identity().isUnchanged(from: identity) else {
            throw Fault(.recordingChanged, "it is no longer the file that was uploaded, and is left alone")
        }
        if present.file.hasWriter() == true {
            throw Fault(.recordingChanged, "another program has it open for writing, and it is left alone")
        }
    }

    private func orPutBack(_ body: () throws -> Void) throws {
        do {
            try body()
        } catch {
            // What has gone its way meanwhile needs no name.
            if try FileSystem.statusIfExists(of: aside, following: false) != nil { try putBack() }
            throw error
        }
    }

    /// Under its own name, or the next that is free if another file has that by now.
    private func putBack() throws(SystemError) {
        guard let name = recording.name else { return }
        try name.withFreeName(in: recording.parent) { (path) throws(SystemError) in
            try FileSystem.renameWithoutReplacing(aside, to: path)
        }
    }

    private func delete() throws(SystemError) {
        try FileSystem.remove(aside)
        try FileSystem.synchroniseDirectory(aside.parent)
    }

    // MARK: - Moving

    private func move(into directory: FilePath) throws {
        guard let name = recording.name else { return }
        guard let status = try FileSystem.statusIfExists(of: directory), status.kind == .directory else {
            throw Fault(.fileSystem, "there is no directory \(directory.text) to move it to")
        }
        do throws(SystemError) {
            try name.withFreeName(in: directory) { (target) throws(SystemError) in
                try FileSystem.renameWithoutReplacing(aside, to: target)
            }
        } catch {
            guard error.isOtherFileSystem else { throw error }
            return try moveByCopying(into: directory, name)
        }
        try FileSystem.synchroniseDirectory(directory)
        try FileSystem.synchroniseDirectory(recording.parent)
    }

    private func moveByCopying(into directory: FilePath, _ name: FileName) throws {
        // Copied already, by somebody who came to a sudden end before the recording could go.
        if try !holds(name, in: directory) { try copy(as: name, into: directory) }
        try delete()
    }

    private func copy(as name: FileName, into directory: FilePath) throws {
        let part = directory.appending(ownName.appending(CachedName.partSuffix))
        // What an earlier try has left; the name is this item's alone.
        try FileSystem.removeIfExists(part)
        do {
            try fill(part)
            try name.withFreeName(in: directory) { (target) throws(SystemError) in
                try FileSystem.renameWithoutReplacing(part, to: target)
            }
            try FileSystem.synchroniseDirectory(directory)
        } catch {
            try FileSystem.removeIfExists(part)
            throw error
        }
    }

    private func fill(_ part: FilePath) throws {
        let source = try Recording(aside)
        let file = try FileSystem.open(part, .creating)
        let copied = try file.copy(from: source.file, size: source.size, progress: { _ in }, passing: { _ in })
        guard copied.count == source.size else {
            throw Fault(.recordingChanged, "it became shorter while it was moved")
        }
        try file.takeAttributes(from: source.file)
        try file.setModified(source.modified)
        try file.synchronise()
    }

    private func holds(_ name: FileName, in directory: FilePath) throws -> Bool {
        guard let there = Recording.identityIfPresent(at: directory.appending(name)) else { return false }
        return there.hasSameContent(as: identity) && there.modified == identity.modified
    }
}
