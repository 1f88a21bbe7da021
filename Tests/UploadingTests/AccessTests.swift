import Foundation
import HTTPClient
import IngestModel
import IngestTestSupport
import SystemIO
import Testing
import Uploading

/// What opens a server, and whom to trust: against a server that was written independently of ours.
@Suite("Access to servers", .timeLimit(.minutes(3)))
struct AccessTests {
    private let directory: TemporaryDirectory
    private static let bytes = TestBytes.make(8500)

    init() throws {
        directory = try TemporaryDirectory()
    }

    private func source() throws -> UploadSource {
        UploadSource(
            file: SharedDescriptor(try FileSystem.open(directory.write(Self.bytes, to: "copy"), .reading)),
            seal: Seal(id: UUID(), size: ByteCount(8500), modified: FileTime(seconds: 1, nanoseconds: 1), sha256: nil),
            name: "5-clip.mov", blockSize: ByteCount(1000), limiters: [])
    }

    private func privateFile(_ name: String, _ text: String) throws -> FilePath {
        let path = try directory.write(Array(text.utf8), to: name)
        try path.setMode(0o600)
        return path
    }

    private func access(
        _ url: String, _ credentials: Credentials = Credentials(), _ route: HTTPRoute = HTTPRoute()
    ) throws -> ServerAccess {
        ServerAccess(
            url: try ServerURL(url), client: HTTPClient(proxies: .none), credentials: credentials, route: route)
    }

    private func fault(_ body: () async throws -> Void) async -> Fault? {
        do {
            try await body()
            return nil
        } catch {
            return error as? Fault
        }
    }

    @Test("user and password go with every request; wrong ones are refused in words")
    func basic() async throws {
        let server = try await BlockServer(arguments: ["--basic", "cam:p:w ä"])
        let credentials = Credentials(user: "cam", passwordFile: try privateFile("password", "p:w ä\n"))
        let destination = BlockDestination(try access(server.url, credentials))
        let receipt = try await destination.upload(source(), from: nil, ledger: TestLedger())
        #expect(receipt.proof == .digest)
        let wrong = BlockDestination(
            try access(server.url, Credentials(user: "cam", passwordFile: try privateFile("other", "nope"))))
        let refusal = await fault { _ = try await wrong.upload(source(), from: nil, ledger: TestLedger()) }
        #expect(refusal?.code == .credentials && refusal?.isTemporary == false)
    }

    @Test("a server that puts its answers under another key")
    func dataKey() async throws {
        let server = try await BlockServer(arguments: ["--data-key", "result"])
        let destination = BlockDestination(try access(server.url), dataKey: "result")
        #expect(try await destination.upload(source(), from: nil, ledger: TestLedger()).proof == .digest)
        let standard = BlockDestination(try access(server.url))
        let refusal = await fault { _ = try await standard.upload(source(), from: nil, ledger: TestLedger()) }
        #expect(refusal?.code == .invalidAnswer)
    }

    // MARK: - TLS

    /// An authority, a server's and a client's certificate of it, and another authority.
    private func makeCertificates() async throws -> String {
        let script = """
            set -e; cd "$1"
            ca() { openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj "/CN=$1" -keyout $1.key -out $1.pem; }
            leaf() { openssl req -newkey rsa:2048 -nodes -subj "/CN=$1" -keyout $1.key -out $1.csr
                printf 'subjectAltName=IP:127.0.0.1' > ext
                openssl x509 -req -in $1.csr -CA authority.pem -CAkey authority.key -CAcreateserial -days 2 -extfile ext -out $1.pem; }
            ca authority; ca stranger; leaf server; leaf client; chmod 600 *.key
            """
        let place = directory.path.text
        let made = try await RunningProgram(
            "/bin/bash", ["-c", script, "bash", place], environment: ["PATH": "/usr/bin:/bin"]
        )
        .wait()
        guard made.status == 0 else { throw TestFailure(made.errors) }
        return place
    }

