import IngestModel
import SystemIO

/// The boxes of which a file of the ISO base media format consists, without what is in them.
struct MovieFile {
    struct Part: Equatable {
        let type: BoxType
        /// Bytes from the beginning of the file to its own beginning, and how many it has, its head included.
        let offset: Int64
        let length: Int64
    }

    /// Longer indexes are not looked into: one takes some twenty bytes a packet.
    private static let longestIndex: Int64 = 256 << 20
    private static let mostParts = 100_000

    /// The boxes behind `start`, until one does not make sense.
    ///
    /// - Throws: `SystemError` where the file cannot be read.
    static func parts(of file: borrowing FileDescriptor, from start: Int64 = 0) throws(SystemError) -> [Part] {
        let size = try file.status().size.value
        var parts: [Part] = []
        var position = start
        while position + 8 <= size, parts.count < mostParts {
            let head = try file.read(at: position, count: 16)[...]
            guard head.count >= 8 else { break }
            var length = Int64(head.number(at: 0, size: 4))
            if length == 1, head.count == 16 { length = Int64(clamping: head.number(at: 8, size: 8)) }
            if length == 0 { length = size - position }
            guard length >= 8, length <= size - position else { break }
            let type = BoxType(UInt32(truncatingIfNeeded: head.number(at: 4, size: 4)))
            parts.append(Part(type: type, offset: position, length: length))
            position += length
        }
        return parts
    }

    /// The index (`moov`); `nil` for what is no such file, or where it does not make sense.
    static func index(of path: FilePath) -> MovieBox? {
        guard let file = try? FileSystem.open(path, .reading), let parts = try? parts(of: file),
            let part = parts.first(where: { $0.type == "moov" }), part.length <= longestIndex
        else { return nil }
        return try? index(part, of: file)
    }

    /// - Throws: `SystemError` or `MovieBox.Malformed`.
    static func index(_ part: Part, of file: borrowing FileDescriptor) throws -> MovieBox {
        let bytes = try file.read(at: part.offset, count: Int(part.length))
        guard let index = try MovieBox.parse(bytes[...]).first, index.type == "moov" else { throw MovieBox.Malformed() }
        return index
    }
}
