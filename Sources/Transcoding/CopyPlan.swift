import FFmpeg
import IngestModel

/// What becomes of each stream of a recording.
struct CopyPlan {
    enum Treatment: Equatable, Sendable {
        case copy
        case encodePicture(EncoderChoice, PictureGeometry)
        /// AAC at so many bits a second.
        case encodeSound(bitRate: Int, sampleRate: Int)
        /// Subtitles of another kind, made those that the container holds.
        case convertText
        /// As it is, with the description that it has in the recording: what it means only others know.
        case carry
    }

    struct Track: Sendable {
        let stream: InputStream
        let treatment: Treatment
    }

    /// In the order in which they stand in the copy: the picture, sound, subtitles, data.
    let tracks: [Track]
    /// Attached pictures.
    let covers: [InputStream]
    /// Streams that hold nothing but the titles of chapters.
    let chapterTitles: Set<Int>
    let losses: [Loss]

    static let container = "mp4"

    var video: Track? { tracks.first { $0.stream.kind == .video } }

    /// The time code at the recording's beginning.
    func timecode(of input: InputFile) -> String? {
        video?.stream.metadata["timecode"] ?? input.metadata["timecode"]
            ?? input.streams.first { $0.tag == "tmcd" }?.metadata["timecode"]
    }

    /// What a copy is planned from.
    struct Request {
        let input: InputFile
        /// Its index, where it has one of the ISO base media format.
        let index: MovieBox?
        /// `nil` changes the container only.
        let settings: CompressSettings?
        let stripsLocation: Bool
        /// By how much less than planned the picture may weigh, because a copy has come out too large: 0 … 1.
        var restraint = 1.0
    }

    /// - Throws: a fault if what a player would show or play cannot be kept: the main picture, or all sound; when only the
    ///   container is to be changed, any sound.
    static func make(for request: Request) throws(Fault) -> CopyPlan {
        var planner = CopyPlanner(request)
        for stream in request.input.streams { try planner.plan(stream) }
        return try planner.finish()
    }

    /// Fewer samples a second are no sound, and every one of them would become thousands.
    static let lowestRate = 1000

    /// A frame rate to tell an encoder, which needs one for its rate control; the time stamps stay what they are. Not
    /// less than a picture a day, nor more than any camera takes.
    static func frameRate(of stream: InputStream) -> Rational {
        for rate in [stream.averageFrameRate, stream.guessedFrameRate]
        where rate.isPositive && (1.0 / 86_400...480).contains(rate.value) {
            return rate
        }
        return Rational(30, 1)
    }
}

/// Decides stream by stream.
private struct CopyPlanner {
    private let request: CopyPlan.Request
    private let mainPicture: Int?
    private let chapterTracks: Set<Int>
    private var tracks: [StreamKind: [CopyPlan.Track]] = [:]
    private var covers: [InputStream] = []
    private var chapterTitles: Set<Int> = []
    private var losses: [Loss] = []
    private var lostSound: InputStream?

    private var settings: CompressSettings? { request.settings }

    init(_ request: CopyPlan.Request) {
        self.request = request
        mainPicture = request.input.bestStream(.video)
        chapterTracks = request.index.map { SourceTracks($0).ofChapters } ?? []
    }

    mutating func plan(_ stream: InputStream) throws(Fault) {
        switch stream.kind {
        case .video where stream.isAttachedPicture: plan(cover: stream)
        case .video where stream.index == mainPicture: try plan(picture: stream)
        case .video: lose(stream, "only the main picture is kept")
        case .audio: try plan(sound: stream)
        case .subtitle where !chapterTracks.contains(stream.id): plan(subtitles: stream)
        case .subtitle, .data, .attachment, .unknown: plan(data: stream)
        }
    }

    mutating func finish() throws(Fault) -> CopyPlan {
        if let target = settings?.targetSize, case let (track, .encodePicture(choice, geometry))? = picture {
            var choice = choice
            choice.bitRate = try SizeBudget(target: target, restraint: request.restraint)
                .bitRate(for: request.input, besides: tracks.values.flatMap { $0 }.filter { $0.stream.kind != .video })
            tracks[.video] = [CopyPlan.Track(stream: track, treatment: .encodePicture(choice, geometry))]
        }
        let order: [StreamKind] = [.video, .audio, .subtitle, .data]
        if tracks[.audio] == nil, let lostSound { throw impossible("sound", lostSound) }
        guard tracks[.video] != nil || tracks[.audio] != nil else {
            throw Fault(
                .nothingToEncode,
                "there is no picture and no sound in it; without --compress or --remux it is uploaded as it is")
        }
        return CopyPlan(
            tracks: order.flatMap { tracks[$0] ?? [] }, covers: covers, chapterTitles: chapterTitles,
            losses: losses)
    }

    private var picture: (InputStream, CopyPlan.Treatment)? { tracks[.video]?.first.map { ($0.stream, $0.treatment) } }

    private mutating func add(_ stream: InputStream, _ treatment: CopyPlan.Treatment, as kind: StreamKind? = nil) {
        tracks[kind ?? stream.kind, default: []].append(CopyPlan.Track(stream: stream, treatment: treatment))
    }

    private mutating func lose(_ stream: InputStream, _ reason: String, isAsked: Bool = false) {
        losses.append(
            Loss(
                what: TrackWords.name(of: stream), reason: reason, isAsked: isAsked))
    }

