import FFmpeg
import IngestModel
import SystemIO

/// What a copy would weigh and how long it would take, from encoding a few short pieces: hours of encoding that end in nothing are not begun.
struct Forecast {
    /// Shorter recordings are encoded at once.
    private static let shortest = 60.0
    private static let places = [0.1, 0.5, 0.9]
    /// Seconds of each piece.
    private static let piece = 2.0

    let job: MediaJob
    let plan: CopyPlan
    let input: InputFile
    let emit: @Sendable (MediaEvent) -> Void

    /// `nil` where nothing can be said.
    func expectation() throws(Fault) -> CopyExpectation? {
        guard let video = plan.video, case .encodePicture(let choice, _) = video.treatment, let settings = job.settings,
            let duration = input.duration, duration >= Self.shortest, duration.isFinite
        else { return nil }
        var rates: [Double] = []
        let begin = ContinuousClock.now
        for place in Self.places {
            let start = duration * place
            let lane = VideoLane(
                VideoLane.Settings(
                    path: job.input, stream: video.stream, choice: choice, longestShortSide: settings.maxHeight,
                    mostFramesPerSecond: settings.maxFramesPerSecond, threads: job.threads,
                    keepsInterlaced: settings.keepsInterlaced == true && choice.canInterlace,
                    window: start..<(start + Self.piece)))
            guard let rate = bytesPerSecond(of: lane, choice, video.stream) else { return nil }
            rates.append(rate)
            emit(.progress(MediaProgress(stage: .encoding, fraction: 0, frames: Int64(rates.count))))
        }
        let picture = rates.reduce(0, +) / Double(rates.count) * duration
        let sound = plan.tracks.reduce(0.0) { $0 + Self.bitRate(of: $1) } / 8 * duration
        let pieces = Self.piece * Double(Self.places.count)
        let time = begin.duration(to: .now) / .seconds(pieces) * duration
        return CopyExpectation(size: ByteCount(Int64(min(picture + sound, 1e15))), seconds: min(time, 1e9))
    }

    /// `nil` where the piece cannot be encoded.
    private func bytesPerSecond(of lane: VideoLane, _ choice: EncoderChoice, _ stream: InputStream) -> Double? {
        lane.start()
        var (keys, others) = (Mean(), Mean())
        while case .packet(let packet) = lane.shared.packets.pop() {
            if packet.packet.isKey { keys.add(packet.packet.size) } else { others.add(packet.packet.size) }
        }
        let rate = CopyPlan.frameRate(of: stream).value
        guard let key = keys.value else { return nil }
        // A piece has more key frames to its length than the whole will have.
        let distance = Double(choice.keyFrames.distance(framesPerSecond: rate))
        return (key + (distance - 1) * (others.value ?? key)) / distance * rate
    }

    private static func bitRate(of track: CopyPlan.Track) -> Double {
        switch track.treatment {
        case .encodeSound(let bitRate, _): Double(bitRate)
        case .copy, .carry: Double(track.stream.bitRate)
        case .convertText, .encodePicture: 0
        }
    }

    private struct Mean {
        private var sum = 0
        private var count = 0

        mutating func add(_ size: Int) {
            sum += size
            count += 1
        }

        var value: Double? { count == 0 ? nil : Double(sum) / Double(count) }
    }
}
