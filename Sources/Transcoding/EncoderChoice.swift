import FFmpeg
import IngestModel

/// Which encoder with which settings: the presets' table, as a pure function.
struct EncoderChoice: Equatable {
    enum Codec: Equatable { case h264, hevc, av1 }

    let codec: Codec
    /// libavcodec's name of the encoder.
    let encoder: String
    let speed: String
    /// Constant rate factor.
    let quality: Int
    /// Bits a second that are never exceeded over `buffer` bits; `nil` for no cap.
    let cap: (rate: Int64, buffer: Int64)?
    let pixelFormat: String
    /// The four-character code in the container.
    let tag: String
    /// How far key frames are apart at most.
    let keyFrames: KeyFrames
    /// Bits a second on average, instead of a quality; `nil` for the quality.
    var bitRate: Int64?

    enum KeyFrames: Equatable {
        case seconds(Double)
        case frames(Int)

        /// In frames, at so many a second.
        func distance(framesPerSecond: Double) -> Int {
            switch self {
            case .seconds(let seconds): max(1, Int((framesPerSecond * seconds).rounded()))
            case .frames(let count): count
            }
        }
    }

    static func == (left: EncoderChoice, right: EncoderChoice) -> Bool {
        left.encoder == right.encoder && left.speed == right.speed && left.quality == right.quality
            && left.pixelFormat == right.pixelFormat
            && left.bitRate == right.bitRate
    }

    /// - Parameters:
    ///   - settings: what was asked for.
    ///   - shortSide: of the picture that is encoded, in pixels; portrait 1080 × 1920 counts as 1080.
    ///   - framesPerSecond: on average.
    ///   - needsTenBits: the source has more than 8 bits, or a high dynamic range, which 8 bits would destroy.
    /// - Returns: the row of the table.
    static func choose(
        _ settings: CompressSettings, shortSide: Int, framesPerSecond: Double, needsTenBits: Bool
    ) -> EncoderChoice {
        let size = shortSide <= 720 ? 0 : shortSide <= 1080 ? 1 : 2
        switch settings.codec {
        case .h264: return h264(settings, size: size, framesPerSecond: framesPerSecond)
        case .hevc: return hevc(settings, size: size, tenBits: needsTenBits)
        case .av1: return av1(settings, size: size)
        case .auto:
            return needsTenBits
                ? hevc(settings, size: size, tenBits: true)
                : h264(settings, size: size, framesPerSecond: framesPerSecond)
        }
    }

    private static func h264(_ settings: CompressSettings, size: Int, framesPerSecond: Double) -> EncoderChoice {
        let (speed, quality): (String, Int) =
            switch settings.preset {
            case .fast: ("veryfast", [23, 24, 24][size])
            case .balanced: ([String](arrayLiteral: "medium", "medium", "fast")[size], [22, 22, 23][size])
            case .small: ("slow", [24, 24, 25][size])
            }
        let most: Int64 = framesPerSecond > 40 ? 68_000_000 : 45_000_000
        let rate: Int64 = [7_500_000, 12_000_000, most][size]
        return EncoderChoice(
            codec: .h264, encoder: "libx264", speed: speed, quality: settings.quality ?? quality,
            // Planning for a buffer costs a tenth of the fast preset's time.
            cap: settings.preset == .fast ? nil : (rate, rate * 2),
            pixelFormat: "yuv420p", tag: "avc1",
            // The encoder's own distance: a key frame every two seconds makes the file 4 % larger.
            keyFrames: settings.preset == .fast ? .frames(250) : .seconds(2))
    }

    private static func hevc(_ settings: CompressSettings, size: Int, tenBits: Bool) -> EncoderChoice {
        let (speed, quality): (String, Int) =
            switch settings.preset {
            case .fast: ("superfast", 26)
            case .balanced: (["fast", "fast", "faster"][size], [23, 23, 26][size])
            case .small: ("medium", [25, 26, 28][size])
            }
        return EncoderChoice(
            codec: .hevc, encoder: "libx265", speed: speed, quality: settings.quality ?? quality, cap: nil,
            pixelFormat: tenBits ? "yuv420p10le" : "yuv420p", tag: "hvc1", keyFrames: .seconds(2))
    }

    private static func av1(_ settings: CompressSettings, size: Int) -> EncoderChoice {
        let (speed, quality): (String, Int) =
            switch settings.preset {
            // At the quality of `balanced` the faster speed makes larger files than `balanced` itself.
            case .fast: ("10", [33, 35, 38][size])
            case .balanced: ("8", [30, 32, 35][size])
            case .small: ("8", [34, 36, 39][size])
            }
        return EncoderChoice(
            codec: .av1, encoder: "libsvtav1", speed: speed, quality: settings.quality ?? quality, cap: nil,
            pixelFormat: "yuv420p10le", tag: "av01", keyFrames: .seconds(4))
    }

    /// The encoder's options in libavcodec's words.
    ///
    /// - Parameters:
    ///   - threads: of the encoder.
    ///   - light: what is known of the brightness for which the pictures were made; goes into the stream itself, because
    ///     libavcodec before version 61 does not hand it over.
    ///   - fields: whether pictures are encoded as the fields that they are.
    /// - Returns: names and values.
    func options(
        threads: Int, light: LightOfPictures = LightOfPictures(), fields: Fields = .none
    ) -> [String: String] {
        var options = ["preset": speed]
        if bitRate == nil { options["crf"] = "\(quality)" }
        switch codec {
        case .h264:
            options["profile"] = "high"
            // Closed groups of pictures, so that a file can be cut and joined at every key frame.
            options["flags"] = fields == .none ? "+cgop" : "+cgop+ildct+ilme"
            // libavcodec says nothing of the order, and libx264 then takes the top one for the first.
            if fields == .bottomFirst { options["x264-params"] = "bff=1" }
            if let bitRate {
                options["maxrate"] = "\(bitRate * 3 / 2)"
                options["bufsize"] = "\(bitRate * 3)"
            } else if let cap {
                options["maxrate"] = "\(cap.rate)"
                options["bufsize"] = "\(cap.buffer)"
            }
        case .hevc:
            options["x265-params"] = "log-level=none:open-gop=0:repeat-headers=0:pools=\(threads)" + light.forX265
        case .av1:
            options["svtav1-params"] = "lp=\(threads)" + light.forSVTAV1
        }
        return options
    }

    /// What a high dynamic range is shown by.
    struct LightOfPictures {
        var mastering: MasteringDisplay?
        var content: ContentLight?

        fileprivate var forX265: String {
            var out = mastering.map { ":master-display=\($0.forX265)" } ?? ""
            if let content { out += ":max-cll=\(content.brightestPixel),\(content.brightestPicture)" }
            return out.isEmpty ? out : out + ":hdr10=1"
        }

        fileprivate var forSVTAV1: String {
            var out = mastering.map { ":mastering-display=\($0.forSVTAV1)" } ?? ""
            if let content { out += ":content-light=\(content.brightestPixel),\(content.brightestPicture)" }
            return out
        }
    }

    /// The fields of pictures that stay interlaced.
    enum Fields { case none, topFirst, bottomFirst }

    /// Whether it encodes fields.
    var canInterlace: Bool { codec == .h264 }

    /// For people: `libx264 medium, crf 22`.
    var summary: String {
        bitRate.map { "\(encoder) \(speed), \($0 / 1000) kbit/s" } ?? "\(encoder) \(speed), crf \(quality)"
    }
}
