import Checksums
import Foundation
import IngestModel
import IngestTestSupport
import SystemIO
import Testing
import Uploading

/// A directory as a destination: what only directories can do wrong.
@Suite("Directory destination", .timeLimit(.minutes(5)))
struct DirectoryTests {
    private let directory: TemporaryDirectory
    private static let bytes = TestBytes.make(5500)

    init() throws {
        directory = try TemporaryDirectory()
        try FileManager.default.createDirectory(
            atPath: directory.path.text + "/far", withIntermediateDirectories: false)
    }

    private func destination() throws -> DirectoryDestination {
        DirectoryDestination(try directory.file("far"), step: 1000, sharesBlocks: false)
    }

    private func source(_ bytes: [UInt8] = bytes, name: String = "clip.mov", seal: UUID = UUID()) throws -> UploadSource
    {
        UploadSource(
            file: SharedDescriptor(
                try FileSystem.open(directory.write(bytes, to: "copy-\(UUID().uuidString)"), .reading)),
            seal: Seal(
                id: seal, size: ByteCount(Int64(bytes.count)),
                modified: FileTime(seconds: 1_000_000_007, nanoseconds: 5),
                sha256: nil), name: name, blockSize: ByteCount(1000), limiters: [])
    }

    private struct Stop: Error {}

    /// What a ledger holds after so many steps.
    private func stopped(after step: Int, seal: UUID) async throws -> TestLedger {
        let ledger = TestLedger { if $0 == step { throw Stop() } }
        await #expect(throws: Stop.self) {
            _ = try await destination().upload(source(seal: seal), from: nil, ledger: ledger)
        }
        return ledger
    }

    @Test("the name is free or gets a number, nothing is written over, and the time of the recording is kept")
    func names() async throws {
        try directory.write([1, 2, 3], to: "far/clip.mov")
        let receipt = try await destination().upload(source(), from: nil, ledger: TestLedger())
        #expect(receipt.url == "file://\(directory.path.text)/far/clip-2.mov" && receipt.proof == .digest)
        #expect(try directory.file("far/clip.mov").contents() == [1, 2, 3])
        let copy = try directory.file("far/clip-2.mov")
        #expect(try copy.contents() == Self.bytes)
        #expect(try FileSystem.status(of: copy).permissions & 0o600 == 0o600)
        let plain = try directory.write([1], to: "plain")
        #expect(try FileSystem.status(of: copy).permissions == FileSystem.status(of: plain).permissions)
        #expect(try FileSystem.status(of: copy).modified == FileTime(seconds: 1_000_000_007, nanoseconds: 5))
    }

    @Test("a directory that is away is waited for, and its copy goes on where it was")
    func away() async throws {
        let seal = UUID()
        let first = try await stopped(after: 5, seal: seal)
        let (far, away) = (try directory.file("far"), try directory.file("away"))
        try FileManager.default.moveItem(atPath: far.text, toPath: away.text)
        let second = TestLedger(first.current.remote)
        await #expect {
            _ = try await destination().upload(source(seal: seal), from: second.current.remote, ledger: second)
        } throws: { ($0 as? Fault)?.code == .unreachable && ($0 as? Fault)?.isTemporary == true }
        try FileManager.default.moveItem(atPath: away.text, toPath: far.text)
        _ = try await destination().upload(source(seal: seal), from: second.current.remote, ledger: second)
        #expect(try directory.files(below: "far") == ["clip.mov"])
        // Two of six steps were written down before.
        #expect(second.current.saved.count == 5)
    }

    @Test("another disk in its place gets nothing")
    func otherDisk() async throws {
        let seal = UUID()
        let other = DirectoryLedger(seal: seal, fileSize: ByteCount(5500), device: 1, part: ".ingest-x.part")
        await #expect {
            _ = try await destination().upload(source(seal: seal), from: .directory(other), ledger: TestLedger())
        } throws: { ($0 as? Fault)?.reason.contains("another disk") == true && ($0 as? Fault)?.isTemporary == true }
        #expect(try directory.files(below: "far").isEmpty)
    }

    @Test("what is read back otherwise than it was written is copied anew")
    func spoiled() async throws {
        let seal = UUID()
        let first = try await stopped(after: 6, seal: seal)
        let part = try #require(try FileManager.default.contentsOfDirectory(atPath: directory.path.text + "/far").first)
        var bytes = try directory.file("far/" + part).contents()
        bytes[500] ^= 1
        try directory.write(bytes, to: "far/" + part)
        let second = TestLedger(first.current.remote)
        let receipt = try await destination().upload(source(seal: seal), from: first.current.remote, ledger: second)
        #expect(receipt.proof == .digest && second.current.abandoned.count == 1)
        #expect(try directory.file("far/clip.mov").contents() == Self.bytes)
    }

    @Test("named and not yet told: it is found again, not copied twice")
    func namedAlready() async throws {
        let seal = UUID()
        let ledger = TestLedger()
        _ = try await destination().upload(source(seal: seal), from: nil, ledger: ledger)
        let again = TestLedger(ledger.current.remote)
        let receipt = try await destination().upload(source(seal: seal), from: ledger.current.remote, ledger: again)
        #expect(receipt.proof == .digest && again.current.saved.isEmpty)
        #expect(try directory.files(below: "far") == ["clip.mov"])
    }

    @Test("a file where a directory should be, and one that nobody may write to")
    func refused() async throws {
        let file = DirectoryDestination(try directory.write([1], to: "file"))
        await #expect {
            _ = try await file.upload(source(), from: nil, ledger: TestLedger())
        } throws: { ($0 as? Fault)?.code == .refused && ($0 as? Fault)?.isTemporary == false }
    }
}
