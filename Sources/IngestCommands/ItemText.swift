import FoundationEssentials
import IngestModel
import UploadList

/// Whether any process works on an item, or will when its turn comes.
enum Attendance {
    case nobody, lookedAfter, workedOn

    static func of(_ item: Item, in list: UploadList) throws -> Attendance {
        guard item.state.isRunnable || item.state == .waiting || item.after == .pending else { return .nobody }
        if try list.isLocked(item.id) { return .workedOn }
        return try list.isAttended(item.id) ? .lookedAfter : .nobody
    }
}

/// An item as text for people.
enum ItemText {
    static let header = "  ID  STATE       PROGRESS                    FILE\n"

    static func row(_ item: Item, _ progress: StageProgress?, attendance: Attendance, now: Date, isColored: Bool)
        -> String
    {
        let id = padded("\(item.id)", 4, left: true)
        let state = colored(padded(item.state.rawValue, 10), item.state, isColored)
        var out =
            "\(id)  \(state)  \(padded(how(item, progress), 26))  \(item.displayName) → \(item.destination.text.printable)\n"
        if let remark = remark(item, attendance, now: now) { out += "      \(remark)\n" }
        return out
    }

    private static func how(_ item: Item, _ progress: StageProgress?) -> String {
        if item.state == .waiting { return "" }
        if item.receipt != nil || item.seal == nil && progress == nil {
            return (item.seal?.size ?? item.identity.size).forReading
        }
        if let progress, !progress.stage.countsBytes {
            return "\(progress.stage.rawValue) \(Words.percent(progress.fraction))"
        }
        let total = item.seal?.size.value ?? progress?.total ?? 0
        let done = item.remote?.acknowledged.value ?? progress?.done ?? 0
        return Words.pair(done, of: total) + "  " + Words.percent(total > 0 ? Double(done) / Double(total) : 0)
    }

    /// What a person should know, and what to do next.
    private static func remark(_ item: Item, _ attendance: Attendance, now: Date) -> String? {
        if let reason = item.after.reason, let after = item.options.after {
            return "“--after \(after.text)” is not done: \(reason) (ingest retry \(item.id))"
        }
        if item.after == .pending, let after = item.options.after {
            let who = attendance == .nobody ? "; “ingest run” does it" : ""
            return "“--after \(after.text)” is still to be done\(who)"
        }
        if item.after == .held, let after = item.options.after {
            let moment = item.retryAt.map { "at \($0.formatted(.iso8601))" }
            let room = item.options.freesBelow.map { "when less than \($0.forReading) is free" }
            return "“--after \(after.text)” follows " + [moment, room].compactMap { $0 }.joined(separator: ", or ")
        }
        if item.state.isFinished { return nil }
        if item.state == .failed, let fault = item.fault {
            return Words.sentence(fault.reason) + cure(item, fault)
        }
        if item.state == .waiting {
            return Words.sentence(item.fault?.reason ?? "it is not finished yet") + waitingHint(item, attendance)
        }
        if item.state == .paused { return "ingest resume \(item.id)" }
        if let wish = item.wish { return "asked to \(wish == .pause ? "pause" : "stop")" }
        if let retryAt = item.retryAt, let fault = item.fault {
            let wait = retryAt.timeIntervalSince(now)
            switch attendance {
            case .nobody: return "\(fault.reason); nobody works on it; “ingest run” goes on"
            case .lookedAfter, .workedOn:
                return fault.reason + (wait > 0.5 ? "; next try in \(Words.wait(wait))" : "; it is tried again")
            }
        }
        if attendance == .nobody { return "nobody works on it; “ingest run” goes on" }
        return nil
    }

    private static func waitingHint(_ item: Item, _ attendance: Attendance) -> String {
        (item.fault?.code == .incomplete ? " If nobody finishes it, “ingest FILE” uploads it as it is." : "")
            + (attendance == .nobody ? " Nobody watches it; “ingest watch” goes on" : "")
    }

    /// What helps against a fault that stays.
    private static func cure(_ item: Item, _ fault: Fault) -> String {
        if !fault.code.isCuredByRetrying { return "" }
        // An item keeps its destination.
        let other =
            fault.code == .refused && item.receipt == nil ? ", or ingest remove \(item.id) and another --to" : ""
        return " (ingest retry \(item.id)\(other))"
    }

