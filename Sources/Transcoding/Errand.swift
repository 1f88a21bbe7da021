import Dispatch
import Synchronization
import SystemIO

/// Work on a thread of its own, whose result is asked for later.
final class Errand<Value: Sendable>: Sendable {
    private let outcome = Mutex<Result<Value, any Error>?>(nil)
    private let isDone = DispatchSemaphore(value: 0)

    struct Unfinished: Error {}

    init(_ work: @escaping @Sendable () throws -> Value) {
        Thread.detach { [self] in
            let result = Result { try work() }
            outcome.withLock { $0 = result }
            isDone.signal()
        }
    }

    /// Waits until it is done.
    func result() throws -> Value {
        isDone.wait()
        isDone.signal()
        guard let result = outcome.withLock({ $0 }) else { throw Unfinished() }
        return try result.get()
    }
}
