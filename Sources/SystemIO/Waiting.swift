import CLinux
import Dispatch
import Glibc
import IngestModel
import Synchronization

/// Ends the wait of another thread (`eventfd(2)`).
package final class WakeUp: Sendable {
    private let file: FileDescriptor

    package init() throws(SystemError) {
        file = FileDescriptor(owning: try retrying("make an event") { linux_open_event() })
    }

    package func ring() {
        // It is full when nobody has heard the rings before, who then wakes up anyway.
        withUnsafeBytes(of: UInt64(1)) { _ = write(file.number, $0.baseAddress, $0.count) }
    }

    fileprivate var number: CInt { file.number }

    fileprivate func clear() {
        var count: UInt64 = 0
        _ = read(file.number, &count, MemoryLayout<UInt64>.size)
    }
}

/// Hears of file systems that are mounted and unmounted (`proc_pid_mounts(5)`).
package final class MountWatch {
    private let file: FileDescriptor

    /// `nil` where `/proc` is not there.
    package init?() {
        guard let path = FilePath("/proc/self/mounts"), let file = try? FileSystem.open(path, .reading) else {
            return nil
        }
        self.file = file
    }

    fileprivate var number: CInt { file.number }
}

package enum Waiting {
    /// Blocks the calling thread until directories have events, file systems are mounted, somebody rings, or the time is
    /// over (`poll(2)`).
    ///
    /// - Returns: whether a file system has been mounted or unmounted.
    package static func wait(
        _ events: DirectoryEvents, _ mounts: MountWatch?, _ wakeUp: WakeUp, atMost duration: Duration
    ) -> Bool {
        var entries = [
            pollfd(fd: events.number, events: Int16(POLLIN), revents: 0),
            pollfd(fd: wakeUp.number, events: Int16(POLLIN), revents: 0),
            pollfd(fd: mounts?.number ?? -1, events: Int16(POLLPRI), revents: 0),
        ]
        // Rounded up: who wakes up too early would wait again for nothing.
        let milliseconds = (max(.zero, min(duration, .seconds(3600))) / .milliseconds(1)).rounded(.up)
        _ = poll(&entries, nfds_t(entries.count), CInt(milliseconds))
        wakeUp.clear()
        return entries[2].revents & Int16(POLLPRI | POLLERR) != 0
    }

    private final class Outcome<Value: Sendable>: Sendable {
        let done = DispatchSemaphore(value: 0)
        let result = Mutex<Result<Value, any Error>?>(nil)

        func set(_ value: Result<Value, any Error>) {
            result.withLock { $0 = value }
            done.signal()
        }
    }

    /// Blocks the calling thread, which must be none of Swift's own, until the work is done.
    package static func block<Value: Sendable>(
        on work: @escaping @Sendable () async throws -> Value
    ) throws -> Value {
        let outcome = Outcome<Value>()
        Task {
            do {
                outcome.set(.success(try await work()))
            } catch {
                outcome.set(.failure(error))
            }
        }
        outcome.done.wait()
        guard let result = outcome.result.withLock({ $0 }) else { throw CancellationError() }
        return try result.get()
    }
}
