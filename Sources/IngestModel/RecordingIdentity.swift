/// What a recording is known by: where its inode is, how long it is, when it was written, and what stands in it.
package struct RecordingIdentity: Hashable, Codable, Sendable {
    package var device: UInt64
    package var inode: UInt64
    package var size: ByteCount
    package var modified: FileTime
    /// SHA-256 over the pieces that `Fingerprint` names.
    package var fingerprint: SHA256Digest
    /// The digest of the whole recording, once it has been read.
    package var sha256: SHA256Digest?

    package init(
        device: UInt64, inode: UInt64, size: ByteCount, modified: FileTime, fingerprint: SHA256Digest,
        sha256: SHA256Digest? = nil
    ) {
        self.device = device
        self.inode = inode
        self.size = size
        self.modified = modified
        self.fingerprint = fingerprint
        self.sha256 = sha256
    }

    /// Of a file that has not been read, such as one that is still being written; like no other.
    package static func unread(device: UInt64, inode: UInt64, size: ByteCount, modified: FileTime) -> RecordingIdentity
    {
        RecordingIdentity(device: device, inode: inode, size: size, modified: modified, fingerprint: .none)
    }

    package var isRead: Bool { fingerprint != .none }

    /// Whether this is the very file, unchanged: same inode, size, time and fingerprint.
    package func isUnchanged(from other: RecordingIdentity) -> Bool {
        isSameInode(as: other) && size == other.size && modified == other.modified && fingerprint == other.fingerprint
    }

    package func isSameInode(as other: RecordingIdentity) -> Bool {
        device == other.device && inode == other.inode
    }

    /// Whether the bytes are the same, wherever the file lies and whatever its time says.
    package func hasSameContent(as other: RecordingIdentity) -> Bool {
        if let sha256, let theirs = other.sha256 { return sha256 == theirs && size == other.size }
        return size == other.size && fingerprint == other.fingerprint
    }
}

/// Which bytes of a file its fingerprint is taken over: the first, the last and 8 evenly spaced pieces of 64 KiB
/// between them. A file of up to ten pieces is read whole.
package enum Fingerprint {
    package static let pieceLength: Int64 = 64 << 10

    /// Whether the pieces are the whole file.
    package static func coversAll(of size: ByteCount) -> Bool { size.value <= 10 * pieceLength }

    /// The pieces in ascending order, never overlapping.
    package static func pieces(of size: ByteCount) -> [Range<Int64>] {
        if coversAll(of: size) { return size.value == 0 ? [] : [0..<size.value] }
        let size = size.value
        // Ten starts from 0 to the last possible one; the steps between them are at least a piece long.
        let lastStart = size - pieceLength
        return (0..<10).map { index in
            let start = lastStart / 9 * Int64(index) + lastStart % 9 * Int64(index) / 9
            return start..<(start + pieceLength)
        }
    }
}
