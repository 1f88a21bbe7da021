/// Matroska and WebM (RFC 9559, RFC 8794): the length of the segment, which is written last, is known and is there, and what its
/// table (`SeekHead`) points to is where it says.
struct MatroskaProof {
    /// An element's name, with the marker bits as they stand in the file, and where its content is.
    private struct Element {
        let id: UInt64
        let body: Int64
        /// `nil` where the length is given as unknown.
        let end: Int64?
    }

    private static let segment: UInt64 = 0x1853_8067
    private static let seekHead: UInt64 = 0x114D_9B74
    private static let seek: UInt64 = 0x4DBB
    private static let seekID: UInt64 = 0x53AB
    private static let seekPosition: UInt64 = 0x53AC
    private static let tracks: UInt64 = 0x1654_AE6B
    private static let cluster: UInt64 = 0x1F43_B675
    /// More elements before the first cluster than any program writes.
    private static let mostElements = 128

    private let probe: ByteProbe

    init(_ probe: ByteProbe) {
        self.probe = probe
    }

    func verdict() -> ContainerVerdict {
        var offset: Int64 = 0
        for _ in 0..<8 {
            guard let element = element(at: offset, limit: probe.size) else { break }
            if element.id == Self.segment { return verdict(ofSegment: element, at: offset) }
            guard let end = element.end else { break }
            if end > probe.size { return Missing.part(probe.size, of: end) }
            offset = end
        }
        if offset >= probe.size { return .incomplete("there is only its beginning") }
        return probe.isEmpty(from: offset, to: min(probe.size, offset + 8))
            ? Missing.empty : .unprovable("it has no segment where one should be")
    }

    private func verdict(ofSegment segment: Element, at offset: Int64) -> ContainerVerdict {
        guard let end = segment.end else {
            return .unprovable("the length of its segment is not written, as in a live one")
        }
        if end > probe.size { return Missing.part(probe.size, of: end) }
        if end == segment.body { return Missing.unfinished }
        if let problem = problem(inSegment: segment, to: end) { return problem }
        if probe.endsEmpty(at: end) { return Missing.emptyEnd }
        return end < probe.size ? Missing.behind : .complete
    }

    /// Goes through the elements before the first cluster.
    private func problem(inSegment segment: Element, to end: Int64) -> ContainerVerdict? {
        var offset = segment.body
        var hasTracks = false
        for _ in 0..<Self.mostElements where offset < end {
            guard let element = element(at: offset, limit: end), let next = element.end, next <= end else {
                return probe.isEmpty(from: offset, to: min(end, offset + 8))
                    ? Missing.empty : .unprovable("what its segment holds is damaged")
            }
            switch element.id {
            case Self.seekHead:
                if let problem = problem(inTable: element, segment: segment, end: end) { return problem }
            case Self.tracks: hasTracks = true
            case Self.cluster: return hasTracks ? nil : .unprovable("its tracks are not described before they begin")
            default: break
            }
            offset = next
        }
        return .unprovable("it holds no pictures and no sound")
    }

    private func problem(inTable table: Element, segment: Element, end: Int64) -> ContainerVerdict? {
        for seek in children(of: table) where seek.id == Self.seek {
            let parts = children(of: seek)
            guard let id = parts.first(where: { $0.id == Self.seekID }).flatMap(number),
                let position = parts.first(where: { $0.id == Self.seekPosition }).flatMap(number)
            else { continue }
            let place = segment.body.reaching(position)
            let length = max(1, (64 - id.leadingZeroBitCount + 7) / 8)
            guard place < end, let found = probe.bytes(at: place, count: length).big(0, length) else {
                return .unprovable("its table points behind its end")
            }
            if found == 0 { return Missing.empty }
            if found != id { return .unprovable("its table does not fit what is there") }
        }
        return nil
    }

    private func children(of parent: Element) -> [Element] {
        var found: [Element] = []
        var offset = parent.body
        let limit = parent.end ?? offset
        while offset < limit, found.count < Self.mostElements, let child = element(at: offset, limit: limit),
            let end = child.end, end <= limit
        {
            found.append(child)
            offset = end
        }
        return found
    }

    private func number(_ element: Element) -> UInt64? {
        guard let end = element.end, end - element.body <= 8 else { return nil }
        let length = Int(end - element.body)
        return probe.bytes(at: element.body, count: length).big(0, length)
    }

    /// The element there; `nil` where none can be (RFC 8794, 4 to 6).
    private func element(at offset: Int64, limit: Int64) -> Element? {
        let head = probe.bytes(at: offset, count: Int(min(12, max(0, limit - offset))))
        guard let first = head.first else { return nil }
        let idLength = first.leadingZeroBitCount + 1
        guard idLength <= 4, let id = head.big(0, idLength), idLength < head.count else { return nil }
        let lengthLength = head[idLength].leadingZeroBitCount + 1
        guard lengthLength <= 8, let marked = head.big(idLength, lengthLength) else { return nil }
        let mask = UInt64(1) << UInt64(7 * lengthLength) - 1
        let body = offset + Int64(idLength + lengthLength)
        return Element(id: id, body: body, end: marked & mask == mask ? nil : body.reaching(marked & mask))
    }
}
