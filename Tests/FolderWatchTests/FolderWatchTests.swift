import FolderWatch
import Foundation
import IngestModel
import IngestTestSupport
import Synchronization
import SystemIO
import Testing

/// A folder as the kernel shows it: real directories, real events.
@Suite("A watched folder", .timeLimit(.minutes(3)))
struct FolderWatchTests {
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    /// Takes everything, or what it is told to.
    private final class Witness: FolderObserver {
        struct State {
            var taken: [String] = []
            var waiting: [String: WaitingReason] = [:]
            var gone: [String] = []
            var notices: [FolderNotice] = []
            var scans = 0
            var answers: [Taking] = []
            var isWritten = false
        }

        let state = Mutex(State())

        func take(_ recording: FinishedRecording) -> Taking {
            state.withLock { state in
                state.taken.append(recording.path.name?.text ?? "")
                return state.answers.isEmpty ? .settled : state.answers.removeFirst()
            }
        }

        func waits(_ path: FilePath, for reason: WaitingReason) -> Bool {
            state.withLock { $0.waiting[path.name?.text ?? ""] = reason }
            return true
        }

        func isGone(_ path: FilePath) { state.withLock { $0.gone.append(path.name?.text ?? "") } }

        func hasScanned(waiting: Set<FilePath>) { state.withLock { $0.scans += 1 } }

        func notice(_ notice: FolderNotice) { state.withLock { $0.notices.append(notice) } }

        func isBeingWritten(_ isWritten: Bool) { state.withLock { $0.isWritten = isWritten } }

        /// What was asked for, also what was asked for again because something had happened to it.
        var asked: [String] { state.withLock { $0.taken } }

        /// The same without the repetitions: copying a file ends with its attributes, which may be news of their own.
        var taken: [String] {
            asked.reduce(into: []) { taken, name in if taken.last != name { taken.append(name) } }
        }
    }

    private func watching<Result>(
        _ name: String = "in", _ change: (inout WatchRules) -> Void = { _ in },
        _ body: (Witness, FolderWatch) async throws -> Result
    ) async throws -> Result {
        try FileManager.default.createDirectory(atPath: directory.file("in").text, withIntermediateDirectories: true)
        var rules = WatchRules()
        rules.settlingTime = 0.2
        change(&rules)
        let witness = Witness()
        let watch = try FolderWatch(directory.file(name), rules: rules, observer: witness)
        let running = Task { try await watch.run() }
        defer { running.cancel() }
        try await eventually("it has scanned") { witness.state.withLock { $0.scans > 0 || !$0.notices.isEmpty } }
        let result = try await body(witness, watch)
        running.cancel()
        try await running.value
        return result
    }

    private func copy(_ name: String, from fixture: String = "whole.mp4") throws {
        let target = try directory.file("in/" + name)
        try FileManager.default.createDirectory(atPath: target.parent.text, withIntermediateDirectories: true)
        try FileManager.default.copyItem(atPath: TestPlace.fixture(fixture).text, toPath: target.text)
    }

    private func move(_ from: String, to: String) throws {
        try FileManager.default.moveItem(atPath: directory.file(from).text, toPath: directory.file(to).text)
    }

    @Test("each file once: what lies there, what is copied, moved, linked there, below directories that come with it")
    func once() async throws {
        try copy("a.mp4")
        try await watching { witness, _ in
            try copy("b.mp4")
            try copy("x/y/z/c.mp4")
            try copy("../outside/tree/d.mp4")
            try move("outside/tree", to: "in/tree")
            try FileManager.default.linkItem(
                atPath: TestPlace.fixture("capture.mov").text, toPath: directory.file("e.mov").text)
            try move("e.mov", to: "in/e.mov")
            try await eventually("all are taken") { witness.taken.count >= 5 }
            try copy("f.mp4")
            try await eventually("the last is taken") { witness.taken.contains("f.mp4") }
            #expect(witness.taken.sorted() == ["a.mp4", "b.mp4", "c.mp4", "d.mp4", "e.mov", "f.mp4"])
        }
    }

    @Test("a new name and new bytes are told; a directory that is made anew is seen")
    func again() async throws {
        try await watching { witness, _ in
            try copy("sub/a.mp4")
            try await eventually("it is taken") { witness.taken == ["a.mp4"] }
            try move("in/sub/a.mp4", to: "in/b.mp4")
            // Whoever has it on the list has to know where it is.
            try await eventually("it is told") { witness.taken == ["a.mp4", "b.mp4"] }
            try FileManager.default.removeItem(atPath: directory.file("in/sub").text)
            try copy("sub/c.mp4", from: "capture.mov")
            try await eventually("it is taken") { witness.taken == ["a.mp4", "b.mp4", "c.mp4"] }
            try FileManager.default.removeItem(atPath: directory.file("in/b.mp4").text)
            try copy("b.mp4", from: "damaged.mp4")
            try await eventually("it is taken") { witness.taken == ["a.mp4", "b.mp4", "c.mp4", "b.mp4"] }
        }
    }

