import Foundation
import IngestModel
import IngestTestSupport
import SystemIO
import Testing
import VideoCache

/// What `--after` does with a recording, and above all what it does not.
@Suite("Disposal of recordings")
struct DisposalTests {
    private let directory: TemporaryDirectory
    private let trash: Trash
    private static let bytes = TestBytes.make(300_000)

    init() throws {
        directory = try TemporaryDirectory()
        trash = Trash(
            home: try directory.file("data/Trash"), user: getuid(),
            now: { Date(timeIntervalSince1970: 1_700_000_000) })
    }

    private func recording(_ name: String = "cards/take 1.mov") throws -> (FilePath, RecordingIdentity) {
        let path = try directory.write(Self.bytes, to: name)
        return (path, try Recording(path).identity())
    }

    @discardableResult
    private func carryOut(
        _ action: AfterAction, _ path: FilePath, _ identity: RecordingIdentity, id: UUID = UUID()
    ) throws -> RecordingDisposal.Outcome {
        try RecordingDisposal(recording: path, identity: identity, id: id).carryOut(action, trash: trash)
    }

    private func isFar(_ path: FilePath) throws -> Bool {
        if try FileSystem.status(of: path).device != FileSystem.status(of: directory.path).device { return true }
        print("NOTE: /dev/shm is no file system of its own here: not tested what goes to another disk")
        return false
    }

    private func files(_ name: String = "cards") throws -> [String] { try directory.files(below: name).sorted() }

    @Test("deleted, and once more without harm")
    func deleting() throws {
        let (path, identity) = try recording()
        #expect(try carryOut(.delete, path, identity) == .carriedOut)
        #expect(try files() == [])
        for action in [AfterAction.delete, .trash, .move(directory.path)] {
            #expect(try carryOut(action, path, identity) == .gone)
        }
    }

    @Test("only the very file: one that was written to, exchanged or opened for writing stays")
    func changed() throws {
        for action in [AfterAction.delete, .trash, .move(try directory.file("cards"))] {
            let (path, identity) = try recording()
            try directory.write(Self.bytes + [1], to: "cards/take 1.mov")
            #expect(throws: Fault.self) { try carryOut(action, path, identity) }
            let (other, _) = try recording("cards/other")
            try FileManager.default.removeItem(atPath: path.text)
            try FileManager.default.moveItem(atPath: other.text, toPath: path.text)
            #expect(throws: Fault.self, "same bytes, another file") { try carryOut(action, path, identity) }
            #expect(try files() == ["take 1.mov"])
            try FileManager.default.removeItem(atPath: path.text)
        }
        let (path, identity) = try recording()
        let writer = try FileHandle(forWritingTo: URL(fileURLWithPath: path.text))
        defer { try? writer.close() }
        #expect(throws: Fault.self) { try carryOut(.delete, path, identity) }
        #expect(try path.contents() == Self.bytes)
    }

    @Test("what a symbolic link points to is left alone, and the link too")
    func links() throws {
        let (path, identity) = try recording()
        let link = try directory.file("cards/link.mov")
        try FileManager.default.createSymbolicLink(atPath: link.text, withDestinationPath: path.text)
        #expect(throws: Fault.self) { try carryOut(.delete, link, identity) }
        #expect(try FileSystem.status(of: link, following: false).kind == .link && files() == ["take 1.mov"])
    }

    @Test("ended while it had no name, it goes on; and a file that took its place meanwhile is not touched")
    func resumed() throws {
        let (path, identity) = try recording()
        let id = UUID()
        let aside = try directory.file("cards/.ingest-\(id.uuidString.lowercased())")
        try FileManager.default.moveItem(atPath: path.text, toPath: aside.text)
        try carryOut(.delete, path, identity, id: id)
        #expect(try files() == [])
        // The same, and a new recording has the old name: it is another, and stays.
        let (again, known) = try recording()
        try FileManager.default.moveItem(atPath: again.text, toPath: aside.text)
        try directory.write([1, 2, 3], to: "cards/take 1.mov")
        #expect(try carryOut(.delete, again, known, id: id) == .carriedOut)
        #expect(try files() == ["take 1.mov"] && again.contents() == [1, 2, 3])
    }

