import Diagnostics
import IngestModel
import Synchronization
import SystemIO

/// Keeps the machine from falling asleep while something is being encoded or sent: `systemd-inhibit(1)` holds logind's
/// lock as long as a child of ours lives. Where there is none the machine sleeps when it likes, and the work goes on
/// afterwards.
final class SleepInhibitor: Sendable {
    private struct State {
        var holder: ChildProcess?
        var hasFailed = false
    }

    private let environment: Environment
    private let log: Log
    private let state = Mutex(State())

    init(environment: Environment, log: Log) {
        self.environment = environment
        self.log = log
    }

    /// Holds the lock from now on, or lets it go. Quick; called often.
    func hold(_ isNeeded: Bool) {
        state.withLock { state in
            if !isNeeded {
                state.holder = nil
            } else if state.holder == nil, !state.hasFailed {
                state.holder = start()
                state.hasFailed = state.holder == nil
            }
        }
    }

    private func start() -> ChildProcess? {
        guard let program = environment.program("systemd-inhibit"), let cat = environment.program("cat") else {
            return nil
        }
        do {
            // The lock is held until `cat` sees the end of its input, be it because our process died.
            return try ChildProcess(
                program,
                arguments: [
                    "--what=sleep", "--who=ingest", "--why=recordings are on their way", "--mode=block", cat.text,
                ], variables: environment.variables)
        } catch {
            log.debug("the machine cannot be kept awake", ["reason": "\(error)"])
            return nil
        }
    }
}
