import Diagnostics
import FoundationEssentials
package import IngestModel
import Synchronization
import SystemIO
import UploadList

/// Works off the upload list: takes up what is due, several items at once, obeys what other processes ask, waits for what
/// has to wait.
package actor Supervisor {
    package enum Mode: Sendable {
        /// Until nothing is left to do; an item that makes no progress for so many seconds is left for later.
        case once(patience: Double)
        /// Until it is stopped.
        case forever
    }

    private struct Claim {
        let reporter: ItemReporter
        let task: Task<ItemWorker.Ending, any Error>
    }

    private let context: PipelineContext
    private let mode: Mode
    /// The items it is for; `nil` for the whole list.
    private let ids: Set<ItemID>?
    /// Called at every turn of the loop that looks at the list.
    private let alive: @Sendable () -> Void
    private var claims: [ItemID: Claim] = [:]
    /// Since when an item has made no progress.
    private var stalledSince: [ItemID: Date] = [:]
    /// Items that are not looked at before a moment although they are due, such as those whose copy cannot be deleted.
    private var putOff: [ItemID: ContinuousClock.Instant] = [:]
    /// Items that are done, but whose recording others still have to copy before `--after` may be carried out; and those of
    /// which that has been told.
    private var resting: Set<ItemID> = []
    private var toldToRest: Set<ItemID> = []
    private var hasLookedAgain = false
    /// When it was last said that the list cannot be used for now.
    private var complained: ContinuousClock.Instant?
    /// Items that are left for a later run.
    private var left: Set<ItemID> = []
    /// How the items that were worked on here ended.
    private var endings: [ItemID: ItemState] = [:]
    /// Items that another process works on, for those who asked for them here.
    private var followed: [ItemID: ItemReporter] = [:]
    private var isStopping = false
    /// Nothing is left to do, in a run that ends then.
    private var isOver = false
    private var failure: (any Error)?
    private var bells: [CheckedContinuation<Void, Never>] = []
    private var nap: Task<Void, Never>?
    /// Those who want to hear that another process has written to the list.
    private var listeners: [AsyncStream<Void>.Continuation] = []

    /// The most items at once.
    package static let mostJobs = 64
    /// How often other processes' changes are looked for.
    private static let pollInterval = Duration.milliseconds(150)
    /// The same, once nothing has been to do for a while: each look wakes up several threads. `ListBell` ends it.
    private static let quietPollInterval = Duration.seconds(2)
    private static let quietAfter = Duration.seconds(5)
    private static let restingTime = Duration.seconds(5)
    private static let listTroubleWait = Duration.seconds(2)
    private static let complaintInterval = Duration.seconds(300)

    package init(
        context: PipelineContext, mode: Mode, ids: Set<ItemID>? = nil, alive: @escaping @Sendable () -> Void = {}
    ) {
        self.alive = alive
        self.context = context
        self.mode = mode
        self.ids = ids
    }

    /// Works until the mode's end or `stop`.
    ///
    /// - Throws: what makes going on impossible, such as `ListError`. Faults of items do not.
    package func run() async throws {
        let attendance = Attendance(try context.list.attend(ids))
        defer { withExtendedLifetime(attendance) {} }
        let watcher = Task { await self.watch() }
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<Self.mostJobs {
                group.addTask { await self.work(number) }
            }
        }
        watcher.cancel()
        await watcher.value
        if let failure { throw failure }
        try await follow()
        // What was cancelled meanwhile may be owed to the far side.
        if !isStopping { await DebtCollector(context: context).payDue() }
    }

    /// How the items ended that were worked on here, or were left for later (*ready* or *queued*).
    package var results: [ItemState] {
        Array(endings.values) + left.map { _ in ItemState.ready }
    }

    /// Stops all work in good order; `run` then returns.
    package func stop() {
        isStopping = true
        for claim in claims.values { claim.task.cancel() }
        ring()
    }

    /// Something beside the items makes going on impossible: `run` ends and throws it.
    package func give(up error: any Error) {
        failure = failure ?? error
        stop()
    }

    /// Something is on the list that was not.
    package func lookNow() {
        ring()
    }

    /// Gives a value, soon, whenever another process has written to the list.
    package func changesByOthers() -> AsyncStream<Void> {
        let (stream, listener) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        listeners.append(listener)
        return stream
    }

    /// The recording of an item that is being worked on has changed: its worker begins anew, and sees it.
    package func reconsider(_ id: ItemID) {
        claims[id]?.task.cancel()
    }

    // MARK: - Jobs

    /// One of the jobs; those beyond the number that the settings allow just now rest.
    private func work(_ number: Int) async {
        while !isStopping, !isOver {
            if number > 0, number >= context.settings.jobs {
                await rest()
                continue
            }
            do {
                if let (id, item, lock) = try await claim() {
                    try await work(on: id, item, lock)
                } else if try await isFinished() {
                    isOver = true
                    ring()
                } else {
                    await rest()
                }
            } catch {
                await meet(error)
            }
        }
    }

    /// What makes going on impossible ends the work; a list that is full or locked is waited for by those who never give up.
    private func meet(_ error: any Error) async {
        guard case .forever = mode, let problem = error as? ListError, problem.isTemporary else {
            return give(up: error)
        }
        if complained.map({ ContinuousClock.now - $0 > Self.complaintInterval }) ?? true {
            complained = .now
            context.log.warning("the work rests", ["reason": "\(problem)"])
        }
        // Cancellation only means that the wait ends.
        try? await Task.sleep(for: Self.listTroubleWait)
    }

    /// Takes the next item that is due and that nobody works on.
    private func claim() async throws -> (ItemID, Item, ItemLock)? {
        putOff = putOff.filter { $0.value > .now }
        let busy = Set(claims.keys).union(putOff.keys)
        for candidate in try await context.list.due(
            at: context.now(), limit: 64, among: ids, leaving: left.union(busy))
        {
            // Another job may have been faster while this one waited for the list.
            if claims[candidate.id] != nil { continue }
            guard let lock = try ItemLock.take(candidate.id, in: context.list) else { continue }
            // What it was before the lock was ours may have changed.
            guard let item = try await context.list.item(candidate.id), claims[item.id] == nil else { continue }
            if case .rest = ItemLife.step(for: item, at: context.now()) { continue }
            return (item.id, item, lock)
        }
        return nil
    }

    private func work(on id: ItemID, _ item: Item, _ lock: ItemLock) async throws {
        defer { withExtendedLifetime(lock) {} }
        if claims[id] != nil || isStopping { return }
        let reporter = ItemReporter(item, now: context.now, send: context.send)
        let worker = ItemWorker(context: context, reporter: reporter)
        let acknowledged = item.remote?.acknowledged
        let task = Task { try await worker.run(item) }
        claims[id] = Claim(reporter: reporter, task: task)
        defer { claims[id] = nil }
        switch try await task.value {
        case .rested(let rested):
            stalledSince[id] = nil
            resting.remove(id)
            // What could not be done with the recording makes the whole no success.
            endings[id] = rested?.after.reason == nil ? rested?.state ?? .cancelled : .failed
        case .interrupted: break
        case .waits(let other, let lack):
            resting.insert(id)
            putOff[id] = .now + Self.restingTime
            endings[id] = .done
            if toldToRest.insert(id).inserted {
                let what = lack == .copy ? "has its copy too" : "of the same recording is done too"
                reporter.report(.note("the recording stays where it is until item \(other) \(what)"))
            }
        case .later(let date):
            guard let current = try await context.list.item(id) else { return }
            let hasProgressed = current.remote?.acknowledged != acknowledged || current.state != item.state
            if hasProgressed || stalledSince[id] == nil { stalledSince[id] = context.now() }
            if current.cleanup == .pending { putOff[id] = .now + .seconds(date.timeIntervalSince(context.now())) }
            leaveIfHopeless(id, nextTry: date)
        }
    }

    /// Whether the work ends by itself.
    private var isEnding: Bool {
        if case .once = mode { true } else { false }
    }

    /// Uploads that stand still in the middle of a request.
    private func leaveStalled() {
        guard case .once(let patience) = mode else { return }
        for (id, claim) in claims where claim.reporter.stalledSeconds > max(patience, 1) {
            left.insert(id)
            claim.task.cancel()
        }
    }

    private func leaveIfHopeless(_ id: ItemID, nextTry: Date) {
        guard case .once(let patience) = mode, let since = stalledSince[id] else { return }
        if nextTry.timeIntervalSince(since) > patience { left.insert(id) }
    }

    /// Whether a run that has an end has reached it.
    private func isFinished() async throws -> Bool {
        guard case .once = mode else { return false }
        if try await context.list.outlook(among: ids, leaving: left.union(resting)).isOpen { return false }
        if resting.isEmpty || hasLookedAgain { return true }
        // By now the others may have what they need.
        hasLookedAgain = true
        for id in resting { putOff[id] = nil }
        resting = []
        return false
    }

    // MARK: - Waiting

    /// Waits until something has changed, an item is due, or a moment has passed in which a lock may have come free.
    private func rest() async {
        // The last bell may have rung while the list was asked.
        if isStopping || isOver { return }
        await withCheckedContinuation { bells.append($0) }
    }

    private func ring() {
        for bell in bells { bell.resume() }
        bells = []
    }

    /// Looks at what other processes write, hands on what they ask, and wakes up those who rest.
    private func watch() async {
        let collector = DebtCollector(context: context)
        let debts = Task { await collector.payWhileRunning() }
        let network = NetworkWatch()
        let inhibitor = SleepInhibitor(environment: context.environment, log: context.log)
        var writes: [Int64] = []
        var outlook: (isOpen: Bool, nextTry: Date?) = (true, nil)
        var lastWrite = ContinuousClock.now
        var settings = -1
        var nextRelease = ContinuousClock.now
        let bell = ListBell(context.list) { Task { await self.wakeUp() } }
        defer { bell.stop() }
        var polls = 0
        while !Task.isCancelled {
            do {
                let present = try await context.list.writes()
                if present.first != writes.first {
                    listeners.removeAll { if case .terminated = $0.yield() { true } else { false } }
                    try await handOnWishes()
                    ring()
                }
                // While nobody writes it stays what it is.
                if present != writes || isEnding {
                    outlook = try await context.list.outlook(among: ids, leaving: left)
                    if present != writes { lastWrite = .now }
                    writes = present
                }
                if !context.list.isInPlace { throw ListError.removed(context.list.path) }
                if polls % 6 == 0 {
                    leaveStalled()
                    // Not for what takes less than a second.
                    inhibitor.hold(!claims.isEmpty && polls > 0)
                    try await noteProgress()
                    if nextRelease <= .now { nextRelease = try await HeldRecordings(context: context).release() }
                    if network?.cameUp() == true { try await hurry(.networkCameBack) { $0.isAboutReaching } }
                    // Another timetable may hold by now.
                    if context.settingsVersion != settings {
                        settings = context.settingsVersion
                        try await hurry(.reconsidered) { $0.code == .closed }
                    }
                }
                if polls % 2 == 0 { try await follow() }
                // A lock that comes free rings no bell: look about three times a second, if there is anything to do.
                let isTime = polls % 2 == 0 && (outlook.isOpen || isEnding)
                if isTime || outlook.nextTry.map({ $0 <= context.now() }) == true { ring() }
            } catch {
                await meet(error)
            }
            alive()
            polls += 1
            await pause(claims.isEmpty && !outlook.isOpen && !isEnding && lastWrite + Self.quietAfter < .now)
        }
        inhibitor.hold(false)
        debts.cancel()
        await debts.value
        ring()
    }

    /// Until the next look; longer when it is quiet, but not once the list's files have changed.
    private func pause(_ isQuiet: Bool) async {
        // Cancellation only means that the loop ends, or that the list has changed.
        guard isQuiet, !isStopping else { return (try? await Task.sleep(for: Self.pollInterval)) ?? () }
        let nap = Task { (try? await Task.sleep(for: Self.quietPollInterval)) ?? () }
        self.nap = nap
        await withTaskCancellationHandler {
            await nap.value
        } onCancel: {
            nap.cancel()
        }
        self.nap = nil
    }

    private func wakeUp() {
        nap?.cancel()
    }

    /// Tells what becomes of items that were asked for here while another process works on them.
    private func follow() async throws {
        for id in (ids ?? []).subtracting(claims.keys).subtracting(endings.keys).subtracting(left) {
            guard let item = try await context.list.item(id), claims[id] == nil else { continue }
            if item.state == .queued || item.state == .ready, followed[id] == nil { continue }
            let reporter = followed[id] ?? ItemReporter(item.waiting, now: context.now, send: context.send)
            followed[id] = reporter
            reporter.reportState(of: item)
            if let progress = try await context.list.progress(of: id) { reporter.pass(progress) }
            if let receipt = item.receipt, item.state == .done {
                reporter.report(.done(receipt, original: item.identity.size))
            }
            if let fault = item.fault, item.state == .failed { reporter.report(.failed(fault)) }
            if !item.state.isRunnable { endings[id] = item.state }
        }
    }

    private func handOnWishes() async throws {
        let wishes = try await context.list.wishes(among: Set(claims.keys))
        for id in wishes.keys { claims[id]?.task.cancel() }
    }

    /// Something has changed that held items back: they are due at once.
    private func hurry(_ event: ItemLife.Event, _ isHeldBack: (Fault) -> Bool) async throws {
        for item in try await context.list.waiting(at: context.now(), among: ids)
        where item.fault.map(isHeldBack) == true {
            guard let lock = try ItemLock.take(item.id, in: context.list) else { continue }
            defer { withExtendedLifetime(lock) {} }
            if let current = try await context.list.item(item.id) {
                _ = try await context.commit(event, to: current)
            }
        }
        ring()
    }

    /// Writes down how far the items are, for those who watch from other processes.
    private func noteProgress() async throws {
        for (id, claim) in claims {
            if let progress = claim.reporter.takeProgress() { try await context.list.note(progress, for: id) }
        }
    }
}

/// That this process looks after items, for others to see.
private final class Attendance: Sendable {
    private let lock: ByteLock

    init(_ lock: consuming ByteLock) {
        self.lock = lock
    }
}

extension Item {
    /// As it was before anybody worked on it, so that whatever it is now counts as a change.
    fileprivate var waiting: Item {
        var item = self
        item.state = .queued
        return item
    }
}
