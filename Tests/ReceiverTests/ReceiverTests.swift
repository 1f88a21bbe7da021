import Checksums
import Diagnostics
import Foundation
import HTTPClient
import HTTPServer
import IngestModel
import IngestTestSupport
import Receiver
import SQLite
import SystemIO
import Testing

/// The receiver, driven by hand over HTTP.
@Suite("Receiver", .timeLimit(.minutes(5)))
struct ReceiverTests {
    private let directory: TemporaryDirectory
    private let client = HTTPClient(proxies: .none)

    init() throws {
        directory = try TemporaryDirectory()
    }

    private func start(_ settings: ReceiverSettings = ReceiverSettings()) throws -> Receiver {
        try Receiver(
            store: directory.file("store"), listen: ListenAddress(host: "127.0.0.1", port: 0), settings: settings,
            log: .none)
    }

    /// What a request of the protocol says; fields that are `nil` are left out.
    private struct Form {
        var sequence: Int64
        var size: Int64
        var blockSize: Int64 = 1000
        var upload: String?
        var block: [UInt8] = []
        var crc: String?
        var suffix: String? = "bin"
        var token: String? = ""
        var key: String?
        var name = "clip.bin"
        var blockFirst = false
    }

    private struct Reply {
        let status: Int
        let answer: BlockAnswer?
        let refusal: BlockRefusal?
    }

    private func crc(_ bytes: [UInt8]) -> String {
        var crc = CRC32()
        crc.update(bytes.span)
        return crc.value.hex
    }

    private func post(_ form: Form, to receiver: Receiver, extra: [(name: String, value: String)] = []) async throws
        -> Reply
    {
        var fields: [(name: String, value: String?)] = [
            ("sequenceNo", "\(form.sequence)"), ("blockSize", "\(form.blockSize)"), ("totFileSize", "\(form.size)"),
            ("suffix", form.suffix), ("token", form.token),
        ]
        if form.sequence > 0 {
            fields += [("upToken", form.upload), ("crc", form.crc ?? crc(form.block))]
        }
        var named = fields.compactMap { field in field.value.map { (name: field.name, value: $0) } }
        for field in extra {
            named.removeAll { $0.name == field.name }
            named.append(field)
        }
        var body: [UInt8]
        let boundary = "test-boundary"
        if form.blockFirst {
            let first = MultipartForm(fields: [], fileField: "block", fileName: form.name, boundary: boundary)
            let rest = MultipartForm(fields: named, fileField: "unused", fileName: "", boundary: boundary)
            body = first.head + form.block + Array("\r\n".utf8) + rest.head + rest.tail
        } else {
            let whole = MultipartForm(fields: named, fileField: "block", fileName: form.name, boundary: boundary)
            body = whole.head + form.block + whole.tail
        }
        var headers = [(name: "Content-Type", value: "multipart/form-data; boundary=\(boundary)")]
        if let key = form.key { headers.append(("Idempotency-Key", key)) }
        let response = try await client.send(
            HTTPRequest(.post, "http://\(receiver.address)/upload", headers: headers, body: HTTPBody([.bytes(body)])))
        return Reply(
            status: response.status, answer: BlockJSON.answer(in: response.body),
            refusal: BlockJSON.refusal(in: response.body))
    }

    private static let data = TestBytes.make(2500)

    private func block(_ number: Int64, of bytes: [UInt8] = Self.data, _ upload: String, blockSize: Int64 = 1000)
        -> Form
    {
        let start = Int((number - 1) * blockSize)
        return Form(
            sequence: number, size: Int64(bytes.count), blockSize: blockSize, upload: upload,
            block: Array(bytes[start..<min(bytes.count, start + Int(blockSize))]))
    }

    private func open(_ receiver: Receiver, size: Int64 = 2500, key: String? = nil) async throws -> String {
        let reply = try await post(Form(sequence: 0, size: size, key: key), to: receiver)
        return try #require(reply.answer?.uploadToken)
    }

