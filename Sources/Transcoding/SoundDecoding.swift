import FFmpeg

/// Decoding sound, and counting what comes of it.
enum SoundDecoding {
    /// Decodes a packet, or with `nil` what is left, and hands the samples to `take`. `false` if that wants no more.
    @discardableResult
    static func decode(
        _ packet: Packet?, with decoder: Decoder, slot: Int, _ reader: PacketReader, _ take: (Frame) throws -> Bool
    ) throws -> Bool {
        let pieces: [Packet?] = try packet.map { try decoder.pieces(of: $0) } ?? [nil]
        for piece in pieces {
            var sent = Sent.full
            while sent == .full {
                sent = try decoder.send(piece)
                if sent == .damaged { reader.update(slot) { $0.noteDamage() } }
                guard try drain(decoder, slot: slot, reader, take) else { return false }
            }
        }
        return true
    }

    private static func drain(
        _ decoder: Decoder, slot: Int, _ reader: PacketReader, _ take: (Frame) throws -> Bool
    ) throws -> Bool {
        while true {
            switch try decoder.receive() {
            case .output(let frame):
                reader.update(slot) { tally in
                    tally.noteFrame(isDamaged: frame.isDamaged)
                    if frame.sampleRate > 0 { tally.heard += Double(frame.sampleCount) / Double(frame.sampleRate) }
                }
                guard try take(frame) else { return false }
            case .damaged: reader.update(slot) { $0.noteDamage() }
            case .needsInput, .finished: return true
            }
        }
    }
}
