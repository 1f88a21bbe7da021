import CFFmpeg

/// A pixel format of libavutil.
package struct PixelFormat: Hashable, Sendable {
    let raw: Int32

    init(_ format: AVPixelFormat) {
        raw = format.rawValue
    }

    /// By libavutil's name, such as `yuv420p`.
    package init?(name: String) {
        let format = av_get_pix_fmt(name)
        if format == AV_PIX_FMT_NONE { return nil }
        raw = format.rawValue
    }

    var c: AVPixelFormat { AVPixelFormat(raw) }

    package var name: String { av_get_pix_fmt_name(c).map { String(cString: $0) } ?? "unknown" }
    /// Bits of a component.
    package var depth: Int { Int(ingest_ff_pixel_depth(c)) }
    package var hasAlpha: Bool { ingest_ff_pixel_flags(c) & UInt64(AV_PIX_FMT_FLAG_ALPHA) != 0 }
    package var isRGB: Bool { ingest_ff_pixel_flags(c) & UInt64(AV_PIX_FMT_FLAG_RGB) != 0 }
    /// Whether there are more samples of colour to a sample of brightness than in `other`.
    package func chromaIsFiner(than other: PixelFormat) -> Bool {
        func share(_ format: PixelFormat) -> Int32 {
            ingest_ff_plane_width(format.c, 1, 16) * ingest_ff_plane_height(format.c, 1, 16)
        }
        return componentCount >= 3 && share(self) > share(other)
    }

    /// Of brightness, colour and transparency together.
    private var componentCount: Int { Int(ingest_ff_component_count(c)) }
    package var isKnown: Bool { raw != AV_PIX_FMT_NONE.rawValue }
}

/// How numbers stand for colours (ITU-T H.273), by libavutil's numbers.
package struct Colour: Hashable, Sendable {
    package let range: Int
    package let primaries: Int
    package let transfer: Int
    package let matrix: Int
    package let chromaLocation: Int

    package var isFullRange: Bool { range == Int(AVCOL_RANGE_JPEG.rawValue) }

    /// Of a picture that was RGB and has been converted to BT.709 in limited range.
    package var convertedFromRGB: Colour {
        Colour(
            range: Int(AVCOL_RANGE_MPEG.rawValue), primaries: primaries, transfer: transfer,
            matrix: Int(AVCOL_SPC_BT709.rawValue), chromaLocation: Int(AVCHROMA_LOC_UNSPECIFIED.rawValue))
    }

    /// What is unspecified here is taken from `other`.
    package func completed(by other: Colour) -> Colour {
        func known(_ own: Int, _ theirs: Int, unspecified: UInt32) -> Int {
            own == Int(unspecified) || own == 0 && unspecified != 0 ? theirs : own
        }
        return Colour(
            range: known(range, other.range, unspecified: AVCOL_RANGE_UNSPECIFIED.rawValue),
            primaries: known(primaries, other.primaries, unspecified: AVCOL_PRI_UNSPECIFIED.rawValue),
            transfer: known(transfer, other.transfer, unspecified: AVCOL_TRC_UNSPECIFIED.rawValue),
            // 0 is RGB here, not "reserved".
            matrix: matrix == Int(AVCOL_SPC_UNSPECIFIED.rawValue) ? other.matrix : matrix,
            chromaLocation: known(
                chromaLocation, other.chromaLocation, unspecified: AVCHROMA_LOC_UNSPECIFIED.rawValue))
    }

    /// Names of what is specified, by what they are of.
    package var names: [(property: String, name: String?)] {
        // Of primaries, transfer and matrix 2 means "unspecified"; 0 does elsewhere, and is reserved there, but for RGB's matrix.
        func known(_ value: Int, _ unspecified: UInt32, _ name: UnsafePointer<CChar>?) -> String? {
            value == Int(unspecified) ? nil : name.map { String(cString: $0) }
        }
        let range = AVColorRange(UInt32(range))
        let primaries = AVColorPrimaries(UInt32(primaries == 0 ? 2 : primaries))
        let transfer = AVColorTransferCharacteristic(UInt32(transfer == 0 ? 2 : transfer))
        let matrix = AVColorSpace(UInt32(matrix))
        let location = AVChromaLocation(UInt32(chromaLocation))
        return [
            ("colour range", known(Int(range.rawValue), 0, av_color_range_name(range))),
            ("colour primaries", known(Int(primaries.rawValue), 2, av_color_primaries_name(primaries))),
            ("colour transfer", known(Int(transfer.rawValue), 2, av_color_transfer_name(transfer))),
            ("colour matrix", known(Int(matrix.rawValue), 2, av_color_space_name(matrix))),
            ("chroma location", known(Int(location.rawValue), 0, av_chroma_location_name(location))),
        ]
    }

    /// Perceptual quantiser (SMPTE ST 2084) or hybrid log-gamma (ARIB STD-B67).
    package var isHighDynamicRange: Bool {
        transfer == Int(AVCOL_TRC_SMPTE2084.rawValue) || transfer == Int(AVCOL_TRC_ARIB_STD_B67.rawValue)
    }
}

package struct VideoFormat: Hashable, Sendable {
    package let width: Int
    package let height: Int
    package let pixelFormat: PixelFormat
    package let sampleAspectRatio: Rational
    package let colour: Colour

    package func with(colour: Colour) -> VideoFormat {
        VideoFormat(
            width: width, height: height, pixelFormat: pixelFormat, sampleAspectRatio: sampleAspectRatio, colour: colour
        )
    }
}

