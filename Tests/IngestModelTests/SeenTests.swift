import IngestModel
import Testing

/// Whether a file is a recording that was there before.
@Suite("What is known")
struct SeenTests {
    private static let large: Int64 = 10 * Fingerprint.pieceLength + 1

    private static func identity(
        size: Int64 = large, modified: Int64 = 5, print: UInt8 = 1, digest: UInt8? = nil, inode: UInt64 = 2
    ) throws -> RecordingIdentity {
        RecordingIdentity(
            device: 1, inode: inode, size: ByteCount(size), modified: FileTime(seconds: modified, nanoseconds: 0),
            fingerprint: try #require(SHA256Digest(bytes: [UInt8](repeating: print, count: 32))),
            sha256: try digest.map { try #require(SHA256Digest(bytes: [UInt8](repeating: $0, count: 32))) })
    }

    @Test("by size and pieces first, by time, by all its bytes where those leave a doubt")
    func compare() throws {
        let known = try Self.identity(digest: 8)
        #expect(Acquaintance.compare(try Self.identity(size: Self.large + 1), with: known) == .stranger)
        #expect(Acquaintance.compare(try Self.identity(print: 2), with: known) == .stranger)
        // Renamed, or on another disk with its time.
        #expect(Acquaintance.compare(try Self.identity(inode: 9), with: known) == .known)
        // Touched or copied, or edited between the pieces.
        let touched = try Self.identity(modified: 6)
        #expect(Acquaintance.compare(touched, with: known) == .needsDigest)
        #expect(Acquaintance.compare(try Self.identity(modified: 6, digest: 8), with: known) == .known)
        #expect(Acquaintance.compare(try Self.identity(modified: 6, digest: 9), with: known) == .stranger)
        #expect(Acquaintance.compare(touched, with: try Self.identity()) == .stranger)
    }

    @Test("small files are read whole anyway")
    func small() throws {
        let size = 10 * Fingerprint.pieceLength
        #expect(Fingerprint.coversAll(of: ByteCount(size)))
        #expect(
            Acquaintance.compare(try Self.identity(size: size, modified: 6), with: try Self.identity(size: size))
                == .known)
    }

    @Test("a recording that fails stays is tried for about a day, at growing intervals")
    func day() {
        var (passed, tries, last) = (0.0, 0, 0.0)
        while let delay = RetryPolicy.watchedDelay(afterFailure: tries + 1) {
            #expect(delay >= last && delay <= 7200)
            (passed, tries, last) = (passed + delay, tries + 1, delay)
            if tries > 1000 { break }
        }
        #expect(RetryPolicy.watchedDelay(afterFailure: 1) == 60)
        #expect((86_400...(86_400 + 7200)).contains(passed) && tries < 30, "\(passed) \(tries)")
    }
}
