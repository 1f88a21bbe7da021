import Foundation
import IngestModel
import IngestTestSupport
import Synchronization
import Testing
import Transcoding

/// What is made of recordings, judged by ffprobe.
@Suite("Compressing", .timeLimit(.minutes(5)))
struct TranscodingTests {
    private let making = try? Making()

    private func setUp() throws -> Making { try #require(making) }

    @Test("an ordinary recording: smaller, every frame, every track, index in front, date and place kept")
    func ordinary() async throws {
        let source = try TestPlace.fixture("capture.mov")
        let made = try await setUp().make(source)
        let summary = try made.summary()
        #expect(summary.videoFrames == 150)
        let probed = try await Judge.probe(made.path)
        #expect(probed.streams.map { $0.codecName } == ["h264", "aac"])
        #expect(probed.video.first?.frames == 150 && probed.video.first?.avgFrameRate == "30/1")
        #expect(abs((probed.format?.length ?? 0) - 5) < 0.05)
        #expect(probed.format?.tags?["creation_time"] == "2024-03-01T19:03:50.000000Z")
        #expect(probed.format?.tags?["location"]?.hasPrefix("+48.8577+002.2950") == true)
        let bytes = try made.path.contents()
        #expect(bytes.count < (try source.contents().count))
        let text = String(decoding: bytes.prefix(100_000), as: Unicode.ASCII.self)
        let moov = try #require(text.range(of: "moov")?.lowerBound)
        #expect(text.range(of: "mdat").map { moov < $0.lowerBound } ?? true)
    }

    @Test("irregular times stay exactly what they are, no picture more or less")
    func irregular() async throws {
        let source = try TestPlace.fixture("irregular.mkv")
        let made = try await setUp().make(source)
        let before = try await Judge.times(source, "v")
        let after = try await Judge.times(made.path, "v")
        #expect(before == [0, 0.007, 0.04, 0.073, 0.106, 0.14, 0.5, 0.517, 0.533, 1.2, 1.233, 1.999])
        #expect(after.count == 12)
        for (left, right) in zip(before, after) { #expect(abs(left - right) < 0.0005) }
        #expect(abs((try await Judge.probe(made.path).format?.length ?? 0) - 2) < 0.05)
    }

    @Test("held upright it stays so: the matrix once, the picture not turned besides")
    func upright() async throws {
        let source = try TestPlace.fixture("upright.mov")
        let made = try await setUp().make(source)
        let before = try #require(try await Judge.probe(source).video.first)
        let after = try #require(try await Judge.probe(made.path).video.first)
        #expect(before.rotation == -90 && after.rotation == -90)
        #expect(after.width == 320 && after.height == 180)
    }

    @Test(
        "a size limit looks at the shorter side, keeps the shape, and never enlarges",
        arguments: [
            ("1280x720", 360, 640, 360), ("720x1280", 360, 360, 640), ("640x360", 720, 640, 360),
            ("1001x501", 250, 500, 250),
            ("640x640", 100, 100, 100),
        ])
    func sizes(size: String, limit: Int, width: Int, height: Int) async throws {
        let making = try setUp()
        let source = try await making.record(
            "sized.mkv",
            [
                "-f", "lavfi", "-i",
                "testsrc2=size=1282x1282:rate=5:duration=0.4,scale=\(size.replacingOccurrences(of: "x", with: ":")),format=yuv444p",
                "-c:v", "ffv1",
            ])
        let made = try await making.make(source, CompressSettings(preset: .fast, maxHeight: limit))
        let video = try #require(try await Judge.probe(made.path).video.first)
        #expect(video.width == width && video.height == height)
    }

    @Test("odd sides grow by a repeated line; nothing is cut off")
    func oddSides() async throws {
        let made = try await setUp().make(
            TestPlace.fixture("odd-sides.mkv"), CompressSettings(preset: .fast, quality: 1))
        let video = try #require(try await Judge.probe(made.path).video.first)
        #expect(video.width == 322 && video.height == 182 && video.frames == 10)
        let psnr = try await Judge.tool(
            "ffmpeg",
            [
                "-hide_banner", "-i", made.path.text, "-i", try TestPlace.fixture("odd-sides.mkv").text, "-lavfi",
                "[0:v]crop=321:181:0:0:exact=1,settb=1/1000,setpts=PTS-STARTPTS[a];[1:v]settb=1/1000,setpts=PTS-STARTPTS[b];[a][b]psnr",
                "-f", "null", "-",
            ])
        let average = try #require(psnr.errors.firstMatch(of: /average:([0-9.]+|inf)/)?.1)
        #expect(average == "inf" || (Double(average) ?? 0) > 40, "\(psnr.errors)")
    }

    @Test("sound that begins late stays late: what is heard is where it was")
    func lateSound() async throws {
        let source = try TestPlace.fixture("late-sound.mp4")
        let made = try await setUp().make(source)
        func onset(_ path: FilePath) async throws -> Double {
            // The tone's beginning, on the presentation time line, by ffmpeg's silence detector on sound padded to start at 0.
            let outcome = try await Judge.tool(
                "ffmpeg",
                [
                    "-hide_banner", "-nostdin", "-i", path.text, "-af",
                    "aresample=async=1:first_pts=0,silencedetect=noise=-30dB:d=0.05", "-f", "null", "-",
                ])
            return Double(outcome.errors.firstMatch(of: /silence_end: ([0-9.]+)/)?.1 ?? "") ?? -1
        }
        let before = try await onset(source)
        let after = try await onset(made.path)
        #expect(before > 0.4)
        #expect(abs(before - after) < 0.01, "\(before) \(after)")
        #expect(try await Judge.times(source, "v").count == Judge.times(made.path, "v").count)
    }

    @Test("full range keeps its brightness and its tags")
    func fullRange() async throws {
        let source = try TestPlace.fixture("full-range.mp4")
        let made = try await setUp().make(source)
        let video = try #require(try await Judge.probe(made.path).video.first)
        #expect(
            video.colorRange == "pc" && video.colorPrimaries == "bt709" && video.colorTransfer == "bt709"
                && video.colorSpace == "bt709")
        let before = try await Judge.brightness(source)
        let after = try await Judge.brightness(made.path)
        #expect(abs(before - after) < 1.5, "\(before) \(after)")
    }

    @Test("RGB becomes BT.709 in limited range, and the copy says so")
    func fromRGB() async throws {
        let making = try setUp()
        let source = try await making.record(
            "rgb.mkv",
            ["-f", "lavfi", "-i", "color=red:size=320x180:rate=10:duration=0.3,format=gbrp", "-c:v", "ffv1"])
        let made = try await making.make(source)
        let video = try #require(try await Judge.probe(made.path).video.first)
        #expect(video.colorSpace == "bt709" && video.colorRange == "tv", "\(video)")
        // Red has 63 of 16 … 235 there; by BT.601 it would have 82.
        let brightness = try await Judge.brightness(made.path)
        #expect(abs(brightness - 63) < 2, "\(brightness)")
    }

    @Test("colours that nobody has named stay unnamed")
    func untagged() async throws {
        let made = try await setUp().make(TestPlace.fixture("whole.mp4"))
        let video = try #require(try await Judge.probe(made.path).video.first)
        #expect([nil, "unknown"].contains(video.colorPrimaries) && [nil, "unknown"].contains(video.colorRange))
    }

    @Test("all sound tracks, in order, with their languages and rates; time code and subtitles kept")
    func tracks() async throws {
        let made = try await setUp().make(TestPlace.fixture("two-languages.mov"))
        let probed = try await Judge.probe(made.path)
        #expect(probed.audio.map { $0.tags?["language"] } == ["eng", "fra"])
        #expect(probed.audio.map { $0.sampleRate } == ["48000", "44100"])
        #expect(probed.streams.contains { $0.tags?["timecode"] == "01:02:03:04" })
        #expect(probed.streams.contains { $0.codecName == "mov_text" })
        #expect(made.losses == [])
    }

    @Test("lossless sound goes into another container as it is, or is refused in words", arguments: ["flac", "truehd"])
    func losslessSound(codec: String) async throws {
        let making = try setUp()
        let source = try await making.record(
            "lossless.mka",
            ["-f", "lavfi", "-i", "sine=sample_rate=48000:duration=1", "-ac", "2", "-strict", "-2", "-c:a", codec])
        let made = try await making.make(source, nil)
        if codec == "flac" {
            #expect(try made.summary().tracks.map { $0.treatment } == ["copied"])
            #expect(try await Judge.probe(made.path).audio.map { $0.codecName } == ["flac"])
        } else {
            #expect(made.fault?.reason.contains("mp4 cannot hold its sound (\(codec))") == true, "\(made.last)")
        }
    }

    @Test("AAC is kept as it is where it is good enough, and made anew where it is not")
    func aac() async throws {
        let making = try setUp()
        let kept = try await making.make(TestPlace.fixture("whole.mp4"))
        #expect(try kept.summary().tracks.last?.treatment == "copied")
        func digest(_ path: FilePath) async throws -> String {
            try await Judge.tool(
                "ffmpeg", ["-v", "error", "-i", path.text, "-map", "0:a", "-c", "copy", "-f", "md5", "-"]
            ).output
        }
        let before = try await digest(TestPlace.fixture("whole.mp4"))
        let after = try await digest(kept.path)
        #expect(before == after)
        let rich = try await making.record(
            "rich.mp4",
            [
                "-f", "lavfi", "-i", "testsrc2=size=64x64:rate=10:duration=1", "-f", "lavfi", "-i",
                "anoisesrc=duration=1:sample_rate=48000", "-c:v", "libx264", "-c:a", "aac", "-b:a", "320k", "-ac", "2",
            ])
        #expect(try await making.make(rich).summary().tracks.last?.treatment == "encoded (aac)")
    }

    @Test("sound alone, picture alone, six channels, one frame")
    func unusual() async throws {
        let making = try setUp()
        let sound = try await Judge.probe(making.make(TestPlace.fixture("sound-only.wav")).path)
        #expect(sound.streams.map { $0.codecName } == ["aac"] && abs((sound.format?.length ?? 0) - 1) < 0.05)
        let silent = try await making.record(
            "silent.mkv", ["-f", "lavfi", "-i", "testsrc2=size=64x64:rate=10:duration=0.1", "-c:v", "ffv1"])
        let one = try await Judge.probe(making.make(silent).path)
        #expect(one.streams.count == 1 && one.video.first?.frames == 1)
        let six = try await making.record(
            "six.mkv",
            [
                "-f", "lavfi", "-i",
                "anoisesrc=duration=1:sample_rate=48000,pan=5.1|c0=c0|c1=c0|c2=c0|c3=c0|c4=c0|c5=c0", "-c:a",
                "pcm_s16le",
            ])
        #expect(try await Judge.probe(making.make(six).path).audio.first?.channels == 6)
    }

    @Test(
        "more than 8 bits go to HEVC in 10 bits; --codec decides otherwise",
        arguments: [
            (CompressSettings.Codec.auto, "hevc", "yuv420p10le"), (.h264, "h264", "yuv420p"),
            (.hevc, "hevc", "yuv420p10le"), (.av1, "av1", "yuv420p10le"),
        ])
    func codecs(codec: CompressSettings.Codec, name: String, pixels: String) async throws {
        let making = try setUp()
        let source = try await making.record(
            "deep.mkv",
            ["-f", "lavfi", "-i", "testsrc2=size=320x180:rate=10:duration=0.5,format=yuv420p10le", "-c:v", "ffv1"])
        let video = try #require(
            try await Judge.probe(making.make(source, CompressSettings(preset: .fast, codec: codec)).path).video.first)
        #expect(video.codecName == name && video.pixFmt == pixels && video.frames == 5)
    }

