package import IngestModel

/// Has the kernel write a file's data to the disk while the file is still being made, on a thread of its own: whoever syncs it at
/// the end waits for the last piece only, and no gigabytes of unwritten data pile up in memory.
///
/// A file system that refuses loses nothing: syncing then does all of it.
package final class EarlyWriting: Sendable {
    private let pieces = BoundedQueue<Range<Int64>>(capacity: 4)

    /// Bytes that are worth an order to the disk.
    package static let piece: Int64 = 16 << 20

    /// - Throws: `SystemError` where the file cannot be opened.
    package init(of path: FilePath) throws(SystemError) {
        let file = SharedDescriptor(try FileSystem.open(path, .readingAndWriting))
        let pieces = pieces
        Thread.detach {
            while let piece = pieces.pop() { file.descriptor.startWriting(piece) }
        }
    }

    deinit {
        pieces.end()
    }

    /// The range has been written and is not expected to change soon. Waits where the disk is far behind.
    package func add(_ range: Range<Int64>) {
        _ = pieces.push(range)
    }
}
