import FFmpeg
import IngestModel
import SystemIO

/// Packets as they are.
final class PacketCopying: TrackWriter {
    let description: OutputFile.StreamDescription
    private let stream: InputStream
    private let slot: Int
    private let state: LaneState
    /// Sound is decoded as it passes; pictures are not.
    private let judge: SoundJudge?
    private let units: PictureUnits?
    /// Of a picture, which is decoded at its end only.
    private let ending: Errand<Ending?>?
    private let isCarried: Bool
    /// Whether pictures are shown in another order than they stand in.
    private let isReordered: Bool
    private var log = PacketLog()
    private var streamEnd = StreamEnd()
    /// What a picture without a duration gets, in the stream's time base.
    private let usualDuration: Int64
    /// Of the newest packet that said one.
    private var knownDuration: Int64 = 0
    private var firstTime: Int64?
    /// When the first packet in decoding order is shown; what is shown before it libavformat's edit list hides.
    private var beginning: Int64?
    /// Packets without a time of presentation before the first that had one, of pictures in another order; `nil` behind that.
    private var untimed: Int? = 0
    private var hasShown = false
    private var hasKey = false
    /// The first packets, as long as nothing tells when they are to be decoded: some containers say it only where pictures
    /// have been put in order.
    private var pending: [Packet]? = []
    private var moved: Int64 = 0
    private let stripsLocation: Bool
    private var placed: Int64 = 0

    private static let withoutTimes = Fault(
        .nothingToEncode,
        "its container does not say when its pictures are shown, and they stand in another order; --compress finds out by "
            + "decoding them, or upload it as it is")

    /// No codec puts more pictures in order at once.
    private static let mostPending = 32

    /// Stands in the container until the recording's own description takes its place: one that the muxer knows.
    private static let placeholder = "gpmd"

    /// - Parameters:
    ///   - stream: the recording's.
    ///   - recording: where its container has an index: how its pictures end is found out meanwhile.
    ///   - slot: its place in the lane.
    ///   - isCarried: whether only others know what its packets mean.
    ///   - stripsLocation: whether text that tells a position is left out.
    ///   - state: the lane's.
    /// - Throws: `FFmpegError` where its decoder cannot be opened.
    init(
        _ stream: InputStream, of recording: FilePath? = nil, slot: Int, isCarried: Bool = false,
        stripsLocation: Bool = false, state: LaneState
    ) throws {
        units = stream.kind == .video ? PictureUnits(stream.parameters) : nil
        ending =
            stream.kind == .video
            ? recording.map { recording in Errand { try Ending.ofRecording(recording, stream) } } : nil
        self.stripsLocation = stripsLocation
        self.isCarried = isCarried
        self.stream = stream
        self.slot = slot
        self.state = state
        isReordered = stream.kind == .video && stream.parameters.isReordered
        usualDuration = stream.kind == .video ? PictureClock(stream, most: nil).usualDuration : 0
        let isSound = stream.kind == .audio && !isCarried
        judge = isSound && stream.hasDecoder ? SoundJudge(stream) : nil
        description = OutputFile.StreamDescription(
            parameters: isCarried ? try CodecParameters(opaque: Self.placeholder) : stream.parameters,
            timeBase: stream.timeBase, metadata: Tags.kept(fromStream: stream.metadata),
            disposition: stream.disposition, displayMatrix: stream.displayMatrix, mastering: stream.mastering,
            contentLight: stream.contentLight, sampleAspectRatio: stream.sampleAspectRatio,
            averageFrameRate: stream.averageFrameRate, isCopy: !isCarried)
    }

