import FFmpeg

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