    @Test("our own authority, a client certificate: only with the right ones, each fault in words")
    func certificates() async throws {
        let place = try await makeCertificates()
        let server = try await BlockServer(
            arguments: ["--tls", place, "--client-ca", place + "/authority.pem"])
        let url = server.url.replacing("http:", with: "https:")
        let right = HTTPRoute(
            certificateAuthorities: place + "/authority.pem", clientCertificate: place + "/client.pem",
            clientKey: place + "/client.key")
        let receipt = try await BlockDestination(access(url, Credentials(), right)).upload(
            source(), from: nil, ledger: TestLedger())
        #expect(receipt.proof == .digest)

        var stranger = right
        stranger.certificateAuthorities = place + "/stranger.pem"
        for route in [stranger, HTTPRoute()] {
            let refusal = await fault {
                _ = try await BlockDestination(access(url, Credentials(), route)).upload(
                    source(), from: nil, ledger: TestLedger())
            }
            #expect(refusal?.code == .certificate && refusal?.isTemporary == true, "\(refusal?.reason ?? "")")
        }
        let nobody = await fault {
            _ = try await BlockDestination(access(url, Credentials(), right.withoutIdentity)).upload(
                source(), from: nil, ledger: TestLedger())
        }
        #expect(nobody != nil, "without a certificate of ours")

        try TestPath.make(place + "/client.key").setMode(0o644)
        let open = await fault {
            _ = try await BlockDestination(access(url, Credentials(), right)).upload(
                source(), from: nil, ledger: TestLedger())
        }
        #expect(open?.code == .credentials && open?.reason.contains("chmod 600") == true)
        var missing = right
        missing.clientKey = nil
        missing.clientCertificate = place + "/none.pem"
        let gone = await fault {
            _ = try await BlockDestination(access(url, Credentials(), missing)).upload(
                source(), from: nil, ledger: TestLedger())
        }
        #expect(gone?.code == .credentials && gone?.reason.contains("none.pem") == true)
    }