    @Test("interlaced pictures are deinterlaced, one for one")
    func interlaced() async throws {
        let making = try setUp()
        let source = try await making.record(
            "interlaced.mpg",
            [
                "-f", "lavfi", "-i", "testsrc2=size=320x240:rate=50:duration=1,interlace", "-c:v", "mpeg2video",
                "-flags", "+ilme+ildct", "-top", "1", "-b:v", "2M",
            ])
        let video = try #require(try await Judge.probe(making.make(source).path).video.first)
        #expect(video.frames == 25)
        let (interlaced, progressive) = try await Self.fields(making.make(source).path)
        #expect(progressive > interlaced, "\(interlaced) \(progressive)")
    }

    @Test("many containers do not tell that pictures are interlaced; the pictures do")
    func interlacedUntold() async throws {
        let making = try setUp()
        let source = try await making.record(
            "interlaced.mkv",
            [
                "-f", "lavfi", "-i", "testsrc2=size=320x240:rate=50:duration=1,interlace", "-c:v", "libx264",
                "-pix_fmt", "yuv420p", "-flags", "+ilme+ildct", "-x264opts", "tff", "-field_order", "progressive",
            ])
        let made = try await making.make(source)
        #expect(try await Judge.probe(made.path).video.first?.frames == 25)
        #expect(try await Judge.times(made.path, "v").count == 25)
        let (interlaced, progressive) = try await Self.fields(made.path)
        #expect(progressive > 20 && interlaced < 5, "\(interlaced) \(progressive)")
        let (before, _) = try await Self.fields(source)
        #expect(before > 20, "the source is interlaced")
    }

