import Diagnostics
import FoundationEssentials
import HTTPClient
import IngestModel
import SystemIO
import UploadList
import Uploading
import VideoCache

/// The lock on an item, held as long as somebody works on it.
final class ItemLock: Sendable {
    private let lock: ByteLock

    init(_ lock: consuming ByteLock) {
        self.lock = lock
    }

    /// `nil` if another process, or another part of this one, works on the item.
    static func take(_ id: ItemID, in list: UploadList) throws -> ItemLock? {
        guard let lock = try list.lock(id) else { return nil }
        return ItemLock(lock)
    }

    /// The same for the list's debts.
    static func takeForDebts(in list: UploadList) throws -> ItemLock? {
        guard let lock = try list.lockDebts() else { return nil }
        return ItemLock(lock)
    }
}

/// Drives one item, step by step, as `ItemLife` says. Whoever runs it holds the item's lock.
struct ItemWorker {
    let context: PipelineContext
    let reporter: ItemReporter

    /// What another item lacks.
    enum Lack: Sendable { case copy, group }

    enum Ending: Sendable {
        /// There is nothing more to do for the item, or it is forgotten (`nil`).
        case rested(Item?)
        /// Another try at this moment.
        case later(Date)
        /// Done, but for `--after`: another item has not copied the recording yet, or is of its group and not done.
        case waits(for: ItemID, Lack)
        /// Stopped from outside; everything is kept.
        case interrupted
    }

    /// What the cache holds of the item cannot be deleted.
    private struct CleanupFailure: Error {
        let fault: Fault
    }

    /// Seconds until it is tried again.
    private static let cleanupInterval = 30.0

    /// Works on the item until nothing is left to do, it has to wait, or the task is cancelled.
    func run(_ start: Item) async throws -> Ending {
        var item = start
        while true {
            do {
                guard let next = try await step(item) else { return .rested(nil) }
                switch next {
                case .goOn(let changed): item = changed
                case .ended(let ending): return ending
                }
            } catch is CancellationError {
                // A wish that came from another process, or the end of this one.
                guard let current = try await context.list.item(item.id) else { return .rested(nil) }
                if current.wish != nil {
                    item = current
                    continue
                }
                return try await interrupt(current)
            } catch let failure as CleanupFailure {
                // It stays owed; nothing else of the item changes by it.
                reporter.report(.warning("what the cache holds of it cannot be deleted: \(failure.fault.reason)"))
                return .later(context.now().addingTimeInterval(Self.cleanupInterval))
            } catch let fault as Fault {
                guard let current = try await context.list.item(item.id) else { return .rested(nil) }
                guard let failed = try await fail(current, with: fault) else { return .rested(nil) }
                item = failed
            }
        }
    }

    /// Obeys what is wished and cleans up, nothing else.
    func settle(_ start: Item) async throws -> Item? {
        var item = start
        while true {
            switch ItemLife.step(for: item, at: context.now()) {
            case .obey(let wish):
                guard let next = try await obey(wish, item) else { return nil }
                item = next
            case .cleanUp:
                do {
                    guard let next = try await cleanUp(item) else { return nil }
                    item = next
                } catch let failure as CleanupFailure {
                    throw failure.fault
                }
            case .prepare, .upload, .save, .dispose, .wait, .rest: return item
            }
        }
    }

    private enum Next {
        case goOn(Item)
        case ended(Ending)
    }

    /// `nil` once the item is forgotten.
    private func step(_ item: Item) async throws -> Next? {
        let next: Item?
        switch ItemLife.step(for: item, at: context.now()) {
        case .rest: return .ended(.rested(item))
        case .wait(let date): return .ended(.later(date))
        case .obey(let wish): next = try await obey(wish, item)
        case .cleanUp: next = try await cleanUp(item)
        case .prepare: next = try await Preparer(context: context, reporter: reporter).prepare(item)
        case .upload: next = try await upload(item)
        case .save: next = try await save(item)
        case .dispose:
            if let other = try await context.list.itemNeeding(item.recording, besides: item.id) {
                return .ended(.waits(for: other, .copy))
            }
            if let group = item.group,
                let other = try await context.list.unfinished(inGroup: group, besides: item.id)
            {
                return .ended(.waits(for: other, .group))
            }
            next = try await dispose(item)
        }
        // Cancellation is looked at between the steps as well: some of them are too short to notice it.
        if let next, next.state.isRunnable { try Task.checkCancellation() }
        return next.map { .goOn($0) }
    }

