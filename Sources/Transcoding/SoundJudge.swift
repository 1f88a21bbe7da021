import FFmpeg
import SystemIO

/// Decodes sound that is copied, on a thread of its own: whether it is sound shows only then, and costs next to nothing.
final class SoundJudge {
    private let packets: BoundedQueue<Packet>
    private let errand: Errand<StreamTally>

    init(_ stream: InputStream) {
        let packets = BoundedQueue<Packet>(capacity: 256, step: 64)
        self.packets = packets
        errand = Errand {
            // Nobody is to wait for a judge that has failed.
            defer { packets.abandon() }
            return try Self.judge(stream, packets)
        }
    }

    /// Takes a packet, and leaves it as it is. One that comes after a failure is let go.
    func take(_ packet: Packet) throws {
        _ = packets.push(try packet.copy())
    }

    /// Waits until all of it is decoded.
    ///
    /// - Returns: frames and damage; nothing else of the tally means anything.
    /// - Throws: `FFmpegError` where it could not be decoded at all.
    func finish() throws -> StreamTally {
        packets.end()
        return try errand.result()
    }

    private static func judge(_ stream: InputStream, _ packets: BoundedQueue<Packet>) throws -> StreamTally {
        var tally = StreamTally(kind: stream.kind)
        let decoder = try Decoder(stream, threads: 1)
        var first: (rate: Int, channels: Int)?
        var hasChanged = false
        func check(_ frame: Frame) -> Bool {
            let found = (rate: frame.sampleRate, channels: frame.channels)
            // Other codecs say it in each packet; AAC's are without their heads in mp4.
            if let first, first != found, stream.isLowComplexityAAC { hasChanged = true }
            first = first ?? found
            return true
        }
        while let packet = packets.pop() {
            if packet.isDamaged { tally.noteDamage() }
            try SoundDecoding.decode(packet, with: decoder, into: &tally) { check($0) }
        }
        try SoundDecoding.decode(nil, with: decoder, into: &tally) { check($0) }
        tally.changesFormat = hasChanged
        return tally
    }
}
