/// How far the current stage of an item is, as a running process last wrote it down.
package struct StageProgress: Hashable, Codable, Sendable {
    package enum Stage: String, Codable, Sendable {
        case copying, compressing, remuxing, checking, uploading

        /// Whether `done` and `total` count bytes; they count thousandths otherwise.
        package var countsBytes: Bool { self == .copying || self == .uploading }
    }

    package let stage: Stage
    package let done: Int64
    package let total: Int64
    /// Per second: bytes, or frames where an encoder works. 0 where unknown.
    package let rate: Double

    package init(stage: Stage, done: Int64, total: Int64, rate: Double) {
        self.stage = stage
        self.done = done
        self.total = total
        self.rate = rate
    }

    /// 0 … 1.
    package var fraction: Double { total > 0 ? min(1, max(0, Double(done) / Double(total))) : 0 }
}

/// A rate that does not jump: an average that forgets with a time constant of some seconds.
///
/// Pure: time comes in as seconds on any steady clock.
package struct RateMeter: Sendable {
    private let memory: Double
    private var average: Double = 0
    private var weight: Double = 0
    private var last: (time: Double, count: Double)?

    package init(memory: Double = 5) {
        self.memory = memory
    }

    /// Notes that `count` things have been done by `time`; a count that went back begins anew.
    package mutating func note(_ count: Double, at time: Double) {
        guard let last, count >= last.count else {
            last = (time, count)
            return
        }
        let elapsed = time - last.time
        guard elapsed > 0.001 else { return }
        let keep = Exponential.decay(elapsed / memory)
        average = average * keep + (count - last.count) / elapsed * (1 - keep)
        weight = weight * keep + (1 - keep)
        self.last = (time, count)
    }

    /// Per second; `nil` until there is something to say.
    package var rate: Double? { weight > 0 ? average / weight : nil }
}

private enum Exponential {
    /// e^(-x) for x ≥ 0, good to a few thousandths, which is more than a displayed rate needs.
    static func decay(_ x: Double) -> Double {
        if x > 30 { return 0 }
        // (1 - x/1024)^1024 by repeated squaring.
        var factor = max(0, 1 - x / 1024)
        for _ in 0..<10 { factor *= factor }
        return factor
    }
}
