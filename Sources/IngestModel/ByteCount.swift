/// A number of bytes, never negative.
package struct ByteCount: Hashable, Comparable, Codable, Sendable {
    package let value: Int64

    package init(_ value: Int64) {
        precondition(value >= 0, "a byte count is never negative")
        self.value = value
    }

    package static func kibibytes(_ count: Int64) -> ByteCount { ByteCount(count << 10) }
    package static func mebibytes(_ count: Int64) -> ByteCount { ByteCount(count << 20) }
    package static func gibibytes(_ count: Int64) -> ByteCount { ByteCount(count << 30) }

    package static func < (left: ByteCount, right: ByteCount) -> Bool { left.value < right.value }

    package init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer().decode(Int64.self)
        guard value >= 0 else {
            throw DecodingError.dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: "negative size"))
        }
        self.value = value
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(value)
    }
}

extension ByteCount {
    /// Reads `500k`, `1M`, `1MiB`, `2.5G`, `1048576`: k, M, G, T are powers of 1000, Ki, Mi, Gi, Ti of 1024, a `B` may
    /// follow. A fraction of a byte is cut off. `nil` for anything else and for what does not fit 63 bits.
    package init?(argument: String) {
        let text = Array(argument.utf8)
        let numberEnd = text.firstIndex { !($0 == UInt8(ascii: ".") || Self.isDigit($0)) } ?? text.count
        guard let unit = Self.unit(String(decoding: text[numberEnd...], as: UTF8.self)) else { return nil }
        let parts = text[..<numberEnd].split(
            separator: UInt8(ascii: "."), maxSplits: 1, omittingEmptySubsequences: false)
        let digits = parts.map { String(decoding: $0, as: UTF8.self) }
        guard !digits.contains(""), digits.joined().utf8.count <= 18, let number = Int128(digits.joined()) else {
            return nil
        }
        var divisor: Int128 = 1
        for _ in 0..<(digits.count == 2 ? digits[1].utf8.count : 0) { divisor *= 10 }
        guard let sum = Int64(exactly: number * Int128(unit) / divisor) else { return nil }
        value = sum
    }

    /// As in `56.78MB`; MB is 1024² bytes here, as in the progress text.
    package var inMebibytes: String { Decimal.fixed(Double(value) / 1_048_576, places: 2) + "MB" }

    /// For reading: `512 B`, `3.4 KiB`, `56.8 MiB`, `1.2 GiB`.
    package var forReading: String {
        if value < 1024 { return "\(value) B" }
        var size = Double(value) / 1024
        for unit in ["KiB", "MiB", "GiB"] {
            if size < 999.95 { return Decimal.fixed(size, places: 1) + " " + unit }
            size /= 1024
        }
        return Decimal.fixed(size, places: 1) + " TiB"
    }

    private static func isDigit(_ character: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(character)
    }

    private static func unit(_ suffix: String) -> Int64? {
        let letters = suffix.hasSuffix("B") ? String(suffix.dropLast()) : suffix
        return switch letters {
        case "": 1
        case "k", "K": 1_000
        case "M": 1_000_000
        case "G": 1_000_000_000
        case "T": 1_000_000_000_000
        case "Ki": 1 << 10
        case "Mi": 1 << 20
        case "Gi": 1 << 30
        case "Ti": 1 << 40
        default: nil
        }
    }
}

/// Numbers as text without a locale.
package enum Decimal {
    /// The value rounded to `places` digits behind the point; values that are no number count as 0.
    package static func fixed(_ value: Double, places: Int) -> String {
        guard value.isFinite else { return fixed(0, places: places) }
        var scale = 1.0
        for _ in 0..<places { scale *= 10 }
        let scaled = (value.magnitude * scale).rounded()
        guard scaled < 9e18 else { return "\(value)" }
        let digits = Int64(scaled)
        let sign = value < 0 && digits > 0 ? "-" : ""
        let unit = Int64(scale)
        if places == 0 { return "\(sign)\(digits)" }
        let fraction = String(digits % unit)
        return sign + "\(digits / unit)." + String(repeating: "0", count: places - fraction.count) + fraction
    }
}
