import Checksums
import Foundation
import IngestModel
import IngestTestSupport
import Testing

/// `ingest watch` while people and programs do what they like with the files, at the worst moments.
@Suite("Hard days of watched folders", .timeLimit(.minutes(10)))
struct WatchHardDaysTests {
    private let home: TestHome
    private let folder: String
    private let server: BlockServer

    init() async throws {
        home = try TestHome()
        folder = home.path + "/in"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        server = try await BlockServer()
    }

    private func watch(_ folders: [String] = ["in"], _ options: [String] = []) async throws -> RunningProgram {
        let watching = try home.start(
            ["watch"] + folders + ["--to", server.destination, "--include", "*.bin", "--include", "*.mp4"] + options)
        try await eventually("it watches") { watching.errors.contains("watching ") }
        return watching
    }

    private func stop(_ watching: RunningProgram) async throws {
        watching.send(SIGTERM)
        let outcome = try await watching.wait()
        #expect(outcome.status == 0, "\(outcome.errors)")
    }

    /// Digests of what has arrived, in order of their bytes.
    private var arrived: [String] {
        get throws { try server.completed().compactMap { $0.sha256 }.sorted() }
    }

    private func digests(_ contents: [[UInt8]]) -> [String] { contents.map { SHA256.digest(of: $0).hex }.sorted() }

    private static let whole: [UInt8] = (try? TestPlace.fixture("whole.mp4").contents()) ?? []

