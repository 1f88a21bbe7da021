import FFmpeg

/// What comes out of a decoder for the packets of one stream, from where reading stands.
struct DecodedFrames {
    let input: InputFile
    let decoder: Decoder

    enum Event {
        /// A packet is about to go in.
        case packet(Packet)
        case frame(Frame)
        /// A packet was not as it was recorded.
        case damage
    }

    /// Reads and decodes until the end, or until `take` wants no more.
    ///
    /// - Parameter take: `false` ends it.
    /// - Throws: `FFmpegError`, or what `take` throws.
    func forEach(_ take: (Event) throws -> Bool) throws {
        var isAtEnd = false
        while !isAtEnd {
            let packet = try input.read()
            isAtEnd = packet == nil
            if let packet { guard try take(.packet(packet)) else { return } }
            var sent = Sent.full
            while sent == .full {
                sent = try decoder.send(packet)
                if sent == .damaged { guard try take(.damage) else { return } }
                while case .output(let frame) = try decoder.receive() {
                    guard try take(.frame(frame)) else { return }
                }
            }
        }
    }
}
