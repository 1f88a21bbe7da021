import Synchronization

/// A token bucket: bytes may leave at `rate` a second on average, and a quarter of a second's worth at once.
///
/// Pure: time comes in as seconds on any steady clock.
package struct TokenBucket: Sendable {
    package let rate: Double
    private let capacity: Double
    private var tokens: Double
    private var filledAt: Double

    /// A full bucket. `rate` is bytes per second, above 0.
    package init(rate: Double, now: Double) {
        precondition(rate > 0, "a rate is above 0")
        self.rate = rate
        capacity = max(1, rate / 4)
        tokens = capacity
        filledAt = now
    }

    /// How many of `wanted` bytes may leave now; they are taken.
    package mutating func take(_ wanted: Int, now: Double) -> Int {
        let available = available(now: now)
        let taken = min(wanted, available)
        tokens -= Double(taken)
        return taken
    }

    package mutating func available(now: Double) -> Int {
        tokens = min(capacity, tokens + max(0, now - filledAt) * rate)
        filledAt = now
        return Int(tokens)
    }

    /// Seconds until a useful number of bytes may leave: a twentieth of a second's worth, so that slow rates do not wake
    /// the processor for every byte.
    package func delay(now: Double) -> Double {
        let useful = min(capacity, max(1, rate / 20))
        let present = tokens + max(0, now - filledAt) * rate
        return max(0, (useful - present) / rate)
    }
}

/// A limit that several transfers share, and that may change while they run.
package final class RateLimiter: Sendable {
    private struct State {
        /// `nil` while nothing is limited.
        var bucket: TokenBucket?
        /// When the rate was last asked for.
        var askedAt = -Double.infinity
    }

    private let rate: @Sendable () -> Int64?
    private let state = Mutex(State())

    private static let interval = 1.0

    /// - Parameter rate: bytes per second, above 0, or `nil` for no limit; asked for about once a second, on the client's
    ///   thread.
    package init(_ rate: @escaping @Sendable () -> Int64?) {
        self.rate = rate
    }

    /// - Parameter rate: bytes per second, above 0.
    package convenience init(bytesPerSecond rate: Int64) {
        self.init { rate }
    }

    private func use<Result>(now: Double, _ body: (inout TokenBucket?) -> Result) -> Result {
        state.withLock { state in
            if now - state.askedAt >= Self.interval {
                state.askedAt = now
                let present = rate().map { Double($0) }
                if present != state.bucket?.rate {
                    state.bucket = present.map { TokenBucket(rate: $0, now: now) }
                }
            }
            return body(&state.bucket)
        }
    }

    /// Takes at most `wanted` bytes from all of the buckets at once: as many as the emptiest has.
    package static func take(_ wanted: Int, from limiters: [RateLimiter]) -> Int {
        let now = SteadyClock.now
        var granted = wanted
        for limiter in limiters {
            granted = limiter.use(now: now) { min(granted, $0?.available(now: now) ?? granted) }
        }
        for limiter in limiters { limiter.use(now: now) { _ = $0?.take(granted, now: now) } }
        return granted
    }

    /// Seconds until it is worth while to take again.
    package static func delay(of limiters: [RateLimiter]) -> Double {
        let now = SteadyClock.now
        return limiters.map { limiter in limiter.use(now: now) { $0?.delay(now: now) ?? 0 } }.max() ?? 0
    }
}

/// Seconds on the steady clock that goes on while the machine sleeps.
enum SteadyClock {
    static var now: Double {
        let elapsed = origin.duration(to: .now)
        return Double(elapsed.components.seconds) + Double(elapsed.components.attoseconds) / 1e18
    }

    private static let origin = ContinuousClock.now
}
