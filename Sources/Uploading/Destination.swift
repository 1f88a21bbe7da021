import Checksums
import FoundationEssentials
package import HTTPClient
package import IngestModel
import Synchronization
package import SystemIO

/// A way out: sends one sealed copy to one place, and goes on where it stopped.
///
/// A destination remembers nothing by itself. Everything it must know again after a sudden end it hands to the ledger
/// before it acts on it, and gets back as `remote` the next time.
package protocol Destination: Sendable {
    /// Sends the copy; the receipt that comes back has been held against it.
    ///
    /// - Parameters:
    ///   - source: the sealed copy.
    ///   - remote: what the ledger holds, `nil` for nothing. Of another seal it is of no use and is given up.
    ///   - ledger: where each step is written down before and after it is taken.
    /// - Returns: the receipt.
    /// - Throws: `Fault`, whose `retry` says whether calling again later makes sense; `CancellationError`; what the ledger
    ///   throws.
    func upload(_ source: UploadSource, from remote: RemoteState?, ledger: any UploadLedger) async throws -> Receipt

    /// What the far side calls a file that is to be named by this path; not every protocol has directories.
    func name(for path: String) -> String

    /// Has the far side drop an upload that is not complete.
    ///
    /// - Throws: `Fault`, temporary where it should be tried again later.
    func abandon(_ remote: RemoteState, named name: String) async throws -> Abandonment
}

extension Destination {
    /// Without directories: neither protocol has them, and files lie in a directory itself.
    package func name(for path: String) -> String {
        String(path.map { $0 == "/" ? "_" : $0 })
    }
}

/// What became of an upload that was given up.
package enum Abandonment: Hashable, Sendable {
    /// The far side holds nothing of it any more.
    case dropped
    /// The far side cannot drop uploads, or does not know this one; what it holds expires there.
    case leftToExpire

    /// What an answer to `DELETE` means.
    ///
    /// - Throws: a `Fault` where it should be asked again later.
    init(_ response: HTTPResponse) throws(Fault) {
        switch response.status {
        case 200..<300: self = .dropped
        case 501: self = .leftToExpire
        case 408, 423, 425, 429, 500...599:
            throw ServerStatus.fault(
                response.status, detail: "",
                retryAfter: RetryAfter.seconds(response.header("Retry-After"), now: Date()))
        default: self = .leftToExpire
        }
    }
}

/// Where a destination writes its steps down. Each call returns when the step is stored.
package protocol UploadLedger: Sendable {
    /// The upload is about to be begun, or has moved on; `progressed` if more is acknowledged than ever before.
    func save(_ remote: RemoteState, progressed: Bool) async throws

    /// What `save` stored last was only an intent: nothing of it has reached the far side.
    func forget() async throws

    /// What `save` stored last is of no use: it becomes a debt, and `replacement` takes its place.
    func abandon(replacement: RemoteState?) async throws

    /// Bytes on their way that are not acknowledged; called often, from any thread, must not block.
    func inFlight(_ count: Int64)

    /// The block size that this server made us use not long ago.
    func blockSize(for origin: ServerURL.Origin) async throws -> ByteCount?

    func remember(_ size: ByteCount, for origin: ServerURL.Origin) async throws
}

/// A sealed copy, opened, with its digest: known, or taken while the bytes go by.
package final class UploadSource: Sendable {
    package let file: SharedDescriptor
    package let seal: Seal
    /// The name at the far end.
    package let name: String
    /// The most bytes a block may carry.
    package let blockSize: ByteCount
    package let limiters: [RateLimiter]
    private let following: FollowingDigest?
    private let taken: Mutex<SHA256Digest?>

    package init(
        file: SharedDescriptor, seal: Seal, name: String, blockSize: ByteCount, limiters: [RateLimiter]
    ) {
        self.file = file
        self.seal = seal
        self.name = name
        self.blockSize = blockSize
        self.limiters = limiters
        following = seal.sha256 == nil ? FollowingDigest(of: file) : nil
        taken = Mutex(seal.sha256)
    }

    deinit {
        following?.cancel()
    }

    /// The bytes before `offset` have been read, and may be read again cheaply.
    package func passed(_ offset: Int64) {
        following?.advance(to: offset)
    }

    /// The SHA-256 of the whole copy, if it is known by now.
    package var knownDigest: SHA256Digest? { taken.withLock { $0 } }

    /// The SHA-256 of the whole copy; waits until all of it has been read.
    package func digest() async throws -> SHA256Digest {
        if let knownDigest { return knownDigest }
        guard let following else { preconditionFailure("a digest that is not known is taken") }
        let size = seal.size
        do {
            let digest = try await offPool { _ in try following.finish(at: size) }
            taken.withLock { $0 = digest }
            return digest
        } catch is FileShorterThanExpected {
            throw Fault(.copyChanged, "its copy in the cache became shorter while it was uploaded")
        }
    }
}
