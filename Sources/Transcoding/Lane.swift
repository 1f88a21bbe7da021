import Dispatch
import FFmpeg
import IngestModel
import Synchronization
import SystemIO

/// A packet for the output, with the lane's own number of its stream and the time base of its times.
struct LanePacket: Sendable {
    let packet: Packet
    let stream: Int
    let timeBase: Rational
    /// Of its bytes, taken where they have just been read or made.
    let checksum: CRC32Value

    init(packet: Packet, stream: Int, timeBase: Rational) {
        self.packet = packet
        self.stream = stream
        self.timeBase = timeBase
        checksum = PacketDigest.checksum(of: packet)
    }
}

/// What a lane found in one stream of the recording.
struct StreamTally: Sendable {
    let kind: StreamKind
    /// Seconds that the container declares for the stream, from its first time stamp to its end; `nil` if it does not.
    let declared: Double?
    /// When the container declares that all its streams have ended, in seconds on the output's time line; `nil` if it
    /// does not. One of them reaches it, not each.
    let declaredEnd: Double?
    /// Seconds that a picture usually lasts; 0 where that means nothing.
    let usualDuration: Double
    /// Seconds from the first time stamp to the end of the last packet that came, and when that is.
    var delivered = 0.0
    var deliveredEnd = 0.0
    var packets: Int64 = 0
    /// Seconds that the packets which are to be shown or heard last together, and seconds of sound that came out of them.
    var promised = 0.0
    var heard = 0.0
    /// Pictures or runs of samples that came out of the decoder, and those among them that are as they were recorded.
    var frames: Int64 = 0
    private(set) var good: Int64 = 0
    /// Packets and frames that are not as they were recorded: before anything was right, between right ones, and behind
    /// the last right one.
    private(set) var damagedInFront: Int64 = 0
    private(set) var damaged: Int64 = 0
    private(set) var damagedAtEnd: Int64 = 0
    /// Places that the demuxer could not read, and behind which it found more.
    var unreadable: Int64 = 0
    /// Whether sound can have no pauses in this container: what is missing in the middle has been lost.
    let isContinuous: Bool
    /// Whether it is known here what its packets mean, and when they have to be there: pictures and sound.
    let isJudged: Bool
    /// Packets that were decodable, by their neighbours, and of which no picture came.
    var unseen: Int64 = 0
    /// Whether the packets are the recording's own.
    var isCopied = false
    /// In seconds on the output's time line: the first packet that was to be shown, and the first picture that was.
    var firstPacket: Double?
    var firstShown: Double?
    /// Packets given to the output.
    var written: Int64 = 0
    /// In seconds on the output's time line: when the last packet is shown or heard, and when that ends.
    var lastTime = 0.0
    var writtenEnd = 0.0
    /// Packets or pictures whose time is not the recording's: it said none, or one that could not be.
    var moved: Int64 = 0
    /// Whether sound changes its samples a second or its channels in the middle, which the container has one place for.
    var changesFormat = false
    /// What else was found to be lost on the way.
    var losses: [Loss] = []
    /// How the recording's picture ends, where it has been looked at meanwhile.
    var ending: Errand<Ending?>?

    init(
        kind: StreamKind, declared: Double? = nil, declaredEnd: Double? = nil, usualDuration: Double = 0,
        isContinuous: Bool = false, isJudged: Bool = true
    ) {
        self.isJudged = isJudged
        self.isContinuous = isContinuous
        self.kind = kind
        self.declared = declared
        self.declaredEnd = declaredEnd
        self.usualDuration = usualDuration
    }

    /// Something was not as it was recorded; where that belongs shows once more has come.
    mutating func noteDamage() {
        damagedAtEnd += 1
    }

    mutating func noteGood() {
        if good == 0 { damagedInFront += damagedAtEnd } else { damaged += damagedAtEnd }
        damagedAtEnd = 0
        good += 1
    }

    /// Takes over what somebody else has found by decoding.
    mutating func adopt(_ judgement: StreamTally) {
        // What came without a time that could be was noted here.
        let own = damagedInFront + damaged + damagedAtEnd
        frames = judgement.frames
        heard = judgement.heard
        changesFormat = judgement.changesFormat
        good = judgement.good
        damagedInFront = judgement.damagedInFront
        damaged = judgement.damaged + own
        damagedAtEnd = judgement.damagedAtEnd
    }

