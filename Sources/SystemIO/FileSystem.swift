import CLinux
import Glibc
package import IngestModel

/// Calls on paths. Directories are made 0700 and files 0600.
package enum FileSystem {
    package enum Access: Sendable {
        case reading
        case readingAndWriting
        /// Made anew; fails where the name is taken.
        case creating
        /// Opened, or made where there is nothing.
        case openingOrCreating
        /// A directory, to be synced, locked or measured.
        case directory
    }

    /// Opens or makes a file. `following` says whether a symbolic link as the last component is followed; `isPrivate`, whether one that
    /// is made is for its owner alone, or as the process makes files (`umask(2)`).
    package static func open(
        _ path: FilePath, _ access: Access, following: Bool = true, isPrivate: Bool = true
    ) throws(SystemError) -> FileDescriptor {
        var flags: CInt =
            switch access {
            case .reading: O_RDONLY
            case .readingAndWriting: O_RDWR
            case .creating: O_RDWR | O_CREAT | O_EXCL
            case .openingOrCreating: O_RDWR | O_CREAT
            case .directory: O_RDONLY | O_DIRECTORY
            }
        // O_NONBLOCK: opening a FIFO for reading must not wait for a writer; it means nothing for regular files.
        flags |= O_CLOEXEC | O_NOCTTY | O_NONBLOCK | (following ? 0 : O_NOFOLLOW)
        let operation =
            switch access {
            case .creating: "create"
            default: "open"
            }
        let number = try retrying(operation, path) {
            path.withCString { Glibc.open($0, flags, isPrivate ? 0o600 : 0o666) }
        }
        return FileDescriptor(owning: number, path: path)
    }

    /// Makes an empty, private file where there is none, for a library that would make it readable for others.
    ///
    /// An existing file is not even opened: closing it again would take away every POSIX lock that this process holds on
    /// it, such as SQLite's (https://www.sqlite.org/howtocorrupt.html, section 2.2).
    package static func createIfMissing(_ path: FilePath) throws(SystemError) {
        if try statusIfExists(of: path) != nil { return }
        do {
            _ = try open(path, .creating)
        } catch  where error.alreadyExists {
            return
        }
    }

    package static func status(
        of path: FilePath, following: Bool = true
    ) throws(SystemError) -> FileStatus {
        var status = stat()
        _ = try retrying("look at", path) { path.withCString { following ? stat($0, &status) : lstat($0, &status) } }
        return FileStatus(status)
    }

    /// The status, or `nil` where nothing is there.
    package static func statusIfExists(
        of path: FilePath, following: Bool = true
    ) throws(SystemError) -> FileStatus? {
        do {
            return try status(of: path, following: following)
        } catch  where error.isNotFound {
            return nil
        }
    }

    /// Whether anything stands there, a link that leads nowhere included.
    package static func exists(_ path: FilePath) -> Bool {
        var status = stat()
        return path.withCString { lstat($0, &status) } == 0
    }

    /// Makes the directory and those above it that are missing. What exists already is left as it is.
    package static func makeDirectory(_ path: FilePath) throws(SystemError) {
        if path.withCString({ mkdir($0, 0o700) }) == 0 || errno == EEXIST { return }
        guard errno == ENOENT, path.parent != path else { throw .last("make the directory", path) }
        try makeDirectory(path.parent)
        if path.withCString({ mkdir($0, 0o700) }) != 0, errno != EEXIST { throw .last("make the directory", path) }
    }

    /// Fails with `alreadyExists` where `to` exists.
    package static func renameWithoutReplacing(_ from: FilePath, to: FilePath) throws(SystemError) {
        let result = from.withCString { source in to.withCString { linux_rename_noreplace(source, $0) } }
        if result == 0 { return }
        // File systems without the flag (some FUSE, NFS): a link fails where the name is taken, and is as atomic.
        guard errno == EINVAL || errno == ENOSYS else { throw .last("rename", from) }
        try link(from, to: to)
        try remove(from)
    }

    package static func link(_ from: FilePath, to: FilePath) throws(SystemError) {
        _ = try retrying("link", to) { from.withCString { source in to.withCString { Glibc.link(source, $0) } } }
    }

    package static func remove(_ path: FilePath) throws(SystemError) {
        _ = try retrying("delete", path) { path.withCString { unlink($0) } }
    }

    /// Deletes the file; `false` if there was none.
    @discardableResult
    package static func removeIfExists(_ path: FilePath) throws(SystemError) -> Bool {
        do {
            try remove(path)
            return true
        } catch {
            // A file system that is read only says so before it looks.
            if error.isNotFound { return false }
            guard error.isPermission, try statusIfExists(of: path, following: false) == nil else { throw error }
            return false
        }
    }

    /// Has the directory's entries on the disk: what was created, renamed or deleted in it stays so over a power cut.
    package static func synchroniseDirectory(_ path: FilePath) throws(SystemError) {
        try open(path, .directory).synchronise()
    }

    /// The one durable write: what stands in `part` is synced, takes the name `name` if that is free, and the directory
    /// is synced. Both lie in the same directory.
    package static func publish(
        _ part: borrowing FileDescriptor, from partPath: FilePath, to path: FilePath
    ) throws(SystemError) {
        try part.synchronise()
        try renameWithoutReplacing(partPath, to: path)
        try synchroniseDirectory(path.parent)
    }

    /// The names in a directory, without `.` and `..`, in no order.
    package static func names(in directory: FilePath) throws(SystemError) -> [FileName] {
        guard let stream = directory.withCString({ opendir($0) }) else { throw .last("list", directory) }
        defer { closedir(stream) }
        var names: [FileName] = []
        while true {
            errno = 0
            guard let entry = readdir(stream) else {
                if errno != 0 { throw .last("list", directory) }
                return names
            }
            let bytes = withUnsafeBytes(of: &entry.pointee.d_name) { Array($0.prefix { $0 != 0 }) }
            if let name = FileName(bytes: bytes) { names.append(name) }
        }
    }

    /// The path without symbolic links, `.` and `..`; the file must exist.
    package static func resolved(_ path: FilePath) throws(SystemError) -> FilePath {
        guard let text = path.withCString({ realpath($0, nil) }) else { throw .last("resolve", path) }
        defer { free(text) }
        let bytes = UnsafeBufferPointer(start: text, count: strlen(text)).map { UInt8(bitPattern: $0) }
        guard let resolved = FilePath(bytes: bytes) else { throw SystemError("resolve", path, code: EINVAL) }
        return resolved
    }

    /// Where this process's program file lies.
    package static func programPath() throws(SystemError) -> FilePath {
        guard let link = FilePath("/proc/self/exe") else { throw SystemError("find the program", code: ENOENT) }
        return try resolved(link)
    }

    /// Makes sure that 0, 1 and 2 are open, so that no file opened later takes their place and is written to by mistake.
    package static func occupyStandardDescriptors() {
        for number: CInt in 0...2 where fcntl(number, F_GETFD) == -1 {
            _ = Glibc.open("/dev/null", number == 0 ? O_RDONLY : O_WRONLY)
        }
    }
}
