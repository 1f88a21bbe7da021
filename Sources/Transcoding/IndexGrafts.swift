import FFmpeg
import IngestModel

/// Carries over from a recording's index to the copy's what FFmpeg's muxer does not write.
struct IndexGrafts {
    /// A track of the copy, in the order of its index.
    struct Track {
        /// The recording's, by its id; `nil` where it has no index.
        let source: Int?
        let treatment: CopyPlan.Treatment
        let title: String?
        /// Whether players show it without being asked.
        let isShown: Bool
    }

    let source: MovieBox?
    let tracks: [Track]
    /// Tags of the whole file that are to be kept.
    let tags: [String: String]
    let stripsLocation: Bool

    /// What describes the pictures of a track besides the codec's own head: the second eye, Dolby Vision, light and shape.
    private static let ofCopiedPictures: Set<BoxType> = [
        "lhvC", "vexu", "hfov", "dvcC", "dvvC", "dvwC", "hvcE", "avcE", "vvcE", "amve", "mdcv", "clli", "SmDm", "CoLL",
        "st3d", "sv3d", "clap", "pasp", "fiel", "colr", "ccst", "rrgb",
    ]
    /// The part of it that is true of the same pictures encoded anew.
    private static let ofEncodedPictures: Set<BoxType> = ["st3d", "sv3d", "amve"]
    /// What says how the picture lies around its viewer (Google's Spherical Video V1), beside the track's tables.
    private static let sphere: [UInt8] = [
        0xFF, 0xCC, 0x82, 0x63, 0xF8, 0x55, 0x4A, 0x93, 0x88, 0x14, 0x58, 0x7A, 0x02, 0x52, 0x1F, 0xDD,
    ]

    func apply(to index: inout MovieBox) {
        let places = index.children.indices.filter { index.children[$0].type == "trak" }
        var ids: [Int: Int] = [:]
        for (place, track) in zip(places, tracks) {
            if let old = track.source { ids[old] = SourceTracks.id(of: index.children[place]) }
        }
        for (place, track) in zip(places, tracks) {
            if let title = track.title { name(&index.children[place], title) }
            if !track.isShown { hide(&index.children[place]) }
        }
        if let source {
            let sources = SourceTracks(source)
            for (place, track) in zip(places, tracks) {
                guard let id = track.source, let original = sources[id] else { continue }
                graft(from: original, to: &index.children[place], track.treatment, ids)
            }
        }
        graftUserData(to: &index)
        if let keys = keys.box {
            index.children.removeAll { $0.type == "meta" }
            index.children.append(keys)
        }
    }

    // MARK: - Tracks

    private func graft(
        from original: MovieBox, to track: inout MovieBox, _ treatment: CopyPlan.Treatment, _ ids: [Int: Int]
    ) {
        switch treatment {
        case .carry: carry(original, to: &track, ids)
        case .copy: extend(&track, from: original, Self.ofCopiedPictures)
        case .encodePicture: extend(&track, from: original, Self.ofEncodedPictures)
        case .encodeSound, .convertText: break
        }
    }

    /// Takes away that the track is enabled (ISO/IEC 14496-12, `tkhd`): the muxer enables one of each kind.
    private func hide(_ track: inout MovieBox) {
        track.change(["tkhd"]) { head in
            var bytes = Array(head.bytes)
            guard bytes.count >= 4 else { return }
            bytes[3] &= 0xFE
            head.content = .bytes(bytes[...])
        }
    }

    /// The names of an index's tracks.
    static func names(in index: MovieBox) -> [String?] {
        index.children.filter { $0.type == "trak" }.map { track in
            track.child("udta", "name").map { String(decoding: $0.bytes, as: UTF8.self) }
        }
    }

    /// A track's name (QuickTime File Format, user data `name`).
    private func name(_ track: inout MovieBox, _ title: String) {
        let box = MovieBox("name", Array(title.utf8))
        guard let place = track.children.firstIndex(where: { $0.type == "udta" }) else {
            return track.children.append(MovieBox(type: "udta", content: .boxes([box])))
        }
        track.children[place].children.removeAll { $0.type == box.type }
        track.children[place].children.append(box)
    }

