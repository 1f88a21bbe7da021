/// Stands for the presentation times of a stream's packets, in their order: two streams with the same digest have the same
/// times, but for a moment that is added to all of them. Takes no more room for long recordings.
struct TimeDigest: Equatable, Sendable {
    private(set) var count: Int64 = 0
    /// In the time base of the container.
    private(set) var first: Int64 = 0
    // FNV-1a, 64 bits.
    private var value: UInt64 = 0xCBF2_9CE4_8422_2325

    mutating func add(_ time: Int64) {
        if count == 0 { first = time }
        count += 1
        var distance = UInt64(bitPattern: time &- first)
        for _ in 0..<8 {
            value = (value ^ (distance & 0xFF)) &* 0x100_0000_01B3
            distance >>= 8
        }
    }

    /// Whether the times are the same, measured from the first one.
    func hasSameSteps(as other: TimeDigest) -> Bool { count == other.count && value == other.value }
}
