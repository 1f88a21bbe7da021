package import FoundationEssentials

/// What is known of one copy into a directory; persisted before and after each step.
package struct DirectoryLedger: Hashable, Codable, Sendable {
    /// The seal whose bytes are copied.
    package var seal: UUID
    package let fileSize: ByteCount
    /// Of the file system that the directory lay on: another one in its place means that its disk is gone.
    package let device: UInt64
    /// The name of the file as long as it is not whole.
    package let part: String
    /// The name that it is given when it is; `nil` until then.
    package var name: String?
    /// Bytes that are on the disk over there.
    package var offset: ByteCount

    package init(seal: UUID, fileSize: ByteCount, device: UInt64, part: String) {
        self.seal = seal
        self.fileSize = fileSize
        self.device = device
        self.part = part
        offset = ByteCount(0)
    }
}
