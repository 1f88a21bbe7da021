import FFmpeg
import IngestModel

/// What an encoder's pictures cannot hold of a recording's.
enum Reductions {
    static func of(_ stream: InputStream, by choice: EncoderChoice) -> [Loss] {
        guard let target = PixelFormat(name: choice.pixelFormat) else { return [] }
        var losses: [Loss] = []
        let source = stream.pixelFormat
        // WebM keeps transparency beside the picture, out of the decoder's sight.
        if source.hasAlpha || stream.metadata["alpha_mode"] == "1" {
            losses.append(Loss(what: "transparency", reason: "the codec of the copy has none"))
        }
        if source.depth > target.depth {
            losses.append(
                Loss(what: "\(source.depth) bits a colour", reason: "the copy has \(target.depth)", outcome: .changed))
        }
        if source.isKnown, source.isRGB || source.chromaIsFiner(than: target) {
            losses.append(
                Loss(
                    what: "colour at full resolution (\(source.name))", reason: "the copy has one in four (4:2:0)",
                    outcome: .changed))
        }
        if stream.hasDolbyVision {
            losses.append(Loss(what: "Dolby Vision", reason: "only the picture it builds upon is kept"))
        }
        return losses
    }
}
