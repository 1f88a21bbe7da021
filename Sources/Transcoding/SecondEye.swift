/// Spatial video: the picture of the second eye is described by a box of its own beside the first one's, which FFmpeg's
/// demuxer does not read and its muxer does not write.
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
