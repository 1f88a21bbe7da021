import FFmpeg
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
        made.presentation = time
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
        tally.placed = placed
        tally.shortened = shortened
        log.report(into: &tally, timeBase: stream.timeBase)
    }
}

/// What was written of a stream.
struct PacketLog {
    private(set) var written: Int64 = 0
    private(set) var end: Int64 = 0
    private(set) var lastTime: Int64 = 0
    private var lastDecoding: Int64?

    /// The decoding time nearest to `time`: the container wants those that only rise.
    mutating func follow(_ time: Int64) -> Int64 {
        let decoding = lastDecoding.map { max(time, $0 + 1) } ?? max(time, -1 << 40)
        lastDecoding = decoding
        return decoding
    }

    mutating func note(_ time: Int64, end: Int64) {
        written += 1
        lastTime = max(lastTime, time)
        self.end = max(self.end, end)
    }

    /// The end is known better than by the durations.
    mutating func finish(at end: Int64) {
        self.end = end
    }

    func report(into tally: inout StreamTally, timeBase: Rational) {
        tally.written = written
        tally.lastTime = timeBase.seconds(lastTime)
        tally.writtenEnd = timeBase.seconds(end)
    }
}