    /// Files in the store that clients are given.
    private func stored() throws -> [String] { try directory.files(below: "store").filter { !$0.hasPrefix(".ingest") } }

    @Test("blocks become the file, and the file can be fetched whole and in ranges")
    func straight() async throws {
        let receiver = try start()
        let upload = try await open(receiver)
        #expect(try await post(block(1, upload), to: receiver).answer?.receivedCount == 1)
        #expect(try await post(block(2, upload), to: receiver).answer?.receivedCount == 2)
        let last = try await post(block(3, upload), to: receiver)
        let url = try #require(last.answer?.fileURL)
        #expect(last.answer?.size == 2500)
        #expect(last.answer?.sha256 == SHA256.digest(of: Self.data).hex)
        let name = try #require(try stored().first)
        #expect(try directory.file("store/" + name).contents() == Self.data)
        #expect(try FileSystem.status(of: directory.file("store/" + name)).permissions == 0o600)
        let whole = try await client.send(HTTPRequest(.get, url))
        #expect(whole.body == Self.data && whole.header("X-Content-Type-Options") == "nosniff")
        #expect(whole.header("Content-Disposition") == "attachment")
        let part = try await client.send(HTTPRequest(.get, url, headers: [("Range", "bytes=10-19")]))
        #expect(part.status == 206 && part.body == Array(Self.data[10..<20]))
        #expect(part.header("Content-Range") == "bytes 10-19/2500")
        let beyond = try await client.send(HTTPRequest(.get, url, headers: [("Range", "bytes=2500-")]))
        #expect(beyond.status == 416)
        let head = try await client.send(HTTPRequest(.head, url))
        #expect(head.status == 200 && head.header("Content-Length") == "2500" && head.body.isEmpty)
    }

    @Test("without a token a finished file's name cannot be guessed")
    func unguessableNames() async throws {
        let receiver = try start()
        let upload = try await open(receiver, size: 5)
        let form = Form(sequence: 1, size: 5, upload: upload, block: Array("12345".utf8))
        _ = try await post(form, to: receiver)
        let name = try #require(try stored().first)
        #expect(name.wholeMatch(of: /clip-[0-9a-f]{32}\.bin/) != nil)
        let guess = try await client.send(HTTPRequest(.get, "http://\(receiver.address)/received/clip.bin"))
        #expect(guess.status == 404)
    }

    @Test("parts in any order")
    func anyOrder() async throws {
        let receiver = try start()
        var opening = Form(sequence: 0, size: 2500)
        opening.blockFirst = true
        let upload = try #require(try await post(opening, to: receiver).answer?.uploadToken)
        for number in 1...3 as ClosedRange<Int64> {
            var form = block(number, upload)
            form.blockFirst = true
            #expect(try await post(form, to: receiver).status == 200)
        }
        #expect(try stored().count == 1)
    }

    @Test("a block that comes again gets the same answer; the last one the same URL")
    func repeats() async throws {
        let receiver = try start()
        let upload = try await open(receiver)
        for number in [1, 1, 2, 1, 2, 3] as [Int64] {
            #expect(try await post(block(number, upload), to: receiver).status == 200)
        }
        let first = try await post(block(3, upload), to: receiver).answer?.fileURL
        let again = try await post(block(3, upload), to: receiver)
        #expect(again.answer?.fileURL == first && again.answer?.sha256 != nil)
        #expect(try await post(block(1, upload), to: receiver).answer?.fileURL == nil)
        #expect(try stored().count == 1)
    }

