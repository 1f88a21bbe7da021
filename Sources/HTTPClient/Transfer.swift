import CCurl
import Glibc
import SystemIO

/// One request under way: a libcurl easy handle and what its callbacks fill. Lives on the client's thread only.
final class Transfer {
    let id: Int
    let handle: UnsafeMutableRawPointer
    let request: HTTPRequest
    private let continuation: CheckedContinuation<HTTPResponse, any Error>
    private var headerList: UnsafeMutablePointer<curl_slist>?
    private var errorText: UnsafeMutablePointer<CChar>

    private var headers: [(name: String, value: String)] = []
    private var headerBytes = 0
    private var body: [UInt8] = []
    private var position: Int64 = 0
    private var failure: HTTPClientError?
    private(set) var isPaused = false
    /// When something last moved, or could not because a limiter held it back.
    private var lastMove = SteadyClock.now
    private var sentAllAt: Double?

    private static let connectTimeout = 20.0
    private static let stallTimeout = 60.0
    private static let userTimeout: UInt32 = 45_000
    private static let largestHeaders = 256 << 10

    /// Fails with `badRequest` where libcurl cannot take the request; the continuation is not touched then.
    init(
        id: Int, request: HTTPRequest, proxies: ProxySettings,
        continuation: CheckedContinuation<HTTPResponse, any Error>
    ) throws(HTTPClientError) {
        guard let handle = curl_easy_init() else { throw .badRequest("libcurl has no memory") }
        self.id = id
        self.handle = handle
        self.request = request
        self.continuation = continuation
        errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
        errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        if request.body.count == 0 { sentAllAt = lastMove }
        try configure(proxies)
    }

    deinit {
        curl_easy_cleanup(handle)
        curl_slist_free_all(headerList)
        errorText.deallocate()
    }

    // MARK: - Set-up

    private func configure(_ proxies: ProxySettings) throws(HTTPClientError) {
        try set(CURLOPT_URL, request.url)
        try set(CURLOPT_PROTOCOLS_STR, "http,https")
        try set(CURLOPT_FOLLOWLOCATION, 0)
        try set(CURLOPT_NOSIGNAL, 1)
        try set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
        try set(CURLOPT_CONNECTTIMEOUT_MS, Int(Self.connectTimeout * 1000))
        try set(CURLOPT_USERAGENT, "ingest")
        // libcurl would read the environment by itself if this were not set.
        let common = request.url.lowercased().hasPrefix("https:") ? proxies.https : proxies.http
        try set(CURLOPT_PROXY, request.route.proxy ?? common)
        try set(CURLOPT_NOPROXY, request.route.proxy == nil ? proxies.exceptions : "")
        try configureTrust()
        try set(CURLOPT_BUFFERSIZE, 16 << 10)
        try set(CURLOPT_UPLOAD_BUFFERSIZE, 256 << 10)
        try check(ingest_curl_set_pointer(handle, CURLOPT_ERRORBUFFER, errorText))
        let context = Unmanaged.passUnretained(self).toOpaque()
        try check(ingest_curl_set_pointer(handle, CURLOPT_PRIVATE, context))
        try configureMethod(context)
        try configureHeaders()
        try check(ingest_curl_set_pointer(handle, CURLOPT_HEADERDATA, context))
        try check(
            ingest_curl_set_data_callback(handle, CURLOPT_HEADERFUNCTION) { bytes, size, count, context in
                Transfer.of(context).takeHeader(UnsafeRawBufferPointer(start: bytes, count: size * count))
            })
        try check(ingest_curl_set_pointer(handle, CURLOPT_WRITEDATA, context))
        try check(
            ingest_curl_set_data_callback(handle, CURLOPT_WRITEFUNCTION) { bytes, size, count, context in
                Transfer.of(context).takeBody(UnsafeRawBufferPointer(start: bytes, count: size * count))
            })
        try check(
            ingest_curl_set_socket_callback(handle) { _, socket, _ in
                // A kernel that refuses leaves its own, longer time-outs.
                _ = Sockets.setTimeouts(socket, userTimeoutMilliseconds: Transfer.userTimeout, keepAliveSeconds: 20)
                return CURL_SOCKOPT_OK
            })
    }

