extension String {
    /// The text without anything that could steer a terminal: control characters (C0, DEL, C1), line and paragraph
    /// separators and the marks that turn the direction of writing. Each run of them becomes one space.
    ///
    /// Everything that comes from a file name, a server or a media file goes through here before a person sees it.
    package var printable: String {
        var out = String.UnicodeScalarView()
        var pending = false
        for scalar in unicodeScalars {
            if scalar.steersTerminals {
                pending = !out.isEmpty
                continue
            }
            if pending { out.append(" ") }
            pending = false
            out.append(scalar)
        }
        return String(out)
    }
}

extension Unicode.Scalar {
    fileprivate var steersTerminals: Bool {
        switch value {
        case 0..<0x20, 0x7F..<0xA0, 0x2028, 0x2029, 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x2069, 0xFEFF: true
        default: false
        }
    }
}
