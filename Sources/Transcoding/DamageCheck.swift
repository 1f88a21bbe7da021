import FFmpeg
import IngestModel

/// Whether the recording gave what it promised. FFmpeg itself reports success for a file that was cut in the middle.
enum DamageCheck {
    /// How much shorter than declared a stream may be, in seconds: containers round, and a last frame's duration is
    /// often a guess.
    private static func tolerance(declared: Double, usual: Double = 0) -> Double {
        min(1, max(0.1, 1.5 * usual, declared / 100))
    }

    /// So many lost pictures are no longer the work of a decoder that begins or a counter that repeats.
    private static let mostUnseen: Int64 = 2

    /// The fault that says so, and what can be done.
    static func fault(_ damage: String) -> Fault {
        Fault(
            .damaged,
            "\(damage); it is left untouched. --damaged=upload sends it as it is, --damaged=salvage what can be decoded of "
                + "it")
    }

    /// - Returns: the words that say how much there was, or `nil` for a sound recording.
    static func damage(in all: [StreamTally]) -> String? {
        // Subtitles and data are there when there is something to say.
        let tallies = all.filter { $0.isJudged }
        for tally in tallies {
            if let declared = tally.declared,
                tally.delivered < declared - tolerance(declared: declared, usual: tally.usualDuration)
            {
                return cutOff("its \(tally.kind.rawValue)", tally.delivered, declared)
            }
        }
        // A subtitle may outlive picture and sound.
        let end = all.map { $0.deliveredEnd }.max() ?? 0
        let usual = tallies.map { $0.usualDuration }.max() ?? 0
        if let declared = tallies.compactMap({ $0.declaredEnd }).first,
            end < declared - tolerance(declared: declared, usual: usual)
        {
            return cutOff("it", end, declared)
        }
        for tally in tallies {
            if tally.unreadable > 0 {
                return
                    "it is damaged: \(tally.unreadable == 1 ? "a place in it" : "\(tally.unreadable) places in it") cannot be "
                    + "read, and what stood there is missing"
            }
            let missing = tally.delivered - tally.promised
            if tally.isContinuous, tally.promised > 0, missing > max(0.25, tally.delivered / 100) {
                return
                    "it is damaged: \(seconds(missing)) s of its \(seconds(tally.delivered)) s of \(tally.kind.rawValue) are "
                    + "missing"
            }
            if tally.isCopied, tally.moved > max(10, tally.packets / 10) {
                return
                    "it is damaged: \(tally.moved) of \(tally.packets) time stamps of its \(tally.kind.rawValue) go back or are missing"
            }
            if tally.unseen > mostUnseen {
                return "it is damaged: \(tally.unseen) of its \(tally.packets) pictures cannot be decoded"
            }
            if tally.wrong > 0 {
                return
                    "it is damaged: \(tally.wrong) of \(tally.packets) pieces of its \(tally.kind.rawValue) cannot be decoded as "
                    + "they were recorded"
            }
            if tally.kind == .audio, tally.heard < tally.promised - tolerance(declared: tally.promised) {
                return "only \(seconds(tally.heard)) s of \(seconds(tally.promised)) s of its sound can be decoded"
            }
            if tally.packets == 0 || (tally.frames == 0 && tally.written == 0) {
                return "nothing of its \(tally.kind.rawValue) can be decoded"
            }
        }
        return nil
    }

    /// What was lost on the way: what a sound recording may lack at its ends, time stamps that could not be kept, and what the
    /// lanes have found.
    static func losses(in tallies: [StreamTally]) -> [Loss] {
        var losses: [Loss] = []
        for tally in tallies where tally.kind == .video {
            if let packet = tally.firstPacket, let shown = tally.firstShown,
                shown - packet > (tally.isCopied ? 0.001 : 0.1)
            {
                losses.append(
                    Loss(
                        what: "the first \(Decimal.fixed(shown - packet, places: 2)) s of the picture",
                        reason: tally.isCopied
                            ? "it stands before the first key frame, with which the copy begins"
                            : "the recording begins between two key frames"))
            }
        }
        for tally in tallies { losses += tally.losses }
        for tally in tallies where tally.moved > 0 && tally.isJudged {
            losses.append(
                Loss(
                    what: "\(tally.moved) time stamps of the \(tally.kind.rawValue)",
                    reason: "they were missing, or came before those in front of them", outcome: .changed))
        }
        for tally in tallies where tally.unseen > 0 {
            losses.append(Loss(what: "\(tally.unseen) of the pictures", reason: "they cannot be decoded"))
        }
        for tally in tallies where !tally.isCopied && tally.damagedAtEnd > 0 {
            losses.append(Loss(what: "the very end of the \(tally.kind.rawValue)", reason: "its last pieces are torn"))
        }
        return losses
    }

    private static func cutOff(_ what: String, _ delivered: Double, _ declared: Double) -> String {
        "it is cut off: \(what) delivers \(seconds(delivered)) s of a declared \(seconds(declared)) s"
    }

    private static func seconds(_ value: Double) -> String { Decimal.fixed(value, places: 1) }
}
