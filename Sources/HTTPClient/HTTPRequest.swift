package import SystemIO

/// One HTTP request. Redirects are never followed; the answer is given back as it is.
package struct HTTPRequest: Sendable {
    package enum Method: String, Sendable {
        case get = "GET", head = "HEAD", post = "POST", patch = "PATCH", delete = "DELETE", options = "OPTIONS"
    }

    package var method: Method
    package var url: String
    /// Names and values; neither may hold a line end.
    package var headers: [(name: String, value: String)]
    package var body: HTTPBody
    package var route = HTTPRoute()
    /// Slows the body down; all of them hold.
    package var limiters: [RateLimiter]
    /// How long the answer may take once the whole body is sent, in seconds.
    package var answerTimeout: Double
    /// The most bytes an answer's body may have.
    package var largestAnswer: Int
    /// Told how many bytes of the body have left so far; called on the client's thread, so it has to be quick.
    package var onSent: (@Sendable (Int64) -> Void)?

    package init(
        _ method: Method, _ url: String, headers: [(name: String, value: String)] = [], body: HTTPBody = HTTPBody(),
        limiters: [RateLimiter] = [], answerTimeout: Double = 120, largestAnswer: Int = 1 << 20,
        onSent: (@Sendable (Int64) -> Void)? = nil
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.limiters = limiters
        self.answerTimeout = answerTimeout
        self.largestAnswer = largestAnswer
        self.onSent = onSent
    }
}

/// How a server is reached and trusted, where that is not as for all others.
package struct HTTPRoute: Hashable, Sendable {
    /// The path of a PEM file of authorities, which takes the place of the system's.
    package var certificateAuthorities: String?
    /// The paths of PEM files by which the server knows who we are.
    package var clientCertificate: String?
    package var clientKey: String?
    /// A proxy's URL, empty for none; `nil` takes the client's.
    package var proxy: String?

    package init(
        certificateAuthorities: String? = nil, clientCertificate: String? = nil, clientKey: String? = nil,
        proxy: String? = nil
    ) {
        self.certificateAuthorities = certificateAuthorities
        self.clientCertificate = clientCertificate
        self.clientKey = clientKey
        self.proxy = proxy
    }

    /// The same for a stranger.
    package var withoutIdentity: HTTPRoute {
        var route = self
        route.clientCertificate = nil
        route.clientKey = nil
        return route
    }
}

/// A request's body in pieces, of which those from files are read while they are sent.
package struct HTTPBody: Sendable {
    package enum Piece: Sendable {
        case bytes([UInt8])
        case file(FileSlice)

        var count: Int64 {
            switch self {
            case .bytes(let bytes): Int64(bytes.count)
            case .file(let slice): slice.count
            }
        }
    }

    package let pieces: [Piece]
    package let count: Int64

    package init(_ pieces: [Piece] = []) {
        self.pieces = pieces
        count = pieces.reduce(0) { $0 + $1.count }
    }

    /// Reads from `offset` into the buffer: how many bytes, 0 at the end. Fails where a file is shorter than its slice.
    func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        var start: Int64 = 0
        for piece in pieces {
            let within = offset - start
            if within < piece.count {
                let room = UnsafeMutableRawBufferPointer(
                    rebasing: buffer.prefix(Int(min(Int64(buffer.count), piece.count - within))))
                switch piece {
                case .bytes(let bytes):
                    room.copyBytes(from: bytes[Int(within)...].prefix(room.count))
                    return room.count
                case .file(let slice):
                    let count = try slice.file.descriptor.read(at: slice.range.lowerBound + within, into: room)
                    if count == 0 { throw HTTPClientError.bodyChanged }
                    return count
                }
            }
            start += piece.count
        }
        return 0
    }
}

/// What a server answered.
package struct HTTPResponse: Sendable {
    package let status: Int
    /// Of the final answer, in order; names as the server wrote them.
    package let headers: [(name: String, value: String)]
    package let body: [UInt8]
    /// Bytes of the request's body that left; fewer than planned where the server answered early.
    package let bytesSent: Int64

    /// The first header of that name, whatever its case.
    package func header(_ name: String) -> String? {
        headers.first { $0.name.lowercased() == name.lowercased() }?.value
    }
}

/// Why there is no answer.
package enum HTTPClientError: Error, Hashable, Sendable, CustomStringConvertible {
    case nameNotResolved(String)
    case notConnected(String)
    /// The connection broke, or was given up because nothing moved.
    case interrupted(String)
    case timedOut(String)
    case certificate(String)
    /// Not HTTP, or more of it than is reasonable.
    case badAnswer(String)
    /// A file that was being sent is shorter than it was.
    case bodyChanged
    /// The request itself is impossible, such as a URL that libcurl does not take.
    case badRequest(String)
    case cancelled

    /// Whether nothing of the request can have arrived.
    package var isBeforeSending: Bool {
        switch self {
        case .nameNotResolved, .notConnected, .certificate, .badRequest: true
        case .interrupted, .timedOut, .badAnswer, .bodyChanged, .cancelled: false
        }
    }

    package var description: String {
        switch self {
        case .nameNotResolved(let text), .notConnected(let text), .interrupted(let text), .timedOut(let text),
            .certificate(let text), .badAnswer(let text), .badRequest(let text):
            text
        case .bodyChanged: "the file that was being sent is shorter than it was"
        case .cancelled: "cancelled"
        }
    }
}

/// How the program reaches servers; taken from the environment by whoever makes the client.
package struct ProxySettings: Hashable, Sendable {
    /// For `http` URLs; empty for none.
    package var http: String
    /// For `https` URLs; empty for none.
    package var https: String
    /// Hosts that are reached directly, as libcurl's `CURLOPT_NOPROXY` reads them.
    package var exceptions: String

    package static let none = ProxySettings(http: "", https: "", exceptions: "")

    package init(http: String, https: String, exceptions: String) {
        self.http = http
        self.https = https
        self.exceptions = exceptions
    }

    /// From the variables that curl reads, with its precedence: `http_proxy` (lower case only, since a CGI program's
    /// `HTTP_PROXY` is set by its visitors), `https_proxy`, `HTTPS_PROXY`, `all_proxy`, `ALL_PROXY`, `no_proxy`,
    /// `NO_PROXY`.
    package init(environment: Environment) {
        let all = environment["all_proxy"] ?? environment["ALL_PROXY"] ?? ""
        http = environment["http_proxy"] ?? all
        https = environment["https_proxy"] ?? environment["HTTPS_PROXY"] ?? all
        exceptions = environment["no_proxy"] ?? environment["NO_PROXY"] ?? ""
    }
}