    private func configureTrust() throws(HTTPClientError) {
        let route = request.route
        if let authorities = route.certificateAuthorities {
            try set(CURLOPT_CAINFO, authorities)
            // Else the system's authorities would count besides.
            try check(ingest_curl_set_pointer(handle, CURLOPT_CAPATH, nil))
        }
        if let certificate = route.clientCertificate { try set(CURLOPT_SSLCERT, certificate) }
        if let key = route.clientKey { try set(CURLOPT_SSLKEY, key) }
    }

    private func configureMethod(_ context: UnsafeMutableRawPointer) throws(HTTPClientError) {
        switch request.method {
        case .get: try set(CURLOPT_HTTPGET, 1)
        case .head: try set(CURLOPT_NOBODY, 1)
        case .delete, .options: try set(CURLOPT_CUSTOMREQUEST, request.method.rawValue)
        case .post, .patch:
            try set(CURLOPT_POST, 1)
            if request.method != .post { try set(CURLOPT_CUSTOMREQUEST, request.method.rawValue) }
            try check(ingest_curl_set_offset(handle, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(request.body.count)))
            try check(ingest_curl_set_pointer(handle, CURLOPT_READDATA, context))
            try check(
                ingest_curl_set_data_callback(handle, CURLOPT_READFUNCTION) { bytes, size, count, context in
                    Transfer.of(context).giveBody(UnsafeMutableRawBufferPointer(start: bytes, count: size * count))
                })
            try check(ingest_curl_set_pointer(handle, CURLOPT_SEEKDATA, context))
            try check(
                ingest_curl_set_seek_callback(handle) { context, offset, origin in
                    guard origin == SEEK_SET else { return CInt(CURL_SEEKFUNC_CANTSEEK) }
                    Transfer.of(context).rewind(to: Int64(offset))
                    return CInt(CURL_SEEKFUNC_OK)
                })
        }
    }

    private func configureHeaders() throws(HTTPClientError) {
        // Without a value libcurl leaves the header out: `Expect` would cost a second's wait a block.
        var lines = ["Expect:"]
        for header in request.headers {
            guard (header.name + header.value).unicodeScalars.allSatisfy({ $0 != "\r" && $0 != "\n" && $0 != "\0" })
            else { throw .badRequest("a header holds a line end") }
            lines.append(header.value.isEmpty ? "\(header.name);" : "\(header.name): \(header.value)")
        }
        for line in lines {
            guard let list = curl_slist_append(headerList, line) else { throw .badRequest("libcurl has no memory") }
            headerList = list
        }
        try check(ingest_curl_set_list(handle, CURLOPT_HTTPHEADER, headerList))
    }

    private func set(_ option: CURLoption, _ value: Int) throws(HTTPClientError) {
        try check(ingest_curl_set_long(handle, option, value))
    }

    private func set(_ option: CURLoption, _ value: String) throws(HTTPClientError) {
        try check(ingest_curl_set_string(handle, option, value))
    }

    private func check(_ code: CURLcode) throws(HTTPClientError) {
        if code != CURLE_OK { throw .badRequest("libcurl: \(String(cString: curl_easy_strerror(code)))") }
    }

    // MARK: - Callbacks

    /// The transfer that a callback's context stands for. The client keeps it alive as long as libcurl has the handle.
    static func of(_ context: UnsafeMutableRawPointer?) -> Transfer {
        guard let context else { preconditionFailure("every callback was given its transfer") }
        return Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue()
    }