    /// How many pictures look interlaced, and how many do not, each by itself: a verdict on the first one would count for
    /// those behind it, and libx264 of 5.1 and of 7.1 say differently which field of `tff` pictures comes first.
    private static func fields(_ path: FilePath) async throws -> (interlaced: Int, progressive: Int) {
        let idet = try await Judge.tool(
            "ffmpeg", ["-hide_banner", "-i", path.text, "-vf", "idet", "-f", "null", "-"])
        // ffmpeg 7.1 sets its filters up twice, and the first of them have seen nothing.
        let counts = try #require(
            idet.errors.matches(of: /Single frame detection: TFF: *(\d+) BFF: *(\d+) Progressive: *(\d+)/).last)
        return ((Int(counts.1) ?? 0) + (Int(counts.2) ?? 0), Int(counts.3) ?? 0)
    }

    @Test("channels of which nothing is known stay as they are, each with its high tones", arguments: [4, 6, 8])
    func unknownChannels(count: Int) async throws {
        let making = try setUp()
        let tones = (0..<count).map { "0.2*sin(2*PI*t*\(2000 + 500 * $0))" }.joined(separator: "|")
        let source = try await making.record(
            "channels.wav", ["-f", "lavfi", "-i", "aevalsrc=\(tones):d=1:s=48000", "-c:a", "pcm_s16le"])
        // The header's mask says which channel is which: without it they are just channels.
        var bytes = try source.contents()
        let format = try #require(bytes.firstRange(of: Array("fmt ".utf8))?.lowerBound)
        bytes.replaceSubrange((format + 28)..<(format + 32), with: [0, 0, 0, 0])
        let unknown = try making.directory.write(bytes, to: "unknown.wav")
        let made = try await making.make(unknown)
        #expect(try await Judge.probe(made.path).audio.first?.channels == count, "\(made.last)")
        for channel in 0..<count {
            let loudness = try await Judge.tool(
                "ffmpeg",
                [
                    "-hide_banner", "-i", made.path.text, "-af",
                    "pan=mono|c0=c\(channel),bandpass=f=\(2000 + 500 * channel):w=50,volumedetect", "-f", "null", "-",
                ])
            let mean = try #require(loudness.errors.firstMatch(of: /mean_volume: (-?[0-9.]+) dB/)?.1)
            #expect((Double(mean) ?? -99) > -25, "channel \(channel): \(mean) dB")
        }
    }

    @Test(
        "a container that cannot hold the picture or the sound as they are is not made", arguments: ["prores", "h263"])
    func impossibleRemux(codec: String) async throws {
        let making = try setUp()
        let source = try await making.record(
            "source.mov",
            [
                "-f", "lavfi", "-i", "testsrc2=size=352x288:rate=10:duration=0.5", "-f", "lavfi", "-i",
                "sine=duration=0.5", "-c:v", codec, "-c:a", "aac",
            ])
        let fault = try await making.make(source, nil).fault
        #expect(
            fault?.code == .nothingToEncode && fault?.reason.contains("mp4 cannot hold its picture (\(codec))") == true)
        let camera = try await making.record(
            "camera.mov",
            [
                "-f", "lavfi", "-i", "testsrc2=size=64x64:rate=10:duration=0.5", "-f", "lavfi", "-i",
                "sine=duration=0.5", "-c:v", "libx264", "-c:a", "pcm_s16le",
            ])
        let sound = try await making.make(camera, nil).fault
        #expect(sound?.reason.contains("mp4 cannot hold its sound (pcm_s16le)") == true)
        #expect(try await making.make(camera).summary().tracks.count == 2)
    }

    @Test("what the encoder's pictures cannot hold is said")
    func reductions() async throws {
        let making = try setUp()
        func losses(_ format: String, _ settings: CompressSettings) async throws -> [String] {
            let source = try await making.record(
                "source.mkv",
                ["-f", "lavfi", "-i", "testsrc2=size=64x64:rate=10:duration=0.3,format=\(format)", "-c:v", "ffv1"])
            return try await making.make(source, settings).losses.map { $0.what }
        }
        let fast = CompressSettings(preset: .fast)
        #expect(try await losses("yuv420p", fast) == [])
        #expect(try await losses("gray", fast) == [])
        #expect(try await losses("yuv420p10le", fast) == [])
        #expect(try await losses("yuv422p", fast) == ["colour at full resolution (yuv422p)"])
        #expect(
            try await losses("yuva444p10le", CompressSettings(preset: .fast, codec: .h264)) == [
                "transparency", "10 bits a colour", "colour at full resolution (yuva444p10le)",
            ])
    }

    @Test(
        "a frame limit that does not divide the rate is kept on average",
        arguments: [(24.0, 120), (29.97, 150), (25, 125), (60, 150)])
    func oddFrameLimits(limit: Double, frames: Int) async throws {
        let made = try await setUp().make(
            TestPlace.fixture("capture.mov"), CompressSettings(preset: .fast, maxFramesPerSecond: limit))
        let count = try await Judge.times(made.path, "v").count
        #expect(abs(count - frames) <= 1, "\(count)")
    }

    @Test("a frame limit leaves frames out and moves none")
    func frameLimit() async throws {
        let source = try TestPlace.fixture("capture.mov")
        let made = try await setUp().make(source, CompressSettings(preset: .fast, maxFramesPerSecond: 10))
        let before = Set(try await Judge.times(source, "v"))
        let after = try await Judge.times(made.path, "v")
        #expect(after.count == 50)
        #expect(after.allSatisfy { time in before.contains { abs($0 - time) < 0.001 } })
    }

    @Test("a picture that changes its size in the middle becomes one size")
    func changingSize() async throws {
        let making = try setUp()
        let small = try await making.record(
            "a.ts",
            ["-f", "lavfi", "-i", "testsrc2=size=320x180:rate=10:duration=1", "-c:v", "libx264", "-pix_fmt", "yuv420p"])
        let large = try await making.record(
            "b.ts",
            [
                "-f", "lavfi", "-i", "testsrc2=size=640x360:rate=10:duration=1", "-c:v", "libx264", "-pix_fmt",
                "yuv420p", "-output_ts_offset", "1",
            ])
        // By ffmpeg, which counts the packets on: a gap in their count is damage.
        let joined = try await making.record(
            "joined.ts", ["-i", "concat:\(small.text)|\(large.text)", "-c", "copy"])
        let video = try #require(try await Judge.probe(making.make(joined).path).video.first)
        #expect(video.width == 320 && video.height == 180 && video.frames == 20)
    }

    @Test("changing the container changes nothing else")
    func remuxing() async throws {
        let source = try TestPlace.fixture("capture.mov")
        let made = try await setUp().make(source, nil)
        func digest(_ path: FilePath) async throws -> String {
            try await Judge.tool(
                "ffmpeg", ["-v", "error", "-i", path.text, "-map", "0", "-c", "copy", "-f", "streamhash", "-"]
            ).output
        }
        let before = try await digest(source)
        let after = try await digest(made.path)
        #expect(before == after)
        let text = String(decoding: try made.path.contents().prefix(4096), as: Unicode.ASCII.self)
        #expect(text.contains("moov"))
        #expect(try await Judge.times(source, "v") == Judge.times(made.path, "v"))
    }

    @Test("changing the container keeps irregular times, reordered pictures and the end of the last one")
    func remuxingIrregular() async throws {
        let source = try TestPlace.fixture("irregular.mkv")
        let made = try await setUp().make(source, nil)
        #expect(try await Judge.times(source, "v") == Judge.times(made.path, "v"))
        #expect(abs((try await Judge.probe(made.path).video.first?.length ?? 0) - 2) < 0.05)
        let making = try setUp()
        let reordered = try await making.record(
            "reordered.flv",
            ["-f", "lavfi", "-i", "testsrc2=size=64x64:rate=10:duration=1", "-c:v", "libx264", "-bf", "3"])
        let again = try await making.make(reordered, nil)
        let video = try #require(try await Judge.probe(again.path).video.first)
        #expect(video.frames == 10 && abs(video.length - 1) < 0.05 && video.avgFrameRate == "10/1", "\(video)")
    }

    @Test("the same recording gives the same bytes, again")
    func repeatable() async throws {
        let making = try setUp()
        let first = try await making.make(TestPlace.fixture("capture.mov")).path.contents()
        let second = try await making.make(TestPlace.fixture("capture.mov")).path.contents()
        #expect(first == second)
    }
}

