import Checksums
package import Diagnostics
import FoundationEssentials
package import HTTPServer
package import IngestModel
import Synchronization
import SystemIO

/// The server side of the block protocol: `POST` and `DELETE /upload`, finished files under `/received/`.
package final class Receiver: Sendable {
    /// Where it listens; the port that was picked if none was given.
    package var address: ListenAddress { server.address }
    /// Where finished files lie.
    package var directory: FilePath { core.store.directory }

    private let core: ReceiverCore
    private let server: HTTPServer

    /// Opens the store and listens.
    ///
    /// - Throws: `ReceiverError` in words.
    package init(
        store directory: FilePath, listen address: ListenAddress, settings: ReceiverSettings, log: Log
    ) throws {
        do {
            let live = LiveReceiverSettings(settings)
            core = ReceiverCore(
                store: try ReceiverStore(directory: directory, settings: live), settings: live, log: log)
        } catch {
            throw ReceiverError(description: "the store \(directory.text.printable) cannot be used: \(error)")
        }
        do {
            var limits = HTTPServer.Limits()
            limits.longestBody = settings.longestBody
            server = try HTTPServer(listen: address, limits: limits, handler: core)
        } catch {
            throw ReceiverError(description: error.description)
        }
        let dropper = WeakServer(server)
        core.dropConnection.withLock { $0 = { dropper.server?.drop(connection: $0) } }
        core.startSweeping()
    }

    /// Other settings from now on. Limits on the size of blocks stay what they were at the start.
    package func adopt(_ settings: ReceiverSettings) {
        core.live.replace(settings)
    }

    /// How many uploads are being written just now. Asks the database too, so that whoever gets an answer knows that requests
    /// get theirs. Blocks as long as they would.
    package func uploadsComingIn() throws -> Int {
        _ = try core.store.find(token: "")
        return core.writerCount
    }

    package func stop() {
        core.stopSweeping()
        server.stop()
    }
}

/// The receiver cannot begin.
package struct ReceiverError: Error, CustomStringConvertible {
    package let description: String
}

private final class WeakServer: Sendable {
    weak let server: HTTPServer?

    init(_ server: HTTPServer) {
        self.server = server
    }
}

/// The lock on an upload; ends with its owner.
final class UploadLock {
    private let lock: ByteLock
    private let ending: () -> Void

    /// - Parameters:
    ///   - lock: the lock itself.
    ///   - ending: called before it is let go.
    init(_ lock: consuming ByteLock, ending: @escaping () -> Void) {
        self.lock = lock
        self.ending = ending
    }

    deinit {
        ending()
    }
}

/// What requests work with.
final class ReceiverCore: RequestHandler {
    let store: ReceiverStore
    let live: LiveReceiverSettings
    private var settings: ReceiverSettings { live.current }
    private let log: Log
    let dropConnection = Mutex<@Sendable (Int) -> Void>({ _ in })
    /// Which connection writes which upload, so that a client that comes back on a new one need not wait for the old
    /// one's time-out.
    private let writers = Mutex<[Int64: Int]>([:])
    private let isStopped = StopFlag()

    private static let uploadPath = "/upload"
    private static let filesPath = "/received/"
    /// Seconds that a clock may gain or lose in an hour without having been set.
    private static let clockSlack = 600.0

    init(store: ReceiverStore, settings: LiveReceiverSettings, log: Log) {
        self.store = store
        live = settings
        self.log = log
    }

    var writerCount: Int { writers.withLock { $0.count } }

    // MARK: - Requests

    func begin(_ head: RequestHead) -> RequestAction {
        switch (head.method, head.path) {
        case ("POST", Self.uploadPath): beginUpload(head)
        case ("DELETE", Self.uploadPath): .respond(drop(head))
        case ("GET", _) where head.path.hasPrefix(Self.filesPath),
            ("HEAD", _) where head.path.hasPrefix(Self.filesPath):
            .respond(file(head))
        case (_, Self.uploadPath):
            .respond(.refusal(Refusal(405, .other, "use POST or DELETE"), allow: "POST, DELETE"))
        case (_, _) where head.path.hasPrefix(Self.filesPath):
            .respond(.refusal(Refusal(405, .other, "use GET or HEAD"), allow: "GET, HEAD"))
        default: .respond(.refusal(Refusal(404, .other, "there is nothing here; uploads go to \(Self.uploadPath)")))
        }
    }

