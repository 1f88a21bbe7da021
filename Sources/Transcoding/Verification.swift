import FFmpeg
import IngestModel

/// Opens what was made and holds it against what should have been made.
struct Verification: Sendable {
    let path: FilePath
    let recording: FilePath
    /// Whether all of it is decoded.
    let isFull: Bool
    /// Whether copied packets may be damaged, because the recording is.
    let isOfDamaged: Bool
    let emit: @Sendable (MediaEvent) -> Void

    /// A track that the copy must have.
    struct Expected: Sendable {
        let stream: InputStream
        let treatment: CopyPlan.Treatment
        let tally: StreamTally
        /// What the muxer was told of the stream, and the packets that it was given.
        let parameters: CodecParameters
        let packets: PacketDigest

        /// What its packets are, as far as a reader of the container can tell.
        var kind: StreamKind? { treatment == .carry ? nil : stream.kind }
        var isMedia: Bool { kind == .video || kind == .audio }
        /// Whether the copy has the recording's own packets, each byte of them: decoding them says nothing of the copy.
        var isVerbatim: Bool { tally.isCopied && parameters.isStoredVerbatim }
    }

    /// How much longer or shorter a stream may be, in seconds: half of what a person could hear or see as off.
    private static let tolerance = 0.05
    /// How much the beginning of a stream may be off: the container counts it in thousandths of a second.
    private static let startTolerance = 0.001

    /// - Parameter tracks: those that were written, in the output's order.
    /// - Throws: a fault `verification` with what is wrong.
    func check(against tracks: [Expected]) throws(Fault) {
        do {
            try compareTracks(tracks)
            // Reading all of it is one processor's work, decoding parts of it another's.
            let packets = Errand { try comparePackets(tracks) }
            let pictures = Result {
                try decodeEnd(tracks)
                if isFull { try decodeAll(tracks) }
                try samplePictures(tracks)
            }
            try packets.result()
            try pictures.get()
        } catch let fault as Fault {
            throw fault
        } catch let error as FFmpegError {
            throw wrong("it cannot be read again (\(error))")
        } catch {
            throw wrong("\(error)")
        }
    }

    /// Those that may read a copy.
    static let formats = ["mov"]

    /// - Parameter looksInside: whether more has to be known than the container's head says.
    /// - Returns: the copy, opened.
    /// - Throws: a fault `verification` where it cannot be.
    func open(looksInside: Bool = true) throws(Fault) -> InputFile {
        do {
            return try InputFile(path: path.bytes, formats: Self.formats, looksInside: looksInside)
        } catch {
            throw wrong("it cannot be opened again (\(error))")
        }
    }

    private func compareTracks(_ tracks: [Expected]) throws {
        let found = try open(looksInside: false).streams
        guard found.count >= tracks.count else {
            throw wrong("it has \(found.count) streams where \(tracks.count) were written")
        }
        for (stream, track) in zip(found, tracks) {
            if let kind = track.kind, stream.kind != kind {
                throw wrong("stream \(stream.index) of it is not the \(kind.rawValue) that was written there")
            }
        }
    }

    private func comparePackets(_ tracks: [Expected]) throws {
        let input = try open(looksInside: false)
        let streams = input.streams
        input.select(Set(tracks.indices))
        var packets = tracks.map { _ in PacketDigest() }
        var lastTimes = tracks.map { _ in 0.0 }
        let total = max(1, tracks.reduce(0) { $0 + $1.tally.written })
        var seen: Int64 = 0
        while let packet = try input.read() {
            let slot = packet.streamIndex
            // The muxer fills the time between subtitles with empty ones.
            if tracks[slot].kind == .subtitle, packet.isEmptyText { continue }
            seen += 1
            packets[slot].add(packet, PacketDigest.checksum(of: packet))
            if let time = packet.presentation {
                lastTimes[slot] = max(lastTimes[slot], streams[slot].timeBase.seconds(time))
            }
            if seen % 2000 == 0 {
                emit(.progress(MediaProgress(stage: .checking, fraction: Double(seen) / Double(total), frames: seen)))
            }
        }
        for (slot, track) in tracks.enumerated() {
            let what = "its \((track.kind ?? .data).rawValue)"
            try compare(packets[slot], track.packets, what, streams[slot].timeBase)
            if track.parameters.isStoredVerbatim, packets[slot].bytes != track.packets.bytes {
                throw wrong("\(what) has other bytes than were written")
            }
            if track.isVerbatim, track.isMedia, streams[slot].parameters.configuration != track.parameters.configuration
            {
                throw wrong("\(what) is described to decoders in another way than the recording's")
            }
            guard track.isMedia else { continue }
            try compare(lastTimes[slot], track.tally.lastTime, "the last packet of \(what) is")
            let stream = streams[slot]
            let end = stream.timeBase.seconds((stream.start ?? 0) + (stream.duration ?? 0))
            try compare(end, track.tally.writtenEnd, "\(what) ends")
        }
    }