    @Test("what was changed while it had no name gets one back; so does what is given up")
    func namedAgain() throws {
        let (path, identity) = try recording()
        let id = UUID()
        let aside = try directory.file("cards/.ingest-\(id.uuidString.lowercased())")
        try FileManager.default.moveItem(atPath: path.text, toPath: aside.text)
        try Data(Self.bytes + [1]).write(to: URL(fileURLWithPath: aside.text))
        #expect(throws: Fault.self) { try carryOut(.delete, path, identity, id: id) }
        #expect(try files() == ["take 1.mov"] && path.contents() == Self.bytes + [1])
        try FileManager.default.moveItem(atPath: path.text, toPath: aside.text)
        try directory.write([1, 2, 3], to: "cards/take 1.mov")
        try RecordingDisposal(recording: path, identity: identity, id: id).restore()
        #expect(try files() == ["take 1-2.mov", "take 1.mov"] && path.contents() == [1, 2, 3])
    }

    @Test("names of 255 bytes find another, for directories and for the trash")
    func longNames() throws {
        let name = String(repeating: "ä", count: 125) + "x.mov"
        try FileSystem.makeDirectory(directory.file("done"))
        for round in 1...2 {
            let (path, identity) = try recording("cards/" + name)
            try carryOut(.move(try directory.file("done")), path, identity)
            #expect(try files("done").count == round)
        }
        #expect(
            try files("done").allSatisfy { $0.utf8.count <= 255 && $0.hasSuffix(".mov") && !$0.contains("\u{FFFD}") })
        let (path, identity) = try recording("cards/" + name)
        try carryOut(.trash, path, identity)
        #expect(try directory.files(below: "data/Trash/info").count == 1)
    }

    @Test("moved under its name, or the next that is free, with time and bytes")
    func moving() throws {
        try FileSystem.makeDirectory(directory.file("done"))
        for name in ["take 1.mov", "take 1-2.mov", "take 1-3.mov"] {
            let (path, identity) = try recording()
            try carryOut(.move(try directory.file("done")), path, identity)
            let moved = try directory.file("done/" + name)
            #expect(try moved.contents() == Self.bytes)
            #expect(try FileSystem.status(of: moved).modified == identity.modified)
        }
        #expect(try files() == [])
    }

    @Test("to another disk: copied, then gone here; done half it is not there twice")
    func movingFar() throws {
        let far = try TestPath.make("/dev/shm/ingest-test-\(UUID().uuidString)")
        try FileSystem.makeDirectory(far)
        defer { try? FileManager.default.removeItem(atPath: far.text) }
        let (path, identity) = try recording()
        guard try isFar(far) else { return }
        try carryOut(.move(far), path, identity)
        #expect(try FileManager.default.contentsOfDirectory(atPath: far.text) == ["take 1.mov"])
        #expect(try FileSystem.status(of: far.appending("take 1.mov")).modified == identity.modified)
        #expect(try files() == [])
        // The copy was made, then the program ended.
        let (again, known) = try recording()
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSince1970: 1_600_000_000)], ofItemAtPath: again.text)
        let set = try Recording(again).identity()
        try FileManager.default.removeItem(atPath: far.text + "/take 1.mov")
        try FileManager.default.copyItem(atPath: again.text, toPath: far.text + "/take 1.mov")
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSince1970: 1_600_000_000)], ofItemAtPath: far.text + "/take 1.mov")
        #expect(known.size == set.size)
        try carryOut(.move(far), again, set)
        #expect(try FileManager.default.contentsOfDirectory(atPath: far.text) == ["take 1.mov"])
        #expect(try files() == [])
    }

    @Test("two recordings of the same name moved to another disk at once: both are there, and nobody's file is touched")
    func racingFar() async throws {
        let far = try TestPath.make("/dev/shm/ingest-test-\(UUID().uuidString)")
        try FileSystem.makeDirectory(far)
        defer { try? FileManager.default.removeItem(atPath: far.text) }
        try Data([9, 9]).write(to: URL(fileURLWithPath: far.text + "/take 1.mov.part"))
        guard try isFar(far) else { return }
        var made: [(FilePath, RecordingIdentity, [UInt8])] = []
        for number in 0..<8 {
            let bytes = TestBytes.make(20_000_000 + number, seed: UInt64(number + 1))
            let path = try directory.write(bytes, to: "card\(number)/take 1.mov")
            made.append((path, try Recording(path).identity(), bytes))
        }
        let (recordings, trash) = (made, trash)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (path, identity, _) in recordings {
                group.addTask {
                    _ = try RecordingDisposal(recording: path, identity: identity, id: UUID()).carryOut(
                        .move(far), trash: trash)
                }
            }
            try await group.waitForAll()
        }
        let names = try FileManager.default.contentsOfDirectory(atPath: far.text)
        let arrived = try names.map { [UInt8](try Data(contentsOf: URL(fileURLWithPath: far.text + "/" + $0))) }
        #expect(names.count == 9 && arrived.contains([9, 9]))
        for (_, _, bytes) in recordings { #expect(arrived.contains(bytes)) }
    }

    @Test("moved to another disk it keeps its permissions")
    func attributesFar() throws {
        let far = try TestPath.make("/dev/shm/ingest-test-\(UUID().uuidString)")
        try FileSystem.makeDirectory(far)
        defer { try? FileManager.default.removeItem(atPath: far.text) }
        guard try isFar(far) else { return }
        let (path, identity) = try recording()
        try path.setMode(0o664)
        try carryOut(.move(far), path, identity)
        let status = try FileSystem.status(of: far.appending("take 1.mov"))
        #expect(status.permissions == 0o664 && status.owner == getuid())
    }

    @Test("a directory that is not there is said, and the recording stays")
    func missingDirectory() throws {
        let (path, identity) = try recording()
        #expect(throws: Fault.self) { try carryOut(.move(try directory.file("nowhere")), path, identity) }
        #expect(try files() == ["take 1.mov"])
    }

    @Test("into the trash of the home, so that it can be got back (the specification's note and names)")
    func trashing() throws {
        for name in ["take 1.mov", "take 1-2.mov"] {
            let (path, identity) = try recording()
            try carryOut(.trash, path, identity)
            #expect(try directory.file("data/Trash/files/" + name).contents() == Self.bytes)
            let note = String(
                decoding: try directory.file("data/Trash/info/\(name).trashinfo").contents(), as: UTF8.self)
            let lines = note.split(separator: "\n").map(String.init)
            #expect(lines[0] == "[Trash Info]")
            #expect(lines[1] == "Path=" + directory.path.text + "/cards/take%201.mov")
            #expect(lines[2].wholeMatch(of: /DeletionDate=2023-11-1[45]T\d\d:\d\d:20/) != nil)
        }
        #expect(try files() == [])
    }

    @Test("on another disk, into the trash of that disk")
    func trashingFar() throws {
        let far = try TestPath.make("/dev/shm/ingest-test-\(UUID().uuidString)")
        try FileSystem.makeDirectory(far)
        let own = "/dev/shm/.Trash-\(getuid())"
        let wasThere = FileManager.default.fileExists(atPath: own)
        defer {
            try? FileManager.default.removeItem(atPath: far.text)
            if !wasThere { try? FileManager.default.removeItem(atPath: own) }
        }
        let name = "take-\(UUID().uuidString).mov"
        let path = far.appending(try #require(FileName(name)))
        try Data(Self.bytes).write(to: URL(fileURLWithPath: path.text))
        guard try isFar(far) else { return }
        try carryOut(.trash, path, try Recording(path).identity())
        #expect(FileManager.default.fileExists(atPath: own + "/files/" + name))
        let note = try String(contentsOfFile: own + "/info/\(name).trashinfo", encoding: .utf8)
        #expect(note.contains("Path=\(far.name?.text ?? "")/\(name)\n"), "relative to the disk: \(note)")
        try? FileManager.default.removeItem(atPath: own + "/files/" + name)
        try? FileManager.default.removeItem(atPath: own + "/info/\(name).trashinfo")
    }
}
