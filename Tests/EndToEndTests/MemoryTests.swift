import Foundation
import HTTPClient
import IngestModel
import IngestTestSupport
import Testing

/// Memory of the programs while they work, as the kernel counts it (proc(5), `VmRSS` and `VmHWM`).
@Suite("Memory", .serialized, .timeLimit(.minutes(20)))
struct MemoryTests {
    private let home: TestHome

    init() throws {
        home = try TestHome()
    }

    /// Bytes of a line of /proc/PID/status, `nil` once the process has ended.
    private func memory(_ name: String, of pid: Int32) -> Int? {
        guard let status = try? String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8) else { return nil }
        let line = status.split(separator: "\n").first { $0.hasPrefix(name + ":") }
        return line?.split(separator: " ").dropFirst().first.flatMap { Int($0) }.map { $0 * 1024 }
    }

    private func receiver() async throws -> (program: RunningProgram, port: UInt16) {
        let program = try home.start(["receive", "--listen", "127.0.0.1:0", "--store", home.path + "/store"])
        try await eventually("it listens") { program.output.contains("listening on http://") }
        let port = try #require(program.output.firstMatch(of: /127\.0\.0\.1:(\d+)/)?.1)
        return (program, try #require(UInt16(port)))
    }

    /// The most memory a program has until it ends; looked at from a thread of its own, which no other test delays.
    private func peak(of program: RunningProgram) async -> Int {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                var most = 0
                while program.isRunning {
                    most = max(most, self.memory("VmHWM", of: program.pid) ?? 0)
                    usleep(5000)
                }
                continuation.resume(returning: most)
            }
        }
    }

    /// Uploads so many bytes of nothing; the peaks of both sides.
    private func peaks(size: Int64, _ arguments: [String] = []) async throws -> (client: Int, server: Int) {
        let (server, port) = try await receiver()
        let path = try home.directory.file("recording.bin")
        _ = FileManager.default.createFile(atPath: path.text, contents: nil)
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path.text))
        try file.truncate(atOffset: UInt64(size))
        try file.close()
        let program = try home.start(
            ["recording.bin", "--to", "block+http://127.0.0.1:\(port)/upload"] + arguments)
        let client = await peak(of: program)
        #expect(try await program.wait().status == 0, "\(program.errors)")
        let peak = try #require(memory("VmHWM", of: server.pid))
        server.send(SIGTERM)
        _ = try await server.wait()
        try FileManager.default.removeItem(atPath: home.path + "/store")
        return (client, peak)
    }

    @Test("a block of 64 MiB needs no more than one of 1 MiB, on either side")
    func largeBlocks() async throws {
        let small = try await peaks(size: 256 << 20)
        let large = try await peaks(size: 256 << 20, ["--block-size", "64MiB"])
        #expect(large.client < small.client + (4 << 20), "\(large.client) \(small.client)")
        #expect(large.server < small.server + (4 << 20), "\(large.server) \(small.server)")
    }

    @Test("5 GiB need no more than 16 MiB, on either side", .enabled(if: TestPlace.isFull, "only with --full"))
    func largeFiles() async throws {
        let small = try await peaks(size: 16 << 20)
        let large = try await peaks(size: 5 << 30)
        #expect(large.client < small.client + (4 << 20), "\(large.client) \(small.client)")
        #expect(large.server < small.server + (4 << 20), "\(large.server) \(small.server)")
    }

    @Test("a connection of the receiver takes less than 256 KiB in the middle of a block of 16 MiB")
    func connections() async throws {
        let (server, port) = try await receiver()
        let client = HTTPClient(proxies: .none)
        let size = 16 << 20
        let half = [UInt8](repeating: 7, count: size / 2)
        let count = 24

        func connection() async throws -> RawConnection {
            func form(_ sequence: Int, _ more: [(name: String, value: String)]) -> MultipartForm {
                let fields = [
                    (name: "sequenceNo", value: "\(sequence)"), ("blockSize", "\(size)"), ("totFileSize", "\(size)"),
                    ("suffix", "bin"), ("token", ""),
                ]
                return MultipartForm(
                    fields: fields + more, fileField: "block", fileName: "a.bin", boundary: "boundary")
            }
            let opening = form(0, [])
            let answer = try await client.send(
                HTTPRequest(
                    .post, "http://127.0.0.1:\(port)/upload", headers: [("Content-Type", opening.contentType)],
                    body: HTTPBody([.bytes(opening.head + opening.tail)])))
            let upload = try #require(BlockJSON.answer(in: answer.body)?.uploadToken)
            let block = form(1, [("upToken", upload), ("crc", "00000000")])
            let connection = try RawConnection(port: port)
            let length = block.head.count + size + block.tail.count
            connection.send(
                "POST /upload HTTP/1.1\r\nHost: x\r\nContent-Type: \(block.contentType)\r\n"
                    + "Content-Length: \(length)\r\n\r\n")
            #expect(connection.send(block.head + half))
            return connection
        }

        // The first ones warm up what all share.
        var open = [try await connection(), try await connection()]
        try await Task.sleep(for: .milliseconds(300))
        let before = try #require(memory("VmRSS", of: server.pid))
        for _ in 0..<count { open.append(try await connection()) }
        try await Task.sleep(for: .milliseconds(300))
        let after = try #require(memory("VmRSS", of: server.pid))
        // All of them are alive: their halves were taken.
        for connection in open { #expect(connection.send([1])) }
        #expect((after - before) / count < 256 << 10, "\((after - before) / count)")
        server.send(SIGTERM)
        #expect(try await server.wait().status == 0)
    }
}
