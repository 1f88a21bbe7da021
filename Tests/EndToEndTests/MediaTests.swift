import Checksums
import Foundation
import IngestModel
import IngestTestSupport
import Testing

/// Recordings of other people's devices and programs, where they are at hand (`INGEST_MEDIA`).
@Suite(
    "Real recordings", .serialized, .timeLimit(.minutes(20)),
    .enabled(if: TestPlace.media != nil, "INGEST_MEDIA names no directory of recordings"))
struct MediaTests {
    private let home: TestHome

    init() throws {
        home = try TestHome()
    }

    private static let files: [String] = {
        guard let media = TestPlace.media else { return [] }
        let names = (try? FileManager.default.contentsOfDirectory(atPath: media)) ?? []
        return names.filter { !["MANIFEST.tsv", "README.md"].contains($0) }.sorted()
    }()

    /// Recordings that `--compress` must refuse, and a word of the reason: each is cut, damaged or no recording.
    private static let refused: [(begins: String, word: String)] = [
        ("empty-edit", "damaged"), ("exiv2-poc", "not a recording"), ("m4a-two-cover", "damaged"),
        ("matroska-validation", "cut off"),
        ("no-moov", "moov"), ("sony-a7-xavc", "decoded"), ("wrong-ext-mpegts", "can be read"),
    ]

    private func path(_ name: String) throws -> FilePath { try TestPath.make((TestPlace.media ?? "") + "/" + name) }

    @Test("byte for byte", arguments: files)
    func asTheyAre(name: String) async throws {
        let outcome = try await home.run(["--", path(name).text])
        #expect(outcome.status == 0, "\(outcome.errors)")
        let received = try #require(home.received.first)
        #expect(try TestPath.make(home.receivedPath + "/" + received).contents() == path(name).contents())
        #expect(home.cached == [])
    }

    /// Recordings that `--remux` must refuse: what mp4 cannot hold as it is, and what is cut, damaged or no recording.
    private static let unremuxable: [(begins: String, word: String)] = [
        ("cineform", "cfhd"), ("digital-camera", "pcm_s16le"), ("dv-720", "dvvideo"), ("phone-2004", "h263"),
        ("prores", "prores"), ("sony-a7-xavc", "pcm_s16be"), ("sony-imx", "pcm_s16le"), ("empty-edit", "damaged"),
        ("exiv2-poc", "not a recording"), ("m4a-two-cover", "damaged"), ("matroska-validation", "cut off"),
        ("no-moov", "moov"), ("wrong-ext-mpegts", "can be read"),
    ]

    @Test(
        "in another container: every packet of the main picture and of the sound, or refused for a reason",
        arguments: files)
    func remuxed(name: String) async throws {
        let outcome = try await home.run(["--remux", "--", path(name).text], seconds: 120)
        if let expected = Self.unremuxable.first(where: { name.hasPrefix($0.begins) }) {
            #expect(outcome.status == 1 && outcome.errors.contains(expected.word), "\(outcome.errors)")
            #expect(home.cached == [] && home.received == [])
            return
        }
        #expect(outcome.status == 0, "\(outcome.errors)")
        let received = try TestPath.make(home.receivedPath + "/" + #require(home.received.first))
        let before = try await Judge.probe(path(name))
        let after = try await Judge.probe(received)
        let main = before.video.max { $0.frames < $1.frames }
        #expect(after.video.count == (main == nil ? 0 : 1) && after.audio.count == before.audio.count)
        if let main, let made = after.video.first {
            #expect(made.codecName == main.codecName && made.rotation == main.rotation)
            // A recording that begins or ends between two key frames.
            let isCut = outcome.errors.contains("before the first key frame") || name.hasSuffix(".ts")
            #expect(
                made.frames == main.frames || isCut && made.frames >= main.frames - 3,
                "\(made.frames) of \(main.frames)")
        }
        for (old, new) in zip(before.audio, after.audio) {
            // In mp4 the layers of MPEG audio have one name.
            #expect(old.codecName == new.codecName || old.codecName == "mp2" && new.codecName == "mp3")
        }
        // Of what only others understand, every packet, also where FFmpeg would leave out the track by itself.
        for old in before.streams where old.codecTagString == "fdsc" {
            let new = after.streams.first { $0.codecTagString == old.codecTagString }
            #expect(new != nil && new?.nbFrames == old.nbFrames, "\(old) \(String(describing: new))")
        }
        #expect(home.cached == [])
    }

