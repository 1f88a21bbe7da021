import Foundation
import HTTPClient
import HTTPServer
import IngestModel
import IngestTestSupport
import Synchronization
import SystemIO
import Testing

/// Answers with what it was asked, byte for byte.
private struct Echo: RequestHandler {
    let seen = Seen()

    final class Seen: Sendable {
        let heads = Mutex<[RequestHead]>([])
    }

    final class Sink: BodySink {
        private var body: [UInt8] = []
        private let head: RequestHead

        init(_ head: RequestHead) { self.head = head }

        func receive(_ bytes: Span<UInt8>) {
            for index in bytes.indices { body.append(bytes[index]) }
        }

        func finish() -> ServerResponse {
            ServerResponse(status: 200, headers: [("X-Length", "\(body.count)")], body: .bytes(body))
        }
    }

    func begin(_ head: RequestHead) -> RequestAction {
        seen.heads.withLock { $0.append(head) }
        switch head.path {
        case "/redirect": return .respond(ServerResponse(status: 308, headers: [("Location", "/elsewhere")]))
        case "/refuse": return .respond(ServerResponse(status: 413))
        case "/long": return .respond(ServerResponse(status: 200, body: .bytes([UInt8](repeating: 1, count: 100_000))))
        case "/huge": return .respond(ServerResponse(status: 200, body: .bytes([UInt8](repeating: 1, count: 16 << 20))))
        default: return .receive(Sink(head))
        }
    }
}

@Suite("HTTP, both ways", .timeLimit(.minutes(5)))
struct HTTPTests {
    private let handler = Echo()
    private let server: HTTPServer
    private let client = HTTPClient(proxies: .none)

    init() throws {
        var limits = HTTPServer.Limits()
        limits.patience.firstHead = 1
        limits.patience.nextHead = 1
        limits.patience.bodyGrace = 1
        limits.patience.bodyRate = 1000
        server = try HTTPServer(listen: ListenAddress(host: "127.0.0.1", port: 0), limits: limits, handler: handler)
    }

    private func url(_ path: String) -> String { "http://\(server.address)\(path)" }

    @Test("a body of pieces and file ranges arrives in order, without Expect", arguments: [0, 1, 70_000, 3_000_000])
    func bodies(size: Int) async throws {
        let directory = try TemporaryDirectory()
        let bytes = TestBytes.make(size + 20)
        let file = SharedDescriptor(try FileSystem.open(directory.write(bytes, to: "f"), .reading))
        let body = HTTPBody([
            .bytes(Array("head".utf8)), .file(FileSlice(file: file, range: 10..<Int64(size + 10))),
            .bytes(Array("tail".utf8)),
        ])
        let response = try await client.send(HTTPRequest(.post, url("/echo"), body: body, largestAnswer: 4 << 20))
        #expect(response.status == 200)
        #expect(response.body == Array("head".utf8) + bytes[10..<(size + 10)] + Array("tail".utf8))
        #expect(response.bytesSent == body.count)
        let head = try #require(handler.seen.heads.withLock { $0.last })
        #expect(head.headers["expect"] == nil)
        #expect(head.contentLength == body.count)
    }

    @Test("connections are kept alive")
    func keepAlive() async throws {
        // The suite's own server is impatient; this one waits as long as it does in life.
        let patient = try HTTPServer(listen: ListenAddress(host: "127.0.0.1", port: 0), handler: handler)
        for _ in 0..<5 {
            _ = try await client.send(
                HTTPRequest(.post, "http://\(patient.address)/echo", body: HTTPBody([.bytes([1])])))
        }
        #expect(Set(handler.seen.heads.withLock { $0.map { $0.connection } }).count == 1)
    }

    @Test("redirects are handed back, not followed")
    func redirects() async throws {
        let response = try await client.send(HTTPRequest(.post, url("/redirect"), body: HTTPBody([.bytes([1, 2, 3])])))
        #expect(response.status == 308)
        #expect(response.header("location") == "/elsewhere")
        #expect(handler.seen.heads.withLock { $0.count } == 1)
    }

