import Dispatch
package import IngestModel
import Synchronization
package import SystemIO

/// The SHA-256 of a file, taken on a thread of its own that follows the writer or reader of the file: it reads what the
/// other one has just had in the page cache, and never more than one piece is in memory.
///
/// `@unchecked`: `hash`, `position` and `failure` are touched on `queue` only, which is serial.
package final class FollowingDigest: @unchecked Sendable {
    private let file: SharedDescriptor
    private let queue = DispatchQueue(label: "digest", qos: .utility)
    private let target = Atomic<Int64>(0)
    private let stop = StopFlag()
    private var hash: SHA256? = SHA256()
    private var position: Int64 = 0
    private var failure: (any Error)?

    private static let pieceLength = 1 << 20

    package init(of file: SharedDescriptor) {
        self.file = file
    }

    /// The bytes before `offset` are there and will not change: they may be read. Returns at once.
    package func advance(to offset: Int64) {
        guard target.max(offset, ordering: .relaxed).oldValue < offset else { return }
        queue.async { [self] in
            guard failure == nil else { return }
            do {
                try catchUp()
            } catch {
                failure = error
            }
        }
    }

    /// The digest of the first `size` bytes; blocks until they are read. To be called once.
    ///
    /// - Throws: `SystemError`; `FileShorterThanExpected`; `CancellationError` after `cancel`.
    package func finish(at size: ByteCount) throws -> SHA256Digest {
        _ = target.max(size.value, ordering: .relaxed)
        return try queue.sync {
            if let failure { throw failure }
            try catchUp()
            guard let digest = hash.take()?.finish() else { preconditionFailure("a digest is finished once") }
            return digest
        }
    }

    /// Gives up as soon as possible.
    package func cancel() {
        stop.set()
    }

    private func catchUp() throws {
        while true {
            let end = target.load(ordering: .relaxed)
            if position >= end { return }
            try stop.check()
            let count = Int(min(Int64(Self.pieceLength), end - position))
            let piece = try file.descriptor.read(at: position, count: count)
            guard piece.count == count else { throw FileShorterThanExpected() }
            hash?.update(piece.span)
            position += Int64(count)
        }
    }
}

/// A file ended before the place where it ended earlier.
package struct FileShorterThanExpected: Error, CustomStringConvertible {
    package init() {}

    package var description: String { "the file is shorter than it was" }
}
