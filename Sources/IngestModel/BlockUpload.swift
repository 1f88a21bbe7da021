package import FoundationEssentials

/// What is known of one upload by the block protocol; persisted before and after each request.
package struct BlockLedger: Hashable, Codable, Sendable {
    /// The seal whose bytes are sent.
    package var seal: UUID
    /// Goes with every request; an opening repeated under the same key makes no second upload.
    package let key: UUID
    /// What the opening's answer gave; `nil` until then.
    package var token: String?
    package let fileSize: ByteCount
    package let blockSize: ByteCount
    /// How many blocks, from the first on, the far side has acknowledged. The last one counts only with its URL.
    package var acknowledgedCount: Int64
    private var skipped: Bool?

    /// Whether the far side says that it has blocks which nobody knows to have been sent. Then only a digest proves that it
    /// has them.
    package var hasSkipped: Bool {
        get { skipped ?? false }
        set { skipped = newValue ? true : nil }
    }

    package init(
        seal: UUID, key: UUID, token: String? = nil, fileSize: ByteCount, blockSize: ByteCount,
        acknowledgedCount: Int64 = 0
    ) {
        self.seal = seal
        self.key = key
        self.token = token
        self.fileSize = fileSize
        self.blockSize = blockSize
        self.acknowledgedCount = acknowledgedCount
    }

    /// `nil` only for a stored block size of 0, which never was one of ours.
    package var plan: BlockPlan? { BlockPlan(fileSize: fileSize, blockSize: blockSize) }

    package var acknowledged: ByteCount { plan?.bytes(inFirst: acknowledgedCount) ?? ByteCount(0) }
}

