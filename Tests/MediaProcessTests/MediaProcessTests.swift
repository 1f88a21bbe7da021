import Foundation
import IngestModel
import IngestTestSupport
import MediaProcess
import Synchronization
import Testing

/// The media process as its parent sees it: programs that behave badly stand in for codecs that do.
@Suite("Media process", .timeLimit(.minutes(5)))
struct MediaProcessTests {
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    private func program(_ script: String) throws -> FilePath {
        try directory.writeProgram("#!/bin/bash\n\(script)\n", to: "fake-\(UUID().uuidString)")
    }

    private func run(_ script: String, patience: Double = 10) async throws -> MediaEvent {
        try await MediaProcess(program: program(script), patience: patience).run(Self.request()) { _ in }
    }

    private static func request() throws -> MediaRequest {
        .probe(input: try TestPath.make("/x"), settings: CompressSettings())
    }

    private static func line(_ event: MediaEvent) throws -> String {
        String(decoding: try JSONEncoder().encode(event), as: UTF8.self)
    }

    private static let made = MediaEvent.made(MediaSummary(container: "mp4", duration: 1, videoFrames: 2, tracks: []))

    private func code(_ body: () async throws -> MediaEvent) async -> Fault.Code? {
        do {
            _ = try await body()
            return nil
        } catch {
            return (error as? Fault)?.code
        }
    }

    /// What a process with that argument could do that is none of its business, in the order in which it tried.
    private func escapes(_ argument: String) async throws -> [String] {
        let secret = "/tmp/ingest-media-secret"
        try Data("secret".utf8).write(to: URL(fileURLWithPath: secret))
        defer {
            try? FileManager.default.removeItem(atPath: secret)
            try? FileManager.default.removeItem(atPath: "/tmp/ingest-media-was-here")
        }
        let request = MediaRequest.probe(input: try TestPlace.fixture("capture.mov"), settings: CompressSettings())
        let line = String(decoding: try JSONEncoder().encode(request), as: UTF8.self)
        let outcome = try await RunningProgram(
            "/bin/bash", ["-c", "(echo '\(line)'; sleep 2) | '\(TestPlace.programs)/ingest-media' \(argument)"],
            environment: [:]
        ).wait(seconds: 60)
        return outcome.output.split(separator: "\n").map(String.init)
    }

