/// The names of cached copies: `<seconds since 1970>-<original name>`, with a new extension if the container changes.
package enum CachedName {
    /// What an unfinished copy carries behind its name. No other name ends so, else one item's finished copy could be taken
    /// for another's unfinished one.
    package static let partSuffix = ".part"

    /// The longest name a file system takes is 255 bytes; the unfinished copy's name has to fit too.
    package static let longest = 255 - partSuffix.utf8.count

    /// Makes the name of a cached copy.
    ///
    /// - Parameters:
    ///   - seconds: the moment the item was put on the list, in seconds since 1970.
    ///   - original: the recording's name.
    ///   - newExtension: the extension of the copy's container, without dot; `nil` keeps the recording's.
    ///   - ordinal: 1 for the first of this name; from 2 on `-2`, `-3` … stands before the extension.
    /// - Returns: the name, cut in its stem where it would be too long.
    package static func make(
        seconds: Int64, original: FileName, newExtension: String? = nil, ordinal: Int = 1
    ) -> FileName {
        var ending: [UInt8] = ordinal > 1 ? Array("-\(ordinal)".utf8) : []
        let fileExtension = newExtension.map { Array($0.utf8) } ?? original.fileExtension
        if !fileExtension.isEmpty { ending += [UInt8(ascii: ".")] + fileExtension }
        let beginning = Array("\(seconds)-".utf8)
        let stem = original.stem
        let room = longest - beginning.count - ending.count
        // An extension that leaves no room is no extension: the whole name is cut instead.
        if room < 1 {
            let whole = cut(beginning + original.bytes, to: longest - (ordinal > 1 ? "-\(ordinal)".utf8.count : 0))
            return valid(whole + (ordinal > 1 ? Array("-\(ordinal)".utf8) : []))
        }
        return valid(beginning + cut(stem, to: room) + ending)
    }

    /// The name that an unfinished copy is going to have; `nil` for any other name.
    package static func whole(ofUnfinished name: FileName) -> FileName? {
        let suffix = Array(partSuffix.utf8)
        guard name.bytes.suffix(suffix.count) == suffix[...] else { return nil }
        return FileName(bytes: Array(name.bytes.dropLast(suffix.count)))
    }

    /// At most `limit` bytes, cut between characters where the bytes are UTF-8.
    private static func cut(_ bytes: [UInt8], to limit: Int) -> [UInt8] {
        if bytes.count <= limit { return bytes }
        guard let text = String(validating: bytes, as: UTF8.self) else { return Array(bytes[..<limit]) }
        var kept: [UInt8] = []
        for character in text {
            if kept.count + character.utf8.count > limit { break }
            kept += character.utf8
        }
        return kept
    }

    private static func valid(_ made: [UInt8]) -> FileName {
        var bytes = made
        let suffix = Array(partSuffix.utf8)
        if bytes.suffix(suffix.count) == suffix[...] { bytes[bytes.count - suffix.count] = UInt8(ascii: "_") }
        guard let name = FileName(bytes: bytes) else {
            preconditionFailure("digits, a dash and a file name make a file name")
        }
        return name
    }
}
