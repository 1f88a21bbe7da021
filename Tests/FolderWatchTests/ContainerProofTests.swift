import FolderWatch
import Foundation
import IngestModel
import IngestTestSupport
import Testing

@Suite("Proof of completeness")
struct ContainerProofTests {
    /// What ffmpeg is told besides the sources, and whether the container can prove it.
    struct Family: Sendable, CustomTestStringConvertible {
        let name: String
        let arguments: String
        var isProvable = true
        var testDescription: String { name + " " + arguments }
    }

    static let families = [
        Family(name: "a.mp4", arguments: "-c:v mpeg4 -c:a aac"),
        Family(name: "front.mp4", arguments: "-c:v mpeg4 -c:a aac -movflags +faststart"),
        Family(name: "fragments.mp4", arguments: "-c:v mpeg4 -c:a aac -movflags +frag_keyframe+empty_moov"),
        Family(name: "a.mov", arguments: "-c:v mpeg4 -c:a pcm_s16le"),
        Family(name: "a.mkv", arguments: "-c:v mpeg4 -c:a aac"),
        Family(name: "a.webm", arguments: "-map 1 -c:a libopus"),
        Family(name: "live.mkv", arguments: "-c:v mpeg4 -c:a aac -live 1", isProvable: false),
        Family(name: "a.avi", arguments: "-c:v mpeg4 -c:a mp2"),
        Family(name: "a.wav", arguments: "-map 1"),
        Family(name: "long.wav", arguments: "-map 1 -rf64 always"),
        Family(name: "a.aiff", arguments: "-map 1"),
        Family(name: "a.ogg", arguments: "-map 1 -c:a libvorbis"),
        Family(name: "a.wmv", arguments: "-c:v wmv2 -c:a wmav2"),
        Family(name: "a.mxf", arguments: "-c:v mpeg2video -c:a pcm_s16le -ar 48000"),
        Family(name: "a.flv", arguments: "-c:v flv -c:a mp3 -ar 44100"),
        Family(name: "a.ts", arguments: "-c:v mpeg2video -c:a mp2", isProvable: false),
        Family(name: "a.mpg", arguments: "-c:v mpeg2video -c:a mp2", isProvable: false),
        Family(name: "a.mp3", arguments: "-map 1", isProvable: false),
        Family(name: "a.flac", arguments: "-map 1", isProvable: false),
        Family(name: "a.aac", arguments: "-map 1", isProvable: false),
    ]

    /// Ends of a file that is copied: by bytes, and by whole pages.
    private func points(_ count: Int) -> [Int] {
        let shares = [count / 100, count / 10, count / 2, count * 9 / 10, count - 5000, count - 100, count - 17]
        return (shares + shares.map { $0 / 4096 * 4096 } + [(count - 1) / 4096 * 4096]).filter { $0 > 0 }
    }

    @Test("Whole, cut, and half copied into reserved space", arguments: families)
    func wholeAndCut(_ family: Family) async throws {
        let directory = try TemporaryDirectory()
        let path = try directory.file(family.name)
        let sources = "-f lavfi -i testsrc2=size=160x120:rate=25 -f lavfi -i anoisesrc=amplitude=0.5 -t 2"
        try await Judge.record((sources + " " + family.arguments).split(separator: " ").map(String.init), to: path)
        let whole = try contents(path)
        let verdict = try examine(whole)
        #expect(family.isProvable ? verdict == .complete : verdict.isUnprovable, "\(verdict)")
        for point in points(whole.count) + [whole.count - 1] {
            let verdict = try examine(Array(whole.prefix(point)))
            #expect(verdict != .complete, "\(point) of \(whole.count) bytes")
        }
        // Where less than 16 bytes are missing that are not on a page of their own, nobody can tell.
        for point in points(whole.count) {
            let verdict = try examine(Array(whole.prefix(point)) + [UInt8](repeating: 0, count: whole.count - point))
            #expect(verdict != .complete, "\(point) of \(whole.count) bytes, the rest reserved")
        }
    }

    @Test("No recording, and none yet")
    func others() throws {
        #expect(try examine([]).isIncomplete)
        #expect(try examine([UInt8](repeating: 0, count: 100_000)).isIncomplete)
        #expect(try examine([UInt8](repeating: 0, count: 100_000) + [1]).isUnprovable)
        #expect(try examine(Array("a text, and no recording\n".utf8)) == .unprovable("its format is not known"))
        for head in ["RIFF", "RIFF\0\0\0\0WAVE", "FORM", "OggS", "\u{1A}E"] {
            #expect(try examine(Array(head.utf8)) != .complete)
        }
    }

