package import IngestModel
import SQLite
import SystemIO

/// Why the list cannot be used.
package enum ListError: Error, Hashable, Sendable, CustomStringConvertible {
    case newer(FilePath)
    case locked(FilePath)
    case full(FilePath)
    case damaged(FilePath)
    case removed(FilePath)
    case unusable(FilePath, String)

    package var description: String {
        switch self {
        case .newer(let path):
            "the upload list \(path.text.printable) was written by a newer version of ingest; use that version"
        case .locked(let path):
            "the upload list \(path.text.printable) is in use by another program for too long; try again"
        case .full(let path):
            "the disk that holds the upload list \(path.text.printable) is full; make room, then try again"
        case .damaged(let path):
            "the upload list \(path.text.printable) is damaged; “ingest clean” sets it aside and takes in what the cache "
                + "holds"
        case .removed(let path):
            "the upload list \(path.text.printable) has been removed or replaced while it was in use; start again, and “ingest "
                + "clean” takes in what the cache holds"
        case .unusable(let path, let reason):
            "the upload list \(path.text.printable) cannot be used: \(reason.printable)"
        }
    }

    /// Whether the same may work later, without anybody changing anything.
    package var isTemporary: Bool {
        switch self {
        case .locked, .full: true
        case .newer, .damaged, .removed, .unusable: false
        }
    }

    /// SQLite says only “disk I/O error” where it cannot make the files beside the list.
    private static func isFull(_ path: FilePath) -> Bool {
        guard let directory = try? FileSystem.open(path.parent, .directory), let free = try? directory.freeSpace()
        else { return false }
        return free < ByteCount.kibibytes(256)
    }

    init(_ error: SQLiteError, path: FilePath) {
        self =
            switch error.code {
            case .busy, .locked: .locked(path)
            case .full: .full(path)
            case .corrupt, .notADatabase: .damaged(path)
            case .inputOutput where Self.isFull(path): .full(path)
            default: .unusable(path, error.message)
            }
    }
}
