import Checksums
import Foundation
import IngestModel
import IngestTestSupport
import Testing

/// The program kills itself at every named point, is started again, and everything comes out right.
@Suite("Sudden ends", .serialized, .timeLimit(.minutes(15)))
struct CrashTests {
    private let home: TestHome
    private static let size = 3 * 1_048_576 + 4711

    init() throws {
        home = try TestHome()
    }

    private func recording(_ name: String = "capture.bin", seed: UInt64 = 1) throws -> [UInt8] {
        let bytes = TestBytes.make(Self.size, seed: seed)
        try home.directory.write(bytes, to: name)
        return bytes
    }

    /// Points that an upload of a file as it is passes, and how often the pass that counts has come before.
    private static let uploadPoints = [
        "after-enqueue", "while-preparing", "before-seal", "after-seal-stored", "after-seal-renamed", "before-open",
        "after-open-answered",
        "after-open-stored", "before-block", "before-block:3", "after-block-answered", "after-block-answered:2",
        "after-block-stored",
        "after-block-stored:3", "before-block:4", "after-receipt-answered", "after-receipt-stored", "after-done-stored",
        "after-copy-deleted",
    ]

    @Test("at every point of an upload", arguments: uploadPoints)
    func uploading(point: String) async throws {
        let server = try await BlockServer()
        let bytes = try recording()
        let crashed = try await home.run(["capture.bin", "--to", server.destination], ["INGEST_CRASH_AT": point])
        #expect(crashed.status == 1009, "the point is never reached: \(crashed.errors)")
        let finished = try await home.run(["run", "--once"])
        #expect(finished.status == 0, "\(finished.errors)")
        #expect(try server.completed().map { $0.sha256 } == [SHA256.digest(of: bytes).hex])
        #expect(try server.blocks().count <= 4 + 1)
        #expect(home.cached == [])
        let items = try await home.items()
        #expect(items.map { $0["state"] as? String } == ["done"])
        #expect(items.map { $0["cleanup"] as? String } == ["done"])
        server.stop()
    }

    @Test(
        "at every point, and the same command again instead of a run",
        arguments: [
            "after-enqueue", "before-seal", "after-open-answered", "after-block-stored:2", "after-receipt-stored",
        ])
    func sameCommand(point: String) async throws {
        let server = try await BlockServer()
        let bytes = try recording()
        _ = try await home.run(["capture.bin", "--to", server.destination], ["INGEST_CRASH_AT": point])
        let again = try await home.run(["capture.bin", "--to", server.destination])
        #expect(again.status == 0, "\(again.errors)")
        #expect(again.output.contains("/files/"))
        #expect(try server.completed().map { $0.sha256 } == [SHA256.digest(of: bytes).hex])
        #expect(try server.blocks().count <= 5)
        #expect(try await home.items().count == 1)
        server.stop()
    }

    @Test(
        "at every point, and the recording is gone by then: what was sealed still arrives",
        arguments: [
            "after-seal-stored", "after-seal-renamed", "after-open-stored", "after-block-stored:2",
            "after-receipt-stored",
        ])
    func recordingGone(point: String) async throws {
        let server = try await BlockServer()
        let bytes = try recording()
        _ = try await home.run(["capture.bin", "--to", server.destination], ["INGEST_CRASH_AT": point])
        try FileManager.default.removeItem(atPath: home.path + "/capture.bin")
        let finished = try await home.run(["run", "--once"])
        #expect(finished.status == 0, "\(finished.errors)")
        #expect(try server.completed().map { $0.sha256 } == [SHA256.digest(of: bytes).hex])
        #expect(home.cached == [])
        server.stop()
    }

    @Test(
        "before anything was sealed, a recording that is gone fails in words and leaves nothing half done",
        arguments: [
            "after-enqueue", "while-preparing", "before-seal",
        ])
    func recordingGoneEarly(point: String) async throws {
        _ = try recording()
        _ = try await home.run(["capture.bin"], ["INGEST_CRASH_AT": point])
        try FileManager.default.removeItem(atPath: home.path + "/capture.bin")
        let outcome = try await home.run(["run", "--once"])
        #expect(outcome.status == 1 && outcome.errors.contains("no such file"))
        #expect(home.cached == [])
    }

