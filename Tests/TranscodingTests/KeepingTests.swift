import Foundation
import IngestModel
import IngestTestSupport
import Testing
import Transcoding

/// What a copy keeps of a recording, of either kind, judged by ffprobe and ffmpeg.
@Suite("Keeping", .timeLimit(.minutes(5)))
struct KeepingTests {
    private let making = try? Making()
    private let text =
        "1\n00:00:00,200 --> 00:00:00,900\nhello <i>you</i>\n\n2\n00:00:01,100 --> 00:00:01,500\nsecond\n"

    private static let both: [CompressSettings?] = [CompressSettings(preset: .fast), nil]
    private static let picture = ["-f", "lavfi", "-i", "testsrc2=size=64x64:rate=30:duration=2"]
    private static let tone = ["-f", "lavfi", "-i", "sine=frequency=440:sample_rate=48000:duration=2"]
    private static let encoders = ["-c:v", "libx264", "-preset", "ultrafast", "-c:a", "aac"]

    private func setUp() throws -> Making { try #require(making) }

    private func written(_ text: String, _ name: String) throws -> String {
        try setUp().directory.write(Array(text.utf8), to: name).text
    }

    @Test("a phone's recording: both languages, subtitles, chapters, time code, every key, the title", arguments: both)
    func phone(settings: CompressSettings?) async throws {
        let making = try setUp()
        let tags = """
            ;FFMETADATA1
            title=Cap
            creation_time=2024-03-01T19:03:50.000000Z
            location=+48.8577+002.2950/
            com.apple.quicktime.make=Apple
            com.apple.quicktime.model=iPhone 15 Pro
            com.apple.quicktime.creationdate=2024-03-01T20:03:50+0100
            com.apple.quicktime.content.identifier=7A7D4193-1D91-4907-98F8-3B7E41D991D7
            [CHAPTER]
            TIMEBASE=1/1000
            START=0
            END=800
            title=one
            [CHAPTER]
            TIMEBASE=1/1000
            START=800
            END=2000
            title=zwei ©

            """
        let metadata = try written(tags, "tags.txt")
        let subtitles = try written(text, "text.srt")
        let inputs = Self.picture + Self.tone + Self.tone + ["-i", metadata, "-i", subtitles]
        let maps = ["-map", "0", "-map", "1", "-map", "2", "-map", "4", "-map_metadata", "3", "-map_chapters", "3"]
        let source = try await making.record(
            "phone.mov",
            inputs + maps + Self.encoders + [
                "-c:s", "mov_text", "-metadata:s:a:0", "language=eng", "-metadata:s:a:1", "language=fra", "-timecode",
                "01:02:03;04", "-r", "30000/1001", "-movflags", "use_metadata_tags",
            ])
        let made = try await making.make(source, settings)
        #expect(made.losses == [])
        let probed = try await Judge.probe(made.path)
        #expect(probed.video.count == 1 && probed.subtitles.count == 1)
        #expect(probed.audio.map { $0.tags?["language"] } == ["eng", "fra"])
        #expect(probed.chapters?.map { $0.tags?["title"] } == ["one", "zwei ©"])
        #expect(probed.chapters?.compactMap { Double($0.startTime ?? "") } == [0, 0.8])
        #expect(probed.streams.contains { $0.codecTagString == "tmcd" && $0.tags?["timecode"] == "01:02:03;04" })
        let found = try #require(probed.format?.tags)
        let before = try #require(try await Judge.probe(source).format?.tags)
        for (key, value) in before where key.hasPrefix("com.apple.") || key == "title" || key == "creation_time" {
            #expect(found[key] == value, "\(key)")
        }
        #expect(before.count { $0.key.hasPrefix("com.apple.") } == 4)
        // In the form that all programs read which look for such tags.
        let head = try #require(MovieBytes(made.path.contents()).content(of: ["moov", "meta"])).prefix(8)
        #expect(head.dropFirst(4).elementsEqual("hdlr".utf8))
        #expect(found["location"]?.hasPrefix("+48.8577+002.295") == true)
        #expect(found["com.apple.quicktime.location.ISO6709"] == "+48.8577+002.2950/")
        #expect(found["major_brand"] == "isom" && found["encoder"]?.hasPrefix("Lavf") == true)
        #expect(try await Judge.subtitles(made.path, stream: 0) == Judge.subtitles(source, stream: 0))
    }

    @Test(
        "Matroska's subtitles become text that mp4 holds, with their times and uses; its cover stays one",
        arguments: both)
    func matroska(settings: CompressSettings?) async throws {
        let making = try setUp()
        let subtitles = try written(text, "text.srt")
        let cover = try await making.record(
            "cover.png", ["-f", "lavfi", "-i", "color=red:size=32x32", "-frames:v", "1"])
        let inputs = Self.picture + Self.tone + ["-i", subtitles, "-map", "0", "-map", "1", "-map", "2", "-map", "2"]
        let uses = [
            "-c:s:0", "srt", "-c:s:1", "ass", "-metadata:s:s:0", "language=ger", "-metadata:s:s:0", "title=Deutsch",
            "-metadata:s:a:0", "title=Kommentar", "-disposition:s:0", "forced", "-attach", cover.text, "-metadata:s:t",
            "mimetype=image/png", "-metadata", "camera_serial=4711",
        ]
        let source = try await making.record("film.mkv", inputs + Self.encoders + uses)
        let made = try await making.make(source, settings)
        #expect(made.losses == [])
        let probed = try await Judge.probe(made.path)
        #expect(probed.subtitles.map { $0.codecName } == ["mov_text", "mov_text"])
        #expect(probed.subtitles.first?.tags?["language"] == "ger")
        #expect(probed.subtitles.first?.disposition?["forced"] == 1)
        #expect(probed.subtitles.first?.tags?["handler_name"] == "Deutsch")
        #expect(probed.audio.first?.tags?["handler_name"] == "Kommentar")
        for stream in 0...1 {
            #expect(try await Judge.subtitles(made.path, stream: stream) == Judge.subtitles(source, stream: stream))
        }
        let covers = probed.video.filter { $0.disposition?["attached_pic"] == 1 }
        #expect(covers.map { $0.codecName } == ["png"] && covers.first?.width == 32)
        #expect(probed.format?.tags?["CAMERA_SERIAL"] == "4711")
        // Track names stand where players look for them.
        let movie = MovieBytes(try made.path.contents())
        let names = (0..<4).map { track in
            movie.content(of: ["moov", "trak", "udta", "name"], track: track).map {
                String(decoding: $0, as: UTF8.self)
            }
        }
        #expect(names == [nil, "Kommentar", "Deutsch", nil])
    }

    /// A recording with a track of which FFmpeg knows nothing: text, with another name of its kind.
    private func telemetry(_ code: String, isFirst: Bool = false) async throws -> FilePath {
        let making = try setUp()
        let subtitles = try written(text, "\(code).srt")
        let plain = try await making.record(
            "\(code)-plain.mp4",
            Self.picture + Self.tone + ["-i", subtitles] + (isFirst ? ["-map", "2"] : [])
                + ["-map", "0", "-map", "1"] + (isFirst ? [] : ["-map", "2"]) + Self.encoders + ["-c:s", "mov_text"])
        var bytes = try plain.contents()
        for (old, new) in [("tx3g", code), ("sbtl", "meta")] {
            let place = try #require(bytes.firstRange(of: Array(old.utf8)))
            bytes.replaceSubrange(place, with: Array(new.utf8))
        }
        return try making.directory.write(bytes, to: "\(code).mp4")
    }

    @Test(
        "tracks of which FFmpeg knows nothing are carried over byte for byte",
        arguments: ["djmd", "mebx", "gpmd", "rtmd"])
    func telemetryIsCarried(code: String) async throws {
        let source = try await telemetry(code)
        for settings in Self.both {
            let made = try await setUp().make(source, settings)
            #expect(made.losses == [])
            let probed = try await Judge.probe(made.path)
            #expect(probed.streams.map { $0.codecTagString } == ["avc1", "mp4a", code])
            let expected = try await Judge.data(source, stream: 2)
            #expect(expected.contains("hello"))
            #expect(try await Judge.data(made.path, stream: 2) == expected)
        }
    }

    @Test("a track of data whose packets all have one time is carried over whole", arguments: both)
    func telemetryAtOneTime(settings: CompressSettings?) async throws {
        let plain = try await telemetry("fdsc", isFirst: true)
        var bytes = try plain.contents()
        // Its table of durations (ISO/IEC 14496-12, `stts`): pairs of a count and a duration, which becomes 0.
        let table = try #require(bytes.firstRange(of: Array("stts".utf8))).upperBound + 4
        let count = bytes[table..<(table + 4)].reduce(0) { $0 << 8 | Int($1) }
        #expect(count > 1)
        for entry in 0..<count {
            let duration = table + 4 + entry * 8 + 4
            bytes.replaceSubrange(duration..<(duration + 4), with: [0, 0, 0, 0])
        }
        let source = try setUp().directory.write(bytes, to: "at-once.mp4")
        let made = try await setUp().make(source, settings)
        #expect(made.losses == [])
        // The edit list of the plain one hides an empty packet at its end.
        let expected = try await Judge.data(plain, stream: 0)
        let kept = try await Judge.data(made.path, stream: 2)
        #expect(expected.contains("hello") && kept.hasPrefix(expected.trimmingCharacters(in: .newlines)), "\(kept)")
    }

    @Test("sound of which FFmpeg knows nothing stands in nobody's way", arguments: both)
    func unknownSound(settings: CompressSettings?) async throws {
        let making = try setUp()
        let plain = try await making.record(
            "plain.mov",
            Self.picture + Self.tone + Self.tone + ["-map", "0", "-map", "1", "-map", "2"] + Self.encoders + [
                "-c:a:1", "pcm_s16le",
            ])
        var bytes = try plain.contents()
        let place = try #require(bytes.firstRange(of: Array("sowt".utf8)))
        bytes.replaceSubrange(place, with: Array("apac".utf8))
        let source = try making.directory.write(bytes, to: "apac.mov")
        let made = try await making.make(source, settings)
        #expect(made.losses == [] && made.fault == nil)
        let probed = try await Judge.probe(made.path)
        #expect(probed.audio.map { $0.codecTagString } == ["mp4a", "apac"])
        #expect(try await Judge.data(made.path, stream: 2).count > 10_000)
    }

    @Test("without the position: nothing that tells it is left, and what was left out for it is said", arguments: both)
    func withoutPosition(settings: CompressSettings?) async throws {
        let making = try setUp()
        let carried = try await telemetry("gpmd")
        let source = try await making.record(
            "placed.mov",
            [
                "-i", carried.text, "-map", "0:v", "-map", "0:a", "-c", "copy", "-metadata",
                "location=+48.8577+002.2950/",
                "-metadata", "com.apple.quicktime.location.ISO6709=+48.8577+002.2950/", "-metadata",
                "com.apple.quicktime.make=Apple", "-movflags", "use_metadata_tags",
            ])
        for recording in [source, carried] {
            let made = try await making.make(recording, settings, stripsLocation: true)
            #expect(!made.losses.isEmpty && made.losses.allSatisfy { $0.isAsked }, "\(made.losses)")
            let bytes = String(decoding: try made.path.contents(), as: Unicode.ASCII.self)
            #expect(!bytes.contains("48.8577") && !bytes.contains("gpmd") && !bytes.contains("loci"))
        }
        let made = try await making.make(source, settings, stripsLocation: true)
        #expect(try await Judge.probe(made.path).format?.tags?["com.apple.quicktime.make"] == "Apple")
    }

    @Test("HDR10: the screen it was made on and its brightest light stand in the stream and in the container")
    func highDynamicRange() async throws {
        let making = try setUp()
        let source = try await making.record(
            "hdr.mp4",
            Self.picture + [
                "-pix_fmt", "yuv420p10le", "-c:v", "libx265", "-preset", "ultrafast", "-x265-params",
                "log-level=none:hdr10=1:repeat-headers=1:colorprim=bt2020:transfer=smpte2084:colormatrix=bt2020nc:"
                    + "master-display=G(13250,34500)B(7500,3000)R(34000,16000)WP(15635,16450)L(10000000,1):max-cll=1000,400",
                "-tag:v", "hvc1",
            ])
        for codec in [CompressSettings.Codec.auto, .av1] {
            let made = try await making.make(source, CompressSettings(preset: .fast, codec: codec))
            #expect(made.losses == [])
            let video = try #require(try await Judge.probe(made.path).video.first)
            #expect(video.pixFmt == "yuv420p10le" && video.colorTransfer == "smpte2084")
            #expect(video.colorPrimaries == "bt2020" && video.colorSpace == "bt2020nc")
            #expect(
                video.sideDataList?.compactMap { $0.sideDataType } == [
                    "Mastering display metadata", "Content light level metadata",
                ])
            let frame = try await Judge.tool(
                "ffprobe",
                [
                    "-v", "quiet", "-select_streams", "v", "-read_intervals", "%+#1", "-show_frames", "-show_entries",
                    "frame=side_data_list", "-of", "compact", made.path.text,
                ]
                // ffprobe 7.1 says in front of each number what it is a part of.
            ).output.replacing(/side_datum\/[^:|]*:/, with: "")
            #expect(frame.contains("max_content=1000|max_average=400"), "\(codec)")
            #expect(frame.contains("max_luminance=\(codec == .av1 ? "256000/256" : "10000000/10000")"), "\(codec)")
        }
    }

