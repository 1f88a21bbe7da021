/// A part of a QuickTime or ISO base media file: a length, a name, and what follows (ISO/IEC 14496-12, 4.2).
struct Box {
    let type: FourCC
    /// Offset of the first byte behind the header.
    let body: Int64
    /// Offset behind the last byte, as announced: possibly far behind the end of the file.
    let end: Int64
    /// Whether its length is 0: it goes on to the end of the file, or is not known yet.
    let isOpen: Bool

    /// `nil` where no header can be: too few bytes, or a length shorter than the header.
    init?(_ probe: ByteProbe, at offset: Int64, limit: Int64) {
        guard limit - offset >= 8 else { return nil }
        let header = probe.bytes(at: offset, count: 16)
        guard let short = header.big(0, 4), let type = header.fourCC(4) else { return nil }
        self.type = type
        isOpen = short == 0
        if short == 1 {
            guard let long = header.big(8, 8), long >= 16 else { return nil }
            body = offset + 16
            end = offset.reaching(long)
        } else {
            guard short == 0 || short >= 8 else { return nil }
            body = offset + 8
            end = short == 0 ? limit : offset.reaching(short)
        }
    }

    /// Eight zeros: no box, but space that nothing has been written to.
    var isHole: Bool { isOpen && type.code == 0 }
}

/// QuickTime and ISO base media files (mp4, mov, m4v, 3gp and what cameras call otherwise): the index (`moov`) is whole, and all
/// data it points to is in the file. Fragments prove it by the index that closes them (`mfra`) alone.
struct MovieProof {
    /// Names of the first box.
    static let beginnings: Set<FourCC> = [
        "ftyp", "styp", "moov", "mdat", "moof", "sidx", "wide", "free", "skip", "uuid", "pnot", "udta", "junk", "meta",
    ]

    /// What stands behind the last box.
    private enum Rest {
        case none, zeros, unknown
    }

    private static let padding: Set<FourCC> = ["free", "skip", "wide", "junk"]
    /// Names of boxes at the top: one of these that goes beyond the file is cut, anything else there may be no box at all.
    private static let known = beginnings.union(padding).union([
        "mfra", "ssix", "prft", "emsg", "pdin", "bloc", "PICT", "pict", "idat",
    ])
    /// Brands of pictures (ISO/IEC 23008-12), which have no `moov`.
    private static let pictures: Set<FourCC> = ["mif1", "msf1", "heic", "heix", "hevc", "heim", "heis", "avif", "avis"]
    /// What Insta360 cameras end their files with; the data before it is in no box.
    private static let trailerMark = Array("8db42d694ccc418790edff439fe026bf".utf8)

    private let probe: ByteProbe
    private var index: MovieIndex?
    private var brand: FourCC?
    private var hasFragments = false
    /// From the first data box's beginning to the last one's end.
    private var data: Range<Int64>?
    private var isDataOpen = false
    /// End of the last box that is not padding.
    private var end: Int64 = 0
    private var rest = Rest.none

    init(_ probe: ByteProbe) {
        self.probe = probe
    }

    consuming func verdict() -> ContainerVerdict {
        walk() ?? judge()
    }

    /// From box to box up to the end of the file. Returns a verdict where one of them is cut.
    private mutating func walk() -> ContainerVerdict? {
        var offset: Int64 = 0
        while offset < probe.size, !probe.isSpent {
            guard let box = Box(probe, at: offset, limit: probe.size) else {
                rest = probe.isEmpty(from: offset, to: min(probe.size, offset + 8)) ? .zeros : .unknown
                return nil
            }
            if box.isHole {
                rest = .zeros
                return nil
            }
            if box.end > probe.size || (box.isOpen && box.type != "mdat" && !Self.padding.contains(box.type)) {
                if box.type == "moov" {
                    return .incomplete("its index (moov) is not finished yet")
                }
                if Self.known.contains(box.type), !box.isOpen { return Missing.part(probe.size, of: box.end) }
                rest = .unknown
                return nil
            }
            if let verdict = take(box, at: offset) { return verdict }
            if !Self.padding.contains(box.type) { end = box.end }
            offset = box.end
        }
        return nil
    }

