import FFmpeg
import IngestModel

/// What becomes of each stream of a recording.
struct CopyPlan {
    enum VideoTreatment {
        case copy
        case encode(EncoderChoice, PictureGeometry)
    }

    enum AudioTreatment: Equatable {
        case copy
        /// AAC at so many bits a second.
        case encode(bitRate: Int, sampleRate: Int)
    }

    let video: (stream: InputStream, treatment: VideoTreatment)?
    let audio: [(stream: InputStream, treatment: AudioTreatment)]
    let losses: [Loss]

    static let container = "mp4"

    /// Plans the copy; `settings` of `nil` changes the container only.
    ///
    /// - Throws: a fault if what a player would show or play cannot be kept: the main picture, or all sound; when only the
    ///   container is to be changed, any sound.
    static func make(for input: InputFile, settings: CompressSettings?) throws(Fault) -> CopyPlan {
        var losses: [Loss] = []
        let best = input.bestStream(.video)
        var video: (InputStream, VideoTreatment)?
        var audio: [(InputStream, AudioTreatment)] = []
        var lostSound: InputStream?
        for stream in input.streams {
            switch stream.kind {
            case .video where stream.isAttachedPicture:
                losses.append(Self.loss(of: stream, "attached pictures are not carried over yet"))
            case .video where stream.index == best:
                guard let treatment = treatment(video: stream, settings: settings) else {
                    throw impossible("picture", stream, isRemux: settings == nil)
                }
                video = (stream, treatment)
                if settings != nil { losses += reductions(of: stream, by: treatment) }
            case .video: losses.append(Self.loss(of: stream, "only the main picture is kept"))
            case .audio:
                if let treatment = treatment(audio: stream, settings: settings) {
                    audio.append((stream, treatment))
                } else if settings == nil, stream.sampleRate > 0 {
                    throw impossible("sound", stream, isRemux: true)
                } else {
                    lostSound = stream
                    losses.append(Self.loss(of: stream, soundProblem(stream)))
                }
            case .subtitle: losses.append(Self.loss(of: stream, "subtitles are not carried over yet"))
            case .data, .attachment, .unknown:
                // The muxer writes a timecode track by itself from the stream's time code.
                if stream.tag == "tmcd" { continue }
                losses.append(Self.loss(of: stream, "data of this kind is not carried over yet"))
            }
        }
        if input.chapterCount > 0 {
            losses.append(
                Loss(what: "\(input.chapterCount) chapter marks", reason: "chapters are not carried over yet"))
        }
        if audio.isEmpty, let lostSound { throw impossible("sound", lostSound, isRemux: settings == nil) }
        guard video != nil || !audio.isEmpty else {
            throw Fault(
                .nothingToEncode,
                "there is no picture and no sound in it; without --compress or --remux it is uploaded as it is")
        }
        return CopyPlan(video: video, audio: audio, losses: losses)
    }

    private static func impossible(_ what: String, _ stream: InputStream, isRemux: Bool) -> Fault {
        if stream.kind == .video, stream.width <= 0 || stream.height <= 0 {
            return Fault(
                .nothingToEncode,
                "nothing of its picture (\(stream.codecName)) can be read; without --compress or --remux it is uploaded as it "
                    + "is")
        }
        if stream.kind == .audio, !isRemux, (1..<lowestRate).contains(stream.sampleRate) {
            return Fault(
                .nothingToEncode,
                "its sound has \(stream.sampleRate) samples a second, and nothing can be heard of that; without --compress it is "
                    + "uploaded as it is")
        }
        return Fault(
            .nothingToEncode,
            isRemux
                ? "mp4 cannot hold its \(what) (\(stream.codecName)) as it is; use --compress, or upload it as it is"
                : "its \(what) (\(stream.codecName)) cannot be decoded by this version; without --compress it is uploaded "
                    + "as it is")
    }

