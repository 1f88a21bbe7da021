package import IngestModel
import Synchronization

/// What a receiver allows.
package struct ReceiverSettings: Sendable {
    /// What clients must show; `nil` lets everybody in.
    package var token: String?
    /// What the URLs of finished files begin with; `nil` takes the request's `Host`.
    package var publicURL: String?
    package var largestBlock = ItemOptions.largestBlockSize
    package var largestFile = ByteCount(.max)
    /// Unfinished uploads at once.
    package var mostUploads = 1000
    /// Seconds after which an upload that nobody continues is dropped.
    package var expiry: Double = 7 * 86_400

    /// Of a request: a block with its fields.
    var longestBody: Int64 { largestBlock.value + Int64(256 << 10) }

    package init(token: String? = nil, publicURL: String? = nil) {
        self.token = token
        self.publicURL = publicURL
    }
}

/// The settings in force; some may change while the receiver runs.
final class LiveReceiverSettings: Sendable {
    private let settings: Mutex<ReceiverSettings>

    init(_ settings: ReceiverSettings) {
        self.settings = Mutex(settings)
    }

    var current: ReceiverSettings { settings.withLock { $0 } }

    func replace(_ settings: ReceiverSettings) {
        self.settings.withLock { $0 = settings }
    }
}

/// A refusal with its status.
struct Refusal: Error {
    let status: Int
    let body: BlockRefusal
    /// Seconds for `Retry-After`.
    var retryAfter: Int?

    init(
        _ status: Int, _ code: BlockWire.Refusal, _ message: String, expected: Int64? = nil, retryAfter: Int? = nil
    ) {
        self.status = status
        body = BlockRefusal(code: code.rawValue, message: message, expectedSequenceNo: expected)
        self.retryAfter = retryAfter
    }

    static func field(_ name: String, _ what: String) -> Refusal {
        Refusal(400, .field, "\(name) \(what)")
    }

    static let unknown = Refusal(404, .unknownToken, "there is no such upload")

    static let storeFailed = Refusal(500, .other, "the store cannot be used; see the receiver's log")
}
