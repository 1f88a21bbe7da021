import FFmpeg
import IngestModel
import SystemIO

/// Sound, decoded and encoded to AAC.
final class SoundEncoding: TrackWriter {
    let description: OutputFile.StreamDescription
    private let stream: InputStream
    private let slot: Int
    private let state: LaneState
    private let decoder: Decoder
    private let encoder: Encoder
    private let layout: String
    private let sampleRate: Int
    private var graph: (format: AudioFormat, graph: FilterGraph)?
    /// Where the next sample belongs, in samples of the source's rate.
    private var next: Int64?
    private var written: Int64 = 0
    private var end: Int64 = 0
    private var lastTime: Int64 = 0

    private static let sampleFormat = "fltp"

    init(
        _ stream: InputStream, slot: Int, _ encoding: (bitRate: Int, sampleRate: Int), state: LaneState
    ) throws {
        self.stream = stream
        self.slot = slot
        self.state = state
        decoder = try Decoder(stream, threads: 1)
        sampleRate = encoding.sampleRate
        let plain = ChannelLayout.plain(channels: stream.channels)
        do {
            // Channels of which nothing is known are not made those of a layout that treats one of them as different.
            let named = stream.knowsChannels ? Self.usualName(stream.channelLayout) : plain ?? stream.channelLayout
            (encoder, layout) = (try Self.encoder(encoding, named), named)
        } catch {
            guard let plain else { throw error }
            (encoder, layout) = (try Self.encoder(encoding, plain), plain)
        }
        description = OutputFile.StreamDescription(
            parameters: try encoder.parameters(), timeBase: encoder.timeBase,
            metadata: Tags.kept(fromStream: stream.metadata), disposition: stream.disposition, isCopy: false)
    }

    /// AAC knows the surround channels of five and more at the back only; they are the same ones.
    private static func usualName(_ layout: String) -> String { layout.replacing("(side)", with: "") }

    private static func encoder(
        _ encoding: (bitRate: Int, sampleRate: Int), _ layout: String
    ) throws(FFmpegError) -> Encoder {
        try Encoder(
            audio: "aac", sampleRate: encoding.sampleRate, layout: layout, sampleFormat: sampleFormat,
            bitRate: encoding.bitRate)
    }

    func take(_ packet: Packet, _ reader: PacketReader) throws -> Bool {
        if packet.isDamaged { reader.update(slot) { $0.noteDamage() } }
        return try decode(packet, reader)
    }

    func finish(_ reader: PacketReader) throws -> Bool {
        guard try decode(nil, reader) else { return false }
        if let graph {
            try graph.graph.send(nil)
            guard try drain(graph.graph) else { return false }
        }
        return try encode(nil)
    }

    func report(into tally: inout StreamTally) {
        tally.written = written
        tally.lastTime = encoder.timeBase.seconds(lastTime)
        tally.writtenEnd = encoder.timeBase.seconds(end)
    }

    private func decode(_ packet: Packet?, _ reader: PacketReader) throws -> Bool {
        try reader.change(slot) { try SoundDecoding.decode(packet, with: decoder, into: &$0, take) }
    }

    private func take(_ frame: Frame) throws -> Bool {
        // As many channels as before: nothing is to be mixed, whatever they are called.
        if frame.audioFormat.channels == stream.channels { try frame.name(channels: layout) }
        let format = frame.audioFormat
        guard format.sampleRate > 0, format.channels > 0, frame.sampleCount > 0 else { return true }
        if format.sampleRate < CopyPlan.lowestRate {
            throw Fault(
                .damaged,
                "it is damaged: its sound changes to \(format.sampleRate) samples a second; it is left untouched. "
                    + Source.asItIs)
        }
        if let old = graph, old.format != format {
            try old.graph.send(nil)
            guard try drain(old.graph) else { return false }
            next = next.map {
                Rational(1, Int32(format.sampleRate)).rescale($0, from: Rational(1, Int32(old.format.sampleRate)))
            }
            graph = nil
        }
        let graph = try graph?.graph ?? makeGraph(for: format)
        frame.presentation = place(frame, rate: format.sampleRate)
        try graph.send(frame)
        return try drain(graph)
    }

    /// Samples follow each other without a seam; only where the recording's own times are off by more than time stamps
    /// in milliseconds can be, there is a gap, and it stays one.
    private func place(_ frame: Frame, rate: Int) -> Int64 {
        let stamp = frame.bestTimestamp.map { Rational(1, Int32(rate)).rescale($0, from: stream.timeBase) }
        var position = next ?? stamp ?? 0
        if let stamp, next != nil, stamp > position + Int64(rate) / 25 { position = stamp }
        next = position + Int64(frame.sampleCount)
        return position
    }

    private func makeGraph(for format: AudioFormat) throws -> FilterGraph {
        let made = try FilterGraph(
            audio: format,
            filters: "aresample=\(sampleRate),aformat=sample_fmts=\(Self.sampleFormat):sample_rates=\(sampleRate)"
                + ":channel_layouts=\(layout)")
        made.setFrameSize(encoder.frameSize)
        graph = (format, made)
        return made
    }

    private func drain(_ graph: FilterGraph) throws -> Bool {
        while case .output(let frame) = try graph.receive() {
            frame.presentation = frame.presentation.map { encoder.timeBase.rescale($0, from: graph.timeBase) }
            guard try encode(frame) else { return false }
        }
        return true
    }

    private func encode(_ frame: Frame?) throws -> Bool {
        var isSent = false
        while !isSent {
            isSent = try encoder.send(frame)
            while case .output(let packet) = try encoder.receive() {
                if let time = packet.presentation {
                    lastTime = max(lastTime, time)
                    end = max(end, time + packet.duration)
                }
                written += 1
                guard state.packets.push(.packet(LanePacket(packet: packet, stream: slot, timeBase: encoder.timeBase)))
                else { return false }
            }
        }
        return true
    }
}
