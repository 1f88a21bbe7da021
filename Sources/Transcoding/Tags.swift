/// Which tags of the recording the copy keeps.
enum Tags {
    /// Tags that describe the old container rather than the recording.
    private static let containersOwn: Set<String> = [
        "major_brand", "minor_version", "compatible_brands", "encoder", "vendor_id", "duration", "bps",
        "number_of_frames",
        "number_of_bytes", "rotate",
    ]

    /// Under which Apple's programs look for the position.
    static let positionKey = "com.apple.quicktime.location.ISO6709"

    /// Apple's names of what all players show under others.
    private static let appleNames = [
        "title", "artist", "album", "comment", "copyright", "description", "genre", "keywords",
    ]

    /// Of the whole file. The position, and titles, get the names under which the muxer looks for them.
    static func kept(fromFile metadata: [String: String]) -> [String: String] {
        var kept = metadata.filter { !isContainersOwn($0.key) }
        if kept["location"] == nil, let position = kept[positionKey] { kept["location"] = position }
        for name in appleNames where kept[name] == nil { kept[name] = kept["com.apple.quicktime." + name] }
        return kept
    }

    static func kept(fromStream metadata: [String: String]) -> [String: String] {
        var kept = metadata.filter { !isContainersOwn($0.key) }
        // Handler names come with control bytes in front from some cameras.
        if let name = kept["handler_name"] {
            kept["handler_name"] = String(name.drop { $0.asciiValue.map { $0 < 0x20 } ?? false })
        }
        // Where players that pass over a track's name find one.
        if let title = kept["title"], kept["handler_name"]?.hasSuffix("Handler") ?? true {
            kept["handler_name"] = title
        }
        return kept
    }

    /// Without those that say where something was recorded, under whatever name.
    static func withoutPosition(_ tags: [String: String]) -> [String: String] {
        tags.filter { !tellsPosition($0.key) }
    }

    static func tellsPosition(_ name: String) -> Bool {
        let name = name.lowercased()
        return [
            "location", "gps", "latitude", "longitude", "iso6709", "coordinate", "geo", "position", "place", "city",
            "country", "altitude", "elevation",
        ].contains { name.contains($0) }
    }

    /// Tags of the whole file for which mp4 has a place of its own (iTunes' list, the movie's head, the time code's track).
    private static let muxers: Set<String> = [
        "title", "artist", "album_artist", "composer", "album", "date", "comment", "genre", "copyright", "grouping",
        "lyrics", "description", "synopsis", "show", "episode_id", "network", "keywords", "episode_sort",
        "season_number", "media_type", "hd_video", "gapless_playback", "compilation", "track", "disc",
        "creation_time", "location", "timecode",
    ]

    static func isWrittenByMuxer(_ key: String, in tags: [String: String]) -> Bool {
        muxers.contains(key.lowercased()) || isVariant(key, in: tags)
    }

    /// Demuxers name languages' variants of a tag besides the tag itself.
    private static func isVariant(_ key: String, in tags: [String: String]) -> Bool {
        guard let dash = key.lastIndex(of: "-"), key.distance(from: dash, to: key.endIndex) == 4 else { return false }
        return tags[String(key[..<dash])] == tags[key]
    }

    /// Whether a tag of the whole file says only what another one says as well.
    static func isDerived(_ key: String, in tags: [String: String]) -> Bool { isVariant(key, in: tags) }

    /// Positions and moments may be written with other digits.
    static func meansTheSame(_ key: String, _ left: String, _ right: String) -> Bool {
        guard tellsPosition(key) else { return false }
        let (old, new) = (numbers(in: left), numbers(in: right))
        return !old.isEmpty && zip(old, new).allSatisfy { abs($0 - $1) < 0.0002 } && new.count >= min(2, old.count)
    }

    /// Those of an ISO 6709 position: each begins with its sign.
    private static func numbers(in text: String) -> [Double] {
        var parts: [String] = []
        for character in text {
            if character == "+" || character == "-" {
                parts.append(String(character))
            } else if character.isNumber || character == ".", !parts.isEmpty {
                parts[parts.count - 1].append(character)
            }
        }
        return parts.compactMap { Double($0) }
    }

    /// What streams say besides: the container tells it of the whole file, or it is only the demuxer's.
    static func isOfNoAccount(inStream key: String) -> Bool {
        ["creation_time", "timecode", "reel_name", "alpha_mode", "handler_name", "title"].contains(key)
    }

    /// Languages have codes of two kinds (ISO 639-2, B and T).
    static func isSameLanguage(_ left: String, _ right: String?) -> Bool {
        guard let right else { return false }
        let pairs = [
            "fre": "fra", "ger": "deu", "chi": "zho", "dut": "nld", "cze": "ces", "gre": "ell", "ice": "isl",
            "per": "fas", "rum": "ron", "slo": "slk", "wel": "cym", "alb": "sqi", "arm": "hye", "baq": "eus",
            "bur": "mya", "geo": "kat", "mac": "mkd", "mao": "mri", "may": "msa", "tib": "bod",
        ]
        return (pairs[left] ?? left) == (pairs[right] ?? right)
    }

    static func isContainersOwn(_ key: String) -> Bool {
        let lower = key.lowercased()
        return containersOwn.contains(lower) || lower.hasPrefix("_statistics")
    }
}
