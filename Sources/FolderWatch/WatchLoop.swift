import IngestModel
import SystemIO

/// The thread of a watched folder: hears events, lists directories, looks at candidates, sleeps.
final class WatchLoop {
    private typealias Instant = ContinuousClock.Instant

    private let root: FilePath
    private let rules: WatchRules
    private let observer: any FolderObserver
    private let orders: WatchOrders
    private let stop: StopFlag
    private let wakeUp: WakeUp
    private let events: DirectoryEvents
    private let mounts = MountWatch()

    private var table = DirectoryTable()
    private var candidates: [FilePath: Candidate] = [:]
    /// Files that need no look as long as they are what they are; and those met in the scan that is under way.
    private var settled: Set<FileSignature> = []
    private var met: Set<FileSignature> = []
    /// Files that are left alone until there is a recording that they go with.
    private var followers: [RecordingGroup: Set<FilePath>] = [:]
    /// Hashes of directories that have gone: what comes back may be needed, its items may have looked for it meanwhile.
    private var gone: Set<Int> = []
    /// Directories still to be listed; the last one is next.
    private var toList: [FilePath] = []
    /// Links to directories that were followed.
    private var links: Set<FilePath> = []
    /// Full scans are numbered.
    private var scan = 0
    private var isScanning = false
    private var nextScan = Instant.now
    private var nextPoll = Instant.now
    /// How long listing has taken since the last round began.
    private var timeListing = Duration.zero
    private var nextLookAtRoot = Instant.now
    /// What the root is, once it has been there.
    private var rootPlace: DirectoryTable.Place?
    private var wasToldOfAbsence = false
    private var wasToldOfLimit = false
    private var wasToldOfNetwork = false
    private var unreadable: Set<FilePath> = []
    private var stores: Set<FilePath> = []
    private var wasWritten = false

    private static let rootInterval = Duration.seconds(1)
    /// Mounting is several changes.
    private static let mountDelay = Duration.milliseconds(200)
    /// The share of time that polling may take: 1 / 50.
    private static let pollShare = 50

    init(
        _ root: FilePath, _ rules: WatchRules, _ observer: any FolderObserver, orders: WatchOrders, stop: StopFlag,
        wakeUp: WakeUp
    ) throws(SystemError) {
        self.root = root
        self.rules = rules
        self.observer = observer
        self.orders = orders
        self.stop = stop
        self.wakeUp = wakeUp
        events = try DirectoryEvents()
    }

    func run() throws {
        while !stop.isSet {
            if orders.takeForget() {
                settled = []
                met = []
                nextScan = .now
            }
            for path in orders.takePaths() where path.isWithin(root) { meet(path, isNews: true) }
            lookAtRoot()
            try hear()
            unsettleGone()
            startDueScans()
            lookAtCandidates()
            if listOne() { continue }
            if Waiting.wait(events, mounts, wakeUp, atMost: pause) { nextScan = min(nextScan, .now + Self.mountDelay) }
        }
    }

    /// How long nothing is due.
    private var pause: Duration {
        var next = min(nextScan, nextLookAtRoot)
        if table.hasPolled { next = min(next, nextPoll) }
        for candidate in candidates.values {
            next = min(next, candidate.due)
            if let news = candidate.nextNews { next = min(next, news) }
        }
        return next - .now
    }

    // MARK: - The folder itself

    private func lookAtRoot() {
        guard nextLookAtRoot <= .now else { return }
        nextLookAtRoot = .now + Self.rootInterval
        guard let status = try? FileSystem.status(of: root), status.kind == .directory else {
            if rootPlace != nil { forget(root) }
            rootPlace = nil
            if !wasToldOfAbsence { observer.notice(.isGone) }
            wasToldOfAbsence = true
            return
        }
        let place = DirectoryTable.Place(status)
        if place == rootPlace { return }
        if rootPlace != nil { forget(root) }
        rootPlace = place
        nextScan = .now
        if wasToldOfAbsence { observer.notice(.isBack) }
        wasToldOfAbsence = false
    }

    // MARK: - Events

