import Checksums
import Diagnostics
import Foundation
import HTTPClient
import HTTPServer
import IngestModel
import IngestTestSupport
import Receiver
import Synchronization
import SystemIO
import Testing
import Uploading

/// A far side that every destination's conformance is tried against.
protocol FarSide: Sendable {
    var destination: any Destination { get }

    /// Digests of the files that are complete there.
    func digests() throws -> [String]
    /// Uploads that are begun and not complete.
    func unfinished() throws -> Int
    /// Forgets every unfinished upload.
    func forget() throws
}

/// Which destinations are tried.
enum FarSideKind: String, CaseIterable, Sendable {
    case ourReceiver, independentServer, tusServer, directory

    func start() async throws -> any FarSide {
        switch self {
        case .ourReceiver: try OurReceiver()
        case .independentServer: try await IndependentServer()
        case .tusServer: try await IndependentTusServer()
        case .directory: try PlainDirectory()
        }
    }

    /// How often is stored where six blocks arrive at once: what is meant, the opening, each block; of the block protocol not the
    /// last, whose answer is the receipt; of a directory the name. Where it goes on later tus is asked how much is there.
    var saves: Int {
        switch self {
        case .ourReceiver, .independentServer: 8
        case .tusServer, .directory: 10
        }
    }
}

private final class OurReceiver: FarSide {
    private let directory: TemporaryDirectory
    private let receiver: Receiver
    let destination: any Destination

    init() throws {
        directory = try TemporaryDirectory()
        receiver = try Receiver(
            store: directory.file("store"), listen: ListenAddress(host: "127.0.0.1", port: 0),
            settings: ReceiverSettings(token: "t"), log: .none)
        destination = BlockDestination(
            ServerAccess(
                url: try ServerURL("http://\(receiver.address)/upload"), client: HTTPClient(proxies: .none),
                credentials: Credentials(fixedToken: Secret("t"))))
    }

    func digests() throws -> [String] {
        try directory.files(below: "store").filter { !$0.hasPrefix(".ingest") }.map {
            SHA256.digest(of: try directory.file("store/" + $0).contents()).hex
        }
    }

    func unfinished() throws -> Int { try directory.files(below: "store/.ingest/parts").count }

    func forget() throws {
        for name in try directory.files(below: "store/.ingest/parts") {
            try FileSystem.remove(directory.file("store/.ingest/parts/" + name))
        }
    }
}

private final class IndependentServer: FarSide {
    private let server: BlockServer
    let destination: any Destination

    init() async throws {
        server = try await BlockServer(arguments: ["--token", "t"])
        destination = BlockDestination(
            ServerAccess(
                url: try ServerURL(server.url), client: HTTPClient(proxies: .none),
                credentials: Credentials(fixedToken: Secret("t"))))
    }

    func digests() throws -> [String] { try server.completed().compactMap { $0.sha256 } }

    func unfinished() throws -> Int {
        let log = try server.log()
        let opened = log.filter { $0.seq == 0 && $0.status == 200 }.count
        let dropped = log.filter { $0.dropped != nil && $0.status == 204 }.count
        return opened - dropped - log.filter { $0.done != nil }.count
    }

    func forget() throws { throw TestFailure("this server forgets by its fault “gone”") }
}

private final class IndependentTusServer: FarSide {
    private let server: TusServer
    let destination: any Destination

    init() async throws {
        server = try await TusServer(arguments: ["--token", "t", "--checksum", "sha1,sha256", "--digest", "right"])
        destination = TusDestination(
            ServerAccess(
                url: try ServerURL(server.url), client: HTTPClient(proxies: .none),
                credentials: Credentials(fixedToken: Secret("t"))), checkedRequest: ByteCount(1000))
    }

    func digests() throws -> [String] { try server.completed().compactMap { $0.sha256 } }

    func unfinished() throws -> Int {
        let log = try server.log()
        return log.filter { $0.created != nil }.count - log.filter { $0.method == "DELETE" && $0.status == 204 }.count
            - log.filter { $0.done != nil }.count
    }

    func forget() throws { throw TestFailure("this server forgets by its fault “gone”") }
}

private final class PlainDirectory: FarSide {
    private let directory: TemporaryDirectory
    let destination: any Destination

    init() throws {
        directory = try TemporaryDirectory()
        destination = DirectoryDestination(directory.path, step: 1000, sharesBlocks: false)
    }

