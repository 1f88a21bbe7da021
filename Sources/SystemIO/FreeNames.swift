package import IngestModel

extension FileName {
    /// `clip.mov`, `clip-2.mov`, `clip-3.mov` …, cut in its stem where it would have more than `limit` bytes.
    package func numbered(_ ordinal: Int, limit: Int = 255) -> FileName {
        var ending = ordinal <= 1 ? [] : Array("-\(ordinal)".utf8)
        if !fileExtension.isEmpty { ending += [UInt8(ascii: ".")] + fileExtension }
        var room = max(1, limit - ending.count)
        // Not in the middle of a character.
        while room > 1, stem.count > room, stem[room] & 0xC0 == 0x80 { room -= 1 }
        return FileName(bytes: Array(stem.prefix(room)) + ending.suffix(limit - 1)) ?? self
    }

    /// Calls with paths of this name, `-2`, `-3` … in the directory, until one is free.
    ///
    /// - Parameters:
    ///   - directory: where.
    ///   - body: takes the name; throws `alreadyExists` where somebody has it.
    /// - Throws: what `body` throws otherwise.
    package func withFreeName(
        in directory: FilePath, _ body: (FilePath) throws(SystemError) -> Void
    ) throws(SystemError) {
        for ordinal in 1...9999 {
            do {
                return try body(directory.appending(numbered(ordinal)))
            } catch {
                guard error.alreadyExists else { throw error }
            }
        }
        throw SystemError("find a free name for", directory.appending(self), code: SystemError.outOfSpaceCode)
    }
}
