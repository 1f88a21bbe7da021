package import FoundationEssentials

/// What is known of one upload by tus 1.0; persisted before and after each request.
package struct TusLedger: Hashable, Codable, Sendable {
    /// The seal whose bytes are sent.
    package var seal: UUID
    package let fileSize: ByteCount
    /// The upload's own address, which its creation's answer gave; `nil` until then.
    package var address: String?
    /// Bytes that the far side has acknowledged.
    package var offset: ByteCount
    /// The most bytes that a request may carry, where the far side has refused more.
    package var largestRequest: ByteCount?
    /// Whether some of the bytes were acknowledged without a checksum.
    package var hasUnproven: Bool

    package init(seal: UUID, fileSize: ByteCount) {
        self.seal = seal
        self.fileSize = fileSize
        offset = ByteCount(0)
        hasUnproven = false
    }
}

/// What a server says that it can do (tus 1.0, OPTIONS).
package struct TusOffer: Hashable, Sendable {
    package let extensions: Set<String>
    /// The most bytes that a file may have; `nil` where it sets no bound.
    package let largestFile: ByteCount?
    package let checksums: Set<String>

    package init(extensions: String? = nil, largestFile: String? = nil, checksums: String? = nil) {
        func list(_ text: String?) -> Set<String> {
            let words = (text ?? "").split(separator: ",").map { $0.filter { !$0.isWhitespace }.lowercased() }
            return Set(words)
        }
        self.extensions = list(extensions)
        self.largestFile = largestFile.flatMap { BlockWire.number($0) }.map { ByteCount($0) }
        self.checksums = self.extensions.contains("checksum") ? list(checksums) : []
    }

    package var canTerminate: Bool { extensions.contains("termination") }
}

