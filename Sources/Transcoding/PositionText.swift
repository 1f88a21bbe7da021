import FFmpeg

/// Subtitles into which a drone or camera writes where it is.
enum PositionText {
    private static let words = ["gps", "latitude", "longitude", "lat:", "lon:", "lng:"]

    /// Whether a text sample (3GPP TS 26.245: the length of the text, the text, boxes) tells a position.
    static func isIn(_ packet: Packet) -> Bool {
        let text = String(decoding: packet.bytes.dropFirst(2), as: UTF8.self).lowercased()
        return words.contains { text.contains($0) }
    }
}
