import FoundationEssentials
package import HTTPClient
package import IngestModel
import SystemIO

/// How requests reach one server: where it is, what opens it, whom to trust. Follows redirects, which libcurl must not do
/// by itself (it would send an empty body and call it success).
package struct ServerAccess: Sendable {
    package let url: ServerURL
    private let client: HTTPClient
    private let credentials: Credentials
    private let route: HTTPRoute
    /// What it is, for sentences.
    private let noun: String

    private static let mostRedirects = 5
    package static let destination = "the destination"

    package init(
        url: ServerURL, client: HTTPClient, credentials: Credentials, route: HTTPRoute = HTTPRoute(),
        noun: String = Self.destination
    ) {
        self.noun = noun
        self.url = url
        self.client = client
        self.credentials = credentials
        self.route = route
    }

    /// What helps where the server does not accept the token.
    var remedy: String { credentials.remedy }

    /// The same for a save hook.
    var hookRemedy: String {
        credentials.hasToken ? credentials.remedy : "name a file that holds it with --save-token-file"
    }

    /// What requests carry, read anew.
    ///
    /// - Throws: a `Fault` where a file of ours cannot be used, before anything is sent.
    func authorisation() throws(Fault) -> Authorisation {
        if let key = route.clientKey.flatMap({ FilePath($0) }) { try PrivateFile.check(key, "client key") }
        for file in [route.certificateAuthorities, route.clientCertificate].compactMap({ $0.flatMap { FilePath($0) } })
        {
            do {
                _ = try FileSystem.open(file, .reading).number
            } catch {
                throw Fault(.credentials, "\(error)")
            }
        }
        return try credentials.current()
    }

    /// An answer that is no redirect.
    struct Answer {
        let request: HTTPRequest
        let response: HTTPResponse
        /// Where the server wants requests from now on.
        let target: ServerURL
    }

    /// Sends a request, again to wherever a 307 or 308 says (RFC 9110, section 15.4): method and body stay as they are.
    ///
    /// - Parameters:
    ///   - start: where to, the server's URL or what an answer's `target` said.
    ///   - authorisation: given to `make` and sent for the server's own origin only.
    ///   - mayHaveArrived: set if the request may have reached somebody without an answer.
    ///   - make: the request for a target.
    /// - Returns: the answer, whatever its status.
    /// - Throws: a `Fault`, or `CancellationError`.
    func send(
        from start: ServerURL, _ authorisation: Authorisation, mayHaveArrived: inout Bool,
        _ make: (ServerURL, Authorisation) throws -> HTTPRequest
    ) async throws -> Answer {
        var target = start
        var permanent = start
        for _ in 0...Self.mostRedirects {
            // What opens this server is not for those it sends us to.
            let isOwn = target.origin == url.origin
            let shown = isOwn ? authorisation : .none
            var request = try make(target, shown)
            request.route = isOwn ? route : route.withoutIdentity
            if let basic = shown.basic {
                let pair = Data("\(basic.user):\(basic.password)".utf8).base64EncodedString()
                request.headers.append(("Authorization", "Basic \(pair)"))
            }
            let response: HTTPResponse
            do {
                response = try await client.send(request)
            } catch let error as HTTPClientError {
                if !error.isBeforeSending { mayHaveArrived = true }
                throw error == .cancelled
                    ? CancellationError()
                    : TransportFault.fault(for: error, url: request.url, noun: noun == Self.destination ? nil : noun)
            }
            guard response.status == 307 || response.status == 308 else {
                return Answer(request: request, response: response, target: permanent)
            }
            target = try next(response, from: target)
            if response.status == 308 { permanent = target }
        }
        throw Fault(.redirected, "\(noun) redirects in circles")
    }

    private func next(_ response: HTTPResponse, from base: ServerURL) throws(Fault) -> ServerURL {
        guard let location = response.header("Location"), let text = HTTPClient.resolve(location, against: base.text),
            let url = try? ServerURL(text)
        else {
            throw Fault(.redirected, "\(noun) redirects to nowhere that can be followed")
        }
        guard base.origin.scheme == "http" || url.origin.scheme == "https" else {
            throw Fault(
                .redirected, "\(noun) redirects from https to http, which would give everything away")
        }
        return url
    }
}
