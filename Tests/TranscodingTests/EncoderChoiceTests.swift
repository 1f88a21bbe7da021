import IngestModel
import Testing

@testable import Transcoding

/// The presets' table.
@Suite("Presets")
struct EncoderChoiceTests {
    private func choice(
        _ preset: CompressSettings.Preset, _ codec: CompressSettings.Codec, shortSide: Int, tenBits: Bool = false
    ) -> EncoderChoice {
        EncoderChoice.choose(
            CompressSettings(preset: preset, codec: codec), shortSide: shortSide, framesPerSecond: 25,
            needsTenBits: tenBits)
    }

    @Test(
        "each preset has settings of its own, and small asks for less than balanced",
        arguments: [CompressSettings.Codec.h264, .hevc, .av1], [720, 1080, 2160])
    func presetsDiffer(codec: CompressSettings.Codec, shortSide: Int) {
        let made = CompressSettings.Preset.allCases.map { choice($0, codec, shortSide: shortSide) }
        #expect(made[0] != made[1])
        #expect(made[1] != made[2])
        #expect(made[0] != made[2])
        #expect(made[2].quality > made[1].quality)
    }

    @Test("HEVC and AV1 have the figures that were measured")
    func measured() {
        let rows: [(CompressSettings.Preset, CompressSettings.Codec, String, [Int])] = [
            (.balanced, .hevc, "fast", [23, 23]), (.small, .hevc, "medium", [25, 26, 28]),
            (.fast, .av1, "10", [33, 35, 38]), (.balanced, .av1, "8", [30, 32, 35]), (.small, .av1, "8", [34, 36, 39]),
        ]
        for (preset, codec, speed, qualities) in rows {
            for (shortSide, quality) in zip([720, 1080, 2160], qualities) {
                let made = choice(preset, codec, shortSide: shortSide)
                #expect(made.speed == speed)
                #expect(made.quality == quality)
            }
        }
    }

    @Test("more than 8 bits go to HEVC, the rest to H.264, unless a codec is named")
    func automatic() {
        #expect(choice(.balanced, .auto, shortSide: 1080, tenBits: true).codec == .hevc)
        #expect(choice(.balanced, .auto, shortSide: 1080).codec == .h264)
        #expect(choice(.balanced, .h264, shortSide: 1080, tenBits: true).codec == .h264)
    }
}
