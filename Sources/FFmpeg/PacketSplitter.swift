import CFFmpeg

/// Cuts packets that hold several frames into one packet a frame, for codecs whose decoders take only the first: phones
/// put a second of AMR speech into one sample of a 3GP file, and libavcodec's decoder would lose all but 20 ms of it.
struct PacketSplitter {
    /// Bytes of a frame, its head included, by the type that its head names (RFC 4867, section 5.3; 3GPP TS 26.101 and
    /// 26.201).
    private let sizes: [Int]

    private static let narrowBand = [13, 14, 16, 18, 20, 21, 27, 32, 6, 1, 1, 1, 1, 1, 1, 1]
    private static let wideBand = [18, 24, 33, 37, 41, 47, 51, 59, 61, 6, 1, 1, 1, 1, 1, 1]

    /// `nil` for codecs that need none.
    init?(_ stream: InputStream) {
        switch stream.parameters.pointer.pointee.codec_id {
        case AV_CODEC_ID_AMR_NB: sizes = Self.narrowBand
        case AV_CODEC_ID_AMR_WB: sizes = Self.wideBand
        default: return nil
        }
    }

    /// The frames of a packet; the first keeps its time stamps, the others follow it without any.
    func split(_ packet: Packet) throws(FFmpegError) -> [Packet] {
        guard let bytes = packet.pointer.pointee.data else { return [packet] }
        let count = packet.size
        var pieces: [Packet] = []
        var position = 0
        while position < count {
            let size = min(sizes[Int(bytes[position] >> 3 & 15)], count - position)
            let piece = try Packet()
            try check(av_new_packet(piece.pointer, Int32(size)), "split a packet")
            piece.pointer.pointee.data.update(from: bytes + position, count: size)
            if pieces.isEmpty {
                piece.presentation = packet.presentation
                piece.decoding = packet.decoding
            }
            pieces.append(piece)
            position += size
        }
        return pieces
    }
}
