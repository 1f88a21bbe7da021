import CFFmpeg

/// What a stream carries.
package enum StreamKind: String, Sendable {
    case video, audio, subtitle, data, attachment, unknown

    init(_ type: AVMediaType) {
        self =
            switch type {
            case AVMEDIA_TYPE_VIDEO: .video
            case AVMEDIA_TYPE_AUDIO: .audio
            case AVMEDIA_TYPE_SUBTITLE: .subtitle
            case AVMEDIA_TYPE_DATA: .data
            case AVMEDIA_TYPE_ATTACHMENT: .attachment
            default: .unknown
            }
    }
}

/// A stream of a container, as its header and the first packets describe it.
package struct InputStream: Sendable {
    package let index: Int
    /// The container's own number of it: in files of the ISO base media format, the track's.
    package let id: Int
    package let kind: StreamKind
    package let parameters: CodecParameters
    package let timeBase: Rational
    /// In the time base; `nil` where unknown.
    package let start: Int64?
    /// In the time base; `nil` where unknown.
    package let duration: Int64?
    package let averageFrameRate: Rational
    package let guessedFrameRate: Rational
    package let isAttachedPicture: Bool
    /// What the container says about its use (`AVStream.disposition`), but for being an attached picture.
    package let disposition: Int32
    package let metadata: [String: String]
    /// The nine numbers of a display matrix (ISO/IEC 14496-12, `tkhd`), empty for none.
    package let displayMatrix: [Int32]
    package let sampleAspectRatio: Rational
    /// Whether the picture comes with Dolby Vision's configuration.
    package let hasDolbyVision: Bool
    /// What the container says of the screen that it was made for, and of its brightest pictures.
    package let mastering: MasteringDisplay?
    package let contentLight: ContentLight?
    /// Of packets; 0 where the container does not say.
    package let packetCount: Int64

    /// libavcodec's name of the codec, such as `h264`; the container's tag where it knows none.
    package var codecName: String {
        let id = parameters.pointer.pointee.codec_id
        if id == AV_CODEC_ID_NONE || id == AV_CODEC_ID_BIN_DATA {
            return tag.isEmpty ? "unknown" : tag
        }
        return String(cString: avcodec_get_name(id))
    }

    /// The container's four-character code, as far as it is printable.
    package var tag: String {
        let value = parameters.pointer.pointee.codec_tag
        let bytes = [0, 8, 16, 24].map { UInt8(truncatingIfNeeded: value >> $0) }
        return bytes.allSatisfy { (0x20..<0x7F).contains($0) } ? String(decoding: bytes, as: UTF8.self) : ""
    }

    package var width: Int { Int(parameters.pointer.pointee.width) }
    package var height: Int { Int(parameters.pointer.pointee.height) }
    package var pixelFormat: PixelFormat { PixelFormat(AVPixelFormat(parameters.pointer.pointee.format)) }
    package var sampleRate: Int { Int(parameters.pointer.pointee.sample_rate) }
    package var channels: Int { Int(parameters.pointer.pointee.ch_layout.nb_channels) }
    package var channelLayout: String {
        withUnsafePointer(to: parameters.pointer.pointee.ch_layout) { ChannelLayout.describe($0) }
    }
    /// Whether it is known which channel is which.
    package var knowsChannels: Bool { parameters.pointer.pointee.ch_layout.order == AV_CHANNEL_ORDER_NATIVE }
    /// Bits a second, 0 where unknown.
    package var bitRate: Int64 { parameters.pointer.pointee.bit_rate }
    package var isHighDynamicRange: Bool {
        let transfer = parameters.pointer.pointee.color_trc
        return transfer == AVCOL_TRC_SMPTE2084 || transfer == AVCOL_TRC_ARIB_STD_B67
    }
    /// What the container and the codec's header say.
    package var colour: Colour {
        let parameters = parameters.pointer.pointee
        let format = AVPixelFormat(parameters.format)
        return Colour(
            range: ingest_ff_plain_pixel_format(format) == format
                ? Int(parameters.color_range.rawValue) : Int(AVCOL_RANGE_JPEG.rawValue),
            primaries: Int(parameters.color_primaries.rawValue), transfer: Int(parameters.color_trc.rawValue),
            matrix: Int(parameters.color_space.rawValue), chromaLocation: Int(parameters.chroma_location.rawValue))
    }
    package var isLowComplexityAAC: Bool {
        parameters.pointer.pointee.codec_id == AV_CODEC_ID_AAC
            && parameters.pointer.pointee.profile == ingest_ff_profile_aac_low()
    }
    package var isInterlaced: Bool {
        let order = parameters.pointer.pointee.field_order
        return order != AV_FIELD_UNKNOWN && order != AV_FIELD_PROGRESSIVE
    }
    package var isDefault: Bool { disposition & AV_DISPOSITION_DEFAULT != 0 }
    /// Whether libavcodec knows the codec, be it only by its name.
    package var isKnown: Bool { parameters.pointer.pointee.codec_id != AV_CODEC_ID_NONE }
    package var hasDecoder: Bool { avcodec_find_decoder(parameters.pointer.pointee.codec_id) != nil }

    /// Counter-clockwise degrees by which the picture is turned to be shown, a multiple of 90 or not; 0 without a matrix.
    package var rotation: Double {
        guard displayMatrix.count == 9 else { return 0 }
        let degrees = displayMatrix.withUnsafeBufferPointer { av_display_rotation_get($0.baseAddress) }
        return degrees.isNaN ? 0 : degrees
    }

    init(_ stream: UnsafeMutablePointer<AVStream>) throws(FFmpegError) {
        let value = stream.pointee
        index = Int(value.index)
        id = Int(value.id)
        packetCount = value.nb_frames
        kind = StreamKind(value.codecpar.pointee.codec_type)
        parameters = try CodecParameters(copying: value.codecpar)
        timeBase = Rational(value.time_base)
        let base = timeBase
        start = Timestamp.read(value.start_time).flatMap { base.isPlausible($0) ? $0 : nil }
        duration = Timestamp.read(value.duration).flatMap { $0 > 0 && base.isPlausible($0) ? $0 : nil }
        averageFrameRate = Rational(value.avg_frame_rate)
        guessedFrameRate = Rational(value.r_frame_rate)
        isAttachedPicture = value.disposition & AV_DISPOSITION_ATTACHED_PIC != 0
        disposition = value.disposition & ~AV_DISPOSITION_ATTACHED_PIC
        metadata = Metadata.read(value.metadata)
        let own = value.sample_aspect_ratio
        sampleAspectRatio = Rational(own.num > 0 ? own : value.codecpar.pointee.sample_aspect_ratio)
        var size = 0
        hasDolbyVision = ingest_ff_stream_side_data(stream, AV_PKT_DATA_DOVI_CONF, &size) != nil
        mastering = ingest_ff_stream_side_data(stream, AV_PKT_DATA_MASTERING_DISPLAY_METADATA, &size)
            .flatMap { MasteringDisplay($0, size: size) }
        contentLight = ingest_ff_stream_side_data(stream, AV_PKT_DATA_CONTENT_LIGHT_LEVEL, &size)
            .flatMap { ContentLight($0, size: size) }
        let matrix = ingest_ff_stream_side_data(stream, AV_PKT_DATA_DISPLAYMATRIX, &size)
        if let matrix, size >= 36 {
            displayMatrix = (0..<9).map {
                UnsafeRawPointer(matrix).loadUnaligned(fromByteOffset: $0 * 4, as: Int32.self)
            }
        } else {
            displayMatrix = []
        }
    }
}