    // MARK: - Steps

    private func obey(_ wish: Wish, _ item: Item) async throws -> Item? {
        if wish != .pause, !wish.isForced {
            let recording = try await presentIdentity(of: item)
            if let objection = CopySafety.objection(toDeletingCopyOf: item, recording: recording) {
                try await context.list.withdrawWish(wish, for: item.id)
                reporter.report(.note(objection))
                return try await context.list.item(item.id)
            }
        }
        if wish.forgets { try await restore(item) }
        let changed = try await context.commit(.wished(wish), to: item)
        context.crashPoints.reach(.afterCancelStored)
        if let changed { reporter.reportState(of: changed) }
        return changed
    }

    /// A recording that was about to be disposed of gets its name back before nobody knows of it any more.
    private func restore(_ item: Item) async throws {
        guard item.after != .none else { return }
        let disposal = RecordingDisposal(recording: item.recording, identity: item.identity, id: item.uuid)
        try await offPool { _ in try disposal.restore() }
    }

    private func cleanUp(_ item: Item) async throws -> Item? {
        let cache = context.cache
        do {
            // In a task of its own: a cancelled one could not do even this.
            try await Task { try await offPool { _ in try cache.delete(item.cachedName) } }.value
        } catch let fault as Fault {
            throw CleanupFailure(fault: fault)
        }
        context.crashPoints.reach(.afterCopyDeleted)
        if item.wish?.forgets == true { try await restore(item) }
        return try await context.commit(.cleanedUp, to: item)
    }

    private func upload(_ item: Item) async throws -> Item? {
        let (item, isWithdrawn) = try await checkRecording(item)
        guard !isWithdrawn, let item, let seal = item.seal else { return item }
        try context.destinations.checkOpen(item.destination)
        let cache = context.cache
        let destination = try await context.destinations.destination(
            for: item.destination, tokenFile: item.options.tokenFile)
        let source: UploadSource
        let farName = item.farName ?? nameByTemplate(item).map { destination.name(for: $0) }
        let limiters = await limiters(of: item)
        do {
            let file = try await offPool { _ in SharedDescriptor(try cache.open(item.cachedName, sealed: seal)) }
            source =
                context.sources.take(seal.id)
                ?? UploadSource(
                    file: file, seal: seal, name: farName ?? item.cachedName.text, blockSize: item.options.blockSize,
                    limiters: limiters)
        } catch let fault as Fault where fault.code == .copyLost || fault.code == .copyChanged {
            return try await replaceCopy(of: item, fault)
        }
        guard let begun = try await context.commit(.uploadBegan(farName: farName), to: item) else { return nil }
        reporter.reportState(of: begun)
        reporter.progress(.uploading, done: begun.remote?.acknowledged.value ?? 0, total: seal.size.value)
        let ledger = ItemLedger(begun, context: context, reporter: reporter)
        let receipt: Receipt
        do {
            receipt = try await destination.upload(source, from: begun.remote, ledger: ledger)
        } catch let fault as Fault where fault.code == .copyChanged {
            return try await replaceCopy(of: ledger.current, fault)
        } catch let fault as Fault where fault.isTemporary {
            context.sources.keep(source)
            throw fault
        }
        return try await accept(receipt, for: ledger.current, source: source)
    }

    /// The receipt counts only if the copy is still what was sealed.
    private func accept(_ receipt: Receipt, for item: Item, source: UploadSource) async throws -> Item? {
        let cache = context.cache
        if let seal = item.seal {
            do {
                _ = try await offPool { _ in try cache.open(item.cachedName, sealed: seal).number }
            } catch let fault as Fault where fault.code == .copyChanged {
                return try await replaceCopy(of: item, fault)
            } catch let fault as Fault where fault.code == .copyLost {
                // The far side has proven that it holds what was sealed: the copy is not needed any more.
                context.log.debug("the copy is gone already", ["reason": fault.reason])
            }
        }
        var current = item
        if let digest = source.knownDigest, current.seal?.sha256 == nil {
            guard let stored = try await context.commit(.digestTaken(digest), to: current) else { return nil }
            current = stored
        }
        let received = try await context.commit(.received(receipt), to: current)
        context.crashPoints.reach(.afterReceiptStored)
        if let received { reporter.reportState(of: received) }
        return received
    }

