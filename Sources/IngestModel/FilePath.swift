/// The name of one file in a directory: bytes without NUL or slash, neither `.` nor `..`.
///
/// Linux names are bytes, not text; a name that is not UTF-8 is kept as it is and only shown repaired.
package struct FileName: Hashable, Sendable {
    package let bytes: [UInt8]

    /// Fails for what cannot name a file: nothing, `.`, `..`, and anything with a slash or a NUL in it.
    package init?(bytes: [UInt8]) {
        if bytes.isEmpty || bytes.contains(0) || bytes.contains(UInt8(ascii: "/")) { return nil }
        if bytes == [UInt8(ascii: ".")] || bytes == [UInt8(ascii: "."), UInt8(ascii: ".")] { return nil }
        self.bytes = bytes
    }

    package init?(_ text: String) {
        self.init(bytes: Array(text.utf8))
    }

    /// Everything before the extension's dot. A leading dot starts no extension.
    package var stem: [UInt8] {
        guard let dot = extensionDot else { return bytes }
        return Array(bytes[..<dot])
    }

    /// What stands behind the last dot, without it; empty where there is none.
    package var fileExtension: [UInt8] {
        guard let dot = extensionDot else { return [] }
        return Array(bytes[(dot + 1)...])
    }

    /// The name as text, invalid UTF-8 repaired: for people and servers, never for opening.
    package var text: String { String(decoding: bytes, as: UTF8.self) }

    /// The same name with bytes behind it, such as `.part`.
    package func appending(_ suffix: String) -> FileName {
        FileName(unchecked: bytes + Array(suffix.utf8))
    }

    private init(unchecked bytes: [UInt8]) {
        self.bytes = bytes
    }

    private var extensionDot: Int? {
        guard let dot = bytes.lastIndex(of: UInt8(ascii: ".")), dot > 0, dot < bytes.count - 1 else { return nil }
        return dot
    }
}

/// A path as the kernel knows it: bytes without NUL, never empty, not necessarily UTF-8.
package struct FilePath: Hashable, Sendable {
    package let bytes: [UInt8]

    /// Fails for an empty path and for one with a NUL in it.
    package init?(bytes: [UInt8]) {
        if bytes.isEmpty || bytes.contains(0) { return nil }
        self.bytes = bytes
    }

    package init?(_ text: String) {
        self.init(bytes: Array(text.utf8))
    }

    package static let root = FilePath(unchecked: [slash])

    package var isAbsolute: Bool { bytes.first == Self.slash }

    /// The path as text, invalid UTF-8 repaired: for people, never for opening.
    package var text: String { String(decoding: bytes, as: UTF8.self) }

    /// The last component, or `nil` where there is none (`/`, `a/..`).
    package var name: FileName? {
        let trimmed = trimmedBytes
        let start = trimmed.lastIndex(of: Self.slash).map { $0 + 1 } ?? 0
        return FileName(bytes: Array(trimmed[start...]))
    }

    /// The directory that holds the last component; `.` for a bare name, `/` for the root.
    package var parent: FilePath {
        let trimmed = trimmedBytes
        guard let cut = trimmed.lastIndex(of: Self.slash) else { return FilePath(unchecked: [UInt8(ascii: ".")]) }
        return cut == 0 ? .root : FilePath(unchecked: Array(trimmed[..<cut]))
    }

    private static let plain = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/".utf8)

    /// As it stands in a URL (RFC 3986); slashes stay.
    package var percentEncoded: String {
        bytes.map { Self.plain.contains($0) ? String(Unicode.Scalar($0)) : "%" + Hex.text([$0]).uppercased() }.joined()
    }

    /// As a URL (RFC 8089).
    package var fileURL: String { "file://" + percentEncoded }

    /// Of a URL without a host; `nil` for what is none.
    package init?(fileURL text: String) {
        let scheme = "file:///"
        guard text.lowercased().hasPrefix(scheme) else { return nil }
        var rest = text.utf8.dropFirst(scheme.utf8.count - 1)
        var bytes: [UInt8] = []
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard rest.count >= 2, let decoded = Hex.bytes(String(decoding: rest.prefix(2), as: UTF8.self))?.first
            else {
                return nil
            }
            bytes.append(decoded)
            rest = rest.dropFirst(2)
        }
        guard let path = FilePath(bytes: bytes) else { return nil }
        self = path.absolute(in: .root)
    }

    package func appending(_ name: FileName) -> FilePath {
        FilePath(unchecked: trimmedBytes + (trimmedBytes == [Self.slash] ? [] : [Self.slash]) + name.bytes)
    }

    /// Appends a relative path given in the program's own text, such as `ingest/list.sqlite`.
    package func appending(_ relative: StaticString) -> FilePath {
        let text = "\(relative)"
        return FilePath(unchecked: trimmedBytes + (trimmedBytes == [Self.slash] ? [] : [Self.slash]) + Array(text.utf8))
    }

    /// The path itself if it is absolute, else the same below `directory`; `.` and empty components are dropped.
    package func absolute(in directory: FilePath) -> FilePath {
        let whole = isAbsolute ? bytes : directory.bytes + [Self.slash] + bytes
        let parts = whole.split(separator: Self.slash).filter { $0 != [UInt8(ascii: ".")] }
        if parts.isEmpty { return .root }
        return FilePath(unchecked: parts.flatMap { [Self.slash] + Array($0) })
    }

    /// Whether it is the directory itself or lies below it.
    package func isWithin(_ directory: FilePath) -> Bool {
        self == directory || directory == .root
            || bytes.starts(with: directory.bytes) && bytes[directory.bytes.count] == Self.slash
    }

    /// The same path as seen from a directory that it lies below.
    package func relative(to directory: FilePath) -> FilePath? {
        guard self != directory, isWithin(directory) else { return nil }
        return FilePath(bytes: Array(bytes[(directory == .root ? 1 : directory.bytes.count + 1)...]))
    }

    private static let slash = UInt8(ascii: "/")

    private init(unchecked bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// Without slashes at the end, except for the root itself.
    private var trimmedBytes: [UInt8] {
        var end = bytes.count
        while end > 1, bytes[end - 1] == Self.slash { end -= 1 }
        return Array(bytes[..<end])
    }
}

/// As a string where it is UTF-8, else as `{"hex": …}`, so that every path survives JSON.
extension FilePath: Codable {
    private enum Key: String, CodingKey { case hex }

    package init(from decoder: any Decoder) throws {
        let bytes: [UInt8]?
        if let text = try? decoder.singleValueContainer().decode(String.self) {
            bytes = Array(text.utf8)
        } else {
            bytes = Hex.bytes(try decoder.container(keyedBy: Key.self).decode(String.self, forKey: .hex))
        }
        guard let bytes, let path = FilePath(bytes: bytes) else {
            throw DecodingError.dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: "not a path"))
        }
        self = path
    }

    package func encode(to encoder: any Encoder) throws {
        if let text = String(validating: bytes, as: UTF8.self) {
            var container = encoder.singleValueContainer()
            try container.encode(text)
        } else {
            var container = encoder.container(keyedBy: Key.self)
            try container.encode(Hex.text(bytes), forKey: .hex)
        }
    }
}
