import IngestModel

/// How things are said to people.
enum Words {
    /// What became of a thing that the copy does not have as it was.
    static func outcome(of loss: Loss) -> String {
        if loss.isAsked { return "left out" }
        return loss.outcome == .changed ? "changed" : "not kept"
    }

    /// `0:41`, `12:05`, `1:02:33`.
    static func duration(_ seconds: Double) -> String {
        let total = Int(min(max(0, seconds), 359_999).rounded())
        let (hours, minutes, rest) = (total / 3600, total / 60 % 60, total % 60)
        let padded = { (number: Int) in number < 10 ? "0\(number)" : "\(number)" }
        return hours > 0 ? "\(hours):\(padded(minutes)):\(padded(rest))" : "\(minutes):\(padded(rest))"
    }

    /// `0.4 s`, `35 s`, `12:05`, `3 days`.
    static func wait(_ seconds: Double) -> String {
        if seconds < 10 { return "\(Decimal.fixed(seconds, places: 1)) s" }
        if seconds < 120 { return "\(Decimal.fixed(seconds, places: 0)) s" }
        return seconds < 2 * 86_400 ? duration(seconds) : "\(Int(seconds / 86_400)) days"
    }

    /// The seed's progress text: `12.00MB/56.78MB`.
    static func pair(_ done: Int64, of total: Int64) -> String {
        ByteCount(max(0, done)).inMebibytes + "/" + ByteCount(max(0, total)).inMebibytes
    }

    static func rate(_ bytesPerSecond: Double) -> String {
        Decimal.fixed(bytesPerSecond / 1_048_576, places: 1) + "MB/s"
    }

    /// `1 file`, `2 files`.
    static func count(_ number: Int, _ one: String, _ many: String) -> String {
        "\(number) \(number == 1 ? one : many)"
    }

    static func percent(_ fraction: Double) -> String {
        // Never a hundred before it is.
        "\(fraction >= 1 ? 100 : min(99, Int(fraction * 100)))%"
    }

    /// A stage in a person's words, with how far it is: `uploading  12.00MB/56.78MB  21%  3.1MB/s  ETA 0:14`.
    static func progress(_ progress: StageProgress, inFlight: Int64 = 0, remaining: Double?) -> String {
        var parts = [progress.stage.rawValue]
        if progress.stage.countsBytes { parts.append(pair(progress.done, of: progress.total)) }
        parts.append(percent(progress.fraction))
        if progress.rate > 0 {
            if progress.stage.countsBytes {
                parts.append(rate(progress.rate))
            } else if progress.stage == .compressing {
                parts.append("\(Int(progress.rate.rounded())) fps")
            }
        }
        if let remaining, progress.fraction < 1 { parts.append("ETA \(duration(remaining))") }
        // A block that is longer on its way than anybody wants to wait for a sign of life.
        if inFlight >= 4 << 20 { parts.append("(+\(ByteCount(inFlight).inMebibytes) on the way)") }
        return parts.joined(separator: "  ")
    }

    /// Seconds until a stage is done, by its rate.
    static func remaining(_ progress: StageProgress) -> Double? {
        guard progress.stage.countsBytes, progress.rate > 0 else { return nil }
        return Double(progress.total - progress.done) / progress.rate
    }

    static func state(_ state: ItemState) -> String {
        switch state {
        case .waiting: "is not finished yet"
        case .queued: "waits for its turn"
        case .preparing: "is being prepared"
        case .ready: "is ready to be uploaded"
        case .uploading: "is being uploaded"
        case .saving: "is complete at its destination"
        case .done: "is done"
        case .paused: "is paused"
        case .failed: "has failed"
        case .cancelled: "is cancelled"
        }
    }

    /// A sentence with exactly one full stop at its end.
    static func sentence(_ text: String) -> String {
        text.hasSuffix(".") || text.hasSuffix("?") || text.hasSuffix("!") ? text : text + "."
    }
}