/// A media file opened for reading. Lives on one thread.
package final class InputFile {
    private var context: UnsafeMutablePointer<AVFormatContext>?
    private var selected: Set<Int>?
    package let streams: [InputStream]
    package let metadata: [String: String]
    /// libavformat's name, such as `mov,mp4,m4a,3gp,3g2,mj2`.
    package let formatName: String
    private let isMatroska: Bool
    /// Seconds; `nil` where unknown.
    package let duration: Double?
    /// Whether the container itself declares the duration.
    package let declaresDuration: Bool
    /// Microseconds; `nil` where unknown.
    package let startMicroseconds: Int64?
    package let chapters: [Chapter]

    /// - Parameters:
    ///   - path: the file's path in the file system's bytes.
    ///   - formats: names of the demuxers that may read it; others are not tried.
    ///   - looksInside: whether the beginning is read and decoded to find out what the head does not say.
    ///   - headIsRead: called when the head has been read, before anything is decoded.
    /// - Throws: `FFmpegError` where it cannot be opened, or no demuxer that is allowed reads it.
    package init(
        path: [UInt8], formats: [String], looksInside: Bool = true, headIsRead: () -> Void = {}
    ) throws(FFmpegError) {
        var opened: UnsafeMutablePointer<AVFormatContext>?
        var options: OpaquePointer?
        defer { av_dict_free(&options) }
        av_dict_set(&options, "format_whitelist", formats.joined(separator: ","), 0)
        // No playlist, no reference inside a file leads anywhere else.
        av_dict_set(&options, "protocol_whitelist", "file", 0)
        // In streams without a head a track is not known before its first packet: sound may come long after the picture.
        av_dict_set(&options, "probesize", "\(Self.mostProbed)", 0)
        av_dict_set(&options, "analyzeduration", "\(60 * AV_TIME_BASE)", 0)
        let url = Array("file:".utf8).map { CChar(bitPattern: $0) } + path.map { CChar(bitPattern: $0) } + [0]
        try check(avformat_open_input(&opened, url, nil, &options), "open")
        guard let opened else { throw FFmpegError("open", code: ingest_ff_invalid_data()) }
        headIsRead()
        context = opened
        FFmpegLog.watch(UnsafeRawPointer(opened))
        // By itself the demuxer leaves out tracks of data whose packets all have one time (since 7.1, GoPro's `fdsc`).
        for index in 0..<Int(opened.pointee.nb_streams) {
            opened.pointee.streams[index]?.pointee.discard = AVDISCARD_DEFAULT
        }
        let result = looksInside ? avformat_find_stream_info(opened, nil) : 0
        if result < 0 {
            let error = FFmpegError("look into", code: result)
            FFmpegLog.forget(UnsafeRawPointer(opened))
            avformat_close_input(&context)
            streams = []
            metadata = [:]
            formatName = ""
            isMatroska = false
            duration = nil
            declaresDuration = false
            startMicroseconds = nil
            chapters = []
            throw error
        }
        let value = opened.pointee
        var streams: [InputStream] = []
        for index in 0..<Int(value.nb_streams) {
            if let stream = value.streams[index] { streams.append(try InputStream(stream)) }
        }
        self.streams = streams
        metadata = Metadata.read(value.metadata)
        formatName = String(cString: value.iformat.pointee.name)
        isMatroska = formatName.contains("matroska")
        let base = Rational(1, Int32(AV_TIME_BASE))
        duration = Timestamp.read(value.duration).flatMap { base.isPlausible($0) ? base.seconds($0) : nil }
        declaresDuration = ingest_ff_duration_is_declared(opened) != 0
        startMicroseconds = Timestamp.read(value.start_time).flatMap { base.isPlausible($0) ? $0 : nil }
        chapters = (0..<Int(value.nb_chapters)).compactMap { value.chapters[$0].map { Chapter($0.pointee) } }
    }

    deinit {
        if let context { FFmpegLog.forget(UnsafeRawPointer(context)) }
        avformat_close_input(&context)
    }

    /// Bytes that are read at most to find out what there is; they are kept in memory until they are read again.
    private static let mostProbed = 24 << 20

    /// Whether there was no memory for the index of one of its streams, which the demuxer of mp4 does not report.
    package var lacksIndex: Bool {
        guard let context, formatName.contains("mp4") else { return false }
        return (0..<Int(context.pointee.nb_streams)).contains { index in
            guard let stream = context.pointee.streams[index] else { return false }
            return stream.pointee.nb_frames > Self.longIndex && avformat_index_get_entries_count(stream) == 0
        }
    }

    /// Entries that take some memory.
    private static let longIndex: Int64 = 1 << 20

    /// The packet of an attached picture, which stands outside the order of time; `nil` for any other stream.
    package func attachedPicture(ofStream index: Int) throws(FFmpegError) -> Packet? {
        guard let stream = context?.pointee.streams[index], stream.pointee.attached_pic.size > 0 else { return nil }
        return try Packet(copying: &stream.pointee.attached_pic)
    }

    /// The stream a player would show first.
    package func bestStream(_ kind: StreamKind) -> Int? {
        let type = kind == .video ? AVMEDIA_TYPE_VIDEO : AVMEDIA_TYPE_AUDIO
        let index = av_find_best_stream(context, type, -1, -1, nil, 0)
        return index < 0 ? nil : Int(index)
    }

    /// Has the demuxer leave out all other streams.
    package func select(_ indices: Set<Int>) {
        guard let context else { return }
        selected = indices
        for index in 0..<Int(context.pointee.nb_streams) {
            context.pointee.streams[index]?.pointee.discard =
                indices.contains(index) ? AVDISCARD_DEFAULT : AVDISCARD_ALL
        }
    }

    /// The next packet, or `nil` at the end.
    package func read() throws(FFmpegError) -> Packet? {
        while true {
            let packet = try Packet()
            let result = av_read_frame(context, packet.pointer)
            if result == ingest_ff_end() { return nil }
            try check(result, "read")
            // What was read to find out about the streams comes whatever has been selected since.
            if selected?.contains(packet.streamIndex) ?? true { return packet }
        }
    }

    /// Goes to the last key frame at or before the moment.
    package func seek(toSeconds seconds: Double) throws(FFmpegError) {
        let target = Int64(seconds * Double(AV_TIME_BASE))
        try check(avformat_seek_file(context, -1, .min, target, target, 0), "seek")
    }

    /// How often the demuxer has said that it cannot read something, but for an end that comes too early. Only Matroska's
    /// is counted: it looks for the next cluster then, and says nothing by its results.
    package var complaints: Int64 {
        isMatroska ? context.map { FFmpegLog.errors(of: UnsafeRawPointer($0)) } ?? 0 : 0
    }

    /// Bytes from the beginning of the file to where reading stands, and the file's size; 0 where unknown.
    package var position: (bytes: Int64, size: Int64) {
        guard let io = context?.pointee.pb else { return (0, 0) }
        return (max(0, avio_seek(io, 0, 1)), max(0, avio_size(io)))
    }
}