    @Test("an opening under the same key is the same upload, before and after it is complete")
    func idempotency() async throws {
        let receiver = try start()
        let upload = try await open(receiver, key: "k")
        _ = try await post(block(1, upload), to: receiver)
        let again = try await post(Form(sequence: 0, size: 2500, key: "k"), to: receiver)
        #expect(again.answer?.uploadToken == upload && again.answer?.receivedCount == 1)
        for number in [2, 3] as [Int64] { _ = try await post(block(number, upload), to: receiver) }
        #expect(try await post(Form(sequence: 0, size: 2500, key: "k"), to: receiver).answer?.fileURL != nil)
        // Another size, block size or key is another upload.
        #expect(try await post(Form(sequence: 0, size: 2501, key: "k"), to: receiver).answer?.uploadToken != upload)
        #expect(
            try await post(Form(sequence: 0, size: 2500, blockSize: 500, key: "k"), to: receiver).answer?.uploadToken
                != upload)
        #expect(try await post(Form(sequence: 0, size: 2500, key: "l"), to: receiver).answer?.uploadToken != upload)
        #expect(try await post(Form(sequence: 0, size: 2500), to: receiver).answer?.uploadToken != upload)
    }

    @Test("an empty file is complete with its opening, once")
    func empty() async throws {
        let receiver = try start()
        let reply = try await post(Form(sequence: 0, size: 0, key: "e"), to: receiver)
        #expect(reply.answer?.fileURL != nil && reply.answer?.uploadToken != nil && reply.answer?.size == 0)
        #expect(reply.answer?.sha256 == SHA256.digest(of: []).hex)
        let again = try await post(Form(sequence: 0, size: 0, key: "e"), to: receiver)
        #expect(again.answer?.fileURL == reply.answer?.fileURL)
        #expect(try stored().count == 1)
    }

    @Test("refusals by the protocol's table")
    func refusals() async throws {
        let receiver = try start()
        let upload = try await open(receiver)
        func expect(_ form: Form, _ status: Int, _ code: String, extra: [(name: String, value: String)] = [])
            async throws
        {
            let reply = try await post(form, to: receiver, extra: extra)
            #expect(reply.status == status && reply.refusal?.code == code, "\(form) \(extra)")
        }
        let early = try await post(block(3, upload), to: receiver)
        #expect(early.status == 409 && early.refusal?.code == "sequence" && early.refusal?.expectedSequenceNo == 1)
        var form = block(1, upload)
        form.crc = "00000000"
        try await expect(form, 400, "crc")
        try await expect(block(1, "../../etc/passwd"), 404, "unknownToken")
        for block in [Array(Self.data[0..<999]), Array(Self.data[0..<1001]), []] {
            form = self.block(1, upload)
            form.block = block
            try await expect(form, 400, "length")
        }
        #expect(try await post(block(1, upload), to: receiver).status == 200)
        form = block(1, upload)
        form.block = TestBytes.make(1000, seed: 9)
        try await expect(form, 409, "changed")
        for (name, value) in [
            ("sequenceNo", "x"), ("sequenceNo", "-1"), ("sequenceNo", "4"), ("sequenceNo", ""), ("blockSize", "0"),
            ("blockSize", "999"), ("blockSize", "1073741825"), ("totFileSize", "-1"), ("totFileSize", "2499"),
            ("crc", "xyz"),
            ("crc", ""), ("totFileSize", "99999999999999999999"),
        ] {
            try await expect(block(2, upload), 400, "field", extra: [(name, value)])
        }
        var missing = block(2, upload)
        missing.upload = nil
        try await expect(missing, 400, "field")
        var opening = Form(sequence: 0, size: 10)
        opening.block = [1]
        try await expect(opening, 400, "length")
        // Nothing of all that did any harm.
        #expect(try await post(block(2, upload), to: receiver).answer?.receivedCount == 2)
    }

    @Test(
        "what is no form at all is refused",
        arguments: [
            ("text/plain", "hello"), ("multipart/form-data", "x"), ("multipart/form-data; boundary=B", "--B\r\n"),
            ("multipart/form-data; boundary=B", ""),
        ])
    func noForms(type: String, body: String) async throws {
        let receiver = try start()
        let response = try await client.send(
            HTTPRequest(
                .post, "http://\(receiver.address)/upload", headers: [("Content-Type", type)],
                body: HTTPBody([.bytes(Array(body.utf8))])))
        #expect(response.status == 400)
        #expect(BlockJSON.refusal(in: response.body)?.code == "field")
    }

    @Test(
        "paths and methods that do not exist",
        arguments: [
            (HTTPRequest.Method.get, "/", 404), (.get, "/upload", 405), (.delete, "/received/x", 405),
            (.post, "/received/x", 405),
            (.get, "/received/", 404), (.get, "/received/..%2f..%2fetc%2fpasswd", 404),
            (.get, "/received/.ingest", 404),
            (.get, "/received/.ingest/receiver.sqlite", 404), (.delete, "/upload", 404),
        ])
    func paths(method: HTTPRequest.Method, path: String, status: Int) async throws {
        let receiver = try start()
        #expect(try await client.send(HTTPRequest(method, "http://\(receiver.address)\(path)")).status == status)
    }

    @Test("files that lie in the store without having been received are not served")
    func foreignFiles() async throws {
        let receiver = try start()
        try directory.write([1, 2, 3], to: "store/private.txt")
        #expect(
            try await client.send(HTTPRequest(.get, "http://\(receiver.address)/received/private.txt")).status == 404)
    }

    @Test("a token is demanded for uploading and fetching; with one, names are plain and apart")
    func tokens() async throws {
        let receiver = try start(ReceiverSettings(token: "s3cret"))
        for token in ["", "wrong", "s3cretx", "s3cre"] {
            let reply = try await post(Form(sequence: 0, size: 5, token: token), to: receiver)
            #expect(reply.status == 401 && reply.refusal?.code == "token")
        }
        #expect(try await post(Form(sequence: 0, size: 5, token: nil), to: receiver).status == 401)
        for _ in 1...2 {
            let reply = try await post(Form(sequence: 0, size: 5, token: "s3cret"), to: receiver)
            var form = Form(
                sequence: 1, size: 5, upload: reply.answer?.uploadToken, block: Array("12345".utf8), token: "no")
            #expect(try await post(form, to: receiver).status == 401)
            form.token = "s3cret"
            #expect(try await post(form, to: receiver).status == 200)
        }
        #expect(try stored() == ["clip-2.bin", "clip.bin"])
        let url = "http://\(receiver.address)/received/clip.bin"
        #expect(try await client.send(HTTPRequest(.get, url)).status == 401)
        #expect(try await client.send(HTTPRequest(.get, url + "?token=s3cret")).status == 200)
        #expect(
            try await client.send(HTTPRequest(.get, url, headers: [("Authorization", "Bearer s3cret")])).status == 200)
    }

    @Test("without a token a block before its fields is spooled only as far as a block may be; with one, hardly")
    func spooling() async throws {
        let receiver = try start(ReceiverSettings(token: "s"))
        var form = Form(sequence: 0, size: 10, token: "s")
        form.blockFirst = true
        form.block = [UInt8](repeating: 1, count: 3 << 20)
        #expect(try await post(form, to: receiver).status == 400)
    }

    @Test("what came while a token was demanded is not served without one")
    func storesOfBoth() async throws {
        let guarded = try start(ReceiverSettings(token: "secret"))
        let token = try #require(
            try await post(Form(sequence: 0, size: 3, token: "secret"), to: guarded).answer?.uploadToken)
        var last = Form(sequence: 1, size: 3, upload: token, block: [1, 2, 3])
        last.token = "secret"
        let plain = try #require(try await post(last, to: guarded).answer?.fileURL?.split(separator: "/").last)
        let open = try start()
        let other = try await self.open(open, size: 3)
        let random = try #require(
            try await post(Form(sequence: 1, size: 3, upload: other, block: [1, 2, 3]), to: open).answer?.fileURL?
                .split(separator: "/").last)
        func status(_ name: Substring, _ receiver: Receiver) async throws -> Int {
            try await client.send(HTTPRequest(.get, "http://\(receiver.address)/received/\(name)")).status
        }
        #expect(try await status(plain, open) == 404)
        #expect(try await status(random, open) == 200)
        #expect(try await status(plain, guarded) == 401)
    }

    @Test("DELETE drops what is unfinished, and leaves alone what is complete")
    func dropping() async throws {
        let receiver = try start()
        func drop(_ upload: String) async throws -> Int {
            try await client.send(
                HTTPRequest(.delete, "http://\(receiver.address)/upload", headers: [("Upload-Token", upload)])
            ).status
        }
        let upload = try await open(receiver)
        _ = try await post(block(1, upload), to: receiver)
        #expect(try await drop(upload) == 204)
        #expect(try await drop(upload) == 404)
        #expect(try await post(block(2, upload), to: receiver).status == 404)
        #expect(try directory.files(below: "store/.ingest/parts").isEmpty)
        let whole = try await open(receiver, size: 5)
        _ = try await post(Form(sequence: 1, size: 5, upload: whole, block: Array("12345".utf8)), to: receiver)
        #expect(try await drop(whole) == 404)
        #expect(try stored().count == 1)
    }

    @Test("a new process goes on where the old one was; several share a store")
    func sharing() async throws {
        let first = try start()
        let second = try start()
        let upload = try await open(first)
        #expect(try await post(block(1, upload), to: second).status == 200)
        #expect(try await post(block(2, upload), to: first).status == 200)
        let last = try await post(block(3, upload), to: second)
        #expect(last.answer?.sha256 == SHA256.digest(of: Self.data).hex)
        #expect(
            try await post(block(3, upload), to: first).answer?.fileURL?.split(separator: "/").last
                == last.answer?.fileURL?.split(separator: "/").last)
    }

    @Test("after a power cut it counts back to the blocks that are whole")
    func powerCut() async throws {
        let upload: String
        do {
            let receiver = try start()
            upload = try await open(receiver)
            for number in [1, 2] as [Int64] { _ = try await post(block(number, upload), to: receiver) }
            receiver.stop()
        }
        // The database has kept both blocks, the disk only half of the second one.
        let part = try FileSystem.open(directory.file("store/.ingest/parts/" + upload), .readingAndWriting)
        try part.truncate(to: 1500)
        let receiver = try start()
        let reply = try await post(block(3, upload), to: receiver)
        #expect(reply.status == 409 && reply.refusal?.expectedSequenceNo == 2)
        #expect(try await post(block(2, upload), to: receiver).status == 200)
        #expect(try await post(block(3, upload), to: receiver).answer?.sha256 == SHA256.digest(of: Self.data).hex)
    }

    @Test("an upload whose file is gone is opened anew under its key")
    func lostPart() async throws {
        let receiver = try start()
        let upload = try await open(receiver, key: "k")
        try FileSystem.remove(directory.file("store/.ingest/parts/" + upload))
        #expect(try await post(block(1, upload), to: receiver).status == 404)
        let fresh = try await open(receiver, key: "k")
        #expect(fresh != upload)
        #expect(try await post(block(1, fresh), to: receiver).status == 200)
    }

    @Test("a publication that a crash left half done is completed at the next start")
    func halfPublished() async throws {
        var name = ""
        var upload = ""
        do {
            let receiver = try start()
            upload = try await open(receiver, size: 5)
            _ = try await post(Form(sequence: 1, size: 5, upload: upload, block: Array("12345".utf8)), to: receiver)
            name = try #require(try stored().first)
            receiver.stop()
        }
        // As if the process had died between naming and renaming.
        try FileSystem.renameWithoutReplacing(
            directory.file("store/" + name), to: directory.file("store/.ingest/parts/" + upload))
        let receiver = try start()
        try await eventually("the file is published") { try stored() == [name] }
        #expect(try await client.send(HTTPRequest(.get, "http://\(receiver.address)/received/\(name)")).status == 200)
    }

    @Test("uploads that nobody continues are dropped")
    func expiry() async throws {
        var settings = ReceiverSettings()
        do {
            let receiver = try start(settings)
            _ = try await open(receiver)
            receiver.stop()
        }
        settings.expiry = -1
        let receiver = try start(settings)
        try await eventually("the upload is dropped") { try directory.files(below: "store/.ingest/parts").isEmpty }
        receiver.stop()
    }

    @Test(
        "uploads begun by a machine that did not know the time are not dropped once it does", arguments: [5_000, 4e9])
    func clockSet(touched: Double) async throws {
        do {
            let receiver = try start()
            _ = try await open(receiver)
            receiver.stop()
        }
        let database = try directory.file("store/.ingest/receiver.sqlite")
        try Connection(path: database.bytes, journal: .writeAhead).run(
            "UPDATE uploads SET touched = ?", [.real(touched)])
        let receiver = try start()
        try await eventually("the sweep has been there") {
            let now = try Connection(path: database.bytes, journal: .writeAhead).row("SELECT touched FROM uploads") {
                $0.real(0)
            }
            return now != touched
        }
        #expect(try directory.files(below: "store/.ingest/parts").count == 1)
        receiver.stop()
    }

    @Test("limits: open uploads, size of files")
    func limits() async throws {
        var settings = ReceiverSettings()
        settings.mostUploads = 2
        settings.largestFile = ByteCount(10_000)
        let receiver = try start(settings)
        for _ in 1...2 { #expect(try await post(Form(sequence: 0, size: 10), to: receiver).status == 200) }
        #expect(try await post(Form(sequence: 0, size: 10), to: receiver).status == 503)
        #expect(try directory.files(below: "store/.ingest/parts").count == 2)
        #expect(try await post(Form(sequence: 0, size: 10_001), to: receiver).status == 413)
    }

    @Test("a body longer than any block is refused before it is read")
    func tooLarge() async throws {
        let receiver = try start()
        let file = try FileSystem.open(directory.file("sparse"), .creating)
        try file.truncate(to: 2 << 30)
        let slice = FileSlice(file: SharedDescriptor(file), range: 0..<(2 << 30))
        let response = try await client.send(
            HTTPRequest(
                .post, "http://\(receiver.address)/upload",
                headers: [("Content-Type", "multipart/form-data; boundary=B")],
                body: HTTPBody([.file(slice)])))
        #expect(response.status == 413)
        #expect(response.bytesSent < 64 << 20)
    }

    @Test("a body of endless small parts, or of endless bytes, is not kept")
    func endlessBodies() async throws {
        var settings = ReceiverSettings()
        settings.largestBlock = ByteCount.mebibytes(1)
        let receiver = try start(settings)
        let part = "--B\r\nContent-Disposition: form-data; name=\"\(String(repeating: "n", count: 200))\"\r\n\r\n\r\n"
        func post(_ body: [UInt8]) async throws -> HTTPResponse {
            try await client.send(
                HTTPRequest(
                    .post, "http://\(receiver.address)/upload",
                    headers: [("Content-Type", "multipart/form-data; boundary=B")], body: HTTPBody([.bytes(body)])))
        }
        let many = try await post(Array(String(repeating: part, count: 100).utf8) + Array("--B--\r\n".utf8))
        #expect(many.status == 400)
        #expect(BlockJSON.refusal(in: many.body)?.message.contains("too many parts") == true)
        // In chunks nobody says beforehand how much comes.
        let port = try #require(UInt16(receiver.address.description.split(separator: ":").last ?? ""))
        let raw = try RawConnection(port: port)
        raw.send(
            "POST /upload HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=B\r\n"
                + "Transfer-Encoding: chunked\r\n\r\n")
        let chunk = Array("10000\r\n".utf8) + [UInt8](repeating: 1, count: 65536) + Array("\r\n".utf8)
        var sent = 0
        while sent < 1000, raw.send(chunk) { sent += 1 }
        #expect(sent < 200, "\(sent) chunks of 64 KiB were taken")
    }

    @Test(
        "a request whose body could end in two places is refused",
        arguments: [
            "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", "Content-Length: 3\r\nContent-Length: 4\r\n",
        ])
    func ambiguousFraming(headers: String) throws {
        let receiver = try start()
        let port = try #require(UInt16(receiver.address.description.split(separator: ":").last ?? ""))
        let raw = try RawConnection(port: port)
        raw.send("POST /upload HTTP/1.1\r\nHost: x\r\n\(headers)\r\n0\r\n\r\n")
        let answer = raw.receive()
        #expect(answer.hasPrefix("HTTP/1.1 400"), "\(answer)")
    }

    @Test("a file larger than the free disk is refused as such")
    func noRoom() async throws {
        let receiver = try start()
        let reply = try await post(Form(sequence: 0, size: 1 << 60, blockSize: 1 << 30), to: receiver)
        #expect(reply.status == 507 && reply.refusal?.code == "space")
    }

    @Test("many clients at once, each with its own upload")
    func concurrency() async throws {
        let receiver = try start()
        try await withThrowingTaskGroup(of: String?.self) { group in
            for seed in 1...8 as ClosedRange<UInt64> {
                group.addTask {
                    let bytes = TestBytes.make(50_500, seed: seed)
                    let upload = try await open(receiver, size: 50_500)
                    var last: Reply?
                    for number in 1...51 as ClosedRange<Int64> {
                        last = try await post(block(number, of: bytes, upload), to: receiver)
                    }
                    #expect(last?.answer?.sha256 == SHA256.digest(of: bytes).hex)
                    return last?.answer?.fileURL
                }
            }
            var urls: Set<String> = []
            for try await url in group { if let url { urls.insert(url) } }
            #expect(urls.count == 8)
        }
    }

    @Test("several openings under one key at the same time are one upload")
    func sameOpening() async throws {
        let receiver = try start()
        for round in 1...10 {
            let tokens = try await withThrowingTaskGroup(of: String?.self) { group in
                for _ in 1...6 {
                    group.addTask {
                        try await post(Form(sequence: 0, size: 2500, key: "key \(round)"), to: receiver).answer?
                            .uploadToken
                    }
                }
                return try await group.reduce(into: Set<String?>()) { $0.insert($1) }
            }
            #expect(tokens.count == 1 && !tokens.contains(nil))
        }
        #expect(try directory.files(below: "store/.ingest/parts").count == 10)
    }

    @Test("an upload that is being finished is neither lost nor opened anew for whoever asks for it meanwhile")
    func askedForWhileFinished() async throws {
        let receiver = try start()
        for round in 1...20 {
            let key = "key \(round)"
            let upload = try await open(receiver, size: 500, key: key)
            let bytes = Array(Self.data.prefix(500))
            let opening = Form(sequence: 0, size: 500, key: key)
            try await withThrowingTaskGroup(of: Reply?.self) { group in
                // Whoever comes last cuts off the one before.
                for _ in 1...2 { group.addTask { try? await post(block(1, of: bytes, upload), to: receiver) } }
                for _ in 1...6 {
                    group.addTask {
                        var last: Reply?
                        for _ in 1...4 { last = (try? await post(opening, to: receiver)) ?? last }
                        return last
                    }
                }
                for try await reply in group {
                    guard let reply else { continue }
                    #expect(reply.status == 200, "\(String(describing: reply.refusal))")
                    #expect(reply.answer?.uploadToken ?? upload == upload)
                }
            }
            #expect(try await post(block(1, of: bytes, upload), to: receiver).answer?.fileURL != nil)
        }
        #expect(try stored().count == 20)
    }

    @Test("what is named but has not got its name yet is published once, whoever asks for it")
    func publishedByMany() async throws {
        let receiver = try start()
        let bytes = Array(Self.data.prefix(500))
        for round in 1...20 {
            let key = "key \(round)"
            let upload = try await open(receiver, size: 500, key: key)
            let url = try #require(try await post(block(1, of: bytes, upload), to: receiver).answer?.fileURL)
            let stored = try directory.file("store/" + (url.split(separator: "/").last ?? "")).text
            try FileManager.default.moveItem(
                atPath: stored, toPath: directory.file("store/.ingest/parts/" + upload).text)
            try await withThrowingTaskGroup(of: Reply.self) { group in
                for _ in 1...8 {
                    group.addTask { try await post(Form(sequence: 0, size: 500, key: key), to: receiver) }
                }
                for try await reply in group { #expect(reply.status == 200 && reply.answer?.fileURL == url) }
            }
            #expect(FileManager.default.fileExists(atPath: stored))
        }
    }

    @Test("a connection that has gone on to another upload is not cut off for the one it wrote before")
    func formerWriter() async throws {
        let receiver = try start()
        let other = try start()
        let first = try await open(receiver)
        let second = try await open(receiver)
        /// A block as it goes over the wire.
        func request(_ form: Form) throws -> [UInt8] {
            let fields = [
                ("sequenceNo", "\(form.sequence)"), ("blockSize", "1000"), ("totFileSize", "2500"), ("token", ""),
                ("upToken", form.upload ?? ""), ("crc", crc(form.block)),
            ]
            let whole = MultipartForm(
                fields: fields.map { (name: $0.0, value: $0.1) }, fileField: "block", fileName: "x", boundary: "B")
            let body = whole.head + form.block + whole.tail
            let head =
                "POST /upload HTTP/1.1\r\nHost: x\r\nContent-Type: \(whole.contentType)\r\n"
                + "Content-Length: \(body.count)\r\n\r\n"
            return Array(head.utf8) + body
        }
        func connect(_ receiver: Receiver) throws -> RawConnection {
            try RawConnection(port: #require(UInt16(receiver.address.description.split(separator: ":").last ?? "")))
        }
        let writer = try connect(receiver)
        writer.send(try request(block(1, first)))
        #expect(writer.receive().hasPrefix("HTTP/1.1 200"))
        // Another process holds the first upload now, and our connection is in the middle of the second.
        let holder = try connect(other)
        holder.send(Array(try request(block(2, first)).dropLast(500)))
        let going = try request(block(1, second))
        writer.send(Array(going.dropLast(500)))
        try await Task.sleep(for: .milliseconds(500))
        #expect(try await post(block(2, first), to: receiver).status == 503)
        writer.send(Array(going.suffix(500)))
        #expect(writer.receive().hasPrefix("HTTP/1.1 200"))
    }

    @Test("unfinished uploads hold no file open while nobody sends")
    func descriptorsAtRest() async throws {
        let receiver = try start()
        for _ in 1...20 {
            let upload = try await open(receiver)
            #expect(try await post(block(1, upload), to: receiver).status == 200)
        }
        let parts = try directory.file("store/.ingest/parts").text
        func held() throws -> Int {
            try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count { number in
                let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + number)
                return target?.hasPrefix(parts) == true
            }
        }
        // The digests have yet to follow the last blocks.
        for _ in 0..<100 where try held() > 0 { try await Task.sleep(for: .milliseconds(50)) }
        #expect(try held() == 0)
    }

    @Test("two requests for the same block at the same time do no harm")
    func sameBlockTwice() async throws {
        let receiver = try start()
        let bytes = TestBytes.make(3_000_000)
        let upload = try await open(receiver, size: 3_000_000)
        _ = upload
        let reply = try await post(Form(sequence: 0, size: 3_000_000, blockSize: 1_000_000, key: "two"), to: receiver)
        let token = try #require(reply.answer?.uploadToken)
        for number in 1...3 as ClosedRange<Int64> {
            async let first = try? post(block(number, of: bytes, token, blockSize: 1_000_000), to: receiver)
            async let second = try? post(block(number, of: bytes, token, blockSize: 1_000_000), to: receiver)
            let statuses = await [first?.status, second?.status]
            // The older one may be cut off; one of them always counts.
            #expect(statuses.contains(200))
        }
        let last = try await post(block(3, of: bytes, token, blockSize: 1_000_000), to: receiver)
        #expect(last.answer?.sha256 == SHA256.digest(of: bytes).hex)
    }
}
