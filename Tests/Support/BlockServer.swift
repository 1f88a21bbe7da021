import Foundation
import IngestModel

/// A server of the block protocol written independently of ours (block_server.py), with faults on request.
package final class BlockServer: Sendable {
    /// One request, or something that happened, as the server logs it.
    package struct Entry: Decodable, Sendable {
        package var seq: Int?
        package var status: Int?
        package var bytes: Int?
        package var token: String?
        package var upload: String?
        package var key: String?
        package var name: String?
        package var fields: [String]?
        package var fault: String?
        package var done: String?
        package var sha256: String?
        package var dropped: String?
        package var expect: Bool?
        package var path: String?
        package var time: Double?
        package var authorization: String?
        /// What the save hook was told.
        package var told: Told?
    }

    /// What the save hook is told, as far as tests look at it.
    package struct Told: Decodable, Sendable {
        package var id: Int?
        package var url: String?
        package var title: String?
        package var name: String?
        package var size: Int?
        package var sha256: String?
        package var duration: Double?
        package var camera: String?
    }

    private let directory: TemporaryDirectory
    private let program: RunningProgram
    package let port: Int

    /// Starts it with faults in its own words, such as `500@3`, and further arguments.
    package init(_ faults: [String] = [], port: Int = 0, arguments: [String] = []) async throws {
        directory = try TemporaryDirectory()
        program = try RunningProgram(
            "/usr/bin/env",
            [
                "python3", TestPlace.root + "/Tests/Support/block_server.py", "--port", "\(port)", "--directory",
                directory.path.text,
            ]
                + faults.flatMap { ["--fault", $0] } + arguments,
            environment: ["PATH": ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"])
        let running = program
        try await eventually("the block server listens") { running.output.hasSuffix("\n") || !running.isRunning }
        guard let number = Int(running.output.split(separator: " ").last?.trimmingCharacters(in: .newlines) ?? "")
        else {
            throw TestFailure("the block server does not start: \(running.errors)")
        }
        self.port = number
    }

    /// The save hook's URL.
    package var hook: String { "http://127.0.0.1:\(port)/hook" }
    package func told() throws -> [Entry] { try log().filter { $0.path == "/hook" } }

    package var url: String { "http://127.0.0.1:\(port)/upload" }
    package var destination: String { "block+" + url }

    package func stop() {
        program.send(SIGKILL)
    }

    /// Stops it where it is, until it goes on.
    package func hold() { program.send(SIGSTOP) }
    package func goOn() { program.send(SIGCONT) }

    package func log() throws -> [Entry] {
        let path = directory.path.text + "/log"
        guard let data = FileManager.default.contents(atPath: path),
            let end = data.lastIndex(of: UInt8(ascii: "\n"))
        else { return [] }
        // The last line may still be on its way.
        return try data[..<end].split(separator: UInt8(ascii: "\n")).map {
            try JSONDecoder().decode(Entry.self, from: $0)
        }
    }

    /// Blocks that arrived whole, answered or not.
    package func blocks() throws -> [Entry] {
        try log().filter { ($0.seq ?? 0) > 0 && ($0.status == 200 || $0.fault == "lost") }
    }

    /// Digests of the files that are complete.
    package func completed() throws -> [Entry] { try log().filter { $0.done != nil } }
}