    @Test("A file that becomes shorter, and one that cannot be read")
    func reading() throws {
        #expect(try examine(box("ftyp", data(8)), size: 5000).isUnprovable)
        #expect(throws: TestFailure.self) {
            _ = try ContainerProof.examine(size: 10) { (_: Int64, _: Int) throws(TestFailure) in
                throw TestFailure("cannot be read")
            }
        }
    }

    @Test("Fixtures")
    func fixtures() throws {
        for name in ["whole.mp4", "capture.mov", "irregular.mkv", "sound-only.wav"] {
            #expect(try examine(TestPlace.fixture(name)) == .complete, "\(name)")
        }
        for name in ["cut.mkv", "cut.mp4", "unfinished.mov"] {
            #expect(try examine(TestPlace.fixture(name)).isIncomplete, "\(name)")
        }
        #expect(try examine(TestPlace.fixture("text.mov")).isUnprovable)
    }

    @Test("Complete is not said while ffmpeg writes", arguments: ["mp4", "mkv", "avi", "wav", "mov"])
    func recording(_ kind: String) async throws {
        let directory = try TemporaryDirectory()
        let path = try directory.file("a." + kind)
        // At five times the speed of life, so that it takes half a second.
        let words =
            "ffmpeg -v error -nostdin -readrate 5 -f lavfi -i testsrc2=size=160x120:rate=25 -f lavfi -i anoisesrc -t 2.5"
        let program = try RunningProgram(
            "/usr/bin/env", words.split(separator: " ").map(String.init) + [path.text],
            environment: ["PATH": ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"])
        var whenComplete: [UInt8]?
        while program.isRunning {
            let bytes = (try? contents(path)) ?? []
            if try examine(bytes) == .complete, whenComplete == nil { whenComplete = bytes }
            try await Task.sleep(for: .milliseconds(3))
        }
        let whole = try contents(path)
        #expect(try examine(whole) == .complete)
        #expect(whenComplete == nil || whenComplete == whole)
    }

    @Test("Spoiled files end in a verdict, after a bounded number of reads")
    func fuzz() async throws {
        let seed = TestPlace.isFull ? UInt64.random(in: 1...UInt64.max) : 20_240_229
        print("seed of spoiled files: \(seed)")
        var random = SplitMix(state: seed)
        let directory = try TemporaryDirectory()
        var files: [[UInt8]] = []
        for (name, arguments) in [
            ("a.mp4", "-movflags +faststart"), ("b.mp4", "-movflags +frag_keyframe+empty_moov"), ("a.mkv", ""),
            ("a.avi", ""),
            ("a.wmv", ""), ("a.mxf", "-c:v mpeg2video -ar 48000"), ("a.flv", "-ar 44100"),
            ("a.wav", "-vn -rf64 always"),
            ("a.ogg", "-vn -c:a libvorbis"), ("a.aiff", "-vn"),
        ] {
            let sources = "-f lavfi -i testsrc2=size=64x48:rate=25 -f lavfi -i anoisesrc -t 0.3"
            let path = try directory.file(name)
            try await Judge.record((sources + " " + arguments).split(separator: " ").map(String.init), to: path)
            files.append(try contents(path))
        }
        for _ in 0..<(TestPlace.isFull ? 20_000 : 800) {
            var file = files[Int.random(in: 0..<files.count, using: &random)]
            spoil(&file, &random)
            _ = try examine(file)
        }
    }

    /// Numbers that hurt at random places, most of them where headers are; pieces doubled, dropped, emptied.
    private func spoil(_ file: inout [UInt8], _ random: inout SplitMix) {
        for _ in 0..<Int.random(in: 1...6, using: &random) {
            guard file.count > 16 else { return }
            let reach =
                [file.count, min(file.count, 2048), min(file.count, 200)].randomElement(using: &random) ?? file.count
            var place = Int.random(in: 0..<reach - 8, using: &random)
            if Int.random(in: 0..<4, using: &random) == 0 { place = file.count - 8 - place % (file.count - 8) }
            let end = min(file.count, place + Int.random(in: 1...64, using: &random))
            switch Int.random(in: 0..<6, using: &random) {
            case 0: file[place] = UInt8.random(in: 0...255, using: &random)
            case 1:
                let numbers: [UInt64] = [0, 1, 7, 8, 0x7FFF_FFFF, 0xFFFF_FFFF, 0xFFFF_FFF8, .max, .max >> 1, 1 << 62]
                let value = numbers.randomElement(using: &random) ?? 0
                let length = Bool.random(using: &random) ? 4 : 8
                file.replaceSubrange(place..<place + length, with: number(value, length))
            case 2: file.insert(contentsOf: file[place..<end], at: place)
            case 3: file.removeSubrange(place..<end)
            case 4: for index in place..<end { file[index] = 0 }
            default: file.removeSubrange(place...)
            }
        }
    }

    @Test("Other people's recordings", .enabled(if: TestPlace.media != nil))
    func media() throws {
        let place = try #require(TestPlace.media)
        for name in try FileManager.default.contentsOfDirectory(atPath: place).sorted() {
            let path = try TestPath.make(place + "/" + name)
            guard let fileName = path.name, RecordingNames.kind(of: fileName) == .recording else { continue }
            let whole = try contents(path)
            let verdict = try examine(whole)
            print(name, verdict)
            guard verdict == .complete else { continue }
            for point in points(whole.count) {
                #expect(
                    try examine(Array(whole.prefix(point))) != .complete, "\(name), \(point) of \(whole.count) bytes")
                let reserved = Array(whole.prefix(point)) + [UInt8](repeating: 0, count: whole.count - point)
                #expect(
                    try examine(reserved) != .complete, "\(name), \(point) of \(whole.count) bytes, the rest reserved")
            }
        }
    }
}

/// A generator that gives the same for the same seed.
private struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }
}
