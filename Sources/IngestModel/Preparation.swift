/// How the cached copy is made from the recording.
package enum Preparation: Hashable, Codable, Sendable {
    /// Byte for byte.
    case copy
    /// A hard link where recording and cache share a file system and nobody writes the file; else a copy.
    case link
    /// Another container (mp4, index in front), the same streams.
    case remux
    /// Encoded anew.
    case compress(CompressSettings)

    /// The extension that the container asks for; `nil` keeps the recording's.
    package var newExtension: String? {
        switch self {
        case .copy, .link: nil
        case .remux, .compress: "mp4"
        }
    }

    /// Whether the media process makes the copy.
    package var needsMedia: Bool { newExtension != nil }
}

/// Whether it is worth having a copy instead of the recording.
package enum CopyWorth {
    /// A copy of this share of the recording's size, or more, is not.
    private static let share = 0.95

    package static func isSmallEnough(_ copy: ByteCount, for recording: ByteCount) -> Bool {
        Double(copy.value) < Double(recording.value) * share
    }
}

/// What `--compress` and the options that refine it ask for.
package struct CompressSettings: Hashable, Codable, Sendable {
    package enum Preset: String, Codable, CaseIterable, Sendable { case fast, balanced, small }
    package enum Codec: String, Codable, CaseIterable, Sendable { case auto, h264, hevc, av1 }
    /// What becomes of the sound: encoded where that saves much, kept where the container can hold it, always encoded, left out.
    package enum Sound: String, Codable, CaseIterable, Sendable { case auto, copy, aac, none }

    package var preset: Preset
    package var codec: Codec
    /// The encoder's constant rate factor; `nil` takes the preset's.
    package var quality: Int?
    /// The longest short side of the displayed picture, in pixels; never enlarges.
    package var maxHeight: Int?
    /// The highest frame rate, in frames per second; `nil` leaves every frame.
    package var maxFramesPerSecond: Double?
    /// `nil` stands for `auto`.
    package var sound: Sound?
    /// Whether interlaced pictures stay so; `nil` makes whole pictures of them.
    package var keepsInterlaced: Bool?
    /// What the copy is to weigh at most; `nil` lets the quality decide.
    package var targetSize: ByteCount?

    package init(
        preset: Preset = .balanced, codec: Codec = .auto, quality: Int? = nil, maxHeight: Int? = nil,
        maxFramesPerSecond: Double? = nil, sound: Sound? = nil, keepsInterlaced: Bool? = nil,
        targetSize: ByteCount? = nil
    ) {
        self.preset = preset
        self.codec = codec
        self.quality = quality
        self.maxHeight = maxHeight
        self.maxFramesPerSecond = maxFramesPerSecond
        self.sound = sound
        self.keepsInterlaced = keepsInterlaced
        self.targetSize = targetSize
    }
}

/// The options an item was given; stored with it.
package struct ItemOptions: Hashable, Codable, Sendable {
    package var preparation: Preparation
    /// Bytes a block carries; 1 byte to 1 GiB.
    package var blockSize: ByteCount
    /// Bytes per second for this item; the process's own limit holds besides.
    package var limitRate: ByteCount?
    /// Where the destination's access token stands. The token itself is never stored.
    package var tokenFile: FilePath?
    package var title: String?
    package var parameters: [String: String]
    /// The name at the far end; `nil` takes that of the cached copy.
    package var template: NameTemplate?
    /// What becomes of the recording; `nil` keeps it.
    package var after: AfterAction?
    package var save: SaveHook?
    /// Whether the position is left out of the copy; `nil` keeps it.
    package var stripsLocation: Bool?
    /// Seconds for which the recording stays although its item is done; `nil` with `freesBelow` for as long as there is room.
    package var keepsFor: Double?
    /// The recording goes once less than this is free where it lies.
    package var freesBelow: ByteCount?
    /// Whether it comes from a watched folder, where nobody may be looking; `nil` if not.
    package var isWatched: Bool?
    /// `nil` for the standard.
    package var care: CopyCare?

    package static let defaultBlockSize = ByteCount.mebibytes(1)
    package static let largestBlockSize = ByteCount.gibibytes(1)

    package init(
        preparation: Preparation = .copy, blockSize: ByteCount = Self.defaultBlockSize, limitRate: ByteCount? = nil,
        tokenFile: FilePath? = nil, title: String? = nil, parameters: [String: String] = [:],
        template: NameTemplate? = nil, after: AfterAction? = nil, save: SaveHook? = nil, stripsLocation: Bool? = nil,
        keepsFor: Double? = nil, freesBelow: ByteCount? = nil, isWatched: Bool? = nil, care: CopyCare? = nil
    ) {
        self.preparation = preparation
        self.blockSize = blockSize
        self.limitRate = limitRate
        self.tokenFile = tokenFile
        self.title = title
        self.parameters = parameters
        self.template = template
        self.after = after
        self.save = save
        self.stripsLocation = stripsLocation
        self.keepsFor = keepsFor
        self.freesBelow = freesBelow
        self.isWatched = isWatched
        self.care = care
    }
}