    /// Bytes in a file, written at once.
    private func put(_ bytes: [UInt8], at name: String) throws {
        let path = folder + "/" + name
        try FileManager.default.createDirectory(
            atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
        try Data(bytes).write(to: URL(fileURLWithPath: path))
    }

    private func move(_ name: String, to other: String) throws {
        try FileManager.default.moveItem(atPath: folder + "/" + name, toPath: folder + "/" + other)
    }

    private func remove(_ name: String) throws {
        try FileManager.default.removeItem(atPath: folder + "/" + name)
    }

    private func items(_ what: String, _ isReached: ([[String: Any]]) -> Bool) async throws {
        var items: [[String: Any]] = []
        let deadline = ContinuousClock.now + .seconds(60)
        while ContinuousClock.now < deadline {
            items = try await home.items()
            if isReached(items) { return }
            try await Task.sleep(for: .milliseconds(100))
        }
        throw TestFailure("not within 60 s: \(what): \(items)")
    }

    private func states(_ items: [[String: Any]]) -> [String] { items.compactMap { $0["state"] as? String } }

    /// A first recording hangs in its upload, so that nothing that comes after it is copied until the server goes on.
    private func watchWithQueue(_ options: [String] = []) async throws -> (RunningProgram, first: [UInt8]) {
        let watching = try await watch(["in"], options)
        let first = TestBytes.make(200_000, seed: 99)
        server.hold()
        try put(first, at: "first.bin")
        try await items("the first is being uploaded") { states($0) == ["uploading"] }
        return (watching, first)
    }

    @Test("what gets another name, directory or link before it is copied goes up as well, once")
    func movedBeforeCopied() async throws {
        let (watching, first) = try await watchWithQueue()
        let contents = (1...4).map { TestBytes.make(100_000 * $0, seed: UInt64($0)) }
        for (index, name) in ["renamed.bin", "a/b/moved.bin", "linked.bin", "rotated.bin"].enumerated() {
            try put(contents[index], at: name)
        }
        try await items("all are queued") { states($0).filter { $0 == "queued" }.count == 4 }
        try move("renamed.bin", to: "other.bin")
        try move("a", to: "c")
        try FileManager.default.linkItem(atPath: folder + "/linked.bin", toPath: folder + "/second.bin")
        try remove("linked.bin")
        // The old one gets another name, and a new one its name.
        try move("rotated.bin", to: "rotated.1.bin")
        let newer = TestBytes.make(123_456, seed: 5)
        try put(newer, at: "rotated.bin")
        let all = digests(contents + [first, newer])
        server.goOn()
        try await eventually(seconds: 120, "all are there") { try arrived.count >= all.count }
        try await stop(watching)
        #expect(try arrived == all)
    }

    @Test("a copy of what is away before it was copied is the same recording, and what only looks like it is another")
    func copiesOfWhatIsAway() async throws {
        let (watching, first) = try await watchWithQueue()
        // Longer than what a fingerprint looks at.
        let contents = (1...2).map { TestBytes.make(1_500_000, seed: UInt64($0)) }
        try put(contents[0], at: "a.bin")
        try put(contents[1], at: "b.bin")
        try await items("both are queued") { states($0).filter { $0 == "queued" }.count == 2 }
        for name in ["a.bin", "b.bin"] {
            try FileManager.default.moveItem(atPath: folder + "/" + name, toPath: home.path + "/" + name)
        }
        var other = contents[1]
        other[70_000] ^= 0xFF
        try put(contents[0], at: "copy-a.bin")
        try put(other, at: "like-b.bin")
        // Long enough for them to have been looked at.
        try await Task.sleep(for: .seconds(5))
        for name in ["a.bin", "b.bin"] {
            try FileManager.default.moveItem(atPath: home.path + "/" + name, toPath: folder + "/back-" + name)
        }
        try await Task.sleep(for: .seconds(3))
        server.goOn()
        let all = digests(contents + [first, other])
        try await eventually(seconds: 120, "all are there") { try arrived.count >= all.count }
        try await items("nothing else is on its way") { $0.allSatisfy { $0["state"] as? String == "done" } }
        try await stop(watching)
        #expect(try arrived == all)
    }

    @Test("a link stays when the file it was made of goes or becomes another before that is copied")
    func linkStays() async throws {
        let (watching, first) = try await watchWithQueue()
        let contents = (1...2).map { TestBytes.make(100_000 * $0, seed: UInt64($0)) }
        for (index, name) in ["a.bin", "b.bin"].enumerated() {
            try put(contents[index], at: name)
            try FileManager.default.linkItem(atPath: folder + "/" + name, toPath: folder + "/kept-" + name)
        }
        try await items("both are queued") { states($0).filter { $0 == "queued" }.count == 2 }
        // Long enough for the links to have been looked at.
        try await Task.sleep(for: .seconds(3))
        let newer = TestBytes.make(77_777, seed: 3)
        try remove("a.bin")
        try remove("b.bin")
        try put(newer, at: "b.bin")
        server.goOn()
        let all = digests(contents + [first, newer])
        try await eventually(seconds: 120, "all are there") { try arrived.count >= all.count }
        try await stop(watching)
        #expect(try arrived == all)
    }

    @Test("what is finished, and is begun again before it is copied, waits until it is finished again")
    func begunAgain() async throws {
        let (watching, first) = try await watchWithQueue()
        try put(Self.whole, at: "take.mp4")
        try await items("it is queued") { states($0).contains("queued") }
        let path = folder + "/take.mp4"
        let half = Self.whole.count / 2
        let writer = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
        try writer.truncate(atOffset: 0)
        let newer = Self.whole[..<(half - 100)] + TestBytes.make(100) + Self.whole[half...]
        try writer.write(contentsOf: Data(newer[..<half]))
        try writer.close()
        server.goOn()
        try await items("it waits again") { states($0).contains("waiting") && states($0).contains("done") }
        let again = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
        try again.seekToEnd()
        try again.write(contentsOf: Data(newer[half...]))
        try again.close()
        try await eventually("it is there") { try arrived.count >= 2 }
        try await stop(watching)
        #expect(try arrived == digests([first, Array(newer)]))
    }

    @Test("a copy of what was brought, or of what waits as well, is known however long it took to write")
    func slowCopies() async throws {
        let watching = try await watch()
        let bytes = TestBytes.make(150_000)
        func writers(_ names: [String], _ bytes: [UInt8]) throws -> [FileHandle] {
            try names.map { name in
                try put([], at: name)
                let writer = try FileHandle(forWritingTo: URL(fileURLWithPath: folder + "/" + name))
                try writer.write(contentsOf: Data(bytes))
                return writer
            }
        }
        let twins = try writers(["one.bin", "two.bin"], bytes)
        try await items("both wait") { states($0) == ["waiting", "waiting"] }
        for writer in twins { try writer.close() }
        try await items("one of them is done") { states($0) == ["done"] }
        let copy = try writers(["three.bin"], bytes)
        try await items("it waits") { states($0).sorted() == ["done", "waiting"] }
        for writer in copy { try writer.close() }
        try await items("it is known") { states($0) == ["done"] }
        let other = TestBytes.make(1000, seed: 2)
        try put(other, at: "other.bin")
        try await eventually("another is there") { try arrived.count >= 2 }
        try await stop(watching)
        #expect(try arrived == digests([bytes, other]))
    }

    @Test("bytes that change where no fingerprint looks, while the recording is uploaded, go up as well")
    func changedInTheMiddle() async throws {
        let watching = try await watch()
        let bytes = TestBytes.make(1_500_000)
        server.hold()
        try put(bytes, at: "take.bin")
        try await items("it is being uploaded") { states($0) == ["uploading"] }
        var newer = bytes
        newer[70_000] ^= 0xFF
        let writer = try FileHandle(forWritingTo: URL(fileURLWithPath: folder + "/take.bin"))
        try writer.seek(toOffset: 70_000)
        try writer.write(contentsOf: Data([newer[70_000]]))
        try writer.close()
        server.goOn()
        try await eventually("both are there") { try arrived.count >= 2 }
        try await stop(watching)
        #expect(try arrived == digests([bytes, newer]))
    }

    @Test("other bytes in the same file, of the same length and time, are a new recording")
    func sameTime() async throws {
        let watching = try await watch()
        let contents = (1...2).map { TestBytes.make(150_000, seed: UInt64($0)) }
        let path = folder + "/take.bin"
        for (index, bytes) in contents.enumerated() {
            #expect(
                FileManager.default.fileExists(atPath: path)
                    || FileManager.default.createFile(atPath: path, contents: nil))
            let writer = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
            try writer.write(contentsOf: Data(bytes))
            var times = [timespec(tv_sec: 1_700_000_000, tv_nsec: 5), timespec(tv_sec: 1_700_000_000, tv_nsec: 5)]
            #expect(futimens(writer.fileDescriptor, &times) == 0)
            try writer.close()
            try await eventually("it is there") { try arrived.count == index + 1 }
        }
        try await stop(watching)
        #expect(try arrived == digests(contents))
    }