    var hasDamage: Bool { damagedInFront + damaged + damagedAtEnd > 0 }

    /// What is wrong but for where a recording may begin between key frames, and for a torn packet at its end where its
    /// container has none.
    var wrong: Int64 { damaged + max(0, damagedAtEnd - 2) }

    mutating func noteFrame(isDamaged: Bool) {
        frames += 1
        if isDamaged { noteDamage() } else { noteGood() }
    }
}

/// One or several streams of the recording on their way to the output: reads by itself, on threads of its own, and hands
/// its packets over in a bounded queue. Lanes know nothing of each other; a lane made of several encoders on pieces of
/// the recording would look the same from outside.
protocol Lane: AnyObject, Sendable {
    var shared: LaneState { get }

    /// Begins; returns at once.
    func start()
}

/// What a lane shows to the muxer.
final class LaneState: Sendable {
    enum Output: Sendable {
        case packet(LanePacket)
        case failed(Fault)
    }

    let packets: BoundedQueue<Output>
    private let descriptions = Mutex<Result<[OutputFile.StreamDescription], Fault>?>(nil)
    private let described = DispatchSemaphore(value: 0)
    private let tallies = Mutex<[StreamTally]>([])
    /// Where the lane stands in the recording: seconds, frames done.
    private let place = Mutex<(seconds: Double, frames: Int64, fraction: Double)>((0, 0, 0))

    init(capacity: Int, step: Int = 1) {
        packets = BoundedQueue(capacity: capacity, step: step)
    }

    // MARK: The lane's side

    /// The streams are known, or will never be.
    func describe(_ result: Result<[OutputFile.StreamDescription], Fault>) {
        let isFirst = descriptions.withLock { present in
            if present != nil { return false }
            present = result
            return true
        }
        if isFirst { described.signal() }
    }

    func fail(_ fault: Fault) {
        describe(.failure(fault))
        _ = packets.push(.failed(fault))
        packets.end()
    }

    func finish(_ found: [StreamTally]) {
        tallies.withLock { $0 = found }
        packets.end()
    }

    func move(toSeconds seconds: Double, frames: Int64, fraction: Double) {
        place.withLock { $0 = (seconds, frames, fraction) }
    }

    // MARK: The muxer's side

    /// Waits until the lane knows its streams.
    func streams() throws(Fault) -> [OutputFile.StreamDescription] {
        described.wait()
        described.signal()
        guard let result = descriptions.withLock({ $0 }) else {
            throw Fault(.encoderFailed, "a part of the encoder ended without a word")
        }
        return try result.get()
    }

    /// Complete once the queue has ended.
    var found: [StreamTally] { tallies.withLock { $0 } }

    var position: (seconds: Double, frames: Int64, fraction: Double) { place.withLock { $0 } }
}

/// Reads the packets of some streams of the recording, and counts what comes.
final class PacketReader {
    private let input: InputFile
    /// The recording's streams that are read, in the lane's order.
    let streams: [InputStream]
    private(set) var tallies: [StreamTally]
    private let slots: [Int: Int]
    private let offsets: [Int64]
    private var firstTimes: [Double?]
    private var readErrors: Int64 = 0
    private let end: Double?
    /// Complaints of the demuxer and failed reads before the last packet.
    private var troublesBefore: Int64 = 0

    private static let mostReadErrors: Int64 = 50

