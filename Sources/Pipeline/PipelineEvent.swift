package import FoundationEssentials
package import IngestModel
import Synchronization

/// Something that happened to an item, for whoever shows it.
package struct PipelineEvent: Sendable {
    package enum Kind: Sendable {
        case state(ItemState)
        /// `inFlight`: bytes on their way that the far side has not acknowledged.
        case progress(StageProgress, inFlight: Int64)
        case loss(Loss)
        /// Something worth a line, such as a decision.
        case note(String)
        /// The same for what went wrong beside the upload.
        case warning(String)
        /// Another try in so many seconds.
        case retry(Fault, after: Double)
        /// `original`: the size of the recording.
        case done(Receipt, original: ByteCount)
        case failed(Fault)
    }

    package let id: ItemID
    /// The recording's name, printable.
    package let file: String
    package let recording: FilePath
    package let time: Date
    /// The state the item is in now.
    package let state: ItemState
    package let kind: Kind
}

/// What one claimed item says about itself: every event goes to the one stream, the newest progress stays at hand for the
/// list.
final class ItemReporter: Sendable {
    private struct State {
        var state: ItemState
        var progress: StageProgress?
        var isNoted = true
        var lastEvent: ContinuousClock.Instant?
        var meter = RateMeter()
        var stage: StageProgress.Stage?
        /// The most bytes of an upload that were ever on the far side or on their way there, and since when.
        var reached: Int64 = -1
        var reachedAt = ContinuousClock.now
    }

    private let item: Item
    private let send: @Sendable (PipelineEvent) -> Void
    private let now: @Sendable () -> Date
    private let state: Mutex<State>
    private let origin = ContinuousClock.now

    /// Progress events come no more often than this.
    private static let interval = Duration.milliseconds(90)

    init(_ item: Item, now: @escaping @Sendable () -> Date, send: @escaping @Sendable (PipelineEvent) -> Void) {
        self.item = item
        self.now = now
        self.send = send
        state = Mutex(State(state: item.state))
    }

    func report(_ kind: PipelineEvent.Kind) {
        let current = state.withLock { state in
            if case .state(let new) = kind {
                state.state = new
                state.progress = nil
                state.reachedAt = .now
            }
            return state.state
        }
        send(
            PipelineEvent(
                id: item.id, file: item.displayName, recording: item.recording, time: now(), state: current, kind: kind)
        )
    }

    /// Tells the state, if it is another one than before.
    func reportState(of item: Item) {
        if state.withLock({ $0.state }) != item.state { report(.state(item.state)) }
    }

    /// Notes how far a stage is; an event of it comes now and then.
    ///
    /// The rate is taken of `counted` (bytes, or frames), of `done` where that is `nil`.
    func progress(
        _ stage: StageProgress.Stage, done: Int64, total: Int64, counted: Int64? = nil, inFlight: Int64 = 0
    ) {
        let instant = ContinuousClock.now
        let (seconds, fraction) = (instant - origin).components
        let time = Double(seconds) + Double(fraction) / 1e18
        let progress: StageProgress? = state.withLock { state in
            if state.stage != stage {
                state.stage = stage
                state.meter = RateMeter()
                state.reached = -1
                state.lastEvent = nil
            }
            if done + inFlight > state.reached {
                state.reached = done + inFlight
                state.reachedAt = instant
            }
            state.meter.note(Double((counted ?? done) + inFlight), at: time)
            let progress = StageProgress(stage: stage, done: done, total: total, rate: state.meter.rate ?? 0)
            state.progress = progress
            state.isNoted = false
            if let last = state.lastEvent, instant - last < Self.interval, done < total { return nil }
            state.lastEvent = instant
            return progress
        }
        if let progress { report(.progress(progress, inFlight: inFlight)) }
    }

    /// Seconds for which an upload has not moved, or a save hook has not answered; 0 in any other stage.
    var stalledSeconds: Double {
        state.withLock { state in
            guard state.state == .saving || state.state == .uploading && state.stage == .uploading else { return 0 }
            return (ContinuousClock.now - state.reachedAt) / .seconds(1)
        }
    }

    /// Hands on what another process has written down.
    func pass(_ progress: StageProgress) {
        let isNew = state.withLock { state in
            defer { state.progress = progress }
            return state.progress != progress
        }
        if isNew { report(.progress(progress, inFlight: 0)) }
    }

    /// The newest progress, if it has not been taken since it came.
    func takeProgress() -> StageProgress? {
        state.withLock { state in
            if state.isNoted { return nil }
            state.isNoted = true
            return state.progress
        }
    }
}