    private func names() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: directory.path.text) }

    func digests() throws -> [String] {
        try names().filter { !$0.hasPrefix(".ingest") }.map {
            SHA256.digest(of: try directory.file($0).contents()).hex
        }
    }

    func unfinished() throws -> Int { try names().count { $0.hasPrefix(".ingest") } }

    func forget() throws {
        for name in try names() where name.hasPrefix(".ingest") { try FileSystem.remove(directory.file(name)) }
    }
}

/// What every destination must do. A new one is done when these pass.
@Suite("Conformance of destinations", .timeLimit(.minutes(10)))
struct ConformanceTests {
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    private func source(
        _ bytes: [UInt8], name: String = "5-clip.mov", blockSize: Int64 = 1000, digest: SHA256Digest? = nil,
        seal: UUID = UUID()
    ) throws -> UploadSource {
        let file = try FileSystem.open(directory.write(bytes, to: "copy-\(UUID().uuidString)"), .reading)
        return UploadSource(
            file: SharedDescriptor(file),
            seal: Seal(
                id: seal, size: ByteCount(Int64(bytes.count)), modified: FileTime(seconds: 1, nanoseconds: 1),
                sha256: digest),
            name: name, blockSize: ByteCount(blockSize), limiters: [])
    }

    private struct Stop: Error {}

