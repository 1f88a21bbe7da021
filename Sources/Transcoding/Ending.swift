import FFmpeg
import IngestModel

/// How a stream ends, found by decoding its last seconds.
struct Ending: Sendable {
    private(set) var tally: StreamTally
    /// When the last picture or run of samples begins, in seconds from the beginning of the file; `nil` if none came.
    private(set) var last: Double?

    /// Seconds that are decoded, of what was encoded here and of what was copied as it was found.
    static let ofEncoded = 1.0
    static let ofCopied = 3.0
    /// Where an index tells that nothing is cut off, only the last blocks may be lacking: what so many bits hold, which takes a third
    /// of a second, but not less than is decoded of what was encoded here.
    private static let ofIndexed = 16_000_000.0

    /// - Parameters:
    ///   - stream: one of the file's streams.
    ///   - input: the file; nothing else reads from it.
    ///   - end: when that ends, in seconds from the beginning of the file.
    ///   - length: seconds that are decoded.
    ///   - threads: of the decoder; 0 for as many as there are processors.
    /// - Throws: `FFmpegError`.
    init(of stream: InputStream, in input: InputFile, endingAt end: Double, length: Double, threads: Int = 0) throws {
        tally = StreamTally(kind: stream.kind)
        input.select([stream.index])
        let offset = Double(Source.startOffset(input)) / 1_000_000
        let start = end - length
        try? input.seek(toSeconds: max(0, start) + offset)
        let decoder = try Decoder(stream, threads: threads)
        decoder.onlyChecks()
        func seconds(_ time: Int64) -> Double { stream.timeBase.seconds(time) - offset }
        try DecodedFrames(input: input, decoder: decoder).forEach { event in
            switch event {
            case .packet(let packet):
                // The key frame may lie far before what is to be looked at.
                if let time = packet.presentation { decoder.passesOverUnreferenced(seconds(time) < start) }
            case .damage: tally.noteDamage()
            case .frame(let frame):
                tally.noteFrame(isDamaged: frame.isDamaged)
                if let time = frame.bestTimestamp { last = seconds(time) }
            }
            return true
        }
    }

    /// The picture of a recording whose index says where it ends: can be decoded while its packets are copied. `nil` where the
    /// index says nothing of use.
    static func ofRecording(_ path: FilePath, _ stream: InputStream) throws -> Ending? {
        let input = try InputFile(path: path.bytes, formats: Source.formats, looksInside: false)
        guard let duration = stream.duration else { return nil }
        let end =
            stream.timeBase.seconds((stream.start ?? 0) + duration) - Double(Source.startOffset(input)) / 1_000_000
        let length = stream.bitRate > 0 ? max(ofEncoded, ofIndexed / Double(stream.bitRate)) : ofCopied
        let ending = try Ending(of: stream, in: input, endingAt: end, length: length, threads: 1)
        return ending.last == nil ? nil : ending
    }
}