    /// Everything that is known of an item.
    static func page(
        _ item: Item, _ progress: StageProgress?, cachedPath: FilePath, attendance: Attendance, now: Date
    ) -> String {
        var lines: [(String, String)] = [
            ("item", "\(item.id)  (\(item.uuid.uuidString.lowercased()))"),
            ("recording", item.recording.text.printable),
            ("size", "\(item.identity.size.value) bytes (\(item.identity.size.forReading))"),
        ]
        if let digest = item.identity.sha256 { lines.append(("SHA-256", digest.hex)) }
        lines.append(("destination", item.destination.text.printable))
        lines.append(
            ("options", item.options.summary.isEmpty ? "none" : item.options.summary.joined(separator: " ").printable))
        if let name = item.farName { lines.append(("name there", name.printable)) }
        lines.append(("state", item.state.rawValue + (attendance == .workedOn ? " (being worked on)" : "")))
        if let remark = remark(item, attendance, now: now) { lines.append(("", remark)) }
        if let progress { lines.append(("progress", Words.progress(progress, remaining: Words.remaining(progress)))) }
        for mark in item.marks.sorted(by: { $0.rawValue < $1.rawValue }) { lines.append(("mark", words(mark))) }
        lines += copyLines(item, cachedPath)
        lines += uploadLines(item)
        if let after = item.options.after, let words = item.after.words {
            lines.append(("after", "\(after.text): \(words)".printable))
        }
        lines.append(("added", item.created.formatted(.iso8601)))
        lines.append(("changed", item.updated.formatted(.iso8601)))
        return lines.map { padded($0.0, 14) + $0.1 + "\n" }.joined()
    }

    private static func copyLines(_ item: Item, _ cachedPath: FilePath) -> [(String, String)] {
        var lines: [(String, String)] = []
        if let seal = item.seal {
            let place = item.cleanup == .done ? "deleted" : cachedPath.text.printable
            lines.append(("copy", "\(place), \(seal.size.value) bytes (\(seal.size.forReading))"))
            if let digest = seal.sha256 { lines.append(("copy SHA-256", digest.hex)) }
        }
        if let media = item.media {
            let length = Decimal.fixed(media.duration, places: 3)
            lines.append(("media", "\(media.container), \(length) s, \(media.videoFrames) frames of video"))
            for track in media.tracks {
                lines.append(("", "\(track.kind): \(track.codec) \(track.detail), \(track.treatment)"))
            }
        }
        if let damage = item.media?.damage { lines.append(("damage", damage)) }
        if let kept = item.media?.kept, !kept.isEmpty { lines.append(("kept", kept.joined(separator: ", "))) }
        for loss in item.losses {
            lines.append((Words.outcome(of: loss), "\(loss.what): \(loss.reason)"))
        }
        return lines
    }

    private static func uploadLines(_ item: Item) -> [(String, String)] {
        var lines: [(String, String)] = []
        if case .block(let ledger) = item.remote, let plan = ledger.plan {
            let count = item.receipt == nil ? ledger.acknowledgedCount : plan.totalCount
            lines.append(
                ("blocks", "\(count) of \(plan.totalCount), of \(ledger.blockSize.forReading) each"))
        }
        switch item.remote {
        case .tus(let ledger) where item.receipt == nil:
            lines.append(("uploaded", "\(ledger.offset.forReading) of \(ledger.fileSize.forReading)"))
        case .directory(let ledger) where item.receipt == nil:
            lines.append(("copied", "\(ledger.offset.forReading) of \(ledger.fileSize.forReading)"))
        default: break
        }
        if let receipt = item.receipt {
            lines.append(("receipt", EventText.proof(receipt.proof)))
            lines.append(("URL", receipt.url.printable))
        }
        return lines
    }

    private static func words(_ mark: Mark) -> String {
        switch mark {
        case .keptOriginal: "compressing made it no smaller, so it went as it is"
        case .foundInCache: "found in the cache, where no list knew it"
        case .recordingChanged: "the recording has changed since the copy was taken"
        case .damaged: "the recording is damaged, and went as it is; it is never taken away"
        case .salvaged: "the recording is damaged; the copy holds what could be saved of it, and the recording stays"
        case .rejectedCopy: "the copy that was made was not right, so the recording went as it is"
        }
    }

    private static func padded(_ text: String, _ width: Int, left: Bool = false) -> String {
        let space = String(repeating: " ", count: max(0, width - text.count))
        return left ? space + text : text + space
    }

    private static func colored(_ text: String, _ state: ItemState, _ isColored: Bool) -> String {
        guard isColored else { return text }
        let code =
            switch state {
            case .failed: "31"
            case .done: "32"
            case .paused: "33"
            case .preparing, .uploading: "36"
            case .waiting, .queued, .ready, .saving, .cancelled: "0"
            }
        return "\u{1B}[\(code)m\(text)\u{1B}[0m"
    }
}
