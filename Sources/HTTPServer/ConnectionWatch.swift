import Glibc
import Synchronization
import SystemIO

/// How slow a client may be. libmicrohttpd's own time-out counts idleness only, so a client that drips a byte now and
/// then would keep its connection for ever.
package struct Patience: Sendable {
    /// Seconds for the first request's head, from the connection's begin.
    package var firstHead: Double = 20
    /// Seconds for a further head, from the end of the request before it.
    package var nextHead: Double = 90
    /// Seconds that a body may take whatever its rate.
    package var bodyGrace: Double = 30
    /// Bytes a second that a body must keep up on average, after the grace.
    package var bodyRate: Double = 1024

    package init() {}
}

/// The open connections, what each is waiting for, and a thread that closes those that are too slow.
final class ConnectionWatch: Sendable {
    private enum Phase {
        case awaitingHead(since: Double, allowed: Double)
        case receivingBody(since: Double, bytes: Int64)
        case answering
    }

    private struct Connection {
        let socket: CInt
        var phase: Phase
    }

    private struct State {
        var connections: [Int: Connection] = [:]
        var lastID = 0
        var isStopped = false
    }

    private let state = Mutex(State())
    private let patience: Patience

    init(patience: Patience) {
        self.patience = patience
    }

    func start() {
        Thread.detach { [self] in
            while !state.withLock({ $0.isStopped }) {
                closeSlow(now: steadyNow())
                usleep(500_000)
            }
        }
    }

    func stop() {
        state.withLock { $0.isStopped = true }
    }

    func opened(socket: CInt) -> Int {
        let now = steadyNow()
        return state.withLock { state in
            state.lastID += 1
            state.connections[state.lastID] = Connection(
                socket: socket, phase: .awaitingHead(since: now, allowed: patience.firstHead))
            return state.lastID
        }
    }

    /// To be called before the socket is closed: its number may then belong to another connection.
    func closed(_ id: Int) {
        state.withLock { $0.connections[id] = nil }
    }

    func headCame(_ id: Int) {
        let now = steadyNow()
        state.withLock { $0.connections[id]?.phase = .receivingBody(since: now, bytes: 0) }
    }

    func received(_ count: Int, on id: Int) {
        state.withLock { state in
            if case .receivingBody(let since, let bytes) = state.connections[id]?.phase {
                state.connections[id]?.phase = .receivingBody(since: since, bytes: bytes + Int64(count))
            }
        }
    }

    func answering(_ id: Int) {
        state.withLock { $0.connections[id]?.phase = .answering }
    }

    func requestEnded(_ id: Int) {
        let now = steadyNow()
        state.withLock {
            $0.connections[id]?.phase = .awaitingHead(since: now, allowed: patience.nextHead)
        }
    }

    /// Cuts the connection; its thread then sees the end.
    func drop(_ id: Int) {
        state.withLock { state in
            if let connection = state.connections[id] { shutdown(connection.socket, CInt(SHUT_RDWR)) }
        }
    }

    private func closeSlow(now: Double) {
        state.withLock { state in
            for connection in state.connections.values where isTooSlow(connection.phase, now: now) {
                shutdown(connection.socket, CInt(SHUT_RDWR))
            }
        }
    }

    private func isTooSlow(_ phase: Phase, now: Double) -> Bool {
        switch phase {
        case .awaitingHead(let since, let allowed): now - since > allowed
        case .receivingBody(let since, let bytes):
            now - since > patience.bodyGrace && Double(bytes) < (now - since) * patience.bodyRate
        case .answering: false
        }
    }
}

/// Seconds of a clock that never jumps.
func steadyNow() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}
