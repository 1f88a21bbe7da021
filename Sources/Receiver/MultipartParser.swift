import SystemIO

/// Takes what a `multipart/form-data` body (RFC 7578, RFC 2046) consists of.
package protocol MultipartTarget: AnyObject {
    /// A part begins; `fileName` is `nil` for a plain field. Both are hostile until checked.
    func partBegan(name: String, fileName: String?)
    func partContinues(_ bytes: Span<UInt8>)
    func partEnded()
}

/// The body is no `multipart/form-data` of this boundary.
package struct MultipartError: Error, Equatable {
    package let reason: String

    package init(reason: String) {
        self.reason = reason
    }
}

/// Reads a `multipart/form-data` body piece by piece, however it is cut, keeping no more than a part's head.
package struct MultipartParser {
    private enum State {
        /// In front of a delimiter: in a part's content, or before the first part.
        case content(isPart: Bool)
        /// Behind a delimiter: two dashes end the body, a line end begins a part.
        case afterDelimiter
        case head
        case finished
    }

    private static let longestHead = 8 << 10

    /// The line end belongs to the delimiter, not to the content before it.
    private let delimiter: [UInt8]
    private var state = State.content(isPart: false)
    /// Bytes that could not be judged yet. The first delimiter has no line end before it, so one is lent to it.
    private var held: [UInt8] = Array("\r\n".utf8)

    package init(boundary: String) {
        delimiter = Array("\r\n--\(boundary)".utf8)
    }

    /// The boundary that a `Content-Type` names, or `nil` if it is not `multipart/form-data` with a sound one.
    package static func boundary(inContentType text: String) -> String? {
        let parts = text.split(separator: ";").map { $0.trimmingSpaces }
        guard parts.first?.lowercased() == "multipart/form-data" else { return nil }
        for part in parts.dropFirst() where part.lowercased().hasPrefix("boundary=") {
            var value = String(part.dropFirst("boundary=".count))
            if value.count >= 2, value.hasPrefix("\""), value.hasSuffix("\"") {
                value = String(value.dropFirst().dropLast())
            }
            let isSound = (1...70).contains(value.utf8.count) && value.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
            return isSound ? value : nil
        }
        return nil
    }

    package var isFinished: Bool {
        if case .finished = state { true } else { false }
    }

    /// Takes the next bytes of the body.
    package mutating func consume(_ piece: Span<UInt8>, _ target: some MultipartTarget) throws(MultipartError) {
        var position = 0
        while position < piece.count {
            switch state {
            case .content(let isPart):
                position = consumeContent(piece, from: position, isPart ? target : nil)
            case .afterDelimiter:
                held.append(piece[position])
                position += 1
                try leaveDelimiter()
            case .head:
                held.append(piece[position])
                position += 1
                try leaveHead(target)
            case .finished:
                // What follows the last delimiter is to be ignored (RFC 2046, section 5.1.1).
                return
            }
        }
    }

    /// Takes content up to the delimiter; returns where in the piece to go on.
    private mutating func consumeContent(
        _ piece: Span<UInt8>, from start: Int, _ target: (some MultipartTarget)?
    ) -> Int {
        if !held.isEmpty {
            // A delimiter may have begun in what was held back: look at it together with as much as could end it.
            let borrowed = min(delimiter.count, piece.count - start)
            for index in start..<(start + borrowed) { held.append(piece[index]) }
            if let found = held.span.firstOffset(of: delimiter) {
                target?.partContinues(held.span.extracting(..<found))
                let behind = held.count - found - delimiter.count
                endContent(target)
                return start + borrowed - behind
            }
            guard borrowed == delimiter.count else {
                // The piece is too short to decide.
                let decided = max(0, held.count - delimiter.count + 1)
                target?.partContinues(held.span.extracting(..<decided))
                held.removeFirst(decided)
                return start + borrowed
            }
            target?.partContinues(held.span.extracting(..<(held.count - borrowed)))
            held = []
        }
        if let found = piece.firstOffset(of: delimiter, from: start) {
            target?.partContinues(piece.extracting(start..<found))
            endContent(target)
            return found + delimiter.count
        }
        let decided = max(start, piece.count - delimiter.count + 1)
        target?.partContinues(piece.extracting(start..<decided))
        for index in decided..<piece.count { held.append(piece[index]) }
        return piece.count
    }

    private mutating func endContent(_ target: (some MultipartTarget)?) {
        target?.partEnded()
        held = []
        state = .afterDelimiter
    }

    private mutating func leaveDelimiter() throws(MultipartError) {
        if held.count < 2 { return }
        switch held {
        case Array("--".utf8): state = .finished
        case Array("\r\n".utf8): state = .head
        default: throw MultipartError(reason: "something else than a line end follows a boundary")
        }
        held = []
    }

    private mutating func leaveHead(_ target: some MultipartTarget) throws(MultipartError) {
        guard held.count <= Self.longestHead else { throw MultipartError(reason: "the head of a part is too long") }
        guard held.suffix(4) == Array("\r\n\r\n".utf8)[...] else { return }
        let lines = String(decoding: held, as: UTF8.self).split(separator: "\r\n")
        held = []
        guard let line = lines.first(where: { $0.lowercased().hasPrefix("content-disposition:") }),
            let name = Self.parameter("name", in: line)
        else { throw MultipartError(reason: "a part has no name") }
        state = .content(isPart: true)
        target.partBegan(name: name, fileName: Self.parameter("filename", in: line))
    }

    /// A parameter of a `Content-Disposition` line: a quoted string, whose quotes and line ends browsers write as `%22`,
    /// `%0D` and `%0A`, others with a backslash; or a bare word.
    private static func parameter(_ name: String, in line: Substring) -> String? {
        var rest = line[...]
        while let semicolon = rest.firstIndex(of: ";") {
            rest = rest[rest.index(after: semicolon)...].drop { $0 == " " || $0 == "\t" }
            guard let equals = rest.firstIndex(of: "=") else { return nil }
            let isWanted = rest[..<equals].lowercased() == name
            let (value, behind) = value(rest[rest.index(after: equals)...])
            if isWanted { return value }
            rest = behind
        }
        return nil
    }

    private static func value(_ text: Substring) -> (value: String, behind: Substring) {
        guard text.first == "\"" else {
            let end = text.firstIndex(of: ";") ?? text.endIndex
            return (text[..<end].trimmingSpaces, text[end...])
        }
        var value = ""
        var index = text.index(after: text.startIndex)
        while index < text.endIndex, text[index] != "\"" {
            if text[index] == "\\", text.index(after: index) < text.endIndex { index = text.index(after: index) }
            value.append(text[index])
            index = text.index(after: index)
        }
        for (code, character) in [("%22", "\""), ("%0D", "\r"), ("%0A", "\n")] {
            value = value.split(separator: code, omittingEmptySubsequences: false).joined(separator: character)
        }
        return (value, index < text.endIndex ? text[text.index(after: index)...] : text[index...])
    }
}

extension Substring {
    fileprivate var trimmingSpaces: String {
        let start = drop { $0 == " " || $0 == "\t" }
        let end = start.lastIndex { $0 != " " && $0 != "\t" }
        return end.map { String(start[...$0]) } ?? ""
    }
}