    @Test(
        "Location is resolved against the request",
        arguments: [
            ("/b", "http://h:1/b"), ("c", "http://h:1/x/c"), ("https://o/p", "https://o/p"), ("//o/p", "http://o/p"),
            ("?q", "http://h:1/x/y?q"),
        ])
    func resolving(reference: String, result: String) {
        #expect(HTTPClient.resolve(reference, against: "http://h:1/x/y") == result)
    }

    @Test("an answer that is too long is no answer")
    func longAnswers() async throws {
        await #expect {
            _ = try await client.send(HTTPRequest(.get, url("/long"), largestAnswer: 1000))
        } throws: { if case .badAnswer = $0 as? HTTPClientError { true } else { false } }
    }

    @Test("a request is given up with its task, before and while it runs")
    func cancelling() async throws {
        // Slow, but not so slow that the server loses patience while this test waits for its turn.
        let limiter = RateLimiter(bytesPerSecond: 20_000)
        let request = HTTPRequest(
            .post, url("/echo"), body: HTTPBody([.bytes([UInt8](repeating: 1, count: 1_000_000))]), limiters: [limiter])
        let client = client
        let task = Task { try await client.send(request) }
        try await Task.sleep(for: .milliseconds(200))
        task.cancel()
        await #expect(throws: HTTPClientError.cancelled) { _ = try await task.value }
        let early = Task { try await client.send(request) }
        early.cancel()
        await #expect(throws: HTTPClientError.cancelled) { _ = try await early.value }
    }

    @Test("a limiter holds over several requests, and the stricter of two counts")
    func limiting() async throws {
        let strict = RateLimiter(bytesPerSecond: 400_000)
        let generous = RateLimiter(bytesPerSecond: 100_000_000)
        let start = ContinuousClock.now
        for _ in 0..<4 {
            _ = try await client.send(
                HTTPRequest(
                    .post, url("/echo"), body: HTTPBody([.bytes([UInt8](repeating: 1, count: 100_000))]),
                    limiters: [generous, strict]))
        }
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        // 400,000 bytes, of which a quarter of a second's worth may go at once.
        #expect(seconds > 0.6)
    }

    @Test("a bucket gives its rate on average, and no more than its depth at once")
    func bucket() {
        var bucket = TokenBucket(rate: 1000, now: 0)
        #expect(bucket.take(10_000, now: 0) == 250)
        #expect(bucket.take(10, now: 0) == 0)
        #expect(bucket.delay(now: 0) > 0.04)
        #expect(bucket.take(10_000, now: 0.1) == 100)
        #expect(bucket.take(10_000, now: 100) == 250)
        // A clock that goes back gives nothing.
        #expect(bucket.take(10, now: 50) == 0)
        var slow = TokenBucket(rate: 1, now: 0)
        #expect(slow.take(10, now: 0) == 1)
        #expect(slow.take(10, now: 2) == 1)
    }

    @Test("who is not there, has no name, or does not speak HTTP is told apart")
    func transportErrors() async throws {
        await #expect {
            _ = try await client.send(HTTPRequest(.get, "http://127.0.0.1:1/"))
        } throws: { if case .notConnected = $0 as? HTTPClientError { true } else { false } }
        await #expect {
            _ = try await client.send(HTTPRequest(.get, "http://no.such.host.invalid/"))
        } throws: { if case .nameNotResolved = $0 as? HTTPClientError { true } else { false } }
        await #expect {
            _ = try await client.send(HTTPRequest(.get, "ftp://127.0.0.1/"))
        } throws: { if case .badRequest = $0 as? HTTPClientError { true } else { false } }
        await #expect {
            _ = try await client.send(HTTPRequest(.get, url("/x"), headers: [("A", "b\r\nC: d")]))
        } throws: { if case .badRequest = $0 as? HTTPClientError { true } else { false } }
    }

    @Test("a file that becomes shorter while it is sent ends the request, not with invented bytes")
    func shrinkingFile() async throws {
        let directory = try TemporaryDirectory()
        let file = SharedDescriptor(try FileSystem.open(directory.write([1, 2, 3], to: "f"), .reading))
        await #expect(throws: HTTPClientError.bodyChanged) {
            _ = try await client.send(
                HTTPRequest(.post, url("/echo"), body: HTTPBody([.file(FileSlice(file: file, range: 0..<10))])))
        }
    }

    @Test(
        "proxies come from the environment that is handed down, as curl reads it",
        arguments: [
            (["http_proxy": "http://p:1"], "http://p:1", ""), (["HTTP_PROXY": "http://p:1"], "", ""),
            (["HTTPS_PROXY": "http://q:2"], "", "http://q:2"),
            (["https_proxy": "http://r:3", "HTTPS_PROXY": "http://q:2"], "", "http://r:3"),
            (["ALL_PROXY": "http://s:4"], "http://s:4", "http://s:4"),
        ])
    func proxies(variables: [String: String], http: String, https: String) throws {
        let environment = Environment(
            variables: variables.merging(["no_proxy": "localhost"]) { $1 }, workingDirectory: try TestPath.make("/"),
            programDirectory: try TestPath.make("/"))
        #expect(
            ProxySettings(environment: environment) == ProxySettings(http: http, https: https, exceptions: "localhost"))
    }

    @Test("requests go through the proxy, but for its exceptions")
    func throughProxy() async throws {
        let proxied = HTTPClient(proxies: ProxySettings(http: url(""), https: "", exceptions: "127.0.0.1"))
        // The echo server takes the proxy's place: it sees the whole URL's host.
        _ = try await proxied.send(HTTPRequest(.post, "http://example.invalid/x", body: HTTPBody([.bytes([1])])))
        #expect(handler.seen.heads.withLock { $0.last?.headers["host"] } == "example.invalid")
        _ = try await proxied.send(HTTPRequest(.post, url("/direct"), body: HTTPBody([.bytes([1])])))
        #expect(handler.seen.heads.withLock { $0.last?.path } == "/direct")
    }

    @Test(
        "a head that drips and a body that crawls are cut off; others are served meanwhile",
        arguments: [
            "POST /echo HTTP/1.1\r\nHost: x\r\n", "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n",
        ])
    func dripping(beginning: String) async throws {
        let slow = try RawConnection(port: server.address.port)
        slow.send(beginning)
        let start = ContinuousClock.now
        var isCut = false
        while !isCut, ContinuousClock.now - start < .seconds(90) {
            isCut = !slow.send("X")
            try await Task.sleep(for: .milliseconds(100))
            let response = try await client.send(HTTPRequest(.post, url("/echo"), body: HTTPBody([.bytes([1])])))
            #expect(response.status == 200)
        }
        #expect(isCut)
        #expect(ContinuousClock.now - start > .milliseconds(900))
    }

    @Test(
        "who only holds connections keeps nobody out",
        arguments: [
            "", "POST /echo HTTP/1.1\r\nHost: x\r\n", "POST /echo HTTP/1.1\r\nContent-Length: 1000000\r\n\r\n",
            "POST /refuse HTTP/1.1\r\nContent-Length: 1000000000\r\n\r\n", "POST /echo HTTP/1.1\r\n\r\n",
        ])
    func crowd(beginning: String) async throws {
        var limits = HTTPServer.Limits()
        limits.connections = 64
        // Only the crowd is looked at, however long a busy machine takes.
        limits.idleSeconds = 600
        limits.patience.firstHead = 600
        limits.patience.nextHead = 600
        limits.patience.bodyGrace = 600
        let server = try HTTPServer(listen: ListenAddress(host: "127.0.0.1", port: 0), limits: limits, handler: handler)
        let working = try RawConnection(port: server.address.port)
        working.send("POST /working HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n")
        try await eventually("it has been seen") {
            handler.seen.heads.withLock { $0.contains { $0.path == "/working" } }
        }
        var crowd: [RawConnection] = []
        for round in 1...10 {
            for _ in 1...20 {
                let held = try RawConnection(port: server.address.port)
                held.send(beginning)
                crowd.append(held)
            }
            working.send("X")
            let newcomer = HTTPClient(proxies: .none)
            let response = try await newcomer.send(
                HTTPRequest(.post, "http://\(server.address)/echo", body: HTTPBody([.bytes([1])])))
            #expect(response.status == 200, "round \(round)")
        }
        #expect(working.receive().hasPrefix("HTTP/1.1 200"), "whoever goes on is not the one to be cut off")
    }

    @Test("who does not take the answer makes room for others")
    func unreadAnswers() async throws {
        var limits = HTTPServer.Limits()
        limits.connections = 4
        let server = try HTTPServer(listen: ListenAddress(host: "127.0.0.1", port: 0), limits: limits, handler: handler)
        let late = try (1...4).map { _ in try RawConnection(port: server.address.port) }
        for connection in late { connection.send("GET /huge HTTP/1.1\r\nHost: x\r\n\r\n") }
        try await Task.sleep(for: .seconds(4))
        for _ in 1...8 {
            let newcomer = HTTPClient(proxies: .none)
            let response = try await newcomer.send(
                HTTPRequest(.post, "http://\(server.address)/echo", body: HTTPBody([.bytes([1])])))
            #expect(response.status == 200)
        }
    }

    @Test(
        "a body whose end cannot be known is refused at once",
        arguments: [
            ("Transfer-Encoding: gzip", 501), ("Transfer-Encoding: gzip, chunked", 501),
            ("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", 400),
            ("Content-Length: 3\r\nTransfer-Encoding: chunked", 400), ("Content-Length: 3\r\nContent-Length: 3", 400),
            ("Content-Length: 9223372036854775808", 413), ("Content-Length: 18446744073709551615", 413),
        ])
    func unknownEnd(lines: String, status: Int) throws {
        let raw = try RawConnection(port: server.address.port)
        raw.send("POST /echo HTTP/1.1\r\nHost: x\r\n\(lines)\r\n\r\n")
        let answer = raw.receive()
        #expect(answer.hasPrefix("HTTP/1.1 \(status) "), "\(answer)")
        #expect(answer.contains("Connection: close"))
    }

    @Test("a refusal reaches a client whose body is still coming")
    func earlyRefusal() async throws {
        let response = try await client.send(
            HTTPRequest(.post, url("/refuse"), body: HTTPBody([.bytes([UInt8](repeating: 1, count: 8 << 20))])))
        #expect(response.status == 413)
    }

    @Test("a client that reads late still gets the refusal: the connection is not reset under it")
    func lateReader() throws {
        let late = try RawConnection(port: server.address.port)
        late.send("POST /refuse HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\n")
        let piece = [UInt8](repeating: 1, count: 1 << 20)
        for _ in 0..<16 {
            // No suspension here: other tests might keep this one from coming back within the server's patience.
            usleep(20_000)
            let isTaken = late.send(piece)
            #expect(isTaken)
        }
        #expect(late.receive().hasPrefix("HTTP/1.1 413"))
    }

    @Test(
        "addresses to listen at",
        arguments: [
            ("127.0.0.1:0", "127.0.0.1", true), ("[::1]:80", "::1", true), ("localhost:1", "127.0.0.1", true),
            (":8899", "0.0.0.0", false), ("10.0.0.1:1", "10.0.0.1", false),
        ])
    func addresses(argument: String, host: String, isLoopback: Bool) {
        #expect(ListenAddress(argument: argument)?.host == host)
        #expect(ListenAddress(argument: argument)?.isLoopback == isLoopback)
    }

    @Test(
        "what is no address is refused; an address that is taken is told",
        arguments: ["", "x", "1:", "1:99999", "::1:80", "1:-1"])
    func noAddresses(argument: String) throws {
        #expect(ListenAddress(argument: argument) == nil)
        #expect(throws: ListenError.self) {
            _ = try HTTPServer(listen: server.address, handler: handler)
        }
    }
}
