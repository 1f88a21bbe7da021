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
    /// Seconds that a body, or the taking of an answer, may last whatever its rate.
    package var bodyGrace: Double = 30
    /// Bytes a second that it must keep up on average, after the grace.
    package var bodyRate: Double = 1024
    /// Seconds that a client may go on sending when it has been refused.
    package var lingering: Double = 30

    package init() {}
}

/// The open connections, what each is waiting for, and a thread that closes those that are too slow. Where there are too
/// many, a new one takes the place of the one on which nothing has moved for longest, so that clients who only hold
/// connections keep nobody out.
final class ConnectionWatch: Sendable {
    private enum Phase {
        case awaitingHead(allowed: Double)
        case receivingBody(bytes: Int64)
        /// What to answer is being found out.
        case answering
        case sending(first: Int64, acknowledged: Int64)
        /// It has its answer; what it still sends is thrown away.
        case lingering
        /// Shut down; its thread has yet to notice.
        case cut
    }

    private struct Connection {
        let socket: CInt
        private(set) var phase: Phase
        private(set) var since: Double
        /// When the client last did what it is waited for.
        private(set) var moved: Double

        init(socket: CInt, phase: Phase, now: Double) {
            self.socket = socket
            self.phase = phase
            since = now
            moved = now
        }

        mutating func enter(_ next: Phase, now: Double) {
            if case .cut = phase { return }
            phase = next
            since = now
            moved = now
        }

        mutating func received(_ count: Int, now: Double) {
            guard case .receivingBody(let bytes) = phase else { return }
            phase = .receivingBody(bytes: bytes + Int64(count))
            moved = now
        }

        /// Looks whether the client has taken more of its answer.
        mutating func look(now: Double) {
            guard case .sending(let first, let known) = phase else { return }
            let acknowledged = Sockets.acknowledgedBytes(socket)
            guard acknowledged > known else { return }
            phase = .sending(first: first, acknowledged: acknowledged)
            moved = now
        }

        /// From when on it counts as idle. Who moves something may pause for two seconds; `nil` for who is not to be cut.
        func idleSince(now: Double) -> Double? {
            switch phase {
            case .awaitingHead, .lingering: moved
            case .receivingBody: moved + 2
            case .sending: now - moved > 2 ? moved + 2 : nil
            case .answering, .cut: nil
            }
        }

        mutating func cut() {
            shutdown(socket, CInt(SHUT_RDWR))
            phase = .cut
        }
    }

    private struct State {
        var connections: [Int: Connection] = [:]
        var lastID = 0
        var isStopped = false
    }

    private let state = Mutex(State())
    private let patience: Patience
    private let most: Int

    /// Keeps no more than `most` connections beside each other.
    init(patience: Patience, most: Int) {
        self.patience = patience
        self.most = most
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

    /// To be called on the thread that takes connections.
    func opened(socket: CInt) -> Int {
        let now = steadyNow()
        let (id, ending) = state.withLock { state in
            let ending = makeRoom(&state, now: now)
            state.lastID += 1
            state.connections[state.lastID] = Connection(
                socket: socket, phase: .awaitingHead(allowed: patience.firstHead), now: now)
            return (state.lastID, ending)
        }
        // Whoever is cut off counts until its thread has ended: no more may come than go.
        if ending > most / 2 { usleep(5000) }
        return id
    }

    /// Cuts the connection that has been idle for longest, if there are too many. Never one that waits for its answer.
    ///
    /// - Returns: how many have been cut and are still there.
    private func makeRoom(_ state: inout State, now: Double) -> Int {
        var open = 0
        var ending = 0
        var idlest: (id: Int, since: Double)?
        for (id, connection) in state.connections {
            if case .cut = connection.phase {
                ending += 1
                continue
            }
            open += 1
            if let since = connection.idleSince(now: now), since < idlest?.since ?? .infinity { idlest = (id, since) }
        }
        if open >= most, let idlest { state.connections[idlest.id]?.cut() }
        return ending
    }

    /// To be called before the socket is closed: its number may then belong to another connection.
    func closed(_ id: Int) {
        state.withLock { $0.connections[id] = nil }
    }

    func headCame(_ id: Int) {
        let now = steadyNow()
        state.withLock { $0.connections[id]?.enter(.receivingBody(bytes: 0), now: now) }
    }

    func received(_ count: Int, on id: Int) {
        let now = steadyNow()
        state.withLock { $0.connections[id]?.received(count, now: now) }
    }

    func answering(_ id: Int) {
        let now = steadyNow()
        state.withLock { $0.connections[id]?.enter(.answering, now: now) }
    }

    /// The answer is on its way.
    func sending(_ id: Int) {
        let now = steadyNow()
        state.withLock { state in
            guard let socket = state.connections[id]?.socket else { return }
            let acknowledged = Sockets.acknowledgedBytes(socket)
            state.connections[id]?.enter(.sending(first: acknowledged, acknowledged: acknowledged), now: now)
        }
    }

    func lingering(_ id: Int) {
        let now = steadyNow()
        state.withLock { $0.connections[id]?.enter(.lingering, now: now) }
    }

    func requestEnded(_ id: Int) {
        let now = steadyNow()
        state.withLock { $0.connections[id]?.enter(.awaitingHead(allowed: patience.nextHead), now: now) }
    }

    /// Cuts the connection; its thread then sees the end.
    func drop(_ id: Int) {
        state.withLock { $0.connections[id]?.cut() }
    }

    private func closeSlow(now: Double) {
        state.withLock { state in
            for id in Array(state.connections.keys) {
                state.connections[id]?.look(now: now)
                if let connection = state.connections[id], isTooSlow(connection, now: now) {
                    state.connections[id]?.cut()
                }
            }
        }
    }

    private func isTooSlow(_ connection: Connection, now: Double) -> Bool {
        let passed = now - connection.since
        return switch connection.phase {
        case .awaitingHead(let allowed): passed > allowed
        case .receivingBody(let bytes):
            passed > patience.bodyGrace && Double(bytes) < passed * patience.bodyRate
        case .sending(let first, let acknowledged):
            passed > patience.bodyGrace && Double(acknowledged - first) < passed * patience.bodyRate
        case .lingering: passed > patience.lingering
        case .answering, .cut: false
        }
    }
}

/// Seconds of a clock that never jumps.
func steadyNow() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}
