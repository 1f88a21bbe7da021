import FFmpeg
import IngestModel

/// What is in a recording, and what would become of it.
enum Probe {
    static func report(
        on path: FilePath, settings: CompressSettings, headIsRead: () -> Void
    ) throws(Fault) -> MediaReport {
        let input = try Source.open(path, headIsRead: headIsRead)
        let index = Source.index(of: path, input)
        let plan: CopyPlan?
        var objection: String?
        do throws(Fault) {
            plan = try CopyPlan.make(
                for: CopyPlan.Request(
                    input: input, index: index, settings: settings, stripsLocation: false))
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
            losses: plan.map { $0.losses + MakersData.losses(of: path, index, stripsLocation: false) } ?? [],
            objection: objection)
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
        guard let plan else { return "not possible" }
        if let track = plan.tracks.first(where: { $0.stream.index == stream.index }) {
            return TrackWords.prediction(for: track)
        }
        if plan.covers.contains(where: { $0.index == stream.index }) { return "kept as a picture" }
        if stream.tag == "tmcd" { return "time code kept" }
        return plan.chapterTitles.contains(stream.index) ? "chapters kept" : "lost"
    }
}