/// What is wrong with a recording is found out and said.
@Suite("Damaged recordings", .timeLimit(.minutes(5)))
struct DamageTests {
    struct Wrong: Sendable {
        let name: String
        let code: Fault.Code
        let words: String
    }

    @Test(
        "cut off, unfinished, damaged, no recording at all: each in its words",
        arguments: [
            Wrong(name: "cut.mp4", code: .damaged, words: "delivers 2.4 s of a declared 4.0 s"),
            Wrong(name: "cut.mkv", code: .damaged, words: "s of a declared 4.0 s"),
            Wrong(name: "unfinished.mov", code: .notFinalised, words: "no moov atom"),
            Wrong(name: "damaged.mp4", code: .damaged, words: "cannot be decoded as they were recorded"),
            Wrong(name: "text.mov", code: .notMedia, words: "not a recording"),
            Wrong(name: "README.md", code: .notMedia, words: "not a recording"),
        ], [true, false])
    func faults(wrong: Wrong, isCompressing: Bool) async throws {
        let settings = isCompressing ? CompressSettings(preset: .fast) : nil
        let fault = try await Making().make(TestPlace.fixture(wrong.name), settings).fault
        #expect(fault?.code == wrong.code)
        #expect(fault?.reason.contains(wrong.words) == true, "\(fault?.reason ?? "")")
        #expect(fault?.isTemporary == false)
    }

