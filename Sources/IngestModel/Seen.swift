package import FoundationEssentials

/// Why a watched folder leaves a recording alone.
package enum SeenOutcome: String, Codable, Sendable {
    /// It has reached its destination.
    case brought
    /// Somebody cancelled it.
    case dismissed
}

/// A recording that has been dealt with, for one destination; outlives its item.
package struct SeenRecording: Sendable {
    package let number: Int64
    package let destination: DestinationAddress
    package let recording: FilePath
    package let identity: RecordingIdentity
    package let item: ItemID
    package let outcome: SeenOutcome
    package let time: Date

    package init(
        number: Int64, destination: DestinationAddress, recording: FilePath, identity: RecordingIdentity, item: ItemID,
        outcome: SeenOutcome, time: Date
    ) {
        self.number = number
        self.destination = destination
        self.recording = recording
        self.identity = identity
        self.item = item
        self.outcome = outcome
        self.time = time
    }
}

/// Whether a file is a recording that was there before.
package enum Acquaintance: Hashable, Sendable {
    case stranger
    case known
    /// The pieces that were read are the same; all of it has to be read to know.
    case needsDigest

    /// - Parameters:
    ///   - file: a file that has been found; its digest may not have been taken.
    ///   - known: what was dealt with before.
    /// - Returns: whether they are the same.
    package static func compare(_ file: RecordingIdentity, with known: RecordingIdentity) -> Acquaintance {
        guard file.size == known.size, file.fingerprint == known.fingerprint else { return .stranger }
        if let digest = file.sha256, let theirs = known.sha256 { return digest == theirs ? .known : .stranger }
        // Bytes may have been changed between the pieces, but not without a new time; and small files are read whole.
        if file.modified == known.modified || Fingerprint.coversAll(of: file.size) { return .known }
        // What was never read to its end can only be taken for another one.
        return known.sha256 == nil ? .stranger : .needsDigest
    }
}
