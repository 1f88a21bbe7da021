/// RIFF files: AVI with its later RIFF chunks (OpenDML), WAV, and their 64-bit relatives (EBU Tech 3306, ITU-R BS.2088). Lengths are
/// written as 0 or as the greatest number until the end is known.
struct RIFFProof {
    /// A chunk, or a list with the name of its kind in front.
    private struct Chunk {
        let type: FourCC
        let body: Int64
        /// As announced, without the byte that pads to an even length.
        let end: Int64
        let isUnknown: Bool

        var next: Int64 { end.reaching(UInt64(end & 1)) }
    }

    private static let mostChunks = 256

    private let probe: ByteProbe

    init(_ probe: ByteProbe) {
        self.probe = probe
    }

    func verdict() -> ContainerVerdict {
        guard let kind = probe.bytes(at: 8, count: 4).fourCC(0) else {
            return .incomplete("there is only its beginning")
        }
        switch kind {
        case "AVI ": return verdictOnAVI()
        case "WAVE": return verdictOnWave()
        default: return .unprovable("its format is not known")
        }
    }

    // MARK: AVI

    /// What is found on the way through an AVI file.
    private struct Findings {
        var hasIndex = false
        /// Whether the number of all pictures stands in the header of OpenDML.
        var isCounted = false
        /// End of the last part that is no padding.
        var end: Int64 = 0
    }

    /// A RIFF chunk is closed at about this length, and the next begins. In between, a file that is being recorded looks like a
    /// finished one, but for the number of all pictures, which is written at the end.
    private static let longest: Int64 = 0x3F00_0000

    private func verdictOnAVI() -> ContainerVerdict {
        var offset: Int64 = 0
        var found = Findings()
        while offset < probe.size, !probe.isSpent {
            guard let chunk = chunk(at: offset, limit: probe.size) else { return Missing.behind }
            if probe.isEmpty(from: offset, to: min(probe.size, offset + 8)) {
                return found.hasIndex ? .unprovable("empty bytes follow its last part") : Missing.empty
            }
            guard chunk.type == "RIFF" else { return Missing.behind }
            if chunk.isUnknown { return Missing.unfinished }
            if chunk.end > probe.size { return Missing.part(probe.size, of: chunk.end) }
            if let problem = problem(in: chunk, isFirst: offset == 0, &found) { return problem }
            offset = chunk.next
        }
        if !found.hasIndex { return .unprovable("it has no index") }
        if probe.size >= Self.longest, !found.isCounted {
            return .unprovable("the number of its pictures is not written")
        }
        return .complete
    }

    /// One RIFF chunk's content; the last that is no padding must not end empty.
    private func problem(in riff: Chunk, isFirst: Bool, _ found: inout Findings) -> ContainerVerdict? {
        var offset = riff.body + 4
        found.end = offset
        var hasData = false
        var parts = 0
        while riff.end - offset >= 8, !probe.isSpent {
            guard let chunk = chunk(at: offset, limit: riff.end) else { break }
            if chunk.type.code == 0 { return Missing.empty }
            let kind = chunk.type == "LIST" ? probe.bytes(at: chunk.body, count: 4).fourCC(0) : chunk.type
            if kind == "movi", chunk.isUnknown { return Missing.unfinished }
            if chunk.end > riff.end { return .unprovable("what it holds is longer than itself") }
            switch kind {
            case "hdrl":
                if hasLongIndex(chunk) { found.hasIndex = true }
                if isCounted(chunk) { found.isCounted = true }
            case "idx1": found.hasIndex = true
            case "movi": hasData = true
            default: break
            }
            if kind != "JUNK" { found.end = chunk.end }
            offset = chunk.next
            parts += 1
            if parts > Self.mostChunks { probe.giveUp() }
        }
        if !hasData { return isFirst ? .incomplete("its pictures and sound are not there") : Missing.unfinished }
        return probe.endsEmpty(at: found.end) ? Missing.emptyEnd : nil
    }