    @Test("whoever takes over a codec can read no other file, reach no network, start no program, and take no 8 GiB")
    func fence() async throws {
        let free = try await escapes("--try-without-fence")
        #expect(
            Set(["read-passwd", "list-home", "write-file", "delete-file", "internet-socket", "other-program", "end"])
                .isSubset(of: free), "\(free)")
        let fenced = try await escapes("--try-to-escape")
        if fenced.contains(where: { $0.hasPrefix("without ") }) {
            print("NOTE: this kernel has not all that the fence is made of: \(fenced)")
            return
        }
        #expect(fenced == ["end"], "\(fenced)")
    }

    @Test("events come through, the last one is the result, and the request went in")
    func straight() async throws {
        let seen = Mutex<[MediaEvent]>([])
        let progress = MediaEvent.progress(MediaProgress(stage: .encoding, fraction: 0.5, frames: 3))
        let path = try program(
            "read line; echo \"$line\" > '\(directory.path.text)/request'; echo '\(Self.line(progress))'; echo '\(Self.line(Self.made))'"
        )
        let last = try await MediaProcess(program: path).run(Self.request()) { event in
            seen.withLock { $0.append(event) }
        }
        #expect(last == Self.made)
        #expect(seen.withLock { $0 } == [progress, Self.made])
        let request = try JSONDecoder().decode(MediaRequest.self, from: Data(directory.file("request").contents()))
        #expect(try request == Self.request())
    }

    @Test("a fault that it reports is thrown as it is")
    func reported() async throws {
        let fault = Fault(.damaged, "it is cut off")
        let line = try Self.line(.failed(fault))
        await #expect(throws: fault) { _ = try await run("read l; echo '\(line)'") }
    }

    @Test(
        "a crash, an exit without a result, and a result before a crash are all told",
        arguments: [
            "read l; kill -SEGV $$", "read l; exit 3", "true", "read l; kill -KILL $$",
        ])
    func crashes(script: String) async throws {
        #expect(await code { try await run(script) } == .encoderCrashed)
    }

    @Test("a result counts only if the process ends well")
    func crashAfterResult() async throws {
        let line = try Self.line(Self.made)
        #expect(await code { try await run("read l; echo '\(line)'; kill -SEGV $$") } == .encoderCrashed)
    }

    @Test("one that says nothing for too long is ended; one that speaks now and then is not")
    func hangs() async throws {
        let start = ContinuousClock.now
        #expect(await code { try await run("read l; sleep 60", patience: 0.5) } == .encoderHung)
        #expect(ContinuousClock.now - start < .seconds(55))
        let progress = try Self.line(.progress(MediaProgress(stage: .encoding, fraction: 0, frames: 0)))
        let last = try await run(
            "read l; for i in 1 2 3 4 5 6; do echo '\(progress)'; sleep 0.3; done; echo '\(Self.line(Self.made))'",
            patience: 1)
        #expect(last == Self.made)
    }

    @Test(
        "nonsense and lines without end are told",
        arguments: [
            "read l; echo nonsense; sleep 5", "read l; head -c 3000000 /dev/zero | tr '\\0' x; sleep 5",
        ])
    func nonsense(script: String) async throws {
        #expect(await code { try await run(script) } == .encoderFailed)
    }

    @Test("a program that is not there is told, beside ingest and below libexec")
    func missing() throws {
        #expect(throws: Fault.self) { try MediaProcess.locate(beside: directory.path) }
        try FileManager.default.createDirectory(
            atPath: directory.path.text + "/libexec/ingest", withIntermediateDirectories: true)
        try FileManager.default.createDirectory(atPath: directory.path.text + "/bin", withIntermediateDirectories: true)
        let path = try directory.write([1], to: "libexec/ingest/ingest-media")
        #expect(try MediaProcess.locate(beside: directory.file("bin")) == path)
        let beside = try directory.write([1], to: "bin/ingest-media")
        #expect(try MediaProcess.locate(beside: directory.file("bin")) == beside)
    }

    @Test("cancelling kills it")
    func cancelling() async throws {
        let pidFile = try directory.file("pid")
        let path = try program("echo $$ > '\(pidFile.text)'; read l; sleep 60")
        let task = Task { try await MediaProcess(program: path).run(Self.request()) { _ in } }
        try await eventually("it runs") { (try? pidFile.contents().count) ?? 0 > 1 }
        task.cancel()
        await #expect(throws: CancellationError.self) { _ = try await task.value }
        let pid = try #require(
            Int32(String(decoding: pidFile.contents(), as: UTF8.self).trimmingCharacters(in: .newlines)))
        #expect(kill(pid, 0) == -1)
    }

    @Test("the real one dies with its parent, however that dies")
    func diesWithParent() async throws {
        let home = try TestHome()
        let recording = home.path + "/long.mov"
        try await Judge.record(
            [
                "-f", "lavfi", "-i", "testsrc2=size=1280x720:rate=30:duration=20", "-c:v", "libx264", "-preset",
                "ultrafast",
            ],
            to: TestPath.make(recording))
        let program = try home.start([recording, "--compress=small"])
        func children() throws -> [String] {
            let path = "/proc/\(program.pid)/task/\(program.pid)/children"
            let all = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(program.pid)/task").compactMap {
                try? String(contentsOfFile: "/proc/\(program.pid)/task/\($0)/children", encoding: .utf8)
            }
            _ = path
            return all.flatMap { $0.split(separator: " ").map(String.init) }
        }
        try await eventually("the encoder runs") { try !children().isEmpty }
        let child = try #require(try children().first)
        program.send(SIGKILL)
        try await eventually("the encoder is gone") {
            !FileManager.default.fileExists(atPath: "/proc/\(child)/exe") || isZombie(child)
        }
    }

    private func isZombie(_ pid: String) -> Bool {
        ((try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8)) ?? ") Z").contains(") Z")
    }

    @Test("it stands still as long as it is held, and is not taken for hung meanwhile")
    func held() async throws {
        let beats = try directory.file("beats")
        let count = { ((try? beats.contents()) ?? []).count }
        let sign = try Self.line(.progress(MediaProgress(stage: .encoding, fraction: 0.5, frames: 1)))
        let script = """
            while [ ! -e \(beats.text).end ]; do echo >> \(beats.text); echo '\(sign)'; sleep 0.05; done
            echo '\(try Self.line(Self.made))'
            """
        let holder = Holder()
        async let last = MediaProcess(program: program(script), patience: 1).run(
            Self.request(), isHeld: { holder.isHeld.withLock { $0 } }
        ) { _ in }
        try await eventually("it works") { count() > 3 }
        holder.isHeld.withLock { $0 = true }
        var before = -1
        // It stands when nothing has come for longer than it takes to be noticed.
        while count() != before {
            before = count()
            try await Task.sleep(for: .milliseconds(700))
        }
        try await Task.sleep(for: .seconds(1.5))
        #expect(count() == before)
        holder.isHeld.withLock { $0 = false }
        try await eventually("it goes on") { count() > before }
        _ = FileManager.default.createFile(atPath: beats.text + ".end", contents: nil)
        #expect(try await last == Self.made)
    }

    private final class Holder: Sendable {
        let isHeld = Mutex(false)
    }
}
