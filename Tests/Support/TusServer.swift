import Foundation
import IngestModel

/// A server of tus 1.0 written independently of our client (tus_server.py), with faults on request.
package final class TusServer: Sendable {
    /// One request, or an upload that is complete, as the server logs it.
    package struct Entry: Decodable, Sendable {
        package var method: String?
        package var path: String?
        package var status: Int?
        package var bytes: Int?
        package var offset: Int?
        package var fault: String?
        package var created: String?
        package var metadata: [String: String]?
        package var checksum: String?
        package var done: String?
        package var sha256: String?
        package var filename: String?
    }

    private let directory: TemporaryDirectory
    private let program: RunningProgram
    package let port: Int

    /// Starts it with faults in its own words, such as `500@PATCH`, and further arguments.
    package init(_ faults: [String] = [], arguments: [String] = []) async throws {
        directory = try TemporaryDirectory()
        program = try RunningProgram(
            "/usr/bin/env",
            ["python3", TestPlace.root + "/Tests/Support/tus_server.py", "--directory", directory.path.text]
                + faults.flatMap { ["--fault", $0] } + arguments,
            environment: ["PATH": ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"])
        let running = program
        try await eventually("the tus server listens") { running.output.hasSuffix("\n") || !running.isRunning }
        guard let number = Int(running.output.split(separator: " ").last?.trimmingCharacters(in: .newlines) ?? "")
        else { throw TestFailure("the tus server does not start: \(running.errors)") }
        port = number
    }

    package var url: String { "http://127.0.0.1:\(port)/files/" }
    package var destination: String { "tus+" + url }

    package func log() throws -> [Entry] {
        guard let data = FileManager.default.contents(atPath: directory.path.text + "/log"),
            let end = data.lastIndex(of: UInt8(ascii: "\n"))
        else { return [] }
        // The last line may still be on its way.
        return try data[..<end].split(separator: UInt8(ascii: "\n")).map {
            try JSONDecoder().decode(Entry.self, from: $0)
        }
    }

    /// Files that are complete.
    package func completed() throws -> [Entry] { try log().filter { $0.done != nil } }
    package func requests(_ method: String) throws -> [Entry] {
        try log().filter { $0.method == method && $0.done == nil }
    }
}
