import CLinux
import Glibc
package import IngestModel

/// What `fstat(2)` says of a file.
package struct FileStatus: Hashable, Sendable {
    package enum Kind: Sendable { case regular, directory, link, other }

    package let kind: Kind
    package let device: UInt64
    package let inode: UInt64
    package let size: ByteCount
    package let modified: FileTime
    /// The last change of anything about it, its names and permissions included. Nobody can set it.
    package let changed: FileTime
    package let permissions: UInt32
    package let owner: UInt32
    package let group: UInt32
    package let links: UInt64

    init(_ status: stat) {
        kind =
            switch status.st_mode & S_IFMT {
            case S_IFREG: .regular
            case S_IFDIR: .directory
            case S_IFLNK: .link
            default: .other
            }
        device = UInt64(status.st_dev)
        inode = UInt64(status.st_ino)
        size = ByteCount(max(0, Int64(status.st_size)))
        modified = FileTime(seconds: Int64(status.st_mtim.tv_sec), nanoseconds: Int64(status.st_mtim.tv_nsec))
        changed = FileTime(seconds: Int64(status.st_ctim.tv_sec), nanoseconds: Int64(status.st_ctim.tv_nsec))
        permissions = UInt32(status.st_mode & 0o7777)
        owner = UInt32(status.st_uid)
        group = UInt32(status.st_gid)
        links = UInt64(status.st_nlink)
    }
}

