/// What the media process is asked to do; one JSON object on its standard input.
package enum MediaRequest: Hashable, Codable, Sendable {
    /// Say what is in the file and what `settings` would make of it.
    case probe(input: FilePath, settings: CompressSettings)
    /// Make the copy.
    case prepare(MediaJob)
}

/// One copy to be made by the media process.
package struct MediaJob: Hashable, Codable, Sendable {
    package let input: FilePath
    /// Exists already, empty, private, and is written over.
    package let output: FilePath
    /// `nil` changes the container only.
    package var settings: CompressSettings?
    /// Threads of the video encoder; fixed, because the bytes depend on it.
    package let threads: Int
    /// The process's nice value; `nil` leaves it.
    package let niceness: Int?
    /// Whether tags that say where it was recorded are left out.
    package let stripsLocation: Bool
    package let care: CopyCare

    package init(
        input: FilePath, output: FilePath, settings: CompressSettings?, threads: Int, niceness: Int?,
        stripsLocation: Bool = false, care: CopyCare = .standard
    ) {
        self.care = care
        self.input = input
        self.output = output
        self.settings = settings
        self.threads = threads
        self.niceness = niceness
        self.stripsLocation = stripsLocation
    }
}

/// What the media process says; one JSON object a line on its standard output.
package enum MediaEvent: Hashable, Codable, Sendable {
    case progress(MediaProgress)
    case loss(Loss)
    /// The kernel would not take these away from the process that works on a hostile file.
    case unfenced([String])
    case probed(MediaReport)
    /// What the copy that is begun now is expected to be.
    case expected(CopyExpectation)
    case made(MediaSummary)
    /// No copy was made: it would hardly be smaller.
    case notWorthwhile(CopyForecast)
    case failed(Fault)
}

/// What short pieces say of a copy that is made.
package struct CopyExpectation: Hashable, Codable, Sendable {
    package let size: ByteCount
    /// Of encoding, on this machine as busy as it is.
    package let seconds: Double

    package init(size: ByteCount, seconds: Double) {
        self.size = size
        self.seconds = seconds
    }
}

/// What short pieces say of a copy that was not made.
package struct CopyForecast: Hashable, Codable, Sendable {
    /// Of the copy.
    package let size: ByteCount
    /// Whether another container would make it play in more places, with the same streams.
    package let isWorthRemuxing: Bool

    package init(size: ByteCount, isWorthRemuxing: Bool) {
        self.size = size
        self.isWorthRemuxing = isWorthRemuxing
    }
}

/// How far a copy is.
package struct MediaProgress: Hashable, Codable, Sendable {
    package enum Stage: String, Codable, Sendable { case encoding, finishing, checking }

    package let stage: Stage
    /// 0 … 1.
    package let fraction: Double
    /// Frames of video encoded so far.
    package let frames: Int64

    package init(stage: Stage, fraction: Double, frames: Int64) {
        self.stage = stage
        self.fraction = fraction
        self.frames = frames
    }
}

/// What was made, in a person's terms; stored with the item.
package struct MediaSummary: Hashable, Codable, Sendable {
    package struct Track: Hashable, Codable, Sendable {
        /// `video` or `audio`.
        package let kind: String
        package let codec: String
        /// Such as `1920×1080`, `48000 Hz stereo`.
        package let detail: String
        /// What was done with it: `encoded (libx264, crf 22)`, `copied`.
        package let treatment: String

        package init(kind: String, codec: String, detail: String, treatment: String) {
            self.kind = kind
            self.codec = codec
            self.detail = detail
            self.treatment = treatment
        }
    }

    package let container: String
    /// Seconds.
    package let duration: Double
    package let videoFrames: Int64
    package let tracks: [Track]
    /// Properties of the recording that were found in the copy as they were; `nil` in entries of older lists.
    package var kept: [String]?
    /// What is wrong with the recording, of which only a part could be saved.
    package var damage: String?

    package init(container: String, duration: Double, videoFrames: Int64, tracks: [Track]) {
        self.container = container
        self.duration = duration
        self.videoFrames = videoFrames
        self.tracks = tracks
    }
}

/// What `ingest probe` prints.
package struct MediaReport: Hashable, Codable, Sendable {
    package struct Stream: Hashable, Codable, Sendable {
        package let index: Int
        package let kind: String
        package let codec: String
        package let detail: String
        package let language: String?
        /// What `--compress` would do with it.
        package let plan: String

        package init(index: Int, kind: String, codec: String, detail: String, language: String?, plan: String) {
            self.index = index
            self.kind = kind
            self.codec = codec
            self.detail = detail
            self.language = language
            self.plan = plan
        }
    }

    package let container: String
    /// Seconds; `nil` where the container does not say.
    package let duration: Double?
    package let creationTime: String?
    package let hasLocation: Bool
    package let streams: [Stream]
    package let losses: [Loss]
    /// Why `--compress` cannot be, where it cannot.
    package let objection: String?

    package init(
        container: String, duration: Double?, creationTime: String?, hasLocation: Bool, streams: [Stream],
        losses: [Loss], objection: String?
    ) {
        self.container = container
        self.duration = duration
        self.creationTime = creationTime
        self.hasLocation = hasLocation
        self.streams = streams
        self.losses = losses
        self.objection = objection
    }
}