    /// The packets are the recording's own, and so is everything that says what they are.
    private func carry(_ original: MovieBox, to track: inout MovieBox, _ ids: [Int: Int]) {
        if let entries = original.child("mdia", "minf", "stbl", "stsd") {
            replace(in: &track, ["mdia", "minf", "stbl"], "stsd", by: entries)
        }
        if let handler = original.child("mdia", "hdlr") { replace(in: &track, ["mdia"], "hdlr", by: handler) }
        let kinds: Set<BoxType> = ["vmhd", "smhd", "hmhd", "sthd", "nmhd", "gmhd"]
        if let head = original.child("mdia", "minf")?.children.first(where: { kinds.contains($0.type) }) {
            track.change(["mdia", "minf"]) { media in
                media.children.removeAll { kinds.contains($0.type) || $0.type == "hdlr" }
                media.children.insert(head, at: 0)
            }
        }
        if let references = TrackReferences(original).box(ids) {
            track.children.removeAll { $0.type == "tref" }
            track.children.insert(references, at: 1)
        }
    }

    private func replace(in track: inout MovieBox, _ path: ArraySlice<BoxType>, _ type: BoxType, by box: MovieBox) {
        track.change(path) { parent in
            guard let place = parent.children.firstIndex(where: { $0.type == type }) else { return }
            parent.children[place] = box
        }
    }

    /// Adds what the copy's description of its pictures lacks.
    private func extend(_ track: inout MovieBox, from original: MovieBox, _ types: Set<BoxType>) {
        for box in original.children where box.type == "uuid" && box.bytes.starts(with: Self.sphere) {
            track.children.append(box)
        }
        guard let old = SampleEntries(ofTrack: original)?.only, var new = SampleEntries(ofTrack: track)?.only,
            old.isPicture, new.isPicture
        else { return }
        let there = Set(new.extensions.map { $0.type })
        let missing = old.extensions.filter { types.contains($0.type) && !there.contains($0.type) }
        if missing.isEmpty { return }
        new.extensions += missing
        replace(in: &track, ["mdia", "minf", "stbl"], "stsd", by: SampleEntries.table(new.box))
    }

    // MARK: - Tags

    /// Boxes of user data that are not carried over as they are: the muxer writes them itself, or they describe the old file.
    private static let ownUserData: Set<BoxType> = ["meta", "chpl", "WLOC", "LOOP", "SelO", "AllF"]

    private func graftUserData(to index: inout MovieBox) {
        var added: [MovieBox] = []
        for box in source?.child("udta")?.children ?? [] where !Self.ownUserData.contains(box.type) {
            // What a camera writes besides may say anywhere where it was.
            if stripsLocation, !Self.withoutPosition.contains(box.type) { continue }
            // A muxer's name, not the recorder's.
            if box.type == "©swr", box.bytes.dropFirst(4).starts(with: Array("Lavf".utf8)) { continue }
            added.append(box)
        }
        if !stripsLocation, let position = tags["location"], !added.contains(where: { $0.type == "©xyz" }) {
            added.append(Self.text("©xyz", position))
        }
        if added.isEmpty { return }
        guard let place = index.children.firstIndex(where: { $0.type == "udta" }) else {
            return index.children.append(MovieBox(type: "udta", content: .boxes(added)))
        }
        let there = Set(index.children[place].children.map { $0.type })
        index.children[place].children += added.filter { !there.contains($0.type) }
    }

    /// International text (QuickTime File Format, user data text strings), of no language in particular.
    private static func text(_ type: BoxType, _ text: String) -> MovieBox {
        let utf8 = Array(text.utf8.prefix(1000))
        var bytes: [UInt8] = []
        bytes.append(UInt64(utf8.count), size: 2)
        // "und", five bits a letter (ISO/IEC 14496-12, `mdhd`).
        bytes.append(0x55C4, size: 2)
        return MovieBox(type, bytes + utf8)
    }

    /// User data of which everybody knows that it does not tell a position.
    private static let withoutPosition: Set<BoxType> = [
        "©nam", "©ART", "©alb", "©day", "©mak", "©mod", "©swr", "©gen", "©cpy", "©aut", "©dir", "©prd",
    ]

    private var keys: MetadataKeys {
        var keys = source.map { MetadataKeys(ofIndex: $0) } ?? MetadataKeys()
        keys.remove { Tags.isContainersOwn($0) || stripsLocation && Tags.tellsPosition($0) }
        for (name, value) in tags.sorted(by: { $0.key < $1.key }) {
            if !Tags.isWrittenByMuxer(name, in: tags) { keys.add(name, value) }
        }
        if !stripsLocation, let position = tags["location"] { keys.add(Tags.positionKey, position) }
        return keys
    }
}
