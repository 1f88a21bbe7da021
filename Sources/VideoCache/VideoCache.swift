import Checksums
import FoundationEssentials
package import IngestModel
package import SystemIO

/// The directory of the cached copies.
///
/// A copy is written under its name with `.part` behind it, synced, described by a seal that the list stores, and only
/// then renamed. What is finished says the list, not the name.
package struct VideoCache: Sendable {
    package let directory: FilePath

    /// Makes the directory where there is none, private, and tags it so that backup programs leave it out
    /// (https://bford.info/cachedir/).
    package init(directory: FilePath) throws(Fault) {
        self.directory = directory
        do {
            try FileSystem.makeDirectory(directory)
            try tag()
        } catch {
            throw Self.fault(error)
        }
    }

    private func tag() throws(SystemError) {
        let path = directory.appending("CACHEDIR.TAG")
        if try FileSystem.statusIfExists(of: path) != nil { return }
        do {
            let file = try FileSystem.open(path, .creating)
            try file.write(
                """
                Signature: 8a477f597d28d172789f06886806bc55
                # This directory holds copies of recordings on their way to a destination; ingest made it.
                # What it is for: https://bford.info/cachedir/

                """)
        } catch  where error.alreadyExists {
            return
        }
    }

    package func path(of name: FileName) -> FilePath { directory.appending(name) }

    package func partPath(of name: FileName) -> FilePath {
        directory.appending(name.appending(CachedName.partSuffix))
    }

    /// All names in the directory but the tag's.
    package func names() throws(Fault) -> Set<FileName> {
        do {
            return Set(try FileSystem.names(in: directory).filter { $0.text != "CACHEDIR.TAG" })
        } catch {
            throw Self.fault(error)
        }
    }

    // MARK: - Making

    /// Creates the unfinished copy, empty. The caller holds the item's lock, so that what an earlier attempt left under
    /// this name is nobody's and goes first.
    package func begin(_ name: FileName) throws(Fault) -> FileDescriptor {
        do {
            try FileSystem.removeIfExists(partPath(of: name))
            return try FileSystem.open(partPath(of: name), .creating)
        } catch {
            throw Self.fault(error)
        }
    }

    /// Syncs the unfinished copy, gives it the recording's modification time, and says what it is. The list stores that
    /// before `publish`.
    package func seal(_ name: FileName, modified: FileTime, sha256: SHA256Digest?) throws(Fault) -> Seal {
        do {
            let file = try FileSystem.open(partPath(of: name), .readingAndWriting)
            try file.setModified(modified)
            try file.synchronise()
            let status = try file.status()
            return Seal(id: UUID(), size: status.size, modified: status.modified, sha256: sha256)
        } catch {
            throw Self.fault(error)
        }
    }

    /// Gives the sealed copy its name. Safe to be called again after a crash.
    package func publish(_ name: FileName) throws(Fault) {
        do {
            try FileSystem.renameWithoutReplacing(partPath(of: name), to: path(of: name))
            try FileSystem.synchroniseDirectory(directory)
        } catch {
            throw Self.fault(error)
        }
    }

    /// Copies the recording byte for byte into the unfinished copy `name`, and proves that it did not change meanwhile.
    ///
    /// - Parameters:
    ///   - recording: what to copy.
    ///   - part: the unfinished copy, empty.
    ///   - stop: ends it with `CancellationError`.
    ///   - progress: told the bytes copied so far.
    /// - Throws: `Fault` (no room, changed meanwhile, unusable cache) or `CancellationError`.
    /// - Returns: the digest, where the bytes passed through this process.
    package func copy(
        _ recording: borrowing Recording, into part: borrowing FileDescriptor, stop: StopFlag,
        progress: (ByteCount) -> Void
    ) throws -> SHA256Digest? {
        var digest: SHA256Digest?
        do {
            if recording.size.value > 0, part.reflink(from: recording.file) {
                progress(recording.size)
            } else {
                try checkRoom(for: recording.size)
                recording.file.expectSequentialReading()
                var hash = SHA256()
                let (method, count) = try part.copy(from: recording.file, size: recording.size) { count in
                    try stop.check()
                    progress(count)
                } passing: {
                    hash.update($0)
                }
                if count < recording.size {
                    throw Fault(
                        .recordingChanged, "it became shorter while it was read; it is taken again as it then is",
                        retry: .later(after: 2))
                }
                if method == .plain { digest = hash.finish() }
            }
        } catch let error as SystemError {
            throw Self.fault(error)
        }
        try recording.checkUnchanged()
        return digest
    }

    /// Links the recording into the cache instead of copying it.
    ///
    /// - Returns: `nil` where that cannot be: another file system, or somebody may be writing the recording.
    package func link(_ recording: borrowing Recording, as name: FileName) throws(Fault) -> Seal? {
        guard recording.file.hasWriter() == false else { return nil }
        do {
            try FileSystem.removeIfExists(partPath(of: name))
            try FileSystem.link(recording.path, to: partPath(of: name))
        } catch {
            return nil
        }
        do {
            // The path may have led elsewhere by now; what was opened is what must have been linked.
            let linked = try FileSystem.status(of: partPath(of: name))
            let opened = try recording.file.status()
            guard linked.inode == opened.inode, linked.device == opened.device else {
                try FileSystem.remove(partPath(of: name))
                return nil
            }
            return Seal(id: UUID(), size: linked.size, modified: linked.modified, sha256: nil, isLink: true)
        } catch {
            throw Self.fault(error)
        }
    }

    // MARK: - Using

    /// Opens a sealed copy for reading.
    ///
    /// - Throws: a fault `copyLost` where it is gone, `copyChanged` where size or time are not what was sealed.
    package func open(_ name: FileName, sealed seal: Seal) throws(Fault) -> FileDescriptor {
        do {
            if try FileSystem.statusIfExists(of: path(of: name)) == nil,
                let part = try FileSystem.statusIfExists(of: partPath(of: name)), seal.describes(part)
            {
                // The seal was stored, and the process ended before the copy got its name.
                try FileSystem.renameWithoutReplacing(partPath(of: name), to: path(of: name))
                try FileSystem.synchroniseDirectory(directory)
            }
            let file = try FileSystem.open(path(of: name), .reading, following: false)
            guard seal.describes(try file.status()) else {
                throw Fault(.copyChanged, "its copy in the cache was changed by another program")
            }
            return file
        } catch let error as SystemError {
            if error.isNotFound { throw Fault(.copyLost, "its copy in the cache is gone") }
            throw Self.fault(error)
        } catch let fault as Fault {
            throw fault
        } catch {
            throw Fault(.fileSystem, "its copy in the cache cannot be opened: \(error)")
        }
    }

    /// Deletes what the cache holds under the name, finished or not.
    package func delete(_ name: FileName) throws(Fault) {
        do {
            let part = try FileSystem.removeIfExists(partPath(of: name))
            let whole = try FileSystem.removeIfExists(path(of: name))
            if part || whole { try FileSystem.synchroniseDirectory(directory) }
        } catch {
            throw Self.fault(error)
        }
    }

    /// Gives a copy that belongs to nobody another name.
    package func rename(_ name: FileName, to other: FileName) throws(Fault) {
        do {
            try FileSystem.renameWithoutReplacing(path(of: name), to: path(of: other))
            try FileSystem.synchroniseDirectory(directory)
        } catch {
            throw Self.fault(error)
        }
    }

    /// Deletes an unfinished copy that belongs to nobody, by its whole name.
    package func deleteUnfinished(_ name: FileName) throws(Fault) {
        do {
            try FileSystem.removeIfExists(path(of: name))
            try FileSystem.synchroniseDirectory(directory)
        } catch {
            throw Self.fault(error)
        }
    }

    /// Whether anything stands there, of whatever kind.
    package func holds(_ name: FileName) -> Bool {
        (try? FileSystem.statusIfExists(of: path(of: name), following: false)) != nil
    }

    /// The size of the file that the cache holds under the name; `nil` where there is none, or something else than a file.
    package func size(of name: FileName) -> ByteCount? {
        guard let status = try? FileSystem.statusIfExists(of: path(of: name), following: false),
            status.kind == .regular
        else { return nil }
        return status.size
    }

    // MARK: - Room and errors

    /// Bytes that may still be written where the cache is.
    package func freeSpace() throws(Fault) -> ByteCount {
        do {
            return try FileSystem.open(directory, .directory).freeSpace()
        } catch {
            throw Self.fault(error)
        }
    }

    private func checkRoom(for size: ByteCount) throws {
        let free = try freeSpace()
        if free < size {
            throw Fault(
                .diskFull,
                "the disk of the cache (\(directory.text)) has \(free.forReading) free, and the copy needs "
                    + "\(size.forReading); make room", retry: .later(after: 30))
        }
    }

    /// What a failed call on the cache means for the item.
    package static func fault(_ error: SystemError) -> Fault {
        if error.isOutOfSpace {
            return Fault(
                .diskFull,
                "the disk of the cache (\(error.path?.parent.text ?? "?")) is full; make room",
                retry: .later(after: 30))
        }
        if error.isNotFound {
            return Fault(
                .cacheUnusable, "the cache is not there: \(error)", retry: .later(after: 5))
        }
        return Fault(.cacheUnusable, "the cache cannot be used: \(error)")
    }
}

extension Seal {
    fileprivate func describes(_ status: FileStatus) -> Bool {
        status.kind == .regular && status.size == size && status.modified == modified
    }
}
