/// A file of the ISO base media format as tests see it: enough to make hard ones and to look into copies, and nothing of the
/// program's own code.
package struct MovieBytes {
    package var bytes: [UInt8]

    package init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// Bytes of a description of pictures in front of its boxes, and of a table of descriptions.
    private static let heads = ["avc1": 78, "hvc1": 78, "hev1": 78, "stsd": 8]

    private func number(at place: Int) -> Int {
        bytes[place..<(place + 4)].reduce(0) { $0 << 8 | Int($1) }
    }

    /// The boxes in a range: type, where they begin, how long they are.
    private func boxes(in range: Range<Int>) -> [(type: String, start: Int, length: Int)] {
        var found: [(String, Int, Int)] = []
        var place = range.lowerBound
        while place + 8 <= range.upperBound {
            let length = number(at: place)
            guard length >= 8, place + length <= range.upperBound else { break }
            let type = bytes[(place + 4)..<(place + 8)].map { Character(Unicode.Scalar($0)) }
            found.append((String(type), place, length))
            place += length
        }
        return found
    }

    /// Where the boxes begin that the types lead to, one inside the other; the first of each type, but for `track`.
    private func starts(of path: [String], track: Int = 0) throws -> [Int] {
        var range = 0..<bytes.count
        var starts: [Int] = []
        for type in path {
            let same = boxes(in: range).filter { $0.type == type }
            let wanted = type == "trak" ? track : 0
            guard wanted < same.count else { throw TestFailure("no box \(type) of \(path)") }
            let box = same[wanted]
            starts.append(box.start)
            range = (box.start + 8 + (Self.heads[type] ?? 0))..<(box.start + box.length)
        }
        return starts
    }

    /// The types of the boxes at the top.
    package var order: [String] { boxes(in: 0..<bytes.count).map { $0.type } }

    /// What is in the box that the types lead to; `nil` if there is none.
    package func content(of path: [String], track: Int = 0) -> [UInt8]? {
        guard let start = try? starts(of: path, track: track).last else { return nil }
        return Array(bytes[(start + 8)..<(start + number(at: start))])
    }

    /// Puts a box behind the others in the box that the types lead to. What stands behind is not told: the index has to stand
    /// behind the data.
    package mutating func append(_ type: String, _ content: [UInt8], to path: [String]) throws {
        let starts = try starts(of: path)
        guard let last = starts.last else { throw TestFailure("nowhere to put \(type)") }
        let length = content.count + 8
        let box = Self.bigEndian(length) + Array(type.utf8) + content
        bytes.insert(contentsOf: box, at: last + number(at: last))
        for start in starts { put(number(at: start) + length, at: start) }
    }

    /// Four bytes, big-endian.
    package mutating func put(_ number: Int, at place: Int) {
        bytes.replaceSubrange(place..<(place + 4), with: Self.bigEndian(number))
    }

    package static func bigEndian(_ number: Int) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
    }
}
