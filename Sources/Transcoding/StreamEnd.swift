import FFmpeg

/// Keeps back the newest packet of a stream, so that the last one can be given the times that end the stream where its
/// pictures end.
///
/// The container counts durations between decoding times, from the first to the end of the last packet. Together they
/// have to be as long as the pictures are shown, and where pictures are reordered the decoding times lag behind.
struct StreamEnd {
    private var newest: Packet?
    private var firstDecoding: Int64?
    private var firstTime: Int64?

    /// When the last picture ends: its duration may be a guess, so not beyond what the container declares; but it is seen,
    /// for some declare no more than its beginning.
    ///
    /// - Parameters:
    ///   - end: what the durations say.
    ///   - last: when the last picture is shown.
    ///   - first: when the first one is.
    ///   - tally: what the container declares.
    ///   - timeBase: of the times.
    /// - Returns: the end.
    static func clamp(_ end: Int64, last: Int64, first: Int64, tally: StreamTally, timeBase: Rational) -> Int64 {
        func ticks(_ seconds: Double) -> Int64 {
            timeBase.rescale(Int64(seconds * 1_000_000), from: Source.microseconds)
        }
        guard let declaredEnd = tally.declared.map({ first + ticks($0) }) ?? tally.declaredEnd.map(ticks) else {
            return end
        }
        let shortest = max(1, timeBase.rescale(20, from: Rational(1, 1000)))
        return max(last + min(shortest, max(1, end - last)), min(end, declaredEnd))
    }

    /// Takes a packet, and gives back the one before it.
    mutating func exchange(_ packet: Packet) -> Packet? {
        firstDecoding = firstDecoding ?? packet.decoding
        if let time = packet.presentation, !packet.isDiscarded { firstTime = min(firstTime ?? time, time) }
        defer { newest = packet }
        return newest
    }

    /// The last packet. `end`: when the last picture ends, in the packets' time base.
    mutating func last(endingAt end: Int64) -> Packet? {
        defer { newest = nil }
        guard let newest, let time = newest.presentation, let decoding = newest.decoding, let firstDecoding,
            let firstTime
        else { return newest }
        let missing = (end - firstTime) - (decoding - firstDecoding)
        if missing > 0, time + missing <= end {
            newest.duration = missing
        } else if end > time {
            // Decoded when it is shown: later than all before it, and its duration reaches to the end.
            newest.decoding = time
            newest.duration = end - time
        }
        return newest
    }
}
