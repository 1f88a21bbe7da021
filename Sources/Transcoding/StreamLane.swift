import FFmpeg
import IngestModel
import SystemIO

/// Streams that are copied, and sound that is encoded: one thread does it all.
final class StreamLane: Lane {

    let shared = LaneState(capacity: 128, step: 32)
    private let path: FilePath
    private let hasIndex: Bool
    private let tracks: [CopyPlan.Track]
    /// Whether the lane tells how far the whole copy is; a lane beside an encoder does not.
    private let leads: Bool
    private let stripsLocation: Bool

    /// - Parameters:
    ///   - path: the recording's.
    ///   - hasIndex: whether its container has an index of every packet.
    ///   - tracks: those that the lane is for.
    ///   - leads: see there.
    ///   - stripsLocation: whether what tells a position is left out.
    init(_ path: FilePath, hasIndex: Bool, tracks: [CopyPlan.Track], leads: Bool, stripsLocation: Bool) {
        self.hasIndex = hasIndex
        self.stripsLocation = stripsLocation
        self.path = path
        self.tracks = tracks
        self.leads = leads
    }

    func start() {
        Thread.detach { [self] in
            do {
                try run()
            } catch {
                shared.fail(Source.fault(for: error))
            }
        }
    }

    private func run() throws {
        let reader = try PacketReader(path, streams: tracks.map { $0.stream }, hasIndex: hasIndex)
        var writers: [any TrackWriter] = []
        for (slot, track) in tracks.enumerated() { writers.append(try writer(for: track, slot)) }
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

    private func writer(for track: CopyPlan.Track, _ slot: Int) throws -> any TrackWriter {
        switch track.treatment {
        case .copy:
            try PacketCopying(
                track.stream, of: hasIndex ? path : nil, slot: slot, stripsLocation: stripsLocation, state: shared)
        case .carry: try PacketCopying(track.stream, slot: slot, isCarried: true, state: shared)
        case .encodeSound(let bitRate, let sampleRate):
            try SoundEncoding(track.stream, slot: slot, (bitRate, sampleRate), state: shared)
        case .convertText:
            try TextConversion(track.stream, slot: slot, stripsLocation: stripsLocation, state: shared)
        case .encodePicture: throw Fault(.encoderFailed, "a picture came where none belongs")
        }
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
