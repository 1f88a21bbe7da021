/// What a movie's index (`moov`) says of where its data ends, from the ends of its tables.
struct MovieIndex {
    /// Whether more comes in fragments (`mvex`).
    private(set) var hasFragments = false
    /// Whether it is compressed, as QuickTime could (`cmov`).
    private(set) var isCompressed = false
    /// Whether some of its data is in other files.
    private(set) var isExternal = false
    /// Whether there is a place where a box should be and is none.
    private(set) var hasHole = false
    /// The greatest offset at which data begins.
    private(set) var lastChunk: Int64?
    /// Offset behind the last byte of data; `nil` where the table of sizes does not say it to the byte.
    private(set) var dataEnd: Int64?

    /// More boxes in one box than any file has.
    private static let mostChildren = 512
    /// Chunks of one track follow each other; a few from the end are enough to find the last.
    private static let lastChunks: UInt64 = 64
    private static let mostSamples: UInt64 = 8192

    private let probe: ByteProbe

    init(_ box: Box, _ probe: ByteProbe) {
        self.probe = probe
        for child in children(of: box) {
            switch child.type {
            case "trak": takeTrack(child)
            case "mvex": hasFragments = true
            case "cmov": isCompressed = true
            default: break
            }
        }
    }

    private mutating func takeTrack(_ track: Box) {
        guard let media = first("mdia", in: track), let information = first("minf", in: media) else { return }
        let parts = children(of: information)
        if let references = parts.first(where: { $0.type == "dinf" }) { takeReferences(references) }
        guard let tables = parts.first(where: { $0.type == "stbl" }) else {
            hasHole = true
            return
        }
        takeTables(children(of: tables))
    }

    /// The sample tables (ISO/IEC 14496-12, 8.7): where chunks begin, how many samples are in each, how long samples are.
    private mutating func takeTables(_ tables: [Box]) {
        guard let offsets = tables.first(where: { $0.type == "stco" || $0.type == "co64" }) else {
            hasHole = true
            return
        }
        let width = offsets.type == "stco" ? 4 : 8
        guard let chunks = probe.bytes(at: offsets.body + 4, count: 4).big(0, 4), chunks > 0 else { return }
        guard let last = table(offsets, at: 8, width: width, count: chunks, last: Self.lastChunks), !last.isEmpty else {
            hasHole = true
            return
        }
        let starts = last.map { Int64(clamping: $0) }
        let start = starts.max() ?? 0
        guard start > lastChunk ?? -1 else { return }
        lastChunk = start
        dataEnd = starts.last == start ? length(ofLast: chunks, tables).map { start.reaching($0) } : nil
    }

    /// The bytes in the last of so many chunks, where samples have a length each. Where all have the same, QuickTime may count them
    /// in other units, and nothing is said.
    private func length(ofLast chunks: UInt64, _ tables: [Box]) -> UInt64? {
        guard let runs = tables.first(where: { $0.type == "stsc" }),
            let sizes = tables.first(where: { $0.type == "stsz" }),
            let runCount = probe.bytes(at: runs.body + 4, count: 4).big(0, 4), runCount > 0,
            let run = table(runs, at: 8, width: 12, count: runCount, last: 1), run.count == 1
        else { return nil }
        let header = probe.bytes(at: sizes.body + 4, count: 8)
        guard let perChunk = probe.bytes(at: runs.body + 8 + Int64(runCount - 1) * 12 + 4, count: 4).big(0, 4),
            header.big(0, 4) == 0, let samples = header.big(4, 4), perChunk > 0, perChunk <= Self.mostSamples,
            perChunk <= samples, runCount > 1 || (chunks - 1) * perChunk < samples,
            let lengths = table(sizes, at: 12, width: 4, count: samples, last: perChunk)
        else { return nil }
        let inLast = runCount > 1 ? perChunk : min(perChunk, samples - (chunks - 1) * perChunk)
        return lengths.suffix(Int(inLast)).reduce(0) { $0 + $1 }
    }

    /// The last entries of a table that is whole in its box, as numbers of up to eight bytes; `nil` where it is not.
    private func table(_ box: Box, at first: Int64, width: Int, count: UInt64, last: UInt64) -> [UInt64]? {
        // Counts are numbers of four bytes, widths at most 12: no product overflows.
        let start = box.body + first
        guard count <= UInt64(max(0, box.end - start)) / UInt64(width) else { return nil }
        let taken = min(count, last)
        let bytes = probe.bytes(at: start + Int64(count - taken) * Int64(width), count: Int(taken) * width)
        return (0..<Int(taken)).compactMap { bytes.big($0 * width, min(width, 8)) }
    }

    /// Data is in another file where the first reference lacks the flag "in this file" (ISO/IEC 14496-12, 8.7.2).
    private mutating func takeReferences(_ information: Box) {
        guard let references = first("dref", in: information), references.end - references.body >= 20,
            let flags = probe.bytes(at: references.body + 8, count: 12).big(9, 3)
        else { return }
        if flags & 1 == 0 { isExternal = true }
    }

    private mutating func first(_ type: FourCC, in box: Box) -> Box? {
        let found = children(of: box).first { $0.type == type }
        if found == nil { hasHole = true }
        return found
    }

    /// The boxes in a box, as far as they are whole.
    private mutating func children(of box: Box) -> [Box] {
        var found: [Box] = []
        var offset = box.body
        while box.end - offset >= 8, !probe.isSpent {
            guard let child = Box(probe, at: offset, limit: box.end), !child.isOpen, child.end <= box.end else {
                hasHole = true
                break
            }
            found.append(child)
            if found.count > Self.mostChildren { probe.giveUp() }
            offset = child.end
        }
        return found
    }
}