/// An open file; closed when the value ends. Every descriptor is close-on-exec.
package struct FileDescriptor: ~Copyable, Sendable {
    /// Valid as long as the value lives; for C libraries that are handed the number.
    package let number: CInt
    package let path: FilePath?

    /// Takes over an open descriptor.
    package init(owning number: CInt, path: FilePath? = nil) {
        self.number = number
        self.path = path
    }

    deinit {
        close(number)
    }

    /// A second descriptor of the same open file (`dup(2)`), for a C library that closes it itself.
    package func duplicatedNumber() throws(SystemError) -> CInt {
        try retrying("duplicate", path) { fcntl(number, F_DUPFD_CLOEXEC, 3) }
    }

    package func status() throws(SystemError) -> FileStatus {
        var status = stat()
        _ = try retrying("look at", path) { fstat(number, &status) }
        return FileStatus(status)
    }

    /// Reads up to `count` bytes at `offset`; fewer only at the end of the file.
    package func read(at offset: Int64, count: Int) throws(SystemError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        var filled = 0
        while filled < count {
            let got = try retrying("read", path) {
                bytes.withUnsafeMutableBytes { buffer in
                    pread(number, buffer.baseAddress.map { $0 + filled }, count - filled, off_t(offset) + off_t(filled))
                }
            }
            if got == 0 { break }
            filled += got
        }
        bytes.removeLast(count - filled)
        return bytes
    }

    /// One `pread(2)`: how many bytes came, 0 at the end.
    package func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) throws(SystemError) -> Int {
        try retrying("read", path) { pread(number, buffer.baseAddress, buffer.count, off_t(offset)) }
    }

    /// One `read(2)` from where the file stands; empty at the end.
    package func readSome(atMost count: Int) throws(SystemError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        let got = try retrying("read", path) {
            bytes.withUnsafeMutableBytes { Glibc.read(number, $0.baseAddress, $0.count) }
        }
        bytes.removeLast(count - got)
        return bytes
    }

    /// Writes all of it at `offset`.
    package func write(_ bytes: Span<UInt8>, at offset: Int64) throws(SystemError) {
        try bytes.withUnsafeBytes { (buffer) throws(SystemError) in
            var written = 0
            while written < buffer.count {
                written += try retrying("write", path) {
                    pwrite(
                        number, buffer.baseAddress.map { $0 + written }, buffer.count - written, off_t(offset) + written
                    )
                }
            }
        }
    }

    /// Writes all of it where the file stands.
    package func write(_ bytes: Span<UInt8>) throws(SystemError) {
        try bytes.withUnsafeBytes { (buffer) throws(SystemError) in
            var written = 0
            while written < buffer.count {
                written += try retrying("write", path) {
                    Glibc.write(number, buffer.baseAddress.map { $0 + written }, buffer.count - written)
                }
            }
        }
    }

    package func write(_ text: String) throws(SystemError) {
        try write(Array(text.utf8).span)
    }

    package func truncate(to size: Int64) throws(SystemError) {
        _ = try retrying("shorten", path) { ftruncate(number, off_t(size)) }
    }

    /// `fsync(2)`: data and metadata are on the disk when this returns.
    package func synchronise() throws(SystemError) {
        _ = try retrying("sync", path) { fsync(number) }
    }

    /// `fdatasync(2)`: the data and what is needed to read them are on the disk when this returns.
    package func synchroniseData() throws(SystemError) {
        _ = try retrying("sync", path) { fdatasync(number) }
    }

    /// Has the kernel begin to write a range to the disk (`sync_file_range(2)`); a hint that may be refused.
    package func startWriting(_ range: Range<Int64>) {
        _ = linux_start_writing(number, range.lowerBound, range.upperBound - range.lowerBound)
    }

    /// Has the kernel drop what it holds of the file, once that is on the disk (`posix_fadvise(2)`), so that what is read next
    /// comes from there; a hint that may be ignored.
    package func forgetCached() {
        _ = posix_fadvise(number, 0, 0, POSIX_FADV_DONTNEED)
    }

    /// Tells the kernel that the file is read once from front to back (`posix_fadvise(2)`); a hint that may be ignored.
    package func expectSequentialReading() {
        _ = posix_fadvise(number, 0, 0, POSIX_FADV_SEQUENTIAL)
    }

    /// Owner, group and permissions of another file, as far as this process may give them.
    package func takeAttributes(from other: borrowing FileDescriptor) throws(SystemError) {
        let status = try other.status()
        // Only root may give files away; what cannot be given stays ours.
        if fchown(number, status.owner, status.group) != 0 { _ = fchown(number, uid_t.max, status.group) }
        _ = try retrying("set permissions of", path) { fchmod(number, status.permissions & 0o777) }
    }

    package func setModified(_ time: FileTime) throws(SystemError) {
        _ = try retrying("set the time of", path) { linux_set_modified(number, time.seconds, time.nanoseconds) }
    }

    /// Whether anybody has the file open for writing, or mapped so. `nil` where the kernel cannot tell: another
    /// user's file, or a file system without leases.
    package func hasWriter() -> Bool? {
        switch linux_has_writer(number) {
        case 0: false
        case 1: true
        default: nil
        }
    }

    /// Whether the file lies on a file system that other machines may change, where locks and memory maps of SQLite's
    /// write-ahead log cannot be relied on: NFS, SMB, 9P, AFS, Ceph, FUSE.
    package func isOnNetworkFileSystem() -> Bool {
        let networked: Set<Int64> = [
            0x6969, 0x517B, 0xFE53_4D42, 0xFF53_4D42, 0x0102_1997, 0x5346_414F, 0x00C3_6400, 0x6573_5546,
        ]
        return networked.contains(linux_file_system_type(number) & 0xFFFF_FFFF)
    }

    /// Bytes that an unprivileged process may still write to the file system.
    package func freeSpace() throws(SystemError) -> ByteCount {
        var status = statvfs()
        _ = try retrying("look at the file system of", path) { fstatvfs(number, &status) }
        let (bytes, overflow) = UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize))
        return ByteCount(overflow ? .max : Int64(clamping: bytes))
    }
}

/// An open file that several parts share; closed when the last of them lets go.
package final class SharedDescriptor: Sendable {
    package let descriptor: FileDescriptor

    package init(_ descriptor: consuming FileDescriptor) {
        self.descriptor = descriptor
    }
}

/// A range of an open file.
package struct FileSlice: Sendable {
    package let file: SharedDescriptor
    package let range: Range<Int64>

    package init(file: SharedDescriptor, range: Range<Int64>) {
        self.file = file
        self.range = range
    }

    package var count: Int64 { range.upperBound - range.lowerBound }
}

/// The three streams that every program is started with.
package enum StandardStream {
    package static let input = SharedDescriptor(FileDescriptor(owning: 0))
    package static let output = SharedDescriptor(FileDescriptor(owning: 1))
    package static let error = SharedDescriptor(FileDescriptor(owning: 2))
}
