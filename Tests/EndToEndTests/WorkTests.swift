import Checksums
import Foundation
import IngestModel
import IngestTestSupport
import Testing

/// The built program from outside: working, being told, several at once.
@Suite("At work", .serialized, .timeLimit(.minutes(10)))
struct WorkTests {
    private let home: TestHome

    init() throws {
        home = try TestHome()
    }

    @Test("nothing configured: compressed, received, cleaned up; standard output is the URL")
    func builtIn() async throws {
        let outcome = try await home.run([TestPlace.fixture("capture.mov").text, "--compress=fast"])
        #expect(outcome.status == 0, "\(outcome.errors)")
        let name = try #require(home.received.first)
        #expect(name.wholeMatch(of: /\d{10}-capture\.mp4/) != nil)
        #expect(outcome.output == "file://\(home.receivedPath)/\(name)\n")
        #expect(home.cached == [])
        let probed = try await Judge.probe(TestPath.make(home.receivedPath + "/" + name))
        #expect(probed.video.first?.frames == 150 && probed.audio.count == 1)
    }

    @Test("every event as a JSON line, with what belongs to it")
    func json() async throws {
        let source = try TestPath.make(home.path + "/two-pictures.mkv")
        let picture = ["-f", "lavfi", "-i", "testsrc2=size=64x64:rate=10:duration=1"]
        try await Judge.record(picture + picture + ["-map", "0", "-map", "1", "-c:v", "ffv1"], to: source)
        let outcome = try await home.run([source.text, "--compress=fast", "--json"])
        let events = try outcome.output.split(separator: "\n").map {
            try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
        }
        for event in events {
            #expect(
                event["id"] as? Int == 1 && (event["time"] as? String)?.hasSuffix("Z") == true && event["file"] != nil
                    && event["state"] != nil)
        }
        let kinds = events.compactMap { $0["event"] as? String }
        #expect(kinds.last == "done" && kinds.contains("loss") && kinds.contains("progress"))
        #expect(
            events.filter { $0["event"] as? String == "state" }.compactMap { $0["state"] as? String } == [
                "preparing", "ready", "uploading", "saving", "done",
            ])
        #expect(
            events.last?["sha256"] is String && events.last?["receipt"] as? String == "digest"
                && events.last?["url"] is String)
    }

    @Test("a recording that compressing makes no smaller goes as it is, under its own name, and says so")
    func keptOriginal() async throws {
        let small = home.path + "/small.mov"
        try await Judge.record(
            [
                "-f", "lavfi", "-i", "color=gray:size=320x180:rate=30:duration=1", "-c:v", "libx264", "-crf", "51",
                "-pix_fmt", "yuv420p",
            ], to: TestPath.make(small))
        let outcome = try await home.run([small, "--compress"])
        #expect(outcome.status == 0 && outcome.errors.contains("uploaded as it is"))
        let name = try #require(home.received.first)
        #expect(name.hasSuffix("-small.mov"))
        #expect(try TestPath.make(home.receivedPath + "/" + name).contents() == TestPath.make(small).contents())
        #expect(try await home.items().first?["flags"] as? [String] == ["kept-original"])
        #expect(home.cached == [])
    }

    @Test(
        "pausing from another process stops an upload at once; resuming goes on there", arguments: ["pause", "cancel"])
    func asked(wish: String) async throws {
        let server = try await BlockServer()
        try home.recording(size: 8 << 20)
        let program = try home.start(["capture.bin", "--to", server.destination, "--limit-rate", "2M"])
        try await eventually("two blocks are up") { try server.blocks().count >= 2 }
        let asked = try await home.run([wish, "1"])
        #expect(asked.status == 0)
        let count = try server.blocks().count
        let outcome = try await program.wait(seconds: 10)
        #expect(try server.blocks().count <= count + 1)
        if wish == "pause" {
            #expect(outcome.status == 75 && outcome.errors.contains("ingest resume 1"))
            #expect(home.cached.count == 1)
            #expect(try await home.run(["run", "--once"]).status == 0)
            #expect(try server.completed().isEmpty)
            #expect(try await home.run(["resume", "1"]).status == 0)
            #expect(try await home.run(["run", "--once"]).status == 0)
            #expect(try server.completed().count == 1)
            #expect(try server.blocks().count <= 9)
        } else {
            #expect(outcome.status == 1 && outcome.errors.contains("cancelled"))
            #expect(home.cached == [])
            #expect(try server.log().contains { $0.dropped != nil && $0.status == 204 })
        }
        server.stop()
    }

    @Test("pausing stops a running encoder; what it had made goes")
    func pausingEncoder() async throws {
        let long = home.path + "/long.mov"
        try await Judge.record(
            [
                "-f", "lavfi", "-i", "testsrc2=size=1280x720:rate=30:duration=15", "-c:v", "libx264", "-preset",
                "ultrafast",
            ], to: TestPath.make(long))
        let program = try home.start([long, "--compress=small"])
        try await eventually("it compresses") {
            home.cached.contains { $0.hasSuffix(".part") } && program.errors.contains("compressing")
        }
        #expect(try await home.run(["pause", "1"]).status == 0)
        #expect(try await program.wait(seconds: 10).status == 75)
        #expect(home.cached == [])
        #expect(try await home.state(of: 1) == "paused")
    }

    @Test("signals: ^C is 130 and keeps everything, TERM ends a run with 0 and a file with 130, a second ^C is at once")
    func signals() async throws {
        let server = try await BlockServer()
        let bytes = try home.recording(size: 24 << 20)
        let slowly = ["capture.bin", "--to", server.destination, "--limit-rate", "2M"]
        /// Starts it, and waits until a block has come from it and no other.
        func startUploading(_ words: [String]) async throws -> RunningProgram {
            let program = try home.start(words)
            try await eventually("it uploads") { program.errors.contains("is being uploaded") }
            let count = try server.blocks().count
            try await eventually("a block is up") { try server.blocks().count > count }
            return program
        }
        for (words, signal, status) in [
            (slowly, SIGINT, 130), (["run"], SIGTERM, 0), (["run", "--once"], SIGINT, 130), (slowly, SIGTERM, 130),
        ] as [([String], Int32, Int32)] {
            let program = try await startUploading(words)
            program.send(signal)
            let outcome = try await program.wait(seconds: 30)
            #expect(outcome.status == status, "\(words): \(outcome.errors)")
            #expect(home.cached.count == 1)
        }
        let program = try await startUploading(["run", "--once"])
        program.send(SIGINT)
        program.send(SIGINT)
        #expect(try await program.wait(seconds: 30).status == 130)
        _ = try await home.run(["capture.bin", "--to", server.destination])
        #expect(try server.completed().map { $0.sha256 } == [SHA256.digest(of: bytes).hex])
        server.stop()
    }

    @Test("whoever asks for a recording that another process uploads follows it, and ends as it does")
    func following() async throws {
        let server = try await BlockServer()
        try home.recording(size: 6 << 20)
        let first = try home.start(["capture.bin", "--to", server.destination, "--limit-rate", "3M"])
        try await eventually("a block is up") { try server.blocks().count >= 1 }
        let second = try home.start(["capture.bin", "--to", server.destination])
        let (one, two) = try await (first.wait(), second.wait())
        #expect(one.status == 0 && two.status == 0)
        #expect(one.output == two.output && two.output.contains("/files/"))
        #expect(two.errors.contains("goes on as item 1") && two.errors.contains("uploading"))
        #expect(try server.blocks().count == 6)
        server.stop()
    }

    @Test("several that bring the same recording at once bring it once")
    func sameRecordingAtOnce() async throws {
        let server = try await BlockServer()
        try home.recording(size: 600_000)
        let programs = try (0..<5).map { _ in
            try home.start(["capture.bin", "--to", server.destination, "--block-size", "100k", "--limit-rate", "500k"])
        }
        var outputs: Set<String> = []
        for program in programs {
            let outcome = try await program.wait()
            #expect(outcome.status == 0, "\(outcome.errors)")
            outputs.insert(outcome.output)
        }
        #expect(try outputs.count == 1 && server.completed().count == 1)
        #expect(try await home.items().count == 1)
        server.stop()
    }

    @Test("a recording that is called like an unfinished copy is no less safe")
    func partNames() async throws {
        try home.recording("a.part", size: 200_000, seed: 3)
        try home.recording("a", size: 100_000, seed: 4)
        let kept = try home.directory.file("a.part").contents()
        _ = try await home.run(["-d", "a.part", "a", "--to", "http://127.0.0.1:1/upload"])
        _ = try await home.run(["pause", "2"])
        #expect(try await home.run(["run", "--once", "--patience", "0"]).status == 75)
        try FileManager.default.removeItem(atPath: home.path + "/a.part")
        _ = try await home.run(["resume", "2"])
        _ = try await home.run(["run", "--once", "--patience", "0"])
        #expect(try await home.run(["cancel", "2"]).status == 0)
        let cached = try #require(home.cached.first)
        #expect(home.cached.count == 1)
        #expect(try TestPath.make(home.cachePath + "/" + cached).contents() == kept)
        // Not even without the list.
        try FileManager.default.removeItem(atPath: home.path + "/.local/state/ingest")
        #expect(try await home.run(["clean"]).errors.contains("taken into the list"))
        #expect(try TestPath.make(home.cachePath + "/" + cached).contents() == kept)
    }

    @Test("entries of the cache that are no files are left alone, and keep nothing from being put in order")
    func oddEntries() async throws {
        #expect(try await home.run(["clean"]).status == 0)
        try FileManager.default.createDirectory(
            atPath: home.cachePath + "/1-directory", withIntermediateDirectories: false)
        try FileManager.default.createSymbolicLink(
            atPath: home.cachePath + "/2-link.mov", withDestinationPath: "/etc/passwd")
        #expect(mkfifo(home.cachePath + "/3-pipe", 0o600) == 0)
        try home.directory.write([1, 2, 3], to: ".cache/Video/4-lost.mov")
        for words in [["clean", "--dry-run"], ["clean"]] {
            let outcome = try await home.run(words)
            #expect(outcome.status == 0, "\(outcome.errors)")
            for name in ["1-directory", "2-link.mov", "3-pipe"] {
                #expect(outcome.errors.contains("left alone: \(name)"), "\(outcome.errors)")
            }
            #expect(outcome.errors.contains("4-lost.mov"))
        }
        #expect(try await home.items().count == 1)
    }

    @Test("a linked recording that changes while it is uploaded is taken again as it then is")
    func linkChangedMeanwhile() async throws {
        let server = try await BlockServer()
        let bytes = try home.recording(size: 3 << 20)
        let program = try home.start(
            ["capture.bin", "--cache", "link", "--to", server.destination, "--limit-rate", "2M"])
        try await eventually("a block is up") { try server.blocks().count >= 1 }
        try append([1, 2, 3], to: home.path + "/capture.bin")
        let outcome = try await program.wait()
        #expect(outcome.status == 0 && outcome.errors.contains("as it now is"), "\(outcome.errors)")
        #expect(try server.completed().last?.sha256 == SHA256.digest(of: bytes + [1, 2, 3]).hex)
        #expect(home.cached == [])
        server.stop()
    }

    @Test("files with the same bytes are recordings of their own; one that was moved goes on")
    func sameBytes() async throws {
        let server = try await BlockServer()
        try home.recording("a.bin")
        try home.recording("b.bin")
        let both = try await home.run(["a.bin", "b.bin", "--to", server.destination])
        #expect(both.status == 0 && both.output.split(separator: "\n").count == 2)
        #expect(try server.completed().count == 2)
        let again = try await home.run(["a.bin", "--to", server.destination])
        #expect(again.status == 0 && again.errors.contains("was uploaded before, as item 1"), "\(again.errors)")
        try home.recording("c.bin", seed: 4)
        _ = try await home.run(["c.bin", "--to", server.destination], ["INGEST_CRASH_AT": "after-block-stored:2"])
        try FileManager.default.moveItem(atPath: home.path + "/c.bin", toPath: home.path + "/d.bin")
        let moved = try await home.run(["d.bin", "--to", server.destination])
        #expect(moved.status == 0 && moved.errors.contains("goes on as item 4"), "\(moved.errors)")
        server.stop()
    }

    @Test("interrupted: how many files are done, and what must stay where it is")
    func interruptions() async throws {
        let server = try await BlockServer()
        for name in ["a.bin", "b.bin", "c.bin"] { try home.recording(name, seed: UInt64(name.utf8.first ?? 0)) }
        let program = try home.start(
            ["a.bin", "b.bin", "c.bin", "--to", server.destination, "--limit-rate", "2M"])
        try await eventually("the second is on its way") { try server.blocks().count >= 5 }
        program.send(SIGINT)
        let outcome = try await program.wait(seconds: 10)
        #expect(outcome.status == 130)
        #expect(
            outcome.errors.contains("1 of 3 files are done; 1 of 2 are not copied yet")
                && outcome.errors.contains("ingest run --once"), "\(outcome.errors)")
        #expect(try await home.run(["run", "--once"]).status == 0)
        #expect(try server.completed().count == 3)
        server.stop()
    }

    @Test("one that follows takes over when the other dies")
    func takingOver() async throws {
        let server = try await BlockServer()
        let bytes = try home.recording(size: 6 << 20)
        let first = try home.start(["capture.bin", "--to", server.destination, "--limit-rate", "2M"])
        try await eventually("two blocks are up") { try server.blocks().count >= 2 }
        let second = try home.start(["capture.bin", "--to", server.destination])
        try await eventually("the other follows") { second.errors.contains("uploading") }
        first.send(SIGKILL)
        #expect(try await second.wait().status == 0)
        #expect(try server.completed().map { $0.sha256 } == [SHA256.digest(of: bytes).hex])
        #expect(try server.blocks().count <= 7)
        server.stop()
    }

    @Test("several runs at once share the work: each file goes up once")
    func severalRuns() async throws {
        let server = try await BlockServer()
        var digests: Set<String> = []
        var names: [String] = []
        for number in 1...12 {
            names.append("file\(number).bin")
            digests.insert(
                SHA256.digest(of: try home.recording("file\(number).bin", size: 300_000 + number, seed: UInt64(number)))
                    .hex)
        }
        #expect(
            try await home.run(["--detach", "--to", server.destination] + names).output.split(separator: "\n").count
                == 12)
        let programs = try (0..<3).map { _ in try home.start(["run", "--once", "--jobs", "2"]) }
        for program in programs { #expect(try await program.wait().status == 0) }
        let done = try server.completed().compactMap { $0.sha256 }
        #expect(Set(done) == digests && done.count == 12)
        #expect(home.cached == [])
        server.stop()
    }

    @Test("a far side that is away does not hold up another")
    func awayBesideNear() async throws {
        let server = try await BlockServer()
        try home.recording("a.bin")
        let bytes = try home.recording("b.bin", seed: 2)
        _ = try await home.run(["--detach", "a.bin", "--to", "http://127.0.0.1:1/upload"])
        _ = try await home.run(["--detach", "b.bin", "--to", server.destination])
        let program = try home.start(["run", "--once"])
        try await eventually("the second is up") {
            try server.completed().map { $0.sha256 } == [SHA256.digest(of: bytes).hex]
        }
        program.send(SIGTERM)
        #expect(try await program.wait().status == 0)
        server.stop()
    }

    @Test("patience: a far side that stays away leaves the file for later, with 75 and its copy kept")
    func patience() async throws {
        try home.recording()
        let outcome = try await home.run(["capture.bin", "--to", "http://127.0.0.1:1/upload", "--patience", "1"])
        #expect(outcome.status == 75 && outcome.errors.contains("not now") && outcome.errors.contains("ingest run"))
        #expect(home.cached.count == 1)
        let server = try await BlockServer(["503:600@0"])
        let start = ContinuousClock.now
        try home.recording("other.bin", seed: 3)
        let demanded = try await home.run(["other.bin", "--to", server.destination, "--patience", "60"])
        #expect(demanded.status == 75)
        #expect(ContinuousClock.now - start < .seconds(30), "Retry-After beyond the patience leaves at once")
        server.stop()
    }

    @Test(
        "an upload that was never opened owes nothing to the far side", arguments: ["refused", "no such server", "404"])
    func neverOpened(how: String) async throws {
        try home.recording()
        let server = try await BlockServer(how == "404" ? ["404@0"] : [])
        let url = how == "no such server" ? "http://no-such-host.invalid/upload" : "http://127.0.0.1:1/upload"
        let outcome = try await home.run(
            ["capture.bin", "--patience", "0", "--to", how == "404" ? server.destination : url])
        #expect(outcome.status == (how == "404" ? 1 : 75), "\(outcome.errors)")
        let cancelled = try await home.run(["cancel", "1"])
        #expect(cancelled.status == 0 && !cancelled.errors.contains("far side"), "\(cancelled.errors)")
        #expect(try await home.run(["clean"]).status == 0)
        server.stop()
    }

    @Test("what a far side that never comes back should drop is given up after a week")
    func oldDebts() async throws {
        try home.recording(size: 4 << 20)
        let server = try await BlockServer()
        _ = try await home.run(
            ["capture.bin", "--to", server.destination], ["INGEST_CRASH_AT": "after-block-stored:2"])
        server.stop()
        let cancelled = try await home.run(["cancel", "1"])
        #expect(cancelled.status == 0 && cancelled.errors.contains("parts of an upload"), "\(cancelled.errors)")
        #expect(try await home.run(["clean"]).status == 75)
        let aged = try await Judge.tool(
            "python3",
            [
                "-c",
                "import sqlite3,sys; c=sqlite3.connect(sys.argv[1]); c.execute('UPDATE debts SET created=created-8*86400'); c.commit()",
                home.path + "/.local/state/ingest/list.sqlite",
            ])
        #expect(aged.status == 0, "\(aged.errors)")
        let clean = try await home.run(["clean"])
        #expect(clean.status == 0 && clean.errors.contains("it expires there"), "\(clean.errors)")
        #expect(try await home.run(["clean", "--dry-run", "--json"]).output.contains("\"owed\":0"))
    }

    @Test("the list tells who looks after an item")
    func attendance() async throws {
        try home.recording()
        let program = try home.start(["capture.bin", "--to", "http://127.0.0.1:1/upload"])
        try await eventually("it waits for another try") { program.errors.contains("next try") }
        let waiting = try await home.run(["list"]).output
        #expect(waiting.firstMatch(of: /next try in|is tried again|preparing|uploading/) != nil, "\(waiting)")
        #expect(!waiting.contains("nobody"))
        program.send(SIGINT)
        _ = try await program.wait(seconds: 10)
        let list = try await home.run(["list"]).output
        #expect(list.contains("nobody works on it; “ingest run” goes on") && !list.contains("next try"), "\(list)")
    }

    @Test("patience ends a request that stands still as well")
    func patienceInFlight() async throws {
        let script = """
            import socket
            s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen(); print(s.getsockname()[1], flush=True)
            kept = []
            while True: kept.append(s.accept())
            """
        let silent = try RunningProgram("/usr/bin/env", ["python3", "-c", script], environment: home.environment)
        try await eventually("it listens") { silent.output.hasSuffix("\n") }
        try home.recording()
        let port = silent.output.trimmingCharacters(in: .newlines)
        let start = ContinuousClock.now
        let outcome = try await home.run(
            ["capture.bin", "--to", "http://127.0.0.1:\(port)/upload", "--patience", "2"])
        #expect(outcome.status == 75 && outcome.errors.contains("no progress"), "\(outcome.errors)")
        #expect(ContinuousClock.now - start < .seconds(40))
        #expect(home.cached.count == 1)
        silent.send(SIGKILL)
    }

    @Test("a recording that grows is taken again as it then is; one that is replaced goes as it was taken")
    func changingRecordings() async throws {
        let server = try await BlockServer()
        let bytes = try home.recording(size: 4 << 20)
        func started() async throws -> RunningProgram {
            let program = try home.start(["capture.bin", "--to", server.destination, "--limit-rate", "2M"])
            let count = try server.blocks().count
            try await eventually("a block is up") { try server.blocks().count > count }
            program.send(SIGKILL)
            _ = try await program.wait()
            return program
        }
        _ = try await started()
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: home.path + "/capture.bin"))
        try file.seekToEnd()
        try file.write(contentsOf: Data([1, 2, 3]))
        try file.close()
        let grown = try await home.run(["run", "--once"])
        #expect(grown.status == 0 && grown.errors.contains("grown"), "\(grown.errors)")
        #expect(try server.completed().map { $0.sha256 } == [SHA256.digest(of: bytes + [1, 2, 3]).hex])
        #expect(try server.log().contains { $0.dropped != nil && $0.status == 204 })
        _ = try await started()
        try FileManager.default.removeItem(atPath: home.path + "/capture.bin")
        try home.recording(size: 4 << 20, seed: 9)
        let replaced = try await home.run(["run", "--once"])
        #expect(replaced.status == 0 && replaced.errors.contains("as it was taken"), "\(replaced.errors)")
        #expect(try server.completed().last?.sha256 == SHA256.digest(of: bytes + [1, 2, 3]).hex)
        server.stop()
    }

    private func append(_ bytes: [UInt8], to path: String) throws {
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
        try file.seekToEnd()
        try file.write(contentsOf: Data(bytes))
        try file.close()
    }

    @Test("a recording that grows while it is uploaded goes up again before it counts as done")
    func growingWhileUploaded() async throws {
        let server = try await BlockServer()
        let bytes = try home.recording(size: 3 << 20)
        let program = try home.start(["capture.bin", "--to", server.destination, "--limit-rate", "2M"])
        try await eventually("a block is up") { try server.blocks().count >= 1 }
        try append([1, 2, 3], to: home.path + "/capture.bin")
        let outcome = try await program.wait()
        #expect(outcome.status == 0 && outcome.errors.contains("grown"), "\(outcome.errors)")
        #expect(
            try server.completed().map { $0.sha256 } == [bytes, bytes + [1, 2, 3]].map { SHA256.digest(of: $0).hex })
        #expect(outcome.output.split(separator: "\n").count == 1)
        #expect(home.cached == [])
        server.stop()
    }

    @Test("a recording that is written piece by piece, opened anew for each, is left alone until it has settled")
    func writtenInPieces() async throws {
        let server = try await BlockServer()
        let bytes = try home.recording(size: 1 << 20)
        try append([0], to: home.path + "/capture.bin")
        let writer = try RunningProgram(
            "/bin/bash",
            ["-c", "for i in 1 2 3 4 5 6; do sleep 0.3; printf \"$i\" >> '\(home.path)/capture.bin'; done"],
            environment: home.environment)
        let program = try home.start(["capture.bin", "--to", server.destination])
        _ = try await writer.wait()
        #expect(try await program.wait().status == 0)
        #expect(
            try server.completed().map { $0.sha256 } == [SHA256.digest(of: bytes + [0] + Array("123456".utf8)).hex])
        server.stop()
    }

    @Test("a recording that somebody is writing is left alone until it is finished")
    func beingWritten() async throws {
        let server = try await BlockServer()
        let bytes = try home.recording(size: 1 << 20)
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: home.path + "/capture.bin"))
        try file.seekToEnd()
        try file.write(contentsOf: Data([0]))
        let program = try home.start(["capture.bin", "--to", server.destination])
        try await eventually("it waits") { program.errors.contains("still being written") }
        try file.write(contentsOf: Data([1, 2, 3]))
        try file.close()
        let outcome = try await program.wait()
        #expect(outcome.status == 0, "\(outcome.errors)")
        #expect(try server.completed().map { $0.sha256 } == [SHA256.digest(of: bytes + [0, 1, 2, 3]).hex])
        server.stop()
    }

    @Test(
        "a copy found in the cache is never given up, whatever is done to it",
        arguments: ["grow", "touch", "cut", "gone"])
    func foundCopies(how: String) async throws {
        let bytes = TestBytes.make(2 << 20, seed: 3)
        #expect(try await home.run(["clean"]).status == 0)
        try home.directory.write(bytes, to: ".cache/Video/1700000000-lost.mov")
        let copy = home.cachePath + "/1700000000-lost.mov"
        #expect(try await home.run(["clean"]).status == 0)
        var expected = bytes
        switch how {
        case "grow":
            try append([7, 7], to: copy)
            expected += [7, 7]
        case "touch":
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSince1970: 1)], ofItemAtPath: copy)
        case "cut":
            #expect(truncate(copy, 1000) == 0)
            expected = Array(bytes.prefix(1000))
        default: try FileManager.default.removeItem(atPath: copy)
        }
        #expect(try await home.run(["retry", "1"]).status == 0)
        let outcome = try await home.run(["run", "--once"])
        if how == "gone" {
            #expect(outcome.status == 1 && outcome.errors.contains("nothing left"), "\(outcome.errors)")
            return
        }
        #expect(outcome.status == 0, "\(outcome.errors)")
        let name = try #require(home.received.first)
        #expect(try TestPath.make(home.receivedPath + "/" + name).contents() == expected)
        #expect(home.cached == [])
    }

    @Test(
        "a cached copy that is deleted, cut or touched is made again from the recording",
        arguments: ["delete", "cut", "touch", "replace"])
    func lostCopies(how: String) async throws {
        let server = try await BlockServer()
        let bytes = try home.recording()
        _ = try await home.run(
            ["capture.bin", "--to", server.destination], ["INGEST_CRASH_AT": "after-block-stored:2"])
        let copy = home.cachePath + "/" + (try #require(home.cached.first))
        switch how {
        case "delete": try FileManager.default.removeItem(atPath: copy)
        case "cut": #expect(truncate(copy, 1000) == 0)
        case "touch":
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSince1970: 1)], ofItemAtPath: copy)
        default: try Data(TestBytes.make(bytes.count, seed: 5)).write(to: URL(fileURLWithPath: copy))
        }
        let outcome = try await home.run(["run", "--once"])
        #expect(outcome.status == 0, "\(outcome.errors)")
        #expect(try server.completed().map { $0.sha256 } == [SHA256.digest(of: bytes).hex])
        #expect(home.cached == [])
        server.stop()
    }

    @Test("a lost copy of a recording that is gone as well fails in words")
    func lostForGood() async throws {
        try home.recording()
        _ = try await home.run(["capture.bin"], ["INGEST_CRASH_AT": "after-block-stored:2"])
        try FileManager.default.removeItem(atPath: home.cachePath + "/" + (try #require(home.cached.first)))
        try FileManager.default.removeItem(atPath: home.path + "/capture.bin")
        let outcome = try await home.run(["run", "--once"])
        #expect(outcome.status == 1 && outcome.errors.contains("cannot be made again"))
    }

    @Test("never the last copy: without the recording nothing but force deletes it", arguments: ["remove", "cancel"])
    func lastCopy(command: String) async throws {
        try home.recording()
        _ = try await home.run(["capture.bin"], ["INGEST_CRASH_AT": "after-block-stored:2"])
        try FileManager.default.removeItem(atPath: home.path + "/capture.bin")
        let refused = try await home.run([command, "1"])
        #expect(refused.status == 1 && refused.errors.contains("--force"))
        #expect(home.cached.count == 1)
        #expect(try await home.run([command, "1", "--force"]).status == 0)
        #expect(home.cached == [])
    }

    @Test("linked instead of copied: nothing is written twice, and a change is noticed")
    func linking() async throws {
        let server = try await BlockServer()
        let bytes = try home.recording()
        let outcome = try await home.run(["capture.bin", "--cache", "link", "--to", server.destination])
        #expect(outcome.status == 0)
        #expect(try server.completed().map { $0.sha256 } == [SHA256.digest(of: bytes).hex])
        #expect(home.cached == [])
        #expect(try TestPath.make(home.path + "/capture.bin").contents() == bytes)
        _ = try await home.run(
            ["capture.bin", "--cache", "link", "--to", server.destination], ["INGEST_CRASH_AT": "after-block-stored:2"])
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: home.path + "/capture.bin"))
        try file.write(contentsOf: Data([9, 9, 9]))
        try file.close()
        let changed = try await home.run(["run", "--once"])
        // The link was the recording itself: what it was is gone, nothing mixed goes up, and what it now is does.
        #expect(changed.status == 0 && changed.errors.contains("as it now is"), "\(changed.errors)")
        #expect(
            try server.completed().map { $0.sha256 }
                == [bytes, [9, 9, 9] + bytes.dropFirst(3)].map {
                    SHA256.digest(of: $0).hex
                })
        #expect(home.cached == [])
        server.stop()
    }

    @Test("the recording is never touched")
    func untouched() async throws {
        try home.recording()
        let before = try FileManager.default.attributesOfItem(atPath: home.path + "/capture.bin")
        #expect(try await home.run(["capture.bin"]).status == 0)
        let after = try FileManager.default.attributesOfItem(atPath: home.path + "/capture.bin")
        #expect(before[.modificationDate] as? Date == after[.modificationDate] as? Date)
        #expect(
            before[.size] as? Int == after[.size] as? Int
                && before[.posixPermissions] as? Int == after[.posixPermissions] as? Int)
    }

    @Test("names that are hard: quotes, line ends, every script, 255 bytes, not UTF-8")
    func names() async throws {
        let server = try await BlockServer()
        for name in [
            "ünï ’quote\"\n日本.mov", "-dash.mov", String(repeating: "x", count: 250) + ".mov", "--compress", " ",
            "a;rm -rf $HOME.mov",
        ] {
            let bytes = try home.recording(name, size: 1000, seed: UInt64(name.count))
            let outcome = try await home.run(["--to", server.destination, "--", name])
            #expect(outcome.status == 0, "\(name) \(outcome.errors)")
            #expect(try server.completed().last?.sha256 == SHA256.digest(of: bytes).hex)
        }
        let script =
            "import os,sys; n=b'odd\\xff\\xfe.mov'; open(os.path.join(sys.argv[1].encode(), n),'wb').write(b'x'); import subprocess; sys.exit(subprocess.call([sys.argv[2].encode(), b'--to', sys.argv[3].encode(), os.path.join(sys.argv[1].encode(), n)]))"
        let odd = try await RunningProgram(
            "/usr/bin/env", ["python3", "-c", script, home.path, TestPlace.programs + "/ingest", server.destination],
            environment: home.environment
        ).wait()
        #expect(odd.status == 0, "\(odd.errors)")
        server.stop()
    }

    @Test("a token that is none opens nothing", arguments: ["", "\n", " \n", "two words\n"])
    func noTokens(content: String) async throws {
        try home.directory.write(Array(content.utf8), to: "token")
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: home.path + "/token")
        let listening = ["receive", "--listen", "0.0.0.0:0", "--store", home.path + "/store"]
        let receiver = try await home.run(listening + ["--token-file", "token"])
        #expect(receiver.status == 1 && receiver.errors.contains("does not hold a token"), "\(receiver.errors)")
        let environment = try await home.run(listening, ["INGEST_TOKEN": content])
        #expect(environment.status == 2 && environment.errors.contains("INGEST_TOKEN"), "\(environment.errors)")
        try home.recording()
        let client = try await home.run(
            ["capture.bin", "--token-file", "token", "--to", "http://127.0.0.1:1/upload"])
        #expect(client.status == 1 && client.errors.contains("does not hold a token"), "\(client.errors)")
        // Nothing was begun for it.
        #expect(try await home.items().isEmpty)
    }

    @Test("a token in the environment opens a receiver that wants one, and stands nowhere")
    func tokens() async throws {
        let receiver = try home.start(
            ["receive", "--listen", "127.0.0.1:0", "--store", home.path + "/store"], ["INGEST_TOKEN": "hunter2hunter2"])
        try await eventually("it listens") { receiver.output.contains("listening on http://") }
        let port = try #require(receiver.output.firstMatch(of: /127\.0\.0\.1:(\d+)/)?.1)
        try home.recording()
        let url = "http://127.0.0.1:\(port)/upload"
        let without = try await home.run(["capture.bin", "--to", url])
        #expect(without.status == 1 && without.errors.contains("token"))
        let outcome = try await home.run(["capture.bin", "--to", url, "-v"], ["INGEST_TOKEN": "hunter2hunter2"])
        #expect(outcome.status == 0, "\(outcome.errors)")
        let everything =
            try await outcome.errors + outcome.output + home.run(["list", "--all", "--json"]).output + receiver.errors
        #expect(!everything.contains("hunter2"))
        for name in try home.directory.files(below: ".local/state/ingest") {
            let bytes = try home.directory.file(".local/state/ingest/" + name).contents()
            #expect(!String(decoding: bytes, as: UTF8.self).contains("hunter2"))
        }
        receiver.send(SIGTERM)
        #expect(try await receiver.wait().status == 0)
    }

    @Test("a server whose certificate does not verify is not believed")
    func certificates() async throws {
        let directory = home.path
        let made = try await Judge.tool(
            "openssl",
            [
                "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=127.0.0.1", "-days", "1", "-keyout",
                directory + "/key.pem", "-out", directory + "/cert.pem",
            ])
        #expect(made.status == 0)
        let script = """
            import http.server, ssl, sys
            s = http.server.HTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler)
            c = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER); c.load_cert_chain(sys.argv[1] + "/cert.pem", sys.argv[1] + "/key.pem")
            s.socket = c.wrap_socket(s.socket, server_side=True); print(s.server_port, flush=True); s.serve_forever()
            """
        let server = try RunningProgram(
            "/usr/bin/env", ["python3", "-c", script, directory], environment: home.environment)
        try await eventually("it listens") { server.output.hasSuffix("\n") }
        let port = server.output.trimmingCharacters(in: .newlines)
        try home.recording()
        let outcome = try await home.run(["capture.bin", "--to", "https://127.0.0.1:\(port)/upload", "--patience", "1"])
        #expect(outcome.status == 75 && outcome.errors.contains("certificate"))
        server.send(SIGKILL)
    }

    @Test("a reader that goes away ends the program quietly")
    func closedPipes() async throws {
        for number in 1...30 { try home.recording("f\(number)", size: 10, seed: UInt64(number)) }
        _ = try await home.run(["--detach"] + (1...30).map { "f\($0)" })
        let program = TestPlace.programs + "/ingest"
        let outcome = try await RunningProgram(
            "/bin/bash", ["-c", "'\(program)' list --all --json | head -c 10; exit ${PIPESTATUS[0]}"],
            environment: home.environment
        ).wait()
        #expect(outcome.status == 0 && outcome.errors.isEmpty)
    }

    @Test("on a terminal: one line that is redrawn, at most ten times a second, and fits")
    func terminal() async throws {
        let server = try await BlockServer()
        try home.recording(size: 6 << 20)
        let script = """
            import os, pty, sys, select, struct, fcntl, termios, time
            pid, fd = pty.fork()
            if pid == 0:
                os.execve(sys.argv[1], sys.argv[1:], os.environ)
            fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 70, 0, 0))
            out = b""
            while True:
                try:
                    data = os.read(fd, 65536)
                except OSError:
                    break
                if not data: break
                out += data
            sys.stdout.buffer.write(out)
            sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
            """
        var environment = home.environment
        environment["TERM"] = "xterm"
        let start = ContinuousClock.now
        let outcome = try await RunningProgram(
            "/usr/bin/env",
            [
                "python3", "-c", script, TestPlace.programs + "/ingest", home.path + "/capture.bin", "--to",
                server.destination, "--limit-rate", "3M",
            ],
            environment: environment
        ).wait()
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        #expect(outcome.status == 0, "\(outcome.output)")
        let lines = outcome.output.replacingOccurrences(of: "\r\n", with: "\n").split(separator: "\n").map {
            $0.replacing(/\u{1B}\[[0-9]*[A-Za-z]/, with: "")
        }
        let moving = lines.filter { $0.contains("uploading") }
        #expect(
            moving.contains {
                $0.wholeMatch(of: /capture\.bin  uploading  \d\.\d\dMB\/6\.00MB  \d+%  \d+\.\dMB\/s.*/) != nil
            }, "\(lines)")
        #expect(moving.allSatisfy { $0.count < 70 })
        #expect(Double(moving.count) <= seconds * 10 + 5)
        #expect(outcome.output.contains("\u{1B}[1A"))
        #expect(lines.contains { $0.contains("done (6.0 MiB") })
        server.stop()
    }
}
