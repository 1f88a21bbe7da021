import Checksums
import FFmpeg
import IngestModel

/// Stands for a stream's packets in their order: two streams with the same digest have the same presentation times, but for a
/// moment that is added to all of them, and the same bytes. Takes no more room for long recordings.
struct PacketDigest: Sendable {
    private(set) var count: Int64 = 0
    /// In the time base of the container.
    private(set) var first: Int64 = 0
    private var times = Mixture()
    private(set) var bytes = Mixture()

    /// FNV-1a with 64 bits.
    struct Mixture: Equatable, Sendable {
        private var value: UInt64 = 0xCBF2_9CE4_8422_2325

        mutating func add(_ number: UInt64) {
            var number = number
            for _ in 0..<8 {
                value = (value ^ (number & 0xFF)) &* 0x100_0000_01B3
                number >>= 8
            }
        }
    }

    static func checksum(of packet: Packet) -> CRC32Value {
        var crc = CRC32()
        packet.withBytes { crc.update($0) }
        return crc.value
    }

    mutating func add(_ packet: Packet, _ checksum: CRC32Value) {
        guard let time = packet.presentation else { return }
        if count == 0 { first = time }
        count += 1
        times.add(UInt64(bitPattern: time &- first))
        bytes.add(UInt64(packet.size) << 32 | UInt64(checksum.value))
    }

    /// Whether the times are the same, measured from the first one.
    func hasSameSteps(as other: PacketDigest) -> Bool { count == other.count && times == other.times }
}
