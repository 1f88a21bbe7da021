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

    private func carryOut(
        _ action: AfterAction, _ path: FilePath, _ identity: RecordingIdentity, id: UUID = UUID()
    ) throws {
        try RecordingDisposal(recording: path, identity: identity, id: id).carryOut(action, trash: trash)
    }

    private func files(_ name: String = "cards") throws -> [String] { try directory.files(below: name).sorted() }

    @Test("deleted, and once more without harm")
    func deleting() throws {
        let (path, identity) = try recording()
        try carryOut(.delete, path, identity)
        #expect(try files() == [])
        try carryOut(.delete, path, identity)
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
        // The same, and a new recording has the old name.
        let (again, known) = try recording()
        try FileManager.default.moveItem(atPath: again.text, toPath: aside.text)
        try directory.write([1, 2, 3], to: "cards/take 1.mov")
        #expect(throws: Fault.self) { try carryOut(.delete, again, known, id: id) }
        #expect(try again.contents() == [1, 2, 3])
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
        guard try FileSystem.status(of: far).device != identity.device else { return }
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
        guard try FileSystem.status(of: far).device != FileSystem.status(of: directory.path).device else { return }
        try carryOut(.trash, path, try Recording(path).identity())
        #expect(FileManager.default.fileExists(atPath: own + "/files/" + name))
        let note = try String(contentsOfFile: own + "/info/\(name).trashinfo", encoding: .utf8)
        #expect(note.contains("Path=\(far.name?.text ?? "")/\(name)\n"), "relative to the disk: \(note)")
        try? FileManager.default.removeItem(atPath: own + "/files/" + name)
        try? FileManager.default.removeItem(atPath: own + "/info/\(name).trashinfo")
    }
}