    @Test(
        "sizes around the block arrive byte for byte", arguments: FarSideKind.allCases,
        [0, 1, 999, 1000, 1001, 2000, 10_007])
    func sizes(kind: FarSideKind, size: Int) async throws {
        let far = try await kind.start()
        let bytes = TestBytes.make(size)
        let ledger = TestLedger()
        let receipt = try await far.destination.upload(source(bytes), from: nil, ledger: ledger)
        // Of nothing this tus server says no digest.
        let proof: Receipt.Proof = kind == .tusServer && size == 0 ? .size : .digest
        #expect(receipt.proof == proof && receipt.size.value == Int64(size))
        #expect(try far.digests() == [SHA256.digest(of: bytes).hex])
        #expect(try far.unfinished() == 0)
        // The intent, before anything was created over there.
        switch try #require(ledger.current.saved.first) {
        case .block(let intent): #expect(intent.token == nil && intent.acknowledgedCount == 0)
        case .tus(let intent): #expect(intent.address == nil && intent.offset.value == 0)
        case .directory(let intent): #expect(intent.name == nil && intent.offset.value == 0)
        }
    }

    @Test(
        "stopped after every step and taken up again: arrives once, and no block but one is sent again",
        arguments: FarSideKind.allCases)
    func stoppedEverywhere(kind: FarSideKind) async throws {
        let bytes = TestBytes.make(5500)
        for step in 1...7 {
            let far = try await kind.start()
            let seal = UUID()
            let first = TestLedger { if $0 == step { throw Stop() } }
            await #expect(throws: Stop.self) {
                _ = try await far.destination.upload(source(bytes, seal: seal), from: nil, ledger: first)
            }
            let second = TestLedger(first.current.remote)
            let receipt = try await far.destination.upload(
                source(bytes, seal: seal), from: first.current.remote, ledger: second)
            #expect(receipt.proof == .digest)
            #expect(try far.digests() == [SHA256.digest(of: bytes).hex])
            // What was stored is not sent again: as many saves in all as without a stop, and the one that was lost.
            #expect(first.current.saved.count + second.current.saved.count <= kind.saves, "step \(step)")
        }
    }

    @Test("remote state of another seal is given up, never continued", arguments: FarSideKind.allCases)
    func otherSeal(kind: FarSideKind) async throws {
        let far = try await kind.start()
        let first = TestLedger { if $0 == 4 { throw Stop() } }
        await #expect(throws: Stop.self) {
            _ = try await far.destination.upload(source(TestBytes.make(5500)), from: nil, ledger: first)
        }
        let other = TestBytes.make(5500, seed: 2)
        let second = TestLedger(first.current.remote)
        _ = try await far.destination.upload(source(other), from: first.current.remote, ledger: second)
        #expect(try far.digests() == [SHA256.digest(of: other).hex])
        #expect(second.current.abandoned == [first.current.remote])
        // The debt is paid: nothing is left over there.
        #expect(try far.unfinished() == 1)
        #expect(try await far.destination.abandon(#require(second.current.abandoned.first), named: "x") == .dropped)
        #expect(try far.unfinished() == 0)
    }

    @Test("an upload that is given up at any step leaves nothing over there", arguments: FarSideKind.allCases, 2...6)
    func givenUp(kind: FarSideKind, step: Int) async throws {
        let far = try await kind.start()
        let ledger = TestLedger { if $0 == step { throw Stop() } }
        await #expect(throws: Stop.self) {
            _ = try await far.destination.upload(source(TestBytes.make(5500)), from: nil, ledger: ledger)
        }
        let outcome = try await far.destination.abandon(#require(ledger.current.remote), named: "clip.mov")
        // Step 2 is the token: it was never stored, and only a far side that knows the key finds the upload again.
        if step > 2 || kind == .ourReceiver || kind == .directory {
            #expect(outcome == .dropped)
            #expect(try far.unfinished() == 0)
        }
        #expect(try far.digests().isEmpty)
        // Asked for again there is nothing to drop.
        if step > 2 {
            #expect(
                try await far.destination.abandon(#require(ledger.current.remote), named: "clip.mov") == .leftToExpire)
        }
    }

    @Test("a far side that forgot gets everything again", arguments: [FarSideKind.ourReceiver, .directory])
    func forgotten(kind: FarSideKind) async throws {
        let far = try await kind.start()
        let bytes = TestBytes.make(5500)
        let seal = UUID()
        let first = TestLedger { if $0 == 5 { throw Stop() } }
        await #expect(throws: Stop.self) {
            _ = try await far.destination.upload(source(bytes, seal: seal), from: nil, ledger: first)
        }
        try far.forget()
        _ = try await far.destination.upload(
            source(bytes, seal: seal), from: first.current.remote, ledger: TestLedger(first.current.remote))
        #expect(try far.digests() == [SHA256.digest(of: bytes).hex])
    }

    @Test(
        "awkward names arrive as something safe", arguments: FarSideKind.allCases,
        [
            "ünï ’quote\"\n日本.mov", "-dash.mov", "x.m\"o\r\nv", String(repeating: "日", count: 80) + ".mov",
            "no extension", ".mov", "a;b=c.mov",
        ])
    func names(kind: FarSideKind, name: String) async throws {
        let far = try await kind.start()
        let bytes = TestBytes.make(1500)
        _ = try await far.destination.upload(source(bytes, name: name), from: nil, ledger: TestLedger())
        #expect(try far.digests() == [SHA256.digest(of: bytes).hex])
    }

    @Test("a copy that changes while it is uploaded is not taken for what was sealed", arguments: FarSideKind.allCases)
    func shrinking(kind: FarSideKind) async throws {
        let far = try await kind.start()
        let path = try directory.write(TestBytes.make(5500), to: "shrinks")
        let source = UploadSource(
            file: SharedDescriptor(try FileSystem.open(path, .reading)),
            seal: Seal(id: UUID(), size: ByteCount(5500), modified: FileTime(seconds: 1, nanoseconds: 1), sha256: nil),
            name: "x.mov", blockSize: ByteCount(1000), limiters: [])
        let file = SharedDescriptor(try FileSystem.open(path, .readingAndWriting))
        let ledger = TestLedger { if $0 == 4 { try file.descriptor.truncate(to: 2500) } }
        await #expect {
            _ = try await far.destination.upload(source, from: nil, ledger: ledger)
        } throws: { ($0 as? Fault)?.code == .copyChanged }
        #expect(try far.digests().isEmpty)
    }

    @Test("a digest that is known is held against the receipt, not taken again", arguments: FarSideKind.allCases)
    func knownDigest(kind: FarSideKind) async throws {
        let far = try await kind.start()
        let bytes = TestBytes.make(2500)
        let wrong = SHA256.digest(of: [1])
        await #expect {
            _ = try await far.destination.upload(source(bytes, digest: wrong), from: nil, ledger: TestLedger())
        } throws: { ($0 as? Fault)?.code == .receiptMismatch }
        let right = try await far.destination.upload(
            source(bytes, digest: SHA256.digest(of: bytes)), from: nil, ledger: TestLedger())
        #expect(right.proof == .digest)
    }

    @Test("cancelled in the middle, it ends at once and goes on later", arguments: FarSideKind.allCases)
    func cancelled(kind: FarSideKind) async throws {
        let far = try await kind.start()
        let bytes = TestBytes.make(2_000_000)
        let seal = UUID()
        let file = try FileSystem.open(directory.write(bytes, to: "slow"), .reading)
        let source = UploadSource(
            file: SharedDescriptor(file),
            seal: Seal(
                id: seal, size: ByteCount(2_000_000), modified: FileTime(seconds: 1, nanoseconds: 1), sha256: nil),
            name: "slow.mov", blockSize: ByteCount(20_000), limiters: [RateLimiter(bytesPerSecond: 20_000)])
        let ledger = TestLedger()
        let destination = far.destination
        let task = Task { try await destination.upload(source, from: nil, ledger: ledger) }
        try await eventually(seconds: 180, "two blocks are up") { ledger.current.saved.count >= 4 }
        let start = ContinuousClock.now
        task.cancel()
        await #expect(throws: CancellationError.self) { _ = try await task.value }
        // All of it would have taken a hundred seconds.
        #expect(ContinuousClock.now - start < .seconds(60))
        _ = try await far.destination.upload(
            self.source(bytes, blockSize: 20_000, seal: seal), from: ledger.current.remote,
            ledger: TestLedger(ledger.current.remote))
        #expect(try far.digests() == [SHA256.digest(of: bytes).hex])
    }
}

