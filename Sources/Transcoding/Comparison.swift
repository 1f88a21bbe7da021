import FFmpeg
import IngestModel

/// Holds what was made against the recording, property by property, as a reader of both finds them.
struct Comparison {
    let source: InputFile
    let made: InputFile
    /// The copy's index.
    let index: MovieBox?
    /// The copy's tracks, in its order.
    let tracks: [Verification.Expected]
    let plan: CopyPlan
    let stripsLocation: Bool

    /// What was found.
    struct Outcome {
        /// Names of properties that are as they were.
        var kept: [String] = []
        var losses: [Loss] = []

        fileprivate mutating func compare<Value: Equatable>(
            _ what: String, _ old: Value?, _ new: Value?, _ words: (Value) -> String, isAsked: Bool = false
        ) {
            guard let old else { return }
            guard let new else {
                return losses.append(
                    Loss(what: what, reason: "it was \(words(old)), and the copy has none", isAsked: isAsked))
            }
            if old == new {
                if !kept.contains(what) { kept.append(what) }
                return
            }
            losses.append(
                Loss(
                    what: what, reason: "it was \(words(old)) and is \(words(new))", outcome: .changed,
                    isAsked: isAsked))
        }
    }

    func run() -> Outcome {
        var outcome = Outcome()
        compareTags(&outcome)
        compareChapters(&outcome)
        compareTimecode(&outcome)
        var numbers: [StreamKind: Int] = [:]
        let names = index.map { IndexGrafts.names(in: $0) } ?? []
        for (place, (stream, track)) in zip(made.streams, tracks).enumerated() {
            if let title = track.stream.metadata["title"] {
                let there = place < names.count ? names[place] : nil
                outcome.compare("\(track.stream.kind.rawValue)'s title", title, there) { "“\($0.prefix(80))”" }
            }
            numbers[track.stream.kind, default: 0] += 1
            let name = Self.name(of: track.stream.kind, numbers[track.stream.kind] ?? 1)
            compare(track, with: stream, name, &outcome)
        }
        let covers = made.streams.count { $0.isAttachedPicture }
        if !plan.covers.isEmpty {
            outcome.compare("attached pictures", plan.covers.count, covers) { "\($0)" }
        }
        return outcome
    }

    private static func name(of kind: StreamKind, _ number: Int) -> String {
        kind == .video ? "picture" : "\(kind.rawValue) \(number)"
    }

    // MARK: - The whole file

    private func compareTags(_ outcome: inout Outcome) {
        let found = Dictionary(
            made.metadata.map { ($0.key.lowercased(), $0.value) }, uniquingKeysWith: { first, _ in first })
        var missing: [String] = []
        for (name, value) in Tags.kept(fromFile: source.metadata).sorted(by: { $0.key < $1.key }) {
            if Tags.isDerived(name, in: source.metadata) || name == "timecode" { continue }
            if stripsLocation, Tags.tellsPosition(name) {
                outcome.losses.append(
                    Loss(what: "the tag \(name)", reason: "it says where it was recorded", isAsked: true))
                continue
            }
            guard let there = found[name.lowercased()] else {
                missing.append(name)
                continue
            }
            if there == value || Tags.meansTheSame(name, value, there) {
                outcome.kept.append("tag \(name)")
            } else {
                outcome.losses.append(
                    Loss(
                        what: "the tag \(name)", reason: "it was “\(value.prefix(80))” and is “\(there.prefix(80))”",
                        outcome: .changed))
            }
        }
        if missing.isEmpty { return }
        outcome.losses.append(
            Loss(
                what: "the tag\(missing.count == 1 ? "" : "s") \(missing.joined(separator: ", "))",
                reason: "the container has no place for \(missing.count == 1 ? "it" : "them")"))
    }

    private func compareChapters(_ outcome: inout Outcome) {
        let expected = ChapterMarks.of(source)
        if expected.isEmpty { return }
        outcome.compare("chapters", expected.count, made.chapters.count) { "\($0)" }
        for (old, new) in zip(expected, made.chapters) {
            outcome.compare("a chapter's title", old.title, new.title) { "“\($0.prefix(80))”" }
        }
        count("beginnings", expected, { ($0.start, $0.timeBase) }, "they are at other moments", &outcome)
        count("ends", expected, { ($0.end, $0.timeBase) }, "mp4 lets each last until the next one", &outcome)
    }

    /// Says how many chapters have a moment that the copy's have not.
    private func count(
        _ what: String, _ expected: [Chapter], _ moment: (Chapter) -> (Int64, Rational), _ reason: String,
        _ outcome: inout Outcome
    ) {
        func seconds(_ chapter: Chapter) -> Double {
            let (time, base) = moment(chapter)
            return base.seconds(time)
        }
        let moved = zip(expected, made.chapters).count { abs(seconds($0) - seconds($1)) > Self.chapterTolerance }
        if moved == 0 { return outcome.kept.append("chapters' \(what)") }
        outcome.losses.append(Loss(what: "\(moved) chapters' \(what)", reason: reason, outcome: .changed))
    }

    /// Seconds; the container counts in thousandths.
    private static let chapterTolerance = 0.0015