    private func save(_ item: Item) async throws -> Item? {
        // It may have grown while it was uploaded.
        let (item, isWithdrawn) = try await checkRecording(item)
        guard !isWithdrawn, let item else { return item }
        try await tellSaveHook(item)
        let done = try await context.commit(.saved, to: item)
        context.crashPoints.reach(.afterDoneStored)
        if let done, let receipt = done.receipt {
            reporter.reportState(of: done)
            reporter.report(.done(receipt, original: done.identity.size))
        }
        return done
    }

    private func tellSaveHook(_ item: Item) async throws {
        guard let hook = item.options.save, let receipt = item.receipt else { return }
        let message = SaveMessage(
            id: item.id, uuid: item.uuid, url: receipt.url, title: item.options.title,
            name: item.farName ?? item.cachedName.text, size: receipt.size,
            sha256: receipt.sha256 ?? item.seal?.sha256, duration: item.media?.duration,
            parameters: item.options.parameters)
        try await context.destinations.saveHook(hook, of: item.destination).tell(message)
        context.crashPoints.reach(.afterHookAnswered)
    }

    private func nameByTemplate(_ item: Item) -> String? {
        item.options.template?.name(
            NameTemplate.Facts(
                recording: item.recording, cachedName: item.cachedName, id: item.id, seconds: item.addedSeconds,
                added: WallClock.time(Date(timeIntervalSince1970: Double(item.addedSeconds))),
                host: ThisProcess.hostName))
    }

    /// What becomes of the recording. That it cannot be done is written down, and makes the item no less done.
    private func dispose(_ item: Item) async throws -> Item? {
        let action = item.options.after ?? .keep
        let disposal = RecordingDisposal(recording: item.recording, identity: item.identity, id: item.uuid)
        let trash = Trash(
            home: context.environment.trashDirectory, user: ThisProcess.userID, now: context.now)
        var failure: String?
        var outcome = RecordingDisposal.Outcome.carriedOut
        do {
            // In a task of its own, so that it is not left in the middle.
            outcome = try await Task { try await offPool { _ in try disposal.carryOut(action, trash: trash) } }.value
        } catch let fault as Fault {
            failure = fault.reason
        }
        context.crashPoints.reach(.afterDisposal)
        let disposed = try await context.commit(.disposed(failure: failure), to: item)
        if let failure {
            reporter.report(
                .warning(
                    "it is done, but “--after \(action.text)” is not: \(failure); “ingest retry \(item.id)” tries again"
                ))
        } else {
            reporter.report(.note(Self.words(for: action, outcome)))
        }
        return disposed
    }

    private static func words(for action: AfterAction, _ outcome: RecordingDisposal.Outcome) -> String {
        if case .gone = outcome { return "the recording is no longer where it was, so nothing is left to do with it" }
        return switch action {
        case .keep: "the recording stays where it is"
        case .delete: "the recording has been deleted"
        case .trash: "the recording has been put into the trash"
        case .move(let directory): "the recording has been moved to \(directory.text)"
        }
    }

    // MARK: - When things are not as they were

