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
        var stem = Array(clean(last).drop { ".-".unicodeScalars.contains($0) || $0.properties.isMark })
        var ending = suffix.lowercased().unicodeScalars.filter { $0.properties.isAlphabetic || $0.properties.isDigit }
        if let dot = stem.lastIndex(of: "."), dot != stem.startIndex {
            ending = .init(stem[(dot + 1)...])
            stem.removeSubrange(dot...)
        }
        while stem.last == "." { stem.removeLast() }
        if stem.isEmpty { stem = Array("upload".unicodeScalars) }
        var tail = random.isEmpty ? "" : "-" + random
        if ordinal > 1 { tail += "-\(ordinal)" }
        let extensionText = text(ending)
        if !extensionText.isEmpty, extensionText.utf8.count <= 16 { tail += "." + extensionText }
        // Scalar by scalar: one character may be longer than a name can be.
        var length = text(stem).utf8.count + tail.utf8.count
        while length > longest { length -= UTF8.width(stem.removeLast()) }
        guard let name = FileName(text(stem) + tail) else { preconditionFailure("a cleaned name is a file name") }
        return name
    }

    /// Whether the name carries 128 random bits, as those do that were given without a token.
    package static func isUnguessable(_ name: String) -> Bool {
        name.split(separator: "-").contains { part in
            part.prefix { $0.isHexDigit }.count == 32 && (part.count == 32 || part.dropFirst(32).first == ".")
        }
    }

    private static func text(_ scalars: some Sequence<Unicode.Scalar>) -> String {
        var view = String.UnicodeScalarView()
        view.append(contentsOf: scalars)
        return String(view)
    }

    /// Letters, digits and marks of every script, `.`, `-`, `_`, `+`, and `_` for each run of anything else.
    private static func clean(_ text: String) -> [Unicode.Scalar] {
        var out: [Unicode.Scalar] = []
        for scalar in text.unicodeScalars {
            let properties = scalar.properties
            let isKept =
                properties.isAlphabetic || properties.isDigit || properties.isMark
                || "._-+".unicodeScalars.contains(scalar)
            if isKept {
                out.append(scalar)
            } else if out.last != "_" {
                out.append("_")
            }
        }
        return out
    }
}

extension Unicode.Scalar.Properties {
    /// Combines with the letter before it.
    fileprivate var isMark: Bool {
        switch generalCategory {
        case .nonspacingMark, .spacingMark, .enclosingMark: true
        default: false
        }
    }

    fileprivate var isDigit: Bool {
        switch generalCategory {
        case .decimalNumber, .letterNumber, .otherNumber: true
        default: false
        }
    }
}
