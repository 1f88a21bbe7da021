import CFFmpeg

/// One encoded packet.
///
/// `@unchecked`: has one owner at a time, which hands it on from thread to thread and keeps nothing. Its bytes may be shared with
/// copies of it; nobody changes them.
package final class Packet: @unchecked Sendable {
    let pointer: UnsafeMutablePointer<AVPacket>

    package init() throws(FFmpegError) {
        guard let pointer = av_packet_alloc() else {
            throw FFmpegError("allocate a packet", code: ingest_ff_out_of_memory())
        }
        self.pointer = pointer
    }

    /// Another packet with the same bytes, which are shared.
    package func copy() throws(FFmpegError) -> Packet { try Packet(copying: pointer) }

    init(copying other: UnsafePointer<AVPacket>) throws(FFmpegError) {
        guard let pointer = av_packet_clone(other) else {
            throw FFmpegError("copy a packet", code: ingest_ff_out_of_memory())
        }
        self.pointer = pointer
    }

    deinit {
        var pointer: UnsafeMutablePointer<AVPacket>? = pointer
        av_packet_free(&pointer)
    }

    package var streamIndex: Int {
        get { Int(pointer.pointee.stream_index) }
        set { pointer.pointee.stream_index = Int32(newValue) }
    }

    /// Presentation and decoding time stamps in the time base of whoever made the packet; `nil` where there is none.
    package var presentation: Int64? {
        get { Timestamp.read(pointer.pointee.pts) }
        set { pointer.pointee.pts = Timestamp.write(newValue) }
    }

    package var decoding: Int64? {
        get { Timestamp.read(pointer.pointee.dts) }
        set { pointer.pointee.dts = Timestamp.write(newValue) }
    }

    package var duration: Int64 {
        get { pointer.pointee.duration }
        set { pointer.pointee.duration = newValue }
    }

    package var size: Int { Int(pointer.pointee.size) }
    /// What is in it, for as long as `body` runs.
    package func withBytes(_ body: (Span<UInt8>) -> Void) {
        body(UnsafeBufferPointer(start: pointer.pointee.data, count: size).span)
    }

    /// A copy of what is in it.
    package var bytes: [UInt8] {
        Array(UnsafeBufferPointer(start: pointer.pointee.data, count: size))
    }
    /// Whether it is a text sample without text (3GPP TS 26.245: the text's length stands in front).
    package var isEmptyText: Bool { size < 2 || bytes.prefix(2).allSatisfy { $0 == 0 } }
    package var isKey: Bool { pointer.pointee.flags & AV_PKT_FLAG_KEY != 0 }
    package var isDamaged: Bool { pointer.pointee.flags & AV_PKT_FLAG_CORRUPT != 0 }
    /// Needed for decoding, but not to be shown (edit lists).
    package var isDiscarded: Bool { pointer.pointee.flags & AV_PKT_FLAG_DISCARD != 0 }

    /// Converts all times from one time base into another.
    package func rescale(from old: Rational, to new: Rational) {
        av_packet_rescale_ts(pointer, old.c, new.c)
    }

    /// Longer than a day is no duration.
    private static let longest = 86_400.0

    /// Moves all times by so many ticks of the time base, and forgets those that no recording can have.
    ///
    /// - Parameters:
    ///   - ticks: plausible itself.
    ///   - base: of the packet's times.
    /// - Returns: whether nothing had to be forgotten.
    package func shift(by ticks: Int64, in base: Rational) -> Bool {
        func moved(_ time: Int64) -> Int64? {
            base.isPlausible(time) && base.isPlausible(time + ticks) ? time + ticks : nil
        }
        let before = (presentation, decoding, duration)
        presentation = before.0.flatMap(moved)
        decoding = before.1.flatMap(moved)
        if duration < 0 || base.seconds(duration) > Self.longest { duration = 0 }
        return (presentation == nil) == (before.0 == nil) && (decoding == nil) == (before.1 == nil)
            && duration == before.2
    }
}

enum Timestamp {
    static func read(_ value: Int64) -> Int64? { value == ingest_ff_no_timestamp() ? nil : value }
    static func write(_ value: Int64?) -> Int64 { value ?? ingest_ff_no_timestamp() }
}