    private func hear() throws {
        while true {
            let heard = try events.read()
            if heard.isEmpty { return }
            for event in heard { hear(event) }
        }
    }

    private func hear(_ event: DirectoryEvents.Event) {
        if event.kind == .hasLost {
            observer.notice(.hasLostEvents)
            nextScan = .now
            return
        }
        guard let directory = table.path(ofWatch: event.watch) else { return }
        switch event.kind {
        case .ended:
            table.remove(watch: event.watch)
            gone.insert(directory.hashValue)
            if directory == root { nextLookAtRoot = .now }
        case .selfMoved:
            // Where it has gone to its new parent tells, if that is watched.
            if directory == root { nextLookAtRoot = .now } else { forget(directory) }
        case .appeared, .changed, .deleted, .movedAway:
            if let name = event.name { hear(event.kind, of: directory.appending(name), event.isDirectory) }
        case .hasLost: break
        }
    }

    private func hear(_ kind: DirectoryEvents.Event.Kind, of path: FilePath, _ isDirectory: Bool) {
        switch (kind, isDirectory) {
        case (.movedAway, true): forget(path)
        // It was empty, and its own watch ends by itself.
        case (.deleted, true): break
        case (.movedAway, false), (.deleted, false):
            drop(path)
            forgetLinked(path)
        // A directory whose permissions have changed may have become readable.
        case (.changed, true): if unreadable.remove(path) != nil { toList.append(path) }
        default:
            forgetLinked(path)
            meet(path, isNews: true)
        }
    }

    /// What a link to a directory led to may be reached by another one, of which nothing was made.
    private func forgetLinked(_ link: FilePath) {
        guard links.remove(link) != nil else { return }
        forget(link)
        nextScan = min(nextScan, .now + Self.mountDelay)
    }

    /// The directory and all below it are no longer where they were.
    private func forget(_ directory: FilePath) {
        gone.formUnion(table.paths(within: directory).map { $0.hashValue })
        for watch in table.removeAll(where: { $0.path.isWithin(directory) }) { events.stop(watch) }
        toList.removeAll { $0.isWithin(directory) }
        followers = followers.filter { !$0.key.directory.isWithin(directory) }
        unreadable = unreadable.filter { !$0.isWithin(directory) }
        for path in candidates.keys where path.isWithin(directory) { drop(path) }
    }

    private func drop(_ path: FilePath) {
        if candidates.removeValue(forKey: path)?.told != nil { observer.isGone(path) }
    }

    private func unsettleGone() {
        if gone.isEmpty { return }
        settled = settled.filter { !gone.contains($0.directory) }
        met = met.filter { !gone.contains($0.directory) }
        gone = []
    }

    // MARK: - Listing

    private func startDueScans() {
        if nextScan <= .now, rootPlace != nil {
            scan += 1
            isScanning = true
            met = []
            toList = [root]
            timeListing = .zero
            nextScan = .now + .seconds(rules.scanInterval)
        } else if nextPoll <= .now, table.hasPolled, toList.isEmpty {
            toList = table.polled
            timeListing = .zero
            nextPoll = .now + .seconds(rules.pollInterval)
        } else if nextScan <= .now {
            nextScan = .now + .seconds(rules.scanInterval)
        }
    }

    /// Lists one directory, if one is to be listed; its files are looked at before the next one.
    private func listOne() -> Bool {
        guard let directory = toList.popLast() else {
            if isScanning { endScan() }
            return false
        }
        let began = Instant.now
        list(directory)
        timeListing += .now - began
        nextPoll = max(nextPoll, .now + timeListing * Self.pollShare)
        return true
    }

    private func endScan() {
        isScanning = false
        settled = met
        met = []
        for watch in table.removeAll(where: { $0.scan != scan }) { events.stop(watch) }
        for path in candidates.keys where !FileSystem.exists(path) { drop(path) }
        observer.hasScanned(waiting: Set(candidates.keys))
    }

    private func list(_ directory: FilePath) {
        // Watched before it is listed: what comes in between is met twice rather than never.
        guard watch(directory) else { return }
        do {
            let names = try FileSystem.names(in: directory)
            unreadable.remove(directory)
            for name in names { meet(directory.appending(name)) }
        } catch {
            tellUnreadable(directory, error)
        }
    }

