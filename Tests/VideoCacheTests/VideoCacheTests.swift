import Checksums
import Foundation
import IngestModel
import IngestTestSupport
import SystemIO
import Testing
import VideoCache

@Suite("Video cache")
struct VideoCacheTests {
    private let directory: TemporaryDirectory
    private let cache: VideoCache
    private static let bytes = TestBytes.make(300_000)

    init() throws {
        directory = try TemporaryDirectory()
        cache = try VideoCache(directory: directory.file("a/Video"))
    }

    private func name(_ text: String = "5-capture.mov") throws -> FileName { try #require(FileName(text)) }

    private func recording(_ bytes: [UInt8] = Self.bytes) throws -> FilePath {
        try directory.write(bytes, to: "capture.mov")
    }

    /// Copies and seals; publishes if asked to.
    private func makeCopy(publishing: Bool = true) throws -> Seal {
        let recording = try Recording(recording())
        let part = try cache.begin(name())
        let digest = try cache.copy(recording, into: part, stop: StopFlag()) { _ in }
        let seal = try cache.seal(name(), modified: recording.modified, sha256: digest)
        if publishing { try cache.publish(name()) }
        return seal
    }

    private func fault(_ body: () throws -> Void) -> Fault.Code? {
        do {
            try body()
            return nil
        } catch {
            return (error as? Fault)?.code
        }
    }

    @Test("the directory is private and tagged for backup programs")
    func tag() throws {
        let tag = String(decoding: try directory.file("a/Video/CACHEDIR.TAG").contents(), as: UTF8.self)
        #expect(tag.hasPrefix("Signature: 8a477f597d28d172789f06886806bc55\n"))
        #expect(try FileSystem.status(of: cache.directory).permissions == 0o700)
        #expect(try cache.names().isEmpty)
    }

    @Test("a copy is unfinished until it is sealed and named; then it is the recording, byte for byte, with its time")
    func making() throws {
        let seal = try makeCopy(publishing: false)
        #expect(try cache.names() == [name("5-capture.mov.part")])
        try cache.publish(name())
        #expect(try cache.names() == [name()])
        #expect(try cache.path(of: name()).contents() == Self.bytes)
        #expect(try FileSystem.status(of: cache.path(of: name())).permissions == 0o600)
        let modified = try FileSystem.status(of: directory.file("capture.mov")).modified
        #expect(seal.modified == modified && seal.size.value == 300_000)
        _ = try cache.open(name(), sealed: seal)
    }

    @Test("what is left of an earlier attempt goes when a new one begins")
    func restarts() throws {
        _ = try cache.begin(name())
        try FileSystem.open(cache.partPath(of: name()), .readingAndWriting).write("rubbish")
        let part = try cache.begin(name())
        #expect(try part.status().size.value == 0)
    }

    @Test("a crash between sealing and naming is made good when the copy is opened")
    func sealedButUnnamed() throws {
        let seal = try makeCopy(publishing: false)
        _ = try cache.open(name(), sealed: seal)
        #expect(try cache.names() == [name()])
    }

    @Test("an unfinished copy that is not what was sealed is not taken for it")
    func unfinishedImpostor() throws {
        let seal = try makeCopy(publishing: false)
        try FileSystem.open(cache.partPath(of: name()), .readingAndWriting).write("x")
        #expect(fault { _ = try cache.open(name(), sealed: seal) } == .copyLost)
    }

    @Test("a copy that is gone, shortened, grown, touched or replaced is noticed")
    func tampering() throws {
        let seal = try makeCopy()
        let path = try cache.path(of: name())
        func restore() throws {
            try FileSystem.removeIfExists(path)
            try Data(Self.bytes).write(to: URL(fileURLWithPath: path.text))
            try FileSystem.open(path, .readingAndWriting).setModified(seal.modified)
        }
        try FileSystem.open(path, .readingAndWriting).truncate(to: 299_999)
        #expect(fault { _ = try cache.open(name(), sealed: seal) } == .copyChanged)
        try restore()
        #expect(fault { _ = try cache.open(name(), sealed: seal) } == nil)
        try FileSystem.open(path, .readingAndWriting).setModified(FileTime(seconds: 1, nanoseconds: 0))
        #expect(fault { _ = try cache.open(name(), sealed: seal) } == .copyChanged)
        try restore()
        try FileSystem.remove(path)
        #expect(fault { _ = try cache.open(name(), sealed: seal) } == .copyLost)
        // A symbolic link in its place is not followed.
        #expect(symlink(try directory.file("capture.mov").text, path.text) == 0)
        #expect(fault { _ = try cache.open(name(), sealed: seal) } != nil)
    }

    @Test("a recording that changes while it is copied is not sealed")
    func changesWhileCopied() throws {
        let path = try recording()
        let recording = try Recording(path)
        let part = try cache.begin(name())
        #expect(
            fault {
                _ = try cache.copy(recording, into: part, stop: StopFlag()) { _ in
                    // The recorder writes on.
                    guard let file = try? FileSystem.open(path, .readingAndWriting) else { return }
                    try? file.write([1, 2, 3].span, at: 300_000)
                }
            } == .recordingChanged)
        // One that is replaced under its name, too.
        let again = try Recording(path)
        try FileSystem.remove(path)
        try directory.write(Self.bytes, to: "capture.mov")
        #expect(fault { try again.checkUnchanged() } == .recordingChanged)
        // One that is deleted is still the one that was opened.
        let gone = try Recording(path)
        try FileSystem.remove(path)
        #expect(fault { try gone.checkUnchanged() } == nil)
    }

