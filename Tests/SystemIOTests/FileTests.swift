import Foundation
import IngestModel
import IngestTestSupport
import Synchronization
import SystemIO
import Testing

@Suite("Files")
struct FileTests {
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    @Test("what is made is private")
    func permissions() throws {
        try FileSystem.makeDirectory(directory.file("a/b/c"))
        #expect(try FileSystem.status(of: directory.file("a/b/c")).permissions == 0o700)
        #expect(try FileSystem.status(of: directory.file("a")).permissions == 0o700)
        _ = try FileSystem.open(directory.file("f"), .creating)
        #expect(try FileSystem.status(of: directory.file("f")).permissions == 0o600)
    }

    @Test("creating and renaming never replace what is there")
    func exclusive() throws {
        let taken = try directory.write([1], to: "taken")
        let other = try directory.write([2], to: "other")
        #expect {
            _ = try FileSystem.open(taken, .creating)
        } throws: { ($0 as? SystemError)?.alreadyExists == true }
        #expect {
            try FileSystem.renameWithoutReplacing(other, to: taken)
        } throws: { ($0 as? SystemError)?.alreadyExists == true }
        #expect(try taken.contents() == [1])
        #expect(try other.contents() == [2])
        try FileSystem.renameWithoutReplacing(other, to: directory.file("free"))
        #expect(try directory.files() == ["free", "taken"])
    }

    @Test("a FIFO is opened without waiting for a writer")
    func fifo() throws {
        let path = try directory.file("fifo")
        #expect(mkfifo(path.text, 0o600) == 0)
        let file = try FileSystem.open(path, .reading)
        #expect(try file.status().kind == .other)
    }

    @Test("errors say what, where and why")
    func errors() throws {
        let missing = try directory.file("missing")
        #expect {
            _ = try FileSystem.open(missing, .reading)
        } throws: { error in
            "\(error)" == "cannot open \(missing.text): no such file or directory"
        }
    }

    @Test("copying gives the same bytes, the same time, and stops when told to")
    func copying() throws {
        let bytes = TestBytes.make(3_000_001)
        let source = try FileSystem.open(directory.write(bytes, to: "source"), .reading)
        let target = try FileSystem.open(directory.file("target"), .creating)
        var last = ByteCount(0)
        let (_, count) = try target.copy(from: source, size: ByteCount(3_000_001)) {
            last = $0
        } passing: { _ in
        }
        #expect(count.value == 3_000_001 && last == count)
        try target.setModified(FileTime(seconds: 1_000_000_000, nanoseconds: 123_456_789))
        #expect(try target.status().modified == FileTime(seconds: 1_000_000_000, nanoseconds: 123_456_789))
        #expect(try directory.file("target").contents() == bytes)
        let stopped = try FileSystem.open(directory.file("stopped"), .creating)
        #expect(throws: CancellationError.self) {
            _ = try stopped.copy(from: source, size: ByteCount(3_000_001)) { _ in
                throw CancellationError()
            } passing: { _ in
            }
        }
    }

    @Test("a source that is shorter than announced gives fewer bytes, not invented ones")
    func shortSource() throws {
        let source = try FileSystem.open(directory.write(TestBytes.make(1000), to: "source"), .reading)
        let target = try FileSystem.open(directory.file("target"), .creating)
        let (_, count) = try target.copy(from: source, size: ByteCount(5000)) { _ in
        } passing: { _ in
        }
        #expect(count.value == 1000)
        #expect(try target.status().size.value == 1000)
    }

    @Test("somebody who has the file open for writing is noticed, and only as long as that lasts")
    func writers() throws {
        let path = try directory.write([1, 2, 3], to: "file")
        let reader = try FileSystem.open(path, .reading)
        #expect(reader.hasWriter() == false)
        do {
            let writer = try FileSystem.open(path, .readingAndWriting)
            #expect(reader.hasWriter() == true)
            _ = consume writer
        }
        #expect(reader.hasWriter() == false)
        #expect(try FileSystem.open(directory.path, .directory).hasWriter() == nil)
    }

    @Test("names that are not UTF-8 are listed, opened and deleted")
    func oddNames() throws {
        let name = try #require(FileName(bytes: [0xFF, 0xFE, 10, 34]))
        let path = directory.path.appending(name)
        _ = try FileSystem.open(path, .creating)
        #expect(try FileSystem.names(in: directory.path) == [name])
        try FileSystem.remove(path)
        #expect(try FileSystem.removeIfExists(path) == false)
    }

    @Test("bytes are found wherever they stand")
    func byteSearch() {
        let bytes = Array("abcabcd".utf8)
        #expect(bytes.span.firstOffset(of: Array("abcd".utf8)) == 3)
        #expect(bytes.span.firstOffset(of: Array("abc".utf8), from: 1) == 3)
        #expect(bytes.span.firstOffset(of: Array("x".utf8)) == nil)
        #expect(bytes.span.firstOffset(of: Array("d".utf8), from: 7) == nil)
        #expect([UInt8]().span.firstOffset(of: [1]) == nil)
    }
}