    @Test("a writer is waited for, also one that has only a memory map left")
    func writers() async throws {
        try await watching { witness, _ in
            let path = try directory.file("in/take.mp4").text
            let bytes = try TestPlace.fixture("whole.mp4").contents()
            let number = open(path, O_RDWR | O_CREAT, 0o600)
            #expect(number >= 0 && ftruncate(number, off_t(bytes.count)) == 0)
            let map = try #require(mmap(nil, bytes.count, PROT_READ | PROT_WRITE, MAP_SHARED, number, 0))
            #expect(map != MAP_FAILED)
            UnsafeMutableRawBufferPointer(start: map, count: bytes.count).copyBytes(from: bytes)
            try await eventually("it is waited for") {
                witness.state.withLock { $0.waiting["take.mp4"] == .writer && $0.isWritten }
            }
            close(number)
            // Longer than it takes to look again.
            try await Task.sleep(for: .seconds(1.2))
            #expect(witness.taken.isEmpty)
            munmap(map, bytes.count)
            try await eventually("it is taken") { witness.taken == ["take.mp4"] }
            try await eventually("it is quiet") { witness.state.withLock { !$0.isWritten } }
        }
    }

    @Test("what lacks something is waited for; what is not there any more is not")
    func lacking() async throws {
        try await watching { witness, _ in
            try copy("a.mov", from: "unfinished.mov")
            try await eventually("it is waited for") { witness.state.withLock { $0.waiting["a.mov"] != nil } }
            try move("in/a.mov", to: "in/b.txt")
            try await eventually("it is not") { witness.state.withLock { $0.gone == ["a.mov"] } }
            try copy("c.mov", from: "unfinished.mov")
            try await eventually("it is waited for") { witness.state.withLock { $0.waiting["c.mov"] != nil } }
            try FileManager.default.removeItem(atPath: directory.file("in/c.mov").text)
            try await eventually("it is not") { witness.state.withLock { $0.gone == ["a.mov", "c.mov"] } }
            #expect(witness.taken.isEmpty)
        }
    }

    @Test("a program's notes beside a file say that it is at work on it")
    func partners() async throws {
        try await watching { witness, _ in
            try directory.write([1], to: "in/a.mp4.aria2")
            try copy("a.mp4")
            try await eventually("it is waited for") { witness.state.withLock { $0.waiting["a.mp4"] != nil } }
            try FileManager.default.removeItem(atPath: directory.file("in/a.mp4.aria2").text)
            try await eventually("it is taken") { witness.taken == ["a.mp4"] }
        }
    }

    @Test("what cannot be taken now is looked at again; what is forgotten too; what follows comes after what leads")
    func answers() async throws {
        try await watching { witness, watch in
            witness.state.withLock { $0.answers = [.later(0.1), .later(0.1), .settled] }
            try copy("a.mp4")
            try await eventually("it is asked until it settles") { witness.state.withLock { $0.answers.isEmpty } }
            let before = witness.asked.count
            watch.lookAgain()
            try await eventually("and once more") { witness.asked.count > before }
            let path = try directory.file("in/b.srt")
            let group = try #require(RecordingPlace(path)?.group)
            witness.state.withLock { $0.answers = [.follows(group)] }
            try directory.write([1, 2], to: "in/b.srt")
            try await eventually("it is asked") { witness.taken.last == "b.srt" }
            witness.state.withLock { $0.answers = [.leads(group)] }
            try copy("b.mp4", from: "damaged.mp4")
            try await eventually("it is asked again") { Array(witness.taken.suffix(2)) == ["b.mp4", "b.srt"] }
        }
    }

    @Test("links are followed once, loops end", arguments: [false, true])
    func links(polls: Bool) async throws {
        try copy("../elsewhere/a.mp4")
        try copy("real/b.mp4", from: "capture.mov")
        let link = { (name: String, target: String) in
            try FileManager.default.createSymbolicLink(
                atPath: directory.file("in/" + name).text, withDestinationPath: target)
        }
        try link("out", "../elsewhere")
        try link("real/loop", "..")
        try link("again", "real")
        try link("nowhere", "missing")
        try await watching(
            "in",
            { rules in
                rules.polls = polls
                rules.pollInterval = 0.2
            }
        ) { witness, _ in
            try copy("../elsewhere/c.mp4", from: "damaged.mp4")
            try copy("again/d.mp4", from: "upright.mov")
            try await eventually("all are taken") { witness.taken.count >= 4 }
            try copy("real/e.mp4", from: "full-range.mp4")
            try await eventually("the last is taken") { witness.taken.contains("e.mp4") }
            #expect(witness.taken.sorted() == ["a.mp4", "b.mp4", "c.mp4", "d.mp4", "e.mp4"])
        }
    }

    @Test("the folder itself comes, goes, is replaced, and is a link")
    func root() async throws {
        try FileManager.default.createSymbolicLink(atPath: directory.file("link").text, withDestinationPath: "in2")
        try await watching("link") { witness, _ in
            try await eventually("it is missed") { witness.state.withLock { $0.notices == [.isGone] } }
            try FileManager.default.createDirectory(
                atPath: directory.file("in2").text, withIntermediateDirectories: false)
            try copy("../in2/a.mp4")
            try await eventually("it is taken") { witness.taken == ["a.mp4"] }
            try move("in2", to: "in3")
            try copy("../in2/b.mp4", from: "capture.mov")
            try await eventually("it is taken") { witness.taken == ["a.mp4", "b.mp4"] }
            try copy("../in3/c.mp4", from: "damaged.mp4")
            try copy("../in2/d.mp4", from: "upright.mov")
            try await eventually("it is taken") { witness.taken == ["a.mp4", "b.mp4", "d.mp4"] }
        }
    }
}
