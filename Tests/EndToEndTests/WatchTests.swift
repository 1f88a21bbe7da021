import Checksums
import Foundation
import IngestModel
import IngestTestSupport
import Testing

/// `ingest watch` as its users meet it.
@Suite("Watching folders", .timeLimit(.minutes(5)))
struct WatchTests {
    private let home: TestHome
    private let folder: String

    init() throws {
        home = try TestHome()
        folder = home.path + "/in"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }

    private func watch(_ options: [String] = [], _ variables: [String: String] = [:]) async throws -> RunningProgram {
        let watching = try home.start(["watch", "in"] + options, variables)
        try await eventually("it watches") { watching.errors.contains("watching ") }
        return watching
    }

    private func stop(_ watching: RunningProgram) async throws {
        watching.send(SIGTERM)
        let outcome = try await watching.wait()
        #expect(outcome.status == 0, "\(outcome.errors)")
    }

    private static let whole = TestPlace.root + "/fixtures/whole.mp4"

    private func copy(_ fixture: String, to name: String) throws {
        let target = folder + "/" + name
        try FileManager.default.createDirectory(
            atPath: (target as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
        try FileManager.default.copyItem(atPath: TestPlace.root + "/fixtures/" + fixture, toPath: target)
    }

    /// The names, without the seconds before them, of what has been received.
    private var received: [String] {
        home.received.map { String($0.drop { $0.isNumber }.dropFirst()) }.sorted()
    }

    @Test("what lies there and what comes goes up, once; a copy, a new name, a new time and a new start change nothing")
    func once() async throws {
        try copy("whole.mp4", to: "first.mp4")
        let watching = try await watch()
        try copy("capture.mov", to: "deep/er/second.mov")
        try await eventually("both are there") { received == ["first.mp4", "second.mov"] }
        try FileManager.default.moveItem(atPath: folder + "/first.mp4", toPath: folder + "/deep/renamed.mp4")
        try copy("capture.mov", to: "copy.mov")
        try FileManager.default.setAttributes([.modificationDate: Date()], ofItemAtPath: folder + "/deep/er/second.mov")
        try copy("upright.mov", to: "third.mov")
        try await eventually("the third is there") { received.contains("third.mov") }
        try await stop(watching)
        let again = try await watch()
        try copy("two-languages.mov", to: "fourth.mov")
        try await eventually("the fourth is there") { received.contains("fourth.mov") }
        try await stop(again)
        #expect(received == ["first.mp4", "fourth.mov", "second.mov", "third.mov"])
    }

    @Test("new bytes under an old name are a new recording")
    func newContent() async throws {
        try copy("whole.mp4", to: "take.mp4")
        let watching = try await watch()
        try await eventually("it is there") { received.count == 1 }
        try FileManager.default.removeItem(atPath: folder + "/take.mp4")
        try copy("damaged.mp4", to: "take.mp4")
        try await eventually("the other is there too") { received.count == 2 }
        try await stop(watching)
    }

    @Test("a file is not taken while somebody writes it, and at once when it is finished")
    func writer() async throws {
        let watching = try await watch()
        let bytes = try Data(contentsOf: URL(fileURLWithPath: Self.whole))
        let path = folder + "/take.mp4"
        #expect(FileManager.default.createFile(atPath: path, contents: nil))
        let writer = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
        // Complete from the first moment on, and still open.
        try writer.write(contentsOf: bytes)
        var items = try await home.items()
        for _ in 0..<200 where items.isEmpty {
            try await Task.sleep(for: .milliseconds(50))
            items = try await home.items()
        }
        #expect(items.first?["state"] as? String == "waiting")
        #expect((items.first?["reason"] as? String)?.contains("still being written") == true, "\(items)")
        #expect(try await home.run(["pause", "1"]).status == 1)
        try writer.close()
        try await eventually("it is done") { watching.errors.contains("take.mp4: done") }
        try await stop(watching)
        #expect(received == ["take.mp4"])
    }

    @Test("a recording that lacks something waits, and says for what; another name, or its end, ends the waiting")
    func unfinished() async throws {
        try copy("unfinished.mov", to: "cut.mov")
        let watching = try await watch()
        var items: [[String: Any]] = []
        for _ in 0..<200 where items.isEmpty {
            try await Task.sleep(for: .milliseconds(50))
            items = try await home.items()
        }
        #expect(items.first?["state"] as? String == "waiting")
        #expect(try await home.run(["list"]).output.contains("“ingest FILE” uploads it as it is"))
        try FileManager.default.moveItem(atPath: folder + "/cut.mov", toPath: folder + "/cut.mov.bak")
        for _ in 0..<200 where !items.isEmpty {
            try await Task.sleep(for: .milliseconds(50))
            items = try await home.items()
        }
        #expect(items.isEmpty && received.isEmpty)
        try await stop(watching)
    }

    @Test("what lacks something goes up as it is for whoever says so, and is waited for no more; text is no recording")
    func byHand() async throws {
        try copy("unfinished.mov", to: "cut.mov")
        try copy("text.mov", to: "program.ts")
        try FileManager.default.setAttributes([.modificationDate: Date()], ofItemAtPath: folder + "/program.ts")
        let watching = try await watch(["--settle", "20s"])
        try await wait(until: "both are waited for") { $0.filter { $0["state"] as? String == "waiting" }.count == 2 }
        try await wait(until: "the text is not") { $0.count == 1 && $0.first?["state"] as? String == "waiting" }
        #expect(try await home.run(["in/cut.mov"]).status == 0)
        try await stop(watching)
        let again = try await watch()
        try copy("whole.mp4", to: "other.mp4")
        try await eventually("another is done") { again.errors.contains("other.mp4: done") }
        // As long as it takes until something is said of what is waited for.
        try await Task.sleep(for: .seconds(2))
        #expect(try await home.items().allSatisfy { $0["state"] as? String == "done" })
        try await stop(again)
        #expect(received == ["cut.mov", "other.mp4"])
    }

    @Test("temporary names are left alone until the file gets its own")
    func temporary() async throws {
        let watching = try await watch()
        try copy("whole.mp4", to: "take.mp4.part")
        try copy("whole.mp4", to: ".take.mp4.Xy12Zz")
        try copy("capture.mov", to: "other.mov")
        try await eventually("the other is there") { received == ["other.mov"] }
        try FileManager.default.moveItem(atPath: folder + "/take.mp4.part", toPath: folder + "/take.mp4")
        try await eventually("it is there") { received == ["other.mov", "take.mp4"] }
        try await stop(watching)
    }

    @Test("what somebody has given up is not taken again, unless it is forgotten")
    func givenUp() async throws {
        try copy("whole.mp4", to: "take.mp4")
        // Nobody listens there.
        let watching = try await watch(["--to", "block+http://127.0.0.1:9/up"])
        for _ in 0..<200 where try await home.items().isEmpty { try await Task.sleep(for: .milliseconds(50)) }
        #expect(try await home.run(["remove", "1"]).status == 0)
        try FileManager.default.moveItem(atPath: folder + "/take.mp4", toPath: folder + "/again.mp4")
        try copy("capture.mov", to: "other.mov")
        for _ in 0..<200 where try await home.items().isEmpty { try await Task.sleep(for: .milliseconds(50)) }
        let names = try await home.items().compactMap { ($0["file"] as? String)?.components(separatedBy: "/").last }
        #expect(names == ["other.mov"])
        let seen = try await home.run(["watch", "--seen"])
        #expect(seen.output.contains("dismissed") && seen.output.contains("/take.mp4"), "\(seen.output)")
        #expect(try await home.run(["watch", "--forget", "7"]).status == 2)
        #expect(try await home.run(["watch", "--forget", "1"]).status == 0)
        for _ in 0..<200 where try await home.items().count == 1 { try await Task.sleep(for: .milliseconds(50)) }
        #expect(try await home.items().count == 2)
        try await stop(watching)
    }

    @Test("a recording is given up before it is finished, and stays so when it is")
    func givenUpEarly() async throws {
        let watching = try await watch()
        let path = folder + "/take.mp4"
        #expect(FileManager.default.createFile(atPath: path, contents: Data([1, 2, 3])))
        let writer = try FileHandle(forUpdating: URL(fileURLWithPath: path))
        for _ in 0..<200 where try await home.items().isEmpty { try await Task.sleep(for: .milliseconds(50)) }
        #expect(try await home.run(["cancel", "1"]).status == 0)
        try writer.write(contentsOf: try Data(contentsOf: URL(fileURLWithPath: Self.whole)))
        try writer.close()
        try copy("capture.mov", to: "other.mov")
        try await eventually("the other is there") { received == ["other.mov"] }
        #expect(try await home.state(of: 1) == "cancelled")
        try await stop(watching)
        #expect(received == ["other.mov"])
    }

    @Test("a recording that grows after it was taken goes up again as it then is")
    func grows() async throws {
        let bytes = TestBytes.make(6_000_000)
        try home.directory.write(Array(bytes[..<3_000_000]), to: "in/take.ts")
        let server = try await BlockServer(["slow:30@1"])
        let watching = try await watch(["--to", server.destination, "--settle", "0.2s"])
        for _ in 0..<400 {
            if try await home.items().first?["state"] as? String == "uploading" { break }
            try await Task.sleep(for: .milliseconds(50))
        }
        let writer = try FileHandle(forWritingTo: URL(fileURLWithPath: folder + "/take.ts"))
        try writer.seekToEnd()
        try writer.write(contentsOf: Data(bytes[3_000_000...]))
        try writer.close()
        for _ in 0..<600 {
            if try await home.state(of: 1) == "done" { break }
            try await Task.sleep(for: .milliseconds(50))
        }
        try await stop(watching)
        #expect(try server.completed().last?.sha256 == SHA256.digest(of: bytes).hex)
        #expect(try await home.items().count == 1)
    }

    @Test("the folder comes later, goes, and comes back; a tree is moved in; links are followed, loops too")
    func folders() async throws {
        try FileManager.default.removeItem(atPath: folder)
        let watching = try await watch()
        try await eventually("it says so") { watching.errors.contains("is not there; it is waited for") }
        try copy("whole.mp4", to: "a.mp4")
        try await eventually("it is there") { received == ["a.mp4"] }
        try FileManager.default.moveItem(atPath: folder, toPath: home.path + "/away")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try copy("capture.mov", to: "../tree/one/b.mov")
        try FileManager.default.createSymbolicLink(atPath: home.path + "/tree/one/loop", withDestinationPath: "..")
        try FileManager.default.moveItem(atPath: home.path + "/tree", toPath: folder + "/tree")
        try await eventually("what was moved in is there") { received == ["a.mp4", "b.mov"] }
        try copy("upright.mov", to: "../elsewhere/c.mov")
        try FileManager.default.createSymbolicLink(
            atPath: folder + "/link", withDestinationPath: home.path + "/elsewhere")
        try FileManager.default.createSymbolicLink(
            atPath: folder + "/d.mkv", withDestinationPath: TestPlace.root + "/fixtures/odd-sides.mkv")
        try await eventually("what links lead to is there") { received == ["a.mp4", "b.mov", "c.mov", "d.mkv"] }
        try await stop(watching)
    }

    @Test("polled, it is the same")
    func polled() async throws {
        try copy("whole.mp4", to: "a.mp4")
        let watching = try await watch(["--poll", "--settle", "0.1s"])
        try await eventually("it is there") { received == ["a.mp4"] }
        try copy("capture.mov", to: "new/b.mov")
        try await eventually("what came is there too") { received == ["a.mp4", "b.mov"] }
        try await stop(watching)
    }

    @Test("what is meant: patterns, sizes, directories")
    func rules() async throws {
        for name in ["a.mp4", "sub/b.mp4", "skip/c.mp4", "proxy_d.mp4", "notes.txt"] { try copy("whole.mp4", to: name) }
        try copy("capture.mov", to: "e.mov")
        try copy("irregular.mkv", to: "small.mkv")
        // The same bytes count once, so each destination is asked by itself.
        let watching = try await watch([
            "--exclude", "proxy_*", "--exclude", "skip", "--min-size", "100k", "--no-recursive",
        ])
        try await eventually("both are there") { received == ["a.mp4", "e.mov"] }
        try await stop(watching)
        let seen = try await home.run(["watch", "--forget", "--all"])
        #expect(seen.status == 0)
        let other = try await watch(["--include", "sub/*.MP4", "--include", "*.txt"])
        try await eventually("they are there") { received.count == 3 }
        try await stop(other)
        let names = Set(received)
        #expect(names.subtracting(["a.mp4", "e.mov"]).count == 1, "\(received)")
    }

    @Test("a file that cannot be encoded is tried again later, and at once when it has changed")
    func failing() async throws {
        try home.directory.write(TestBytes.make(20_000), to: "in/take.ts")
        let watching = try await watch(["--compress=fast", "--settle", "0.1s"])
        for _ in 0..<400 {
            if let wait = try await home.items().first?["retryAfter"] as? Double, wait > 10 { break }
            try await Task.sleep(for: .milliseconds(50))
        }
        let item = try #require(try await home.items().first)
        #expect(item["state"] as? String == "queued" && (item["retryAfter"] as? Double ?? 0) <= 60, "\(item)")
        #expect(item["code"] as? String == "notMedia", "\(item)")
        try copy("capture.mov", to: "other.mov")
        try await eventually("another is not held up") { received == ["other.mp4"] }
        try FileManager.default.removeItem(atPath: folder + "/take.ts")
        try copy("whole.mp4", to: "take.ts")
        try await eventually("it is there") { received == ["other.mp4", "take.mp4"] }
        try await stop(watching)
        #expect(try await home.items().count == 2)
    }

    @Test("room is kept free; uploads go on")
    func room() async throws {
        try copy("whole.mp4", to: "take.mp4")
        let watching = try await watch(["--min-free", "100000TiB"])
        for _ in 0..<200 {
            if try await home.items().first?["reason"] is String { break }
            try await Task.sleep(for: .milliseconds(50))
        }
        let reason = try await home.items().first?["reason"] as? String
        #expect(reason?.contains("--min-free") == true, "\(reason ?? "")")
        try await stop(watching)
        let limited = try await watch(["--cache-limit", "1k"])
        // Larger than the limit, but alone.
        try await eventually("it is there", { received == ["take.mp4"] })
        try await stop(limited)
    }

    @Test("recordings stay for a while, or until room is needed")
    func held() async throws {
        try copy("whole.mp4", to: "take.mp4")
        let patient = try await watch(["--after=delete", "--keep-for", "1d"])
        try await eventually("it is done") { patient.errors.contains("take.mp4: done") }
        #expect(try await home.items().first?["after"] as? String == "held")
        #expect(try await home.run(["clear"]).status == 0)
        #expect(try await home.items().count == 1)
        try await stop(patient)
        #expect(FileManager.default.fileExists(atPath: folder + "/take.mp4"))
        try copy("full-range.mp4", to: "brief.mp4")
        let watching = try await watch(["--after=delete", "--keep-for", "1s"])
        try await eventually("it is done") { watching.errors.contains("brief.mp4: done") }
        try await eventually("it goes") { !FileManager.default.fileExists(atPath: folder + "/brief.mp4") }
        try await stop(watching)
        try copy("capture.mov", to: "other.mov")
        let roomy = try await watch(["--after=delete", "--free-below", "1"])
        try await eventually("it is done") { roomy.errors.contains("other.mov: done") }
        try await stop(roomy)
        #expect(FileManager.default.fileExists(atPath: folder + "/other.mov"))
        try copy("upright.mov", to: "third.mov")
        let short = try await watch(["--after=delete", "--free-below", "100000TiB"])
        try await eventually("they go") {
            ["third.mov", "other.mov"].allSatisfy { !FileManager.default.fileExists(atPath: folder + "/" + $0) }
        }
        try await stop(short)
        #expect(!FileManager.default.fileExists(atPath: folder + "/other.mov"), "what stays is asked for anew as well")
    }

    @Test("a recording that cannot be taken away is told of once and left alone")
    func cannotRemove() async throws {
        let target = home.path + "/gone"
        try FileManager.default.createDirectory(atPath: target, withIntermediateDirectories: true)
        let watching = try await watch(["--after=move:\(target)"])
        try FileManager.default.removeItem(atPath: target)
        try copy("whole.mp4", to: "take.mp4")
        try await eventually("it says so") { watching.errors.contains("is not: ") }
        try FileManager.default.setAttributes([.modificationDate: Date()], ofItemAtPath: folder + "/take.mp4")
        try copy("capture.mov", to: "other.mov")
        try await eventually("another is there") { received.contains("other.mov") }
        try await stop(watching)
        #expect(watching.errors.components(separatedBy: "take.mp4: it is done, but").count == 2, "\(watching.errors)")
        #expect(received == ["other.mov", "take.mp4"])
    }

    @Test("what the program itself makes in a folder is left alone")
    func own() async throws {
        let variables = ["XDG_CACHE_HOME": folder + "/cache", "XDG_DATA_HOME": folder + "/data"]
        try copy("capture.mov", to: "take.mov")
        let watching = try await watch(["--compress=fast"], variables)
        try await eventually("it is done") { watching.errors.contains("take.mov: done") }
        try copy("upright.mov", to: "other.mov")
        try await eventually("it is done") { watching.errors.contains("other.mov: done") }
        try await stop(watching)
        #expect(try await home.items().count == 2)
        let refused = try await home.run(["watch", "in/data/ingest/received"], variables)
        #expect(refused.status == 2 && refused.errors.contains("files of its own"), "\(refused.errors)")
    }

    @Test("--after leaves alone what lies beyond links, and what nothing proves stays a while")
    func careful() async throws {
        try copy("whole.mp4", to: "../archive/only.mp4")
        try FileManager.default.createSymbolicLink(atPath: folder + "/archive", withDestinationPath: "../archive")
        let watching = try await watch(["--after=delete", "--settle", "20s"])
        try copy("capture.mov", to: "take.mov")
        // These two are on the list before they are finished.
        for name in ["in/take.ts", "archive/late.ts"] {
            let path = try home.directory.write(TestBytes.make(50_000, seed: UInt64(name.count)), to: name).text
            try FileManager.default.setAttributes([.modificationDate: Date()], ofItemAtPath: path)
        }
        try await wait(until: "they are waited for") { $0.filter { $0["state"] as? String == "waiting" }.count == 2 }
        try await eventually("they are done") {
            ["only.mp4", "late.ts", "take.mov", "take.ts"].allSatisfy { watching.errors.contains("\($0): done") }
        }
        try await eventually("the one is gone") { !FileManager.default.fileExists(atPath: folder + "/take.mov") }
        #expect(try FileManager.default.contentsOfDirectory(atPath: home.path + "/archive").count == 2)
        #expect(watching.errors.components(separatedBy: "beyond links").count == 2, "\(watching.errors)")
        let held = try await home.items().filter { $0["after"] as? String == "held" }
        #expect(held.compactMap { ($0["file"] as? String)?.hasSuffix("/take.ts") } == [true])
        try await stop(watching)
        // Taken back, it is not done.
        let kept = try await watch()
        try await wait(until: "it is taken back") { $0.allSatisfy { $0["after"] as? String != "held" } }
        try await stop(kept)
        #expect(FileManager.default.fileExists(atPath: folder + "/take.ts"))
    }

    @Test("what a receiver keeps in a folder has arrived already")
    func receiversStore() async throws {
        let receiver = try home.start(["receive", "--listen", "127.0.0.1:0", "--store", folder + "/store"])
        try await eventually("it listens") { receiver.output.contains("listening on ") }
        let address = receiver.output.trimmingCharacters(in: .whitespacesAndNewlines).replacingOccurrences(
            of: "listening on ", with: "")
        try copy("capture.mov", to: "take.mov")
        let watching = try await watch(["--to", "block+\(address)/upload", "--compress=fast", "--rescan", "1s"])
        try await eventually("it is done") { watching.errors.contains("take.mov: done") }
        try await Task.sleep(for: .seconds(3))
        try await stop(watching)
        #expect(try await home.items().count == 1)
        receiver.send(SIGTERM)
    }

    @Test("a recording that was cancelled is brought when it is forgotten")
    func cancelledAndForgotten() async throws {
        try copy("whole.mp4", to: "take.mp4")
        let watching = try await watch(["--to", "block+http://127.0.0.1:9/up"])
        try await wait(until: "it is on the list") { !$0.isEmpty }
        #expect(try await home.run(["cancel", "1"]).status == 0)
        #expect(try await home.run(["watch", "--forget", "1"]).status == 0)
        try await wait(until: "it is there again") { $0.count == 2 }
        try await stop(watching)
    }

    @Test("a list that is taken away under a running program ends it in words")
    func listRemoved() async throws {
        let watching = try await watch()
        for name in ["list.sqlite", "list.sqlite-wal", "list.sqlite-shm"] {
            try FileManager.default.removeItem(atPath: home.path + "/.local/state/ingest/" + name)
        }
        let outcome = try await watching.wait()
        #expect(outcome.status == 1 && outcome.errors.contains("has been removed or replaced"), "\(outcome.errors)")
    }

    // MARK: - Recordings that are several files

    private func wait(until what: String, _ condition: ([[String: Any]]) -> Bool) async throws {
        var items: [[String: Any]] = []
        for _ in 0..<1200 {
            items = try await home.items()
            if condition(items) { return }
            try await Task.sleep(for: .milliseconds(50))
        }
        throw TestFailure("not within a minute: \(what): \(items)")
    }

    @Test("what lies beside a recording goes with it, under one time stamp, and --after waits for all of it")
    func sidecars() async throws {
        // Before its clip, and after; without one; another recording.
        try copy("text.mov", to: "C0001.SRT")
        try copy("text.mov", to: "LONE.XML")
        let watching = try await watch(["--settle", "0.2s", "--after=delete", "--compress=fast"])
        try copy("capture.mov", to: "C0001.MP4")
        try await wait(until: "both are on the list") { $0.count == 2 }
        try home.directory.write(Array("<more/>".utf8), to: "in/C0001M01.XML")
        try await wait(until: "all three are done") {
            $0.count == 3 && $0.allSatisfy { $0["state"] as? String == "done" }
        }
        try await eventually("they are gone") {
            try FileManager.default.contentsOfDirectory(atPath: folder) == ["LONE.XML"]
        }
        try await stop(watching)
        let items = try await home.items()
        #expect(Set(items.compactMap { $0["group"] as? String }).count == 1)
        let names = home.received
        #expect(Set(names.map { $0.prefix { $0.isNumber } }).count == 1, "\(names)")
        #expect(received == ["C0001.SRT", "C0001.mp4", "C0001M01.XML"], "\(received)")
    }

    @Test(
        "equal metadata of two clips goes with each of them; in a directory of another name it is known with its clip")
    func equalSidecars() async throws {
        for (name, fixture) in [("A1", "capture.mov"), ("A2", "upright.mov")] {
            try copy(fixture, to: "card/\(name).MP4")
            try copy("text.mov", to: "card/\(name).XML")
        }
        let watching = try await watch(["--settle", "0.1s"])
        try await wait(until: "all are done") { $0.count == 4 && $0.allSatisfy { $0["state"] as? String == "done" } }
        try FileManager.default.moveItem(atPath: folder + "/card", toPath: folder + "/renamed")
        try copy("damaged.mp4", to: "other.mp4")
        try await eventually("another is done") { watching.errors.contains("other.mp4: done") }
        try await stop(watching)
        #expect(try await home.items().count == 5)
    }

    @Test("metadata that somebody has given up does not come back with its clip")
    func sidecarGivenUp() async throws {
        try copy("capture.mov", to: "A1.MP4")
        try copy("text.mov", to: "A1.XML")
        let watching = try await watch(["--settle", "0.1s"])
        try await wait(until: "both are done") { $0.count == 2 && $0.allSatisfy { $0["state"] as? String == "done" } }
        let items = try await home.items()
        let sidecar = try #require(items.first { ($0["file"] as? String)?.hasSuffix("XML") == true }?["id"] as? Int)
        #expect(try await home.run(["remove", "\(sidecar)"]).status == 0)
        try FileManager.default.setAttributes([.modificationDate: Date()], ofItemAtPath: folder + "/A1.XML")
        // Longer than it has to be quiet.
        try await Task.sleep(for: .seconds(1))
        try copy("damaged.mp4", to: "other.mp4")
        try await eventually("another is done") { watching.errors.contains("other.mp4: done") }
        try await stop(watching)
        #expect(received == ["A1.MP4", "A1.XML", "other.mp4"])
    }

    @Test("chapters are one recording: --after waits for the last of them")
    func chapters() async throws {
        try copy("unfinished.mov", to: "DCIM/100GOPRO/GX020042.MP4")
        try copy("capture.mov", to: "DCIM/100GOPRO/GX010042.MP4")
        try copy("text.mov", to: "DCIM/100GOPRO/GL010042.LRV")
        let watching = try await watch(["--settle", "0.2s", "--after=delete"])
        try await wait(until: "the first is done") { items in
            items.filter { $0["state"] as? String == "done" }.count == 2 && items.count == 3
        }
        try await eventually("it says so") { watching.errors.contains("the recording stays where it is until item") }
        #expect(FileManager.default.fileExists(atPath: folder + "/DCIM/100GOPRO/GX010042.MP4"))
        try FileManager.default.removeItem(atPath: folder + "/DCIM/100GOPRO/GX020042.MP4")
        try copy("upright.mov", to: "DCIM/100GOPRO/GX020042.MP4")
        try await eventually("all are gone") {
            try FileManager.default.contentsOfDirectory(atPath: folder + "/DCIM/100GOPRO").isEmpty
        }
        try await stop(watching)
        #expect(Set(try await home.items().compactMap { $0["group"] as? String }).count == 1)
        #expect(received == ["GL010042.LRV", "GX010042.MP4", "GX020042.MP4"])
    }

    @Test(
        "a card: proxies, metadata and thumbnails in directories beside the clip's; sound beside pictures is no recording"
    )
    func card() async throws {
        try copy("capture.mov", to: "PRIVATE/M4ROOT/CLIP/C0002.MP4")
        try copy("text.mov", to: "PRIVATE/M4ROOT/CLIP/C0002M01.XML")
        try copy("upright.mov", to: "PRIVATE/M4ROOT/SUB/C0002S03.MP4")
        try copy("sound-only.wav", to: "talk.wav")
        try copy("odd-sides.mkv", to: "talk.mkv")
        let watching = try await watch(["--settle", "0.2s"])
        try await wait(until: "all are done") { $0.count == 5 && $0.allSatisfy { $0["state"] as? String == "done" } }
        try await stop(watching)
        #expect(Set(try await home.items().compactMap { $0["group"] as? String }).count == 2)
    }

    @Test("each file by itself with --group=off")
    func ungrouped() async throws {
        try copy("capture.mov", to: "C0001.MP4")
        try copy("text.mov", to: "C0001.SRT")
        try copy("sound-only.wav", to: "C0001.WAV")
        let watching = try await watch(["--group=off"])
        try await wait(until: "both are done") { $0.count == 2 && $0.allSatisfy { $0["state"] as? String == "done" } }
        try await stop(watching)
        #expect(received == ["C0001.MP4", "C0001.WAV"])
        #expect(try await home.items().allSatisfy { $0["group"] as? String == nil })
    }

    @Test("with --when-idle nothing is encoded while a recording is being made")
    func idle() async throws {
        let path = folder + "/live.mp4"
        #expect(FileManager.default.createFile(atPath: path, contents: Data([1])))
        let recorder = try FileHandle(forUpdating: URL(fileURLWithPath: path))
        let watching = try await watch(["--when-idle", "--compress=fast"])
        try await wait(until: "the recorder is noticed") { $0.contains { $0["state"] as? String == "waiting" } }
        try copy("capture.mov", to: "take.mov")
        try await wait(until: "it is held back") { $0.contains { $0["code"] as? String == "recorderAtWork" } }
        try recorder.close()
        try await eventually("it is done") { watching.errors.contains("take.mov: done") }
        try await stop(watching)
    }

    // MARK: - Configured folders

    private func configure(_ text: String) throws {
        try home.directory.write(Array(text.utf8), to: ".config/ingest/config.toml").setMode(0o600)
    }

    @Test("folders of the configuration, each with options of its own; read again on SIGHUP")
    func configured() async throws {
        let server = try await BlockServer()
        try copy("capture.mov", to: "cards/a.mov")
        try copy("upright.mov", to: "desk/b.mov")
        try copy("two-languages.mov", to: "late/c.mov")
        try configure(
            """
            as = "{name}"

            [destination.nas]
            url = "\(server.destination)"

            [watch.cards]
            folder = "\(folder)/cards"
            to = "nas"
            as = "cards_{name}"
            after = "delete"

            [watch.desk]
            folder = ["\(folder)/desk", "\(folder)/other"]
            compress = "fast"
            """)
        let watching = try home.start(["watch"])
        try await eventually("both are done") {
            watching.errors.contains("a.mov: done") && watching.errors.contains("b.mov: done")
        }
        #expect(try server.completed().compactMap { $0.name } == ["cards_a.mov"])
        try await eventually("the card is empty") {
            try FileManager.default.contentsOfDirectory(atPath: folder + "/cards").isEmpty
        }
        #expect(FileManager.default.fileExists(atPath: folder + "/desk/b.mov"))
        #expect(home.received == ["b.mp4"])
        try configure("[watch.late]\nfolder = \"\(folder)/late\"\n")
        watching.send(SIGHUP)
        try await eventually("it is done") { watching.errors.contains("c.mov: done") }
        try copy("irregular.mkv", to: "desk/d.mkv")
        try configure("[watch.late]\nfolder = \"\(folder)/late\"\nnonsense = 1\n")
        watching.send(SIGHUP)
        try await eventually("it refuses") { watching.errors.contains("the settings stay as they were") }
        try await stop(watching)
        #expect(!watching.errors.contains("d.mkv"))
    }

    @Test("what is wrong in a table of folders is told with its place")
    func wrongTables() async throws {
        for (text, words) in [
            ("[watch.a]\nto = \"builtin\"\n", "config.toml:1:8: [watch.a] has no “folder”"),
            ("[watch.a]\nfolder = \"/x\"\njobs = 3\n", "config.toml:3:1: “jobs” holds for the whole program"),
            ("[watch.a]\nfolder = \"/x\"\nsetle = \"3s\"\n", "did you mean “settle”?"),
            ("[watch.a]\nfolder = \"/x\"\nsettle = \"soon\"\n", "config.toml:3:10: “settle” takes a duration"),
            ("watch = 3\n", "“watch” holds tables"),
            ("[watch.a]\nfolder = \"/x\"\nto = \"nowhere\"\n", "[watch.a]: there is no destination “nowhere”"),
        ] {
            try configure(text)
            let outcome = try await home.run(["watch"])
            #expect(outcome.status == 2 && outcome.errors.contains(words), "\(text): \(outcome.errors)")
        }
        try configure("[watch.cards]\nfolder = \"cards\"\nsettle = \"3s\"\n")
        let shown = try await home.run(["config", "show"])
        #expect(shown.output.contains("[watch.cards]\nfolder = \""), "\(shown.output)")
        #expect(shown.output.contains("settle = \"3s\"") && shown.output.contains("config.toml:3"))
    }

    @Test("wrong usage")
    func usage() async throws {
        for arguments in [
            ["watch"], ["watch", "--seen", "in"], ["watch", "--forget"], ["watch", "in", "--keep-for", "1d"],
            ["watch", "in", "--rescan", "0"], ["watch", "in", "--include", ""], ["watch", Self.whole],
        ] {
            let outcome = try await home.run(arguments)
            #expect(outcome.status == 2, "\(arguments) \(outcome.errors)")
        }
    }
}
