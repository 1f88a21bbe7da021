import Checksums
package import Diagnostics
import FoundationEssentials
import HTTPClient
package import IngestModel
package import SystemIO

/// A server of the block protocol.
package struct BlockDestination: Destination {
    private let access: ServerAccess
    private let dataKey: String
    private let crashPoints: CrashPoints
    private let log: Log

    private static let answerTimeout = 120.0
    /// The last block's answer may have to wait for the whole file to be read, hashed and synced over there.
    private static let lastAnswerTimeout = 900.0

    /// - Parameters:
    ///   - access: the server.
    ///   - dataKey: the key under which its answers stand.
    ///   - crashPoints: where to end, for tests.
    ///   - log: where answers are told.
    package init(
        _ access: ServerAccess, dataKey: String = BlockWire.defaultDataKey, crashPoints: CrashPoints = .none,
        log: Log = .none
    ) {
        self.access = access
        self.dataKey = dataKey
        self.crashPoints = crashPoints
        self.log = log
    }

    package func upload(
        _ source: UploadSource, from remote: RemoteState?, ledger: any UploadLedger
    ) async throws -> Receipt {
        let authorisation = try access.authorisation()
        var (upload, isFresh) = try await begin(source, from: remote, ledger: ledger)
        var session = Session(url: access.url, authorisation: authorisation)
        do {
            return try await run(&upload, source, &session, ledger)
        } catch {
            // No trace over there: nothing that would ever have to be dropped.
            if isFresh, !session.mayHaveOpened { try await ledger.forget() }
            throw error
        }
    }

    private func run(
        _ upload: inout BlockUpload, _ source: UploadSource, _ session: inout Session, _ ledger: any UploadLedger
    ) async throws -> Receipt {
        while true {
            let request = upload.next
            crashPoints.reach(request == .open ? .beforeOpen : .beforeBlock)
            let response = try await send(request, of: upload, source: source, session: &session, ledger: ledger)
            if !(400..<500).contains(response.status) || request != .open { session.mayHaveOpened = true }
            let outcome = upload.take(response, to: request, newKey: UUID())
            log.debug("answer", ["request": "\(request)", "status": "\(response.status)"])
            switch outcome {
            case .goOn(let progressed):
                crashPoints.reach(request == .open ? .afterOpenAnswered : .afterBlockAnswered)
                try await ledger.save(.block(upload.ledger), progressed: progressed)
                crashPoints.reach(request == .open ? .afterOpenStored : .afterBlockStored)
                source.passed(upload.ledger.acknowledged.value)
            case .again: break
            case .refreshCredentials: session.authorisation = try access.authorisation()
            case .startAnew:
                if response.status == 413 { try await ledger.remember(upload.ledger.blockSize, for: access.url.origin) }
                try await ledger.abandon(replacement: .block(upload.ledger))
            case .complete(let answer):
                crashPoints.reach(.afterReceiptAnswered)
                let digest = try await source.digest()
                switch upload.judge(answer, size: source.seal.size, sha256: digest, newKey: UUID()) {
                case .success(let receipt): return receipt
                case .failure(.startAnew): try await ledger.abandon(replacement: .block(upload.ledger))
                case .failure(.failed(let fault)): throw fault
                }
            case .failed(let fault): throw fault
            }
        }
    }

    /// The machine for what the ledger holds, or for a new upload whose intent is stored.
    private func begin(
        _ source: UploadSource, from remote: RemoteState?, ledger: any UploadLedger
    ) async throws -> (BlockUpload, isFresh: Bool) {
        if case .block(let known) = remote, known.seal == source.seal.id, known.fileSize == source.seal.size,
            let upload = BlockUpload(ledger: known, dataKey: dataKey, remedy: access.remedy)
        {
            return (upload, false)
        }
        let remembered = try await ledger.blockSize(for: access.url.origin)
        let blockSize = min(remembered ?? source.blockSize, source.blockSize)
        let fresh = BlockLedger(
            seal: source.seal.id, key: UUID(), fileSize: source.seal.size, blockSize: blockSize)
        guard let upload = BlockUpload(ledger: fresh, dataKey: dataKey, remedy: access.remedy) else {
            throw Fault(.refused, "a block size of 0 bytes makes no blocks")
        }
        if remote == nil {
            try await ledger.save(.block(fresh), progressed: false)
        } else {
            try await ledger.abandon(replacement: .block(fresh))
        }
        return (upload, true)
    }

    // MARK: - Requests

    /// Where requests go and what they show; changes with redirects and renewed credentials.
    private struct Session {
        var url: ServerURL
        var authorisation: Authorisation
        /// Whether an opening may have arrived, answered or not.
        var mayHaveOpened = false
    }

    private func send(
        _ request: BlockUpload.Request, of upload: BlockUpload, source: UploadSource, session: inout Session,
        ledger: any UploadLedger
    ) async throws -> BlockUpload.Response {
        let block = try await content(of: request, source: source)
        let answer = try await access.send(
            from: session.url, session.authorisation, mayHaveArrived: &session.mayHaveOpened
        ) { target, authorisation in
            var http = self.request(
                upload.ledger, to: target, token: authorisation.token, name: source.name, block: block)
            if let block {
                http.limiters = source.limiters
                if block.number == upload.totalCount { http.answerTimeout = Self.lastAnswerTimeout }
                let framing = http.body.count - block.bytes.count
                http.onSent = { ledger.inFlight(max(0, $0 - framing)) }
            }
            return http
        }
        session.url = answer.target
        let response = answer.response
        if (200..<300).contains(response.status), response.bytesSent < answer.request.body.count {
            throw Fault(
                .invalidAnswer, "the destination answered before it had the whole block", retry: .later(after: nil))
        }
        return BlockUpload.Response(
            status: response.status, body: response.body,
            retryAfter: RetryAfter.seconds(response.header("Retry-After"), now: Date()))
    }

    /// The bytes of a block with their CRC; `nil` for an opening.
    private func content(
        of request: BlockUpload.Request, source: UploadSource
    ) async throws -> (number: Int64, bytes: FileSlice, crc: CRC32Value)? {
        guard case .block(let number, let range) = request else { return nil }
        let file = source.file
        guard let crc = try await offPool({ _ in try CRC32.value(of: range, in: file.descriptor) }) else {
            throw Fault(.copyChanged, "its copy in the cache became shorter while it was uploaded")
        }
        return (number, FileSlice(file: file, range: range), crc)
    }

    /// One request of the protocol: an opening, or with `block` the bytes of a block and their CRC.
    private func request(
        _ state: BlockLedger, to target: ServerURL, token: String, name: String,
        block: (number: Int64, bytes: FileSlice, crc: CRC32Value)? = nil
    ) -> HTTPRequest {
        var fields: [(name: String, value: String)] = [
            (BlockWire.Field.sequenceNo, "\(block?.number ?? 0)"),
            (BlockWire.Field.blockSize, "\(state.blockSize.value)"),
            (BlockWire.Field.fileSize, "\(state.fileSize.value)"),
            (BlockWire.Field.suffix, Self.suffix(of: name)),
            (BlockWire.Field.token, token),
        ]
        if let block {
            fields.append((BlockWire.Field.uploadToken, state.token ?? ""))
            fields.append((BlockWire.Field.crc, block.crc.hex))
        }
        let form = MultipartForm(
            fields: fields, fileField: BlockWire.Field.block, fileName: name,
            boundary: "ingest-" + Hex.text(Secret.randomBytes(count: 16)))
        let content: [HTTPBody.Piece] = block.map { [.file($0.bytes)] } ?? []
        return HTTPRequest(
            .post, target.text,
            headers: [
                ("Content-Type", form.contentType),
                (BlockWire.Header.idempotencyKey, state.key.uuidString.lowercased()),
            ],
            body: HTTPBody([.bytes(form.head)] + content + [.bytes(form.tail)]), answerTimeout: Self.answerTimeout)
    }

    /// The extension, as far as it is one that a server can use.
    private static func suffix(of name: String) -> String {
        guard let text = FileName(name).map({ String(decoding: $0.fileExtension, as: UTF8.self) }) else {
            return ""
        }
        let isPlain = text.utf8.count <= 16 && text.allSatisfy { $0.isLetter || $0.isNumber || $0 == "_" || $0 == "-" }
        return isPlain ? text : ""
    }

    // MARK: - Giving up

    package func abandon(_ remote: RemoteState, named name: String) async throws -> Abandonment {
        guard case .block(var state) = remote, let plan = state.plan else { return .leftToExpire }
        if state.token == nil { state.token = try await askForToken(state, plan: plan, name: name) }
        guard let token = state.token else { return .leftToExpire }
        crashPoints.reach(.beforeAbandon)
        let response = try await delete(token)
        crashPoints.reach(.afterAbandon)
        return try Abandonment(response)
    }

    private func delete(_ token: String) async throws -> HTTPResponse {
        var mayHaveArrived = false
        return try await access.send(
            from: access.url, access.authorisation(), mayHaveArrived: &mayHaveArrived
        ) { target, _ in
            HTTPRequest(.delete, target.text, headers: [(BlockWire.Header.uploadToken, token)])
        }.response
    }

    /// An opening whose answer never came may have made an upload: opened again under the same key, it says which.
    private func askForToken(_ state: BlockLedger, plan: BlockPlan, name: String) async throws -> String? {
        // A file of 0 bytes is complete with its opening: there is nothing to drop, and asking would create it.
        guard plan.totalCount > 0, var machine = BlockUpload(ledger: state, dataKey: dataKey, remedy: access.remedy)
        else { return nil }
        var mayHaveArrived = false
        let response = try await access.send(
            from: access.url, access.authorisation(), mayHaveArrived: &mayHaveArrived
        ) { target, authorisation in
            request(state, to: target, token: authorisation.token, name: name)
        }.response
        let outcome = machine.take(
            BlockUpload.Response(status: response.status, body: response.body), to: .open, newKey: UUID())
        switch outcome {
        case .goOn: return machine.ledger.token
        case .failed(let fault) where fault.isTemporary: throw fault
        case .failed, .complete, .again, .startAnew, .refreshCredentials: return nil
        }
    }
}
