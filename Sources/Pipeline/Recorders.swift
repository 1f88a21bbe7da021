import IngestModel
import Synchronization

/// In which of the watched folders recordings are being made just now.
final class Recorders: Sendable {
    private let folders = Mutex<Set<FilePath>>([])

    var areAtWork: Bool { folders.withLock { !$0.isEmpty } }

    func note(_ folder: FilePath, isAtWork: Bool) {
        folders.withLock { folders in
            if isAtWork { folders.insert(folder) } else { folders.remove(folder) }
        }
    }
}