    private func compare(
        _ found: PacketDigest, _ expected: PacketDigest, _ what: String, _ base: Rational
    ) throws(Fault) {
        if found.count != expected.count {
            throw wrong("\(what) has \(found.count) packets where \(expected.count) were written")
        }
        if !found.hasSameSteps(as: expected) { throw wrong("\(what) has other time stamps than were written") }
        let shift = base.seconds(found.first - expected.first)
        if abs(shift) > Self.startTolerance + base.seconds(1) {
            throw wrong("\(what) begins \(Decimal.fixed(shift, places: 3)) s from where it should")
        }
    }

    private func compare(_ found: Double, _ expected: Double, _ what: String) throws(Fault) {
        if abs(found - expected) <= Self.tolerance { return }
        throw wrong(
            "\(what) at \(Decimal.fixed(found, places: 3)) s, not at \(Decimal.fixed(expected, places: 3)) s")
    }

    private func decodeEnd(_ tracks: [Expected]) throws {
        for (slot, track) in tracks.enumerated() where track.isMedia {
            // All sound that is copied has been decoded on its way.
            if track.isVerbatim, track.kind == .audio { continue }
            if track.isVerbatim, let ending = try track.tally.ending?.result() {
                try judge(ending, track.tally)
            } else {
                let input = try open(looksInside: false)
                let ending = try Ending(
                    of: input.streams[slot], in: input, endingAt: track.tally.writtenEnd,
                    length: track.tally.isCopied ? Ending.ofCopied : Ending.ofEncoded)
                try judge(ending, track.tally)
            }
        }
    }

    /// Decodes every packet; as many pictures come out as went in.
    private func decodeAll(_ tracks: [Expected]) throws {
        for (slot, track) in tracks.enumerated() where track.isMedia {
            if track.tally.isCopied, isOfDamaged { continue }
            let input = try open()
            let stream = input.streams[slot]
            input.select([stream.index])
            let decoder = try Decoder(stream, threads: 0)
            var found = StreamTally(kind: track.stream.kind)
            try DecodedFrames(input: input, decoder: decoder).forEach { event in
                switch event {
                case .packet: break
                case .damage: found.noteDamage()
                case .frame(let frame):
                    found.noteFrame(isDamaged: frame.isDamaged)
                    if found.frames % 500 == 0 {
                        let fraction = Double(found.frames) / Double(max(1, track.tally.written))
                        emit(
                            .progress(MediaProgress(stage: .checking, fraction: min(1, fraction), frames: found.frames))
                        )
                    }
                }
                return true
            }
            let kind = track.stream.kind.rawValue
            if track.tally.isCopied ? found.wrong > 0 : found.hasDamage {
                throw wrong("a part of its \(kind) cannot be decoded")
            }
            if !track.tally.isCopied, kind == "video", found.frames != track.tally.written {
                throw wrong("\(found.frames) pictures of it can be decoded where \(track.tally.written) were written")
            }
        }
    }

    private func samplePictures(_ tracks: [Expected]) throws {
        for (slot, track) in tracks.enumerated() where track.kind == .video && !track.isVerbatim {
            if isOfDamaged, track.tally.isCopied { continue }
            let samples = PictureSamples(recording: recording, copy: path)
            switch try samples.check(track.stream, place: slot, isEncoded: !track.tally.isCopied) {
            case .well: break
            case .damaged(let time): throw wrong("its picture cannot be decoded at \(Decimal.fixed(time, places: 1)) s")
            case .other(let time, let likeness):
                throw wrong(
                    "at \(Decimal.fixed(time, places: 1)) s it shows another picture than the recording (likeness "
                        + "\(Decimal.fixed(likeness, places: 2)))")
            }
        }
    }

    /// What was encoded here decodes without a fault; what was copied, as well as a recording has to.
    private func judge(_ ending: Ending, _ tally: StreamTally) throws(Fault) {
        let found = ending.tally
        let kind = tally.kind.rawValue
        if tally.isCopied, isOfDamaged { return }
        if tally.isCopied, found.wrong > 0 {
            throw Fault(
                .damaged,
                "it is damaged: the end of its \(kind) cannot be decoded as it was recorded; it is left untouched. Without "
                    + "--remux it is uploaded as it is")
        }
        if !tally.isCopied, found.hasDamage { throw wrong("the end of its \(kind) is damaged") }
        guard found.frames > 0, let last = ending.last else { throw wrong("the end of its \(kind) does not decode") }
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
