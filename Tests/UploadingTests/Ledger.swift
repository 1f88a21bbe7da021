import Foundation
import IngestModel
import Synchronization
import Uploading

/// Remembers what a destination writes down, as the list does, without a list.
final class TestLedger: UploadLedger {
    struct State {
        var remote: RemoteState?
        var saved: [RemoteState] = []
        var abandoned: [RemoteState] = []
        var blockSizes: [String: ByteCount] = [:]
        var mostInFlight: Int64 = 0
    }

    private let state: Mutex<State>
    private let onSave: @Sendable (Int) throws -> Void

    /// `onSave` is called with the number of each save before it is stored; it throws to stop the upload there.
    init(_ remote: RemoteState? = nil, onSave: @escaping @Sendable (Int) throws -> Void = { _ in }) {
        state = Mutex(State(remote: remote))
        self.onSave = onSave
    }

    var current: State { state.withLock { $0 } }

    func save(_ remote: RemoteState, progressed: Bool) async throws {
        try onSave(current.saved.count + 1)
        state.withLock {
            $0.remote = remote
            $0.saved.append(remote)
        }
    }

    func forget() async throws {
        state.withLock { $0.remote = nil }
    }

    func abandon(replacement: RemoteState?) async throws {
        state.withLock {
            if let old = $0.remote { $0.abandoned.append(old) }
            $0.remote = replacement
        }
    }

    func inFlight(_ count: Int64) {
        state.withLock { $0.mostInFlight = max($0.mostInFlight, count) }
    }

    func blockSize(for origin: ServerURL.Origin) async throws -> ByteCount? {
        state.withLock { $0.blockSizes[origin.text] }
    }

    func remember(_ size: ByteCount, for origin: ServerURL.Origin) async throws {
        state.withLock { $0.blockSizes[origin.text] = size }
    }
}
