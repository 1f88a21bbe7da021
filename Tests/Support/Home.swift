import Foundation
import IngestModel

/// A home of a test's own, and the built program run in it.
package final class TestHome: Sendable {
    package let directory: TemporaryDirectory

    package init() throws {
        directory = try TemporaryDirectory()
    }

    package var path: String { directory.path.text }
    package var cachePath: String { path + "/.cache/Video" }
    package var receivedPath: String { path + "/.local/share/ingest/received" }

    package var environment: [String: String] {
        var environment = ["HOME": path, "NO_COLOR": "1", "LANG": "C.UTF-8"]
        environment["PATH"] = ProcessInfo.processInfo.environment["PATH"]
        return environment
    }

    package func start(_ arguments: [String], _ more: [String: String] = [:]) throws -> RunningProgram {
        try RunningProgram(
            TestPlace.programs + "/ingest", arguments, environment: environment.merging(more) { $1 }, directory: path)
    }

    package func run(
        _ arguments: [String], _ more: [String: String] = [:], seconds: Double = 60
    ) async throws -> RunningProgram.Outcome {
        try await start(arguments, more).wait(seconds: seconds)
    }

    /// Runs a copy of the program beside which a script stands in for the media process.
    package func run(
        _ arguments: [String], withMediaProcess script: String, seconds: Double = 120
    ) async throws -> RunningProgram.Outcome {
        let program = path + "/bin/ingest"
        if !FileManager.default.fileExists(atPath: program) {
            try FileManager.default.createDirectory(atPath: path + "/bin", withIntermediateDirectories: true)
            try FileManager.default.copyItem(atPath: TestPlace.programs + "/ingest", toPath: program)
            _ = try directory.writeProgram(script, to: "bin/ingest-media")
        }
        return try await RunningProgram(program, arguments, environment: environment, directory: path).wait(
            seconds: seconds)
    }

    /// Writes a file that counts as a recording, whose last change was a minute ago.
    @discardableResult
    package func recording(_ name: String = "capture.bin", size: Int = 3 * 1_048_576 + 4711, seed: UInt64 = 1) throws
        -> [UInt8]
    {
        let bytes = TestBytes.make(size, seed: seed)
        try directory.write(bytes, to: name)
        return bytes
    }

    /// Names in the cache but for its tag.
    package var cached: [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: cachePath)) ?? []).filter { $0 != "CACHEDIR.TAG" }
            .sorted()
    }

    /// What the built-in receiver has received.
    package var received: [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: receivedPath)) ?? []).filter { $0 != ".ingest" }.sorted()
    }

    /// The list as `list --all --json` tells it.
    package func items() async throws -> [[String: Any]] {
        let outcome = try await run(["list", "--all", "--json"])
        guard outcome.status == 0,
            let items = try JSONSerialization.jsonObject(with: Data(outcome.output.utf8)) as? [[String: Any]]
        else { throw TestFailure("list --json: \(outcome.status) \(outcome.output) \(outcome.errors)") }
        return items
    }

    package func state(of id: Int) async throws -> String {
        for item in try await items() where item["id"] as? Int == id { return item["state"] as? String ?? "" }
        return "gone"
    }
}
