import FFmpeg
import IngestModel

/// What is in a recording, and what would become of it.
enum Probe {
    static func report(
        on path: FilePath, settings: CompressSettings, headIsRead: () -> Void
    ) throws(Fault) -> MediaReport {
        let input = try Source.open(path, headIsRead: headIsRead)
        let plan: CopyPlan?
        var objection: String?
        do {
            plan = try CopyPlan.make(for: input, settings: settings)
        } catch  where error.code == .nothingToEncode {
            plan = nil
            objection = error.reason
        }
        let kept = Tags.kept(fromFile: input.metadata)
        return MediaReport(
            container: input.formatName, duration: input.duration, creationTime: kept["creation_time"],
            hasLocation: kept["location"] != nil,
            streams: input.streams.map { stream in
                MediaReport.Stream(
                    index: stream.index, kind: stream.kind.rawValue, codec: stream.codecName.printable,
                    detail: detail(of: stream), language: stream.metadata["language"]?.printable,
                    plan: treatment(of: stream, in: plan))
            },
            losses: plan?.losses ?? [], objection: objection)
    }

    private static func detail(of stream: InputStream) -> String {
        switch stream.kind {
        case .video:
            let rate = CopyPlan.frameRate(of: stream).value
            var parts = ["\(stream.width)×\(stream.height)", "\(Decimal.fixed(rate, places: 2)) fps"]
            if stream.pixelFormat.isKnown { parts.append(stream.pixelFormat.name) }
            if stream.rotation != 0 { parts.append("turned by \(Decimal.fixed(-stream.rotation, places: 0))°") }
            if stream.isInterlaced { parts.append("interlaced") }
            if stream.isHighDynamicRange { parts.append("HDR") }
            return parts.joined(separator: ", ")
        case .audio: return "\(stream.sampleRate) Hz, \(stream.channelLayout)"
        default: return stream.tag.printable
        }
    }

    private static func treatment(of stream: InputStream, in plan: CopyPlan?) -> String {
        if let video = plan?.video, video.stream.index == stream.index {
            switch video.treatment {
            case .copy: return "copied"
            case .encode(let choice, let geometry):
                let size = geometry.isScaled || geometry.isPadded ? ", \(geometry.width)×\(geometry.height)" : ""
                return "encoded with \(choice.summary)\(size)"
            }
        }
        if let audio = plan?.audio.first(where: { $0.stream.index == stream.index }) {
            switch audio.treatment {
            case .copy: return "copied"
            case .encode(let bitRate, _): return "encoded to AAC at \(bitRate / 1000) kbit/s"
            }
        }
        if stream.tag == "tmcd" { return "time code kept" }
        return plan == nil ? "not possible" : "lost"
    }
}
