/// Containers that need a look at one or two places only.
enum SmallProofs {
    /// The beginning of the name of ASF's header object.
    static let advancedSystems = FourCC(0x3026_B275)

    // MARK: AIFF

    /// AIFF and AIFF-C: one chunk around all, whose length is patched at the end.
    static func aiff(_ probe: ByteProbe) -> ContainerVerdict {
        let head = probe.bytes(at: 0, count: 12)
        guard let length = head.big(4, 4), let kind = head.fourCC(8) else {
            return .incomplete("there is only its beginning")
        }
        guard kind == "AIFF" || kind == "AIFC" else { return .unprovable("its format is not known") }
        if length == 0 || length == 0xFFFF_FFFF { return Missing.unfinished }
        let end = Int64(8).reaching(length)
        if end - probe.size == 1 {
            return .unprovable("its last byte is missing, as the byte that pads is in some files")
        }
        if end > probe.size { return Missing.part(probe.size, of: end) }
        if probe.endsEmpty(at: end) { return Missing.emptyEnd }
        return probe.size - end > 1 ? Missing.behind : .complete
    }

    // MARK: Ogg

    /// Ogg (RFC 3533): as many streams end in the last pages as begin in the first.
    static func ogg(_ probe: ByteProbe) -> ContainerVerdict {
        var offset: Int64 = 0
        var beginnings = 0
        while beginnings <= 64, let page = OggPage(probe, at: offset), page.isFirst {
            beginnings += 1
            offset = page.end
        }
        let start = max(0, probe.size - 2 * OggPage.longest)
        let tail = probe.bytes(at: start, count: Int(2 * OggPage.longest))
        guard beginnings > 0, var next = firstPage(in: tail).map({ start + Int64($0) }) else {
            return .unprovable("it does not end with a page")
        }
        var ends = 0
        while next < probe.size {
            guard let page = OggPage(probe, at: next) else { return .unprovable("it does not end with a page") }
            if page.end > probe.size { return Missing.part(probe.size, of: page.end) }
            if page.isLast { ends += 1 }
            next = page.end
        }
        if probe.endsEmpty(at: probe.size) { return Missing.emptyEnd }
        return ends >= beginnings ? .complete : .unprovable("not all of its streams have ended")
    }

    /// The first page that another one, or the end, follows.
    private static func firstPage(in bytes: [UInt8]) -> Int? {
        var index = 0
        while index + 27 <= bytes.count {
            if bytes.fourCC(index) == OggPage.mark {
                let segments = Int(bytes[index + 26])
                if index + 27 + segments <= bytes.count {
                    let length = bytes[index + 27..<index + 27 + segments].reduce(27 + segments) { $0 + Int($1) }
                    if index + length >= bytes.count || bytes.fourCC(index + length) == OggPage.mark { return index }
                }
            }
            index += 1
        }
        return nil
    }

    // MARK: ASF

    /// ASF and WMV: the file's length stands in the properties (section 3.2 of Microsoft's specification), and is 0 while it is
    /// recorded.
    static func asf(_ probe: ByteProbe) -> ContainerVerdict {
        let header = probe.bytes(at: 0, count: 30)
        guard let length = header.little(16, 8) else { return .incomplete("there is only its beginning") }
        let end = min(probe.size, Int64(0).reaching(length))
        var offset: Int64 = 30
        for _ in 0..<64 where end - offset >= 104 {
            let object = probe.bytes(at: offset, count: 104)
            guard let length = object.little(16, 8), length >= 24 else { break }
            if object.big(0, 8) == 0xA1DC_AB8C_47A9_CF11, object.big(8, 8) == 0x8EE4_00C0_0C20_5365 {
                return asf(probe, length: object.little(40, 8) ?? 0, flags: object.little(88, 4) ?? 1)
            }
            offset = offset.reaching(length)
        }
        return .unprovable("its length is not in it")
    }

    private static func asf(_ probe: ByteProbe, length: UInt64, flags: UInt64) -> ContainerVerdict {
        if flags & 1 == 1 { return .unprovable("it is a broadcast, whose length is not in it") }
        if length == 0 { return Missing.unfinished }
        let end = Int64(0).reaching(length)
        if end > probe.size { return Missing.part(probe.size, of: end) }
        if end < probe.size { return Missing.behind }
        return probe.endsEmpty(at: end) ? Missing.emptyEnd : .complete
    }

    // MARK: FLV

    /// FLV: some programs write the file's length into its metadata at the end; else nothing says where it ends.
    static func flv(_ probe: ByteProbe) -> ContainerVerdict {
        let head = probe.bytes(at: 0, count: 4096)
        // An ActionScript name, its length before it, and a number behind it: 0, and eight bytes as IEEE 754.
        let name = [0, 8] + Array("filesize".utf8) + [0]
        var index = 0
        while index + name.count + 8 <= head.count, head[index..<index + name.count] != name[...] { index += 1 }
        guard head.count >= index + name.count + 8, let bits = head.big(index + name.count, 8),
            let length = Int64(exactly: Double(bitPattern: bits)), length > 0
        else { return .unprovable("FLV has no mark at its end, and its length is not in it") }
        if length > probe.size { return Missing.part(probe.size, of: length) }
        if length < probe.size { return Missing.behind }
        // The last four bytes are the length of the tag before them.
        guard let last = probe.bytes(at: length - 4, count: 4).big(0, 4), last >= 11,
            let tag = probe.bytes(at: length - 4 - Int64(clamping: last), count: 4).big(1, 3), tag + 11 == last
        else { return probe.endsEmpty(at: length) ? Missing.empty : .unprovable("it does not end with a whole tag") }
        return .complete
    }
}

/// A page of an Ogg file.
private struct OggPage {
    static let mark: FourCC = "OggS"
    /// The longest page there is: header, 255 lengths, 255 times 255 bytes.
    static let longest: Int64 = 27 + 255 + 255 * 255

    let isFirst: Bool
    let isLast: Bool
    let end: Int64

    init?(_ probe: ByteProbe, at offset: Int64) {
        let header = probe.bytes(at: offset, count: 27 + 255)
        guard header.count >= 27, header.fourCC(0) == Self.mark, header.count >= 27 + Int(header[26]) else {
            return nil
        }
        isFirst = header[5] & 2 != 0
        isLast = header[5] & 4 != 0
        let segments = Int(header[26])
        end = offset + Int64(header[27..<27 + segments].reduce(27 + segments) { $0 + Int($1) })
    }
}
