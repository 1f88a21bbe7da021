import CFFmpeg

/// Cuts packets that hold several frames into one packet a frame, for codecs whose decoders take only the first: phones
/// put a second of AMR speech into one sample of a 3GP file, and libavcodec's decoder would lose all but 20 ms of it.
final class PacketSplitter {
    private let parser: UnsafeMutablePointer<AVCodecParserContext>
    private var context: UnsafeMutablePointer<AVCodecContext>?

    /// `nil` for codecs that need none.
    init?(_ stream: InputStream) {
        let id = stream.parameters.pointer.pointee.codec_id
        guard id == AV_CODEC_ID_AMR_NB || id == AV_CODEC_ID_AMR_WB, let parser = av_parser_init(Int32(id.rawValue)),
            let context = avcodec_alloc_context3(nil)
        else { return nil }
        self.parser = parser
        self.context = context
        avcodec_parameters_to_context(context, stream.parameters.pointer)
    }

    deinit {
        av_parser_close(parser)
        avcodec_free_context(&context)
    }

    /// The frames of a packet; the first keeps its time stamps, the others follow it without any.
    func split(_ packet: Packet) throws(FFmpegError) -> [Packet] {
        var pieces: [Packet] = []
        var position = packet.pointer.pointee.data
        var left = packet.pointer.pointee.size
        while true {
            var frame: UnsafeMutablePointer<UInt8>?
            var size: Int32 = 0
            // Without bytes left the parser gives out what it still holds.
            let used = av_parser_parse2(
                parser, context, &frame, &size, left > 0 ? position : nil, left, ingest_ff_no_timestamp(),
                ingest_ff_no_timestamp(), 0)
            if size == 0, left == 0 || used <= 0 { break }
            position = position.map { $0 + Int(used) }
            left -= used
            guard size > 0, let frame else { continue }
            let piece = try Packet()
            try check(av_new_packet(piece.pointer, size), "split a packet")
            piece.pointer.pointee.data.update(from: frame, count: Int(size))
            if pieces.isEmpty {
                piece.presentation = packet.presentation
                piece.decoding = packet.decoding
            }
            pieces.append(piece)
        }
        return pieces
    }
}