    /// Holds the recording against what its copy was taken from. `isWithdrawn`: the copy is given up, and the recording
    /// waits to be taken again.
    private func checkRecording(_ item: Item) async throws -> (Item?, isWithdrawn: Bool) {
        // A copy that is its own recording is held against its seal.
        if item.isItsOwnRecording { return (item, false) }
        let isLink = item.seal?.isLink == true
        let check = try await offPool { _ in
            Recording.check(item.recording, against: item.identity, isLink: isLink)
        }
        switch check {
        case .goOn: return (item, false)
        case .goOnMarked:
            if item.marks.contains(.recordingChanged) { return (item, false) }
            reporter.report(
                .note(
                    "it has changed since it was copied; the copy is uploaded as it was taken. For what it is now, run "
                        + "ingest again"))
            return (try await context.commit(.recordingChanged, to: item), false)
        case .withdraw:
            let what = isLink ? "it has changed" : "it has grown"
            let upload = item.receipt.map { "; what it was stays at \($0.url)" } ?? ""
            reporter.report(.note("\(what) since it was taken and is taken again as it now is\(upload)"))
            let identity = try await offPool { _ in try Recording(item.recording).identity() }
            let withdrawn = try await context.commit(.withdrawn(identity), to: item)
            if let withdrawn { reporter.reportState(of: withdrawn) }
            return (withdrawn, true)
        }
    }

    /// A copy that is gone or changed is made again from the recording if that is what it was.
    private func replaceCopy(of item: Item, _ fault: Fault) async throws -> Item? {
        if item.isItsOwnRecording { return try await readopt(item, fault) }
        if item.seal?.isLink == true {
            let (checked, isWithdrawn) = try await checkRecording(item)
            if isWithdrawn { return checked }
        }
        guard let recording = try await presentIdentity(of: item), recording.isUnchanged(from: item.identity) else {
            throw Fault(
                fault.code,
                "\(fault.reason), and the recording is gone or has changed, so it cannot be made again")
        }
        reporter.report(.note("\(fault.reason); it is made again from the recording"))
        let changed = try await context.commit(.copyLost, to: item)
        if let changed { reporter.reportState(of: changed) }
        return changed
    }

    /// A copy that is its own recording counts as it now is: there is nothing else it could be held against.
    private func readopt(_ item: Item, _ fault: Fault) async throws -> Item? {
        let path = context.cache.path(of: item.cachedName)
        if fault.code == .copyLost {
            throw Fault(.copyLost, "what was found in the cache is gone, so there is nothing left to upload")
        }
        reporter.report(.note("it has changed in the cache since it was found there; it is uploaded as it now is"))
        let (identity, seal) = try await offPool { stop in try Recording(path).sealed(stop: stop) }
        return try await context.commit(.readopted(identity, seal), to: item)
    }

    private func presentIdentity(of item: Item) async throws -> RecordingIdentity? {
        let path = item.recording
        // In a task of its own: a cancelled one would not look.
        return try await Task { try await offPool { _ in Recording.identityIfPresent(at: path) } }.value
    }

    private func fail(_ item: Item, with fault: Fault) async throws -> Item? {
        var generator = SystemRandomNumberGenerator()
        let isOfSameKind = item.fault?.isTemporary == fault.isTemporary
        let unattended =
            item.options.isWatched == true
            ? RetryPolicy.watchedDelay(afterFailure: isOfSameKind ? item.attempts + 1 : 1) : nil
        let delay =
            fault.isTemporary
            ? RetryPolicy.standard.delay(
                afterFailure: item.attempts + 1, demanded: fault.demandedDelay, using: &generator) : unattended
        let retryAt = delay.map { context.now().addingTimeInterval($0) }
        let failed = try await context.commit(.failed(fault, retryAt: retryAt), to: item)
        if fault.code == .recordingChanged, item.options.isWatched == true {
            context.changedRecordings.note(item.recording)
        }
        if let delay {
            reporter.report(.retry(fault, after: delay))
        } else if let failed {
            reporter.reportState(of: failed)
            reporter.report(.failed(fault))
        }
        return failed
    }

    private func interrupt(_ item: Item) async throws -> Ending {
        guard let kept = try await context.commit(.interrupted, to: item) else { return .rested(nil) }
        do {
            if kept.cleanup == .pending { _ = try await cleanUp(kept) }
        } catch is CleanupFailure {
            return .interrupted
        }
        return .interrupted
    }

    private func limiters(of item: Item) async -> [RateLimiter] {
        let own = item.options.limitRate.map { RateLimiter(bytesPerSecond: max(1, $0.value)) }
        return [context.limiter, own, await context.destinations.limiter(of: item.destination)].compactMap { $0 }
    }
}
