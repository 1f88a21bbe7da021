import CFFmpeg

/// An encoder. Lives on one thread.
package final class Encoder {
    private var context: UnsafeMutablePointer<AVCodecContext>?
    package let timeBase: Rational

    /// What a video encoder is opened with.
    package struct VideoSettings {
        /// libavcodec's name, such as `libx264`.
        package var codec: String
        package var format: VideoFormat
        package var timeBase: Rational
        /// A hint: time stamps decide.
        package var frameRate: Rational
        package var keyFrameDistance: Int
        package var mostBFrames: Int?
        package var threads: Int
        /// The encoder's own options, such as `crf`.
        package var options: [String: String]
        /// A four-character code such as `hvc1`; `nil` leaves it to the container.
        package var tag: String?
        /// Bits a second on average; `nil` lets the options decide.
        package var bitRate: Int64?

        package init(
            codec: String, format: VideoFormat, timeBase: Rational, frameRate: Rational, keyFrameDistance: Int,
            mostBFrames: Int?, threads: Int, options: [String: String], tag: String?, bitRate: Int64? = nil
        ) {
            self.codec = codec
            self.format = format
            self.timeBase = timeBase
            self.frameRate = frameRate
            self.keyFrameDistance = keyFrameDistance
            self.mostBFrames = mostBFrames
            self.threads = threads
            self.options = options
            self.tag = tag
            self.bitRate = bitRate
        }
    }

    package init(video settings: VideoSettings) throws(FFmpegError) {
        timeBase = settings.timeBase
        let (codec, made) = try Self.allocate(settings.codec)
        context = made
        let format = settings.format
        made.pointee.width = Int32(format.width)
        made.pointee.height = Int32(format.height)
        made.pointee.pix_fmt = format.pixelFormat.c
        made.pointee.sample_aspect_ratio = format.sampleAspectRatio.c
        made.pointee.time_base = settings.timeBase.c
        made.pointee.framerate = settings.frameRate.c
        made.pointee.gop_size = Int32(settings.keyFrameDistance)
        if let count = settings.mostBFrames { made.pointee.max_b_frames = Int32(count) }
        made.pointee.thread_count = Int32(settings.threads)
        made.pointee.color_range = AVColorRange(UInt32(format.colour.range))
        made.pointee.color_primaries = AVColorPrimaries(UInt32(format.colour.primaries))
        made.pointee.color_trc = AVColorTransferCharacteristic(UInt32(format.colour.transfer))
        made.pointee.colorspace = AVColorSpace(UInt32(format.colour.matrix))
        made.pointee.chroma_sample_location = AVChromaLocation(UInt32(format.colour.chromaLocation))
        if let rate = settings.bitRate { made.pointee.bit_rate = rate }
        if let tag = settings.tag { made.pointee.codec_tag = FourCharacterCode.value(tag) }
        try open(codec, options: settings.options)
    }

    /// - Parameters:
    ///   - codecName: libavcodec's name, such as `aac`.
    ///   - sampleRate: samples a second.
    ///   - layout: libavutil's name of the channel layout.
    ///   - sampleFormat: libavutil's name.
    ///   - bitRate: bits a second.
    /// - Throws: `FFmpegError` where the codec is not there or does not take this.
    package init(
        audio codecName: String, sampleRate: Int, layout: String, sampleFormat: String, bitRate: Int
    ) throws(FFmpegError) {
        timeBase = Rational(1, Int32(sampleRate))
        let (codec, made) = try Self.allocate(codecName)
        context = made
        made.pointee.sample_rate = Int32(sampleRate)
        made.pointee.sample_fmt = av_get_sample_fmt(sampleFormat)
        made.pointee.bit_rate = Int64(bitRate)
        made.pointee.time_base = timeBase.c
        try check(av_channel_layout_from_string(&made.pointee.ch_layout, layout), "set the channel layout \(layout)")
        try open(codec, options: [:])
    }

    deinit {
        avcodec_free_context(&context)
    }

    private static func allocate(
        _ name: String
    ) throws(FFmpegError) -> (UnsafePointer<AVCodec>, UnsafeMutablePointer<AVCodecContext>) {
        guard let codec = avcodec_find_encoder_by_name(name) else {
            throw FFmpegError("find the encoder \(name)", code: ingest_ff_unknown_codec())
        }
        guard let context = avcodec_alloc_context3(codec) else {
            throw FFmpegError("allocate an encoder", code: ingest_ff_out_of_memory())
        }
        return (codec, context)
    }

    private func open(_ codec: UnsafePointer<AVCodec>, options: [String: String]) throws(FFmpegError) {
        guard let context else { return }
        // The container takes the codec's headers once, in front (mp4 does).
        context.pointee.flags |= AV_CODEC_FLAG_GLOBAL_HEADER
        var dictionary: OpaquePointer?
        defer { av_dict_free(&dictionary) }
        Metadata.write(options, to: &dictionary)
        try check(avcodec_open2(context, codec, &dictionary), "open the encoder")
    }

    /// How the stream that it makes is described.
    package func parameters() throws(FFmpegError) -> CodecParameters {
        guard let context else { throw FFmpegError("describe the encoder's stream", code: ingest_ff_invalid_data()) }
        return try CodecParameters(of: context)
    }

    /// Samples that a frame must have; 0 for any.
    package var frameSize: Int { Int(context?.pointee.frame_size ?? 0) }

    /// Hands over a frame, or with `nil` says that there are no more. `false`: it has output that must be taken first.
    package func send(_ frame: Frame?) throws(FFmpegError) -> Bool {
        let result = avcodec_send_frame(context, frame?.pointer)
        if result == ingest_ff_again() { return false }
        if frame == nil, result == ingest_ff_end() { return true }
        try check(result, "encode")
        return true
    }

    package func receive() throws(FFmpegError) -> Received<Packet> {
        let packet = try Packet()
        let result = avcodec_receive_packet(context, packet.pointer)
        if result == ingest_ff_again() { return .needsInput }
        if result == ingest_ff_end() { return .finished }
        try check(result, "encode")
        return .output(packet)
    }
}

/// A container's four-character code as a number.
enum FourCharacterCode {
    static func value(_ text: String) -> UInt32 {
        text.utf8.prefix(4).reversed().reduce(0) { $0 << 8 | UInt32($1) }
    }
}
