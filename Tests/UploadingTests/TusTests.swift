import Checksums
import Foundation
import HTTPClient
import IngestModel
import IngestTestSupport
import SystemIO
import Testing
import Uploading

/// tus 1.0 against a server that was written independently, and what servers, proxies and links do wrong.
@Suite("tus destination", .timeLimit(.minutes(5)))
struct TusTests {
    private let directory: TemporaryDirectory
    private static let bytes = TestBytes.make(8500)

    init() throws {
        directory = try TemporaryDirectory()
    }

    private func destination(_ server: TusServer, token: String = "") throws -> TusDestination {
        TusDestination(
            ServerAccess(
                url: try ServerURL(server.url), client: HTTPClient(proxies: .none),
                credentials: Credentials(fixedToken: Secret(token))), checkedRequest: ByteCount(1000))
    }

    private func source(_ bytes: [UInt8], name: String = "5-clip.mov", digest: SHA256Digest? = nil) throws
        -> UploadSource
    {
        UploadSource(
            file: SharedDescriptor(
                try FileSystem.open(directory.write(bytes, to: "copy-\(UUID().uuidString)"), .reading)),
            seal: Seal(
                id: UUID(), size: ByteCount(Int64(bytes.count)), modified: FileTime(seconds: 1, nanoseconds: 1),
                sha256: digest), name: name, blockSize: ByteCount(1000), limiters: [])
    }

    /// Uploads as the pipeline does: again after every fault that may pass, with the source that is there.
    private func upload(
        to server: TusServer, ledger: TestLedger = TestLedger(), tries: Int = 6
    ) async throws -> (receipt: Receipt, faults: [Fault]) {
        let (source, destination) = (try source(Self.bytes), try destination(server))
        var faults: [Fault] = []
        while true {
            do {
                let receipt = try await destination.upload(source, from: ledger.current.remote, ledger: ledger)
                return (receipt, faults)
            } catch let fault as Fault where fault.isTemporary && faults.count < tries {
                faults.append(fault)
            }
        }
    }

    @Test("without checksums one request carries all of it; size is what then proves it")
    func plain() async throws {
        let server = try await TusServer()
        let (receipt, faults) = try await upload(to: server)
        #expect(receipt.proof == .size && faults.isEmpty)
        #expect(try server.requests("PATCH").map { $0.bytes } == [8500])
        #expect(try server.completed().map { $0.sha256 } == [SHA256.digest(of: Self.bytes).hex])
        #expect(try server.requests("OPTIONS").count == 1)
    }

    @Test(
        "with checksums every part is proven; the strongest that is offered is taken",
        arguments: ["sha1", "md5,sha1,sha256"])
    func checksums(offered: String) async throws {
        let server = try await TusServer(arguments: ["--checksum", offered])
        let (receipt, _) = try await upload(to: server)
        #expect(receipt.proof == .parts)
        let sums = try server.requests("PATCH").map { $0.checksum ?? "" }
        #expect(sums.count == 9 && sums.allSatisfy { $0.hasPrefix(offered == "sha1" ? "sha1 " : "sha256 ") })
    }

