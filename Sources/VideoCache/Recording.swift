import Checksums
import FoundationEssentials
package import IngestModel
package import SystemIO

/// A recording, opened to be read. It is never written.
package struct Recording: ~Copyable, Sendable {
    package let path: FilePath
    package let file: FileDescriptor
    private let opened: FileStatus

    /// - Throws: a `Fault` in words: missing, unreadable, or no regular file.
    package init(_ path: FilePath) throws(Fault) {
        let file = try Self.open(path)
        let opened = try Self.status(of: file)
        guard opened.kind == .regular else {
            throw Fault(.notAFile, "it is no regular file, so there is nothing to upload")
        }
        self.path = path
        self.file = file
        self.opened = opened
    }

    private static func open(_ path: FilePath) throws(Fault) -> FileDescriptor {
        do {
            return try FileSystem.open(path, .reading)
        } catch {
            throw fault(error)
        }
    }

    private static func status(of file: borrowing FileDescriptor) throws(Fault) -> FileStatus {
        do {
            return try file.status()
        } catch {
            throw fault(error)
        }
    }

    private static func fault(_ error: SystemError) -> Fault {
        error.isNotFound
            ? Fault(.recordingMissing, "there is no such file; is the card or disk it was on still there?")
            : Fault(.recordingUnreadable, "it cannot be read: \(error.meaning)")
    }

    package var size: ByteCount { opened.size }
    package var modified: FileTime { opened.modified }

    /// What the recording is known by; reads the pieces of its fingerprint.
    package func identity() throws(Fault) -> RecordingIdentity {
        RecordingIdentity(
            device: opened.device, inode: opened.inode, size: opened.size, modified: opened.modified,
            fingerprint: try fingerprint(asIfOfSize: opened.size))
    }

    /// The fingerprint over the pieces of a file of `size`, which may be less than this one's.
    package func fingerprint(asIfOfSize size: ByteCount) throws(Fault) -> SHA256Digest {
        var hash = SHA256()
        hash.update(Array("\(size.value)\n".utf8).span)
        do {
            for piece in Fingerprint.pieces(of: size) {
                let bytes = try file.read(at: piece.lowerBound, count: Int(piece.upperBound - piece.lowerBound))
                hash.update(bytes.span)
            }
        } catch {
            throw Self.fault(error)
        }
        return hash.finish()
    }

    /// The digest of the whole recording.
    package func digest(stop: StopFlag) throws -> SHA256Digest {
        var hash = SHA256()
        var position: Int64 = 0
        file.expectSequentialReading()
        while true {
            try stop.check()
            let bytes = try file.read(at: position, count: 1 << 20)
            if bytes.isEmpty { return hash.finish() }
            hash.update(bytes.span)
            position += Int64(bytes.count)
        }
    }

    /// What a file that counts as its own copy is known by, and its seal.
    package func sealed(stop: StopFlag) throws -> (RecordingIdentity, Seal) {
        let identity = try identity()
        let digest = try digest(stop: stop)
        try checkUnchanged()
        return (identity, Seal(id: UUID(), size: identity.size, modified: identity.modified, sha256: digest))
    }

    /// Fails if the file is no longer what it was when it was opened: somebody writes it, or has put another in its
    /// place.
    package func checkUnchanged() throws(Fault) {
        let changed = Fault(
            .recordingChanged, "it changed while it was read; it is taken again once it stays as it is",
            retry: .later(after: 2))
        do {
            let now = try file.status()
            guard now.size == opened.size, now.modified == opened.modified else { throw changed }
            guard let there = try FileSystem.statusIfExists(of: path) else { return }
            guard there.inode == opened.inode, there.device == opened.device else { throw changed }
        } catch let error as SystemError {
            throw Fault(.recordingUnreadable, "it cannot be looked at: \(error.meaning)")
        } catch {
            throw changed
        }
    }

    /// What stands at the path now, or `nil` if nothing readable does.
    package static func identityIfPresent(at path: FilePath) -> RecordingIdentity? {
        guard let recording = try? Recording(path) else { return nil }
        return try? recording.identity()
    }

    /// How long a file is left alone after its last change, in seconds, where nobody has it open for writing, or the
    /// kernel cannot tell: some writers open it anew for every piece.
    package static let settlingTime = 2.0

    /// How long it has to be left alone.
    ///
    /// - Parameter now: seconds since 1970.
    /// - Returns: seconds until it may be taken, 0 for a file that has settled.
    /// - Throws: a fault `recordingChanged` that may pass, while somebody has it open for writing and has written within
    ///   half a minute.
    package func unsettledFor(at now: Double) throws(Fault) -> Double {
        let age = now - opened.modified.inSeconds
        // A time in the future says nothing.
        if age < -Self.settlingTime { return 0 }
        if file.hasWriter() == true, age < 30 { throw Self.beingWritten }
        return max(0, Self.settlingTime - age)
    }

    package static let beingWritten = Fault(
        .recordingChanged, "it is still being written; it is taken once it is finished", retry: .later(after: 2))

    /// Compares what stands at the path now with what a copy was taken from.
    ///
    /// - Parameters:
    ///   - path: where the recording was.
    ///   - taken: the identity that the copy was taken from.
    ///   - isLink: whether the copy is a hard link to the recording.
    /// - Returns: what to do with the copy.
    package static func check(
        _ path: FilePath, against taken: RecordingIdentity, isLink: Bool
    ) -> RecordingCheck {
        guard let recording = try? Recording(path), let now = try? recording.identity() else { return .goOn }
        if now.isUnchanged(from: taken) { return .goOn }
        let old = now.size >= taken.size ? try? recording.fingerprint(asIfOfSize: taken.size) : nil
        return RecordingCheck.compare(taken: taken, isLink: isLink, now: now, oldFingerprint: old)
    }
}
