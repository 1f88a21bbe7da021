import FoundationEssentials
import IngestModel
import Synchronization
import Uploading

/// Sealed copies whose upload is between two tries, so that the digest taken so far need not be taken again.
final class SourceShelf: Sendable {
    private let sources = Mutex<[UploadSource]>([])

    /// Each holds a descriptor open.
    private static let most = 8

    func keep(_ source: UploadSource) {
        sources.withLock { sources in
            sources.append(source)
            if sources.count > Self.most { sources.removeFirst() }
        }
    }

    func take(_ seal: UUID) -> UploadSource? {
        sources.withLock { sources in
            guard let index = sources.firstIndex(where: { $0.seal.id == seal }) else { return nil }
            return sources.remove(at: index)
        }
    }
}