    /// `false` for a directory that is gone, known by another name, or ours.
    private func watch(_ directory: FilePath) -> Bool {
        guard let status = try? FileSystem.status(of: directory), status.kind == .directory else { return false }
        if let real = try? FileSystem.resolved(directory), rules.own.contains(real) { return false }
        // What a receiver keeps has arrived already; unless it is meant, to be handed on.
        if directory != root, FileSystem.exists(directory.appending(".ingest")) {
            if stores.insert(directory).inserted { observer.notice(.isReceived(directory)) }
            return false
        }
        let place = DirectoryTable.Place(status)
        if let known = table[place], known.path != directory {
            // A link, or a loop of links.
            if isSame(known.path, place) { return false }
            // It has been moved, and the news of that is still to come.
            if let watch = known.watch { events.stop(watch) }
        }
        do {
            let watch = rules.polls || isRemote(directory) ? nil : try events.watch(directory)
            table.note(place, DirectoryTable.Entry(path: directory, watch: watch, scan: scan))
        } catch {
            if error.isNotFound { return false }
            table.note(place, DirectoryTable.Entry(path: directory, watch: nil, scan: scan))
            if error.isWatchLimit, !wasToldOfLimit {
                wasToldOfLimit = true
                observer.notice(.watchLimit(DirectoryEvents.limit(), from: directory))
            }
        }
        return true
    }

    private func isSame(_ path: FilePath, _ place: DirectoryTable.Place) -> Bool {
        (try? FileSystem.status(of: path)).map { DirectoryTable.Place($0) == place } ?? false
    }

    private func isRemote(_ directory: FilePath) -> Bool {
        guard let opened = try? FileSystem.open(directory, .directory), opened.isOnNetworkFileSystem() else {
            return false
        }
        if !wasToldOfNetwork { observer.notice(.isPolled(directory)) }
        wasToldOfNetwork = true
        return true
    }

    private func tellUnreadable(_ path: FilePath, _ error: SystemError) {
        if error.isNotFound { return }
        if unreadable.insert(path).inserted { observer.notice(.isUnreadable(path, reason: error.meaning)) }
    }

    /// Something stands at the path; `isNews`: and something has happened to it.
    private func meet(_ path: FilePath, isNews: Bool = false) {
        guard let below = path.relative(to: root), let status = try? FileSystem.status(of: path, following: false)
        else {
            return
        }
        switch status.kind {
        case .directory:
            // One that is known is listed by itself.
            let isKnown = table[DirectoryTable.Place(status)]?.path == path
            if isScanning || !isKnown, rules.entersDirectory(below) { toList.append(path) }
        case .regular: if rules.admits(below) { consider(path, status, isNews) }
        case .link: meetLink(path, below, isNews)
        case .other: break
        }
    }

    private func meetLink(_ path: FilePath, _ below: FilePath, _ isNews: Bool) {
        // A link that leads nowhere is looked at again with everything else.
        guard let status = try? FileSystem.status(of: path) else { return }
        switch status.kind {
        // Last, so that what lies in the folder itself is known by its own path.
        case .directory:
            if rules.entersDirectory(below) {
                links.insert(path)
                toList.insert(path, at: 0)
            }
        case .regular: if rules.admits(below) { consider(path, status, isNews) }
        case .link, .other: break
        }
    }

    private func consider(_ path: FilePath, _ status: FileStatus, _ isNews: Bool) {
        let signature = FileSignature(status, at: path)
        // Times are only as fine as the kernel's ticks: news of a file that seems to be what it was may be of a change.
        if !isNews, settled.contains(signature) || met.contains(signature) {
            if isScanning { met.insert(signature) }
            return drop(path)
        }
        if status.size < rules.smallest { return drop(path) }
        var candidate = candidates[path] ?? Candidate(at: .now)
        candidate.due = .now
        candidate.heardAt = .now
        candidates[path] = candidate
    }

    // MARK: - Candidates