    private static func soundProblem(_ stream: InputStream) -> String {
        if !stream.hasDecoder { return "this version cannot decode it" }
        if stream.sampleRate <= 0 || stream.channels <= 0 {
            return "it says nothing about itself that could be decoded"
        }
        if stream.sampleRate < lowestRate { return "it has \(stream.sampleRate) samples a second" }
        return "AAC cannot hold \(stream.channels) channels"
    }

    /// What the encoder's pixel format cannot hold of the picture.
    private static func reductions(of stream: InputStream, by treatment: VideoTreatment) -> [Loss] {
        guard case .encode(let choice, _) = treatment, let target = PixelFormat(name: choice.pixelFormat) else {
            return []
        }
        var losses: [Loss] = []
        let source = stream.pixelFormat
        // WebM keeps transparency beside the picture, out of the decoder's sight.
        if source.hasAlpha || stream.metadata["alpha_mode"] == "1" {
            losses.append(Loss(what: "transparency", reason: "the codec of the copy has none"))
        }
        if source.depth > target.depth {
            losses.append(
                Loss(what: "\(source.depth) bits a colour", reason: "the copy has \(target.depth)"))
        }
        if source.isKnown, source.isRGB || source.chromaIsFiner(than: target) {
            losses.append(
                Loss(what: "colour at full resolution (\(source.name))", reason: "the copy has one in four (4:2:0)"))
        }
        if stream.hasDolbyVision {
            losses.append(Loss(what: "Dolby Vision", reason: "only the picture it builds upon is kept"))
        }
        return losses
    }

    private static func treatment(video stream: InputStream, settings: CompressSettings?) -> VideoTreatment? {
        guard stream.width > 0, stream.height > 0 else { return nil }
        guard let settings else { return OutputFile.format(container, canHold: stream) ? .copy : nil }
        guard stream.hasDecoder else { return nil }
        let geometry = PictureGeometry(
            width: stream.width, height: stream.height, longestShortSide: settings.maxHeight)
        let choice = EncoderChoice.choose(
            settings, shortSide: min(geometry.width, geometry.height),
            framesPerSecond: frameRate(of: stream).value,
            needsTenBits: stream.pixelFormat.depth > 8 || stream.isHighDynamicRange)
        return .encode(choice, geometry)
    }

    private static func treatment(audio stream: InputStream, settings: CompressSettings?) -> AudioTreatment? {
        guard stream.sampleRate > 0, stream.channels > 0 else { return nil }
        guard settings != nil else { return OutputFile.format(container, canHold: stream) ? .copy : nil }
        if stream.isLowComplexityAAC, stream.channels <= 2, stream.bitRate <= 192_000 { return .copy }
        guard stream.hasDecoder, stream.sampleRate >= lowestRate else { return nil }
        return stream.knowsChannels || ChannelLayout.plain(channels: stream.channels) != nil ? encoding(stream) : nil
    }

    /// Fewer samples a second are no sound, and every one of them would become thousands.
    static let lowestRate = 1000

    private static func encoding(_ stream: InputStream) -> AudioTreatment {
        let bitRate =
            switch stream.channels {
            case 1: 96_000
            case 2: 160_000
            default: 64_000 * stream.channels
            }
        // The rates that AAC knows (ISO/IEC 14496-3, table 1.18).
        let rates = [
            7350, 8000, 11_025, 12_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000, 64_000, 88_200, 96_000,
        ]
        return .encode(bitRate: bitRate, sampleRate: rates.contains(stream.sampleRate) ? stream.sampleRate : 48_000)
    }

    /// A frame rate to tell an encoder, which needs one for its rate control; the time stamps stay what they are. Not
    /// less than a picture a day, nor more than any camera takes.
    static func frameRate(of stream: InputStream) -> Rational {
        for rate in [stream.averageFrameRate, stream.guessedFrameRate]
        where rate.isPositive && (1.0 / 86_400...480).contains(rate.value) {
            return rate
        }
        return Rational(30, 1)
    }

    private static func loss(of stream: InputStream, _ reason: String) -> Loss {
        Loss(what: "stream \(stream.index) (\(stream.kind.rawValue), \(stream.codecName))", reason: reason)
    }
}