    @Test("a memory map goes on after its file has been closed, and had been brought")
    func mapped() async throws {
        let watching = try await watch()
        let bytes = TestBytes.make(150_000)
        try put(bytes, at: "take.bin")
        try await items("it is done") { states($0) == ["done"] }
        let file = open(folder + "/take.bin", O_RDWR | O_CLOEXEC)
        let address = try #require(mmap(nil, bytes.count, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0))
        #expect(address != MAP_FAILED && close(file) == 0)
        // Nothing is seen of it meanwhile; the kernel tells of the closing when the map has gone.
        try await Task.sleep(for: .seconds(3))
        address.storeBytes(of: ~bytes[1000], toByteOffset: 1000, as: UInt8.self)
        #expect(munmap(address, bytes.count) == 0)
        try await eventually("it is there as it now is") { try arrived.count >= 2 }
        try await stop(watching)
        var newer = bytes
        newer[1000] = ~bytes[1000]
        #expect(try arrived == digests([bytes, newer]))
    }

    @Test("what one link led to is still reached by the other")
    func twoLinks() async throws {
        let place = home.path + "/elsewhere"
        try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
        for name in ["a", "b"] {
            try FileManager.default.createSymbolicLink(atPath: folder + "/" + name, withDestinationPath: place)
        }
        let watching = try await watch()
        let contents = (1...3).map { TestBytes.make(1000, seed: UInt64($0)) }
        try put(contents[0], at: "../elsewhere/one.bin")
        try await eventually("it is there") { try arrived.count == 1 }
        try remove("a")
        try put(contents[1], at: "../elsewhere/two.bin")
        try await eventually("the second is there") { try arrived.count == 2 }
        try FileManager.default.createSymbolicLink(atPath: folder + "/a", withDestinationPath: place)
        try remove("b")
        try put(contents[2], at: "../elsewhere/three.bin")
        try await eventually("the third is there") { try arrived.count == 3 }
        try await stop(watching)
        #expect(try arrived == digests(contents))
    }