package struct AudioFormat: Hashable, Sendable {
    package let sampleRate: Int
    let sampleFormat: Int
    /// libavutil's description, such as `stereo`.
    package let layout: String
    package let channels: Int

    var sampleFormatName: String {
        av_get_sample_fmt_name(AVSampleFormat(Int32(sampleFormat))).map { String(cString: $0) } ?? "unknown"
    }
}

/// How channels are arranged.
package enum ChannelLayout {
    /// The layout's name; `8 channels` for one that says nothing but their number.
    static func describe(_ layout: UnsafePointer<AVChannelLayout>) -> String {
        var text = [CChar](repeating: 0, count: 128)
        _ = av_channel_layout_describe(layout, &text, text.count)
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// A layout for so many channels of which nothing else is known. None of them is a low-frequency channel, of which an
    /// encoder keeps nothing but the lowest tones. `nil` where AAC has none.
    package static func plain(channels: Int) -> String? {
        [
            1: "mono", 2: "stereo", 3: "3.0", 4: "4.0", 5: "5.0", 6: "hexagonal", 7: "7.0", 8: "octagonal",
            16: "hexadecagonal",
        ][channels]
    }
}

/// How a codec's stream is described: a copy of libavcodec's `AVCodecParameters`.
///
/// `@unchecked`: nobody changes them once they are made.
package final class CodecParameters: @unchecked Sendable {
    let pointer: UnsafeMutablePointer<AVCodecParameters>

    init(copying other: UnsafePointer<AVCodecParameters>) throws(FFmpegError) {
        guard let pointer = avcodec_parameters_alloc() else {
            throw FFmpegError("allocate codec parameters", code: ingest_ff_out_of_memory())
        }
        self.pointer = pointer
        try check(avcodec_parameters_copy(pointer, other), "copy codec parameters")
    }

    /// Whether of all that says how colours are meant only the range is known.
    package var declaresNothingButRange: Bool {
        let value = pointer.pointee
        return value.color_range != AVCOL_RANGE_UNSPECIFIED && value.color_primaries == AVCOL_PRI_UNSPECIFIED
            && value.color_trc == AVCOL_TRC_UNSPECIFIED && value.color_space == AVCOL_SPC_UNSPECIFIED
    }

    /// Whether mp4's muxer writes packets of theirs byte for byte. Those with start codes in front of their parts and those with
    /// heads of their own it rewrites; some others it may.
    package var isStoredVerbatim: Bool {
        let value = pointer.pointee
        switch value.codec_id {
        // A configuration record (ISO/IEC 14496-15) begins with its version.
        case AV_CODEC_ID_H264, AV_CODEC_ID_HEVC: return value.extradata_size > 6 && value.extradata[0] == 1
        case AV_CODEC_ID_AAC: return value.extradata_size > 0
        case AV_CODEC_ID_AV1, AV_CODEC_ID_VP9, AV_CODEC_ID_EAC3, AV_CODEC_ID_TRUEHD, AV_CODEC_ID_MLP: return false
        default: return true
        }
    }

    /// Whether pictures are shown in another order than they are decoded in, as far as has been found out.
    package var isReordered: Bool { reorderDelay > 0 }
    /// Pictures that a decoder takes in before it gives out the first one.
    package var reorderDelay: Int { Int(pointer.pointee.video_delay) }

    /// Where its configuration record says how many bytes the length of a unit has (ISO/IEC 14496-15, sections 5.3.3 and 8.3.3);
    /// `nil` for other codecs than H.264 and HEVC.
    package var placeOfLengthSize: Int? {
        switch pointer.pointee.codec_id {
        case AV_CODEC_ID_H264: 4
        case AV_CODEC_ID_HEVC: 21
        default: nil
        }
    }

    /// What a decoder has to know in front of the packets, where mp4 holds that byte for byte; empty for other codecs.
    package var configuration: [UInt8] {
        let value = pointer.pointee
        guard [AV_CODEC_ID_H264, AV_CODEC_ID_HEVC, AV_CODEC_ID_AAC].contains(value.codec_id) else { return [] }
        return Array(UnsafeBufferPointer(start: value.extradata, count: max(0, Int(value.extradata_size))))
    }

    /// Whether they describe mp4's text subtitles.
    package var isText: Bool { pointer.pointee.codec_id == AV_CODEC_ID_MOV_TEXT }

    /// Of an opened encoder.
    init(of context: UnsafePointer<AVCodecContext>) throws(FFmpegError) {
        guard let pointer = avcodec_parameters_alloc() else {
            throw FFmpegError("allocate codec parameters", code: ingest_ff_out_of_memory())
        }
        self.pointer = pointer
        try check(avcodec_parameters_from_context(pointer, context), "describe the encoder's stream")
    }

    /// Of packets whose meaning only others know; the container's description of them has to be exchanged afterwards.
    package init(opaque code: String) throws(FFmpegError) {
        guard let pointer = avcodec_parameters_alloc() else {
            throw FFmpegError("allocate codec parameters", code: ingest_ff_out_of_memory())
        }
        self.pointer = pointer
        pointer.pointee.codec_type = AVMEDIA_TYPE_DATA
        pointer.pointee.codec_id = AV_CODEC_ID_BIN_DATA
        pointer.pointee.codec_tag = FourCharacterCode.value(code)
    }

    deinit {
        var pointer: UnsafeMutablePointer<AVCodecParameters>? = pointer
        avcodec_parameters_free(&pointer)
    }
}