    @Test("compressed: right by ffprobe, or refused for a reason", arguments: files)
    func compressed(name: String) async throws {
        let outcome = try await home.run(["--compress=fast", "--", path(name).text], seconds: 120)
        if let expected = Self.refused.first(where: { name.hasPrefix($0.begins) }) {
            #expect(outcome.status == 1 && outcome.errors.contains(expected.word), "\(outcome.errors)")
            #expect(home.cached == [] && home.received == [])
            return
        }
        #expect(outcome.status == 0, "\(outcome.errors)")
        #expect(home.cached == [])
        let received = try TestPath.make(home.receivedPath + "/" + #require(home.received.first))
        if outcome.errors.contains("uploaded as it is") {
            #expect(try received.contents() == path(name).contents())
            return
        }
        let before = try await Judge.probe(path(name))
        let after = try await Judge.probe(received)
        // The main picture is the one with the most frames of those that are no attached picture.
        let main = before.video.max { $0.frames < $1.frames }
        #expect(after.video.count == (main == nil ? 0 : 1))
        #expect(after.audio.count == before.audio.count)
        if let main, let made = after.video.first {
            #expect(made.frames == main.frames)
            #expect(made.rotation == main.rotation)
            #expect(
                abs(made.length - main.length) < 0.05 || main.length == 0 || !before.declaresLengths,
                "\(made.length) \(main.length)")
        }
        for (old, new) in zip(before.audio, after.audio) where old.length > 0 && before.declaresLengths {
            #expect(abs(old.length - new.length) < 0.06, "\(old.length) \(new.length)")
        }
    }
}

extension Probed {
    /// Whether the streams' durations stand in the container's header; elsewhere ffprobe guesses them.
    fileprivate var declaresLengths: Bool { format?.formatName?.contains("mov") == true }
}

/// What no recording holds and no codec expects: it fails in words, and the next recording is done.
@Suite("Hostile recordings", .timeLimit(.minutes(5)))
struct HostileTests {
    private let home: TestHome

    init() throws {
        home = try TestHome()
    }

    private func expectOneDone(_ outcome: RunningProgram.Outcome, _ words: String) {
        #expect(outcome.status == 3 && outcome.errors.contains(words), "\(outcome.errors)")
        #expect(home.received.count == 1 && home.cached == [])
    }

    @Test(
        "times, sizes and rates that nobody can reckon with",
        arguments: [
            ("far-times.mp4", "cannot be decoded as they were recorded"),
            ("huge-sample.mp4", "asks for more memory than there is"),
            ("many-pictures.mp4", "asks for more memory than there is"),
            ("slow-sound.wav", "its sound"),
        ], ["--compress=fast", "--remux"])
    func impossible(mutant: (name: String, words: String), how: String) async throws {
        let files = try ["mutants/" + mutant.name, "upright.mov"].map { try TestPlace.fixture($0).text }
        let outcome = try await home.run([how] + files, seconds: 120)
        expectOneDone(outcome, mutant.words)
        #expect(!outcome.errors.contains("was ended"), "\(outcome.errors)")
    }

    @Test("a codec that crashes takes down one recording")
    func crash() async throws {
        let script = """
            #!/bin/bash
            read -r line
            case "$line" in *whole.mp4*) kill -SEGV $$ ;; esac
            exec '\(TestPlace.programs)/ingest-media' < <(printf '%s\\n' "$line"; exec cat)
            """
        let files = try ["whole.mp4", "upright.mov"].map { try TestPlace.fixture($0).text }
        expectOneDone(
            try await home.run(["--compress=fast"] + files, withMediaProcess: script), "was ended by signal 11")
    }
}
