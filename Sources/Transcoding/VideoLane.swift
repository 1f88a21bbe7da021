import FFmpeg
import IngestModel
import Synchronization
import SystemIO

/// The picture, encoded anew: one thread reads and decodes, another filters and encodes.
final class VideoLane: Lane {
    struct Settings: Sendable {
        let path: FilePath
        let stream: InputStream
        let choice: EncoderChoice
        let longestShortSide: Int?
        let mostFramesPerSecond: Double?
        let threads: Int
        /// Whether interlaced pictures stay so.
        let keepsInterlaced: Bool
        /// Seconds of the recording, if not all of it.
        var window: Range<Double>?
    }

    private struct Picture: Sendable {
        let frame: Frame
        /// In the stream's time base; strictly increasing.
        let time: Int64
        let duration: Int64
    }

    let shared = LaneState(capacity: 64)
    private let settings: Settings
    private let pictures = BoundedQueue<Picture>(capacity: 6)
    private let decoded = Mutex<Result<StreamTally, Fault>?>(nil)

    init(_ settings: Settings) {
        self.settings = settings
    }

    func start() {
        Thread.detach { [self] in
            do throws(Fault) {
                let tally = try decode()
                decoded.withLock { $0 = .success(tally) }
            } catch {
                decoded.withLock { $0 = .failure(error) }
            }
            pictures.end()
        }
        Thread.detach { [self] in
            do throws(Fault) {
                try encode()
            } catch {
                pictures.abandon()
                shared.fail(error)
            }
        }
    }

    // MARK: - Decoding

    private func decode() throws(Fault) -> StreamTally {
        let reader = try PacketReader(
            settings.path, streams: [settings.stream], window: settings.window)
        let stream = settings.stream
        let clock = PictureClock(stream, most: settings.mostFramesPerSecond)
        var hasCamcorderData = false
        var roll = PictureRoll(usualDuration: clock.usualDuration)
        do {
            let decoder = try Decoder(stream, threads: settings.threads)
            while true {
                let next = try reader.next()
                if next?.packet.isDamaged == true { reader.update(0) { $0.noteDamage() } }
                if let packet = next?.packet, packet.isKey, !hasCamcorderData {
                    hasCamcorderData = CamcorderData.isIn(packet)
                }
                if let packet = next?.packet { clock.follow(packet) }
                if let packet = next?.packet, !packet.isDiscarded, let time = packet.presentation { roll.sent(time) }
                guard try decode(next?.packet, with: decoder, reader, clock, &roll) else { break }
                if next == nil { break }
            }
        } catch {
            throw Source.fault(for: error)
        }
        reader.update(0) {
            $0.unseen = roll.unseen
            $0.moved = clock.moved
            if hasCamcorderData { $0.losses.append(CamcorderData.loss) }
        }
        return reader.tallies[0]
    }

    /// `false` if nobody wants more pictures.
    private func decode(
        _ packet: Packet?, with decoder: Decoder, _ reader: PacketReader, _ clock: PictureClock,
        _ roll: inout PictureRoll
    ) throws -> Bool {
        while true {
            let sent = try decoder.send(packet)
            if sent == .damaged { reader.update(0) { $0.noteDamage() } }
            guard try takePictures(from: decoder, reader, clock, &roll) else { return false }
            if sent != .full { return true }
        }
    }

    private func takePictures(
        from decoder: Decoder, _ reader: PacketReader, _ clock: PictureClock, _ roll: inout PictureRoll
    ) throws -> Bool {
        while true {
            let frame: Frame
            switch try decoder.receive() {
            case .output(let received): frame = received
            case .damaged:
                reader.update(0) { $0.noteDamage() }
                continue
            case .needsInput, .finished: return true
            }
            reader.update(0) { $0.noteFrame(isDamaged: frame.isDamaged) }
            if let time = frame.presentation ?? frame.bestTimestamp { roll.came(time) }
            let duration = frame.duration > 0 ? frame.duration : clock.usualDuration
            guard let time = clock.place(frame.bestTimestamp, duration: duration) else { continue }
            frame.normaliseRange()
            frame.forgetPictureType()
            frame.presentation = time
            let seconds = settings.stream.timeBase.seconds(time)
            let total = reader.duration ?? 0
            shared.move(
                toSeconds: seconds, frames: reader.tallies[0].frames,
                fraction: total > 0 ? min(1, seconds / total) : reader.fraction)
            guard pictures.push(Picture(frame: frame, time: time, duration: duration)) else { return false }
        }
    }

    // MARK: - Encoding

    private func encode() throws(Fault) {
        do {
            let encoding = PictureEncoding(settings, state: shared)
            while let picture = pictures.pop() {
                guard try encoding.take(picture.frame, time: picture.time, duration: picture.duration) else { return }
            }
            var tally = try (decoded.withLock { $0 } ?? .failure(Fault(.encoderFailed, "the decoder ended early")))
                .get()
            guard try encoding.finish(tally) else { return }
            encoding.report(into: &tally)
            if tally.written == 0 {
                throw Fault(
                    .damaged, "not one picture of it can be decoded; without --compress it is uploaded as it is")
            }
            shared.finish([tally])
        } catch {
            throw Source.fault(for: error)
        }
    }
}
