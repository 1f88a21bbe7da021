import FFmpeg
import IngestModel

/// What became of a track, in words.
enum TrackWords {
    /// A stream of the recording, such as `stream 3 (data, gpmd)`.
    static func name(of stream: InputStream) -> String {
        "stream \(stream.index) (\(stream.kind.rawValue), \(stream.codecName))"
    }

    static func summary(of track: CopyPlan.Track) -> MediaSummary.Track {
        let stream = track.stream
        let detail =
            switch stream.kind {
            case .video: "\(stream.width)×\(stream.height)"
            case .audio: "\(stream.sampleRate) Hz \(stream.channelLayout)"
            default: stream.metadata["language"] ?? ""
            }
        func made(_ codec: String, _ detail: String, _ treatment: String) -> MediaSummary.Track {
            MediaSummary.Track(
                kind: stream.kind.rawValue, codec: codec.printable, detail: detail.printable, treatment: treatment)
        }
        return switch track.treatment {
        case .copy: made(stream.codecName, detail, "copied")
        case .carry: made(stream.codecName, detail, "carried over")
        case .encodePicture(let choice, let geometry):
            made("\(choice.codec)", "\(geometry.width)×\(geometry.height)", "encoded (\(choice.summary))")
        case .encodeSound: made("aac", detail, "encoded (aac)")
        case .convertText: made("mov_text", detail, "converted from \(stream.codecName.printable)")
        }
    }

    /// What `probe` says.
    static func prediction(for track: CopyPlan.Track) -> String {
        switch track.treatment {
        case .copy: return "copied"
        case .carry: return "carried over as it is"
        case .encodePicture(let choice, let geometry):
            let size = geometry.isScaled || geometry.isPadded ? ", \(geometry.width)×\(geometry.height)" : ""
            return "encoded with \(choice.summary)\(size)"
        case .encodeSound(let bitRate, _): return "encoded to AAC at \(bitRate / 1000) kbit/s"
        case .convertText: return "converted to mov_text"
        }
    }
}
