import FFmpeg
import IngestModel

/// Opens what was made and holds it against what should have been made.
struct Verification {
    let path: FilePath
    let emit: @Sendable (MediaEvent) -> Void

    /// Seconds at the end that are decoded: of what was encoded here, and of what was copied as it was found.
    private static let encodedEnd = 1.0
    private static let copiedEnd = 3.0
    /// How much longer or shorter a stream may be, in seconds: half of what a person could hear or see as off.
    private static let tolerance = 0.05

    /// - Parameter tallies: of the streams that were written, in the output's order.
    /// - Throws: a fault `verification` with what is wrong.
    func check(against tallies: [StreamTally]) throws(Fault) {
        do {
            try compareStreams(tallies)
            try countPackets(tallies)
            try decodeEnd(tallies)
        } catch let fault as Fault {
            throw fault
        } catch let error as FFmpegError {
            throw wrong("it cannot be read again (\(error))")
        } catch {
            throw wrong("\(error)")
        }
    }

    /// Which of the tags the file does not have after all: the muxer passes over what its container has no place for.
    ///
    /// - Parameter tags: those that were asked for.
    /// - Returns: their names, sorted.
    /// - Throws: a fault `verification` where it cannot be opened.
    func missing(of tags: [String: String]) throws(Fault) -> [String] {
        let found = Set(try open().metadata.keys.map { $0.lowercased() })
        return tags.keys.filter { !found.contains($0.lowercased()) && !Tags.isWrittenOtherwise($0, in: tags) }.sorted()
    }

    private func open() throws(Fault) -> InputFile {
        do {
            return try InputFile(path: path.bytes, formats: ["mov"])
        } catch {
            throw wrong("it cannot be opened again (\(error))")
        }
    }

    /// The timecode track that the muxer adds is not one of those that were asked for.
    private func mediaStreams(of input: InputFile) -> [InputStream] {
        input.streams.filter { $0.kind == .video || $0.kind == .audio }
    }

    private func compareStreams(_ tallies: [StreamTally]) throws {
        let found = mediaStreams(of: try open()).map { $0.kind }
        let expected = tallies.map { $0.kind }
        if found != expected {
            throw wrong("it has \(found.count) streams where \(expected.count) were written")
        }
    }

    private func countPackets(_ tallies: [StreamTally]) throws {
        let input = try open()
        let streams = mediaStreams(of: input)
        let slots = Dictionary(uniqueKeysWithValues: streams.enumerated().map { ($1.index, $0) })
        input.select(Set(slots.keys))
        var counts = tallies.map { _ in Int64(0) }
        var lastTimes = tallies.map { _ in 0.0 }
        let total = max(1, tallies.reduce(0) { $0 + $1.written })
        var seen: Int64 = 0
        while let packet = try input.read() {
            guard let slot = slots[packet.streamIndex] else { continue }
            counts[slot] += 1
            seen += 1
            if let time = packet.presentation {
                lastTimes[slot] = max(lastTimes[slot], streams[slot].timeBase.seconds(time))
            }
            if seen % 2000 == 0 {
                emit(.progress(MediaProgress(stage: .checking, fraction: Double(seen) / Double(total), frames: seen)))
            }
        }
        for (slot, tally) in tallies.enumerated() {
            if counts[slot] != tally.written {
                throw wrong(
                    "its \(tally.kind.rawValue) has \(counts[slot]) packets where \(tally.written) were written")
            }
            try compare(lastTimes[slot], tally.lastTime, "the last packet of its \(tally.kind.rawValue) is")
            let stream = streams[slot]
            let end = stream.timeBase.seconds((stream.start ?? 0) + (stream.duration ?? 0))
            try compare(end, tally.writtenEnd, "its \(tally.kind.rawValue) ends")
        }
    }

    private func compare(_ found: Double, _ expected: Double, _ what: String) throws(Fault) {
        if abs(found - expected) <= Self.tolerance { return }
        throw wrong(
            "\(what) at \(Decimal.fixed(found, places: 3)) s, not at \(Decimal.fixed(expected, places: 3)) s")
    }

    private func decodeEnd(_ tallies: [StreamTally]) throws {
        for (slot, tally) in tallies.enumerated() {
            let input = try open()
            let stream = mediaStreams(of: input)[slot]
            input.select([stream.index])
            let start = tally.writtenEnd - (tally.isCopied ? Self.copiedEnd : Self.encodedEnd)
            try? input.seek(toSeconds: max(0, start))
            let decoder = try Decoder(stream, threads: 0)
            if !tally.isCopied { decoder.onlyChecks() }
            var found = StreamTally(kind: tally.kind)
            var last: Double?
            var isAtEnd = false
            while !isAtEnd {
                let packet = try input.read()
                isAtEnd = packet == nil
                // The key frame may lie far before what is to be looked at.
                if !tally.isCopied, let time = packet?.presentation {
                    decoder.passesOverUnreferenced(stream.timeBase.seconds(time) < start)
                }
                var sent = Sent.full
                while sent == .full {
                    sent = try decoder.send(packet)
                    if sent == .damaged { found.noteDamage() }
                    while case .output(let frame) = try decoder.receive() {
                        found.noteFrame(isDamaged: frame.isDamaged)
                        if let time = frame.bestTimestamp { last = stream.timeBase.seconds(time) }
                    }
                }
            }
            try judge(found, tally, last: last)
        }
    }

    /// What was encoded here decodes without a fault; what was copied, as well as a recording has to.
    private func judge(_ found: StreamTally, _ tally: StreamTally, last: Double?) throws(Fault) {
        let kind = tally.kind.rawValue
        if tally.isCopied, found.wrong > 0 {
            throw Fault(
                .damaged,
                "it is damaged: the end of its \(kind) cannot be decoded as it was recorded; it is left untouched. Without "
                    + "--remux it is uploaded as it is")
        }
        if !tally.isCopied, found.hasDamage { throw wrong("the end of its \(kind) is damaged") }
        guard found.frames > 0, let last else { throw wrong("the end of its \(kind) does not decode") }
        // The last pictures of a recording may be torn.
        if tally.kind == .video, !found.hasDamage { try compare(last, tally.lastTime, "its last picture is") }
    }

    private func wrong(_ what: String) -> Fault {
        Fault(
            .verification,
            "the copy that was made is not right and was thrown away: \(what); without --compress the recording is uploaded "
                + "as it is")
    }
}
