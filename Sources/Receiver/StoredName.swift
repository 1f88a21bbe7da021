package import IngestModel

/// The names of finished files in a receiver's store: safe whatever the client calls them.
package enum StoredName {
    private static let longest = 200

    /// Makes a name out of what the client says: the last component of its file name, without anything that a shell, a
    /// terminal, another system's file names or a hidden file would make trouble with.
    ///
    /// - Parameters:
    ///   - fileName: as the client sent it; may be anything.
    ///   - suffix: the extension the client declared, used where the name has none.
    ///   - random: put before the extension, for stores whose names must not be guessed; empty for none.
    ///   - ordinal: 1 for the first of this name; from 2 on `-2`, `-3` … stands before the extension.
    /// - Returns: a name of at most 200 bytes.
    package static func make(fileName: String, suffix: String, random: String, ordinal: Int) -> FileName {
        let last = fileName.split { $0 == "/" || $0 == "\\" }.last.map(String.init) ?? ""
        var cleaned = clean(last)
        while cleaned.hasPrefix(".") || cleaned.hasPrefix("-") { cleaned.removeFirst() }
        var ending = suffix.lowercased().filter { $0.isLetter || $0.isNumber }
        var stem = cleaned
        if let dot = cleaned.lastIndex(of: "."), dot != cleaned.startIndex {
            stem = String(cleaned[..<dot])
            ending = String(cleaned[cleaned.index(after: dot)...])
        }
        while stem.hasSuffix(".") { stem.removeLast() }
        if stem.isEmpty { stem = "upload" }
        var tail = random.isEmpty ? "" : "-" + random
        if ordinal > 1 { tail += "-\(ordinal)" }
        if !ending.isEmpty, ending.utf8.count <= 16 { tail += "." + ending }
        while stem.utf8.count + tail.utf8.count > longest { stem.removeLast() }
        guard let name = FileName(stem + tail) else { preconditionFailure("a cleaned name is a file name") }
        return name
    }

    /// Letters, digits and marks of every script, `.`, `-`, `_`, and `_` for each run of anything else.
    private static func clean(_ text: String) -> String {
        var out = ""
        for character in text {
            let isKept = character.isLetter || character.isNumber || "._-+".contains(character)
            if isKept {
                out.append(character)
            } else if out.last != "_" {
                out.append("_")
            }
        }
        return out
    }
}
