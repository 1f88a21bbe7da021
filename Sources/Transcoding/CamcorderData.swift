import FFmpeg
import IngestModel

/// What AVCHD camcorders write between the pictures: date, exposure, model, and where it was recorded ("modified digital video
/// pack metadata", in H.264's user data).
enum CamcorderData {
    private static let mark = Array("MDPM".utf8)
    /// It stands in front of the picture.
    private static let head = 4096

    static func isIn(_ packet: Packet) -> Bool { packet.bytes.prefix(head).firstRange(of: mark) != nil }

    static let loss = Loss(
        what: "the camcorder's own data between the pictures (date, exposure, model)",
        reason: "they go with the pictures as they were encoded; --remux keeps them")

    /// Where the position is to be left out, but pictures stay what they are.
    static let refusal = Fault(
        .nothingToEncode,
        "its camcorder has written its own data between the pictures, and they may say where it was recorded; --compress "
            + "leaves them out")
}