    @Test("empty and missing files")
    func nothing() async throws {
        let making = try Making()
        #expect(
            try await making.make(making.directory.write([], to: "empty.mov")).fault?.reason.contains("empty") == true)
        #expect(try await making.make(making.directory.file("missing.mov")).fault != nil)
    }

    @Test("what demuxers cannot make sense of is not called a lack of permission")
    func senseless() async throws {
        let making = try Making()
        let whole = try await making.record("whole.mp3", ["-f", "lavfi", "-i", "sine=duration=1"])
        let cut = try making.directory.write(Array(whole.contents().prefix(167)), to: "cut.mp3")
        let fault = try await making.make(cut).fault
        #expect(fault?.code == .notMedia, "\(fault?.reason ?? "")")
    }

    @Test("a transport stream that was cut is taken for whole only if it decodes to its end")
    func transportStream() async throws {
        let making = try Making()
        let whole = try await making.record(
            "whole.ts", ["-i", TestPlace.fixture("whole.mp4").text, "-c", "copy"])
        let bytes = try whole.contents()
        for share in [60, 61, 62, 63] {
            let cut = try making.directory.write(Array(bytes.prefix(bytes.count * share / 100)), to: "cut.ts")
            let made = try await making.make(cut)
            if made.fault == nil {
                let before = try #require(try await Judge.probe(cut).video.first).frames
                let after = try #require(try await Judge.probe(made.path).video.first).frames
                #expect(after >= before - 1, "\(share)")
            }
        }
    }

    private static func withHole(_ bytes: [UInt8], at share: Double = 0.5, length: Int? = nil) -> [UInt8] {
        var bytes = bytes
        let start = Int(Double(bytes.count) * share)
        let length = length ?? bytes.count / 5
        for index in start..<min(bytes.count, start + length) { bytes[index] = 0 }
        return bytes
    }

    @Test(
        "a hole in the middle is found in every container, though the demuxer goes on behind it",
        arguments: ["flv", "mkv", "webm", "ts", "avi", "mov", "mpg"], [true, false])
    func holes(container: String, isCompressing: Bool) async throws {
        let making = try Making()
        let codecs: [String] =
            switch container {
            case "webm": ["-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8", "-c:a", "libvorbis"]
            case "avi": ["-c:v", "mpeg4", "-q:v", "3", "-bf", "0", "-c:a", "mp3"]
            case "mpg": ["-c:v", "mpeg2video", "-q:v", "3", "-g", "12", "-c:a", "mp2"]
            default: ["-c:v", "libx264", "-preset", "ultrafast", "-g", "25", "-c:a", "aac"]
            }
        let whole = try await making.record(
            "whole.\(container)",
            [
                "-f", "lavfi", "-i", "testsrc2=size=320x240:rate=25:duration=6", "-f", "lavfi", "-i",
                "sine=frequency=500:duration=6:sample_rate=44100",
            ] + codecs)
        let settings = isCompressing ? CompressSettings(preset: .fast) : nil
        let sound = try await making.make(whole, settings)
        #expect(sound.fault == nil, "\(sound.last)")
        let torn = try making.directory.write(Self.withHole(whole.contents()), to: "torn.\(container)")
        let fault = try await making.make(torn, settings).fault
        #expect(fault?.code == .damaged, "\(fault?.reason ?? "made")")
    }

    @Test(
        "a block that a card has lost is found in any picture that is copied, without decoding all of them",
        arguments: ["libx264", "libx265"], [0.2, 0.5, 0.9])
    func lostBlock(encoder: String, place: Double) async throws {
        let making = try Making()
        let whole = try await making.record(
            "whole.mp4",
            [
                "-f", "lavfi", "-i", "testsrc2=size=320x240:rate=25:duration=12,noise=alls=20:allf=t", "-c:v", encoder,
                "-preset", "ultrafast", "-tag:v", encoder == "libx265" ? "hvc1" : "avc1",
            ])
        #expect(try await making.make(whole, nil).fault == nil)
        let torn = try making.directory.write(
            Self.withHole(whole.contents(), at: place, length: 512), to: "torn.mp4")
        let fault = try await making.make(torn, nil).fault
        #expect(fault?.code == .damaged, "\(fault?.reason ?? "made")")
    }

    @Test("an end that is filled with zeros loses nothing, and is no damage")
    func paddedEnd() async throws {
        let making = try Making()
        let whole = try await making.record(
            "whole.mkv",
            [
                "-f", "lavfi", "-i", "testsrc2=size=320x240:rate=25:duration=2", "-c:v", "libx264", "-preset",
                "ultrafast",
            ])
        let padded = try making.directory.write(
            whole.contents() + [UInt8](repeating: 0, count: 100_000), to: "padded.mkv")
        #expect(try await making.make(padded).summary().videoFrames == 50)
    }

    @Test(
        "sound that begins long after the picture is no damage, and stays where it was",
        arguments: [("mkv", 10), ("mp4", 10), ("ts", 20), ("mpg", 20)], [true, false])
    func lateSound(_ kind: (container: String, start: Int), isCompressing: Bool) async throws {
        let making = try Making()
        let isProgramStream = kind.container == "mpg"
        let whole = try await making.record(
            "first.mkv",
            [
                "-f", "lavfi", "-i", "testsrc2=size=64x64:rate=25:duration=26", "-itsoffset", "\(kind.start)", "-f",
                "lavfi",
                "-i", "sine=duration=5:sample_rate=48000", "-map", "0", "-map", "1", "-c:v",
                isProgramStream ? "mpeg2video" : "libx264", "-pix_fmt", "yuv420p", "-c:a",
                isProgramStream ? "mp2" : "aac",
            ])
        let late = try await making.record("late.\(kind.container)", ["-i", whole.text, "-map", "0", "-c", "copy"])
        let made = try await making.make(late, isCompressing ? CompressSettings(preset: .fast) : nil)
        let times = try await (
            Judge.times(made.path, "v"), Judge.times(made.path, "a")
        )
        #expect(made.fault == nil && times.0.count == 650, "\(made.fault?.reason ?? "")")
        // The first packet may be what an encoder needs before its first sample.
        let start = try #require(times.1.first) - (try #require(times.0.first))
        #expect(abs(start - Double(kind.start)) < 0.06, "\(start)")
    }

    @Test("pictures that a container keeps in another order without saying when they are shown")
    func reorderedWithoutTimes() async throws {
        let making = try Making()
        let source = try await making.record(
            "reordered.avi",
            [
                "-f", "lavfi", "-i", "testsrc2=size=64x64:rate=10:duration=7", "-f", "lavfi", "-i", "sine=duration=7",
                "-c:v",
                "libx264", "-bf", "3", "-c:a", "mp3",
            ])
        let made = try await making.make(source)
        #expect(made.fault == nil && made.losses.isEmpty, "\(made.losses)")
        let times = try await Judge.times(made.path, "v")
        #expect(times == (0..<70).map { Double($0) / 10 })
        #expect(try await making.make(source, nil).fault?.code == .nothingToEncode)
    }

    @Test("times of decoding alone are enough where pictures stand in their order, also before the beginning")
    func decodingTimesAlone() async throws {
        let making = try Making()
        let source = try await making.record(
            "negative.asf",
            [
                "-f", "lavfi", "-i", "testsrc2=size=64x64:rate=10:duration=3", "-f", "lavfi", "-i", "sine=duration=3",
                "-c:v",
                "libx264", "-bf", "0", "-c:a", "aac",
            ])
        var bytes = try source.contents()
        // The preroll in the file's properties (ASF, section 3.2), which is taken from every time: half a second more.
        let properties: [UInt8] = [
            0xA1, 0xDC, 0xAB, 0x8C, 0x47, 0xA9, 0xCF, 0x11, 0x8E, 0xE4, 0x00, 0xC0, 0x0C, 0x20, 0x53, 0x65,
        ]
        let place = try #require(bytes.indices.first { bytes[$0...].starts(with: properties) }) + 80
        let preroll = UInt16(bytes[place]) + UInt16(bytes[place + 1]) << 8 + 500
        bytes[place] = UInt8(truncatingIfNeeded: preroll)
        bytes[place + 1] = UInt8(truncatingIfNeeded: preroll >> 8)
        let negative = try making.directory.write(bytes, to: "earlier.asf")
        let made = try await making.make(negative, nil)
        #expect(made.fault == nil, "\(made.fault?.reason ?? "")")
        let times = try await Judge.times(made.path, "v")
        #expect(times.count == 30 && zip(times, times.dropFirst()).allSatisfy { abs($1 - $0 - 0.1) < 0.0015 })
    }

    @Test("AAC that changes its samples a second and its channels is encoded; what encodes nothing refuses it")
    func changingSound() async throws {
        let making = try Making()
        var parts: [String] = []
        for (rate, channels) in [("48000", "1"), ("44100", "2")] {
            let part = try await making.record(
                "part\(channels).ts",
                [
                    "-f", "lavfi", "-i", "testsrc2=size=64x64:rate=10:duration=4", "-f", "lavfi", "-i",
                    "sine=frequency=440:sample_rate=\(rate):duration=4", "-ac", channels, "-c:v", "libx264", "-c:a",
                    "aac",
                ])
            parts.append("file '\(part.text)'")
        }
        let list = try making.directory.write(Array(parts.joined(separator: "\n").utf8), to: "parts.txt")
        let source = try await making.record(
            "both.ts", ["-f", "concat", "-safe", "0", "-i", list.text, "-c", "copy"])
        let made = try await making.make(source)
        #expect(made.fault == nil, "\(made.fault?.reason ?? "")")
        let sound = try #require(try await Judge.probe(made.path).audio.first)
        #expect(abs(sound.length - 8) < 0.2)
        #expect(try await making.make(source, nil).fault?.code == .nothingToEncode)
        let kept = try await making.make(source, CompressSettings(preset: .fast, sound: .copy))
        #expect(kept.fault?.code == .nothingToEncode)
    }

    @Test("VP8's colours are what they are by definition: nothing is lost of them")
    func vp8() async throws {
        let making = try Making()
        let source = try await making.record(
            "live.webm", ["-f", "lavfi", "-i", "testsrc2=size=64x64:rate=10:duration=2", "-c:v", "libvpx"])
        let made = try await making.make(source)
        #expect(made.fault == nil && made.losses.isEmpty, "\(made.losses)")
    }

    @Test("in a container with one duration for all streams it is enough that one of them reaches it")
    func shorterTracks() async throws {
        let making = try Making()
        let source = try await making.record(
            "uneven.mkv",
            [
                "-f", "lavfi", "-i", "testsrc2=size=64x64:rate=25:duration=2", "-f", "lavfi", "-i", "sine=duration=4",
                "-c:v", "libx264", "-c:a", "aac",
            ])
        #expect(try await making.make(source).fault == nil)
        #expect(try await making.make(source, nil).fault == nil)
    }

    @Test("a recording that begins between key frames: what cannot be shown is said")
    func beginsBetweenKeyFrames() async throws {
        let making = try Making()
        let whole = try await making.record(
            "whole.ts",
            [
                "-f", "lavfi", "-i", "testsrc2=size=320x180:rate=25:duration=4", "-c:v", "libx264", "-g", "25", "-bf",
                "0", "-x264opts", "scenecut=0",
            ])
        let bytes = try whole.contents()
        // Tables first, then from the middle of the first second on.
        let begin = bytes.count / 8 / 188 * 188
        let cut = try making.directory.write(Array(bytes.prefix(188 * 3) + bytes.dropFirst(begin)), to: "cut.ts")
        let made = try await making.make(cut)
        let loss = try #require(made.losses.first, "\(made.last)")
        #expect(loss.what.wholeMatch(of: /the first 0\.\d\d s of the picture/) != nil, "\(loss.what)")
    }

    @Test("speech of which libavcodec decodes only the first piece of each packet is heard whole")
    func amr() async throws {
        guard let media = TestPlace.media else { return }
        let making = try Making()
        let made = try await making.make(TestPath.make(media + "/phone-2004-h263-amrnb-sar12-11.3gp"))
        #expect(made.fault == nil, "\(made.last)")
        let audio = try #require(try await Judge.probe(made.path).audio.first)
        #expect(abs(audio.length - 15.2) < 0.05)
    }

    @Test("looking into a recording tells what would become of it")
    func probing() async throws {
        let events = Mutex<[MediaEvent]>([])
        let request = MediaRequest.probe(
            input: try TestPlace.fixture("two-languages.mov"), settings: CompressSettings())
        await Task.detached { MediaWorker { event in events.withLock { $0.append(event) } }.handle(request) }.value
        guard case .probed(let report) = events.withLock({ $0.last }) else { throw TestFailure("no report") }
        #expect(report.streams.map { $0.kind } == ["video", "audio", "audio", "subtitle", "data"])
        #expect(
            report.streams.map { $0.plan.split(separator: " ").first } == [
                "encoded", "encoded", "encoded", "copied", "time",
            ])
        #expect(report.losses == [])
        #expect(report.streams[2].language == "fra")
    }
}
