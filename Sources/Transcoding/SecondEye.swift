/// Spatial video: the picture of the second eye is described by a box of its own beside the first one's. FFmpeg's demuxer
/// reads it since 7.1, its muxer writes it only on request, and 5.1 does neither.
enum SecondEye {
    /// Whether a file's index holds a description of a second eye (`lhvC`, ISO/IEC 14496-15).
    static func isIn(_ index: MovieBox?) -> Bool {
        guard let index else { return false }
        return index.children.contains { track in
            guard let entry = SampleEntries(ofTrack: track)?.only else { return false }
            return entry.extensions.contains { $0.type == "lhvC" }
        }
    }
}