    /// Whether the header of OpenDML (`odml`, in it `dmlh`) has the number of all pictures.
    private func isCounted(_ headers: Chunk) -> Bool {
        for list in chunks(in: headers, from: 4) where list.type == "LIST" {
            let start = probe.bytes(at: list.body, count: 16)
            if start.fourCC(0) == "odml", start.fourCC(4) == "dmlh", start.little(12, 4) ?? 0 > 0 { return true }
        }
        return false
    }

    /// Whether a stream's header has the index of OpenDML (`indx`).
    private func hasLongIndex(_ headers: Chunk) -> Bool {
        for stream in chunks(in: headers, from: 4) where stream.type == "LIST" {
            if chunks(in: stream, from: 4).contains(where: { $0.type == "indx" }) { return true }
        }
        return false
    }

    // MARK: WAV

    private func verdictOnWave() -> ContainerVerdict {
        guard let riff = chunk(at: 0, limit: probe.size) else { return Missing.unfinished }
        var end = riff.end
        var dataLength: UInt64?
        if riff.type != "RIFF" {
            // The lengths are in the first chunk, `ds64`, and the ones in their places say so.
            guard let long = chunk(at: 12, limit: probe.size), long.type == "ds64",
                let whole = probe.bytes(at: long.body, count: 16).little(0, 8),
                let data = probe.bytes(at: long.body, count: 16).little(8, 8)
            else { return .incomplete("there is only its beginning") }
            if whole == 0 || data == 0 { return Missing.unfinished }
            end = Int64(8).reaching(whole)
            dataLength = data
        } else if riff.isUnknown {
            return Missing.unfinished
        }
        return verdictOnWave(to: end, dataLength: dataLength)
    }

    private func verdictOnWave(to end: Int64, dataLength: UInt64?) -> ContainerVerdict {
        var offset: Int64 = 12
        var last = offset
        var hasData = false
        var parts = 0
        while offset < min(end, probe.size), !probe.isSpent {
            guard let chunk = chunk(at: offset, limit: probe.size) else { break }
            if chunk.type.code == 0 { return Missing.empty }
            var chunkEnd = chunk.end
            if chunk.type == "data" {
                if let dataLength {
                    chunkEnd = chunk.isUnknown ? chunk.body.reaching(dataLength) : chunk.end
                } else if chunk.isUnknown {
                    return Missing.unfinished
                }
                hasData = true
            }
            if chunkEnd > probe.size { return Missing.part(probe.size, of: chunkEnd) }
            if chunk.type != "JUNK", chunk.type != "PAD " { last = chunkEnd }
            offset = chunkEnd.reaching(UInt64(chunkEnd & 1))
            parts += 1
            if parts > Self.mostChunks { probe.giveUp() }
        }
        // The byte that pads the last chunk is left out by some.
        if end > probe.size, end - probe.size > 1 { return Missing.part(probe.size, of: end) }
        if !hasData { return .incomplete("its sound is not there") }
        if probe.endsEmpty(at: last) { return Missing.emptyEnd }
        return end < probe.size - 1 ? Missing.behind : .complete
    }

    // MARK: Chunks

    private func chunks(in list: Chunk, from skipped: Int64) -> [Chunk] {
        var found: [Chunk] = []
        var offset = list.body + skipped
        while found.count < Self.mostChunks, let chunk = chunk(at: offset, limit: list.end), chunk.end <= list.end {
            found.append(chunk)
            offset = chunk.next
        }
        return found
    }

    private func chunk(at offset: Int64, limit: Int64) -> Chunk? {
        guard limit - offset >= 8 else { return nil }
        let header = probe.bytes(at: offset, count: 8)
        guard let type = header.fourCC(0), let length = header.little(4, 4) else { return nil }
        return Chunk(
            type: type, body: offset + 8, end: (offset + 8).reaching(length),
            isUnknown: length == 0 || length == 0xFFFF_FFFF)
    }
}
