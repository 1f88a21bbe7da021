import Checksums
import IngestModel
import IngestTestSupport
import SystemIO
import Testing

@Suite("Checksums")
struct ChecksumTests {
    @Test(
        "CRC-32 is that of zlib and ISO-HDLC",
        arguments: [("", "00000000"), ("123456789", "cbf43926"), ("a", "e8b7be43")])
    func crc(text: String, hex: String) {
        var crc = CRC32()
        for byte in text.utf8 { crc.update([byte].span) }
        #expect(crc.value.hex == hex)
    }

    @Test(
        "SHA-256 is that of FIPS 180-4",
        arguments: [
            ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        ])
    func sha(text: String, hex: String) {
        #expect(SHA256.digest(of: Array(text.utf8)).hex == hex)
    }

    @Test("secrets are compared whole")
    func secrets() {
        #expect(Secret.isEqual([1, 2], [1, 2]))
        #expect(!Secret.isEqual([1, 2], [1, 3]))
        #expect(!Secret.isEqual([1, 2], [1, 2, 3]))
        #expect(Secret.isEqual([], []))
        #expect(Secret.randomBytes(count: 16) != Secret.randomBytes(count: 16))
    }

    @Test("a range of a file has the CRC of its bytes, or none where the file ends early")
    func ranges() throws {
        let directory = try TemporaryDirectory()
        let bytes = TestBytes.make(2_500_000)
        let file = try FileSystem.open(directory.write(bytes, to: "f"), .reading)
        var crc = CRC32()
        crc.update(Array(bytes[1000..<2_400_000]).span)
        #expect(try CRC32.value(of: 1000..<2_400_000, in: file) == crc.value)
        #expect(try CRC32.value(of: 0..<2_500_001, in: file) == nil)
        #expect(try CRC32.value(of: 5..<5, in: file) == CRC32Value(0))
    }

    @Test("a digest that follows a writer is that of the whole, however it was told to go on")
    func following() throws {
        let directory = try TemporaryDirectory()
        let bytes = TestBytes.make(3_333_333)
        let file = SharedDescriptor(try FileSystem.open(directory.write(bytes, to: "f"), .reading))
        let digest = FollowingDigest(of: file)
        for offset in [1, 5, 1_048_576, 1_048_577, 4, 3_000_000] { digest.advance(to: Int64(offset)) }
        #expect(try digest.finish(at: ByteCount(3_333_333)) == SHA256.digest(of: bytes))
    }

    @Test("a file that is shorter than it was is noticed; a digest that is given up ends")
    func shorter() throws {
        let directory = try TemporaryDirectory()
        let file = SharedDescriptor(try FileSystem.open(directory.write([1, 2, 3], to: "f"), .reading))
        #expect(throws: FileShorterThanExpected.self) { try FollowingDigest(of: file).finish(at: ByteCount(4)) }
        let cancelled = FollowingDigest(of: file)
        cancelled.cancel()
        #expect(throws: CancellationError.self) { try cancelled.finish(at: ByteCount(3)) }
    }
}