    private func beginUpload(_ head: RequestHead) -> RequestAction {
        guard let boundary = head.headers["content-type"].flatMap({ MultipartParser.boundary(inContentType: $0) })
        else { return .respond(.refusal(.field("Content-Type", "is not multipart/form-data with a boundary"))) }
        if let length = head.contentLength, length > settings.longestBody {
            return .respond(.refusal(Refusal(413, .other, "the body is too large")))
        }
        return .receive(BlockSink(receiver: self, head: head, boundary: boundary))
    }

    private func drop(_ head: RequestHead) -> ServerResponse {
        do {
            guard let token = head.headers[BlockWire.Header.uploadToken.lowercased()],
                let found = try store.find(token: token), found.finishedName == nil
            else { return .refusal(.unknown) }
            let lock = try lock(found, for: head.connection)
            // It may have been completed before the lock was ours.
            guard let record = try store.find(token: token), record.finishedName == nil
            else { return .refusal(.unknown) }
            try store.drop(record)
            _ = consume lock
            log.info("dropped an upload", ["name": record.fileName])
            return ServerResponse(status: 204)
        } catch {
            return .refusal(refusal(for: error))
        }
    }

    private func file(_ head: RequestHead) -> ServerResponse {
        let name = String(head.path.dropFirst(Self.filesPath.count))
        do {
            let shown = head.query["token"] ?? head.headers["authorization"].map { Self.bearer($0) } ?? ""
            try authorise(shown)
            // What came while a token was demanded has a name that can be guessed.
            let isReachable = settings.token != nil || StoredName.isUnguessable(name)
            guard isReachable, let file = try store.finishedFile(named: name) else {
                return .refusal(Refusal(404, .other, "there is no such file"))
            }
            return try FileResponse.make(file, name: name, range: head.headers["range"])
        } catch let error as SystemError where error.isNotFound {
            return .refusal(Refusal(404, .other, "there is no such file"))
        } catch {
            return .refusal(refusal(for: error))
        }
    }

    private static func bearer(_ header: String) -> String {
        header.lowercased().hasPrefix("bearer ") ? String(header.dropFirst("bearer ".count)) : ""
    }

    // MARK: - For sinks

    /// - Throws: `Refusal` if a token is wanted and this is not it. The comparison takes the same time for every token of
    ///   a length.
    func authorise(_ shown: String) throws(Refusal) {
        guard let wanted = settings.token else { return }
        guard Secret.isEqual(Array(shown.utf8), Array(wanted.utf8)) else {
            throw Refusal(401, .token, "the token is missing or wrong")
        }
    }

    /// How long a block may be that comes before its fields; short where its sender has not shown a token yet.
    var largestSpool: Int64 { settings.token == nil ? settings.largestBlock.value : 2 << 20 }

    /// The lock on an upload for this connection; cuts off an older connection of this process that holds it.
    func lock(_ record: UploadRecord, for connection: Int) throws -> UploadLock {
        for attempt in 0..<500 {
            if let lock = try store.lock(record) {
                writers.withLock { $0[record.id] = connection }
                let id = record.id
                return UploadLock(lock) { [self] in
                    writers.withLock { writers in
                        if writers[id] == connection { writers[id] = nil }
                    }
                }
            }
            if attempt == 0, let older = writers.withLock({ $0[record.id] }), older != connection {
                dropConnection.withLock { $0 }(older)
            }
            Pause.briefly()
        }
        throw Refusal(503, .other, "another request writes this upload", retryAfter: 1)
    }

