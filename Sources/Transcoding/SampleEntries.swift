/// What a track's packets are: ISO/IEC 14496-12, `stsd`.
struct SampleEntries {
    /// One of them.
    struct Entry {
        /// The codec's four-character code.
        let type: BoxType
        /// What every entry of its kind begins with.
        let fixed: ArraySlice<UInt8>
        /// The boxes behind that.
        var extensions: [MovieBox]

        /// Bytes in front of the boxes of an entry for pictures (ISO/IEC 14496-12, `VisualSampleEntry`).
        private static let picture = 78

        init?(picture box: MovieBox) {
            let bytes = box.bytes
            guard bytes.count >= Self.picture,
                let boxes = try? MovieBox.parse(bytes.dropFirst(Self.picture))
            else { return nil }
            type = box.type
            fixed = bytes.prefix(Self.picture)
            extensions = boxes
        }

        /// The codecs' heads by which entries for pictures are told apart from others.
        private static let heads: Set<BoxType> = ["avcC", "hvcC", "av1C", "vpcC", "vvcC", "esds", "d263", "jp2h"]

        /// Whether it describes pictures, as far as its boxes show.
        var isPicture: Bool { extensions.contains { Self.heads.contains($0.type) } }

        var box: MovieBox { MovieBox(type: type, content: .boxes(extensions, behind: fixed)) }
    }

    private let boxes: [MovieBox]

    /// `nil` where the track has none that make sense.
    init?(ofTrack track: MovieBox) {
        guard track.type == "trak", let table = track.child("mdia", "minf", "stbl", "stsd"), table.bytes.count >= 8,
            let boxes = try? MovieBox.parse(table.bytes.dropFirst(8))
        else { return nil }
        self.boxes = boxes
    }

    var count: Int { boxes.count }

    /// The picture's description, if the whole track has but one.
    var only: Entry? { boxes.count == 1 ? Entry(picture: boxes[0]) : nil }

    /// The table with one entry.
    static func table(_ entry: MovieBox) -> MovieBox {
        MovieBox(type: "stsd", content: .boxes([entry], behind: [0, 0, 0, 0, 0, 0, 0, 1]))
    }
}