/// The client's side of the block protocol as a pure state machine: which request comes next, and what an answer means.
package struct BlockUpload: Sendable {
    package enum Request: Hashable, Sendable {
        /// Sequence 0.
        case open
        /// Block `number` with the bytes in `range`.
        case block(number: Int64, range: Range<Int64>)
    }

    /// What came back, or that nothing did.
    package struct Response: Sendable {
        package let status: Int
        package let body: [UInt8]
        /// Seconds, from `Retry-After`.
        package let retryAfter: Double?

        package init(status: Int, body: [UInt8], retryAfter: Double? = nil) {
            self.status = status
            self.body = body
            self.retryAfter = retryAfter
        }
    }

    package enum Outcome: Sendable {
        /// The ledger has changed: write it down and go on. `progressed`: more than ever before is acknowledged.
        case goOn(progressed: Bool)
        /// Send the same request again at once.
        case again
        /// Read the credentials again, then send the same request again.
        case refreshCredentials
        /// The far side's part is of no use: it is to be dropped, and the ledger now describes a new upload.
        case startAnew
        /// The file is complete over there; `judge` says whether the receipt is one.
        case complete(BlockAnswer)
        case failed(Fault)
    }

    package private(set) var ledger: BlockLedger
    private let plan: BlockPlan
    private let dataKey: String
    private let remedy: String
    /// The highest count ever acknowledged in this run: what is beyond it is progress.
    private var highest: Int64
    private var crcRefusals = 0
    private var setbacks = 0
    private var restarts = 0
    private var hasRefreshed = false

    private static let mostCRCRefusals = 5
    private static let mostSetbacks = 3
    private static let mostRestarts = 2
    private static let longestURL = 4096
    package static let smallestBlockSize = ByteCount.kibibytes(4)

    /// Fails for a ledger with a block size of 0.
    ///
    /// - Parameters:
    ///   - ledger: what is known of the upload.
    ///   - dataKey: under which the server's answers stand.
    ///   - remedy: what helps where the server does not accept the token; part of a sentence.
    package init?(
        ledger: BlockLedger, dataKey: String = BlockWire.defaultDataKey,
        remedy: String = "give the right one with --token-file or INGEST_TOKEN"
    ) {
        guard let plan = ledger.plan else { return nil }
        self.remedy = remedy
        self.ledger = ledger
        self.plan = plan
        self.dataKey = dataKey
        highest = ledger.acknowledgedCount
    }

    private init(ledger: BlockLedger, plan: BlockPlan, dataKey: String, remedy: String) {
        self.remedy = remedy
        self.ledger = ledger
        self.plan = plan
        self.dataKey = dataKey
        highest = ledger.acknowledgedCount
    }

    package var totalCount: Int64 { plan.totalCount }

    /// The request that comes next. The last block is sent until its URL has come, acknowledged or not.
    package var next: Request {
        guard ledger.token != nil, totalCount > 0 else { return .open }
        let number = min(ledger.acknowledgedCount + 1, totalCount)
        guard let range = plan.range(ofBlock: number) else { return .open }
        return .block(number: number, range: range)
    }

    /// Judges the answer to `request`. `newKey` is used if a new upload has to be begun.
    package mutating func take(_ response: Response, to request: Request, newKey: UUID) -> Outcome {
        switch response.status {
        case 200..<300:
            guard let answer = BlockJSON.answer(in: response.body, dataKey: dataKey) else {
                return .failed(invalidAnswer(response, "no “\(dataKey)” in it"))
            }
            return accept(answer, to: request, response)
        case 400: return refuse400(response)
        case 401, 403: return refuseCredentials(response)
        case 404:
            if case .open = request { return .failed(refused(response)) }
            ledger.token = nil
            ledger.acknowledgedCount = 0
            return setBack(Fault(.forgotten, "the destination forgets the upload again and again\(detail(response))"))
        case 409: return resolveConflict(response, newKey: newKey)
        case 413:
            if case .open = request { return .failed(refused(response)) }
            return halve(response, newKey: newKey)
        default:
            return .failed(refused(response))
        }
    }

    /// Holds the receipt against the sealed copy. On a mismatch the far side's file is of no use and a new upload begins;
    /// after several of them the upload has failed.
    package mutating func judge(
        _ answer: BlockAnswer, size: ByteCount, sha256: SHA256Digest, newKey: UUID
    ) -> Result<Receipt, ReceiptProblem> {
        let url = answer.fileURL ?? ""
        if url.utf8.count > Self.longestURL {
            return .failure(mismatch("its URL is \(url.utf8.count) bytes long", newKey: newKey))
        }
        if let theirs = answer.size, theirs != size.value {
            return .failure(mismatch("it reports \(theirs) bytes where \(size.value) were sent", newKey: newKey))
        }
        if let text = answer.sha256 {
            guard let theirs = SHA256Digest(hex: text), theirs == sha256 else {
                return .failure(mismatch("its SHA-256 is not that of the copy", newKey: newKey))
            }
            return .success(Receipt(url: url, size: size, sha256: theirs, proof: .digest))
        }
        if ledger.hasSkipped {
            return .failure(
                mismatch("it says that it has blocks which were never sent, and proves nothing", newKey: newKey))
        }
        // Every block was acknowledged under its CRC.
        return .success(Receipt(url: url, size: size, sha256: nil, proof: size.value == 0 ? .size : .parts))
    }

    // MARK: - Answers

    private mutating func accept(_ answer: BlockAnswer, to request: Request, _ response: Response) -> Outcome {
        hasRefreshed = false
        switch request {
        case .open:
            if let url = answer.fileURL, !url.isEmpty {
                noteSkipping(to: totalCount)
                return .complete(answer)
            }
            guard let token = answer.uploadToken, !token.isEmpty else {
                return .failed(invalidAnswer(response, "no upToken in it"))
            }
            if totalCount == 0 { return .failed(invalidAnswer(response, "no fileUrl in it")) }
            ledger.token = token
            noteSkipping(to: answer.receivedCount ?? 0)
            ledger.acknowledgedCount = clamped(answer.receivedCount ?? 0)
        case .block(let number, _):
            if number == totalCount {
                if let url = answer.fileURL, !url.isEmpty { return .complete(answer) }
                if let received = answer.receivedCount, received < totalCount {
                    ledger.acknowledgedCount = clamped(received)
                    return setBack(invalidAnswer(response, "the destination counts \(received) blocks"))
                }
                return .failed(invalidAnswer(response, "no fileUrl in it"))
            }
            crcRefusals = 0
            noteSkipping(to: (answer.receivedCount ?? number) - 1)
            ledger.acknowledgedCount = clamped(answer.receivedCount ?? number)
            if ledger.acknowledgedCount < number {
                return setBack(Fault(.conflict, "the destination keeps losing blocks\(detail(response))"))
            }
        }
        return .goOn(progressed: noteProgress())
    }

    private mutating func refuse400(_ response: Response) -> Outcome {
        let refusal = BlockJSON.refusal(in: response.body)
        guard refusal?.code == BlockWire.Refusal.crc.rawValue else { return .failed(refused(response)) }
        crcRefusals += 1
        guard crcRefusals < Self.mostCRCRefusals else {
            return .failed(
                Fault(
                    .damagedOnTheWay,
                    "the destination received other bytes than were sent, \(crcRefusals) times in a row; memory, disk or "
                        + "link damages data"))
        }
        return .again
    }

    private mutating func refuseCredentials(_ response: Response) -> Outcome {
        guard hasRefreshed else {
            hasRefreshed = true
            return .refreshCredentials
        }
        return .failed(ServerStatus.notAccepted(response.status, detail: detail(response), remedy: remedy))
    }

    private mutating func resolveConflict(_ response: Response, newKey: UUID) -> Outcome {
        let refusal = BlockJSON.refusal(in: response.body)
        if refusal?.code == BlockWire.Refusal.changed.rawValue {
            return startAnew(
                blockSize: ledger.blockSize, newKey: newKey,
                orElse: Fault(.conflict, "the destination holds other bytes of this upload, again and again"))
        }
        if let expected = refusal?.expectedSequenceNo, expected >= 1 {
            noteSkipping(to: expected - 1)
            ledger.acknowledgedCount = clamped(expected - 1)
        } else {
            // It does not say where to go on: opening again does.
            ledger.token = nil
        }
        if noteProgress() { return .goOn(progressed: true) }
        return setBack(Fault(.conflict, "the destination does not agree on which block comes next\(detail(response))"))
    }

    private mutating func halve(_ response: Response, newKey: UUID) -> Outcome {
        let smaller = ByteCount(ledger.blockSize.value / 2)
        guard smaller >= Self.smallestBlockSize else {
            return .failed(
                Fault(.tooLarge, "the destination refuses even blocks of \(ledger.blockSize.forReading) as too large"))
        }
        restarts = 0
        return startAnew(blockSize: smaller, newKey: newKey, orElse: refused(response))
    }

    // MARK: - Bounds

    /// Besides what is acknowledged one block may have arrived whose answer was lost.
    private mutating func noteSkipping(to count: Int64) {
        if count > max(ledger.acknowledgedCount, highest) + 1 { ledger.hasSkipped = true }
    }

    private func clamped(_ count: Int64) -> Int64 { max(0, min(count, totalCount - 1)) }

    private mutating func noteProgress() -> Bool {
        guard ledger.acknowledgedCount > highest else { return false }
        highest = ledger.acknowledgedCount
        setbacks = 0
        return true
    }

    private mutating func setBack(_ fault: Fault) -> Outcome {
        setbacks += 1
        return setbacks > Self.mostSetbacks ? .failed(fault) : .goOn(progressed: false)
    }

    private mutating func startAnew(blockSize: ByteCount, newKey: UUID, orElse fault: Fault) -> Outcome {
        guard beginAnew(blockSize: blockSize, newKey: newKey) else { return .failed(fault) }
        return .startAnew
    }

    private mutating func mismatch(_ what: String, newKey: UUID) -> ReceiptProblem {
        if beginAnew(blockSize: ledger.blockSize, newKey: newKey) { return .startAnew }
        return .failed(
            Fault(
                .receiptMismatch,
                "the destination's receipt does not fit the copy: \(what), several times over; the copy is kept"))
    }

    private mutating func beginAnew(blockSize: ByteCount, newKey: UUID) -> Bool {
        guard restarts < Self.mostRestarts else { return false }
        let fresh = BlockLedger(seal: ledger.seal, key: newKey, fileSize: ledger.fileSize, blockSize: blockSize)
        guard let plan = fresh.plan else { return false }
        let restarts = restarts + 1
        self = BlockUpload(ledger: fresh, plan: plan, dataKey: dataKey, remedy: remedy)
        self.restarts = restarts
        return true
    }

    // MARK: - Words

    private func refused(_ response: Response) -> Fault {
        ServerStatus.fault(response.status, detail: detail(response), retryAfter: response.retryAfter)
    }

    private func invalidAnswer(_ response: Response, _ what: String) -> Fault {
        Fault(
            .invalidAnswer,
            "the destination answered \(response.status), but that was no answer of an upload server (\(what)); is it the "
                + "right address, or a log-in page in between?",
            retry: .later(after: response.retryAfter))
    }

    private func detail(_ response: Response) -> String {
        guard let message = BlockJSON.refusal(in: response.body)?.message, !message.isEmpty else { return "" }
        return ": “\(message.prefix(200).description.printable)”"
    }
}