    @Test("a token that is not accepted: the file it stands in is named, and who did not accept it")
    func whereTheTokenIs() async throws {
        let server = try await BlockServer(arguments: ["--token", "right"])
        let file = try privateFile("token", "wrong\n")
        let refusal = await fault {
            _ = try await BlockDestination(access(server.url, Credentials(tokenFile: file))).upload(
                source(), from: nil, ledger: TestLedger())
        }
        #expect(
            refusal?.code == .credentials && refusal?.reason.contains(file.text) == true, "\(refusal?.reason ?? "")")
        let hook = SaveHookClient(
            ServerAccess(
                url: try ServerURL("http://127.0.0.1:1/hook"), client: HTTPClient(proxies: .none),
                credentials: Credentials(), noun: "the save hook"))
        let away = await fault { try await hook.tell(message()) }
        #expect(away?.reason.hasPrefix("the save hook at 127.0.0.1 cannot be reached") == true, "\(away?.reason ?? "")")
    }

    @Test("a token that was renewed in the middle is read again, once")
    func renewal() async throws {
        let server = try await BlockServer(["401@4"], arguments: ["--token", "t"])
        let file = try privateFile("token", "t\n")
        let destination = BlockDestination(try access(server.url, Credentials(tokenFile: file)))
        #expect(try await destination.upload(source(), from: nil, ledger: TestLedger()).proof == .digest)
        #expect(try server.log().filter { $0.status == 401 }.count == 1)
    }

    // MARK: - The save hook

    private func message(_ parameters: [String: String] = [:]) throws -> SaveMessage {
        SaveMessage(
            id: ItemID(7), uuid: try #require(UUID(uuidString: "11111111-2222-3333-4444-555555555555")),
            url: "https://far/x.mov", title: "Öffnung \"1\"", name: "5-x.mov", size: ByteCount(8500),
            sha256: SHA256Digest(hex: String(repeating: "ab", count: 32)), duration: 12.5, parameters: parameters)
    }

    @Test("the hook is told everything, under the item's key, with its token; parameters take nobody's place")
    func hook() async throws {
        let server = try await BlockServer(arguments: ["--bearer", "sesame"])
        let file = try privateFile("bearer", "sesame\n")
        let client = SaveHookClient(try access(server.hook, Credentials(tokenFile: file)))
        try await client.tell(message(["camera": "A", "url": "evil"]))
        let entry = try #require(try server.told().first)
        #expect(entry.key == "11111111-2222-3333-4444-555555555555" && entry.authorization == "Bearer sesame")
        let told = try #require(entry.told)
        #expect(told.id == 7 && told.url == "https://far/x.mov" && told.title == "Öffnung \"1\"" && told.camera == "A")
        #expect(told.name == "5-x.mov" && told.size == 8500 && told.duration == 12.5)
        #expect(told.sha256 == String(repeating: "ab", count: 32))
    }

    @Test(
        "what the hook answers: again later, or never",
        arguments: [
            (500, Fault.Code.busy, true), (503, .busy, true), (429, .busy, true), (400, .refused, false),
            (404, .refused, false), (302, .refused, false),
        ])
    func hookFaults(status: Int, code: Fault.Code, isTemporary: Bool) async throws {
        let server = try await BlockServer(arguments: ["--hook", "\(status)"])
        let client = SaveHookClient(try access(server.hook))
        let refusal = await fault { try await client.tell(message()) }
        #expect(refusal?.code == code && refusal?.isTemporary == isTemporary)
        #expect(await fault { try await client.tell(message()) } == nil)
    }

    @Test("the hook's token is read again once after 401, then it has failed")
    func hookToken() async throws {
        let server = try await BlockServer(arguments: ["--hook", "401"])
        #expect(await fault { try await SaveHookClient(access(server.hook)).tell(message()) } == nil)
        let strict = try await BlockServer(arguments: ["--bearer", "right"])
        let wrong = try privateFile("wrong", "wrong\n")
        let refusal = await fault {
            try await SaveHookClient(access(strict.hook, Credentials(tokenFile: wrong))).tell(message())
        }
        #expect(refusal?.code == .credentials && refusal?.reason.contains(wrong.text) == true)
        #expect(try strict.told().count == 2)
    }

    // MARK: - Servers that mean ill

    /// A server that reads a request, sends `head`, then `again` for ever, slowly if asked to.
    private func hostile(_ head: String, again: String = "", pause: Double = 0) async throws -> (RunningProgram, String)
    {
        let script = """
            import socket, sys, threading, time
            head, again, pause = sys.argv[1].encode(), sys.argv[2].encode(), float(sys.argv[3])
            s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1], flush=True)
            def serve(c):
                try:
                    c.settimeout(1); c.recv(1 << 20); c.settimeout(None); c.sendall(head)
                    while again: c.sendall(again); time.sleep(pause)
                    c.shutdown(socket.SHUT_WR); time.sleep(1)
                except OSError: pass
                c.close()
            while True: threading.Thread(target=serve, args=(s.accept()[0],), daemon=True).start()
            """
        let server = try RunningProgram(
            "/usr/bin/env", ["python3", "-c", script, head, again, "\(pause)"],
            environment: ["PATH": ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"])
        try await eventually("it listens") { server.output.hasSuffix("\n") }
        return (server, "http://127.0.0.1:\(server.output.trimmingCharacters(in: .newlines))/upload")
    }

    private static func json(_ body: String) -> String {
        "HTTP/1.1 200 OK\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
    }

    @Test(
        "answers that mean ill end in words, soon, and with nothing taken for granted",
        arguments: [
            (
                "HTTP/1.1 200 OK\r\n", "X-More: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n",
                Fault.Code.invalidAnswer
            ),
            (
                "HTTP/1.1 200 OK\r\n\r\n{\"data\":[", "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\",",
                .invalidAnswer
            ),
            (json("{\"data\":" + String(repeating: "[", count: 100_000)), "", .invalidAnswer),
            (json("{\"data\":{\"upToken\":{\"a\":1}}}"), "", .invalidAnswer),
            (json("{\"data\":{\"upToken\":\"\"}}"), "", .invalidAnswer),
            ("HTTP/1.1 307 x\r\nLocation: ftp://127.0.0.1/\r\nContent-Length: 0\r\n\r\n", "", .redirected),
            ("HTTP/1.1 308 x\r\nLocation: file:///etc/passwd\r\nContent-Length: 0\r\n\r\n", "", .redirected),
            ("HTTP/1.1 307 x\r\nLocation: http://user:pw@127.0.0.1/\r\nContent-Length: 0\r\n\r\n", "", .redirected),
            ("HTTP/1.1 307 x\r\nContent-Length: 0\r\n\r\n", "", .redirected),
        ])
    func illAnswers(head: String, again: String, code: Fault.Code) async throws {
        let (server, url) = try await hostile(head, again: again)
        let began = ContinuousClock.now
        let refusal = await fault {
            _ = try await BlockDestination(access(url)).upload(source(), from: nil, ledger: TestLedger())
        }
        #expect(refusal?.code == code, "\(refusal?.reason ?? "")")
        #expect(ContinuousClock.now - began < .seconds(60))
        server.send(SIGKILL)
    }

    @Test("what a server says reaches nobody with its control characters, nor at any length")
    func words() async throws {
        let body =
            "{\"error\":{\"code\":\"field\",\"message\":\"\\u001b[2J\\u0007red\\nline \(String(repeating: "x", count: 5000))\"}}"
        let (server, url) = try await hostile("HTTP/1.1 400 Bad\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
        let refusal = await fault {
            _ = try await BlockDestination(access(url)).upload(source(), from: nil, ledger: TestLedger())
        }
        let reason = refusal?.reason ?? ""
        #expect(reason.contains("red") && reason.count < 400)
        #expect(!reason.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x7F })
        server.send(SIGKILL)
    }

    @Test("an answer that drips does not last for ever")
    func dripping() async throws {
        let (server, url) = try await hostile("HTTP/1.1 200 OK\r\n\r\n{\"data\":", again: " ", pause: 0.3)
        let client = HTTPClient(proxies: .none)
        let began = ContinuousClock.now
        await #expect(throws: HTTPClientError.self) {
            _ = try await client.send(HTTPRequest(.post, url, body: HTTPBody([.bytes([1])]), answerTimeout: 2))
        }
        #expect(ContinuousClock.now - began < .seconds(60))
        server.send(SIGKILL)
    }
}
