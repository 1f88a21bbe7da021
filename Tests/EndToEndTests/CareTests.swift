import Foundation
import IngestModel
import IngestTestSupport
import Testing

/// What is done where a copy would not be, or is not, what the recording is.
@Suite("Care for what cannot be kept", .timeLimit(.minutes(5)))
struct CareTests {
    private let home: TestHome

    init() throws {
        home = try TestHome()
    }

    private func place(_ name: String) throws -> FilePath {
        let path = try TestPath.make(home.path + "/" + name)
        try FileManager.default.copyItem(atPath: TestPlace.fixture(name).text, toPath: path.text)
        return path
    }

    private func received() throws -> FilePath {
        try TestPath.make(home.receivedPath + "/" + #require(home.received.first))
    }

    /// More than a minute in few bytes, which no encoder makes fewer.
    private func nextToNothing(_ name: String, _ more: [String] = []) async throws -> String {
        let path = home.path + "/" + name
        try await Judge.record(
            [
                "-f", "lavfi", "-i", "testsrc2=size=128x72:rate=10:duration=90,noise=alls=30:allf=t", "-c:v", "libx264",
                "-crf", "51", "-preset", "veryslow", "-g", "900", "-pix_fmt", "yuv420p",
            ] + more, to: TestPath.make(path))
        return path
    }

    private func flags() async throws -> [String] {
        try #require(try await home.items().first?["flags"] as? [String])
    }

    @Test("a damaged recording fails with numbers, and stays")
    func damagedFails() async throws {
        let path = try place("cut.mp4")
        let outcome = try await home.run([path.text, "--compress=fast", "--after=delete"])
        #expect(
            outcome.status == 1 && outcome.errors.contains("delivers 2.4 s of a declared 4.0 s"), "\(outcome.errors)")
        #expect(home.received == [] && home.cached == [])
        #expect(try path.contents() == TestPlace.fixture("cut.mp4").contents())
    }

    @Test(
        "with --damaged=upload it goes as it is, marked, and is not taken away",
        arguments: ["cut.mp4", "unfinished.mov"], ["--compress=fast", "--remux"])
    func damagedGoes(name: String, how: String) async throws {
        let path = try place(name)
        let outcome = try await home.run([path.text, how, "--damaged=upload", "--after=delete"])
        #expect(outcome.status == 0 && outcome.errors.contains("uploaded as it is"), "\(outcome.errors)")
        #expect(try received().contents() == path.contents())
        #expect(try await flags() == ["damaged"])
    }

    @Test(
        "with --damaged=salvage everything that can be decoded goes, marked in the list and in the copy",
        arguments: ["--compress=fast", "--remux"])
    func salvaged(how: String) async throws {
        let path = try place("cut.mp4")
        let outcome = try await home.run([path.text, how, "--damaged=salvage", "--after=delete"])
        #expect(outcome.status == 0, "\(outcome.errors)")
        let probed = try await Judge.probe(received())
        let before = try await Judge.probe(path)
        #expect(probed.video.first?.frames == before.video.first?.frames)
        #expect(probed.video.first.map { abs($0.length - 2.4) < 0.1 } == true)
        #expect(probed.format?.tags?["damage"]?.contains("delivers 2.4 s of a declared 4.0 s") == true)
        #expect(try await flags() == ["salvaged"])
        #expect(FileManager.default.fileExists(atPath: path.text))
        let shown = try await home.run(["show", "1"]).output
        #expect(shown.contains("delivers 2.4 s of a declared 4.0 s"), "\(shown)")
    }

    @Test("what is damaged in the middle is salvaged as well")
    func salvagedMiddle() async throws {
        let path = try place("damaged.mp4")
        #expect(try await home.run([path.text, "--compress=fast"]).status == 1)
        let outcome = try await home.run([path.text, "--compress=fast", "--damaged=salvage"])
        #expect(outcome.status == 0, "\(outcome.errors)")
        #expect(try await Judge.probe(received()).video.first.map { $0.frames > 0 } == true)
    }