    private func compareTimecode(_ outcome: inout Outcome) {
        let found = Set(made.streams.compactMap { $0.metadata["timecode"] })
        let expected = plan.timecode(of: source)
        outcome.compare("time code", expected, expected.flatMap { found.contains($0) ? $0 : found.first }) { $0 }
    }

    // MARK: - Tracks

    private func compare(
        _ track: Verification.Expected, with made: InputStream, _ name: String, _ outcome: inout Outcome
    ) {
        let old = track.stream
        outcome.kept.append("\(name) (\(old.codecName.printable))")
        compareTags(of: old, made, name, &outcome)
        if track.treatment == .carry { return }
        switch old.kind {
        case .video: comparePictures(old, made, track, &outcome)
        case .audio: compareSound(old, made, name, &outcome)
        default: break
        }
    }

    private func compareTags(of old: InputStream, _ made: InputStream, _ name: String, _ outcome: inout Outcome) {
        let found = Dictionary(
            made.metadata.map { ($0.key.lowercased(), $0.value) }, uniquingKeysWith: { first, _ in first })
        for (key, value) in Tags.kept(fromStream: old.metadata).sorted(by: { $0.key < $1.key }) {
            let lower = key.lowercased()
            if Tags.isOfNoAccount(inStream: lower) || lower == "language" && value == "und" { continue }
            if stripsLocation, Tags.tellsPosition(key) { continue }
            let there = found[lower] == value || lower == "language" && Tags.isSameLanguage(value, found[lower])
            outcome.compare("\(name): \(lower)", value, there ? value : found[lower]) { "“\($0.prefix(80))”" }
        }
    }

    private func comparePictures(
        _ old: InputStream, _ made: InputStream, _ track: Verification.Expected, _ outcome: inout Outcome
    ) {
        let isScaled = if case .encodePicture(_, let geometry) = track.treatment { geometry.isScaled } else { false }
        if old.displayMatrix.count == 9 || made.displayMatrix.count == 9 {
            outcome.compare("orientation", Self.turn(old), Self.turn(made)) { $0 }
        }
        outcome.compare(
            "size of the picture", "\(old.width)×\(old.height)", size(made, of: track), { $0 }, isAsked: isScaled)
        let shapes = (Self.shape(old), Self.shape(made))
        if abs(shapes.0 - shapes.1) > 0.005 * shapes.0 {
            outcome.compare("shape of the pixels", shapes.0, shapes.1) { Decimal.fixed($0, places: 3) }
        }
        compareColours(old, made, &outcome)
        if old.mastering != nil { outcome.compare("mastering display", old.mastering, made.mastering) { $0.forX265 } }
        if old.contentLight != nil {
            outcome.compare("content light level", old.contentLight, made.contentLight) {
                "\($0.brightestPixel), \($0.brightestPicture)"
            }
        }
    }

    private func compareColours(_ old: InputStream, _ made: InputStream, _ outcome: inout Outcome) {
        // What was RGB has become something else; that is said by itself.
        if old.pixelFormat.isRGB { return }
        // Nothing need be said of VP8's: they are those of BT.601 (RFC 6386, section 9.2).
        let isDefined = old.codecName == "vp8"
        for (before, after) in zip(old.colour.names, made.colour.names) {
            // Where nothing is said, limited range is meant (ITU-T H.264 and H.265, annex E).
            if before.property == "colour range", (before.name ?? "tv") == (after.name ?? "tv") { continue }
            if isDefined, before.name == nil { continue }
            if before.name == nil, let named = after.name, before.property != "chroma location" {
                outcome.losses.append(
                    Loss(
                        what: before.property, reason: "nothing was said of it, and now it is \(named)",
                        outcome: .changed))
            } else {
                outcome.compare(before.property, before.name, after.name) { $0 }
            }
        }
    }

    /// The size that the copy has, without the line or column that makes a side even.
    private func size(_ made: InputStream, of track: Verification.Expected) -> String {
        guard case .encodePicture(_, let geometry) = track.treatment, made.width == geometry.width,
            made.height == geometry.height
        else { return "\(made.width)×\(made.height)" }
        return "\(geometry.scaledWidth)×\(geometry.scaledHeight)"
    }

    /// The part of the matrix that turns and flips.
    private static func turn(_ stream: InputStream) -> String {
        let matrix = stream.displayMatrix
        let turn = matrix.count == 9 ? [matrix[0], matrix[1], matrix[3], matrix[4]] : [65536, 0, 0, 65536]
        return turn.map { Decimal.fixed(Double($0) / 65536, places: 2) }.joined(separator: " ")
    }

    private static func shape(_ stream: InputStream) -> Double {
        stream.sampleAspectRatio.isPositive ? stream.sampleAspectRatio.value : 1
    }

    private func compareSound(_ old: InputStream, _ made: InputStream, _ name: String, _ outcome: inout Outcome) {
        outcome.compare("\(name): channels", old.channels, made.channels) { "\($0)" }
        if old.knowsChannels, old.channels == made.channels {
            // The same channels, called otherwise.
            func usual(_ layout: String) -> String { layout.replacing("(side)", with: "") }
            outcome.compare("\(name): channel layout", usual(old.channelLayout), usual(made.channelLayout)) { $0 }
        }
        outcome.compare("\(name): samples a second", old.sampleRate, made.sampleRate) { "\($0)" }
    }
}
