import FFmpeg

/// Looks through packets of H.264 and HEVC, without decoding them, for what a disk or a card has lost.
///
/// In files of the ISO base media format a packet is a row of units, each behind its length (ISO/IEC 14496-15, sections 4.3.3 and
/// 8.3.3), and inside a unit three zero bytes never stand together: where a picture has them, encoders write a 3 between (ITU-T
/// H.264, section 7.4.1; H.265, section 7.4.2). A block of zeros breaks one or the other.
struct PictureUnits {
    /// Bytes of a length.
    private let lengthSize: Int

    /// A block that was lost has 512 bytes at least: one look at eight bytes so often meets it.
    private static let step = 256
    private static let look = 8

    /// `nil` for streams of which this is not known.
    init?(_ parameters: CodecParameters) {
        let configuration = parameters.configuration
        guard parameters.isStoredVerbatim, let place = parameters.placeOfLengthSize, configuration.count > place else {
            return nil
        }
        lengthSize = Int(configuration[place] & 3) + 1
    }

    /// Whether nothing shows that it is not as it was recorded.
    func areWhole(in packet: Packet) -> Bool {
        var result = true
        packet.withBytes { result = areWhole($0) }
        return result
    }

    func areWhole(_ bytes: Span<UInt8>) -> Bool {
        var position = 0
        while position < bytes.count {
            guard position + lengthSize < bytes.count else { return false }
            var length = 0
            for index in position..<(position + lengthSize) { length = length << 8 | Int(bytes[index]) }
            position += lengthSize
            guard length > 0, length <= bytes.count - position else { return false }
            if hasHole(bytes, position..<(position + length)) { return false }
            position += length
        }
        return true
    }

    /// Zeros at the end of a unit are padding of some encoders.
    private func hasHole(_ bytes: Span<UInt8>, _ unit: Range<Int>) -> Bool {
        if bytes[unit.upperBound - 1] == 0 { return false }
        var position = unit.lowerBound
        while position + Self.look < unit.upperBound {
            var index = position
            while index < position + Self.look, bytes[index] == 0 { index += 1 }
            if index == position + Self.look { return true }
            position += Self.step
        }
        return false
    }
}
