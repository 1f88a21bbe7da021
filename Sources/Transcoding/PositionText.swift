import FFmpeg
import IngestModel

/// Subtitles into which a drone or camera writes where it is.
enum PositionText {
    private static let words = ["gps", "latitude", "longitude", "lat:", "lon:", "lng:"]

    /// Whether a text sample (3GPP TS 26.245: the length of the text, the text, boxes) tells a position.
    static func isIn(_ packet: Packet) -> Bool {
        let text = String(decoding: packet.bytes.dropFirst(2), as: UTF8.self).lowercased()
        return words.contains { text.contains($0) } || hasPreciseNumber(text)
    }

    /// So many subtitles that were left out.
    static func loss(_ count: Int64) -> Loss {
        Loss(
            what: "\(count) subtitles", reason: "they say where it was recorded, and that was to be left out",
            isAsked: true)
    }

    /// Whether there is a number with three digits or more behind its point: nobody speaks in such numbers.
    private static func hasPreciseNumber(_ text: String) -> Bool {
        var digits = 0
        var isFraction = false
        for character in text {
            if character.isNumber {
                digits += 1
                if isFraction, digits >= 3 { return true }
            } else {
                isFraction = character == "." && digits > 0
                digits = 0
            }
        }
        return false
    }

    /// Whether an attached picture comes with a description of its own, in which a place may stand.
    static func mayBeIn(picture: [UInt8]) -> Bool {
        ["Exif", "eXIf", "ns.adobe.com/xap", "iTXt"].contains { picture.firstRange(of: Array($0.utf8)) != nil }
    }

}
