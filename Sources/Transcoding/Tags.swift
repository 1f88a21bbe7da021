/// Which tags of the recording the copy keeps.
enum Tags {
    /// Tags that describe the old container rather than the recording.
    private static let containersOwn: Set<String> = [
        "major_brand", "minor_version", "compatible_brands", "encoder", "vendor_id", "duration", "bps",
        "number_of_frames",
        "number_of_bytes", "rotate",
    ]

    /// Of the whole file. The position gets the name under which the muxer looks for it.
    static func kept(fromFile metadata: [String: String]) -> [String: String] {
        var kept = metadata.filter { !isContainersOwn($0.key) }
        if kept["location"] == nil, let position = kept["com.apple.quicktime.location.ISO6709"] {
            kept["location"] = position
        }
        return kept
    }

    static func kept(fromStream metadata: [String: String]) -> [String: String] {
        var kept = metadata.filter { !isContainersOwn($0.key) }
        // Handler names come with control bytes in front from some cameras.
        if let name = kept["handler_name"] {
            kept["handler_name"] = String(name.drop { $0.asciiValue.map { $0 < 0x20 } ?? false })
        }
        return kept
    }

    /// Without those that say where something was recorded, under whatever name.
    static func withoutPosition(_ tags: [String: String]) -> [String: String] {
        tags.filter { tag in
            let name = tag.key.lowercased()
            return !["location", "gps", "latitude", "longitude", "iso6709"].contains { name.contains($0) }
        }
    }

    /// Whether the muxer writes the tag in another place or under another name: the time code as a track, the position as
    /// `location`, languages' variants as the tag itself.
    static func isWrittenOtherwise(_ key: String, in tags: [String: String]) -> Bool {
        if key == "timecode" || key == "com.apple.quicktime.location.ISO6709" { return true }
        guard let dash = key.lastIndex(of: "-"), key.distance(from: dash, to: key.endIndex) == 4 else { return false }
        return tags[String(key[..<dash])] == tags[key]
    }

    private static func isContainersOwn(_ key: String) -> Bool {
        let lower = key.lowercased()
        return containersOwn.contains(lower) || lower.hasPrefix("_statistics")
    }
}
