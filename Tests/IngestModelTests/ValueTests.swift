import IngestModel
import Testing

@Suite("Values")
struct ValueTests {
    @Test(
        "sizes are read as the contract writes them",
        arguments: [
            ("500k", 500_000), ("1M", 1_000_000), ("1MiB", 1_048_576), ("2.5G", 2_500_000_000), ("0", 0), ("7", 7),
            ("1.5KiB", 1536), ("3KB", 3000), ("1.0000001k", 1000), ("8796093022207MiB", 9_223_372_036_853_727_232),
        ])
    func sizes(text: String, value: Int64) {
        #expect(ByteCount(argument: text)?.value == value)
    }

    @Test(
        "what is no size is refused",
        arguments: [
            "", "M", "-1", "+1", "1.", ".5", "1..5", "1 M", "1m", "0x10", "1MIB", "9223372036854775808",
            "8796093022208MiB",
        ])
    func noSizes(text: String) {
        #expect(ByteCount(argument: text) == nil)
    }

    @Test("sizes and numbers are written without surprises")
    func writing() {
        #expect(ByteCount(59_537_097).inMebibytes == "56.78MB")
        #expect(ByteCount(0).inMebibytes == "0.00MB")
        #expect(ByteCount(1023).forReading == "1023 B")
        #expect(ByteCount(3_565_158).forReading == "3.4 MiB")
        #expect(ByteCount(1_048_576).forReading == "1.0 MiB")
        #expect(ByteCount.gibibytes(5000).forReading == "4.9 TiB")
        #expect(Decimal.fixed(-0.004, places: 2) == "0.00")
        #expect(Decimal.fixed(-1.239, places: 2) == "-1.24")
        #expect(Decimal.fixed(9.999, places: 2) == "10.00")
        #expect(Decimal.fixed(.nan, places: 1) == "0.0")
    }

    @Test("hexadecimal text and digests survive the way there and back")
    func hexadecimal() throws {
        #expect(Hex.text([0, 15, 255]) == "000fff")
        #expect(Hex.bytes("000FfF") == [0, 15, 255])
        #expect(Hex.bytes("abc") == nil)
        #expect(Hex.bytes("zz") == nil)
        #expect(CRC32Value(hex: "cbf43926")?.value == 0xCBF4_3926)
        #expect(CRC32Value(0x1F).hex == "0000001f")
        #expect(CRC32Value(hex: "1f") == nil)
        #expect(SHA256Digest(hex: "00") == nil)
    }

    @Test("nothing in a text can steer a terminal")
    func printable() {
        #expect("a\u{1B}[31mb\r\nc\u{7F}\u{9B}d\u{202E}e".printable == "a [31mb c d e")
        #expect("日本 ünï".printable == "日本 ünï")
        #expect("\n\t".printable == "")
        #expect("tail\n".printable == "tail")
    }

    @Test("a rate follows what happens and forgets what was")
    func rateMeter() throws {
        var meter = RateMeter(memory: 5)
        #expect(meter.rate == nil)
        for second in 0...20 { meter.note(Double(second) * 100, at: Double(second)) }
        #expect(abs(try #require(meter.rate) - 100) < 1)
        for second in 21...60 { meter.note(2000 + Double(second - 20) * 10, at: Double(second)) }
        #expect(abs(try #require(meter.rate) - 10) < 1)
        // A count that goes back (a rewind) is no negative rate.
        meter.note(0, at: 61)
        #expect(try #require(meter.rate) >= 0)
    }

    @Test("waiting doubles with jitter, is bounded, and never undercuts what the far side demands")
    func retryPolicy() {
        var generator = SeededGenerator(state: 1)
        let policy = RetryPolicy.standard
        for (attempt, bound) in [(1, 0.5), (2, 1.0), (3, 2.0), (7, 32.0), (8, 60.0), (1000, 60.0)] {
            let delays = (0..<500).map { _ in policy.delay(afterFailure: attempt, demanded: nil, using: &generator) }
            #expect(delays.allSatisfy { (0...bound).contains($0) })
            // Full jitter: anything from nothing to the bound.
            #expect(delays.contains { $0 < bound / 10 } && delays.contains { $0 > bound * 0.9 })
        }
        #expect((0..<500).allSatisfy { _ in policy.delay(afterFailure: 1, demanded: 7, using: &generator) == 7 })
        #expect((0..<500).allSatisfy { _ in policy.delay(afterFailure: 9, demanded: 7, using: &generator) >= 7 })
    }

