import CLinux
import Glibc
package import IngestModel

/// A lock on one byte of a lock file, held as long as the value lives: an open file description lock, so it ends with
/// the process however that ends, and excludes other threads of this process as well.
package struct ByteLock: ~Copyable, Sendable {
    private let file: FileDescriptor

    private init(file: consuming FileDescriptor) {
        self.file = file
    }

    /// `nil` if somebody else holds it. Makes the lock file where there is none.
    package static func take(_ offset: Int64, in path: FilePath) throws(SystemError) -> ByteLock? {
        let file = try FileSystem.open(path, .openingOrCreating)
        if linux_lock_byte(file.number, offset) == 0 { return ByteLock(file: file) }
        if errno == EAGAIN || errno == EACCES { return nil }
        throw .last("lock", path)
    }

    /// Shared locks on ranges of bytes: as many processes as want may hold them, and `isHeld` tells that one does. For
    /// bytes that nobody locks otherwise.
    package static func share(_ ranges: [Range<Int64>], in path: FilePath) throws(SystemError) -> ByteLock {
        let file = try FileSystem.open(path, .openingOrCreating)
        for range in ranges {
            guard linux_share_bytes(file.number, range.lowerBound, range.upperBound - range.lowerBound) == 0 else {
                throw .last("lock", path)
            }
        }
        return ByteLock(file: file)
    }

    /// Whether somebody holds it now. `file` is the lock file, opened for reading and writing.
    package static func isHeld(_ offset: Int64, in file: SharedDescriptor) throws(SystemError) -> Bool {
        switch linux_byte_is_locked(file.descriptor.number, offset) {
        case 0: return false
        case 1: return true
        default: throw .last("look at the lock", file.descriptor.path)
        }
    }
}
