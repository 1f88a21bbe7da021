import FoundationEssentials
import IngestModel
import Testing

/// The client's machine, row by row of the protocol's table.
@Suite("Block upload, client")
struct BlockUploadTests {
    /// 3 blocks: 10, 10 and 5 bytes.
    private static func machine(acknowledged: Int64 = 0, token: String? = "T", size: Int64 = 25) throws -> BlockUpload {
        try #require(
            BlockUpload(
                ledger: BlockLedger(
                    seal: UUID(), key: UUID(), token: token, fileSize: ByteCount(size), blockSize: ByteCount(10),
                    acknowledgedCount: acknowledged)))
    }

    private static func json(_ text: String, status: Int = 200, retryAfter: Double? = nil) -> BlockUpload.Response {
        BlockUpload.Response(status: status, body: Array(text.utf8), retryAfter: retryAfter)
    }

    private static func refusal(_ code: String, status: Int, expected: Int? = nil) -> BlockUpload.Response {
        let more = expected.map { ",\"expectedSequenceNo\":\($0)" } ?? ""
        return json("{\"error\":{\"code\":\"\(code)\",\"message\":\"m\"\(more)}}", status: status)
    }

    private static func fault(_ outcome: BlockUpload.Outcome) -> Fault? {
        if case .failed(let fault) = outcome { fault } else { nil }
    }

    private static func goesOn(_ outcome: BlockUpload.Outcome) -> Bool? {
        if case .goOn(let progressed) = outcome { progressed } else { nil }
    }

    @Test("opens, sends every block once, in order, and is complete with the URL")
    func straight() throws {
        var machine = try Self.machine(token: nil)
        #expect(machine.next == .open)
        #expect(Self.goesOn(machine.take(Self.json(#"{"data":{"upToken":"T"}}"#), to: .open, newKey: UUID())) == false)
        #expect(machine.ledger.token == "T")
        for (number, range) in [(1, 0..<10), (2, 10..<20)] as [(Int64, Range<Int64>)] {
            #expect(machine.next == .block(number: number, range: range))
            #expect(Self.goesOn(machine.take(Self.json(#"{"data":{}}"#), to: machine.next, newKey: UUID())) == true)
        }
        #expect(machine.next == .block(number: 3, range: 20..<25))
        let outcome = machine.take(Self.json(#"{"data":{"fileUrl":"u"}}"#), to: machine.next, newKey: UUID())
        guard case .complete(let answer) = outcome else { throw Wrong() }
        #expect(answer.fileURL == "u")
        // The last block counts only with its receipt: until that is stored it would be sent again.
        #expect(machine.ledger.acknowledgedCount == 2)
    }

    @Test("a file of 0 bytes is complete with its opening, and needs the URL there")
    func empty() throws {
        var machine = try Self.machine(token: nil, size: 0)
        #expect(machine.next == .open)
        let answer = Self.json(#"{"data":{"upToken":"T","fileUrl":"u"}}"#)
        guard case .complete = machine.take(answer, to: .open, newKey: UUID()) else { throw Wrong() }
        let without = machine.take(Self.json(#"{"data":{"upToken":"T"}}"#), to: .open, newKey: UUID())
        #expect(Self.fault(without)?.code == .invalidAnswer)
    }

    @Test(
        "an answer that is none is tried again, not believed",
        arguments: [
            "", "<html>", "{}", #"{"ok":true}"#, #"{"data":[]}"#, #"{"data":null}"#, #"{"data":"x"}"#, "[]", "null",
        ])
    func invalidAnswers(body: String) throws {
        var machine = try Self.machine()
        let fault = Self.fault(machine.take(Self.json(body), to: machine.next, newKey: UUID()))
        #expect(fault?.code == .invalidAnswer)
        #expect(fault?.isTemporary == true)
        #expect(machine.ledger.acknowledgedCount == 0)
    }

    @Test("an opening without a token, and a last block without a URL, are no answers")
    func missingKeys() throws {
        var machine = try Self.machine(token: nil)
        #expect(Self.fault(machine.take(Self.json(#"{"data":{}}"#), to: .open, newKey: UUID()))?.code == .invalidAnswer)
        machine = try Self.machine(acknowledged: 2)
        #expect(
            Self.fault(machine.take(Self.json(#"{"data":{}}"#), to: machine.next, newKey: UUID()))?.code
                == .invalidAnswer)
        machine = try Self.machine(acknowledged: 2)
        let empty = machine.take(Self.json(#"{"data":{"fileUrl":""}}"#), to: machine.next, newKey: UUID())
        #expect(Self.fault(empty)?.code == .invalidAnswer)
    }

    @Test("a token that is a number is taken as its digits")
    func numericToken() throws {
        var machine = try Self.machine(token: nil)
        _ = machine.take(Self.json(#"{"data":{"upToken":1234567890123}}"#), to: .open, newKey: UUID())
        #expect(machine.ledger.token == "1234567890123")
    }

    @Test("a receiver that knows more lets it skip, one that knows less makes it rewind; neither beyond the last block")
    func receivedCount() throws {
        var machine = try Self.machine(token: nil)
        _ = machine.take(Self.json(#"{"data":{"upToken":"T","receivedCount":2}}"#), to: .open, newKey: UUID())
        #expect(machine.next == .block(number: 3, range: 20..<25))
        machine = try Self.machine(token: nil)
        _ = machine.take(Self.json(#"{"data":{"upToken":"T","receivedCount":99}}"#), to: .open, newKey: UUID())
        #expect(machine.next == .block(number: 3, range: 20..<25))
        machine = try Self.machine(acknowledged: 1)
        #expect(
            Self.goesOn(machine.take(Self.json(#"{"data":{"receivedCount":0}}"#), to: machine.next, newKey: UUID()))
                == false)
        #expect(machine.next == .block(number: 1, range: 0..<10))
    }

    @Test("a checksum that differs sends the block again, five times, then the item fails")
    func checksums() throws {
        var machine = try Self.machine()
        for _ in 1...4 {
            guard case .again = machine.take(Self.refusal("crc", status: 400), to: machine.next, newKey: UUID()) else {
                throw Wrong()
            }
        }
        let fault = Self.fault(machine.take(Self.refusal("crc", status: 400), to: machine.next, newKey: UUID()))
        #expect(fault?.code == .damagedOnTheWay)
        #expect(fault?.isTemporary == false)
        // In a row: a block that arrives begins the count anew.
        machine = try Self.machine()
        for _ in 1...4 { _ = machine.take(Self.refusal("crc", status: 400), to: machine.next, newKey: UUID()) }
        _ = machine.take(Self.json(#"{"data":{}}"#), to: machine.next, newKey: UUID())
        guard case .again = machine.take(Self.refusal("crc", status: 400), to: machine.next, newKey: UUID()) else {
            throw Wrong()
        }
    }

    @Test(
        "malformed fields, wrong lengths and other refusals fail at once",
        arguments: [
            ("field", 400), ("length", 400), ("x", 400), ("x", 405), ("x", 410), ("x", 418), ("x", 451),
        ])
    func refusals(code: String, status: Int) throws {
        var machine = try Self.machine()
        let fault = Self.fault(machine.take(Self.refusal(code, status: status), to: machine.next, newKey: UUID()))
        #expect(fault?.code == .refused)
        #expect(fault?.isTemporary == false)
    }

    @Test("a refused token is read again once, then the item fails", arguments: [401, 403])
    func credentials(status: Int) throws {
        var machine = try Self.machine()
        guard
            case .refreshCredentials = machine.take(
                Self.refusal("token", status: status), to: machine.next, newKey: UUID())
        else { throw Wrong() }
        let fault = Self.fault(machine.take(Self.refusal("token", status: status), to: machine.next, newKey: UUID()))
        #expect(fault?.code == .credentials)
    }

    @Test("a forgotten upload is opened again, at most three times without progress")
    func forgotten() throws {
        var machine = try Self.machine(acknowledged: 1)
        let key = machine.ledger.key
        for _ in 1...3 {
            #expect(
                Self.goesOn(machine.take(Self.refusal("unknownToken", status: 404), to: machine.next, newKey: UUID()))
                    == false)
            #expect(machine.next == .open)
            _ = machine.take(Self.json(#"{"data":{"upToken":"N"}}"#), to: .open, newKey: UUID())
        }
        #expect(machine.ledger.key == key)
        let fault = Self.fault(
            machine.take(Self.refusal("unknownToken", status: 404), to: machine.next, newKey: UUID()))
        #expect(fault?.code == .forgotten)
    }

    @Test("404 for an opening is the wrong address")
    func wrongAddress() throws {
        var machine = try Self.machine(token: nil)
        #expect(Self.fault(machine.take(Self.json("", status: 404), to: .open, newKey: UUID()))?.code == .refused)
    }

    @Test("out of order: goes on where the far side wants, and gives up when they never agree")
    func outOfOrder() throws {
        var machine = try Self.machine(acknowledged: 2)
        #expect(
            Self.goesOn(
                machine.take(Self.refusal("sequence", status: 409, expected: 2), to: machine.next, newKey: UUID()))
                == false)
        #expect(machine.next == .block(number: 2, range: 10..<20))
        // Ahead is progress.
        machine = try Self.machine(acknowledged: 0)
        #expect(
            Self.goesOn(
                machine.take(Self.refusal("sequence", status: 409, expected: 3), to: machine.next, newKey: UUID()))
                == true)
        machine = try Self.machine(acknowledged: 2)
        var outcome = BlockUpload.Outcome.again
        for expected in [1, 3, 1, 3] {
            outcome = machine.take(
                Self.refusal("sequence", status: 409, expected: expected), to: machine.next, newKey: UUID())
        }
        #expect(Self.fault(outcome)?.code == .conflict)
        // Without a number to go on: opened again under the same key.
        machine = try Self.machine(acknowledged: 2)
        _ = machine.take(Self.refusal("sequence", status: 409), to: machine.next, newKey: UUID())
        #expect(machine.next == .open)
    }

    @Test("other bytes than the first time: a new upload under a new key, not for ever")
    func changed() throws {
        var machine = try Self.machine(acknowledged: 2)
        let old = machine.ledger.key
        let fresh = UUID()
        guard case .startAnew = machine.take(Self.refusal("changed", status: 409), to: machine.next, newKey: fresh)
        else {
            throw Wrong()
        }
        #expect(machine.ledger.key == fresh && fresh != old)
        #expect(machine.next == .open)
        #expect(machine.ledger.acknowledgedCount == 0)
        var outcome = BlockUpload.Outcome.again
        for _ in 1...3 {
            _ = machine.take(Self.json(#"{"data":{"upToken":"T"}}"#), to: .open, newKey: UUID())
            outcome = machine.take(Self.refusal("changed", status: 409), to: machine.next, newKey: UUID())
        }
        #expect(Self.fault(outcome)?.code == .conflict)
    }

    @Test("too large: half the block size in a new upload, down to a floor")
    func tooLarge() throws {
        let ledger = BlockLedger(
            seal: UUID(), key: UUID(), token: "T", fileSize: .mebibytes(3), blockSize: .mebibytes(1),
            acknowledgedCount: 1)
        var machine = try #require(BlockUpload(ledger: ledger))
        guard case .startAnew = machine.take(Self.json("", status: 413), to: machine.next, newKey: UUID()) else {
            throw Wrong()
        }
        #expect(machine.ledger.blockSize == .kibibytes(512))
        #expect(machine.ledger.seal == ledger.seal)
        var fault: Fault?
        while fault == nil {
            _ = machine.take(Self.json(#"{"data":{"upToken":"T"}}"#), to: .open, newKey: UUID())
            fault = Self.fault(machine.take(Self.json("", status: 413), to: machine.next, newKey: UUID()))
        }
        #expect(fault?.code == .tooLarge)
        #expect(machine.ledger.blockSize == .kibibytes(4))
        var opening = try Self.machine(token: nil)
        #expect(Self.fault(opening.take(Self.json("", status: 413), to: .open, newKey: UUID()))?.code == .refused)
    }

    @Test("busy servers are tried again, when they say", arguments: [408, 425, 429, 500, 502, 503, 504, 507, 599])
    func busy(status: Int) throws {
        var machine = try Self.machine()
        let fault = Self.fault(
            machine.take(Self.json("", status: status, retryAfter: 3), to: machine.next, newKey: UUID()))
        #expect(fault?.code == (status == 507 ? .farSideFull : .busy))
        #expect(fault?.demandedDelay == 3)
    }

    @Test("redirects that would lose the data are not followed", arguments: [300, 301, 302, 303, 304])
    func redirects(status: Int) throws {
        var machine = try Self.machine()
        #expect(
            Self.fault(machine.take(Self.json("", status: status), to: machine.next, newKey: UUID()))?.code
                == .redirected)
    }

    @Test("a receipt is held against the copy")
    func receipts() throws {
        let digest = try #require(SHA256Digest(bytes: [UInt8](repeating: 7, count: 32)))
        var machine = try Self.machine(acknowledged: 2)
        let right = BlockAnswer(fileURL: "u", size: 25, sha256: digest.hex)
        #expect(try machine.judge(right, size: ByteCount(25), sha256: digest, newKey: UUID()).get().proof == .digest)
        let bare = BlockAnswer(fileURL: "u")
        #expect(try machine.judge(bare, size: ByteCount(25), sha256: digest, newKey: UUID()).get().proof == .parts)
        for wrong in [
            BlockAnswer(fileURL: "u", size: 24), BlockAnswer(fileURL: "u", sha256: String(repeating: "0", count: 64)),
            BlockAnswer(fileURL: "u", sha256: "nonsense"),
        ] {
            machine = try Self.machine(acknowledged: 2)
            let old = machine.ledger.key
            guard case .failure(.startAnew) = machine.judge(wrong, size: ByteCount(25), sha256: digest, newKey: UUID())
            else {
                throw Wrong()
            }
            #expect(machine.ledger.key != old)
            _ = machine.judge(wrong, size: ByteCount(25), sha256: digest, newKey: UUID())
            guard
                case .failure(.failed(let fault)) = machine.judge(
                    wrong, size: ByteCount(25), sha256: digest, newKey: UUID())
            else { throw Wrong() }
            #expect(fault.code == .receiptMismatch)
        }
    }

    @Test("blocks that were never sent are believed only with the digest")
    func skippedBlocks() throws {
        let digest = try #require(SHA256Digest(bytes: [UInt8](repeating: 7, count: 32)))
        func proof(_ machine: inout BlockUpload, _ answer: BlockAnswer) -> Receipt.Proof? {
            try? machine.judge(answer, size: ByteCount(45), sha256: digest, newKey: UUID()).get().proof
        }
        let bare = BlockAnswer(fileURL: "u")
        let proven = BlockAnswer(fileURL: "u", sha256: digest.hex)
        // One block may have been in flight; more were not.
        for (count, isSkipped) in [(0, false), (1, false), (2, true), (99, true)] {
            var machine = try Self.machine(token: nil, size: 45)
            _ = machine.take(
                Self.json(#"{"data":{"upToken":"T","receivedCount":\#(count)}}"#), to: .open, newKey: UUID())
            #expect(machine.ledger.hasSkipped == isSkipped, "\(count)")
            let again = try JSONRound.trip(machine.ledger)
            #expect(again == machine.ledger)
            #expect(proof(&machine, proven) == .digest)
            #expect(proof(&machine, bare) == (isSkipped ? nil : .parts))
        }
        // An opening that is complete at once.
        var machine = try Self.machine(token: nil, size: 45)
        _ = machine.take(Self.json(#"{"data":{"upToken":"T","fileUrl":"u"}}"#), to: .open, newKey: UUID())
        #expect(proof(&machine, bare) == nil)
        machine = try Self.machine(acknowledged: 4, token: nil, size: 45)
        _ = machine.take(Self.json(#"{"data":{"upToken":"T","fileUrl":"u"}}"#), to: .open, newKey: UUID())
        #expect(proof(&machine, bare) == .parts)
        // A block's answer, and a conflict, that jump ahead.
        machine = try Self.machine(acknowledged: 0, size: 45)
        _ = machine.take(Self.json(#"{"data":{"receivedCount":4}}"#), to: machine.next, newKey: UUID())
        #expect(proof(&machine, bare) == nil)
        machine = try Self.machine(acknowledged: 0, size: 45)
        _ = machine.take(Self.refusal("sequence", status: 409, expected: 5), to: machine.next, newKey: UUID())
        #expect(proof(&machine, bare) == nil)
    }

    @Test(
        "a receipt that makes no sense is no answer",
        arguments: [
            #""size":"x""#, #""size":1.5"#, #""size":1e30"#, #""sha256":12345"#, #""size":true"#,
        ])
    func senselessReceipts(field: String) throws {
        var machine = try Self.machine(acknowledged: 2)
        let outcome = machine.take(
            Self.json(#"{"data":{"fileUrl":"u",\#(field)}}"#), to: machine.next, newKey: UUID())
        #expect(Self.fault(outcome)?.code == .invalidAnswer && Self.fault(outcome)?.isTemporary == true)
        let digits = BlockJSON.answer(in: Array(#"{"data":{"size":"25","sha256":null}}"#.utf8))
        #expect(digits?.size == 25 && digits?.sha256 == nil)
    }

    @Test("a URL that no one could use is no receipt")
    func longURLs() throws {
        var machine = try Self.machine(acknowledged: 2)
        let digest = try #require(SHA256Digest(bytes: [UInt8](repeating: 7, count: 32)))
        let long = BlockAnswer(fileURL: "http://h/" + String(repeating: "x", count: 5000))
        guard case .failure = machine.judge(long, size: ByteCount(25), sha256: digest, newKey: UUID()) else {
            throw Wrong()
        }
    }

    private struct Wrong: Error {}
}

@Suite("Block protocol, wire")
struct BlockWireTests {
    @Test(
        "blocks cover the file once, the last one never empty",
        arguments: [
            (0, 10), (1, 10), (9, 10), (10, 10), (11, 10), (20, 10), (7, 100), (5_000_000_000, 1 << 20),
        ] as [(Int64, Int64)])
    func plan(size: Int64, blockSize: Int64) throws {
        let plan = try #require(BlockPlan(fileSize: ByteCount(size), blockSize: ByteCount(blockSize)))
        #expect(plan.totalCount == (size + blockSize - 1) / blockSize)
        #expect(plan.range(ofBlock: 0) == nil)
        #expect(plan.range(ofBlock: plan.totalCount + 1) == nil)
        if let last = plan.range(ofBlock: plan.totalCount) {
            #expect(last.upperBound == size && !last.isEmpty && last.count <= blockSize)
        }
        #expect(plan.bytes(inFirst: plan.totalCount).value == size)
        #expect(plan.bytes(inFirst: 0).value == 0)
        #expect(BlockPlan(fileSize: ByteCount(5), blockSize: ByteCount(0)) == nil)
    }

    @Test("numbers are decimal digits without sign")
    func numbers() {
        #expect(BlockWire.number("0") == 0)
        #expect(BlockWire.number("9223372036854775807") == .max)
        for text in ["", "-1", "+1", " 1", "1 ", "0x1", "1.0", "9223372036854775808", "١", "1e3"] {
            #expect(BlockWire.number(text) == nil)
        }
    }

    @Test("answers are found under the key that the destination uses")
    func dataKey() {
        let body = Array(#"{"data":{"upToken":"wrong"},"result":{"upToken":"T"}}"#.utf8)
        #expect(BlockJSON.answer(in: body, dataKey: "result")?.uploadToken == "T")
        #expect(BlockJSON.answer(in: body, dataKey: "none") == nil)
    }

    @Test("quotes and line ends cannot break out of a form's head")
    func formEscaping() {
        let form = MultipartForm(
            fields: [("a", "1")], fileField: "block", fileName: "x\"\r\nEvil: 1\u{0}.mov", boundary: "B")
        let head = String(decoding: form.head, as: UTF8.self)
        #expect(head.contains("filename=\"x%22%0D%0AEvil: 1%00.mov\""))
        #expect(!head.contains("\r\nEvil"))
        #expect(String(decoding: form.tail, as: UTF8.self) == "\r\n--B--\r\n")
    }
}