    /// SplitMix64: the same numbers every time.
    private struct SeededGenerator: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var mixed = state
            mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
            return mixed ^ (mixed >> 31)
        }
    }
}

@Suite("Names")
struct NameTests {
    @Test("file names are bytes that name a file")
    func fileNames() {
        #expect(FileName("") == nil)
        #expect(FileName(".") == nil)
        #expect(FileName("..") == nil)
        #expect(FileName("a/b") == nil)
        #expect(FileName(bytes: [97, 0]) == nil)
        #expect(FileName("clip.tar.gz")?.fileExtension == Array("gz".utf8))
        #expect(FileName("clip.tar.gz")?.stem == Array("clip.tar".utf8))
        #expect(FileName(".hidden")?.fileExtension == [])
        #expect(FileName("dot.")?.fileExtension == [])
    }

    @Test("paths keep every byte, through JSON too")
    func paths() throws {
        let odd = try #require(FilePath(bytes: Array("/a/".utf8) + [0xFF, 0xFE] + Array(".mov".utf8)))
        let request = MediaRequest.probe(input: odd, settings: CompressSettings())
        #expect(try JSONRound.trip(request) == request)
        #expect(FilePath("/a/b//")?.name?.text == "b")
        #expect(FilePath("/a/b//")?.parent.text == "/a")
        #expect(FilePath("b")?.parent.text == ".")
        #expect(FilePath("/")?.name == nil)
        #expect(FilePath("x/../y")?.name?.text == "y")
        let working = try #require(FilePath("/home/u"))
        #expect(FilePath("./x//y.mov")?.absolute(in: working).text == "/home/u/x/y.mov")
        #expect(FilePath("/x")?.absolute(in: working).text == "/x")
        #expect(FilePath("") == nil)
        #expect(FilePath.root.appending(try #require(FileName("a"))).text == "/a")
    }

    @Test("cached copies are named by time, with the container's extension and an ordinal before it")
    func cachedNames() throws {
        let capture = try #require(FileName("capture.mov"))
        #expect(CachedName.make(seconds: 1_700_000_000, original: capture).text == "1700000000-capture.mov")
        #expect(CachedName.make(seconds: 5, original: capture, newExtension: "mp4").text == "5-capture.mp4")
        #expect(
            CachedName.make(seconds: 5, original: capture, newExtension: "mp4", ordinal: 3).text == "5-capture-3.mp4")
        let bare = try #require(FileName("capture"))
        #expect(CachedName.make(seconds: 5, original: bare, ordinal: 2).text == "5-capture-2")
    }

    @Test("no finished copy has the name of another's unfinished one")
    func partNames() throws {
        func made(_ name: String, _ container: String? = nil, ordinal: Int = 1) throws -> String {
            CachedName.make(
                seconds: 5, original: try #require(FileName(name)), newExtension: container, ordinal: ordinal
            ).text
        }
        #expect(try made("take.part") == "5-take_part")
        #expect(try made("take.part", ordinal: 2) == "5-take-2_part")
        #expect(try made(".part") == "5-_part")
        #expect(try made("take.part", "mp4") == "5-take.mp4")
        #expect(try made("take.mp4.part.part") == "5-take.mp4.part_part")
        let long = CachedName.make(
            seconds: 1_700_000_000, original: try #require(FileName(String(repeating: "x", count: 234) + ".part.mov.x"))
        )
        #expect(!long.text.hasSuffix(".part"))
        #expect(CachedName.whole(ofUnfinished: try #require(FileName("5-a.mov.part")))?.text == "5-a.mov")
        #expect(CachedName.whole(ofUnfinished: try #require(FileName("5-a.mov"))) == nil)
    }

    @Test("a name that is too long is cut in its stem, between characters, and leaves room for the part suffix")
    func longNames() throws {
        let long = try #require(FileName(String(repeating: "日", count: 83) + ".mov"))
        let made = CachedName.make(seconds: 1_700_000_000, original: long, ordinal: 2)
        #expect(made.bytes.count <= 250)
        #expect(made.bytes.count > 246)
        #expect(made.text.hasPrefix("1700000000-日"))
        #expect(made.text.hasSuffix("日-2.mov"))
        #expect(String(validating: made.bytes, as: UTF8.self) != nil)
        let notText = try #require(FileName(bytes: [UInt8](repeating: 0xFF, count: 250) + Array(".mov".utf8)))
        #expect(CachedName.make(seconds: 1_700_000_000, original: notText).bytes.count == 250)
        let allExtension = try #require(FileName("a." + String(repeating: "x", count: 250)))
        #expect(CachedName.make(seconds: 1_700_000_000, original: allExtension, ordinal: 2).bytes.count <= 250)
    }

    @Test(
        "a fingerprint's pieces are the first, the last and eight between, and never overlap",
        arguments: [
            0, 1, 65_536, 655_360, 655_361, 1_000_003, 1 << 33,
        ] as [Int64])
    func fingerprintPieces(size: Int64) {
        let pieces = Fingerprint.pieces(of: ByteCount(size))
        if size <= 655_360 {
            #expect(pieces == (size == 0 ? [] : [0..<size]))
            return
        }
        #expect(pieces.count == 10)
        #expect(pieces.first == 0..<65_536)
        #expect(pieces.last == (size - 65_536)..<size)
        for (left, right) in zip(pieces, pieces.dropFirst()) { #expect(left.upperBound <= right.lowerBound) }
    }
}

