/// The tracks of a recording's index, by their ids.
struct SourceTracks {
    private let tracks: [(id: Int, box: MovieBox)]

    init(_ index: MovieBox) {
        tracks = index.children.compactMap { box in
            box.type == "trak" ? Self.id(of: box).map { ($0, box) } : nil
        }
    }

    subscript(id: Int) -> MovieBox? { tracks.first { $0.id == id }?.box }

    /// ISO/IEC 14496-12, `tkhd`: two times of four or eight bytes stand in front of it.
    static func id(of track: MovieBox) -> Int? {
        guard let head = track.child("tkhd")?.bytes, let version = head.first else { return nil }
        let id = head.number(at: head.startIndex + (version == 1 ? 20 : 12), size: 4)
        return id == 0 ? nil : Int(id)
    }

    /// Tracks that hold the titles of chapters: others refer to them as such (QuickTime File Format, `chap`).
    var ofChapters: Set<Int> {
        Set(tracks.flatMap { TrackReferences($0.box)["chap"] })
    }

    /// Whether all packets of the track are described by one entry, so that they can be written down again under that.
    func canCarry(_ id: Int) -> Bool {
        guard let track = self[id] else { return false }
        return SampleEntries(ofTrack: track)?.count == 1
    }
}

/// To which other tracks one refers (ISO/IEC 14496-12, `tref`).
struct TrackReferences {
    private(set) var lists: [(type: BoxType, ids: [Int])]

    init(_ track: MovieBox) {
        let boxes = track.child("tref").flatMap { try? MovieBox.parse($0.bytes) } ?? []
        lists = boxes.map { box in
            let bytes = box.bytes
            return (
                box.type,
                stride(from: bytes.startIndex, through: bytes.endIndex - 4, by: 4).map {
                    Int(bytes.number(at: $0, size: 4))
                }
            )
        }
    }

    subscript(type: BoxType) -> [Int] { lists.first { $0.type == type }?.ids ?? [] }

    /// With other ids, and without those that have none; `nil` if nothing is left.
    func box(_ ids: [Int: Int]) -> MovieBox? {
        let boxes = lists.compactMap { list -> MovieBox? in
            let known = list.ids.compactMap { ids[$0] }
            if known.isEmpty { return nil }
            var bytes: [UInt8] = []
            for id in known { bytes.append(UInt64(id), size: 4) }
            return MovieBox(list.type, bytes)
        }
        return boxes.isEmpty ? nil : MovieBox(type: "tref", content: .boxes(boxes))
    }
}