    func answer(toOpening record: UploadRecord, head: RequestHead) throws -> BlockAnswer {
        var record = record
        if record.isComplete, record.finishedName == nil {
            let lock = try lock(record, for: head.connection)
            // Somebody else may have opened it under the same key, and finished it meanwhile.
            guard let current = try store.find(token: record.token) else { throw Refusal.unknown }
            record = current
            if record.finishedName == nil {
                let file = try FileSystem.open(store.partPath(of: record.token), .readingAndWriting)
                record = try store.finish(record, in: SharedDescriptor(file))
            }
            _ = consume lock
        } else if record.finishedName != nil {
            try store.publish(record)
        }
        return answer(for: record, head: head)
    }

    func answer(for record: UploadRecord, head: RequestHead) -> BlockAnswer {
        var answer = BlockAnswer(receivedCount: record.received)
        answer.uploadToken = record.token
        guard let name = record.finishedName else { return answer }
        answer.fileURL = base(head) + Self.filesPath + Self.percentEncoded(name)
        answer.size = record.plan.fileSize.value
        answer.sha256 = record.sha256?.hex
        answer.receivedCount = record.plan.totalCount
        log.info("received", ["file": name.text, "size": record.plan.fileSize.forReading])
        return answer
    }

    func refusal(for error: any Error) -> Refusal {
        if let refusal = error as? Refusal { return refusal }
        if let system = error as? SystemError, system.isOutOfSpace {
            return Refusal(507, .space, "the store is full")
        }
        log.error("the store failed", ["reason": "\(error)"])
        return .storeFailed
    }

    private func base(_ head: RequestHead) -> String {
        if let url = settings.publicURL { return url.hasSuffix("/") ? String(url.dropLast()) : url }
        let host = head.headers["host"] ?? ""
        let isSound =
            !host.isEmpty && host.utf8.count <= 255
            && host.unicodeScalars.allSatisfy {
                $0.isASCII && ($0.properties.isAlphabetic || "0123456789.-:[]".unicodeScalars.contains($0))
            }
        return "http://" + (isSound ? host : "localhost")
    }

    private static func percentEncoded(_ name: FileName) -> String {
        let plain = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~".utf8)
        return name.bytes.map { plain.contains($0) ? String(Unicode.Scalar($0)) : "%" + Hex.text([$0]).uppercased() }
            .joined()
    }

    // MARK: - Sweeping

    /// Completes what a crash left half-published, and from then on drops expired uploads every hour.
    func startSweeping() {
        Thread.detach { [self] in
            var nextSweep = ContinuousClock.now
            var last: (steady: ContinuousClock.Instant, wall: Date)?
            while !isStopped.isSet {
                if ContinuousClock.now >= nextSweep {
                    let (steady, now) = (ContinuousClock.now, Date())
                    do {
                        try store.completePublishing()
                        // A clock that was set says nothing about how long an upload has rested.
                        let passed = last.map { (steady - $0.steady).seconds } ?? 0
                        let wasSet =
                            last.map { abs(now.timeIntervalSince($0.wall) - passed) > Self.clockSlack } ?? false
                        try store.forgiveAges(at: now, all: wasSet)
                        try store.expire(before: now.addingTimeInterval(-settings.expiry))
                    } catch {
                        log.error("expired uploads could not be dropped", ["reason": "\(error)"])
                    }
                    last = (steady, now)
                    nextSweep = .now + .seconds(3600)
                }
                for _ in 0..<100 where !isStopped.isSet { Pause.briefly() }
            }
        }
    }

    func stopSweeping() {
        isStopped.set()
    }
}

extension Duration {
    fileprivate var seconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}

extension ServerResponse {
    static func success(_ answer: BlockAnswer) -> ServerResponse {
        ServerResponse(
            status: 200, headers: [("Content-Type", "application/json")], body: .bytes(BlockJSON.body(answer)))
    }

    static func refusal(_ refusal: Refusal, allow: String? = nil) -> ServerResponse {
        var headers = [(name: "Content-Type", value: "application/json")]
        if let seconds = refusal.retryAfter { headers.append(("Retry-After", "\(seconds)")) }
        if let allow { headers.append(("Allow", allow)) }
        if refusal.status == 401 { headers.append(("WWW-Authenticate", "Bearer")) }
        return ServerResponse(status: refusal.status, headers: headers, body: .bytes(BlockJSON.body(refusal.body)))
    }
}