    @Test(
        "while compressing, and after",
        arguments: ["while-preparing", "before-seal", "after-seal-stored", "after-open-stored"])
    func compressing(point: String) async throws {
        let server = try await BlockServer()
        let recording = try TestPlace.fixture("capture.mov").text
        let crashed = try await home.run(
            [recording, "--compress=fast", "--to", server.destination], ["INGEST_CRASH_AT": point])
        #expect(crashed.status == 1009)
        let finished = try await home.run(["run", "--once"])
        #expect(finished.status == 0, "\(finished.errors)")
        #expect(try server.completed().count == 1)
        #expect(home.cached == [])
        server.stop()
    }

    @Test(
        "while cancelling: the copy goes, the far side is told, nothing is forgotten",
        arguments: [
            "after-cancel-stored", "after-copy-deleted",
        ])
    func cancelling(point: String) async throws {
        let server = try await BlockServer()
        _ = try recording()
        _ = try await home.run(
            ["capture.bin", "--to", server.destination], ["INGEST_CRASH_AT": "after-block-stored:2"])
        let crashed = try await home.run(["cancel", "1"], ["INGEST_CRASH_AT": point])
        #expect(crashed.status == 1009)
        #expect(try await home.run(["clean"]).status == 0)
        #expect(home.cached == [])
        #expect(try await home.state(of: 1) == "cancelled")
        #expect(try server.log().filter { $0.dropped != nil && $0.status == 204 }.count == 1)
        server.stop()
    }

    @Test("while removing: the entry goes only with everything else")
    func removing() async throws {
        let server = try await BlockServer()
        _ = try recording()
        _ = try await home.run(
            ["capture.bin", "--to", server.destination], ["INGEST_CRASH_AT": "after-block-stored:2"])
        #expect(try await home.run(["remove", "1"], ["INGEST_CRASH_AT": "after-cancel-stored"]).status == 1009)
        #expect(try await home.state(of: 1) == "cancelled")
        #expect(try await home.run(["run", "--once"]).status == 0)
        #expect(try await home.state(of: 1) == "gone")
        #expect(home.cached == [])
        #expect(try server.log().filter { $0.dropped != nil && $0.status == 204 }.count == 1)
        server.stop()
    }

    @Test("while paying a debt: it is paid in the end", arguments: ["before-abandon", "after-abandon"])
    func paying(point: String) async throws {
        let server = try await BlockServer()
        _ = try recording()
        _ = try await home.run(
            ["capture.bin", "--to", server.destination], ["INGEST_CRASH_AT": "after-block-stored:2"])
        #expect(try await home.run(["cancel", "1"]).status == 0)
        #expect(try await home.run(["clean"], ["INGEST_CRASH_AT": point]).status == 1009)
        #expect(try await home.run(["clean"]).status == 0)
        #expect(try server.log().filter { $0.dropped != nil && $0.status == 204 }.count == 1)
        #expect(try await home.run(["clean", "--json"]).output.contains("\"dropped\":0"))
        server.stop()
    }

    @Test("killed at any moment, again and again: arrives once, whole", arguments: 1...3)
    func randomKills(round: Int) async throws {
        let server = try await BlockServer()
        let bytes = try recording(seed: UInt64(round))
        _ = try await home.run([
            "--detach", "capture.bin", "--to", server.destination, "--limit-rate", "4M", "--block-size", "256KiB",
        ])
        for turn in 0..<(TestPlace.isFull ? 30 : 6) {
            let program = try home.start(["run", "--once"])
            try await Task.sleep(for: .milliseconds(40 + (turn * 97 + round * 31) % 350))
            program.send(SIGKILL)
            _ = try await program.wait()
        }
        let finished = try await home.run(["run", "--once"])
        #expect(finished.status == 0, "\(finished.errors)")
        #expect(try server.completed().map { $0.sha256 } == [SHA256.digest(of: bytes).hex])
        #expect(try server.blocks().count <= 13 + (TestPlace.isFull ? 30 : 6))
        #expect(home.cached == [])
        server.stop()
    }

