import Glibc
package import IngestModel

/// Hears what happens to the entries of directories (`inotify(7)`). For the use of one thread.
///
/// What it tells may be incomplete: the kernel drops events when too many wait (`Event.hasLost`), and tells nothing of other
/// machines, of memory maps, and of directories that were filled before they were watched.
package final class DirectoryEvents {
    /// One event.
    package struct Event: Hashable, Sendable {
        package enum Kind: Hashable, Sendable {
            /// A file has been closed by somebody who could write it, or has got other attributes.
            case changed
            /// An entry has been made, linked, or moved here.
            case appeared
            case deleted
            case movedAway
            /// The watched directory itself is not where it was.
            case selfMoved
            /// The kernel has ended the watch: the directory is deleted, its file system has gone, or `stop` was called.
            case ended
            /// Events were lost; nothing is known but that.
            case hasLost
        }

        /// What `watch` returned; -1 for lost events.
        package let watch: Int32
        package let kind: Kind
        package let isDirectory: Bool
        package let name: FileName?
    }

    private static let interest =
        UInt32(IN_CLOSE_WRITE | IN_ATTRIB | IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE)
        | UInt32(IN_MOVE_SELF | IN_ONLYDIR | IN_EXCL_UNLINK)
    private static let roomForEvents = 64 << 10

    private let file: FileDescriptor

    package init() throws(SystemError) {
        file = FileDescriptor(
            owning: try retrying("watch directories") { inotify_init1(CInt(IN_NONBLOCK | IN_CLOEXEC)) })
    }

    /// For `Waiting.wait`.
    package var number: CInt { file.number }

    /// Watches a directory.
    ///
    /// - Parameter directory: symbolic links are followed.
    /// - Returns: the number that its events carry; the same as before for a directory that is watched already, under
    ///   whatever name.
    /// - Throws: `SystemError`; `isWatchLimit` where the user's share of watches is used up.
    package func watch(_ directory: FilePath) throws(SystemError) -> Int32 {
        try retrying("watch", directory) { directory.withCString { inotify_add_watch(file.number, $0, Self.interest) } }
    }

    package func stop(_ watch: Int32) {
        // It fails where the kernel was faster.
        _ = inotify_rm_watch(file.number, watch)
    }

    /// What has come; empty if nothing has.
    package func read() throws(SystemError) -> [Event] {
        let bytes: [UInt8]
        do {
            bytes = try file.readSome(atMost: Self.roomForEvents)
        } catch  where error.code == EAGAIN {
            return []
        }
        return bytes.withUnsafeBytes { Self.events(in: $0) }
    }

    private static func events(in bytes: UnsafeRawBufferPointer) -> [Event] {
        var events: [Event] = []
        var position = 0
        let headLength = MemoryLayout<inotify_event>.size
        while position + headLength <= bytes.count {
            let head = bytes.loadUnaligned(fromByteOffset: position, as: inotify_event.self)
            let name = bytes[(position + headLength)..<min(bytes.count, position + headLength + Int(head.len))]
            position += headLength + Int(head.len)
            guard let kind = kind(of: head.mask) else { continue }
            events.append(
                Event(
                    watch: head.wd, kind: kind, isDirectory: head.mask & UInt32(IN_ISDIR) != 0,
                    name: FileName(bytes: Array(name.prefix { $0 != 0 }))))
        }
        return events
    }

    private static func kind(of mask: UInt32) -> Event.Kind? {
        func has(_ bits: some BinaryInteger) -> Bool { mask & UInt32(truncatingIfNeeded: bits) != 0 }
        if has(IN_Q_OVERFLOW) { return .hasLost }
        if has(IN_IGNORED) { return .ended }
        if has(IN_MOVE_SELF) { return .selfMoved }
        if has(IN_CREATE) || has(IN_MOVED_TO) { return .appeared }
        if has(IN_DELETE) { return .deleted }
        if has(IN_MOVED_FROM) { return .movedAway }
        return has(IN_CLOSE_WRITE) || has(IN_ATTRIB) ? .changed : nil
    }

    /// How many directories a user may watch, and where that is set.
    package static let limitPlace = "/proc/sys/fs/inotify/max_user_watches"

    package static func limit() -> Int? {
        guard let path = FilePath(limitPlace), let file = try? FileSystem.open(path, .reading),
            let bytes = try? file.readSome(atMost: 32)
        else { return nil }
        return Int(String(decoding: bytes, as: UTF8.self).prefix { $0.isNumber })
    }
}

extension SystemError {
    /// The user's share of watches is used up.
    package var isWatchLimit: Bool { code == ENOSPC }
}
