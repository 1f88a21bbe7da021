import IngestModel
import SystemIO

/// What cameras write beside tracks and tags: boxes of their own, and bytes behind the last one. A copy does not have them.
enum MakersData {
    private static let usualParts: Set<BoxType> = [
        "ftyp", "styp", "moov", "mdat", "free", "skip", "wide", "moof", "mfra", "sidx", "pdin", "pnot", "PICT", "prft",
    ]
    private static let usualInIndex: Set<BoxType> = [
        "mvhd", "trak", "udta", "meta", "mvex", "iods", "free", "skip", "wide", "clip", "ctab", "pssh",
    ]

    static func losses(of path: FilePath, _ index: MovieBox?, stripsLocation: Bool) -> [Loss] {
        guard let index, let file = try? FileSystem.open(path, .reading),
            let parts = try? MovieFile.parts(of: file), let size = try? file.status().size.value
        else { return [] }
        var names = parts.filter { !usualParts.contains($0.type) && $0.length > 8 }.map { $0.type.name }
        names += index.children.filter { !usualInIndex.contains($0.type) && $0.size > 8 }.map { $0.type.name }
        let end = parts.last.map { $0.offset + $0.length } ?? size
        var losses = names.uniqued.map {
            Loss(
                what: "the maker's own data (\($0))",
                reason: "only the maker knows what they mean, and to which file they belong",
                isAsked: stripsLocation)
        }
        // Less is no more than a muxer's careless end.
        if size - end > 64 {
            losses.append(
                Loss(
                    what: "\(ByteCount(size - end).forReading) behind the end of the recording",
                    reason: "only the maker knows what they mean", isAsked: stripsLocation))
        }
        return losses
    }
}

extension BoxType {
    /// For people.
    var name: String {
        let bytes = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> UInt32($0)) }
        return String(decoding: bytes, as: Unicode.ASCII.self).printable
    }
}

extension [String] {
    /// Each once, in their order.
    fileprivate var uniqued: [String] { reduce(into: []) { if !$0.contains($1) { $0.append($1) } } }
}
