package import SystemIO

/// The head of a request, as it came: hostile until checked.
package struct RequestHead: Sendable {
    package let method: String
    /// The path, percent-decoded, without the query.
    package let path: String
    /// Arguments of the query, decoded; of a repeated one the last.
    package let query: [String: String]
    /// Names in lower case; of a repeated header the last.
    package let headers: [String: String]
    /// What `Content-Length` says; `nil` where the body comes in chunks, or there is none.
    package let contentLength: Int64?
    /// Which connection it came on; for `HTTPServer.drop`.
    package let connection: Int
}

/// What a server answers.
package struct ServerResponse: Sendable {
    package enum Body: Sendable {
        case bytes([UInt8])
        case file(FileSlice)
    }

    package var status: Int
    package var headers: [(name: String, value: String)]
    package var body: Body

    package init(status: Int, headers: [(name: String, value: String)] = [], body: Body = .bytes([])) {
        self.status = status
        self.headers = headers
        self.body = body
    }
}

/// Takes the body of one request, on the thread of its connection. Let go without `finish` where the client went away.
package protocol BodySink: AnyObject {
    /// The next bytes of the body; valid only during the call. Blocking is allowed and slows the client down.
    func receive(_ bytes: Span<UInt8>)

    /// The whole body has come: what to answer.
    func finish() -> ServerResponse
}

/// What to do with a request whose head has come.
package enum RequestAction {
    /// Answer; a body that still comes is read and thrown away where it is small, else the connection is closed.
    case respond(ServerResponse)
    case receive(any BodySink)
}

/// Decides about requests; called from many threads at once.
package protocol RequestHandler: Sendable {
    func begin(_ head: RequestHead) -> RequestAction
}

/// Where a server listens.
package struct ListenAddress: Hashable, Sendable, CustomStringConvertible {
    /// A numeric address, IPv6 without brackets.
    package let host: String
    package let port: UInt16

    package init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }

    /// Reads `127.0.0.1:8899`, `[::1]:8899`, `localhost:0`, `:8899` (every address). `nil` for anything else.
    package init?(argument: String) {
        guard let colon = argument.lastIndex(of: ":"),
            let port = UInt16(argument[argument.index(after: colon)...])
        else { return nil }
        var host = String(argument[..<colon])
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = String(host.dropFirst().dropLast())
        } else if host.contains(":") {
            return nil
        }
        self.port = port
        self.host = host == "localhost" ? "127.0.0.1" : host.isEmpty ? "0.0.0.0" : host
    }

    package var isLoopback: Bool { host == "::1" || host.hasPrefix("127.") }

    /// As it stands in a URL.
    package var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}

/// The server cannot listen.
package struct ListenError: Error, CustomStringConvertible {
    package let description: String
}
