import Dispatch
package import IngestModel
import Synchronization
package import SystemIO

/// The SHA-256 of a file, taken on a thread of its own that follows the writer or reader of the file: it reads what the
/// other one has just had in the page cache, and never more than one piece is in memory.
package final class FollowingDigest: Sendable {
    private struct State: ~Copyable {
        var hash: SHA256? = SHA256()
        var position: Int64 = 0
        var failure: (any Error)?
    }

    private let opening: @Sendable () throws -> SharedDescriptor
    private let queue = DispatchQueue(label: "digest", qos: .utility)
    private let target = Atomic<Int64>(0)
    private let stop = StopFlag()
    private let state = Mutex(State())

    private static let pieceLength = 1 << 20

    package init(of file: SharedDescriptor) {
        opening = { file }
    }

    /// Opens the file anew whenever there is something to read, and keeps no descriptor in between.
    package init(opening: @escaping @Sendable () throws -> SharedDescriptor) {
        self.opening = opening
    }

    /// The bytes before `offset` are there and will not change: they may be read. Returns at once.
    package func advance(to offset: Int64) {
        guard target.max(offset, ordering: .relaxed).oldValue < offset else { return }
        queue.async { [self] in
            state.withLock { state in
                guard state.failure == nil else { return }
                do {
                    try catchUp(&state)
                } catch {
                    state.failure = error
                }
            }
        }
    }

    /// The digest of the first `size` bytes; blocks until they are read. To be called once.
    ///
    /// - Throws: `SystemError`; `FileShorterThanExpected`; `CancellationError` after `cancel`.
    package func finish(at size: ByteCount) throws -> SHA256Digest {
        _ = target.max(size.value, ordering: .relaxed)
        return try state.withLock { state in
            if let failure = state.failure { throw failure }
            try catchUp(&state)
            guard let digest = state.hash.take()?.finish() else { preconditionFailure("a digest is finished once") }
            return digest
        }
    }

    /// Gives up as soon as possible.
    package func cancel() {
        stop.set()
    }

    private func catchUp(_ state: inout State) throws {
        if state.position >= target.load(ordering: .relaxed) { return }
        let file = try opening()
        while true {
            let end = target.load(ordering: .relaxed)
            if state.position >= end { return }
            try stop.check()
            let count = Int(min(Int64(Self.pieceLength), end - state.position))
            let piece = try file.descriptor.read(at: state.position, count: count)
            guard piece.count == count else { throw FileShorterThanExpected() }
            state.hash?.update(piece.span)
            state.position += Int64(count)
        }
    }
}

/// A file ended before the place where it ended earlier.
package struct FileShorterThanExpected: Error, CustomStringConvertible {
    package init() {}

    package var description: String { "the file is shorter than it was" }
}