    // MARK: - Pictures

    private mutating func plan(picture stream: InputStream) throws(Fault) {
        guard let treatment = treatment(picture: stream) else { throw impossible("picture", stream) }
        add(stream, treatment)
        guard case .encodePicture(let choice, _) = treatment else { return }
        losses += Reductions.of(stream, by: choice)
        if SecondEye.isIn(request.index) {
            losses.append(Loss(what: "the second eye's picture", reason: "encoders know one picture only"))
        }
    }

    private func treatment(picture stream: InputStream) -> CopyPlan.Treatment? {
        guard stream.width > 0, stream.height > 0 else { return nil }
        guard let settings else { return OutputFile.format(CopyPlan.container, canHold: stream) ? .copy : nil }
        guard stream.hasDecoder else { return nil }
        let geometry = PictureGeometry(
            width: stream.width, height: stream.height, longestShortSide: settings.maxHeight)
        let choice = EncoderChoice.choose(
            settings, shortSide: min(geometry.width, geometry.height),
            framesPerSecond: CopyPlan.frameRate(of: stream).value,
            needsTenBits: stream.pixelFormat.depth > 8 || stream.isHighDynamicRange)
        return .encodePicture(choice, geometry)
    }

    private mutating func plan(cover stream: InputStream) {
        if request.stripsLocation, let picture = try? request.input.attachedPicture(ofStream: stream.index),
            PositionText.mayBeIn(picture: picture.bytes)
        {
            return lose(stream, "it may say where it was taken, and that was to be left out", isAsked: true)
        }
        if OutputFile.holdsAsCover(stream) { return covers.append(stream) }
        lose(stream, "the container holds attached pictures as PNG, JPEG or BMP only")
    }

    // MARK: - Sound

    private mutating func plan(sound stream: InputStream) throws(Fault) {
        if settings?.sound == CompressSettings.Sound.none {
            return lose(stream, "no sound was asked for", isAsked: true)
        }
        if let treatment = treatment(sound: stream) { return add(stream, treatment) }
        // A player that does not know it passes over it, and plays the others.
        if !stream.isKnown, canCarry(stream) { return add(stream, .carry) }
        if settings == nil, stream.sampleRate > 0 { throw impossible("sound", stream) }
        lostSound = stream
        lose(stream, soundProblem(stream))
    }

    private func treatment(sound stream: InputStream) -> CopyPlan.Treatment? {
        guard stream.sampleRate > 0, stream.channels > 0 else { return nil }
        let canCopy = OutputFile.format(CopyPlan.container, canHold: stream)
        guard let settings else { return canCopy ? .copy : nil }
        switch settings.sound ?? .auto {
        case .auto where stream.isLowComplexityAAC && stream.channels <= 2 && stream.bitRate <= 192_000: return .copy
        case .copy where canCopy: return .copy
        case .auto, .copy, .aac, .none: break
        }
        guard stream.hasDecoder, stream.sampleRate >= CopyPlan.lowestRate else { return nil }
        guard stream.knowsChannels || ChannelLayout.plain(channels: stream.channels) != nil else { return nil }
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
        return .encodeSound(
            bitRate: bitRate, sampleRate: rates.contains(stream.sampleRate) ? stream.sampleRate : 48_000)
    }

    private func soundProblem(_ stream: InputStream) -> String {
        if !stream.hasDecoder { return "this version cannot decode it" }
        if stream.sampleRate <= 0 || stream.channels <= 0 {
            return "it says nothing about itself that could be decoded"
        }
        if stream.sampleRate < CopyPlan.lowestRate { return "it has \(stream.sampleRate) samples a second" }
        return "AAC cannot hold \(stream.channels) channels"
    }

    // MARK: - What goes with them

    private mutating func plan(subtitles stream: InputStream) {
        if OutputFile.format(CopyPlan.container, canHold: stream) { return add(stream, .copy) }
        if SubtitleConverter.canConvert(stream) { return add(stream, .convertText) }
        if canCarry(stream) { return add(stream, .carry) }
        lose(stream, "the container holds text, and subtitles of this kind are pictures")
    }

    private mutating func plan(data stream: InputStream) {
        // The muxer writes the time code and the chapters into tracks of its own.
        if stream.tag == "tmcd" { return }
        if chapterTracks.contains(stream.id) {
            chapterTitles.insert(stream.index)
            return
        }
        if request.stripsLocation {
            return lose(stream, "it may say where it was recorded, and that was to be left out", isAsked: true)
        }
        if canCarry(stream) { return add(stream, .carry, as: .data) }
        lose(
            stream,
            stream.kind == .attachment
                ? "the container holds no attached files" : "the container has no place for data of this kind")
    }

    private func canCarry(_ stream: InputStream) -> Bool {
        request.index.map { SourceTracks($0).canCarry(stream.id) } ?? false
    }

    // MARK: - What cannot be

    private func impossible(_ what: String, _ stream: InputStream) -> Fault {
        let isRemux = settings == nil
        if stream.kind == .video, stream.width <= 0 || stream.height <= 0 {
            return Fault(
                .nothingToEncode,
                "nothing of its picture (\(stream.codecName)) can be read; without --compress or --remux it is uploaded as it "
                    + "is")
        }
        if stream.kind == .audio, !isRemux, (1..<CopyPlan.lowestRate).contains(stream.sampleRate) {
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
}
