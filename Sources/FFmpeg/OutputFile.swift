import CFFmpeg
import Glibc

/// A media file being written. Lives on one thread.
package final class OutputFile {
    private var context: UnsafeMutablePointer<AVFormatContext>?

    /// How a stream is added.
    package struct StreamDescription: Sendable {
        package var parameters: CodecParameters
        /// Of the packets that will be written; a wish, the container has the last word.
        package var timeBase: Rational
        package var metadata: [String: String]
        /// `AVStream.disposition`.
        package var disposition: Int32
        package var displayMatrix: [Int32]
        package var mastering: MasteringDisplay?
        package var contentLight: ContentLight?
        package var sampleAspectRatio: Rational
        package var averageFrameRate: Rational
        /// Whether the source's four-character code may stay.
        package var isCopy: Bool

        package init(
            parameters: CodecParameters, timeBase: Rational, metadata: [String: String], disposition: Int32,
            displayMatrix: [Int32] = [], mastering: MasteringDisplay? = nil, contentLight: ContentLight? = nil,
            sampleAspectRatio: Rational = Rational(0, 1),
            averageFrameRate: Rational = Rational(0, 1), isCopy: Bool
        ) {
            self.parameters = parameters
            self.timeBase = timeBase
            self.metadata = metadata
            self.disposition = disposition
            self.displayMatrix = displayMatrix
            self.mastering = mastering
            self.contentLight = contentLight
            self.sampleAspectRatio = sampleAspectRatio
            self.averageFrameRate = averageFrameRate
            self.isCopy = isCopy
        }
    }

    /// - Parameters:
    ///   - path: the file's path in the file system's bytes; it is empty, or not there.
    ///   - format: libavformat's name of the container, such as `mp4`.
    ///   - metadata: tags of the whole file.
    /// - Throws: `FFmpegError` where the file cannot be opened or the format is unknown.
    package init(path: [UInt8], format: String, metadata: [String: String]) throws(FFmpegError) {
        let url = Array("file:".utf8).map { CChar(bitPattern: $0) } + path.map { CChar(bitPattern: $0) } + [0]
        var made: UnsafeMutablePointer<AVFormatContext>?
        try check(avformat_alloc_output_context2(&made, nil, format, url), "set up the container")
        guard let made else { throw FFmpegError("set up the container", code: ingest_ff_out_of_memory()) }
        context = made
        Metadata.write(metadata, to: &made.pointee.metadata)
        var options: OpaquePointer?
        defer { av_dict_free(&options) }
        // ext4 writes a file to the disk when it is closed if it was cut off when it was opened, and has its writer wait.
        av_dict_set(&options, "truncate", "0", 0)
        // Pictures go straight from the packet to the file.
        let flags = AVIO_FLAG_WRITE
        try check(avio_open2(&made.pointee.pb, url, flags, nil, &options), "open the output")
    }

    deinit {
        if let context { avio_closep(&context.pointee.pb) }
        avformat_free_context(context)
    }

    /// Whether the container can hold streams of this codec, so that players find them there.
    package static func format(_ format: String, canHold stream: InputStream) -> Bool {
        ingest_ff_can_hold(av_guess_format(format, nil, nil), stream.parameters.pointer.pointee.codec_id) != 0
    }

    /// Whether a picture of this codec can be attached (`covr` of iTunes' metadata).
    package static func holdsAsCover(_ stream: InputStream) -> Bool {
        [AV_CODEC_ID_PNG, AV_CODEC_ID_MJPEG, AV_CODEC_ID_BMP].contains(stream.parameters.pointer.pointee.codec_id)
    }

    package func addStream(_ description: StreamDescription) throws(FFmpegError) {
        guard let context, let stream = avformat_new_stream(context, nil) else {
            throw FFmpegError("add a stream", code: ingest_ff_out_of_memory())
        }
        try check(
            avcodec_parameters_copy(stream.pointee.codecpar, description.parameters.pointer), "describe a stream")
        if description.isCopy {
            stream.pointee.codecpar.pointee.codec_tag = copiedTag(stream)
            ingest_ff_allow(context, description.parameters.pointer.pointee.codec_id)
            // The muxer would name the brand, but not write what it stands for.
            ingest_ff_remove_stream_side_data(stream, AV_PKT_DATA_DOVI_CONF)
        }
        stream.pointee.time_base = description.timeBase.c
        stream.pointee.sample_aspect_ratio = description.sampleAspectRatio.c
        stream.pointee.avg_frame_rate = description.averageFrameRate.c
        stream.pointee.disposition = description.disposition
        Metadata.write(description.metadata, to: &stream.pointee.metadata)
        if description.displayMatrix.count == 9 {
            try add(AV_PKT_DATA_DISPLAYMATRIX, description.displayMatrix.withUnsafeBytes { Array($0) }, to: stream)
        }
        if let mastering = description.mastering?.value {
            try add(
                AV_PKT_DATA_MASTERING_DISPLAY_METADATA, withUnsafeBytes(of: mastering) { Array($0) }, to: stream)
        }
        if let light = description.contentLight?.value {
            try add(AV_PKT_DATA_CONTENT_LIGHT_LEVEL, withUnsafeBytes(of: light) { Array($0) }, to: stream)
        }
    }

    private func add(
        _ type: AVPacketSideDataType, _ bytes: [UInt8], to stream: UnsafeMutablePointer<AVStream>
    ) throws(FFmpegError) {
        guard let data = ingest_ff_new_stream_side_data(stream, type, bytes.count) else {
            throw FFmpegError("add a stream", code: ingest_ff_out_of_memory())
        }
        data.update(from: bytes, count: bytes.count)
    }

    /// Adds an attached picture, as a stream of its own behind all others. Its packet is to be written once.
    package func addPicture(_ parameters: CodecParameters, metadata: [String: String]) throws(FFmpegError) {
        try addStream(
            StreamDescription(
                parameters: parameters, timeBase: Rational(1, 90_000), metadata: metadata,
                disposition: AV_DISPOSITION_ATTACHED_PIC, isCopy: true))
    }

    /// Adds chapters; to be called before the head is written.
    package func addChapters(_ chapters: [Chapter]) throws(FFmpegError) {
        guard let context else { return }
        let list = av_calloc(chapters.count, MemoryLayout<UnsafeMutablePointer<AVChapter>?>.stride)
        guard let list = list?.assumingMemoryBound(to: UnsafeMutablePointer<AVChapter>?.self) else {
            throw FFmpegError("add chapters", code: ingest_ff_out_of_memory())
        }
        context.pointee.chapters = list
        for (number, chapter) in chapters.enumerated() {
            guard let made = av_mallocz(MemoryLayout<AVChapter>.size)?.assumingMemoryBound(to: AVChapter.self) else {
                throw FFmpegError("add chapters", code: ingest_ff_out_of_memory())
            }
            made.pointee.id = Int64(number)
            made.pointee.time_base = chapter.timeBase.c
            made.pointee.start = chapter.start
            made.pointee.end = chapter.end
            Metadata.write(chapter.title.map { ["title": $0] } ?? [:], to: &made.pointee.metadata)
            list[number] = made
            context.pointee.nb_chapters += 1
        }
    }

    /// The source's four-character code where it means the same in this container, else 0, which lets the muxer choose.
    private func copiedTag(_ stream: UnsafeMutablePointer<AVStream>) -> UInt32 {
        let parameters = stream.pointee.codecpar.pointee
        let known = av_codec_get_id(context?.pointee.oformat.pointee.codec_tag, parameters.codec_tag)
        if known == parameters.codec_id { return parameters.codec_tag }
        // Apple's players know it by this name only.
        return parameters.codec_id == AV_CODEC_ID_HEVC ? FourCharacterCode.value("hvc1") : 0
    }

    /// Writes the head; from then on the streams' time bases are the container's.
    ///
    /// - Parameters:
    ///   - options: the muxer's own.
    ///   - gap: bytes that are left in front of everything.
    /// - Throws: `FFmpegError`.
    package func begin(options: [String: String], behind gap: Int64 = 0) throws(FFmpegError) {
        if gap > 0 { try check(Int32(clamping: min(0, avio_seek(context?.pointee.pb, gap, SEEK_SET))), "leave a gap") }
        var dictionary: OpaquePointer?
        defer { av_dict_free(&dictionary) }
        Metadata.write(options, to: &dictionary)
        try check(avformat_write_header(context, &dictionary), "write the container's head")
    }

    package func timeBase(ofStream index: Int) -> Rational {
        guard let stream = context?.pointee.streams[index] else { return Rational(0, 1) }
        return Rational(stream.pointee.time_base)
    }

    /// Bytes from the beginning of the file to where the next packet goes.
    package var position: Int64 { context?.pointee.pb.map { avio_seek($0, 0, SEEK_CUR) } ?? 0 }

    /// Writes a packet, behind those that were written before it: nothing is held back.
    package func write(_ packet: Packet) throws(FFmpegError) {
        try check(av_write_frame(context, packet.pointer), "write")
    }

    /// Writes what is left, and the index. A full disk may show only here.
    package func finish() throws(FFmpegError) {
        try check(av_write_trailer(context), "write the index")
        guard let context else { return }
        try check(avio_closep(&context.pointee.pb), "close the output")
    }
}