    @Test(
        "at every point of an upload by tus, whether that was said or is found out",
        arguments: [
            "before-open", "after-open-answered", "after-open-stored", "before-block", "after-block-answered",
            "after-block-stored", "after-receipt-answered", "after-receipt-stored", "after-done-stored",
        ], [true, false])
    func tus(point: String, isSaid: Bool) async throws {
        let server = try await TusServer()
        let bytes = try recording()
        let destination = isSaid ? server.destination : server.url
        let crashed = try await home.run(["capture.bin", "--to", destination], ["INGEST_CRASH_AT": point])
        #expect(crashed.status == 1009, "the point is never reached: \(crashed.errors)")
        let finished = try await home.run(["run", "--once"])
        #expect(finished.status == 0, "\(finished.errors)")
        #expect(try server.completed().map { $0.sha256 } == [SHA256.digest(of: bytes).hex])
        #expect(try server.requests("PATCH").filter { $0.status == 204 }.count == 1)
        #expect(home.cached == [])
        #expect(try await home.items().map { $0["state"] as? String } == ["done"])
    }

    @Test(
        "at every point of a copy into a directory",
        arguments: ["before-open", "after-open-answered", "after-receipt-answered", "after-receipt-stored"])
    func directory(point: String) async throws {
        let bytes = try recording()
        try FileManager.default.createDirectory(atPath: home.path + "/nas", withIntermediateDirectories: false)
        let crashed = try await home.run(["capture.bin", "--to", "./nas"], ["INGEST_CRASH_AT": point])
        #expect(crashed.status == 1009, "the point is never reached: \(crashed.errors)")
        let finished = try await home.run(["run", "--once"])
        #expect(finished.status == 0, "\(finished.errors)")
        let names = try FileManager.default.contentsOfDirectory(atPath: home.path + "/nas")
        #expect(names.count == 1 && names[0].hasSuffix("capture.bin"), "\(names)")
        #expect(try home.directory.file("nas/" + names[0]).contents() == bytes)
        #expect(home.cached == [])
        #expect(try await home.items().first?["receipt"] as? String == "digest")
    }

    @Test("killed in the middle of a request of tus, again and again: what arrived is not sent again")
    func tusKills() async throws {
        let server = try await TusServer()
        let bytes = try recording()
        _ = try await home.run(["--detach", "capture.bin", "--to", server.destination, "--limit-rate", "2M"])
        for turn in 0..<4 {
            let program = try home.start(["run", "--once"])
            try await Task.sleep(for: .milliseconds(300 + turn * 50))
            program.send(SIGKILL)
            _ = try await program.wait()
        }
        let finished = try await home.run(["run", "--once"])
        #expect(finished.status == 0, "\(finished.errors)")
        #expect(try server.completed().map { $0.sha256 } == [SHA256.digest(of: bytes).hex])
        #expect(try server.requests("POST").count == 1)
        #expect(try server.log().reduce(0) { $0 + ($1.bytes ?? 0) } == Self.size)
    }

    @Test("the receiver is killed and started again in the middle: nothing is sent twice that it had")
    func receiverKilled() async throws {
        let bytes = try recording()
        func receiver(_ port: String) throws -> RunningProgram {
            try home.start(["receive", "--listen", "127.0.0.1:\(port)", "--store", home.path + "/store"])
        }
        var program = try receiver("0")
        let first = program
        try await eventually("it listens") { first.output.contains("listening on http://") }
        let port = try #require(first.output.firstMatch(of: /127\.0\.0\.1:(\d+)/)?.1)
        let upload = try home.start([
            "capture.bin", "--to", "http://127.0.0.1:\(port)/upload", "--limit-rate", "1500k", "--json",
        ])
        for _ in 0..<3 {
            try await Task.sleep(for: .milliseconds(600))
            program.send(SIGKILL)
            _ = try await program.wait()
            program = try receiver(String(port))
        }
        let outcome = try await upload.wait()
        #expect(outcome.status == 0, "\(outcome.errors)")
        let stored = try home.directory.files(below: "store").filter { !$0.hasPrefix(".ingest") }
        #expect(stored.count == 1)
        #expect(try home.directory.file("store/" + #require(stored.first)).contents() == bytes)
        program.send(SIGTERM)
        #expect(try await program.wait().status == 0)
    }
}
