/// How long to wait before the next try: exponential from 0.5 s to 60 s with full jitter, or what the far side demands.
package struct RetryPolicy: Sendable {
    package let first: Double
    package let longest: Double

    /// Seconds to wait after the `attempt`-th failure in a row of a recording of a watched folder that nobody may be looking
    /// at: from a minute to two hours. `nil` after about a day.
    package static func watchedDelay(afterFailure attempt: Int) -> Double? {
        var (delay, passed) = (60.0, 0.0)
        for _ in 1..<max(1, attempt) where passed < 86_400 {
            passed += delay
            delay = min(delay * 2, 7200)
        }
        return passed < 86_400 ? delay : nil
    }

    package static let standard = RetryPolicy(first: 0.5, longest: 60)

    package init(first: Double, longest: Double) {
        self.first = first
        self.longest = longest
    }

    /// Seconds to wait after the `attempt`-th failure in a row without progress (1 for the first).
    ///
    /// A demanded delay is a floor, never shortened; full jitter draws evenly from zero to the exponential bound.
    package func delay(
        afterFailure attempt: Int, demanded: Double?, using generator: inout some RandomNumberGenerator
    ) -> Double {
        var bound = first
        for _ in 1..<max(1, min(attempt, 32)) { bound = min(bound * 2, longest) }
        let drawn = Double.random(in: 0...bound, using: &generator)
        return max(drawn, demanded ?? 0)
    }
}
