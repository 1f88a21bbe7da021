import CFFmpeg

/// Text subtitles of any kind, made those that mp4 holds. Lives on one thread.
package final class SubtitleConverter {
    private var decoder: UnsafeMutablePointer<AVCodecContext>?
    private var encoder: UnsafeMutablePointer<AVCodecContext>?
    private let timeBase: Rational
    /// Longer than any subtitle.
    private var buffer = [UInt8](repeating: 0, count: 1 << 16)

    private static let codec = AV_CODEC_ID_MOV_TEXT

    /// Whether the stream's subtitles are text that can be decoded.
    package static func canConvert(_ stream: InputStream) -> Bool {
        let id = stream.parameters.pointer.pointee.codec_id
        guard let properties = avcodec_descriptor_get(id)?.pointee.props else { return false }
        return properties & AV_CODEC_PROP_TEXT_SUB != 0 && avcodec_find_decoder(id) != nil
            && avcodec_find_encoder(codec) != nil
    }

    package init(_ stream: InputStream) throws(FFmpegError) {
        timeBase = stream.timeBase
        let id = stream.parameters.pointer.pointee.codec_id
        guard let from = avcodec_find_decoder(id), let to = avcodec_find_encoder(Self.codec) else {
            throw FFmpegError("convert subtitles", code: ingest_ff_unknown_codec())
        }
        decoder = avcodec_alloc_context3(from)
        encoder = avcodec_alloc_context3(to)
        guard let decoder, let encoder else {
            throw FFmpegError("convert subtitles", code: ingest_ff_out_of_memory())
        }
        try check(avcodec_parameters_to_context(decoder, stream.parameters.pointer), "set up the subtitles' decoder")
        decoder.pointee.pkt_timebase = timeBase.c
        try check(avcodec_open2(decoder, from, nil), "open the subtitles' decoder")
        encoder.pointee.time_base = AVRational(num: 1, den: 1000)
        // How the text is to look: the encoder makes its styles from it, and owns it.
        if let header = decoder.pointee.subtitle_header, decoder.pointee.subtitle_header_size > 0 {
            let size = Int(decoder.pointee.subtitle_header_size)
            let copy = av_mallocz(size + 1)?.assumingMemoryBound(to: UInt8.self)
            copy?.update(from: header, count: size)
            encoder.pointee.subtitle_header = copy
            encoder.pointee.subtitle_header_size = decoder.pointee.subtitle_header_size
        }
        try check(avcodec_open2(encoder, to, nil), "open the subtitles' encoder")
    }

    deinit {
        avcodec_free_context(&decoder)
        avcodec_free_context(&encoder)
    }

    package func parameters() throws(FFmpegError) -> CodecParameters {
        guard let encoder else { throw FFmpegError("describe subtitles", code: ingest_ff_invalid_data()) }
        return try CodecParameters(of: encoder)
    }

    /// - Returns: the same subtitle, with the same times; `nil` where there is nothing in it, or nothing that can be read.
    package func convert(_ packet: Packet) throws(FFmpegError) -> Packet? {
        var subtitle = AVSubtitle()
        var isThere: Int32 = 0
        guard avcodec_decode_subtitle2(decoder, &subtitle, &isThere, packet.pointer) >= 0, isThere != 0 else {
            return nil
        }
        defer { avsubtitle_free(&subtitle) }
        if subtitle.num_rects == 0 { return nil }
        let size = buffer.withUnsafeMutableBufferPointer { buffer in
            avcodec_encode_subtitle(encoder, buffer.baseAddress, Int32(buffer.count), &subtitle)
        }
        guard size > 0 else { return nil }
        let made = try Packet()
        try check(av_new_packet(made.pointer, size), "convert a subtitle")
        made.pointer.pointee.data.update(from: buffer, count: Int(size))
        made.presentation = packet.presentation
        made.decoding = packet.decoding
        made.duration = packet.duration
        if made.duration <= 0, subtitle.end_display_time != .max {
            made.duration = timeBase.rescale(Int64(subtitle.end_display_time), from: Rational(1, 1000))
        }
        made.pointer.pointee.flags |= AV_PKT_FLAG_KEY
        return made
    }
}