    @Test("spatial video: the second eye stays where the pictures stay, and is named as lost where they are encoded")
    func secondEye() async throws {
        let making = try setUp()
        let flat = try await making.record(
            "flat.mov",
            Self.picture + [
                "-pix_fmt", "yuv420p", "-c:v", "libx265", "-preset", "ultrafast", "-x265-params", "log-level=none",
                "-tag:v", "hvc1",
            ])
        // FFmpeg's demuxer reads them since 7.1, and wants them to make sense: no parameter sets, and nothing it knows.
        let second = [1, 0xF0, 0, 0xFC, 0xCF] + [UInt8](repeating: 0, count: 17)
        let eyes = [0, 0, 0, 17] + Array("freeboth eyes".utf8)
        var movie = MovieBytes(try flat.contents())
        #expect(movie.order.last == "moov")
        let entry = ["moov", "trak", "mdia", "minf", "stbl", "stsd", "hvc1"]
        try movie.append("lhvC", second, to: entry)
        try movie.append("vexu", eyes, to: entry)
        let spatial = try making.directory.write(movie.bytes, to: "spatial.mov")
        let encoded = try await making.make(spatial)
        #expect(encoded.losses.map { $0.what } == ["the second eye's picture"])
        let kept = try await making.make(spatial, nil)
        #expect(kept.losses == [])
        let text = String(decoding: try kept.path.contents(), as: Unicode.ASCII.self)
        #expect(text.contains("lhvC") && text.contains("both eyes"))
        #expect(try await Judge.probe(kept.path).video.first?.frames == 60)
    }

