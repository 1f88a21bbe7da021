import CLinux
import Glibc
package import IngestModel

/// How the bytes of one file came into another.
package enum CopyMethod: String, Sendable {
    /// The kernel copied (`copy_file_range(2)`).
    case kernel
    /// The bytes passed through this process.
    case plain
}

extension FileDescriptor {
    /// Makes this file, which is empty, share the blocks of `source` (`ioctl_ficlone(2)`). `false` where the file system
    /// cannot; then nothing has changed.
    package func reflink(from source: borrowing FileDescriptor) -> Bool {
        linux_reflink(source.number, number) == 0
    }

    /// Copies the first `size` bytes of `source` into this file, which is empty: by the kernel where it can, else
    /// plainly.
    ///
    /// - Parameters:
    ///   - source: the file to copy from, at any position.
    ///   - size: how many bytes to copy.
    ///   - progress: told the bytes copied so far, now and then; throws to stop.
    ///   - passing: sees the bytes in order if they pass through this process (`plain`), and only then.
    /// - Throws: `SystemError`, or what `progress` throws. A source that ends early gives fewer bytes, without an error:
    ///   the caller compares sizes.
    /// - Returns: how it was done, and how many bytes.
    package func copy(
        from source: borrowing FileDescriptor, size: ByteCount,
        progress: (ByteCount) throws -> Void,
        passing: (Span<UInt8>) -> Void
    ) throws -> (method: CopyMethod, count: ByteCount) {
        if let count = try copyInKernel(from: source, size: size, progress: progress) { return (.kernel, count) }
        return (.plain, try copyPlainly(from: source, size: size, progress: progress, passing: passing))
    }

    /// `nil` if the kernel cannot copy between these two; then nothing has been written.
    private func copyInKernel(
        from source: borrowing FileDescriptor, size: ByteCount, progress: (ByteCount) throws -> Void
    ) throws -> ByteCount? {
        var done: Int64 = 0
        while done < size.value {
            let step = UInt64(min(size.value - done, 32 << 20))
            let count = linux_copy_file_range(source.number, done, number, done, step)
            if count < 0 {
                if errno == EINTR { continue }
                let cannot = [EXDEV, EINVAL, ENOSYS, EOPNOTSUPP, EBADF].contains(errno)
                if done == 0, cannot { return nil }
                throw SystemError.last("copy to", path)
            }
            // Some file systems report the end where there are bytes; the plain way finds out.
            if count == 0 { return done == 0 ? nil : ByteCount(done) }
            done += Int64(count)
            try progress(ByteCount(done))
        }
        return ByteCount(done)
    }

    private func copyPlainly(
        from source: borrowing FileDescriptor, size: ByteCount, progress: (ByteCount) throws -> Void,
        passing: (Span<UInt8>) -> Void
    ) throws -> ByteCount {
        var done: Int64 = 0
        while done < size.value {
            let piece = try source.read(at: done, count: Int(min(size.value - done, 1 << 20)))
            if piece.isEmpty { break }
            try write(piece.span, at: done)
            passing(piece.span)
            done += Int64(piece.count)
            try progress(ByteCount(done))
        }
        return ByteCount(done)
    }
}
