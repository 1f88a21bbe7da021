import FFmpeg
import IngestModel
import SystemIO

/// Subtitles, made those that the container holds.
final class TextConversion: TrackWriter {
    let description: OutputFile.StreamDescription
    private let stream: InputStream
    private let slot: Int
    private let state: LaneState
    private let converter: SubtitleConverter
    private let stripsLocation: Bool
    private var placed: Int64 = 0
    private var log = PacketLog()
    /// The newest one: it is shown until the next one comes, at the longest. The container shows one at a time.
    private var newest: Packet?
    private var shortened: Int64 = 0

    init(_ stream: InputStream, slot: Int, stripsLocation: Bool, state: LaneState) throws {
        self.stripsLocation = stripsLocation
        self.stream = stream
        self.slot = slot
        self.state = state
        converter = try SubtitleConverter(stream)
        description = OutputFile.StreamDescription(
            parameters: try converter.parameters(), timeBase: stream.timeBase,
            metadata: Tags.kept(fromStream: stream.metadata), disposition: stream.disposition, isCopy: false)
    }

    func take(_ packet: Packet, _ reader: PacketReader) throws -> Bool {
        guard let made = try converter.convert(packet), let time = made.presentation ?? made.decoding else {
            return true
        }
        if stripsLocation, PositionText.isIn(made) {
            placed += 1
            return true
        }
        let moment = log.follow(time)
        made.decoding = moment
        made.presentation = moment
        defer { newest = made }
        return handOver(before: moment)
    }

    private func handOver(before next: Int64?) -> Bool {
        guard let packet = newest, let time = packet.presentation else { return true }
        if let next, time + packet.duration > next {
            packet.duration = max(1, next - time)
            shortened += 1
        }
        log.note(time, end: time + packet.duration)
        return state.packets.push(.packet(LanePacket(packet: packet, stream: slot, timeBase: stream.timeBase)))
    }

    func finish(_ reader: PacketReader) throws -> Bool { handOver(before: nil) }

    func report(into tally: inout StreamTally) {
        if placed > 0 { tally.losses.append(PositionText.loss(placed)) }
        if shortened > 0 {
            tally.losses.append(
                Loss(
                    what: "\(shortened) subtitles",
                    reason: "another one comes while they are shown, and mp4 shows one at a time", outcome: .changed))
        }
        log.report(into: &tally, timeBase: stream.timeBase)
    }
}
