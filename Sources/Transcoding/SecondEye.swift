import IngestModel
import SystemIO

/// Spatial video: the picture of the second eye is described by a box of its own beside the first one's, which FFmpeg's
/// demuxer does not read and its muxer does not write.
enum SecondEye {
    /// Longer indexes are not searched.
    private static let longestIndex: Int64 = 64 << 20
    private static let mostBoxes = 64

    /// Whether the file's index (`moov`, ISO/IEC 14496-12) holds a description of a second eye (`lhvC`, ISO/IEC 14496-15).
    /// `false` for what is no such file.
    static func isIn(_ path: FilePath) -> Bool {
        guard let file = try? FileSystem.open(path, .reading), let size = try? file.status().size.value else {
            return false
        }
        var position: Int64 = 0
        for _ in 0..<mostBoxes where position + 8 <= size {
            guard let head = try? file.read(at: position, count: 16), head.count >= 8 else { return false }
            var length = number(head[0..<4])
            if length == 1, head.count == 16 { length = number(head[8..<16]) }
            if length == 0 { length = size - position }
            guard length >= 8, length <= size - position else { return false }
            if head[4..<8].elementsEqual("moov".utf8) {
                guard length <= longestIndex, let index = try? file.read(at: position, count: Int(length)) else {
                    return false
                }
                return index.span.firstOffset(of: Array("lhvC".utf8)) != nil
            }
            position += length
        }
        return false
    }

    /// Big-endian, at most `Int64.max`.
    private static func number(_ bytes: ArraySlice<UInt8>) -> Int64 {
        Int64(clamping: bytes.reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
    }
}
