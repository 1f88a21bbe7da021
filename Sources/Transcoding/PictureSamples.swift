import FFmpeg
import IngestModel

/// Looks at a few places of a copy's picture: that what stands there decodes, and shows what the recording shows.
struct PictureSamples {
    let recording: FilePath
    let copy: FilePath

    /// One place for so many seconds, and so many at most.
    private static let interval = 20.0
    private static let most = 6
    /// Pictures that are decoded at each place: a group of them as a rule.
    private static let picturesAtPlace = 60
    /// So many pictures behind a key frame are looked through for the right one.
    private static let longestGroup = 1500
    /// Less than this, in a small version, is another picture: compression alone never costs so much.
    private static let leastLikeness = 0.4

    enum Finding {
        /// In seconds from the copy's beginning.
        case damaged(at: Double)
        case other(at: Double, likeness: Double)
        /// Places that were compared.
        case well(Int)
    }

    /// - Parameters:
    ///   - stream: of the recording.
    ///   - place: of the picture among the copy's streams.
    ///   - isEncoded: whether they have to be without damage. Those that were copied may be as damaged as the recording is.
    /// - Returns: what was found.
    /// - Throws: `FFmpegError` or `Fault` where one of the files cannot be read.
    func check(_ stream: InputStream, place: Int, isEncoded: Bool) throws -> Finding {
        let made = try InputFile(path: copy.bytes, formats: Verification.formats, looksInside: false)
        let track = made.streams[place]
        made.select([place])
        let length = track.timeBase.seconds(track.duration ?? 0)
        let count = min(Self.most, 1 + Int(length / Self.interval))
        let source = try Source.open(recording)
        source.select([stream.index])
        var compared = 0
        for number in 0..<count {
            try? made.seek(toSeconds: length * (Double(number) + 0.5) / Double(count))
            let group = try decode(made, track, most: isEncoded ? Self.picturesAtPlace : 1)
            let time = group.first.map { track.timeBase.seconds($0.time) } ?? 0
            if group.isDamaged, isEncoded { return .damaged(at: time) }
            guard !group.isDamaged, let first = group.first else { continue }
            guard let original = try picture(of: source, stream, at: time) else { continue }
            let likeness = try likeness(original, stream, first.frame, track)
            if likeness < Self.leastLikeness { return .other(at: time, likeness: likeness) }
            compared += 1
        }
        return .well(compared)
    }

    // MARK: - Finding pictures

    private struct Group {
        var first: (frame: Frame, time: Int64)?
        var isDamaged = false
    }

    /// Decodes so many pictures from where reading stands.
    private func decode(_ input: InputFile, _ stream: InputStream, most: Int) throws -> Group {
        let decoder = try Decoder(stream, threads: 0)
        var group = Group()
        var count = 0
        try DecodedFrames(input: input, decoder: decoder).forEach { event in
            switch event {
            case .packet: break
            case .damage: group.isDamaged = true
            case .frame(let frame):
                count += 1
                if frame.isDamaged { group.isDamaged = true }
                if group.first == nil, let time = frame.bestTimestamp { group.first = (frame, time) }
            }
            return count < most
        }
        return group
    }

    /// The recording's picture at the moment, in seconds on the copy's time line; `nil` if it is not found.
    private func picture(of input: InputFile, _ stream: InputStream, at seconds: Double) throws -> Frame? {
        let base = stream.timeBase
        let offset = Double(Source.startOffset(input)) / 1_000_000
        let half = 0.5 / max(1, CopyPlan.frameRate(of: stream).value)
        do {
            try input.seek(toSeconds: max(0, seconds + offset))
        } catch {
            // Containers without an index are not searched.
            return nil
        }
        let decoder = try Decoder(stream, threads: 0)
        var count = 0
        var found: Frame?
        try DecodedFrames(input: input, decoder: decoder).forEach { event in
            switch event {
            case .packet(let packet):
                if let time = packet.presentation {
                    decoder.passesOverUnreferenced(base.seconds(time) - offset < seconds - 2 * half)
                }
            case .damage: break
            case .frame(let frame):
                count += 1
                guard let time = frame.bestTimestamp else { break }
                let distance = base.seconds(time) - offset - seconds
                if abs(distance) < half { found = frame }
                // Seeking has gone too far.
                if distance > -half { return false }
            }
            return count < Self.longestGroup
        }
        return found
    }

    private func likeness(
        _ original: Frame, _ stream: InputStream, _ made: Frame, _ track: InputStream
    ) throws -> Double {
        let size = PictureLikeness.size(ofWidth: track.width, height: track.height)
        guard let left = try PictureLikeness.grey(original, timeBase: stream.timeBase, size: size),
            let right = try PictureLikeness.grey(made, timeBase: track.timeBase, size: size)
        else { return 0 }
        return PictureLikeness.of(left, right)
    }
}
