import IngestModel
import SystemIO

/// Puts a finished file's index in front of its data, where whoever receives the file needs it first.
///
/// The muxer has written behind a gap that was left in front, with the index at the end. If the index fits into the gap,
/// the data stay where they are: they are written once. Only if it does not, or if more would be left empty than is worth
/// the file's size, are they moved.
struct IndexPlacement {
    /// Bytes that were left in front.
    let gap: Int64

    /// Of the data, what may be left empty: one part in so many.
    private static let emptyShare: Int64 = 100
    private static let step = 4 << 20

    /// How many bytes to leave in front of a file with so many packets. An index takes four to some twenty bytes a packet,
    /// and its fixed parts.
    static func gap(packets: Int64, besides extra: Int64) -> Int64 {
        let most: Int64 = 64 << 20
        return min(most, 16_384 + extra + packets * 20)
    }

    /// - Parameters:
    ///   - path: the file, as the muxer has left it.
    ///   - edit: what else is to be changed in the index.
    /// - Throws: a `Fault`, where it cannot be read and written; `MovieBox.Malformed` where the file is not what a muxer
    ///   would have left.
    func carryOut(on path: FilePath, edit: (inout MovieBox) throws -> Void) throws {
        let file = try FileSystem.open(path, .readingAndWriting)
        let parts = try MovieFile.parts(of: file, from: gap)
        guard let brands = parts.first, brands.type == "ftyp", let last = parts.last, last.type == "moov",
            last.offset > brands.offset
        else { throw MovieBox.Malformed() }
        var head = try file.read(at: brands.offset, count: Int(brands.length))
        var index = try MovieFile.index(last, of: file)
        try edit(&index)
        let begin = brands.offset + brands.length
        let data = begin..<last.offset
        let free = begin - Int64(head.count + index.size)
        if free == 0 || free >= 8 && free <= (data.upperBound - data.lowerBound) / Self.emptyShare {
            index.write(to: &head)
            if free > 0 {
                head.append(UInt64(free), size: 4)
                head += Array("free".utf8)
            }
            try file.truncate(to: data.upperBound)
            // What stands between is zeros: it is a gap in the file.
            try file.write(head.span, at: 0)
            if free > 8 { try clear(file, from: Int64(head.count), to: begin) }
            return
        }
        // Twice its size, because wider places make it larger.
        ChunkOffsets.widen(in: &index, forMovingBy: max(0, Int64(head.count + 2 * index.size) - begin))
        let start = Int64(head.count + index.size)
        ChunkOffsets.shift(in: &index, by: start - begin)
        try move(data, to: start, in: file)
        index.write(to: &head)
        try file.write(head.span, at: 0)
        try file.truncate(to: start + (data.upperBound - data.lowerBound))
    }

    /// The muxer's own head stood there.
    private func clear(_ file: borrowing FileDescriptor, from start: Int64, to end: Int64) throws {
        let old = max(start, gap)
        if old < end { try file.write([UInt8](repeating: 0, count: Int(end - old)).span, at: old) }
    }

    private func move(_ data: Range<Int64>, to start: Int64, in file: borrowing FileDescriptor) throws {
        let length = data.upperBound - data.lowerBound
        let step = Int64(Self.step)
        let count = (length + step - 1) / step
        for number in 0..<count {
            // From the side to which they are moved, so that nothing is written over that is still to be read.
            let piece = (start < data.lowerBound ? number : count - 1 - number) * step
            let bytes = try file.read(at: data.lowerBound + piece, count: Int(min(step, length - piece)))
            try file.write(bytes.span, at: start + piece)
        }
    }
}

/// Where in the file a track's packets lie: ISO/IEC 14496-12, `stco` with 32 bits for each place and `co64` with 64.
enum ChunkOffsets {
    private static func forEachTable(in index: inout MovieBox, _ body: (inout MovieBox) -> Void) {
        for track in index.children.indices where index.children[track].type == "trak" {
            index.children[track].change(["mdia", "minf", "stbl"]) { tables in
                for table in tables.children.indices where ["stco", "co64"].contains(tables.children[table].type) {
                    body(&tables.children[table])
                }
            }
        }
    }

    /// Adds `distance` to every place.
    static func shift(in index: inout MovieBox, by distance: Int64) {
        forEachTable(in: &index) { table in
            let size = table.type == "co64" ? 8 : 4
            var bytes = Array(table.bytes)
            for position in stride(from: 8, through: bytes.count - size, by: size) {
                let old = Int64(clamping: bytes[...].number(at: position, size: size))
                bytes.put(UInt64(max(0, old + distance)), at: position, size: size)
            }
            table.content = .bytes(bytes[...])
        }
    }

    /// Gives the places 64 bits if one would exceed 32 when they are moved by so much at most.
    static func widen(in index: inout MovieBox, forMovingBy distance: Int64) {
        var largest: Int64 = 0
        forEachTable(in: &index) { table in
            if table.type == "co64" { return }
            let bytes = table.bytes
            for position in stride(from: bytes.startIndex + 8, through: bytes.endIndex - 4, by: 4) {
                largest = max(largest, Int64(bytes.number(at: position, size: 4)))
            }
        }
        guard largest + distance > Int64(UInt32.max) else { return }
        forEachTable(in: &index) { table in
            if table.type == "co64" { return }
            let bytes = table.bytes
            var wide = Array(bytes.prefix(8))
            for position in stride(from: bytes.startIndex + 8, through: bytes.endIndex - 4, by: 4) {
                wide.append(bytes.number(at: position, size: 4), size: 8)
            }
            table = MovieBox("co64", wide)
        }
    }
}
