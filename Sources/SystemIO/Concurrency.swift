import CLinux
import Dispatch
import Glibc
import Synchronization

/// A number that several threads count up.
package final class Counter: Sendable {
    private let value = Atomic<Int>(0)

    package init() {}

    /// The count before this call.
    package func next() -> Int {
        value.add(1, ordering: .relaxed).oldValue
    }
}

/// Set once, from any thread, and seen by a loop that should stop.
package final class StopFlag: Sendable {
    private let flag = Atomic<Bool>(false)

    package init() {}

    package var isSet: Bool { flag.load(ordering: .acquiring) }

    package func set() {
        flag.store(true, ordering: .releasing)
    }

    package func check() throws(CancellationError) {
        if isSet { throw CancellationError() }
    }
}

/// Runs blocking work on a thread of its own, never on Swift's cooperative pool, which has as many threads as there are
/// cores.
///
/// The work gets a flag that is set when the task is cancelled; it looks at it now and then and stops.
package func offPool<Result: Sendable>(
    _ work: @escaping @Sendable (_ stop: StopFlag) throws -> Result
) async throws -> Result {
    let stop = StopFlag()
    return try await withTaskCancellationHandler {
        try await withCheckedThrowingContinuation { continuation in
            blockingQueue.async {
                continuation.resume(with: Swift.Result { try work(stop) })
            }
        }
    } onCancel: {
        stop.set()
    }
}

/// Grows a thread for each piece of work that blocks.
private let blockingQueue = DispatchQueue(label: "blocking work", attributes: .concurrent)

/// Waits for the named signals on a queue of its own; their default action is switched off, by Dispatch's own handler.
///
/// `@unchecked`: Dispatch does not mark its sources Sendable; they are only made and cancelled here, which any thread may.
package final class SignalWatch: @unchecked Sendable {
    private let sources: [any DispatchSourceSignal]

    /// Returns once the signals are heard. One that comes before does what it does by default; if it were ignored until then
    /// it would be lost, and whoever sent it would wait.
    ///
    /// - Parameters:
    ///   - signals: their numbers.
    ///   - handler: called on a thread of its own with the signal's number, once each time one arrives.
    package init(_ signals: [CInt], handler: @escaping @Sendable (CInt) -> Void) {
        let queue = DispatchQueue(label: "signals")
        let registered = DispatchSemaphore(value: 0)
        sources = signals.map { number in
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler { handler(number) }
            source.setRegistrationHandler { registered.signal() }
            source.resume()
            return source
        }
        for _ in signals { registered.wait() }
    }

    deinit {
        for source in sources { source.cancel() }
    }
}

/// Threads that live as long as their work does.
package enum Thread {
    /// Runs the work on a new thread that belongs to nobody.
    package static func detach(_ work: @escaping @Sendable () -> Void) {
        let box = Unmanaged.passRetained(Work(work))
        let result = linux_start_thread({ Unmanaged<Work>.fromOpaque($0).takeRetainedValue().run() }, box.toOpaque())
        // Without threads the program cannot do anything it promises.
        precondition(result == 0, "the system gives no thread (\(result))")
    }

    private final class Work: Sendable {
        let run: @Sendable () -> Void

        init(_ run: @escaping @Sendable () -> Void) {
            self.run = run
        }
    }
}

/// Runs an actor's work on a thread-backed serial queue of its own, so that blocking calls in it hold up nobody else.
package final class QueueExecutor: SerialExecutor {
    private let queue: DispatchQueue

    package init(label: String) {
        queue = DispatchQueue(label: label)
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }

    package func checkIsolated() {
        dispatchPrecondition(condition: .onQueue(queue))
    }
}

package enum Pause {
    /// On the calling thread, less than a second.
    package static func seconds(_ seconds: Double) {
        usleep(UInt32(seconds * 1e6))
    }

    /// Ten milliseconds on the calling thread, between two looks at a lock that nobody can wait for.
    package static func briefly() {
        usleep(10_000)
    }
}
