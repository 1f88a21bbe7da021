import Diagnostics
package import FolderWatch
import FoundationEssentials
package import IngestModel
import Synchronization
import SystemIO
import UploadList
import VideoCache

/// A folder that is watched, and what becomes of its recordings.
package struct WatchedFolder: Hashable, Sendable {
    package let path: FilePath
    package let rules: WatchRules
    package let destination: DestinationAddress
    package let options: ItemOptions

    package init(path: FilePath, rules: WatchRules, destination: DestinationAddress, options: ItemOptions) {
        self.path = path
        self.rules = rules
        self.destination = destination
        self.options = options
    }
}

/// Puts what is finished in a watched folder on the list, once; and says what is waited for.
package final class FolderKeeper: Sendable {
    private let context: PipelineContext
    private let folder: WatchedFolder
    private let supervisor: Supervisor
    private let say: @Sendable (String) -> Void
    private let groups: GroupKeeper
    private let trouble = Mutex<ContinuousClock.Instant?>(nil)
    /// Directories behind links of which it was said that `--after` leaves them alone.
    private let linked = Mutex<Set<FilePath>>([])

    private static let troubleInterval = Duration.seconds(300)
    /// Seconds until a recording is looked at again that cannot be decided on yet.
    private static let indecision = 2.0
    private static let glance = 0.1

    /// - Parameters:
    ///   - context: list and cache.
    ///   - folder: what is watched.
    ///   - supervisor: works on the items.
    ///   - say: a sentence for a person.
    package init(
        context: PipelineContext, folder: WatchedFolder, supervisor: Supervisor,
        say: @escaping @Sendable (String) -> Void
    ) {
        self.context = context
        self.folder = folder
        self.supervisor = supervisor
        self.say = say
        groups = GroupKeeper(list: context.list, destination: folder.destination, now: context.now)
    }

    /// Watches until the task is cancelled.
    package func run() async throws {
        try await adoptHeld()
        let watch = try FolderWatch(folder.path, rules: folder.rules, observer: self)
        let forgetting = Task { await self.noticeForgetting(watch) }
        defer { forgetting.cancel() }
        context.changedRecordings.watch(folder.path) { watch.look(at: $0) }
        defer { context.changedRecordings.stopWatching(folder.path) }
        defer { context.recorders.note(folder.path, isAtWork: false) }
        try await watch.run()
    }

    /// What `--after` still owes to recordings of this folder is done as it is asked for now, or not at all.
    private func adoptHeld() async throws {
        let (root, now) = (folder.path, folder.options)
        let stays = [now.keepsFor, max(now.keepsFor ?? 0, Self.unprovenStay)]
        var last = ItemID(0)
        while true {
            let page = try await context.list.held(to: folder.destination, after: last, limit: 500)
            guard let end = page.last else { return }
            last = end.id
            for item in page where item.options.isWatched == true && item.recording.isWithin(root) {
                let isSame =
                    item.options.after == now.after && item.options.freesBelow == now.freesBelow
                    && stays.contains(item.options.keepsFor)
                if !isSame { try await adopt(item.id, now) }
            }
        }
    }

    private func adopt(_ id: ItemID, _ options: ItemOptions) async throws {
        guard let lock = try ItemLock.take(id, in: context.list) else { return }
        defer { withExtendedLifetime(lock) {} }
        guard let item = try await context.list.item(id) else { return }
        let event = ItemLife.Event.disposalChanged(
            options.after, keepsFor: options.keepsFor, freesBelow: options.freesBelow)
        _ = try await context.commit(event, to: item)
    }

    /// Whoever has recordings forgotten wants them to be brought again.
    private func noticeForgetting(_ watch: FolderWatch) async {
        let changes = await supervisor.changesByOthers()
        var version = try? await context.list.seenVersion()
        for await _ in changes {
            guard let present = try? await context.list.seenVersion() else { continue }
            if version != present { watch.lookAgain() }
            version = present
        }
    }

    // MARK: - Finished

    /// What to do with a recording that is finished.
    private func takeUp(_ recording: FinishedRecording) async throws -> Taking {
        let (path, status) = (recording.path, recording.status)
        // What has gone, or is another one by now, is looked at again.
        guard let identity = try await offPool({ _ in Recording.identityIfPresent(at: path) }),
            identity.device == status.device, identity.inode == status.inode, identity.size == status.size,
            identity.modified == status.modified
        else { return .later(Self.glance) }
        let place = place(of: path)
        if let taking = try await settleOpenItems(recording, identity) {
            return taking == .settled ? groups.settled(place) : taking
        }
        let (meeting, file, known) = try await meet(path, identity, finished: recording)
        if case .known(let taking) = meeting {
            // Two clips may have equal metadata: each goes with its own.
            let isOwn = try await groups.isWanted(path, place, identity)
            if !isOwn || taking != .settled {
                context.log.info("it is known, and left alone", ["file": path.text])
                return taking == .settled ? groups.settled(place) : taking
            }
        }
        var options = carefulOptions(for: recording)
        var group: UploadList.NewGroup?
        if let place {
            let isKnown = { @Sendable (path: FilePath) in try await self.isKnown(path) }
            switch try await groups.membership(of: path, place, isKnown: isKnown) {
            case .leads(let found): group = found
            case .follows(let found):
                group = found
                // What belongs to a recording is not encoded, and may say where it was made.
                options.preparation = options.preparation == .link ? .link : .copy
                if options.stripsLocation == true { return .settled }
            case .nobodyLeads: return .follows(place.group)
            }
        }
        let isNew = try await context.list.addUnlessKnown(
            UploadList.NewItem(
                recording: path, identity: file, destination: folder.destination, options: options,
                takenNames: try context.cache.names(), group: group),
            besides: known, now: context.now())
        context.crashPoints.reach(.afterEnqueue)
        if !isNew { return .later(Self.indecision) }
        await supervisor.lookNow()
        return groups.settled(place)
    }

    /// The folder's, made more careful where taking the recording away could take more than was meant.
    private func carefulOptions(for recording: FinishedRecording) -> ItemOptions {
        var options = folder.options
        guard options.after != nil else { return options }
        let path = recording.path
        if (try? FileSystem.resolved(path)) != path {
            options.after = nil
            if linked.withLock({ $0.insert(path.parent).inserted }) {
                say(
                    "\(path.parent.text.printable) is reached through a symbolic link, or what lies there is one; “--after” "
                        + "takes nothing away beyond links")
            }
        } else if !recording.isProven, RecordingPlace(path)?.role.isCompanion != true,
            options.freesBelow == nil || options.keepsFor != nil
        {
            // Its writer may only have closed it for a while.
            options.keepsFor = max(options.keepsFor ?? 0, Self.unprovenStay)
        }
        return options
    }

    /// `nil` for what was put on the list by hand, which keeps what it was given there.
    private func renewedOptions(of item: Item, _ recording: FinishedRecording) -> ItemOptions? {
        guard item.options.isWatched == true else { return nil }
        var options = carefulOptions(for: recording)
        // What goes with a recording is copied, whatever becomes of that.
        if item.state != .waiting { options.preparation = item.options.preparation }
        return options
    }

    /// Seconds for which a recording stays of which nothing proves that it is complete.
    private static let unprovenStay = 60.0

    private func place(of path: FilePath) -> RecordingPlace? { folder.rules.groups ? RecordingPlace(path) : nil }

    private func isKnown(_ path: FilePath) async throws -> Bool {
        let identity = try await offPool { _ in Recording.identityIfPresent(at: path) }
        guard let identity, case .known(.settled) = try await meet(path, identity).meeting else { return false }
        return true
    }

    /// Items of this path that are on their way, or wait; `nil` if the recording is none of theirs.
    private func settleOpenItems(
        _ recording: FinishedRecording, _ identity: RecordingIdentity
    ) async throws -> Taking? {
        let path = recording.path
        for item in try await context.list.open(at: path, to: folder.destination) {
            let isLost = item.fault?.code == .recordingMissing
            if item.state != .waiting, !isLost, item.identity.isUnchanged(from: identity) { return .settled }
            if item.seal == nil {
                let (meeting, _, known) = try await meet(path, identity, finished: recording, besides: item.id)
                if case .known(.later(let seconds)) = meeting { return .later(seconds) }
                guard let lock = try ItemLock.take(item.id, in: context.list) else { return .later(Self.indecision) }
                defer { withExtendedLifetime(lock) {} }
                guard let current = try await context.list.item(item.id) else { return .later(0) }
                if case .known(let taking) = meeting {
                    if current.cleanup == .pending { return .later(Self.indecision) }
                    // What it was meant for is not here any more.
                    _ = try await context.commit(.waited(Fault(.notFinished, "it is known")), to: current)
                    try await context.list.forgetWaiting(item.id)
                    return taking
                }
                let event = ItemLife.Event.renewed(identity, renewedOptions(of: current, recording))
                let renewed = try await context.list.commit(
                    ItemLife.apply(event, to: current, at: context.now()), of: current, unlessKnownBesides: known)
                await supervisor.lookNow()
                return renewed?.identity == identity ? .settled : .later(Self.indecision)
            }
            switch try await isStill(item, path, identity) {
            case .known: return .settled
            case .needsDigest: return .later(Self.indecision)
            case .stranger: break
            }
            let isLink = item.seal?.isLink == true
            let check = try await offPool { _ in Recording.check(path, against: item.identity, isLink: isLink) }
            if check == .withdraw {
                await supervisor.reconsider(item.id)
                return .later(Self.indecision)
            }
        }
        return nil
    }

    /// Whether the recording has the bytes that the copy of an item was made of.
    private func isStill(_ item: Item, _ path: FilePath, _ identity: RecordingIdentity) async throws -> Acquaintance {
        guard item.identity.hasSameContent(as: identity) else { return .stranger }
        if item.identity.modified == identity.modified || Fingerprint.coversAll(of: identity.size) { return .known }
        guard let digest = item.identity.sha256 else { return .needsDigest }
        return try await offPool { stop in try Recording(path).digest(stop: stop) } == digest ? .known : .stranger
    }

    /// What has been found out about a recording.
    private enum Meeting {
        case stranger
        /// Its bytes have been dealt with, or are on their way.
        case known(Taking)
    }

    /// Whether the bytes have been dealt with, or are on their way, under whatever name.
    ///
    /// - Parameters:
    ///   - path: where the recording lies.
    ///   - identity: what it is.
    ///   - recording: the same, if it is finished; then items whose own recording is gone go on with this one.
    ///   - own: the item of this recording.
    /// - Returns: that; the identity, with its digest if that was taken; and which items and recordings it was held against.
    /// - Throws: `Fault`, or what the list throws.
    private func meet(
        _ path: FilePath, _ identity: RecordingIdentity, finished recording: FinishedRecording? = nil,
        besides own: ItemID? = nil
    ) async throws -> (meeting: Meeting, file: RecordingIdentity, known: UploadList.Known) {
        var file = identity
        let open = try await context.list.items(like: identity, to: folder.destination).filter { $0.id != own }
        let seen = try await context.list.seen(like: identity, at: path, to: folder.destination)
        let all = UploadList.Known(items: Set(open.map { $0.id }), newestSeen: seen.first?.number)
        for known in open.map({ $0.identity }) + seen.map({ $0.identity }) {
            var answer = Acquaintance.compare(file, with: known)
            if !known.isRead, known.isSameInode(as: file) { answer = .known }
            if answer == .needsDigest {
                file.sha256 = try await offPool { stop in try Recording(path).digest(stop: stop) }
                answer = Acquaintance.compare(file, with: known)
            }
            if answer == .known {
                return (.known(try await meetAgain(path, file, recording, open, seen)), file, all)
            }
        }
        // One of the same size and pieces whose bytes are not all read yet decides when they are.
        for item in open where item.identity.sha256 == nil && Self.isOnItsWay(item) {
            guard Self.isUnread(item), try await isGone(item) else {
                return (.known(.later(Self.indecision)), file, all)
            }
            // Whoever typed a name meant that file.
            guard item.options.isWatched == true else { continue }
            // Never read and gone: either moved, and met in its own right where it is now, or lost. This one is as good.
            let isMoved = if let recording { try await move(item, to: recording, file, isProven: false) } else { false }
            return (.known(isMoved ? .settled : .later(Self.indecision)), file, all)
        }
        return (.stranger, file, all)
    }

    private static func isUnread(_ item: Item) -> Bool { item.seal == nil && item.identity.sha256 == nil }

    private static func isOnItsWay(_ item: Item) -> Bool { item.state.isRunnable || item.state == .paused }

    /// Whether an item's recording is not where it was, or another one stands there.
    private func isGone(_ item: Item) async throws -> Bool {
        let there = try await offPool { _ in Recording.identityIfPresent(at: item.recording) }
        return there.map { !$0.hasSameContent(as: item.identity) } ?? true
    }

    /// A recording that is known has another name or another time.
    ///
    /// - Returns: whether that is all; as long as an item has not copied it from elsewhere, it may be needed.
    private func meetAgain(
        _ path: FilePath, _ file: RecordingIdentity, _ recording: FinishedRecording?, _ open: [Item],
        _ seen: [SeenRecording]
    ) async throws -> Taking {
        var taking = Taking.settled
        for item in open where Acquaintance.compare(file, with: item.identity) == .known && item.recording != path {
            let isUncopied = item.seal == nil && !item.isItsOwnRecording
            if isUncopied { taking = .later(Self.indecision) }
            guard let recording, try await isGone(item) else { continue }
            if try await !move(item, to: recording, file, isProven: true) { taking = .later(Self.indecision) }
        }
        guard file.sha256 != nil, let known = seen.first(where: { $0.identity.hasSameContent(as: file) }),
            !seen.contains(where: { $0.identity.modified == file.modified })
        else { return taking }
        try await context.list.note(file, at: path, like: known, now: context.now())
        return taking
    }

    /// Lets an item go on with this file instead of the one that is gone. `isProven`: all their bytes are the same.
    ///
    /// - Returns: `false` if somebody is at work on the item, or has read meanwhile what this file was not held against.
    private func move(
        _ item: Item, to recording: FinishedRecording, _ file: RecordingIdentity, isProven: Bool
    ) async throws -> Bool {
        guard let lock = try ItemLock.take(item.id, in: context.list) else { return false }
        defer { withExtendedLifetime(lock) {} }
        guard let current = try await context.list.item(item.id) else { return isProven }
        guard isProven || Self.isUnread(current) else { return false }
        guard let moved = try await context.commit(.relocated(recording.path), to: current), moved.seal == nil else {
            return true
        }
        var now = file
        now.sha256 = nil
        // It may have failed for want of its recording.
        _ = try await context.commit(.renewed(now, renewedOptions(of: moved, recording)), to: moved)
        await supervisor.lookNow()
        return true
    }

    // MARK: - Waiting

    /// `false` if it has to be noted later, because somebody is at work on its item.
    private func note(_ path: FilePath, waitsFor reason: WaitingReason) async throws -> Bool {
        guard let status = try FileSystem.statusIfExists(of: path) else { return true }
        let identity = RecordingIdentity.unread(
            device: status.device, inode: status.inode, size: status.size, modified: status.modified)
        let seen = try await context.list.seen(like: identity, at: path, to: folder.destination)
        if seen.contains(where: { !$0.identity.isRead && $0.identity.isSameInode(as: identity) }) { return true }
        // Somebody has brought it as it is.
        if reason != .writer, try await isKnown(path) { return true }
        var group: UploadList.NewGroup?
        if let place = place(of: path) {
            let membership = try await groups.membership(of: path, place) { _ in false }
            // What only goes with a recording is not waited for by itself.
            guard case .leads(let found) = membership else { return true }
            group = found
        }
        let item = try await context.list.addWaiting(
            UploadList.NewItem(
                recording: path, identity: identity, destination: folder.destination, options: folder.options,
                takenNames: try context.cache.names(), state: .waiting, group: group),
            now: context.now())
        guard Self.mayWait(item) else { return item.seal != nil || item.state != .preparing }
        let fault = Fault(reason.isLasting ? .incomplete : .notFinished, reason.words, retry: .later(after: nil))
        if item.state == .waiting, item.fault == fault { return true }
        guard let lock = try ItemLock.take(item.id, in: context.list) else { return false }
        defer { withExtendedLifetime(lock) {} }
        if let current = try await context.list.item(item.id), Self.mayWait(current) {
            _ = try await context.commit(.waited(fault), to: current)
        }
        return true
    }

    /// Whether it waits, or was finished and is written again before it was copied.
    private static func mayWait(_ item: Item) -> Bool {
        item.state == .waiting || item.state == .queued && item.seal == nil && item.options.isWatched == true
    }

    private func forgetWaiting(_ isMeant: @Sendable (Item) -> Bool) async throws {
        for item in try await context.list.waiting(to: folder.destination) where isMeant(item) {
            try await context.list.forgetWaiting(item.id)
        }
    }

    // MARK: - On the folder's thread

    /// Waits for work on the list; what goes wrong with it is told now and then.
    private func block<Value: Sendable>(_ otherwise: Value, on work: @escaping @Sendable () async throws -> Value)
        -> Value
    {
        do {
            return try Waiting.block(on: work)
        } catch {
            let isNews = trouble.withLock { last in
                let isNews = last.map { ContinuousClock.now - $0 > Self.troubleInterval } ?? true
                if isNews { last = .now }
                return isNews
            }
            if isNews { say("recordings cannot be put on the list for now: \(error)") }
            return otherwise
        }
    }
}