@Suite("Locks, threads, programs")
struct ProcessTests {
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    @Test("a byte is locked once, in this process too, and free again when the holder is gone")
    func byteLocks() throws {
        let path = try directory.file("lock")
        // A value that cannot be copied cannot be looked at by a macro.
        func isFree(_ offset: Int64) throws -> Bool {
            switch try ByteLock.take(offset, in: path) {
            case .some: true
            case nil: false
            }
        }
        do {
            let lock = try ByteLock.take(7, in: path)
            #expect(try !isFree(7))
            #expect(try isFree(8))
            let file = SharedDescriptor(try FileSystem.open(path, .readingAndWriting))
            #expect(try ByteLock.isHeld(7, in: file))
            #expect(try !ByteLock.isHeld(9, in: file))
            _ = consume lock
        }
        let file = SharedDescriptor(try FileSystem.open(path, .readingAndWriting))
        #expect(try !ByteLock.isHeld(7, in: file))
        do {
            // Shared ones stand side by side, and show.
            let one = try ByteLock.share([20..<30], in: path)
            let two = try ByteLock.share([20..<21, 40..<41], in: path)
            #expect(try ByteLock.isHeld(20, in: file) && ByteLock.isHeld(29, in: file) && ByteLock.isHeld(40, in: file))
            #expect(try !ByteLock.isHeld(30, in: file) && !ByteLock.isHeld(19, in: file))
            _ = consume one
            #expect(try ByteLock.isHeld(20, in: file) && !ByteLock.isHeld(29, in: file))
            _ = consume two
        }
        #expect(try !ByteLock.isHeld(20, in: file) && !ByteLock.isHeld(40, in: file))
        #expect(try isFree(7))
    }

    @Test("blocking work sees the cancellation of its task")
    func offPoolCancellation() async throws {
        let task = Task {
            try await offPool { stop in
                while true { try stop.check() }
            }
        }
        try await Task.sleep(for: .milliseconds(30))
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test("an actor on a queue of its own runs there, one call after another")
    func queueExecutor() async {
        let counter = QueueCounter()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<100 { group.addTask { await counter.increment() } }
        }
        #expect(await counter.count == 100)
    }

    @Test(
        "a bounded queue keeps its bound, its order and its end; a reader that gives up frees the writer",
        // Each takes two of the threads that all tests share.
        .serialized, arguments: [(2, 1), (2, 2), (9, 4)])
    func boundedQueue(capacity: Int, step: Int) async throws {
        let queue = BoundedQueue<Int>(capacity: capacity, step: step)
        let pushed = Counter()
        let writer = Task.detached {
            for number in 0..<100 {
                guard queue.push(number) else { return false }
                _ = pushed.next()
            }
            queue.end()
            return true
        }
        try await Task.sleep(for: .milliseconds(30))
        #expect(pushed.next() == capacity, "no more than the capacity fits")
        for number in 0..<100 { #expect(queue.pop() == number) }
        #expect(queue.pop() == nil && queue.pop() == nil)
        #expect(await writer.value)
        let abandoned = BoundedQueue<Int>(capacity: capacity, step: step)
        let stuck = Task.detached { (0...capacity).allSatisfy { abandoned.push($0) } }
        try await Task.sleep(for: .milliseconds(30))
        abandoned.abandon()
        #expect(await stuck.value == false)
    }

    @Test("a child gets its input, gives its output, and says how it ended")
    func children() throws {
        let cat = try ChildProcess(TestPath.make("/bin/cat"), arguments: [], variables: [:])
        try cat.send(Array("hello".utf8))
        #expect(try cat.receive(within: 5000) == Array("hello".utf8))
        #expect(cat.finish(killing: true) == .killed(9))
        let exit = try ChildProcess(TestPath.make("/bin/sh"), arguments: ["-c", "exit 7"], variables: [:])
        #expect(try exit.receive(within: 5000) == [])
        #expect(exit.finish(killing: false) == .exited(7))
        #expect(throws: SystemError.self) {
            _ = try ChildProcess(TestPath.make("/nonexistent"), arguments: [], variables: [:])
        }
    }

    @Test("a child inherits no descriptor and no variable but those it is given")
    func inheritance() throws {
        let secret = try FileSystem.open(directory.write([1], to: "secret"), .reading)
        let child = try ChildProcess(
            TestPath.make("/bin/sh"), arguments: ["-c", "ls /proc/self/fd | wc -l; env"], variables: ["ONLY": "this"])
        var output: [UInt8] = []
        while let bytes = try child.receive(within: 5000), !bytes.isEmpty { output += bytes }
        _ = child.finish(killing: false)
        let lines = String(decoding: output, as: UTF8.self).split(separator: "\n")
        // 0, 1, 2 and the one that `ls` reads the directory with.
        #expect(lines.first == "4")
        #expect(
            Set(lines.dropFirst().map { $0.split(separator: "=")[0] }).isSubset(of: [
                "ONLY", "PWD", "_", "SHLVL", "OLDPWD",
            ]))
        #expect(secret.number > 2)
    }

    @Test(
        "places follow the XDG specification",
        arguments: [
            (["HOME": "/h"], "/h/.cache/Video"), (["HOME": "/h", "XDG_CACHE_HOME": "/x"], "/x/Video"),
            (["HOME": "/h", "XDG_CACHE_HOME": ""], "/h/.cache/Video"),
            (["HOME": "/h", "XDG_CACHE_HOME": "relative"], "/h/.cache/Video"), ([:], nil), (["HOME": ""], nil),
        ])
    func places(variables: [String: String], cache: String?) throws {
        let environment = Environment(
            variables: variables, workingDirectory: try TestPath.make("/w"), programDirectory: try TestPath.make("/p"))
        #expect(environment.videoCache?.text == cache)
    }

    @Test("a signal that comes the moment after they are watched is heard, each time")
    func signalsAtOnce() async throws {
        for round in 1...200 {
            let heard = Mutex(0)
            let watch = SignalWatch([SIGUSR2]) { _ in heard.withLock { $0 += 1 } }
            kill(getpid(), SIGUSR2)
            try await eventually(seconds: 20, "round \(round)") { heard.withLock { $0 } == 1 }
            withExtendedLifetime(watch) {}
        }
    }

    private actor QueueCounter {
        private let executor = QueueExecutor(label: "test")
        private(set) var count = 0

        nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

        func increment() {
            executor.checkIsolated()
            count += 1
        }
    }
}