@Suite("Destinations")
struct DestinationTests {
    @Test(
        "what can be a destination",
        arguments: [
            ("block+https://host/path", "https://host/path"), ("block+http://HOST:8080", "http://host:8080/"),
            ("https://host/a?b=c#frag", "https://host/a?b=c"), ("http://[::1]:9/x", "http://[::1]:9/x"),
            ("http://host/ä", "http://host/%C3%A4"), ("tus+https://host/files/", "https://host/files/"),
        ])
    func valid(argument: String, url: String) throws {
        let address = try DestinationAddress(argument: argument)
        #expect(address.url?.text == url)
        #expect(address.text == argument)
        let kind =
            switch address {
            case .block: "block"
            case .tus: "tus"
            case .server: "http"
            case .directory: "file"
            case .builtIn, .named: ""
            }
        #expect(!kind.isEmpty && argument.hasPrefix(kind))
    }

    @Test(
        "what cannot",
        arguments: [
            "gopher://x/", "host/path", "", "http://", "http://a b/", "http://host:0/", "http://host:99999/",
            "http://ho st/",
            "http://host/\u{1B}[2J", "block+ftp://x/", "http://[::1", "s3://bucket/x", "http://host:x/",
        ])
    func invalid(argument: String) {
        #expect(throws: DestinationAddress.Problem.self) { try DestinationAddress(argument: argument) }
    }

    @Test("a directory's URL and its path are each the other's", arguments: ["/mnt/nas", "/a b/ü%", "/"])
    func directories(path: String) throws {
        let path = try #require(FilePath(path))
        let address = try DestinationAddress(argument: path.fileURL)
        guard case .directory(let read) = address else { throw Wrong() }
        #expect(read == path && address.text == path.fileURL)
    }

    @Test("a password in a URL is refused and not repeated")
    func secrets() {
        #expect {
            try DestinationAddress(argument: "block+http://user:secret@host/x")
        } throws: { error in
            guard let problem = error as? DestinationAddress.Problem else { return false }
            return !problem.reason.contains("secret") && !problem.reason.contains("user:")
        }
    }

    @Test("an origin is scheme, host and port")
    func origins() throws {
        #expect(try ServerURL("https://Host/a").origin == ServerURL("https://host:443/b").origin)
        #expect(try ServerURL("https://host/a").origin != ServerURL("http://host/a").origin)
    }

    private struct Wrong: Error {}
}
