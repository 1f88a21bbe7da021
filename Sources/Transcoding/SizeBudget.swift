import FFmpeg
import IngestModel
import SystemIO

/// What a copy of a given size leaves for its picture.
struct SizeBudget {
    let target: ByteCount
    let restraint: Double

    /// Bits a second below which nothing can be recognised.
    private static let least: Int64 = 20_000
    /// Of the whole, kept back for what encoders miss.
    private static let reserve = 0.03
    /// Bits that the container takes for a packet.
    private static let bitsPerPacket = 128.0

    /// Bits a second for the picture.
    ///
    /// - Parameters:
    ///   - input: the recording.
    ///   - others: the tracks besides.
    /// - Returns: that.
    /// - Throws: a fault where nothing sensible is left, or it is not known for how long it has to last.
    func bitRate(for input: InputFile, besides others: [CopyPlan.Track]) throws(Fault) -> Int64 {
        guard let duration = input.duration, duration > 0 else {
            throw Fault(
                .nothingToEncode,
                "its container does not say how long it is, so no size can be aimed at; leave --target-size out")
        }
        let frames = input.streams.filter { $0.kind == .video }.map { CopyPlan.frameRate(of: $0).value }.max() ?? 0
        var rate = Double(target.value) * 8 / duration * (1 - Self.reserve) - frames * Self.bitsPerPacket
        for track in others {
            switch track.treatment {
            case .encodeSound(let bitRate, _): rate -= Double(bitRate)
            case .copy, .carry: rate -= Double(track.stream.bitRate)
            case .convertText, .encodePicture: break
            }
            if track.stream.kind == .audio { rate -= Double(track.stream.sampleRate) / 1024 * Self.bitsPerPacket }
        }
        let bits = Int64(min(rate * restraint, 1e12))
        guard bits >= Self.least else {
            throw Fault(
                .nothingToEncode,
                "\(target.forReading) leave nothing for the picture of \(Decimal.fixed(duration, places: 0)) s; give --target-size more"
            )
        }
        return bits
    }

    /// Said where the copy weighs more than was asked for after all.
    static func loss(of job: MediaJob) -> Loss? {
        guard let target = job.settings?.targetSize, let size = try? FileSystem.status(of: job.output).size,
            size.value > target.value
        else { return nil }
        return Loss(
            what: "the size that was aimed at", reason: "it is \(size.forReading), not \(target.forReading)",
            outcome: .changed)
    }
}
