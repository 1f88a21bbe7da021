import IngestModel
import IngestTestSupport
import Testing

@Suite("Recording groups")
struct RecordingGroupsTests {
    /// Files and their roles; all of one line are one recording, all lines are different ones.
    private static let recordings: [[(String, RecordingRole)]] = [
        [
            ("100GOPRO/GX010123.MP4", .clip(chapter: 1)), ("100GOPRO/GX020123.MP4", .clip(chapter: 2)),
            ("100GOPRO/GX120123.MP4", .clip(chapter: 12)), ("100GOPRO/GL010123.LRV", .proxy),
            ("100GOPRO/GX010123.THM", .sidecar),
        ],
        [("100GOPRO/GX010124.MP4", .clip(chapter: 1)), ("100GOPRO/GL010124.LRV", .proxy)],
        [("101GOPRO/GX010123.MP4", .clip(chapter: 1))],
        [
            ("100GOPRO/GOPR0123.MP4", .clip(chapter: 1)), ("100GOPRO/GP010123.MP4", .clip(chapter: 2)),
            ("100GOPRO/GP020123.MP4", .clip(chapter: 3)), ("100GOPRO/GOPR0123.THM", .sidecar),
            ("100GOPRO/GOPR0123.LRV", .proxy), ("100GOPRO/GOPR0123.WAV", .sound),
        ],
        [("D/DJI_0001.MP4", .clip(chapter: 1)), ("D/DJI_0001.SRT", .sidecar), ("D/DJI_0001.LRF", .proxy)],
        [
            ("PRIVATE/AVCHD/BDMV/STREAM/00000.MTS", .clip(chapter: 1)),
            ("PRIVATE/AVCHD/BDMV/CLIPINF/00000.CPI", .sidecar),
        ],
        [("PRIVATE/AVCHD/BDMV/STREAM/00001.MTS", .clip(chapter: 1))],
        [
            ("PRIVATE/M4ROOT/CLIP/C0001.MP4", .clip(chapter: 1)), ("PRIVATE/M4ROOT/CLIP/C0001M01.XML", .sidecar),
            ("PRIVATE/M4ROOT/THMBNL/C0001T01.JPG", .sidecar), ("PRIVATE/M4ROOT/SUB/C0001S03.MP4", .proxy),
        ],
        [("flat/C0001.MP4", .clip(chapter: 1)), ("flat/C0001M01.XML", .sidecar)],
        [
            ("XDROOT/Clip/A0002.MXF", .clip(chapter: 1)), ("XDROOT/Clip/A0002M01.XML", .sidecar),
            ("XDROOT/Sub/A0002S01.MXF", .proxy),
        ],
        [
            ("CONTENTS/VIDEO/0001AB.MXF", .clip(chapter: 1)), ("CONTENTS/AUDIO/0001AB00.MXF", .sound),
            ("CONTENTS/AUDIO/0001AB01.MXF", .sound), ("CONTENTS/CLIP/0001AB.XML", .sidecar),
            ("CONTENTS/ICON/0001AB.BMP", .sidecar), ("CONTENTS/PROXY/0001AB.MP4", .proxy),
        ],
        [("DCIM/100CANON/MVI_0001.MP4", .clip(chapter: 1)), ("DCIM/100CANON/MVI_0001.THM", .sidecar)],
        [("DCIM/100CANON/MVI_0002.MOV", .clip(chapter: 1))],
        [("DCIM/100APPLE/IMG_0001.MOV", .clip(chapter: 1)), ("DCIM/100APPLE/IMG_0001.AAE", .sidecar)],
        [
            ("I/VID_20240101_120000_00_001.insv", .clip(chapter: 1)),
            ("I/VID_20240101_120000_10_001.insv", .clip(chapter: 1)),
            ("I/LRV_20240101_120000_11_001.insv", .proxy),
        ],
        [("I/VID_20240101_120000_00_002.insv", .clip(chapter: 1))],
        [("R/A001_C001_0101AB_001.R3D", .clip(chapter: 1)), ("R/A001_C001_0101AB_002.R3D", .clip(chapter: 2))],
        [
            ("talk.mp4", .clip(chapter: 1)), ("talk.wav", .sound), ("talk.en.srt", .sidecar),
            ("talk.pt-BR.vtt", .sidecar),
            ("talk.mp4.xmp", .sidecar), ("talk.xml", .sidecar),
        ],
        [("talk 2.mp4", .clip(chapter: 1)), ("talk 2.srt", .sidecar)],
        [("/abs/talk.mp4", .clip(chapter: 1))],
        [("GX0101234.MP4", .clip(chapter: 1))],
    ]

    @Test("Files of one recording have one group, others another")
    func groups() throws {
        var seen: [RecordingGroup: Int] = [:]
        for (number, files) in Self.recordings.enumerated() {
            for (path, role) in files {
                let made = try TestPath.make(path)
                let place = try #require(RecordingPlace(made), "\(path)")
                #expect(place.role == role, "\(path)")
                #expect(seen[place.group, default: number] == number, "\(path)")
                #expect(
                    files.first.flatMap { FilePath($0.0) }.flatMap(RecordingPlace.init)?.group == place.group, "\(path)"
                )
                seen[place.group] = number
            }
        }
        #expect(seen.count == Self.recordings.count)
    }

    @Test(
        "What belongs to none",
        arguments: [
            "notes.txt", "IMG_0001.JPG", "PRIVATE/AVCHD/BDMV/INDEX.BDM", "PRIVATE/AVCHD/BDMV/PLAYLIST/00000.MPL",
            "._GX010123.MP4",
            "GX010123.MP4.part", "/", "M4ROOT/MEDIAPRO.JSON",
        ])
    func none(_ path: String) throws {
        #expect(try RecordingPlace(TestPath.make(path)) == nil)
    }

    @Test("Sound leads where there are no pictures; sidecars and small versions never do")
    func leaders() {
        let clip = RecordingRole.clip(chapter: 2)
        #expect(clip.leads(among: [.sound, clip]))
        #expect(!RecordingRole.sound.leads(among: [.sound, clip]))
        #expect(RecordingRole.sound.leads(among: [.sound, .sidecar]))
        #expect(!RecordingRole.proxy.leads(among: [.proxy, .sidecar]))
        #expect(!RecordingRole.sidecar.leads(among: [.sidecar]))
    }

    @Test("Names that are no text group by their bytes")
    func bytes() throws {
        func place(_ ending: String) throws -> RecordingPlace {
            let path = try #require(FilePath(bytes: [0xFF, 0x2F, 0xFE] + Array(ending.utf8)))
            return try #require(RecordingPlace(path))
        }
        #expect(try place(".mp4").group == place(".srt").group)
        #expect(try place(".mp4").group != place("a.mp4").group)
    }
}