    private mutating func take(_ box: Box, at offset: Int64) -> ContainerVerdict? {
        switch box.type {
        case "ftyp":
            brand = probe.bytes(at: box.body, count: 4).fourCC(0)
        case "moov":
            let found = MovieIndex(box, probe)
            if index == nil { index = found }
            if found.hasFragments, isClosed { return probe.hasHole(from: 0, to: probe.size) ? Missing.hole : .complete }
        case "moof":
            hasFragments = true
        case "mdat":
            data = (data?.lowerBound ?? offset)..<box.end
            isDataOpen = box.isOpen
        default: break
        }
        return nil
    }

    /// Whether a copy may not have come to the end. Data that something follows may end with a few zeros: iPhones end with samples of
    /// metadata that do.
    private func isEmpty(dataEnd: Int64, isLast: Bool) -> Bool {
        probe.endsEmpty(at: isLast ? dataEnd : end) || probe.isEmpty(from: dataEnd - 4096, to: dataEnd)
    }

    /// Whether the index of the fragments stands at the end: its last four bytes are its length (ISO/IEC 14496-12, 8.8.11).
    private var isClosed: Bool {
        let last = probe.bytes(at: probe.size - 16, count: 16)
        guard last.big(0, 4) == 16, last.fourCC(4) == "mfro", let length = last.big(12, 4), length >= 24,
            let start = Int64(exactly: length).map({ probe.size - $0 }), start > 0,
            let box = Box(probe, at: start, limit: probe.size)
        else { return false }
        return box.type == "mfra" && box.end == probe.size
    }

    private func judge() -> ContainerVerdict {
        if hasFragments || index?.hasFragments == true {
            if rest == .zeros { return Missing.empty }
            return .unprovable("it is made of fragments, and nothing says which is the last")
        }
        guard let index else {
            if rest == .zeros { return Missing.empty }
            if let brand, Self.pictures.contains(brand) {
                return .unprovable("it is a picture without a movie's index")
            }
            return .incomplete("its index (moov) is not written yet")
        }
        if index.hasHole {
            return probe.endsEmpty(at: probe.size) ? Missing.empty : .unprovable("its index (moov) has a hole")
        }
        if index.isCompressed { return .unprovable("its index (moov) is compressed") }
        if index.isExternal { return .unprovable("its pictures or sound are in other files") }
        guard let needed = index.lastChunk else { return .unprovable("its index (moov) names no data") }
        if needed >= probe.size { return Missing.part(probe.size, of: needed) }
        guard let data else {
            return rest == .zeros ? Missing.empty : .incomplete("its data (mdat) is not there")
        }
        return judge(index, needed, data)
    }

    private func judge(_ index: MovieIndex, _ lastChunk: Int64, _ data: Range<Int64>) -> ContainerVerdict {
        if isDataOpen {
            guard let dataEnd = index.dataEnd else { return .unprovable("the length of its data is not in it") }
            if dataEnd > probe.size { return Missing.part(probe.size, of: dataEnd) }
        }
        if !data.contains(lastChunk) || index.dataEnd ?? 0 > data.upperBound {
            return rest == .zeros ? Missing.empty : .unprovable("its index (moov) points outside of its data")
        }
        if isEmpty(dataEnd: index.dataEnd ?? data.upperBound, isLast: end == data.upperBound) {
            return Missing.emptyEnd
        }
        if probe.hasHole(from: data.lowerBound, to: data.upperBound) { return Missing.hole }
        switch rest {
        case .none: return .complete
        case .zeros: return .unprovable("empty bytes follow its last part")
        case .unknown:
            let mark = probe.bytes(at: probe.size - Int64(Self.trailerMark.count), count: Self.trailerMark.count)
            return mark == Self.trailerMark ? .complete : .unprovable("unknown bytes follow its last part")
        }
    }
}
