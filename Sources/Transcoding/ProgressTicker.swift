import IngestModel
import Synchronization
import SystemIO

/// Tells twice a second how far the work is, and only when something has moved: whoever hears nothing for long knows that
/// it hangs.
final class ProgressTicker: Sendable {
    private struct State {
        var stage = MediaProgress.Stage.encoding
        var last: (moved: Int64, fraction: Double) = (-1, -1)
        var isStopped = false
    }

    private let leader: LaneState
    private let emit: @Sendable (MediaEvent) -> Void
    private let state = Mutex(State())

    init(leader: LaneState, emit: @escaping @Sendable (MediaEvent) -> Void) {
        self.leader = leader
        self.emit = emit
    }

    func start() {
        Thread.detach { [self] in
            while tick() {
                for _ in 0..<40 { Pause.briefly() }
            }
        }
    }

    /// The packets are written; what is left is the index, and moving everything behind it.
    func finishing() {
        state.withLock { $0.stage = .finishing }
    }

    func stop() {
        state.withLock { $0.isStopped = true }
    }

    private func tick() -> Bool {
        let position = leader.position
        return state.withLock { state in
            if state.isStopped { return false }
            let moved = state.stage == .finishing ? ThisProcess.bytesWritten : position.frames
            if moved != state.last.moved || position.fraction != state.last.fraction {
                state.last = (moved, position.fraction)
                emit(
                    .progress(
                        MediaProgress(stage: state.stage, fraction: position.fraction, frames: position.frames)))
            }
            return true
        }
    }
}
