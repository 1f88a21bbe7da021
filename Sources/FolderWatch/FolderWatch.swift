package import IngestModel
import Synchronization
package import SystemIO

/// Watches one folder on a thread of its own and tells the observer of every recording that is finished.
///
/// The kernel's events make it fast; a look at everything, at the start, after lost events, when file systems come and go, and
/// every `WatchRules.scanInterval` seconds, makes it complete.
package final class FolderWatch: Sendable {
    private let root: FilePath
    private let rules: WatchRules
    private let observer: any FolderObserver
    private let stop = StopFlag()
    private let orders = WatchOrders()
    private let wakeUp: WakeUp

    /// - Parameters:
    ///   - root: an absolute path; nothing need be there yet.
    ///   - rules: what is taken.
    ///   - observer: hears of it.
    /// - Throws: `SystemError` where the kernel gives no descriptors.
    package init(_ root: FilePath, rules: WatchRules, observer: any FolderObserver) throws(SystemError) {
        self.root = root
        self.rules = rules
        self.observer = observer
        wakeUp = try WakeUp()
    }

    /// Watches until the task is cancelled.
    ///
    /// - Throws: `SystemError` where nothing can be watched at all.
    package func run() async throws {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                Thread.detach { [self] in
                    continuation.resume(
                        with: Result {
                            try WatchLoop(root, rules, observer, orders: orders, stop: stop, wakeUp: wakeUp).run()
                        })
                }
            }
        } onCancel: {
            stop.set()
            wakeUp.ring()
        }
    }

    /// Forgets what it knows to be settled, and looks at everything again.
    package func lookAgain() {
        orders.forget()
        wakeUp.ring()
    }

    /// Looks at a file of the folder again, whatever is known of it.
    package func look(at path: FilePath) {
        orders.look(at: path)
        wakeUp.ring()
    }
}

/// What other threads ask of the loop.
final class WatchOrders: Sendable {
    private let isToForget = Atomic<Bool>(false)
    private let toLookAt = Mutex<Set<FilePath>>([])

    func forget() { isToForget.store(true, ordering: .releasing) }

    /// Whether it has been asked for since the last call.
    func takeForget() -> Bool { isToForget.exchange(false, ordering: .acquiringAndReleasing) }

    func look(at path: FilePath) { toLookAt.withLock { _ = $0.insert(path) } }

    /// What is to be looked at since the last call.
    func takePaths() -> Set<FilePath> {
        toLookAt.withLock { paths in
            defer { paths = [] }
            return paths
        }
    }
}
