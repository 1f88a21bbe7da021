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
