package import FoundationEssentials
import HTTPClient
package import IngestModel
import SystemIO

/// What the save hook is told about a file that has arrived.
package struct SaveMessage: Sendable {
    package let id: ItemID
    package let uuid: UUID
    package let url: String
    package let title: String?
    /// At the far end.
    package let name: String
    package let size: ByteCount
    package let sha256: SHA256Digest?
    /// Seconds, where the media process looked.
    package let duration: Double?
    package let parameters: [String: String]

    /// Names that parameters must not have.
    package static let ownNames: Set<String> = ["id", "url", "title", "name", "size", "sha256", "duration"]

    package init(
        id: ItemID, uuid: UUID, url: String, title: String?, name: String, size: ByteCount, sha256: SHA256Digest?,
        duration: Double?, parameters: [String: String]
    ) {
        self.id = id
        self.uuid = uuid
        self.url = url
        self.title = title
        self.name = name
        self.size = size
        self.sha256 = sha256
        self.duration = duration
        self.parameters = parameters
    }
}

extension SaveMessage: Encodable {
    private struct Key: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(_ text: String) { stringValue = text }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    package func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: Key.self)
        for (name, value) in parameters where !Self.ownNames.contains(name) {
            try values.encode(value, forKey: Key(name))
        }
        try values.encode(id, forKey: Key("id"))
        try values.encode(url, forKey: Key("url"))
        try values.encode(title, forKey: Key("title"))
        try values.encode(name, forKey: Key("name"))
        try values.encode(size, forKey: Key("size"))
        try values.encode(sha256?.hex, forKey: Key("sha256"))
        try values.encode(duration, forKey: Key("duration"))
    }
}

/// Tells somebody where a recording is, once it is there.
package struct SaveHookClient: Sendable {
    private let access: ServerAccess

    private static let answerTimeout = 120.0
    private static let largestAnswer = 64 << 10

    /// - Parameter access: whose token goes as `Authorization: Bearer` (RFC 6750).
    package init(_ access: ServerAccess) {
        self.access = access
    }

    /// Returns once the hook has answered 2xx.
    ///
    /// - Throws: a `Fault`, temporary where it should be told again later; `CancellationError`.
    package func tell(_ message: SaveMessage) async throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let body = Array(try encoder.encode(message))
        for attempt in 1...2 {
            let response = try await send(body, message.uuid)
            switch response.status {
            case 200..<300: return
            // A token that has been renewed meanwhile gets its chance, once.
            case 401, 403:
                if attempt == 1 { continue }
                throw Fault(
                    .credentials,
                    "the save hook does not accept the token (\(response.status)); \(access.hookRemedy)")
            case 408, 425, 429, 500...599:
                throw Fault(
                    .busy, "the save hook answered \(response.status)",
                    retry: .later(after: RetryAfter.seconds(response.header("Retry-After"), now: Date())))
            default: throw Fault(.refused, "the save hook refused it (\(response.status))")
            }
        }
    }

    private func send(_ body: [UInt8], _ uuid: UUID) async throws -> HTTPResponse {
        var mayHaveArrived = false
        return try await access.send(
            from: access.url, access.authorisation(), mayHaveArrived: &mayHaveArrived
        ) { target, authorisation in
            var headers = [
                ("Content-Type", "application/json"),
                (BlockWire.Header.idempotencyKey, uuid.uuidString.lowercased()),
            ]
            if !authorisation.token.isEmpty { headers.append(("Authorization", "Bearer \(authorisation.token)")) }
            return HTTPRequest(
                .post, target.text, headers: headers, body: HTTPBody([.bytes(body)]),
                answerTimeout: Self.answerTimeout, largestAnswer: Self.largestAnswer)
        }.response
    }
}