    private func giveBody(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
        let wanted = Int(min(Int64(buffer.count), request.body.count - position))
        if wanted == 0 { return 0 }
        let granted = RateLimiter.take(wanted, from: request.limiters)
        if granted == 0 {
            isPaused = true
            return Int(CURL_READFUNC_PAUSE)
        }
        do {
            let count = try request.body.read(
                at: position, into: UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(granted)))
            position += Int64(count)
            lastMove = SteadyClock.now
            if position == request.body.count { sentAllAt = lastMove }
            request.onSent?(position)
            return count
        } catch {
            failure = .bodyChanged
            return Int(CURL_READFUNC_ABORT)
        }
    }

    private func rewind(to offset: Int64) {
        position = offset
        if position < request.body.count { sentAllAt = nil }
    }

    private func takeHeader(_ line: UnsafeRawBufferPointer) -> Int {
        lastMove = SteadyClock.now
        headerBytes += line.count
        if headerBytes > Self.largestHeaders {
            failure = .badAnswer("the server sends more headers than are reasonable")
            return 0
        }
        let text = String(decoding: line, as: UTF8.self)
        if text.hasPrefix("HTTP/") {
            // Another answer begins: what was collected belongs to an interim one.
            headers = []
        } else if let colon = text.firstIndex(of: ":") {
            headers.append((String(text[..<colon]), text[text.index(after: colon)...].trimmed))
        }
        return line.count
    }

    private func takeBody(_ bytes: UnsafeRawBufferPointer) -> Int {
        lastMove = SteadyClock.now
        if body.count + bytes.count > request.largestAnswer {
            failure = .badAnswer("the server's answer is longer than is reasonable")
            return 0
        }
        body.append(contentsOf: bytes)
        return bytes.count
    }

    // MARK: - Progress

    /// Seconds until a limiter lets more through; `nil` if none holds the transfer back.
    var resumesIn: Double? { isPaused ? RateLimiter.delay(of: request.limiters) : nil }

    /// Lets a transfer that a limiter held back try again.
    func resume() {
        isPaused = false
        lastMove = SteadyClock.now
        curl_easy_pause(handle, CURLPAUSE_CONT)
    }

    /// Whether nothing has moved for too long.
    func isStalled(now: Double) -> HTTPClientError? {
        if isPaused { return nil }
        // From the last byte sent to the last byte received, so that an answer that drips does not last for ever.
        if let sentAllAt {
            return now - sentAllAt > request.answerTimeout ? .timedOut("the server did not answer in time") : nil
        }
        return now - lastMove > Self.stallTimeout ? .timedOut("nothing moved for \(Int(Self.stallTimeout)) s") : nil
    }

    func succeed() {
        var status = 0
        ingest_curl_get_long(handle, CURLINFO_RESPONSE_CODE, &status)
        continuation.resume(
            returning: HTTPResponse(status: status, headers: headers, body: body, bytesSent: position))
    }

    func fail(_ error: HTTPClientError) {
        continuation.resume(throwing: error)
    }

    /// Ends the transfer as libcurl ended it.
    func finish(_ code: CURLcode) {
        if code == CURLE_OK { return succeed() }
        fail(failure ?? error(for: code))
    }

    private func error(for code: CURLcode) -> HTTPClientError {
        let detail = String(cString: errorText)
        let text = detail.isEmpty ? String(cString: curl_easy_strerror(code)) : detail
        return switch code {
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY: .nameNotResolved(text)
        case CURLE_COULDNT_CONNECT: .notConnected(text)
        case CURLE_OPERATION_TIMEDOUT: .timedOut(text)
        case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CACERT_BADFILE,
            CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS:
            .certificate(text)
        case CURLE_URL_MALFORMAT: .badRequest(text)
        case CURLE_UNSUPPORTED_PROTOCOL where !request.url.hasPrefix("http"): .badRequest(text)
        // Also what libcurl says of an answer that is no HTTP, and of a head that has no end.
        case CURLE_WEIRD_SERVER_REPLY, CURLE_UNSUPPORTED_PROTOCOL, CURLE_OUT_OF_MEMORY: .badAnswer(text)
        default: .interrupted(text)
        }
    }
}

extension Substring {
    fileprivate var trimmed: String {
        var text = self
        while let first = text.first, first.isWhitespace { text.removeFirst() }
        while let last = text.last, last.isWhitespace { text.removeLast() }
        return String(text)
    }
}
