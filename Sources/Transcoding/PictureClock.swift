import FFmpeg

/// Gives pictures times that an encoder takes: strictly increasing, none guessed where the recording says one.
final class PictureClock {
    /// What a picture without a duration gets, in the stream's time base.
    let usualDuration: Int64
    private let shortestStep: Int64
    private var last: Int64?
    private var lastEnd: Int64 = 0
    /// Pictures that did not get the time that the recording says.
    private(set) var moved: Int64 = 0
    /// By how much the times that come are late: those of decoding, where a container has no others.
    private var lag: Int64 = 0
    /// Packets without a time of presentation before the first that had one; `nil` behind that.
    private var untimed: Int? = 0
    private let reorderDelay: Int
    /// When the next picture is due, if there is a limit.
    private var due: Int64?

    /// `most` is the most frames a second to keep; `nil` keeps all.
    init(_ stream: InputStream, most: Double?) {
        reorderDelay = stream.parameters.reorderDelay
        let rate = CopyPlan.frameRate(of: stream)
        usualDuration = max(1, stream.timeBase.rescale(1, from: Rational(rate.denominator, rate.numerator)))
        shortestStep = most.map { Int64((1 / ($0 * stream.timeBase.seconds(1))).rounded()) } ?? 0
    }

    /// A packet goes to the decoder.
    func follow(_ packet: Packet) {
        guard let count = untimed else { return }
        untimed = packet.presentation == nil ? count + 1 : nil
        // Before the first picture comes out.
        if untimed == reorderDelay + 1 { lag = Int64(reorderDelay) * usualDuration }
    }

    /// The time of a picture, or `nil` if it is one too many.
    func place(_ timestamp: Int64?, duration: Int64) -> Int64? {
        let timestamp = timestamp.map { $0 - lag }
        var time = timestamp ?? lastEnd
        if let last, time <= last { time = last + 1 }
        // The last ones come without.
        if time != timestamp, timestamp != nil || lag == 0 { moved += 1 }
        last = time
        lastEnd = time + duration
        if shortestStep > 0 {
            let due = due ?? time
            if time < due - shortestStep / 16 { return nil }
            // From one due time to the next, not from picture to picture: else 24 of 30 would become 15.
            self.due = max(due + shortestStep, time)
        }
        return time
    }
}