/// What servers, proxies and links do wrong, by an independent server.
@Suite("Block destination against faults", .timeLimit(.minutes(5)))
struct FaultTests {
    private let directory: TemporaryDirectory
    private static let bytes = TestBytes.make(8500)

    init() throws {
        directory = try TemporaryDirectory()
    }

    /// A sealed copy of these bytes.
    private func copy(_ bytes: [UInt8], blockSize: Int64) throws -> UploadSource {
        UploadSource(
            file: SharedDescriptor(try FileSystem.open(directory.write(bytes, to: "copy"), .reading)),
            seal: Seal(
                id: UUID(), size: ByteCount(Int64(bytes.count)), modified: FileTime(seconds: 1, nanoseconds: 1),
                sha256: nil),
            name: "x.mov", blockSize: ByteCount(blockSize), limiters: [])
    }

    /// Uploads as the pipeline does: again after every fault that may pass, with the source that is there.
    private func upload(
        to server: BlockServer, blockSize: Int64 = 1000, path: String = "", token: String = "",
        ledger: TestLedger = TestLedger(),
        tries: Int = 6
    ) async throws -> (receipt: Receipt, ledger: TestLedger, faults: [Fault]) {
        let source = UploadSource(
            file: SharedDescriptor(try FileSystem.open(directory.write(Self.bytes, to: "copy"), .reading)),
            seal: Seal(id: UUID(), size: ByteCount(8500), modified: FileTime(seconds: 1, nanoseconds: 1), sha256: nil),
            name: "5-clip.mov", blockSize: ByteCount(blockSize), limiters: [])
        let destination = BlockDestination(
            ServerAccess(
                url: try ServerURL(server.url + path), client: HTTPClient(proxies: .none),
                credentials: Credentials(fixedToken: Secret(token))))
        var faults: [Fault] = []
        while true {
            do {
                let receipt = try await destination.upload(source, from: ledger.current.remote, ledger: ledger)
                return (receipt, ledger, faults)
            } catch let fault as Fault where fault.isTemporary && faults.count < tries {
                faults.append(fault)
            }
        }
    }

    @Test(
        "each fault once: the file arrives whole, and no block is lost or sent without need",
        arguments: [
            ("500@0", 1), ("500@3", 1), ("503:1@3", 1), ("429:1@2", 1), ("507@4", 1), ("html@0", 1), ("html@2", 1),
            ("empty@2", 1), ("nodata@9", 1),
            ("shape@2", 1), ("cut@0", 1), ("cut@4", 1), ("lost@0", 1), ("lost@4", 1), ("lost@9", 1), ("crc@2", 0),
            ("gone@5", 0), ("behind:2@6", 0),
            ("308@1", 0), ("307@4", 0), ("401@3", 0), ("slow:1@3", 0), ("changed@4", 0),
        ])
    func faults(fault: String, retries: Int) async throws {
        let server = try await BlockServer([fault])
        let result = try await upload(to: server)
        #expect(result.receipt.proof == .digest)
        // libcurl itself tries once more where a kept connection breaks before an answer has begun.
        let mayBeHidden = fault.hasPrefix("lost") || fault.hasPrefix("cut")
        #expect(result.faults.count == retries || mayBeHidden && result.faults.isEmpty)
        let done = try server.completed()
        #expect(done.map { $0.sha256 } == [SHA256.digest(of: Self.bytes).hex])
        let blocks = try server.blocks().compactMap { $0.seq }
        let restarts = fault.hasPrefix("gone") || fault.hasPrefix("changed")
        #expect(Set(blocks) == Set(1...9))
        #expect(blocks.count <= (restarts ? 9 + 4 : fault.hasPrefix("behind") ? 11 : 10), "\(blocks)")
        #expect(try server.log().allSatisfy { $0.expect != true })
        server.stop()
    }