    /// - Parameters:
    ///   - path: the recording's.
    ///   - streams: those that are read, as they were found when it was looked into.
    ///   - hasIndex: whether its container has an index of every packet: then it is not looked into again.
    ///   - window: seconds on the output's time line; reading begins at the key frame before it. `nil` reads all.
    /// - Throws: a fault where it cannot be opened, or has no place to begin at.
    init(
        _ path: FilePath, streams: [InputStream], hasIndex: Bool = false, window: Range<Double>? = nil
    ) throws(Fault) {
        let input = try Source.open(path, looksInside: !hasIndex)
        self.input = input
        self.streams = streams
        let indices = streams.map { $0.index }
        self.end = window?.upperBound
        input.select(Set(indices))
        if let window {
            do {
                try input.seek(toSeconds: window.lowerBound + Double(Source.startOffset(input)) / 1_000_000)
            } catch {
                throw Source.fault(for: error)
            }
        }
        slots = Dictionary(uniqueKeysWithValues: indices.enumerated().map { ($1, $0) })
        firstTimes = indices.map { _ in nil }
        let offset = Source.startOffset(input)
        offsets = streams.map { $0.timeBase.rescale(offset, from: Source.microseconds) }
        troublesBefore = input.complaints
        let declaredEnd = Self.declaredEnd(of: input)
        tallies = streams.map { stream in
            let isMedia = stream.kind == .video || stream.kind == .audio && stream.isKnown
            // AVI counts pieces of sound, empty ones too.
            let isCounted = isMedia && !(stream.kind == .audio && input.formatName == "avi")
            let declaresEach = declaredEnd == nil && (hasIndex || input.declaresDuration)
            return StreamTally(
                kind: stream.kind,
                declared: isCounted && declaresEach ? stream.duration.map { stream.timeBase.seconds($0) } : nil,
                declaredEnd: declaredEnd,
                usualDuration: stream.kind == .video ? 1 / max(1, CopyPlan.frameRate(of: stream).value) : 0,
                isContinuous: stream.kind == .audio && input.formatName == "flv", isJudged: isMedia)
        }
    }

    /// These declare one duration for all streams.
    private static func declaredEnd(of input: InputFile) -> Double? {
        let formats = ["matroska", "flv"]
        return input.declaresDuration && formats.contains { input.formatName.contains($0) } ? input.duration : nil
    }

    /// The next packet with its place among `streams`; its times are shifted so that the output begins at the
    /// recording's beginning. `nil` at the end, be it the true one or where reading fails for good.
    func next() throws(Fault) -> (packet: Packet, slot: Int)? {
        while readErrors < Self.mostReadErrors {
            do {
                guard let packet = try input.read() else { return nil }
                noteTroubles()
                guard let slot = slots[packet.streamIndex] else { continue }
                if !packet.shift(by: -offsets[slot], in: streams[slot].timeBase) { tallies[slot].noteDamage() }
                count(packet, slot)
                if let end, streams[slot].timeBase.seconds(packet.decoding ?? packet.presentation ?? 0) > end {
                    return nil
                }
                return (packet, slot)
            } catch {
                if error.errorNumber == 12 { throw Source.fault(for: error) }
                readErrors += 1
            }
        }
        return nil
    }

    /// A packet came: what the demuxer could not read lies in the middle.
    private func noteTroubles() {
        let troubles = input.complaints + readErrors
        if troubles > troublesBefore {
            for slot in tallies.indices { tallies[slot].unreadable += 1 }
        }
        troublesBefore = troubles
    }

    private func count(_ packet: Packet, _ slot: Int) {
        tallies[slot].packets += 1
        if packet.isDiscarded { return }
        tallies[slot].promised += streams[slot].timeBase.seconds(packet.duration)
        guard let time = packet.presentation ?? packet.decoding else { return }
        let base = streams[slot].timeBase
        let begin = base.seconds(time)
        let first = min(firstTimes[slot] ?? begin, begin)
        firstTimes[slot] = first
        tallies[slot].firstPacket = first
        let end = begin + base.seconds(packet.duration)
        tallies[slot].delivered = max(tallies[slot].delivered, end - first)
        tallies[slot].deliveredEnd = max(tallies[slot].deliveredEnd, end)
    }

    func update(_ slot: Int, _ change: (inout StreamTally) -> Void) {
        change(&tallies[slot])
    }

    func change<Value>(_ slot: Int, _ body: (inout StreamTally) throws -> Value) rethrows -> Value {
        try body(&tallies[slot])
    }

    /// How much of the file has been read, 0 … 1.
    var fraction: Double {
        let (bytes, size) = input.position
        return size > 0 ? min(1, Double(bytes) / Double(size)) : 0
    }

    var duration: Double? { input.duration }
    var metadata: [String: String] { input.metadata }
}