    @Test("what a link leads to is taken as it is by then, though nothing is told of the link when that changes")
    func changedBehindLink() async throws {
        let (watching, first) = try await watchWithQueue()
        try put(TestBytes.make(100_000), at: "../elsewhere/take.bin")
        try FileManager.default.createSymbolicLink(
            atPath: folder + "/take.bin", withDestinationPath: home.path + "/elsewhere/take.bin")
        try await items("it is queued") { states($0).contains("queued") }
        let newer = TestBytes.make(123_456, seed: 2)
        try put(newer, at: "../elsewhere/take.bin")
        server.goOn()
        try await eventually(seconds: 45, "it is there") { try arrived.count >= 2 }
        try await stop(watching)
        #expect(try arrived == digests([first, newer]))
    }

    @Test("a directory that was away when its recording was to be copied, and is back")
    func awayAndBack() async throws {
        let (watching, first) = try await watchWithQueue()
        let bytes = TestBytes.make(100_000)
        try put(bytes, at: "disk/take.bin")
        try await items("it is queued") { states($0).contains("queued") }
        try move("disk", to: "../away")
        server.goOn()
        try await eventually("it is missed") { watching.errors.contains("take.bin: there is no such file") }
        try move("../away", to: "disk")
        // The next try by itself would be a minute away.
        try await eventually(seconds: 45, "it is there") { try arrived.count >= 2 }
        try await stop(watching)
        #expect(try arrived == digests([first, bytes]))
    }

    @Test("two programs with one list, on the same folders and on copies: everything once")
    func together() async throws {
        let contents = (1...12).map { TestBytes.make(20_000 + $0, seed: UInt64($0)) }
        try FileManager.default.createDirectory(atPath: home.path + "/in2", withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(atPath: home.path + "/same", withDestinationPath: "in/.")
        let programs = [
            try await watch(["in", "in2/", "same/"], ["--jobs", "8"]),
            try await watch(["in2/.", "in"], ["--jobs", "8"]),
        ]
        for (index, bytes) in contents.enumerated() {
            try put(bytes, at: "\(index).bin")
            try put(bytes, at: "../in2/copy-\(index).bin")
        }
        try await eventually("all are there") { try arrived.count >= contents.count }
        try await items("nothing is under way") { Set(states($0)) == ["done"] }
        try await Task.sleep(for: .seconds(5))
        for program in programs { try await stop(program) }
        #expect(try arrived == digests(contents))
    }

    @Test("the user's watches are used up: said once, with the number to set; what cannot be watched is polled")
    func watchLimit() async throws {
        let limiting = "echo 3 > /proc/sys/user/max_inotify_watches"
        guard try await Judge.tool("unshare", ["-Ur", "/bin/sh", "-c", limiting]).status == 0 else {
            print("NOTE: no user namespaces here: the limit of watches is not tested")
            return
        }
        for name in ["a", "b", "c", "d", "e"] { try put(Self.whole + Array(name.utf8), at: "\(name)/\(name).mp4") }
        let command = "\(limiting); exec '\(TestPlace.programs)/ingest' watch in --to \(server.destination)"
        let watching = try RunningProgram(
            "/usr/bin/env", ["unshare", "-Ur", "/bin/sh", "-c", command], environment: home.environment,
            directory: home.path)
        try await eventually("what lay there has arrived") { try arrived.count == 5 }
        for name in ["b", "c", "e", "new"] {
            try put(Self.whole + Array((name + "2").utf8), at: "\(name)/2\(name).mp4")
        }
        try await eventually("what came has arrived") { try arrived.count == 9 }
        try await stop(watching)
        let told = watching.errors.components(separatedBy: "fs.inotify.max_user_watches=").count - 1
        #expect(told == 1, "\(watching.errors)")
    }
}
