import IngestModel
import SystemIO

/// What a file under its name is known by while nothing is done to it. Whatever is done changes it: what comes in its place may get
/// its inode, size and time, and what is on the list must be found again where it is now.
struct FileSignature: Hashable, Sendable {
    /// Hashes of 64 bits with a seed of this process: there is one for each file of a folder.
    private let state: Int
    /// Of the directory's path.
    let directory: Int

    init(_ status: FileStatus, at path: FilePath) {
        var hasher = Hasher()
        hasher.combine(path)
        hasher.combine(status.device)
        hasher.combine(status.inode)
        hasher.combine(status.size)
        hasher.combine(status.modified)
        hasher.combine(status.changed)
        state = hasher.finalize()
        directory = path.parent.hashValue
    }
}

/// A file that may become a recording.
struct Candidate {
    let firstSeen: ContinuousClock.Instant
    /// The next look at it.
    var due: ContinuousClock.Instant
    /// When something was last heard of it.
    var heardAt: ContinuousClock.Instant
    var signature: FileSignature?
    /// Since when it has been as it is.
    var quietSince: ContinuousClock.Instant
    var reason: WaitingReason?
    /// What others were told last, and when.
    var told: (reason: WaitingReason?, at: ContinuousClock.Instant)?

    init(at now: ContinuousClock.Instant) {
        firstSeen = now
        due = now
        heardAt = now
        quietSince = now
    }

    var isBeingWritten: Bool { reason == .writer }

    /// So long after news of a file a writer may be seen who has gone.
    static let freshness = Duration.milliseconds(50)

    /// A file that is finished within this time is not spoken of.
    private static let silence = Duration.seconds(1)
    private static let tellingInterval = Duration.seconds(5)

    /// The reason that others should hear now, if any.
    mutating func newsToTell(at now: ContinuousClock.Instant) -> WaitingReason? {
        guard let reason, now - firstSeen >= Self.silence, told?.reason != reason else { return nil }
        if let told, now - told.at < Self.tellingInterval { return nil }
        told = (reason, now)
        return reason
    }

    /// When something is to be told that was held back.
    var nextNews: ContinuousClock.Instant? {
        guard let reason, told?.reason != reason else { return nil }
        return max(firstSeen + Self.silence, told.map { $0.at + Self.tellingInterval } ?? firstSeen)
    }
}