extension FolderKeeper: FolderObserver {
    package func take(_ recording: FinishedRecording) -> Taking {
        block(.later(Self.indecision)) { try await self.takeUp(recording) }
    }

    package func waits(_ path: FilePath, for reason: WaitingReason) -> Bool {
        block(false) { try await self.note(path, waitsFor: reason) }
    }

    package func isGone(_ path: FilePath) {
        block(()) { try await self.forgetWaiting { $0.recording == path } }
    }

    package func hasScanned(waiting: Set<FilePath>) {
        let root = folder.path
        block(()) { try await self.forgetWaiting { $0.recording.isWithin(root) && !waiting.contains($0.recording) } }
    }

    package func notice(_ notice: FolderNotice) {
        let name = folder.path.text.printable
        switch notice {
        case .isGone: say("\(name) is not there; it is waited for")
        case .isBack: say("\(name) is there")
        case .watchLimit(let limit, let directory):
            let number = limit.map { " (\($0))" } ?? ""
            let wanted = max(524_288, (limit ?? 0) * 2)
            say(
                "this user's watches are used up\(number), so \(directory.text.printable) and others are looked at every "
                    + "few seconds instead; “sysctl fs.inotify.max_user_watches=\(wanted)” gives more")
        case .isPolled(let directory):
            say(
                "\(directory.text.printable) lies on a network file system, which tells no news; it is looked at every few "
                    + "seconds")
        case .isUnreadable(let directory, let reason): say("\(directory.text.printable) cannot be listed: \(reason)")
        case .isReceived(let directory):
            say("\(directory.text.printable) holds what a receiver has received; it is left alone")
        case .hasLostEvents: context.log.info("events were lost; everything is looked at", ["folder": name])
        }
    }

    package func isBeingWritten(_ isWritten: Bool) {
        context.recorders.note(folder.path, isAtWork: isWritten)
    }
}
