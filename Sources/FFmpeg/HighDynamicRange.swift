import CFFmpeg

/// The screen on which a picture was made (SMPTE ST 2086).
package struct MasteringDisplay: Equatable, Sendable {
    let value: AVMasteringDisplayMetadata

    /// As far as the encoders' steps tell them apart.
    package static func == (left: MasteringDisplay, right: MasteringDisplay) -> Bool { left.forX265 == right.forX265 }

    init?(_ bytes: UnsafePointer<UInt8>, size: Int) {
        guard size >= MemoryLayout<AVMasteringDisplayMetadata>.size else { return nil }
        value = UnsafeRawPointer(bytes).loadUnaligned(as: AVMasteringDisplayMetadata.self)
        if value.has_primaries == 0 || value.has_luminance == 0 { return nil }
    }

    /// As x265 wants it: chromaticities in steps of 0.00002, luminance in steps of 0.0001 cd/m².
    package var forX265: String { written({ "\(Self.steps($0, 50_000))" }, { "\(Self.steps($0, 10_000))" }) }

    /// As SVT-AV1 wants it.
    package var forSVTAV1: String { written(Self.decimal, Self.decimal) }

    private func written(_ place: (AVRational) -> String, _ luminance: (AVRational) -> String) -> String {
        let (red, green, blue) = value.display_primaries
        let white = value.white_point
        return "G(\(place(green.0)),\(place(green.1)))B(\(place(blue.0)),\(place(blue.1)))"
            + "R(\(place(red.0)),\(place(red.1)))WP(\(place(white.0)),\(place(white.1)))"
            + "L(\(luminance(value.max_luminance)),\(luminance(value.min_luminance)))"
    }

    private static func steps(_ number: AVRational, _ perUnit: Double) -> Int {
        let value = av_q2d(number) * perUnit
        return value.isFinite && value.magnitude < 1e12 ? Int(value.rounded()) : 0
    }

    private static func decimal(_ number: AVRational) -> String {
        let steps = steps(number, 100_000)
        let digits = String(abs(steps) % 100_000)
        return "\(steps / 100_000)." + String(repeating: "0", count: 5 - digits.count) + digits
    }
}

/// How bright the brightest pixel, and the brightest picture on average, of a recording are, in cd/m² (CTA-861.3).
package struct ContentLight: Equatable, Sendable {
    let value: AVContentLightMetadata

    package static func == (left: ContentLight, right: ContentLight) -> Bool {
        left.brightestPixel == right.brightestPixel && left.brightestPicture == right.brightestPicture
    }

    init?(_ bytes: UnsafePointer<UInt8>, size: Int) {
        guard size >= MemoryLayout<AVContentLightMetadata>.size else { return nil }
        value = UnsafeRawPointer(bytes).loadUnaligned(as: AVContentLightMetadata.self)
    }

    package var brightestPixel: Int { Int(value.MaxCLL) }
    package var brightestPicture: Int { Int(value.MaxFALL) }
}