    func take(_ packet: Packet, _ reader: PacketReader) throws -> Bool {
        if let judge {
            try judge.take(packet)
        } else {
            let isDamaged = packet.isDamaged || units?.areWhole(in: packet) == false
            reader.update(slot) { $0.noteFrame(isDamaged: isDamaged) }
        }
        // The muxer passes over them.
        if packet.size == 0, stream.kind != .video, stream.kind != .audio { return true }
        if stripsLocation, stream.kind == .video, CamcorderData.isIn(packet) { throw CamcorderData.refusal }
        if isReordered { try followTimes(packet) }
        if stripsLocation, stream.kind == .subtitle, PositionText.isIn(packet) {
            placed += 1
            return true
        }
        // What an edit list hides is needed in front, where decoding begins, and is cut off behind the end.
        if packet.isDiscarded, hasShown { return true }
        // Before the recording's beginning and before anything that could be decoded.
        if stream.kind == .video, !hasKey, !packet.isKey, (packet.presentation ?? 0) < 0 { return true }
        if packet.isKey { hasKey = true }
        if !packet.isDiscarded { hasShown = true }
        if let waiting = pending {
            guard packet.decoding != nil || stream.kind != .video || waiting.count >= Self.mostPending else {
                pending = waiting + [packet]
                return true
            }
            guard try release(waiting, before: packet.decoding) else { return false }
        }
        return write(packet)
    }

    private func followTimes(_ packet: Packet) throws(Fault) {
        guard let count = untimed else { return }
        untimed = packet.presentation == nil ? count + 1 : nil
        // A stream may begin between two times.
        if count > Self.mostPending { throw Self.withoutTimes }
    }

    /// The first packets, evenly before the moment at which the next one is decoded.
    private func release(_ waiting: [Packet], before next: Int64?) throws -> Bool {
        pending = nil
        let step = max(1, usualDuration)
        for (index, packet) in waiting.enumerated() {
            packet.decoding = next.map { $0 - step * Int64(waiting.count - index) }
            guard write(packet) else { return false }
        }
        return true
    }

    private func write(_ packet: Packet) -> Bool {
        let given = packet.decoding
        let decoding = log.follow(given ?? packet.presentation ?? .min)
        packet.decoding = decoding
        // What is shown in the order in which it is decoded is shown when it is decoded.
        let known = packet.presentation ?? (isReordered ? nil : given)
        let time = max(known ?? decoding, decoding)
        if time != known { moved += 1 }
        packet.presentation = time
        // The last packet may say nothing of its duration, and the muxer would take that for none.
        if packet.duration <= 0, stream.kind == .audio { packet.duration = knownDuration }
        if packet.duration > 0 { knownDuration = packet.duration }
        log.note(time, end: time + (packet.duration > 0 ? packet.duration : usualDuration))
        beginning = beginning ?? time
        if !packet.isDiscarded {
            firstTime = min(firstTime ?? time, time)
        }
        return handOver(streamEnd.exchange(packet))
    }

    private func handOver(_ packet: Packet?) -> Bool {
        guard let packet else { return true }
        return state.packets.push(.packet(LanePacket(packet: packet, stream: slot, timeBase: stream.timeBase)))
    }

    func finish(_ reader: PacketReader) throws -> Bool {
        if let untimed, untimed > 0 { throw Self.withoutTimes }
        if let pending { guard try release(pending, before: nil) else { return false } }
        if let judge {
            let judgement = try judge.finish()
            reader.update(slot) { $0.adopt(judgement) }
        }
        var end = log.end
        if stream.kind == .video, let firstTime {
            end = StreamEnd.clamp(
                end, last: log.lastTime, first: firstTime, tally: reader.tallies[slot],
                timeBase: stream.timeBase)
            log.finish(at: end)
        }
        return handOver(streamEnd.last(endingAt: end))
    }

    func report(into tally: inout StreamTally) {
        tally.isCopied = true
        tally.moved = moved
        tally.ending = ending
        if placed > 0 { tally.losses.append(PositionText.loss(placed)) }
        tally.firstShown = beginning.map { stream.timeBase.seconds($0) }
        log.report(into: &tally, timeBase: stream.timeBase)
    }
}
