import CFFmpeg

/// A fraction, such as a time base (seconds a tick) or a frame rate.
package struct Rational: Hashable, Sendable {
    package let numerator: Int32
    package let denominator: Int32

    package init(_ numerator: Int32, _ denominator: Int32) {
        self.numerator = numerator
        self.denominator = denominator
    }

    init(_ value: AVRational) {
        self.init(value.num, value.den)
    }

    var c: AVRational { AVRational(num: numerator, den: denominator) }

    package var isPositive: Bool { numerator > 0 && denominator > 0 }

    package var value: Double { denominator == 0 ? 0 : Double(numerator) / Double(denominator) }

    /// The tick in this time base next to `timestamp` in another.
    package func rescale(_ timestamp: Int64, from other: Rational) -> Int64 {
        av_rescale_q_rnd(timestamp, other.c, c, AVRounding(AV_ROUND_NEAR_INF.rawValue | AV_ROUND_PASS_MINMAX.rawValue))
    }

    /// Whether a recording can have such a moment, in this time base: within 68 years of the beginning of time. Files that
    /// are damaged name others; without them no sum of times comes near the ends of the integers.
    package func isPlausible(_ timestamp: Int64) -> Bool {
        timestamp > -1 << 61 && timestamp < 1 << 61 && seconds(timestamp).magnitude < Double(1 << 31)
    }

    package func seconds(_ timestamp: Int64) -> Double { Double(timestamp) * value }

    /// Less than, equal to or greater than 0, as the one moment is before, at or behind the other.
    package static func compare(_ left: Int64, _ leftBase: Rational, _ right: Int64, _ rightBase: Rational) -> Int {
        Int(av_compare_ts(left, leftBase.c, right, rightBase.c))
    }
}

/// Metadata of a container or stream.
enum Metadata {
    static func read(_ dictionary: OpaquePointer?) -> [String: String] {
        var values: [String: String] = [:]
        var entry: UnsafeMutablePointer<AVDictionaryEntry>?
        while true {
            entry = av_dict_get(dictionary, "", entry, AV_DICT_IGNORE_SUFFIX)
            guard let entry else { return values }
            values[String(cString: entry.pointee.key)] = String(cString: entry.pointee.value)
        }
    }

    static func write(_ values: [String: String], to dictionary: inout OpaquePointer?) {
        // Sorted, so that the same input gives the same file.
        for (key, value) in values.sorted(by: { $0.key < $1.key }) { av_dict_set(&dictionary, key, value, 0) }
    }
}
