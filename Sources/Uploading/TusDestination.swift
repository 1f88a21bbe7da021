import Checksums
package import Diagnostics
import FoundationEssentials
import HTTPClient
package import IngestModel
package import SystemIO

/// A server of tus 1.0 (tus.io, resumable upload protocol 1.0.x), with what it offers.
package struct TusDestination: Destination {
    private let access: ServerAccess
    private let crashPoints: CrashPoints
    private let log: Log

    private static let version = "1.0.0"
    private static let answerTimeout = 120.0
    /// An answer may have to wait until all that was sent has been written over there.
    private static let sendingTimeout = 900.0
    /// With checksums each request carries one, so that no more than this is sent again.
    package static let checkedRequest = ByteCount.kibibytes(16 << 10)
    private let checkedRequest: ByteCount

    /// - Parameters:
    ///   - access: the server; its URL is where uploads are created.
    ///   - checkedRequest: the most bytes of a request that goes with a checksum.
    ///   - crashPoints: where to end, for tests.
    ///   - log: where answers are told.
    package init(
        _ access: ServerAccess, checkedRequest: ByteCount = Self.checkedRequest, crashPoints: CrashPoints = .none,
        log: Log = .none
    ) {
        self.checkedRequest = checkedRequest
        self.access = access
        self.crashPoints = crashPoints
        self.log = log
    }

    package func upload(
        _ source: UploadSource, from remote: RemoteState?, ledger: any UploadLedger
    ) async throws -> Receipt {
        var session = Session(authorisation: try access.authorisation())
        let offer = try await offer(&session)
        if let largest = offer.largestFile, largest < source.seal.size {
            throw Fault(
                .tooLarge,
                "the destination takes files of \(largest.forReading) at most, and this has \(source.seal.size.forReading)"
            )
        }
        var (upload, isFresh) = try await begin(source, offer, from: remote, ledger: ledger)
        session.mayHaveOpened = false
        do {
            return try await run(&upload, offer, source, &session, ledger)
        } catch {
            // No trace over there: nothing that would ever have to be dropped.
            if isFresh, !session.mayHaveOpened { try await ledger.forget() }
            throw error
        }
    }

    private func run(
        _ upload: inout TusUpload, _ offer: TusOffer, _ source: UploadSource, _ session: inout Session,
        _ ledger: any UploadLedger
    ) async throws -> Receipt {
        while true {
            guard let request = upload.next else {
                crashPoints.reach(.afterReceiptAnswered)
                switch upload.judge(sha256: try await source.digest()) {
                case .success(let receipt): return receipt
                case .failure(.startAnew): try await ledger.abandon(replacement: .tus(upload.ledger))
                case .failure(.failed(let fault)): throw fault
                }
                continue
            }
            crashPoints.reach(request == .create ? .beforeOpen : .beforeBlock)
            let response = try await send(request, of: upload, offer, source, &session, ledger)
            if !(400..<500).contains(response.status) || request != .create { session.mayHaveOpened = true }
            log.debug("answer", ["request": "\(request)", "status": "\(response.status)"])
            switch upload.take(response, to: request) {
            case .goOn(let progressed):
                crashPoints.reach(request == .create ? .afterOpenAnswered : .afterBlockAnswered)
                try await ledger.save(.tus(upload.ledger), progressed: progressed)
                crashPoints.reach(request == .create ? .afterOpenStored : .afterBlockStored)
                source.passed(upload.ledger.offset.value)
            case .again: break
            case .refreshCredentials: session.authorisation = try access.authorisation()
            case .startAnew: try await ledger.abandon(replacement: .tus(upload.ledger))
            case .failed(let fault): throw fault
            }
        }
    }

    /// The machine for what the ledger holds, or for a new upload whose intent is stored.
    private func begin(
        _ source: UploadSource, _ offer: TusOffer, from remote: RemoteState?, ledger: any UploadLedger
    ) async throws -> (TusUpload, isFresh: Bool) {
        let checkedRequest = Self.algorithm(of: offer) == nil ? nil : checkedRequest
        if case .tus(let known) = remote, known.seal == source.seal.id, known.fileSize == source.seal.size {
            return (TusUpload(ledger: known, checkedRequest: checkedRequest, remedy: access.remedy), false)
        }
        let fresh = TusLedger(seal: source.seal.id, fileSize: source.seal.size)
        if remote == nil {
            try await ledger.save(.tus(fresh), progressed: false)
        } else {
            try await ledger.abandon(replacement: .tus(fresh))
        }
        return (TusUpload(ledger: fresh, checkedRequest: checkedRequest, remedy: access.remedy), true)
    }

    // MARK: - Requests

    /// What requests show; changes with renewed credentials.
    private struct Session {
        var authorisation: Authorisation
        /// Whether a creation may have arrived, answered or not.
        var mayHaveOpened = false
    }

    /// What the server can do. One that does not answer the question has the core and can create uploads, or says so itself.
    private func offer(_ session: inout Session) async throws -> TusOffer {
        let response = try await askForOptions(&session)
        guard (200..<300).contains(response.status) else { return TusOffer() }
        return TusOffer(
            extensions: response.header("Tus-Extension"), largestFile: response.header("Tus-Max-Size"),
            checksums: response.header("Tus-Checksum-Algorithm"))
    }

    /// Whether the server says that it speaks this protocol.
    ///
    /// - Throws: a `Fault` where it cannot be asked now; `CancellationError`.
    func isSpoken() async throws -> Bool {
        var session = Session(authorisation: try access.authorisation())
        let response = try await askForOptions(&session)
        switch response.status {
        case 200..<300: return response.header("Tus-Resumable") != nil || response.header("Tus-Version") != nil
        // Whoever says this does not speak for the server behind it.
        case 429, 502...504: throw ServerStatus.fault(response.status, detail: "", retryAfter: nil)
        default: return false
        }
    }

    private func askForOptions(_ session: inout Session) async throws -> HTTPResponse {
        try await access.send(
            from: access.url, session.authorisation, mayHaveArrived: &session.mayHaveOpened
        ) { target, authorisation in
            HTTPRequest(
                .options, target.text, headers: Self.headers([], authorisation), answerTimeout: Self.answerTimeout)
        }.response
    }

    private func send(
        _ request: TusUpload.Request, of upload: TusUpload, _ offer: TusOffer, _ source: UploadSource,
        _ session: inout Session, _ ledger: any UploadLedger
    ) async throws -> TusUpload.Response {
        switch request {
        case .create:
            let fields = [
                ("Tus-Resumable", Self.version), ("Upload-Length", "\(upload.ledger.fileSize.value)"),
                ("Upload-Metadata", Self.metadata(of: source)),
            ]
            let answer = try await access.send(
                from: access.url, session.authorisation, mayHaveArrived: &session.mayHaveOpened
            ) { target, authorisation in
                HTTPRequest(
                    .post, target.text, headers: Self.headers(fields, authorisation), answerTimeout: Self.answerTimeout)
            }
            return try read(answer, isChecked: false)
        case .look:
            let answer = try await access.send(
                from: try address(of: upload.ledger), session.authorisation, mayHaveArrived: &session.mayHaveOpened
            ) { target, authorisation in
                HTTPRequest(
                    .head, target.text, headers: Self.headers([("Tus-Resumable", Self.version)], authorisation),
                    answerTimeout: Self.answerTimeout)
            }
            return try read(answer, isChecked: false)
        case .send(let range):
            let algorithm = upload.sendsChecksums ? Self.algorithm(of: offer) : nil
            var fields = [
                ("Tus-Resumable", Self.version), ("Upload-Offset", "\(range.lowerBound)"),
                ("Content-Type", "application/offset+octet-stream"),
            ]
            if let algorithm {
                fields.append(("Upload-Checksum", try await checksum(algorithm, of: range, source)))
            }
            if upload.overridesMethod { fields.append(("X-HTTP-Method-Override", "PATCH")) }
            let slice = FileSlice(file: source.file, range: range)
            let overridesMethod = upload.overridesMethod
            let answer = try await access.send(
                from: try address(of: upload.ledger), session.authorisation, mayHaveArrived: &session.mayHaveOpened
            ) { target, authorisation in
                var http = HTTPRequest(
                    overridesMethod ? .post : .patch, target.text, headers: Self.headers(fields, authorisation),
                    body: HTTPBody([.file(slice)]), answerTimeout: Self.sendingTimeout)
                http.limiters = source.limiters
                http.onSent = {
                    ledger.inFlight($0)
                    // A request may carry all of it: the digest is taken meanwhile.
                    source.passed(range.lowerBound + $0)
                }
                return http
            }
            return try read(answer, isChecked: algorithm != nil)
        }
    }

    private static func headers(
        _ fields: [(String, String)], _ authorisation: Authorisation
    ) -> [(name: String, value: String)] {
        let bearer = authorisation.token.isEmpty ? [] : [("Authorization", "Bearer \(authorisation.token)")]
        return (fields + bearer).map { (name: $0.0, value: $0.1) }
    }

    private func address(of ledger: TusLedger) throws(Fault) -> ServerURL {
        guard let text = ledger.address, let url = try? ServerURL(text) else {
            throw Fault(.invalidAnswer, "the destination named an address to upload to that is none")
        }
        return url
    }

    private func read(_ answer: ServerAccess.Answer, isChecked: Bool) throws(Fault) -> TusUpload.Response {
        let response = answer.response
        func number(_ name: String) -> Int64? { response.header(name).flatMap { BlockWire.number($0) } }
        return TusUpload.Response(
            status: response.status, address: try location(response, from: answer.request.url),
            offset: number("Upload-Offset"), length: number("Upload-Length"),
            sha256: response.header("Repr-Digest").flatMap { Self.sha256(inDigests: $0) },
            message: String(decoding: response.body.prefix(200), as: UTF8.self),
            retryAfter: RetryAfter.seconds(response.header("Retry-After"), now: Date()), isChecked: isChecked)
    }

    /// Where the upload is. A server behind a proxy may not know that it is reached by TLS: what was sealed stays so.
    private func location(_ response: HTTPResponse, from base: String) throws(Fault) -> String? {
        guard let text = response.header("Location"), var target = HTTPClient.resolve(text, against: base) else {
            return nil
        }
        if base.hasPrefix("https://"), target.hasPrefix("http://") { target = "https://" + target.dropFirst(7) }
        return (try? ServerURL(target))?.text
    }

    // MARK: - What goes along

    /// `Upload-Metadata`: the name, what kind of file it is, and its digest if that is known.
    private static func metadata(of source: UploadSource) -> String {
        let suffix = FileName(source.name).map { String(decoding: $0.fileExtension, as: UTF8.self).lowercased() } ?? ""
        var pairs = [("filename", source.name), ("filetype", types[suffix] ?? "application/octet-stream")]
        if let digest = source.knownDigest { pairs.append(("sha256", digest.hex)) }
        return pairs.map { "\($0) \(Data($1.utf8).base64EncodedString())" }.joined(separator: ",")
    }

    private static let types = [
        "mp4": "video/mp4", "m4v": "video/mp4", "mov": "video/quicktime", "mkv": "video/x-matroska",
        "webm": "video/webm",
        "avi": "video/x-msvideo", "ts": "video/mp2t", "mts": "video/mp2t", "m2ts": "video/mp2t", "mpg": "video/mpeg",
        "mxf": "application/mxf", "flv": "video/x-flv", "3gp": "video/3gpp",
    ]

    /// The strongest first.
    private static let algorithms: [(name: String, digest: MessageDigest)] = [
        ("sha256", .sha256), ("sha1", .sha1),
    ]

    private static func algorithm(of offer: TusOffer) -> (name: String, digest: MessageDigest)? {
        algorithms.first { offer.checksums.contains($0.name) }
    }

    private func checksum(
        _ algorithm: (name: String, digest: MessageDigest), of range: Range<Int64>, _ source: UploadSource
    ) async throws -> String {
        let (file, digest) = (source.file, algorithm.digest)
        let bytes = try await offPool { _ in try digest.value(of: range, in: file.descriptor) }
        guard let bytes else {
            throw Fault(.copyChanged, "its copy in the cache became shorter while it was uploaded")
        }
        return "\(algorithm.name) \(Data(bytes).base64EncodedString())"
    }

    /// The SHA-256 in a `Repr-Digest` (RFC 9530, section 3): a dictionary of byte sequences between colons.
    private static func sha256(inDigests header: String) -> SHA256Digest? {
        for part in header.split(separator: ",") {
            let pair = part.split(separator: "=", maxSplits: 1)
            guard pair.count == 2, pair[0].filter({ $0 != " " }) == "sha-256" else { continue }
            let text = pair[1].filter { $0 != ":" && $0 != " " }
            return Data(base64Encoded: String(text)).flatMap { SHA256Digest(bytes: Array($0)) }
        }
        return nil
    }

    // MARK: - Giving up

    package func abandon(_ remote: RemoteState, named name: String) async throws -> Abandonment {
        guard case .tus(let ledger) = remote, ledger.address != nil else { return .leftToExpire }
        crashPoints.reach(.beforeAbandon)
        var mayHaveArrived = false
        let response = try await access.send(
            from: try address(of: ledger), try access.authorisation(), mayHaveArrived: &mayHaveArrived
        ) { target, authorisation in
            HTTPRequest(
                .delete, target.text, headers: Self.headers([("Tus-Resumable", Self.version)], authorisation))
        }.response
        crashPoints.reach(.afterAbandon)
        return try Abandonment(response)
    }
}
