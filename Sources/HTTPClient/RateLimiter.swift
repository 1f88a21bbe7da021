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

/// A token bucket that several transfers share.
package final class RateLimiter: Sendable {
    private let bucket: Mutex<TokenBucket>

    /// - Parameter rate: bytes per second, above 0.
    package init(bytesPerSecond rate: Int64) {
        bucket = Mutex(TokenBucket(rate: Double(rate), now: SteadyClock.now))
    }

    /// Takes at most `wanted` bytes from all of the buckets at once: as many as the emptiest has.
    static func take(_ wanted: Int, from limiters: [RateLimiter]) -> Int {
        let now = SteadyClock.now
        var granted = wanted
        for limiter in limiters { granted = min(granted, limiter.bucket.withLock { $0.available(now: now) }) }
        for limiter in limiters { _ = limiter.bucket.withLock { $0.take(granted, now: now) } }
        return granted
    }

    static func delay(of limiters: [RateLimiter]) -> Double {
        let now = SteadyClock.now
        return limiters.map { limiter in limiter.bucket.withLock { $0.delay(now: now) } }.max() ?? 0
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
