/// The four bytes that say what a box is. A literal's characters stand for one byte each (ISO 8859-1), as in `©xyz`.
struct BoxType: Hashable, ExpressibleByStringLiteral {
    let value: UInt32

    init(_ value: UInt32) {
        self.value = value
    }

    init(stringLiteral text: String) {
        value = text.unicodeScalars.reduce(0) { $0 << 8 | ($1.value & 0xFF) }
    }
}

/// A box of the ISO base media format (ISO/IEC 14496-12, section 4.2) in memory, with all that is in it.
struct MovieBox: Equatable {
    enum Content: Equatable {
        case bytes(ArraySlice<UInt8>)
        /// Boxes, behind the bytes that stand before them.
        case boxes([MovieBox], behind: ArraySlice<UInt8> = [])
    }

    var type: BoxType
    var content: Content

    struct Malformed: Error {}

    /// Those that hold nothing but boxes, on the way from a file's index to a track's tables.
    private static let containers: Set<BoxType> = ["moov", "trak", "mdia", "minf", "stbl", "udta"]
    private static let deepest = 6

    /// The boxes that stand one behind the other in `bytes`; containers are opened, everything else stays bytes. Up to seven
    /// bytes behind the last one are passed over: QuickTime ends lists of user data with a zero.
    static func parse(_ bytes: ArraySlice<UInt8>, depth: Int = 0) throws(Malformed) -> [MovieBox] {
        var boxes: [MovieBox] = []
        var position = bytes.startIndex
        while bytes.endIndex - position >= 8 {
            var length = Int(bytes.number(at: position, size: 4))
            let type = BoxType(UInt32(truncatingIfNeeded: bytes.number(at: position + 4, size: 4)))
            var head = 8
            if length == 1 {
                guard bytes.endIndex - position >= 16 else { throw Malformed() }
                guard let long = Int(exactly: bytes.number(at: position + 8, size: 8)) else { throw Malformed() }
                (length, head) = (long, 16)
            } else if length == 0 {
                // To the end; in user data it is the end of the list.
                if type.value == 0 { return boxes }
                length = bytes.endIndex - position
            }
            guard length >= head, length <= bytes.endIndex - position else { throw Malformed() }
            let payload = bytes[(position + head)..<(position + length)]
            let isContainer = containers.contains(type) && depth < deepest
            boxes.append(
                MovieBox(
                    type: type,
                    content: isContainer ? .boxes(try parse(payload, depth: depth + 1)) : .bytes(payload)))
            position += length
        }
        return boxes
    }

    init(type: BoxType, content: Content) {
        self.type = type
        self.content = content
    }

    init(_ type: BoxType, _ bytes: [UInt8]) {
        self.init(type: type, content: .bytes(bytes[...]))
    }

    // MARK: - Parts

    /// Empty for a box that is not opened.
    var children: [MovieBox] {
        get { if case .boxes(let boxes, _) = content { boxes } else { [] } }
        set {
            guard case .boxes(_, let prefix) = content else { return }
            content = .boxes(newValue, behind: prefix)
        }
    }

    /// Empty for one that is.
    var bytes: ArraySlice<UInt8> {
        if case .bytes(let bytes) = content { bytes } else { [] }
    }

    /// The first box that the types lead to, one below the other.
    func child(_ path: BoxType...) -> MovieBox? {
        var box: MovieBox? = self
        for type in path { box = box?.children.first { $0.type == type } }
        return box
    }

    /// Of an index: whether all packets are in it. Those of fragments are listed where these are (ISO/IEC 14496-12, `mvex`).
    var listsAllPackets: Bool { child("mvex") == nil }

    /// Changes the first box that the types lead to, if there is one.
    mutating func change<Failure: Error>(
        _ path: ArraySlice<BoxType>, _ body: (inout MovieBox) throws(Failure) -> Void
    ) throws(Failure) {
        guard let type = path.first else { return try body(&self) }
        guard case .boxes(var boxes, let prefix) = content, let index = boxes.firstIndex(where: { $0.type == type })
        else { return }
        // Taken out first, so that its bytes are not copied.
        content = .boxes([], behind: prefix)
        let result = Result { () throws(Failure) in try boxes[index].change(path.dropFirst(), body) }
        content = .boxes(boxes, behind: prefix)
        try result.get()
    }

    // MARK: - Writing

    var size: Int {
        let inside =
            switch content {
            case .bytes(let bytes): bytes.count
            case .boxes(let boxes, let prefix): boxes.reduce(prefix.count) { $0 + $1.size }
            }
        return inside + (inside + 8 > UInt32.max ? 16 : 8)
    }

    func write(to out: inout [UInt8]) {
        let size = size
        out.append(UInt64(size > UInt32.max ? 1 : size), size: 4)
        out.append(UInt64(type.value), size: 4)
        if size > UInt32.max { out.append(UInt64(size), size: 8) }
        switch content {
        case .bytes(let bytes): out += bytes
        case .boxes(let boxes, let prefix):
            out += prefix
            for box in boxes { box.write(to: &out) }
        }
    }

    var written: [UInt8] {
        var out: [UInt8] = []
        out.reserveCapacity(size)
        write(to: &out)
        return out
    }
}

extension ArraySlice<UInt8> {
    /// Big-endian; 0 where there are not so many bytes.
    func number(at index: Int, size: Int) -> UInt64 {
        guard index >= startIndex, index <= endIndex - size else { return 0 }
        return self[index..<(index + size)].reduce(0) { $0 << 8 | UInt64($1) }
    }
}

extension [UInt8] {
    /// Big-endian, in so many bytes.
    mutating func append(_ number: UInt64, size: Int) {
        for index in (0..<size).reversed() { append(UInt8(truncatingIfNeeded: number >> (8 * UInt64(index)))) }
    }

    mutating func put(_ number: UInt64, at index: Int, size: Int) {
        for byte in 0..<size { self[index + byte] = UInt8(truncatingIfNeeded: number >> (8 * UInt64(size - 1 - byte))) }
    }
}