/// One decoded picture, or a run of samples.
///
/// `@unchecked`: as with `Packet`.
package final class Frame: @unchecked Sendable {
    let pointer: UnsafeMutablePointer<AVFrame>

    package init() throws(FFmpegError) {
        guard let pointer = av_frame_alloc() else {
            throw FFmpegError("allocate a frame", code: ingest_ff_out_of_memory())
        }
        self.pointer = pointer
    }

    deinit {
        var pointer: UnsafeMutablePointer<AVFrame>? = pointer
        av_frame_free(&pointer)
    }

    /// The decoder's best guess where the packet had no time stamp.
    package var bestTimestamp: Int64? { Timestamp.read(pointer.pointee.best_effort_timestamp) }

    package var presentation: Int64? {
        get { Timestamp.read(pointer.pointee.pts) }
        set { pointer.pointee.pts = Timestamp.write(newValue) }
    }

    package var duration: Int64 { ingest_ff_frame_duration(pointer) }
    package var mastering: MasteringDisplay? {
        av_frame_get_side_data(pointer, AV_FRAME_DATA_MASTERING_DISPLAY_METADATA).flatMap {
            MasteringDisplay($0.pointee.data, size: $0.pointee.size)
        }
    }
    package var contentLight: ContentLight? {
        av_frame_get_side_data(pointer, AV_FRAME_DATA_CONTENT_LIGHT_LEVEL).flatMap {
            ContentLight($0.pointee.data, size: $0.pointee.size)
        }
    }
    package var isDamaged: Bool { ingest_ff_frame_is_damaged(pointer) != 0 }
    /// Whether each picture comes with a mapping of its own for screens of less brightness (SMPTE ST 2094-40, HDR10+).
    package var hasDynamicMapping: Bool { av_frame_get_side_data(pointer, AV_FRAME_DATA_DYNAMIC_HDR_PLUS) != nil }
    /// Of an interlaced picture: whether its first line is of the earlier field.
    package var isTopFieldFirst: Bool { ingest_ff_frame_is_top_first(pointer) != 0 }
    package var isInterlaced: Bool { ingest_ff_frame_is_interlaced(pointer) != 0 }
    package var sampleCount: Int { Int(pointer.pointee.nb_samples) }
    package var sampleRate: Int { Int(pointer.pointee.sample_rate) }
    package var channels: Int { Int(pointer.pointee.ch_layout.nb_channels) }

    /// Lets the encoder choose the kind of the picture.
    package func forgetPictureType() {
        ingest_ff_forget_picture_type(pointer)
    }

    /// What a filter graph has to know of a picture: a change of it needs another graph.
    package var videoFormat: VideoFormat {
        let frame = pointer.pointee
        let format = AVPixelFormat(frame.format)
        return VideoFormat(
            width: Int(frame.width), height: Int(frame.height),
            pixelFormat: PixelFormat(ingest_ff_plain_pixel_format(format)),
            sampleAspectRatio: Rational(frame.sample_aspect_ratio),
            colour: Colour(
                range: ingest_ff_plain_pixel_format(format) == format
                    ? Int(frame.color_range.rawValue) : Int(AVCOL_RANGE_JPEG.rawValue),
                primaries: Int(frame.color_primaries.rawValue), transfer: Int(frame.color_trc.rawValue),
                matrix: Int(frame.colorspace.rawValue), chromaLocation: Int(frame.chroma_location.rawValue)))
    }

    /// The samples of the first plane, one byte each, row by row without what stands between rows.
    package var firstPlane: [UInt8] {
        let frame = pointer.pointee
        guard let (start, stride) = Frame.plane(pointer, 0) else { return [] }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Int(frame.width) * Int(frame.height))
        for row in 0..<Int(frame.height) {
            bytes += UnsafeBufferPointer(start: start + row * stride, count: Int(frame.width))
        }
        return bytes
    }

    /// Tags the picture with its plain pixel format and the range that it has, so that no filter converts the range.
    package func normaliseRange() {
        let format = AVPixelFormat(pointer.pointee.format)
        let plain = ingest_ff_plain_pixel_format(format)
        if plain == format { return }
        pointer.pointee.format = plain.rawValue
        pointer.pointee.color_range = AVCOL_RANGE_JPEG
    }

    /// The same picture with even sides: an odd one grows by its last column or row once more. For planar formats whose
    /// planes hold one component each, as encoders take them.
    package func paddedToEven() throws(FFmpegError) -> Frame {
        let source = pointer.pointee
        let padded = try Frame()
        let target = padded.pointer
        target.pointee.format = source.format
        target.pointee.width = source.width + source.width % 2
        target.pointee.height = source.height + source.height % 2
        try check(av_frame_get_buffer(target, 0), "pad a picture")
        try check(av_frame_copy_props(target, pointer), "pad a picture")
        let format = PixelFormat(AVPixelFormat(source.format))
        for plane in 0..<Int(ingest_ff_plane_count(format.c)) {
            let old = PlaneSize(format, plane, width: source.width, height: source.height)
            let new = PlaneSize(format, plane, width: target.pointee.width, height: target.pointee.height)
            guard let from = Frame.plane(pointer, plane), let to = Frame.plane(target, plane) else { continue }
            for row in 0..<new.rows {
                let line = to.start + row * to.stride
                line.update(from: from.start + min(row, old.rows - 1) * from.stride, count: old.bytes)
                for index in old.bytes..<max(old.bytes, new.bytes) { line[index] = line[index - old.sampleBytes] }
            }
        }
        return padded
    }

    private struct PlaneSize {
        let bytes: Int
        let rows: Int
        let sampleBytes: Int

        init(_ format: PixelFormat, _ plane: Int, width: Int32, height: Int32) {
            sampleBytes = (format.depth + 7) / 8
            bytes = Int(ingest_ff_plane_width(format.c, Int32(plane), width)) * sampleBytes
            rows = Int(ingest_ff_plane_height(format.c, Int32(plane), height))
        }
    }

    private static func plane(
        _ frame: UnsafeMutablePointer<AVFrame>, _ index: Int
    ) -> (start: UnsafeMutablePointer<UInt8>, stride: Int)? {
        withUnsafeBytes(of: &frame.pointee.data) { pointers in
            withUnsafeBytes(of: &frame.pointee.linesize) { strides in
                let start = pointers.load(
                    fromByteOffset: index * MemoryLayout<UInt>.size, as: UnsafeMutablePointer<UInt8>?.self)
                let stride = strides.load(fromByteOffset: index * MemoryLayout<Int32>.size, as: Int32.self)
                return start.map { ($0, Int(stride)) }
            }
        }
    }

    package var audioFormat: AudioFormat {
        AudioFormat(
            sampleRate: sampleRate, sampleFormat: Int(pointer.pointee.format),
            layout: withUnsafePointer(to: pointer.pointee.ch_layout) { ChannelLayout.describe($0) },
            channels: Int(pointer.pointee.ch_layout.nb_channels))
    }

    /// Says which channel is which; the samples stay what they are. `layout` has as many channels as there are.
    package func name(channels layout: String) throws(FFmpegError) {
        av_channel_layout_uninit(&pointer.pointee.ch_layout)
        try check(
            av_channel_layout_from_string(&pointer.pointee.ch_layout, layout), "set the channel layout \(layout)")
    }
}