    @Test("copying stops when told to")
    func stopping() throws {
        let recording = try Recording(recording(TestBytes.make(5_000_000)))
        let part = try cache.begin(name())
        let stop = StopFlag()
        stop.set()
        #expect(throws: CancellationError.self) { _ = try cache.copy(recording, into: part, stop: stop) { _ in } }
    }

    @Test("a link is the recording itself, made only while nobody writes it")
    func linking() throws {
        let path = try recording()
        let recording = try Recording(path)
        do {
            let writer = try FileSystem.open(path, .readingAndWriting)
            #expect(try cache.link(recording, as: name()) == nil)
            _ = consume writer
        }
        let seal = try #require(try cache.link(recording, as: name()))
        #expect(seal.isLink)
        try cache.publish(name())
        #expect(try FileSystem.status(of: cache.path(of: name())).inode == FileSystem.status(of: path).inode)
        // Whoever writes the recording changes the copy, and that is noticed.
        try FileSystem.open(path, .readingAndWriting).write("x")
        #expect(fault { _ = try cache.open(name(), sealed: seal) } == .copyChanged)
    }

    @Test("deleting takes what is finished and what is not, and nothing else")
    func deleting() throws {
        _ = try makeCopy()
        _ = try cache.begin(name("5-capture.mov"))
        _ = try cache.begin(name("6-other.mov"))
        try cache.delete(name())
        #expect(try cache.names() == [name("6-other.mov.part")])
        try cache.delete(name())
    }

    @Test("what cannot be a recording is told in words")
    func noRecordings() throws {
        #expect(fault { _ = try Recording(directory.file("missing.mov")) } == .recordingMissing)
        #expect(fault { _ = try Recording(directory.path) } == .notAFile)
        #expect(mkfifo(try directory.file("fifo").text, 0o600) == 0)
        #expect(fault { _ = try Recording(directory.file("fifo")) } == .notAFile)
    }

    @Test("an identity knows the same bytes, and a recording that has grown")
    func identities() throws {
        let path = try recording(TestBytes.make(2_000_000))
        let taken = try Recording(path).identity()
        #expect(try Recording(path).identity().isUnchanged(from: taken))
        #expect(Recording.check(path, against: taken, isLink: false) == .goOn)
        let file = try FileSystem.open(path, .readingAndWriting)
        try file.write([1, 2, 3].span, at: 2_000_000)
        #expect(Recording.check(path, against: taken, isLink: false) == .withdraw)
        // A byte inside one of the pieces is another one.
        try file.write([0xAA, 0xBB].span, at: 10)
        #expect(Recording.check(path, against: taken, isLink: false) == .goOnMarked)
        try file.truncate(to: 5)
        #expect(Recording.check(path, against: taken, isLink: false) == .goOnMarked)
        try FileSystem.remove(path)
        #expect(Recording.check(path, against: taken, isLink: false) == .goOn)
        #expect(Recording.identityIfPresent(at: path) == nil)
        #expect(
            try Recording(recording(TestBytes.make(2_000_000))).digest(stop: StopFlag())
                == SHA256.digest(of: TestBytes.make(2_000_000)))
    }

    @Test("a cache whose place is taken by something else is told in words")
    func unusable() throws {
        let file = try directory.write([1], to: "file")
        #expect(fault { _ = try VideoCache(directory: file) } == .cacheUnusable)
    }
}
