/// Tags by free names, with values of any type (QuickTime File Format, metadata atoms): what phones write
/// `com.apple.quicktime.…` and `com.android.…` with.
struct MetadataKeys {
    struct Entry {
        /// As a rule `mdta`: the name is a reverse domain name or free text.
        let space: BoxType
        let name: [UInt8]
        /// The `data` boxes, as they are.
        let values: ArraySlice<UInt8>

        var text: String { String(decoding: name, as: UTF8.self) }
    }

    private(set) var entries: [Entry] = []

    static let handler: BoxType = "mdta"

    /// Of an index: it has them in itself, or in its user data.
    init(ofIndex index: MovieBox) {
        for meta in [index.child("meta"), index.child("udta", "meta")] {
            if let meta { entries += Self.entries(of: meta) }
        }
    }

    init() {}

    /// Adds one with text, unless its name is there.
    mutating func add(_ name: String, _ text: String) {
        if entries.contains(where: { $0.text == name }) { return }
        var data: [UInt8] = []
        // Type 1: UTF-8; locale 0: any.
        data.append(1, size: 4)
        data.append(0, size: 4)
        data += Array(text.utf8)
        let box = MovieBox("data", data)
        entries.append(Entry(space: Self.handler, name: Array(name.utf8), values: box.written[...]))
    }

    mutating func remove(where isUnwanted: (String) -> Bool) {
        entries.removeAll { isUnwanted($0.text) }
    }

    /// As QuickTime writes it, without version and flags in front: only so do ffprobe, ExifTool and MediaInfo all find it in an
    /// index. `nil` for none.
    var box: MovieBox? {
        if entries.isEmpty { return nil }
        var handler: [UInt8] = []
        handler.append(0, size: 8)
        handler.append(UInt64(Self.handler.value), size: 4)
        handler.append(0, size: 12)
        handler.append(0, size: 1)
        var keys: [UInt8] = []
        keys.append(0, size: 4)
        keys.append(UInt64(entries.count), size: 4)
        var values: [MovieBox] = []
        for (number, entry) in entries.enumerated() {
            keys.append(UInt64(8 + entry.name.count), size: 4)
            keys.append(UInt64(entry.space.value), size: 4)
            keys += entry.name
            values.append(MovieBox(type: BoxType(UInt32(number + 1)), content: .bytes(entry.values)))
        }
        let list = MovieBox(type: "ilst", content: .boxes(values))
        return MovieBox(
            type: "meta",
            content: .boxes([MovieBox("hdlr", handler), MovieBox("keys", keys), list]))
    }

    // MARK: - Reading

    private static func entries(of meta: MovieBox) -> [Entry] {
        var bytes = meta.bytes
        // QuickTime has no version and flags in front, ISO/IEC 14496-12 has.
        if BoxType(UInt32(truncatingIfNeeded: bytes.number(at: bytes.startIndex + 4, size: 4))) != "hdlr" {
            bytes = bytes.dropFirst(4)
        }
        guard let boxes = try? MovieBox.parse(bytes) else { return [] }
        func part(_ type: BoxType) -> ArraySlice<UInt8> { boxes.first { $0.type == type }?.bytes ?? [] }
        let handler = part("hdlr")
        guard BoxType(UInt32(truncatingIfNeeded: handler.number(at: handler.startIndex + 8, size: 4))) == Self.handler,
            let values = try? MovieBox.parse(part("ilst"))
        else { return [] }
        let names = names(in: part("keys"))
        return values.compactMap { value in
            let number = Int(value.type.value)
            guard number >= 1, number <= names.count else { return nil }
            return Entry(space: names[number - 1].space, name: names[number - 1].name, values: value.bytes)
        }
    }

    private static func names(in keys: ArraySlice<UInt8>) -> [(space: BoxType, name: [UInt8])] {
        // Each entry has the form of a box: its length, the name's space, the name.
        guard let boxes = try? MovieBox.parse(keys.dropFirst(8)) else { return [] }
        return boxes.map { ($0.type, Array($0.bytes)) }
    }
}
