import Foundation
package import IngestModel

/// Where the things are that tests run.
package enum TestPlace {
    /// The root of the project.
    package static let root: String = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().path

    /// Where the programs were built beside the tests.
    package static let programs: String = {
        let program = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        let beside = URL(fileURLWithPath: CommandLine.arguments.first ?? program).deletingLastPathComponent()
        for place in [beside.path, root + "/.build/debug"]
        where FileManager.default.isExecutableFile(atPath: place + "/ingest") { return place }
        return root + "/.build/debug"
    }()

    package static func fixture(_ name: String) throws -> FilePath {
        try TestPath.make(root + "/fixtures/" + name)
    }

    /// Recordings of other people's devices, where they are at hand.
    package static let media: String? = ProcessInfo.processInfo.environment["INGEST_MEDIA"].flatMap {
        $0.isEmpty ? nil : $0
    }

    /// Whether the long tests run too.
    package static let isFull = ProcessInfo.processInfo.environment["INGEST_FULL_TESTS"] != nil
}

/// A program that runs, with what it prints.
package final class RunningProgram: Sendable {
    package struct Outcome: Sendable {
        /// The exit status, or 1000 and the number of the signal that ended it.
        package let status: Int32
        package let output: String
        package let errors: String
    }

    private let process: SpawnedProcess
    private let outputFile: String
    private let errorFile: String
    package var pid: Int32 { process.pid }

    package init(
        _ program: String, _ arguments: [String], environment: [String: String], directory: String? = nil
    ) throws {
        let stem = FileManager.default.temporaryDirectory.path + "/ingest-run-\(UUID().uuidString)"
        outputFile = stem + ".out"
        errorFile = stem + ".err"
        process = try SpawnedProcess(
            [program] + arguments, environment: environment, directory: directory, output: outputFile, errors: errorFile
        )
    }

    deinit {
        process.kill()
        for path in [outputFile, errorFile] { try? FileManager.default.removeItem(atPath: path) }
    }

    package func send(_ signal: Int32) {
        kill(pid, signal)
    }

    package var isRunning: Bool { process.status == nil }

    package var output: String { (try? String(contentsOfFile: outputFile, encoding: .utf8)) ?? "" }
    package var errors: String {
        String(decoding: (try? Data(contentsOf: URL(fileURLWithPath: errorFile))) ?? Data(), as: UTF8.self)
    }

    /// Waits for its end; kills it and fails after so many seconds.
    package func wait(seconds: Double = 60) async throws -> Outcome {
        let deadline = ContinuousClock.now + .seconds(seconds)
        while true {
            if let status = process.status { return Outcome(status: status, output: output, errors: errors) }
            if ContinuousClock.now > deadline {
                send(SIGKILL)
                throw TestFailure("no end after \(seconds) s; it said: \(errors)")
            }
            try await Task.sleep(for: .milliseconds(10))
        }
    }
}

/// Waits until something holds.
package func eventually(
    seconds: Double = 60, _ what: String, _ condition: () throws -> Bool
) async throws {
    let deadline = ContinuousClock.now + .seconds(seconds)
    while try !condition() {
        if ContinuousClock.now > deadline { throw TestFailure("not within \(seconds) s: \(what)") }
        try await Task.sleep(for: .milliseconds(20))
    }
}