    @Test("--strict fails rather than lose what nobody asked to lose", arguments: ["--compress=fast", "--remux"])
    func strict(how: String) async throws {
        let two = home.path + "/two.mkv"
        let picture = ["-f", "lavfi", "-i", "testsrc2=size=64x64:rate=10:duration=1"]
        try await Judge.record(
            picture + picture + ["-map", "0", "-map", "1", "-c:v", "libx264"], to: TestPath.make(two))
        let outcome = try await home.run([two, how, "--strict"])
        #expect(outcome.status == 1 && outcome.errors.contains("would not keep stream 1"), "\(outcome.errors)")
        #expect(home.received == [] && home.cached == [])
        let whole = try place("capture.mov")
        #expect(try await home.run([whole.text, how, "--strict"]).status == 0)
        let asked = try await home.run([whole.text, "--compress=fast", "--strict", "--audio=none"])
        #expect(
            asked.status == 0 && asked.errors.contains("left out: stream 1 (audio, aac); no sound was asked for"),
            "\(asked.errors)")
    }

    @Test("a copy that is not right is thrown away: the recording goes as it is, or the item fails")
    func badResult() async throws {
        let script = """
            #!/bin/bash
            read -r line
            echo '{"failed":{"_0":{"code":"verification","reason":"the copy is not right; so it was","retry":{"never":{}}}}}'
            """
        let path = try place("capture.mov")
        func run(_ options: [String]) async throws -> RunningProgram.Outcome {
            try await home.run([path.text, "--compress=fast"] + options, withMediaProcess: script)
        }
        let failed = try await run(["--on-bad-result=fail"])
        #expect(failed.status == 1 && failed.errors.contains("the copy is not right"), "\(failed.errors)")
        // What was to be left out would be in the original.
        let stripped = try await run(["--strip=location"])
        #expect(stripped.status == 1 && home.received == [], "\(stripped.errors)")
        let outcome = try await run([])
        #expect(outcome.status == 0 && outcome.errors.contains("uploaded as it is"), "\(outcome.errors)")
        #expect(try received().contents() == path.contents())
        #expect(try await home.items().compactMap { $0["flags"] as? [String] }.contains(["rejected-copy"]))
    }

    @Test(
        "an encode that would make it no smaller is not begun: short pieces tell; said, marked, and not found out twice"
    )
    func forecast() async throws {
        let small = try await nextToNothing("small.mov")
        let outcome = try await home.run([small, "--compress", "--verbose"])
        #expect(outcome.status == 0 && outcome.errors.contains("uploaded as it is"), "\(outcome.errors)")
        #expect(try await home.items().first?["flags"] as? [String] == ["kept-original"])
        #expect(!outcome.errors.contains("100%  "), "\(outcome.errors)")
        let again = try await home.run([small, "--compress"])
        #expect(again.errors.contains("has turned out to make it no smaller before"), "\(again.errors)")
        // Other settings may do better.
        let other = try await home.run([small, "--compress=small", "--max-height=36"])
        #expect(other.status == 0 && !other.errors.contains("turned out"), "\(other.errors)")
    }

    @Test("before a long encode is begun, its size and time are said, and the size is about what comes out")
    func expectation() async throws {
        let large = try home.directory.file("large.mov")
        try await Judge.record(
            ["-f", "lavfi", "-i", "testsrc2=size=320x180:rate=25:duration=90", "-c:v", "mjpeg", "-q:v", "2"], to: large)
        let outcome = try await home.run([large.text, "--compress=fast"])
        #expect(outcome.status == 0, "\(outcome.errors)")
        let said = try #require(
            outcome.errors.firstMatch(of: /should have about ([0-9.]+) (KiB|MiB); that takes about 1 min/),
            "\(outcome.errors)")
        let expected = try #require(Double(said.1)) * (said.2 == "MiB" ? 1024 * 1024 : 1024)
        let made = try TestPath.make(home.receivedPath + "/" + #require(home.received.first)).contents().count
        #expect(abs(expected / Double(made) - 1) < 0.35, "expected \(expected), made \(made)")
    }

    @Test("where only the container is in the way, it alone is changed")
    func forecastRemux() async throws {
        let small = try await nextToNothing("small.mkv")
        let outcome = try await home.run([small, "--compress"])
        #expect(outcome.status == 0 && outcome.errors.contains("only its container is changed"), "\(outcome.errors)")
        let received = try TestPath.make(home.receivedPath + "/" + #require(home.received.first))
        #expect(received.text.hasSuffix(".mp4"))
        #expect(try await Judge.digests(received, "0:v") == Judge.digests(TestPath.make(small), "0:v"))
    }

    @Test("damage is found also where compressing is not worth it; what was salvaged goes whatever it weighs")
    func forecastOfDamaged() async throws {
        let whole = try await nextToNothing("whole.mp4", ["-g", "300", "-movflags", "+faststart"])
        let bytes = try TestPath.make(whole).contents()
        let cut = try home.directory.write(Array(bytes.prefix(bytes.count * 8 / 10)), to: "cut-long.mp4")
        let failed = try await home.run([cut.text, "--compress", "--after=delete"])
        #expect(failed.status == 1 && failed.errors.contains("of a declared 90.0 s"), "\(failed.errors)")
        let outcome = try await home.run([cut.text, "--compress", "--damaged=salvage", "--after=delete"])
        #expect(outcome.status == 0, "\(outcome.errors)")
        #expect(try await flags() == ["salvaged"])
        #expect(FileManager.default.fileExists(atPath: cut.text))
    }

    @Test("what is only looked at loses nothing: --strict has no objection, and nothing is named as lost")
    func strictForecast() async throws {
        let two = try await nextToNothing("two.mp4", ["-map", "0:v", "-map", "0:v"])
        let outcome = try await home.run([two, "--compress", "--strict"])
        #expect(outcome.status == 0 && outcome.errors.contains("uploaded as it is"), "\(outcome.errors)")
        #expect(!outcome.errors.contains("not kept"), "\(outcome.errors)")
        #expect(try received().contents() == TestPath.make(two).contents())
    }
}
