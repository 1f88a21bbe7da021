import FFmpeg
import IngestModel
import SystemIO

/// Streams that are copied, and sound that is encoded: one thread does it all.
final class StreamLane: Lane {
    struct Track: Sendable {
        let stream: InputStream
        /// `nil` copies.
        let encoding: (bitRate: Int, sampleRate: Int)?
    }

    let shared = LaneState(capacity: 256)
    private let path: FilePath
    private let tracks: [Track]
    /// Whether the lane tells how far the whole copy is; a lane beside an encoder does not.
    private let leads: Bool

    init(_ path: FilePath, tracks: [Track], leads: Bool) {
        self.path = path
        self.tracks = tracks
        self.leads = leads
    }

    func start() {
        Thread.detach { [self] in
            do {
                try run()
            } catch let fault as Fault {
                shared.fail(fault)
            } catch let error as FFmpegError {
                shared.fail(Source.fault(error))
            } catch {
                shared.fail(Fault(.encoderFailed, "\(error)"))
            }
        }
    }

    private func run() throws {
        let reader = try PacketReader(path, streams: tracks.map { $0.stream.index })
        var writers: [any TrackWriter] = []
        for (slot, track) in tracks.enumerated() {
            if let encoding = track.encoding {
                writers.append(try SoundEncoding(track.stream, slot: slot, encoding, state: shared))
            } else {
                writers.append(try PacketCopying(track.stream, slot: slot, state: shared))
            }
        }
        shared.describe(.success(writers.map { $0.description }))
        while let (packet, slot) = try reader.next() {
            if leads, let time = packet.presentation {
                let seconds = tracks[slot].stream.timeBase.seconds(time)
                let total = reader.duration ?? 0
                shared.move(
                    toSeconds: seconds, frames: reader.tallies[0].packets,
                    fraction: total > 0 ? min(1, seconds / total) : reader.fraction)
            }
            guard try writers[slot].take(packet, reader) else { return }
        }
        for writer in writers {
            guard try writer.finish(reader) else { return }
        }
        for (slot, writer) in writers.enumerated() { reader.update(slot) { writer.report(into: &$0) } }
        shared.finish(reader.tallies)
    }
}

/// What makes the output's packets of one stream's.
protocol TrackWriter: AnyObject {
    var description: OutputFile.StreamDescription { get }

    /// `false` if nobody wants more.
    func take(_ packet: Packet, _ reader: PacketReader) throws -> Bool
    func finish(_ reader: PacketReader) throws -> Bool
    func report(into tally: inout StreamTally)
}

/// Packets as they are.
final class PacketCopying: TrackWriter {
    let description: OutputFile.StreamDescription
    private let stream: InputStream
    private let slot: Int
    private let state: LaneState
    /// Sound is decoded as it passes, which costs next to nothing and finds out whether it is sound; pictures are not.
    private let judge: Decoder?
    private var lastDecoding: Int64?
    private var streamEnd = StreamEnd()
    /// What a picture without a duration gets, in the stream's time base.
    private let usualDuration: Int64
    private var firstTime: Int64?
    private var hasShown = false
    private var hasKey = false
    private var written: Int64 = 0
    private var end: Int64 = 0
    private var lastTime: Int64 = 0

    init(_ stream: InputStream, slot: Int, state: LaneState) throws {
        self.stream = stream
        self.slot = slot
        self.state = state
        usualDuration = stream.kind == .video ? PictureClock(stream, most: nil).usualDuration : 0
        judge = stream.kind == .audio && stream.hasDecoder ? try Decoder(stream, threads: 1) : nil
        description = OutputFile.StreamDescription(
            parameters: stream.parameters, timeBase: stream.timeBase,
            metadata: Tags.kept(fromStream: stream.metadata), isDefault: stream.isDefault,
            displayMatrix: stream.displayMatrix, sampleAspectRatio: stream.sampleAspectRatio,
            averageFrameRate: stream.averageFrameRate, isCopy: true)
    }

    func take(_ packet: Packet, _ reader: PacketReader) throws -> Bool {
        try judge(packet, reader)
        // What an edit list hides is needed in front, where decoding begins, and is cut off behind the end.
        if packet.isDiscarded, hasShown { return true }
        // Before the recording's beginning and before anything that could be decoded.
        if stream.kind == .video, !hasKey, !packet.isKey, (packet.presentation ?? 0) < 0 { return true }
        if packet.isKey { hasKey = true }
        if !packet.isDiscarded { hasShown = true }
        var decoding = packet.decoding ?? packet.presentation ?? (lastDecoding ?? 0) + 1
        // The container wants decoding times that only rise.
        if let lastDecoding, decoding <= lastDecoding { decoding = lastDecoding + 1 }
        lastDecoding = decoding
        packet.decoding = decoding
        if let time = packet.presentation {
            packet.presentation = max(time, decoding)
        } else {
            packet.presentation = decoding
        }
        let time = packet.presentation ?? decoding
        end = max(end, time + (packet.duration > 0 ? packet.duration : usualDuration))
        if !packet.isDiscarded { firstTime = min(firstTime ?? time, time) }
        lastTime = max(lastTime, time)
        written += 1
        return handOver(streamEnd.exchange(packet))
    }

    private func handOver(_ packet: Packet?) -> Bool {
        guard let packet else { return true }
        return state.packets.push(.packet(LanePacket(packet: packet, stream: slot, timeBase: stream.timeBase)))
    }

    private func judge(_ packet: Packet?, _ reader: PacketReader) throws {
        guard let judge else {
            if let packet { reader.update(slot) { $0.noteFrame(isDamaged: packet.isDamaged) } }
            return
        }
        if packet?.isDamaged == true { reader.update(slot) { $0.noteDamage() } }
        try SoundDecoding.decode(packet, with: judge, slot: slot, reader) { _ in true }
    }

    func finish(_ reader: PacketReader) throws -> Bool {
        try judge(nil, reader)
        if stream.kind == .video, let firstTime, let declared = reader.tallies[slot].declared {
            let declaredEnd =
                firstTime + stream.timeBase.rescale(Int64(declared * 1_000_000), from: Source.microseconds)
            end = max(lastTime + 1, min(end, declaredEnd))
        }
        return handOver(streamEnd.last(endingAt: end))
    }

    func report(into tally: inout StreamTally) {
        tally.isCopied = true
        tally.written = written
        tally.lastTime = stream.timeBase.seconds(lastTime)
        tally.writtenEnd = stream.timeBase.seconds(end)
    }
}

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
            let named = stream.knowsChannels ? stream.channelLayout : plain ?? stream.channelLayout
            (encoder, layout) = (try Self.encoder(encoding, named), named)
        } catch {
            guard let plain else { throw error }
            (encoder, layout) = (try Self.encoder(encoding, plain), plain)
        }
        description = OutputFile.StreamDescription(
            parameters: try encoder.parameters(), timeBase: encoder.timeBase,
            metadata: Tags.kept(fromStream: stream.metadata), isDefault: stream.isDefault, isCopy: false)
    }

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
        try SoundDecoding.decode(packet, with: decoder, slot: slot, reader, take)
    }

    private func take(_ frame: Frame) throws -> Bool {
        // As many channels as before: nothing is to be mixed, whatever they are called.
        if frame.audioFormat.channels == stream.channels { try frame.name(channels: layout) }
        let format = frame.audioFormat
        guard format.sampleRate > 0, format.channels > 0, frame.sampleCount > 0 else { return true }
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
        if let stamp, next != nil, stamp - position > Int64(rate) / 25 { position = stamp }
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