    @Test("a second picture is named as lost")
    func secondPicture() async throws {
        let making = try setUp()
        let source = try await making.record(
            "two.mkv", Self.picture + Self.picture + ["-map", "0", "-map", "1"] + Self.encoders)
        for settings in Self.both {
            let made = try await making.make(source, settings)
            #expect(made.losses.map { $0.what } == ["stream 1 (video, h264)"])
        }
    }

    @Test("a recording whose edit list hides its beginning, picture and sound", arguments: both)
    func hiddenBeginning(settings: CompressSettings?) async throws {
        let making = try setUp()
        let whole = try await making.record(
            "whole.mp4", Self.picture + Self.tone + Self.encoders + ["-g", "30", "-bf", "2", "-preset", "fast"])
        let source = try await making.record("cut.mp4", ["-ss", "0.3", "-i", whole.text, "-c", "copy"])
        let made = try await making.make(source, settings)
        #expect(made.losses == [] && made.fault == nil, "\(made.losses) \(made.last)")
        let (before, after) = (try await Judge.probe(source), try await Judge.probe(made.path))
        #expect(after.video.first?.frames == before.video.first?.frames && before.video.first?.frames == 51)
        #expect(abs((after.audio.first?.length ?? 0) - 1.7) < 0.03)
    }

    @Test(
        "pictures that Matroska has put in order keep their times when only the container is changed",
        arguments: [1, 2, 4])
    func reordered(most: Int) async throws {
        let making = try setUp()
        let source = try await making.record(
            "b.mkv", Self.picture + ["-c:v", "libx264", "-preset", "fast", "-bf", "\(most)"])
        let made = try await making.make(source, nil)
        #expect(made.losses == [])
        let (before, after) = (try await Judge.times(source, "v"), try await Judge.times(made.path, "v"))
        #expect(before.count == 60 && after.count == 60)
        for (old, new) in zip(before, after) { #expect(abs(old - new) < 0.001) }
    }

    @Test("RGB is converted, and the copy says how")
    func rgb() async throws {
        let making = try setUp()
        let source = try await making.record("rgb.mov", Self.picture + ["-c:v", "qtrle", "-pix_fmt", "rgb24"])
        let made = try await making.make(source)
        let video = try #require(try await Judge.probe(made.path).video.first)
        #expect(video.colorSpace == "bt709" && video.colorRange == "tv" && video.colorPrimaries == nil)
    }

    @Test("HEVC has the name by which all players know it", arguments: both)
    func nameOfHEVC(settings: CompressSettings?) async throws {
        let making = try setUp()
        let source = try await making.record(
            "hevc.mkv",
            Self.picture + ["-c:v", "libx265", "-preset", "ultrafast", "-x265-params", "log-level=none"])
        var settings = settings
        settings?.codec = .hevc
        let made = try await making.make(source, settings)
        #expect(try await Judge.probe(made.path).video.first?.codecTagString == "hvc1")
    }

    @Test(
        "--keep-interlaced leaves the fields what they are, in their order; else they become whole pictures",
        arguments: [("interleave_top", "tt"), ("interleave_bottom", "bb")])
    func interlaced(mode: String, order: String) async throws {
        let making = try setUp()
        let source = try await making.record(
            "fields.mov",
            [
                "-f", "lavfi", "-i", "testsrc2=size=320x240:rate=50:duration=2,tinterlace=mode=\(mode)", "-c:v",
                "libx264", "-flags", "+ildct+ilme", "-preset", "ultrafast", "-pix_fmt", "yuv420p",
                "-top", order == "tt" ? "1" : "0", "-x264-params", order == "tt" ? "tff=1" : "bff=1",
            ])
        func fields(_ path: FilePath) async throws -> Int {
            try await Judge.tool(
                "ffprobe",
                [
                    "-v", "quiet", "-select_streams", "v", "-show_entries", "frame=interlaced_frame", "-of", "csv=p=0",
                    path.text,
                ]
            ).output.split(separator: "\n").count { $0.hasPrefix("1") }
        }
        #expect(try await fields(source) == 50)
        #expect(try await fields(making.make(source).path) == 0)
        for height in [nil, 120] {
            let settings = CompressSettings(preset: .fast, maxHeight: height, keepsInterlaced: true)
            let made = try await making.make(source, settings)
            #expect(made.losses.allSatisfy { $0.isAsked })
            #expect(try await fields(made.path) == 50)
            #expect(try await Judge.probe(made.path).video.first?.fieldOrder == order)
        }
    }

    @Test("the sound is encoded, kept, or left out, as is asked")
    func sound() async throws {
        let making = try setUp()
        let source = try await making.record(
            "sound.mov", Self.picture + Self.tone + Self.encoders + ["-b:a", "64k", "-c:a", "ac3"])
        func codecs(_ sound: CompressSettings.Sound) async throws -> [String?] {
            try await Judge.probe(making.make(source, CompressSettings(preset: .fast, sound: sound)).path).audio.map {
                $0.codecName
            }
        }
        #expect(try await codecs(.auto) == ["aac"])
        #expect(try await codecs(.copy) == ["ac3"])
        #expect(try await codecs(.aac) == ["aac"])
        #expect(try await codecs(.none) == [])
    }

    /// Every matrix that turns by quarters, and those that mirror besides, as the container holds them.
    private static let matrices: [[Int32]] = {
        let turns: [(Int32, Int32, Int32, Int32)] = [
            (1, 0, 0, 1), (0, 1, -1, 0), (-1, 0, 0, -1), (0, -1, 1, 0), (-1, 0, 0, 1), (1, 0, 0, -1), (0, 1, 1, 0),
            (0, -1, -1, 0),
        ]
        return turns.map { [$0.0 << 16, $0.1 << 16, 0, $0.2 << 16, $0.3 << 16, 0, 0, 0, 1 << 30] }
    }()

    @Test(
        "the picture is shown as it was, for every matrix, in either kind of copy and in a smaller size",
        arguments: 0..<8)
    func orientation(number: Int) async throws {
        let making = try setUp()
        let plain = try await making.record(
            "plain.mov",
            [
                "-f", "lavfi", "-i",
                "color=gray:size=320x180:rate=10:duration=0.5,drawbox=x=0:y=0:w=120:h=60:color=red:t=fill,"
                    + "drawbox=x=200:y=120:w=120:h=60:color=blue:t=fill", "-c:v", "libx264", "-pix_fmt", "yuv420p",
            ])
        var movie = MovieBytes(try plain.contents())
        let head = try #require(movie.bytes.firstRange(of: Array("tkhd".utf8))).upperBound
        for (index, number) in Self.matrices[number].enumerated() {
            movie.put(Int(number), at: head + 40 + 4 * index)
        }
        let source = try making.directory.write(movie.bytes, to: "turned.mov")
        /// Mean red and blue of a grid of 2 by 2 over what a player shows.
        func shown(_ path: FilePath) async throws -> [UInt8] {
            let output = try making.directory.file("shown-\(UUID().uuidString).raw")
            try await Judge.record(
                [
                    "-i", path.text, "-frames:v", "1", "-vf", "scale=2:2:flags=area", "-pix_fmt", "rgb24", "-f",
                    "rawvideo",
                ],
                to: output)
            return try output.contents()
        }
        let expected = try await shown(source)
        #expect(expected.count == 12)
        for settings in [CompressSettings(preset: .fast), nil, CompressSettings(preset: .fast, maxHeight: 90)] {
            let made = try await making.make(source, settings)
            #expect(made.losses.allSatisfy { $0.isAsked }, "\(made.losses)")
            let found = try await shown(made.path)
            for (old, new) in zip(expected, found) { #expect(abs(Int(old) - Int(new)) < 12, "\(expected) \(found)") }
        }
    }

    @Test(
        "a copy weighs no more than was asked for, and makes use of that",
        arguments: [CompressSettings.Codec.h264, .hevc, .av1])
    func targetSize(codec: CompressSettings.Codec) async throws {
        let making = try setUp()
        let source = try await making.record(
            "long.mov",
            [
                "-f", "lavfi", "-i", "testsrc2=size=320x180:rate=30:duration=12,noise=alls=20:allf=t", "-f", "lavfi",
                "-i",
                "sine=duration=12:sample_rate=48000", "-c:v", "libx264", "-preset", "ultrafast", "-crf", "10",
                "-pix_fmt",
                "yuv420p", "-c:a", "aac", "-b:a", "64k",
            ])
        let target = ByteCount(600_000)
        let made = try await making.make(source, CompressSettings(preset: .fast, codec: codec, targetSize: target))
        #expect(made.losses == [] && made.fault == nil, "\(made.losses) \(made.last)")
        let size = try made.path.contents().count
        #expect(size <= 600_000 && size > 420_000, "\(size)")
        #expect(try await Judge.probe(made.path).video.first?.frames == 360)
    }

    @Test("a size that leaves nothing for the picture is refused in words")
    func noRoom() async throws {
        let source = try TestPlace.fixture("capture.mov")
        let made = try await setUp().make(source, CompressSettings(preset: .fast, targetSize: ByteCount(50_000)))
        #expect(made.fault?.reason.contains("leave nothing for the picture of 5 s") == true, "\(made.last)")
        // What is smaller already is not encoded at all.
        let small = try await setUp().make(source, CompressSettings(preset: .fast, targetSize: ByteCount(50_000_000)))
        guard case .notWorthwhile = small.last else { throw TestFailure("\(small.last)") }
    }

    @Test("subtitles into which a drone writes its position go where the position is to be left out", arguments: both)
    func positionInSubtitles(settings: CompressSettings?) async throws {
        let making = try setUp()
        let lines = "1\n00:00:00,200 --> 00:00:00,900\nGPS(116.3, 39.9)\n\n2\n00:00:01,100 --> 00:00:01,500\nhello\n"
        let subtitles = try written(lines, "drone.srt")
        for codec in ["mov_text", "srt"] {
            let source = try await making.record(
                "drone." + (codec == "srt" ? "mkv" : "mp4"),
                Self.picture + ["-i", subtitles, "-map", "0", "-map", "1", "-c:v", "libx264", "-c:s", codec])
            let kept = try await Judge.subtitles(making.make(source, settings).path, stream: 0)
            #expect(kept.contains("116.3") && kept.contains("hello"))
            let made = try await making.make(source, settings, stripsLocation: true)
            #expect(made.losses.map { $0.what } == ["1 subtitles"] && made.losses.allSatisfy { $0.isAsked })
            let left = try await Judge.subtitles(made.path, stream: 0)
            #expect(!left.contains("116.3") && left.contains("00:00:01,100 --> 00:00:01,500\nhello"), "\(left)")
        }
    }

    @Test(
        "subtitles that overlap are shown one after the other, and that is said; one may outlive the picture",
        arguments: both)
    func overlappingSubtitles(settings: CompressSettings?) async throws {
        let making = try setUp()
        let lines = "1\n00:00:00,500 --> 00:00:01,210\none\n\n2\n00:00:01,200 --> 00:00:04,000\ntwo\n"
        let subtitles = try written(lines, "overlap.srt")
        let source = try await making.record(
            "overlap.mkv",
            Self.picture + ["-i", subtitles, "-map", "0", "-map", "1", "-c:v", "libx264", "-c:s", "srt"])
        let made = try await making.make(source, settings)
        #expect(made.fault == nil && made.losses.map { $0.what } == ["1 subtitles"], "\(made.losses) \(made.last)")
        let text = try await Judge.subtitles(made.path, stream: 0)
        #expect(text.contains("00:00:00,500 --> 00:00:01,200\none"), "\(text)")
        #expect(text.contains("00:00:01,200 --> 00:00:04,000\ntwo"), "\(text)")
        // Nobody had asked for it to be shown.
        let off = try await making.record("off.mkv", ["-i", source.text, "-c", "copy", "-disposition:s:0", "0"])
        let probed = try await Judge.probe(making.make(off, settings).path)
        #expect(probed.subtitles.first?.disposition?["default"] == 0)
    }

    @Test("surround sound whose channels stand at the sides is surround sound")
    func sides() async throws {
        let making = try setUp()
        let source = try await making.record(
            "sides.mkv",
            Self.picture + [
                "-f", "lavfi", "-i", "sine=duration=2,pan=5.1(side)|c0=c0|c1=c0|c2=c0|c3=c0|c4=c0|c5=c0", "-c:v",
                "libx264",
                "-c:a", "ac3",
            ])
        let made = try await making.make(source)
        #expect(made.losses == [])
        let layout = try await Judge.tool(
            "ffprobe",
            [
                "-v", "quiet", "-select_streams", "a", "-show_entries", "stream=channel_layout", "-of", "csv=p=0",
                made.path.text,
            ]
        ).output
        #expect(layout.hasPrefix("5.1"))
    }

    @Test("a maker's own data beside tracks and tags are named as lost", arguments: both)
    func makersData(settings: CompressSettings?) async throws {
        let making = try setUp()
        let plain = try await making.record("plain.mov", Self.picture + Self.encoders)
        let trailer = MovieBytes.bigEndian(24) + Array("uuid".utf8) + [UInt8](repeating: 7, count: 16)
        let source = try making.directory.write(
            plain.contents() + trailer + [UInt8](repeating: 0xFF, count: 300), to: "maker.mov")
        let losses = try await making.make(source, settings).losses.map { $0.what }
        #expect(losses == ["the maker's own data (uuid)", "300 B behind the end of the recording"], "\(losses)")
    }

    @Test("where the position is to be left out no picture, tag or box is left that may tell it", arguments: both)
    func hiddenPositions(settings: CompressSettings?) async throws {
        let making = try setUp()
        let cover = try await making.record(
            "cover.jpg", ["-f", "lavfi", "-i", "color=red:size=32x32", "-frames:v", "1"])
        // A description of its own (Exif), in front of the picture's data.
        var bytes = try cover.contents()
        bytes.insert(contentsOf: [0xFF, 0xE1, 0, 14] + Array("Exif".utf8) + [UInt8](repeating: 0, count: 8), at: 2)
        let placed = try making.directory.write(bytes, to: "placed.jpg")
        for (picture, isKept) in [(cover, true), (placed, false)] {
            let source = try await making.record(
                "covered.mkv",
                Self.picture + [
                    "-c:v", "libx264", "-attach", picture.text, "-metadata:s:t", "mimetype=image/jpeg", "-metadata",
                    "COORDINATES=48.1234", "-metadata", "make=Apple",
                ])
            let made = try await making.make(source, settings, stripsLocation: true)
            #expect(made.losses.allSatisfy { $0.isAsked } && made.fault == nil, "\(made.losses) \(made.last)")
            let probed = try await Judge.probe(made.path)
            #expect(probed.video.count == (isKept ? 2 : 1))
            #expect(probed.format?.tags?["COORDINATES"] == nil && probed.format?.tags?["MAKE"] == "Apple")
        }
    }

    @Test("the time code of a recording without one of its own for the picture is kept, and nobody says otherwise")
    func timecodeOfMXF() async throws {
        let making = try setUp()
        let source = try await making.record(
            "card.mxf", Self.picture + ["-c:v", "mpeg2video", "-r", "25", "-timecode", "10:00:00:12"])
        let made = try await making.make(source)
        #expect(made.losses.allSatisfy { !$0.what.contains("time") }, "\(made.losses)")
        #expect(try made.summary().kept?.contains("time code") == true)
        #expect(try await Judge.probe(made.path).streams.contains { $0.tags?["timecode"] == "10:00:00:12" })
    }

    @Test("chapters whose ends mp4 cannot hold are said, once")
    func chapterEnds() async throws {
        let making = try setUp()
        let mark = "[CHAPTER]\nTIMEBASE=1/1000\nSTART=%@\nEND=%@\n"
        func chapter(_ start: Int, _ end: Int) -> String { String(format: mark, "\(start)", "\(end)") }
        let tags = try written(
            ";FFMETADATA1\n" + chapter(0, 300) + chapter(500, 800) + chapter(1000, 2000), "marks.txt")
        let source = try await making.record(
            "marks.mkv", Self.picture + ["-i", tags, "-map_chapters", "1", "-c:v", "libx264"])
        let made = try await making.make(source)
        #expect(made.losses.map { $0.what } == ["2 chapters' ends"], "\(made.losses)")
    }

    @Test("what is lost on the way counts for --strict as well")
    func strictOnTheWay() async throws {
        let making = try setUp()
        let lines = "1\n00:00:00,500 --> 00:00:01,210\none\n\n2\n00:00:01,200 --> 00:00:01,800\ntwo\n"
        let subtitles = try written(lines, "overlap.srt")
        let source = try await making.record(
            "overlap.mkv", Self.picture + ["-i", subtitles, "-map", "0", "-map", "1", "-c:v", "libx264", "-c:s", "srt"])
        let made = try await making.make(source, nil, care: CopyCare(isStrict: true))
        #expect(made.fault?.code == .wouldLose && made.fault?.reason.contains("1 subtitles") == true, "\(made.last)")
    }

    @Test("a camcorder's own data between the pictures: named as lost, or refused where the position is to be left out")
    func camcorderData() async throws {
        let making = try setUp()
        let source = try await making.record(
            "camcorder.mts",
            Self.picture + [
                "-c:v", "libx264", "-preset", "ultrafast", "-bsf:v",
                "h264_metadata=sei_user_data=17ee8c60-f84d-11d9-8cd6-0800200c9a66+MDPMplace", "-f", "mpegts",
            ])
        #expect(try await making.make(source).losses.map { $0.what.prefix(17) } == ["the camcorder's o"])
        #expect(try await making.make(source, nil).losses == [])
        let refused = try await making.make(source, nil, stripsLocation: true)
        #expect(refused.fault?.reason.contains("--compress leaves them out") == true, "\(refused.last)")
        let stripped = try await making.make(source, stripsLocation: true)
        #expect(!String(decoding: try stripped.path.contents(), as: Unicode.ASCII.self).contains("MDPM"))
    }
}
