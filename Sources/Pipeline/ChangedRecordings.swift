import IngestModel
import Synchronization

/// Tells whoever watches a folder that a recording in it is no longer what was taken: what a symbolic link leads to changes
/// without news of the link.
final class ChangedRecordings: Sendable {
    private let watchers = Mutex<[FilePath: @Sendable (FilePath) -> Void]>([:])

    /// Calls `look` with the path of each such recording within the folder, from any thread.
    func watch(_ folder: FilePath, _ look: @escaping @Sendable (FilePath) -> Void) {
        watchers.withLock { $0[folder] = look }
    }

    func stopWatching(_ folder: FilePath) {
        watchers.withLock { $0[folder] = nil }
    }

    func note(_ recording: FilePath) {
        let looks = watchers.withLock { $0.filter { recording.isWithin($0.key) }.map { $0.value } }
        for look in looks { look(recording) }
    }
}