/// The client's side of tus 1.0 as a pure state machine: which request comes next, and what an answer means.
package struct TusUpload: Sendable {
    package enum Request: Hashable, Sendable {
        /// `POST`, for an address.
        case create
        /// `HEAD`: how much is there?
        case look
        /// `PATCH` with the bytes in the range.
        case send(Range<Int64>)
    }

    /// What came back.
    package struct Response: Sendable {
        package var status: Int
        /// `Location`, complete; `nil` where there is none that can be used.
        package var address: String?
        /// `Upload-Offset` and `Upload-Length`.
        package var offset: Int64?
        package var length: Int64?
        /// The SHA-256 of the whole file by `Repr-Digest` (RFC 9530).
        package var sha256: SHA256Digest?
        /// What it says in words.
        package var message: String
        /// Seconds, from `Retry-After`.
        package var retryAfter: Double?
        /// Whether the request went with a checksum.
        package var isChecked: Bool

        package init(
            status: Int, address: String? = nil, offset: Int64? = nil, length: Int64? = nil,
            sha256: SHA256Digest? = nil,
            message: String = "", retryAfter: Double? = nil, isChecked: Bool = false
        ) {
            self.status = status
            self.address = address
            self.offset = offset
            self.length = length
            self.sha256 = sha256
            self.message = message
            self.retryAfter = retryAfter
            self.isChecked = isChecked
        }
    }

    package enum Outcome: Sendable {
        /// The ledger has changed: write it down and go on. `progressed`: more than ever before is acknowledged.
        case goOn(progressed: Bool)
        /// Send the same request again at once.
        case again
        /// Read the credentials again, then send the same request again.
        case refreshCredentials
        /// The far side's part is of no use or gone: the ledger now describes a new upload.
        case startAnew
        case failed(Fault)
    }

    package private(set) var ledger: TusLedger
    /// What the far side said of the whole file, if it did.
    package private(set) var theirs: SHA256Digest?
    /// Whether `PATCH` has to be sent as `POST`, because something in between does not let it through.
    package private(set) var overridesMethod = false
    /// Whether requests go with checksums.
    package private(set) var sendsChecksums: Bool
    private let remedy: String
    private let checkedRequest: ByteCount?
    private var mustLook: Bool
    private var highest: ByteCount
    private var damages = 0
    private var setbacks = 0
    private var restarts = 0
    private var hasRefreshed = false

    private static let mostDamages = 5
    private static let mostSetbacks = 3
    private static let mostRestarts = 2
    private static let longestAddress = 4096
    private static let smallestRequest = ByteCount.kibibytes(4)

    /// - Parameters:
    ///   - ledger: what is known of the upload.
    ///   - checkedRequest: the most bytes of a request that goes with a checksum; `nil` where the server takes none.
    ///   - remedy: what helps where the server does not accept the token; part of a sentence.
    package init(ledger: TusLedger, checkedRequest: ByteCount?, remedy: String) {
        self.ledger = ledger
        self.checkedRequest = checkedRequest
        sendsChecksums = checkedRequest != nil
        self.remedy = remedy
        // What was acknowledged last time is asked for: more may have arrived, or less may be left.
        mustLook = ledger.address != nil
        highest = ledger.offset
    }

    /// The request that comes next; `nil` when all bytes are there.
    package var next: Request? {
        if ledger.address == nil { return .create }
        if mustLook { return .look }
        let (start, end) = (ledger.offset.value, ledger.fileSize.value)
        if start == end { return nil }
        let bounds = [ledger.largestRequest, sendsChecksums ? checkedRequest : nil].compactMap { $0?.value }
        return .send(start..<min(end, start + (bounds.min() ?? end)))
    }

    /// Judges the answer to `request`.
    package mutating func take(_ response: Response, to request: Request) -> Outcome {
        if (200..<300).contains(response.status) {
            hasRefreshed = false
            return accept(response, to: request)
        }
        switch (response.status, request) {
        case (401, _), (403, _): return refuseCredentials(response)
        case (404, .look), (410, .look), (404, .send), (410, .send):
            return startAnew(
                Fault(.forgotten, "the destination forgets the upload again and again\(detail(response))"))
        case (409, .send):
            return lookAgain(Fault(.conflict, "the destination does not agree on the offset\(detail(response))"))
        case (413, .create):
            return .failed(Fault(.tooLarge, "the destination takes no file of this size\(detail(response))"))
        case (413, .send(let range)): return halve(range, response)
        case (460, .send):
            damages += 1
            guard damages < Self.mostDamages else {
                return .failed(
                    Fault(
                        .damagedOnTheWay,
                        "the destination received other bytes than were sent, \(damages) times in a row; memory, disk or "
                            + "link damages data"))
            }
            return .again
        case (400, .send):
            // An algorithm that it does not know, or a connection that broke on its side.
            if response.isChecked { sendsChecksums = false }
            return lookAgain(refused(response))
        case (405, .send), (501, .send):
            if overridesMethod { return .failed(refused(response)) }
            overridesMethod = true
            return .again
        case (412, _):
            return .failed(
                Fault(.refused, "the destination speaks another version of tus than 1.0.0\(detail(response))"))
        default: return .failed(refused(response))
        }
    }

    /// Holds what the far side has against the sealed copy, once all of it is there.
    ///
    /// - Parameter sha256: of the copy.
    /// - Returns: the receipt; `startAnew` where the far side's file is of no use and the ledger describes a new upload.
    package mutating func judge(sha256: SHA256Digest) -> Result<Receipt, ReceiptProblem> {
        let address = ledger.address ?? ""
        guard let theirs else {
            let proof: Receipt.Proof = ledger.hasUnproven || ledger.fileSize.value == 0 ? .size : .parts
            return .success(Receipt(url: address, size: ledger.fileSize, sha256: nil, proof: proof))
        }
        if theirs == sha256 {
            return .success(Receipt(url: address, size: ledger.fileSize, sha256: theirs, proof: .digest))
        }
        if case .failed(let fault) = startAnew(
            Fault(
                .receiptMismatch,
                "the destination's SHA-256 is not that of the copy, several times over; the copy is kept"))
        {
            return .failure(.failed(fault))
        }
        return .failure(.startAnew)
    }

    // MARK: - Answers

    private mutating func accept(_ response: Response, to request: Request) -> Outcome {
        theirs = response.sha256 ?? theirs
        switch request {
        case .create:
            guard let address = response.address, address.utf8.count <= Self.longestAddress else {
                // What is not even a creation may be a log-in page in between.
                return .failed(
                    Fault(
                        .invalidAnswer,
                        "the destination answered \(response.status) and named no address to upload to; is it a tus server?",
                        retry: response.status == 201 ? .never : .later(after: response.retryAfter)))
            }
            ledger.address = address
            return .goOn(progressed: false)
        case .look:
            guard let offset = response.offset else {
                return setBack(
                    Fault(
                        .invalidAnswer, "the destination does not say how much it has; what stands in between?",
                        retry: .later(after: response.retryAfter)))
            }
            if response.length.map({ $0 != ledger.fileSize.value }) == true || offset > ledger.fileSize.value {
                return startAnew(
                    Fault(.conflict, "the destination has another file under this address, again and again"))
            }
            mustLook = false
            // What arrived of a request that broke off was never checked.
            if offset > ledger.offset.value { ledger.hasUnproven = true }
            ledger.offset = ByteCount(offset)
            return .goOn(progressed: noteProgress())
        case .send(let range):
            guard let offset = response.offset, offset <= range.upperBound, offset >= 0 else {
                mustLook = true
                return setBack(
                    Fault(
                        .invalidAnswer, "the destination answered \(response.status), but not how much it has",
                        retry: .later(after: response.retryAfter)))
            }
            damages = 0
            if offset > range.lowerBound, !response.isChecked { ledger.hasUnproven = true }
            ledger.offset = ByteCount(offset)
            if offset <= range.lowerBound {
                return setBack(Fault(.conflict, "the destination takes nothing of what is sent\(detail(response))"))
            }
            return .goOn(progressed: noteProgress())
        }
    }

    private mutating func refuseCredentials(_ response: Response) -> Outcome {
        guard hasRefreshed else {
            hasRefreshed = true
            return .refreshCredentials
        }
        return .failed(ServerStatus.notAccepted(response.status, detail: detail(response), remedy: remedy))
    }

    private mutating func halve(_ range: Range<Int64>, _ response: Response) -> Outcome {
        let smaller = ByteCount(Int64(range.count) / 2)
        guard smaller >= Self.smallestRequest else {
            return .failed(
                Fault(
                    .tooLarge, "the destination refuses even \(ByteCount(Int64(range.count)).forReading) as too large"))
        }
        ledger.largestRequest = smaller
        mustLook = true
        return .goOn(progressed: false)
    }

    // MARK: - Bounds

    private mutating func noteProgress() -> Bool {
        guard ledger.offset > highest else { return false }
        highest = ledger.offset
        setbacks = 0
        return true
    }

    private mutating func setBack(_ fault: Fault) -> Outcome {
        setbacks += 1
        return setbacks > Self.mostSetbacks ? .failed(fault) : .goOn(progressed: false)
    }

    private mutating func lookAgain(_ fault: Fault) -> Outcome {
        mustLook = true
        return setBack(fault)
    }

    private mutating func startAnew(_ fault: Fault) -> Outcome {
        guard restarts < Self.mostRestarts else { return .failed(fault) }
        restarts += 1
        let largest = ledger.largestRequest
        ledger = TusLedger(seal: ledger.seal, fileSize: ledger.fileSize)
        ledger.largestRequest = largest
        theirs = nil
        mustLook = false
        highest = ByteCount(0)
        return .startAnew
    }

    // MARK: - Words

    private func refused(_ response: Response) -> Fault {
        ServerStatus.fault(response.status, detail: detail(response), retryAfter: response.retryAfter)
    }

    private func detail(_ response: Response) -> String {
        response.message.isEmpty ? "" : ": “\(response.message.prefix(200).description.printable)”"
    }
}