    @Test("what the server demands to wait is handed on")
    func retryAfter() async throws {
        let server = try await BlockServer(["503:7@2", "429:5@3"])
        #expect(try await upload(to: server).faults.map { $0.demandedDelay } == [7, 5])
    }

    @Test("a proxy's limit halves the block, in a new upload, and is remembered")
    func tooLarge() async throws {
        let server = try await BlockServer(["large:6000"])
        let result = try await upload(to: server, blockSize: 8192)
        #expect(result.receipt.proof == .digest)
        #expect(result.ledger.current.abandoned.count == 1)
        #expect(result.ledger.current.blockSizes.values.map { $0.value } == [4096])
        // The next upload to this origin begins with it.
        let next = TestLedger()
        try await next.remember(ByteCount(4096), for: ServerURL(server.url).origin)
        #expect(try await upload(to: server, blockSize: 8192, ledger: next).ledger.current.abandoned.isEmpty)
    }

    @Test("a lying receipt is sent again, and in the end believed only without lies")
    func lies() async throws {
        let once = try await BlockServer(["lie@9"])
        let result = try await upload(to: once)
        #expect(result.ledger.current.abandoned.count == 1)
        #expect(try once.completed().count == 2)
        let always = try await BlockServer(["lie@9", "lie@9", "lie@9"])
        await #expect {
            _ = try await upload(to: always)
        } throws: { ($0 as? Fault)?.code == .receiptMismatch }
    }

    @Test("a server without digests gives a receipt of parts")
    func plain() async throws {
        let server = try await BlockServer(arguments: ["--plain"])
        #expect(try await upload(to: server).receipt.proof == .parts)
    }

    @Test("redirects in circles, and those that drop the body, end in words", arguments: ["circle@1", "302@1"])
    func badRedirects(fault: String) async throws {
        let server = try await BlockServer([fault])
        await #expect {
            _ = try await upload(to: server)
        } throws: { ($0 as? Fault)?.code == .redirected }
        #expect(try server.completed().isEmpty)
    }

    @Test("the token goes to the destination, not to another origin it redirects to")
    func redirectedToken() async throws {
        let other = try await BlockServer()
        let redirecting = try HTTPServer(
            listen: ListenAddress(host: "127.0.0.1", port: 0), handler: Redirect(location: other.url))
        let source = try copy(Self.bytes, blockSize: 10_000)
        let destination = BlockDestination(
            ServerAccess(
                url: try ServerURL("http://\(redirecting.address)/upload"), client: HTTPClient(proxies: .none),
                credentials: Credentials(fixedToken: Secret("secret"))))
        _ = try await destination.upload(source, from: nil, ledger: TestLedger())
        #expect(try other.completed().count == 1)
        #expect(try other.log().filter { $0.seq != nil }.allSatisfy { $0.token == "" })
    }

    @Test("dropping an upload follows a redirect as sending it does")
    func redirectedDrop() async throws {
        let server = try await BlockServer()
        let redirecting = try HTTPServer(
            listen: ListenAddress(host: "127.0.0.1", port: 0), handler: Redirect(location: server.url))
        let source = try copy(Self.bytes, blockSize: 1000)
        let destination = BlockDestination(
            ServerAccess(
                url: try ServerURL("http://\(redirecting.address)/upload"), client: HTTPClient(proxies: .none),
                credentials: Credentials()))
        struct Enough: Error {}
        let ledger = TestLedger { if $0 == 4 { throw Enough() } }
        await #expect(throws: Enough.self) { _ = try await destination.upload(source, from: nil, ledger: ledger) }
        let remote = try #require(ledger.current.remote)
        #expect(try await destination.abandon(remote, named: "x.mov") == .dropped)
        #expect(try server.log().contains { $0.dropped != nil && $0.status == 204 })
    }

    @Test(
        "what is no HTTP is tried again", arguments: ["no http at all\r\n", "HTTP/1.1 200 OK\r\nX: LONG"])
    func noHTTP(answer: String) async throws {
        let script = """
            import socket, sys
            s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen(); print(s.getsockname()[1], flush=True)
            while True:
                c, _ = s.accept(); c.settimeout(1)
                try:
                    while c.recv(65536): pass
                except OSError: pass
                try: c.sendall(sys.argv[1].replace("LONG", "x" * 2000000).encode())
                except OSError: pass
                c.close()
            """
        let server = try RunningProgram("/usr/bin/env", ["python3", "-c", script, answer], environment: [:])
        try await eventually("it listens") { server.output.hasSuffix("\n") }
        defer { server.send(SIGKILL) }
        let source = try copy([1, 2, 3], blockSize: 1000)
        let destination = BlockDestination(
            ServerAccess(
                url: try ServerURL("http://127.0.0.1:\(server.output.trimmingCharacters(in: .newlines))/upload"),
                client: HTTPClient(proxies: .none), credentials: Credentials()))
        await #expect {
            _ = try await destination.upload(source, from: nil, ledger: TestLedger())
        } throws: { ($0 as? Fault)?.isTemporary == true }
    }

    private struct Redirect: RequestHandler {
        let location: String

        func begin(_ head: RequestHead) -> RequestAction {
            .respond(ServerResponse(status: 307, headers: [("Location", location)]))
        }
    }

    @Test("a token is read from its file each time it is needed, and only from a private one")
    func tokenFiles() async throws {
        let file = try directory.write(Array("wrong\n".utf8), to: "token")
        #expect(chmod(file.text, 0o644) == 0)
        #expect(throws: Fault.self) { try Credentials.token(in: file) }
        #expect(chmod(file.text, 0o600) == 0)
        #expect(try Credentials.token(in: file) == "wrong")
        for bad in ["to ken", "\u{7F}", "a\u{0}b"] {
            try Data(bad.utf8).write(to: URL(fileURLWithPath: file.text))
            _ = chmod(file.text, 0o600)
            #expect(throws: Fault.self) { try Credentials.token(in: file) }
        }
        let server = try await BlockServer(arguments: ["--token", "right"])
        try Data("right\r\nmore".utf8).write(to: URL(fileURLWithPath: file.text))
        _ = chmod(file.text, 0o600)
        let source = try copy([1, 2, 3], blockSize: 1000)
        let destination = BlockDestination(
            ServerAccess(
                url: try ServerURL(server.url), client: HTTPClient(proxies: .none),
                credentials: Credentials(tokenFile: file)))
        _ = try await destination.upload(source, from: nil, ledger: TestLedger())
        await #expect {
            _ = try await upload(to: server, token: "nope")
        } throws: { ($0 as? Fault)?.code == .credentials }
    }

    @Test("nobody there, no such name, another protocol: each in words, each worth another try")
    func away() async throws {
        let client = HTTPClient(proxies: .none)
        let source = try copy([1, 2, 3], blockSize: 1000)
        for url in ["http://127.0.0.1:1/upload", "http://no.such.host.invalid/upload"] {
            let destination = BlockDestination(
                ServerAccess(
                    url: try ServerURL(url), client: client, credentials: Credentials()))
            await #expect {
                _ = try await destination.upload(source, from: nil, ledger: TestLedger())
            } throws: { error in
                guard let fault = error as? Fault else { return false }
                return fault.code == .unreachable && fault.isTemporary && !fault.reason.isEmpty
            }
        }
    }

    @Test(
        "Retry-After in seconds and in each of HTTP's date formats",
        arguments: [
            ("0", 0), ("7", 7), ("999999999", 86_400), ("Sun, 06 Nov 1994 08:49:47 GMT", 10),
            ("Sunday, 06-Nov-94 08:49:47 GMT", 10),
            ("Sun Nov  6 08:49:47 1994", 10), ("Sun, 06 Nov 1994 08:49:27 GMT", 0),
            ("Mon, 07 Nov 1994 08:49:37 GMT", 86_400), ("soon", nil), ("", nil),
            ("-1", nil), ("Sun, 99 Nov 1994 08:49:37 GMT", nil),
        ] as [(String, Double?)])
    func retryAfterFormats(header: String, seconds: Double?) {
        // Sun, 06 Nov 1994 08:49:37 GMT, the example of RFC 9110.
        #expect(RetryAfter.seconds(header, now: Date(timeIntervalSince1970: 784_111_777)) == seconds)
    }
}