    private func lookAtCandidates() {
        let now = Instant.now
        for path in candidates.filter({ $0.value.due <= now }).keys.sorted(by: { $0.text < $1.text }) {
            if stop.isSet { return }
            look(at: path)
        }
        for path in candidates.filter({ $0.value.nextNews.map { $0 <= now } ?? false }).keys {
            guard let reason = candidates[path]?.newsToTell(at: .now) else { continue }
            if !observer.waits(path, for: reason) { candidates[path]?.told?.reason = nil }
        }
        let isWritten = candidates.values.contains { $0.isBeingWritten }
        if isWritten != wasWritten { observer.isBeingWritten(isWritten) }
        wasWritten = isWritten
    }

    private func look(at path: FilePath) {
        guard var candidate = candidates[path] else { return }
        let opened: OpenCandidate
        do {
            opened = try OpenCandidate(path)
        } catch {
            if error.isNotFound { return drop(path) }
            return wait(
                path, candidate, for: .passing("it cannot be read: \(error.meaning)"), seconds: rules.pollInterval)
        }
        guard opened.status.kind == .regular else { return drop(path) }
        let signature = FileSignature(opened.status, at: path)
        if candidate.signature != signature {
            candidate.signature = signature
            candidate.quietSince = .now
        }
        if let partner = partner(of: path) {
            return wait(path, candidate, for: .passing("“\(partner.text.printable)” stands beside it"), seconds: 1)
        }
        let quietFor = (.now - candidate.quietSince) / .seconds(1)
        switch Readiness.judge(opened.look(quietFor: quietFor), rules) {
        case .waits(let reason, let seconds):
            // The kernel tells of a close a moment before it ceases to count the writer.
            let isFresh = reason == .writer && .now - candidate.heardAt < Candidate.freshness
            wait(path, candidate, for: reason, seconds: isFresh ? 0.01 : seconds)
        case .finished(let isProven):
            guard opened.isUnchanged() else { return wait(path, candidate, for: .writer, seconds: 0.1) }
            // Source code and camera files share some extensions; no recording is text.
            if !isProven, !isNamed(path), opened.isText {
                drop(path)
                return settle(path, signature)
            }
            take(FinishedRecording(path: path, status: opened.status, isProven: isProven), candidate, signature)
        }
    }

    private func wait(_ path: FilePath, _ candidate: Candidate, for reason: WaitingReason, seconds: Double) {
        var candidate = candidate
        candidate.reason = reason
        candidate.due = .now + .seconds(seconds)
        candidates[path] = candidate
    }

    /// Whether somebody has said that such files are meant, or it goes with a recording, whatever it holds.
    private func isNamed(_ path: FilePath) -> Bool {
        !rules.includes.isEmpty || RecordingPlace(path)?.role.isCompanion == true
    }

    private func take(_ recording: FinishedRecording, _ candidate: Candidate, _ signature: FileSignature) {
        let path = recording.path
        switch observer.take(recording) {
        case .settled: settle(path, signature)
        case .leads(let group):
            settle(path, signature)
            meetFollowers(of: group)
        case .follows(let group):
            settle(path, signature)
            followers[group, default: []].insert(path)
        case .later(let seconds):
            var candidate = candidate
            candidate.due = .now + .seconds(seconds)
            candidate.reason = nil
            candidates[path] = candidate
        }
    }

    private func settle(_ path: FilePath, _ signature: FileSignature) {
        candidates[path] = nil
        settled.insert(signature)
        if isScanning { met.insert(signature) }
    }

    /// Files that were left alone until now go with a recording that has been taken.
    private func meetFollowers(of group: RecordingGroup) {
        for path in followers.removeValue(forKey: group) ?? [] { meet(path, isNews: true) }
    }

    /// The file by which a program shows that it is still at work on another one of nearly the same name.
    private func partner(of path: FilePath) -> FileName? {
        guard let name = path.name else { return nil }
        return RecordingNames.partnersOfUnfinished(name).first { FileSystem.exists(path.parent.appending($0)) }
    }
}

extension DirectoryTable.Place {
    fileprivate init(_ status: FileStatus) {
        self.init(device: status.device, inode: status.inode)
    }
}
