import FFmpeg

/// Decoding sound, and counting what comes of it.
enum SoundDecoding {
    /// Decodes a packet, or with `nil` what is left, notes what came of it, and hands the samples to `take`. `false` if that
    /// wants no more.
    @discardableResult
    static func decode(
        _ packet: Packet?, with decoder: Decoder, into tally: inout StreamTally, _ take: (Frame) throws -> Bool
    ) throws -> Bool {
        let pieces: [Packet?] = try packet.map { try decoder.pieces(of: $0) } ?? [nil]
        for piece in pieces {
            var sent = Sent.full
            while sent == .full {
                sent = try decoder.send(piece)
                if sent == .damaged { tally.noteDamage() }
                guard try drain(decoder, into: &tally, take) else { return false }
            }
        }
        return true
    }

    private static func drain(
        _ decoder: Decoder, into tally: inout StreamTally, _ take: (Frame) throws -> Bool
    ) throws -> Bool {
        while true {
            switch try decoder.receive() {
            case .output(let frame):
                tally.noteFrame(isDamaged: frame.isDamaged)
                if frame.sampleRate > 0 { tally.heard += Double(frame.sampleCount) / Double(frame.sampleRate) }
                guard try take(frame) else { return false }
            case .damaged: tally.noteDamage()
            case .needsInput, .finished: return true
            }
        }
    }
}