    @Test("a digest of the whole is believed when it is right; when it is wrong all is sent again, and then no more")
    func digests() async throws {
        let right = try await upload(to: try await TusServer(arguments: ["--digest", "right"]))
        #expect(right.receipt.proof == .digest && right.receipt.sha256 == SHA256.digest(of: Self.bytes))
        let server = try await TusServer(arguments: ["--digest", "wrong"])
        await #expect {
            _ = try await upload(to: server)
        } throws: { ($0 as? Fault)?.code == .receiptMismatch }
        #expect(try server.requests("POST").count == 3)
    }

    @Test(
        "name, kind and digest go along; names of any kind arrive", arguments: ["clip.MOV", "ün\n,\"日本 a=b.mp4", "x"])
    func metadata(name: String) async throws {
        let server = try await TusServer()
        let digest = SHA256.digest(of: Self.bytes)
        _ = try await destination(server).upload(
            source(Self.bytes, name: name, digest: digest), from: nil, ledger: TestLedger())
        let metadata = try #require(server.requests("POST").first?.metadata)
        #expect(metadata["filename"] == name && metadata["sha256"] == digest.hex)
        let types = ["clip.MOV": "video/quicktime", "x": "application/octet-stream"]
        #expect(metadata["filetype"] == types[name] ?? "video/mp4")
    }

    @Test(
        "a server that answers no OPTIONS, and one that names addresses by their path",
        arguments: ["--no-options", "--relative"])
    func core(argument: String) async throws {
        let server = try await TusServer(arguments: [argument])
        #expect(try await upload(to: server).receipt.url.hasPrefix(server.url))
    }

    @Test("a file that is too large for the server is not begun")
    func tooLarge() async throws {
        let server = try await TusServer(arguments: ["--largest", "8499"])
        await #expect {
            _ = try await upload(to: server)
        } throws: { ($0 as? Fault)?.code == .tooLarge && ($0 as? Fault)?.isTemporary == false }
        #expect(try server.requests("POST").isEmpty)
    }

    @Test(
        "each fault: the file arrives whole, from one creation, and nothing that arrived is sent again",
        arguments: [
            (["500@PATCH"], 1), (["503@PATCH"], 1), (["429@PATCH"], 1), (["423@PATCH"], 1), (["507@PATCH"], 1),
            (["500@OPTIONS"], 0), (["500@PATCH", "500@HEAD", "500@HEAD"], 3), (["409@PATCH"], 0), (["460@PATCH"], 0),
            (["400@PATCH"], 0), (["401@PATCH"], 0), (["403@HEAD", "lost@PATCH"], 1), (["lost@PATCH"], 1),
            (["cut:3000@PATCH"], 1), (["cut:3000@PATCH", "cut:2000@PATCH", "lost@PATCH"], 3), (["take:3000@PATCH"], 0),
            (["take:3000@PATCH", "lose:1000@PATCH"], 0), (["blank@PATCH"], 0), (["cut:10@PATCH", "blank@HEAD"], 1),
            (["page@PATCH"], 0), (["308@PATCH"], 0), (["cut:10@PATCH", "308@HEAD"], 1), (["large:5000@PATCH"], 0),
            (["nopatch@PATCH"], 0),
        ])
    func faults(_ faults: [String], expected: Int) async throws {
        let server = try await TusServer(faults)
        let (_, met) = try await upload(to: server)
        // libcurl itself sends a request again that broke off on a connection which it had used before.
        let mayBeHidden = faults.contains { $0.hasPrefix("lost") || $0.hasPrefix("cut") }
        #expect(mayBeHidden ? met.count <= expected : met.count == expected, "\(met.map(\.reason))")
        #expect(try server.completed().map { $0.sha256 } == [SHA256.digest(of: Self.bytes).hex])
        #expect(try server.requests("POST").filter { $0.created != nil }.count == 1)
        let kept = try (server.requests("PATCH") + server.requests("POST")).filter { [0, 204].contains($0.status) }
            .reduce(0) { $0 + ($1.bytes ?? 0) }
        #expect(kept == 8500 + (faults.contains("lose:1000@PATCH") ? 1000 : 0))
    }

    @Test(
        "an upload that is gone is begun anew, and the old one is given up",
        arguments: ["gone@PATCH", "404@PATCH", "410@PATCH"])
    func gone(fault: String) async throws {
        let server = try await TusServer(["take:3000@PATCH#1", fault])
        let ledger = TestLedger()
        let (_, met) = try await upload(to: server, ledger: ledger)
        #expect(met.isEmpty && ledger.current.abandoned.count == 1)
        #expect(try server.completed().map { $0.sha256 } == [SHA256.digest(of: Self.bytes).hex])
    }

    @Test("a creation whose answer is lost is made again")
    func lostCreation() async throws {
        let server = try await TusServer(["lost@POST"])
        let (_, met) = try await upload(to: server)
        #expect(met.count <= 1)
        #expect(try server.completed().count == 1)
    }

    @Test(
        "what cannot be mended fails in words",
        arguments: [
            (["412@POST"], Fault.Code.refused, "another version"), (["blank@POST"], .invalidAnswer, "named no address"),
            (["http@POST"], .invalidAnswer, "named no address"), (["302@PATCH"], .redirected, "redirects (302)"),
            (["large:1000@PATCH"], .tooLarge, "refuses even"),
            (["460@PATCH", "460@PATCH", "460@PATCH", "460@PATCH", "460@PATCH"], .damagedOnTheWay, "5 times"),
            (["409@PATCH", "409@PATCH", "409@PATCH", "409@PATCH"], .conflict, "offset"),
            (["404@PATCH", "404@PATCH", "404@PATCH"], .forgotten, "again and again"),
            (["401@PATCH", "401@PATCH"], .credentials, "does not accept the token"),
        ])
    func fatal(_ faults: [String], code: Fault.Code, words: String) async throws {
        let server = try await TusServer(faults)
        await #expect {
            _ = try await upload(to: server)
        } throws: { error in
            guard let fault = error as? Fault else { return false }
            return fault.code == code && fault.reason.contains(words) && !fault.isTemporary
        }
        #expect(try server.completed().isEmpty)
    }

    @Test("what arrived of a request that broke off is no proof, though requests carry checksums")
    func unproven() async throws {
        let server = try await TusServer(["cut:300@PATCH#3"], arguments: ["--checksum", "sha256"])
        #expect(try await upload(to: server).receipt.proof == .size)
    }
}
