import CLinux
import Glibc
import IngestModel
import Synchronization

/// The service manager that started this process, where one did and wants to hear how it goes: the datagrams of
/// `sd_notify(3)`, to the socket that `NOTIFY_SOCKET` names. Without one every call does nothing.
///
/// Nothing here waits: a socket that is full or gone holds nobody up. What changes the service's state is kept and sent
/// at the next turn; a ping or a status that did not arrive is followed by a newer one.
package final class ServiceManager: Sendable {
    private struct State {
        /// What has to arrive in this order, and has not yet.
        var owed: [String] = []
        var status: String?
        var toldStatus: String?
        var toldStatusAt: ContinuousClock.Instant?
        var pingedAt: ContinuousClock.Instant?
    }

    private let socket: SharedDescriptor?
    /// As `sockaddr_un` has it: a path, or a name behind a NUL (`unix(7)`).
    private let address: [UInt8]
    /// How long the manager waits for a ping before it ends us; `nil` where it expects none.
    package let patience: Duration?
    private let state = Mutex(State())

    /// A new status waits until the one before is so old.
    package static let statusInterval = Duration.seconds(5)
    /// More changes of state than that are not kept for a manager that does not listen.
    private static let mostOwed = 8
    /// Bytes of a status; the manager shows one line.
    private static let longestStatus = 400

    /// What is said to this process alone, and not to its children: they would be heard in its name.
    static let variables: Set<String> = ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"]

    /// - Parameter environment: with the variables of `sd_notify(3)` and `sd_watchdog_enabled(3)`.
    package init(_ environment: Environment) {
        let address = Self.address(environment["NOTIFY_SOCKET"])
        let number = address.isEmpty ? -1 : linux_open_datagram_socket()
        self.address = address
        socket = number < 0 ? nil : SharedDescriptor(FileDescriptor(owning: number))
        patience = socket == nil ? nil : Self.patience(environment)
    }

    /// Whether anybody listens.
    package var isPresent: Bool { socket != nil }

    /// The service does what it is for.
    package func ready() {
        tell("READY=1")
    }

    /// The service begins to end.
    package func stopping() {
        tell("STOPPING=1")
    }

    /// The service reads its settings again while `work` runs.
    package func reloading(_ work: () -> Void) {
        tell("RELOADING=1\nMONOTONIC_USEC=\(Self.monotonicMicroseconds)")
        work()
        ready()
    }

    /// What the service does just now, for people; told when it is another one than before, and not too often.
    package func status(_ text: String) {
        // A character may be cut; what is left of it is made good.
        let line = String(decoding: text.printable.utf8.prefix(Self.longestStatus), as: UTF8.self)
        state.withLock { state in
            state.status = line
            catchUp(&state)
        }
    }

    /// To be called at every turn of the loop that everything depends on, and nowhere else: if it hangs, the manager hears
    /// no more pings and starts the service anew. Cheap.
    package func alive() {
        if socket == nil { return }
        state.withLock { state in
            catchUp(&state)
            guard let patience else { return }
            let now = ContinuousClock.now
            // Half the time is what the manager asks for; turns come late.
            if let pingedAt = state.pingedAt, now - pingedAt < patience / 3 { return }
            if send("WATCHDOG=1") { state.pingedAt = now }
        }
    }

    private func tell(_ message: String) {
        if socket == nil { return }
        state.withLock { state in
            state.owed.append(message)
            if state.owed.count > Self.mostOwed { state.owed.removeFirst() }
            catchUp(&state)
        }
    }

    private func catchUp(_ state: inout State) {
        while let message = state.owed.first, send(message) { state.owed.removeFirst() }
        guard state.owed.isEmpty, let status = state.status, status != state.toldStatus else { return }
        let now = ContinuousClock.now
        if let toldAt = state.toldStatusAt, now - toldAt < Self.statusInterval { return }
        guard send("STATUS=\(status)") else { return }
        state.toldStatus = status
        state.toldStatusAt = now
    }

    private func send(_ message: String) -> Bool {
        guard let socket else { return false }
        let bytes = Array(message.utf8)
        return address.withUnsafeBytes { address in
            bytes.withUnsafeBytes { bytes in
                guard let name = address.baseAddress, let text = bytes.baseAddress else { return false }
                return linux_send_datagram(
                    socket.descriptor.number, name, UInt64(address.count), text, UInt64(bytes.count)) == 0
            }
        }
    }

    /// Empty for what is no address of a local socket.
    private static func address(_ text: String?) -> [UInt8] {
        guard let bytes = text.map({ Array($0.utf8) }), bytes.count > 1, bytes.count <= LINUX_LONGEST_SOCKET_NAME
        else { return [] }
        switch bytes[0] {
        case UInt8(ascii: "/"): return bytes
        case UInt8(ascii: "@"): return [0] + bytes.dropFirst()
        default: return []
        }
    }

    private static func patience(_ environment: Environment) -> Duration? {
        if let pid = environment["WATCHDOG_PID"], Int32(pid) != getpid() { return nil }
        guard let microseconds = environment["WATCHDOG_USEC"].flatMap({ Int64($0) }), microseconds > 0 else {
            return nil
        }
        return .microseconds(microseconds)
    }

    /// Of `CLOCK_MONOTONIC` (`clock_gettime(2)`), as the manager wants it.
    private static var monotonicMicroseconds: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
    }
}
