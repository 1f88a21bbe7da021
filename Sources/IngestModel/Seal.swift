package import FoundationEssentials

/// What is known of a sealed cached copy: complete, synced, and from now on never changed.
///
/// Remote state belongs to one seal; bytes of two seals are never mixed in one upload.
package struct Seal: Hashable, Codable, Sendable {
    package let id: UUID
    package let size: ByteCount
    package let modified: FileTime
    /// The digest of the copy; taken while it is made where the bytes pass through us, else while it is uploaded.
    package var sha256: SHA256Digest?
    /// Whether the copy is a hard link to the recording, so that whoever writes the one changes the other.
    package let isLink: Bool

    package init(id: UUID, size: ByteCount, modified: FileTime, sha256: SHA256Digest?, isLink: Bool = false) {
        self.id = id
        self.size = size
        self.modified = modified
        self.sha256 = sha256
        self.isLink = isLink
    }
}

/// What a destination knows of an upload, as the list keeps it: written down before and after each step.
package enum RemoteState: Hashable, Codable, Sendable {
    case block(BlockLedger)
    case tus(TusLedger)
    case directory(DirectoryLedger)

    /// The seal whose bytes the far side holds.
    package var seal: UUID {
        get {
            switch self {
            case .block(let ledger): ledger.seal
            case .tus(let ledger): ledger.seal
            case .directory(let ledger): ledger.seal
            }
        }
        set {
            switch self {
            case .block(var ledger):
                ledger.seal = newValue
                self = .block(ledger)
            case .tus(var ledger):
                ledger.seal = newValue
                self = .tus(ledger)
            case .directory(var ledger):
                ledger.seal = newValue
                self = .directory(ledger)
            }
        }
    }

    /// Whether nothing but the acknowledged count differs: such a step need not survive a power cut.
    package func onlyAcknowledgesMore(than old: RemoteState?) -> Bool {
        switch (self, old) {
        case (.block(var new), .block(let old)):
            new.acknowledgedCount = old.acknowledgedCount
            return new == old
        case (.tus(var new), .tus(let old)):
            new.offset = old.offset
            return new == old
        case (.directory(var new), .directory(let old)):
            new.offset = old.offset
            return new == old
        default: return false
        }
    }

    /// Bytes that the far side has acknowledged.
    package var acknowledged: ByteCount {
        switch self {
        case .block(let ledger): ledger.acknowledged
        case .tus(let ledger): ledger.offset
        case .directory(let ledger): ledger.offset
        }
    }
}

/// What the destination returned that proves that it has the bytes.
package struct Receipt: Hashable, Codable, Sendable {
    /// The strongest thing that was held against the sealed copy.
    package enum Proof: String, Codable, Sendable {
        /// SHA-256 of the whole file.
        case digest
        /// A checksum of every part.
        case parts
        /// Nothing but its size.
        case size
    }

    package let url: String
    package let size: ByteCount
    package let sha256: SHA256Digest?
    package let proof: Proof

    package init(url: String, size: ByteCount, sha256: SHA256Digest?, proof: Proof) {
        self.url = url
        self.size = size
        self.sha256 = sha256
        self.proof = proof
    }
}

/// A receipt that does not fit the copy.
package enum ReceiptProblem: Error, Sendable {
    /// The far side's file is to be dropped; the ledger now describes a new upload.
    case startAnew
    case failed(Fault)
}

/// Something the far side should drop; outlives the item it came from.
package struct Debt: Hashable, Sendable {
    package let destination: DestinationAddress
    package let tokenFile: FilePath?
    package let remote: RemoteState
    /// The name of the file it belongs to, for people.
    package let name: String

    package init(destination: DestinationAddress, tokenFile: FilePath?, remote: RemoteState, name: String) {
        self.destination = destination
        self.tokenFile = tokenFile
        self.remote = remote
        self.name = name
    }
}
