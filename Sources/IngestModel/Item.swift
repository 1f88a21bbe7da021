package import FoundationEssentials

/// The number a person knows an item by; small, ascending, never used twice.
package struct ItemID: Hashable, Comparable, Codable, Sendable, CustomStringConvertible {
    package let value: Int64

    package init(_ value: Int64) {
        self.value = value
    }

    package init(from decoder: any Decoder) throws {
        value = try decoder.singleValueContainer().decode(Int64.self)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(value)
    }

    package static func < (left: ItemID, right: ItemID) -> Bool { left.value < right.value }

    package var description: String { "\(value)" }
}

/// Where an item is in its life.
package enum ItemState: String, Codable, CaseIterable, Sendable {
    /// Seen in a watched folder, and not finished yet: nothing of it is taken.
    case waiting
    /// On the list, nothing done yet.
    case queued
    /// The cached copy is being made.
    case preparing
    /// The cached copy is sealed and waits for its turn.
    case ready
    case uploading
    /// The receipt has been checked; what must follow an upload is being done.
    case saving
    case done
    case paused
    case failed
    case cancelled

    /// Whether a `run` takes the item up without being told.
    package var isRunnable: Bool {
        switch self {
        case .queued, .preparing, .ready, .uploading, .saving: true
        case .waiting, .done, .paused, .failed, .cancelled: false
        }
    }

    /// Whether the item has come to its end and only its entry is left.
    package var isFinished: Bool { self == .done || self == .cancelled }
}

/// What somebody asks of an item that another process may be working on. Only the process that holds the item's lock
/// obeys it; everybody may ask.
package enum Wish: String, Codable, Sendable {
    case pause
    case cancel
    /// Cancel and forget the entry.
    case remove
    /// As above, although the sealed copy may be the last one there is.
    case cancelForced
    case removeForced

    package var isForced: Bool { self == .cancelForced || self == .removeForced }
    package var forgets: Bool { self == .remove || self == .removeForced }
}

/// Whether a cached copy, finished or not, is still owed its deletion.
package enum Cleanup: String, Codable, Sendable {
    /// Nothing is owed: there is no copy, or it is still needed.
    case none
    case pending
    case done
}

/// Something a person should know about how an item went.
package enum Mark: String, Codable, Hashable, Sendable {
    /// What was encoded was no smaller, so the recording goes as it is.
    case keptOriginal = "kept-original"
    /// A sealed copy that no list knew.
    case foundInCache = "found-in-cache"
    /// The recording has changed since the copy was taken; the copy goes as it was.
    case recordingChanged = "recording-changed"
    /// The recording is damaged, and goes as it is.
    case damaged
    /// The recording is damaged; the copy holds what could be decoded of it.
    case salvaged
    /// The copy that was made did not hold what it should, so the recording goes as it is.
    case rejectedCopy = "rejected-copy"

    /// Those that say how the copy came about.
    static let ofCopies: Set<Mark> = [.keptOriginal, .damaged, .salvaged, .rejectedCopy]
}

/// A thing of the recording that the copy does not have.
package struct Loss: Hashable, Codable, Sendable {
    package enum Outcome: String, Codable, Sendable { case lost, changed }

    /// What is lost, such as `stream 3 (data, gpmd)`.
    package let what: String
    package let reason: String
    package let outcome: Outcome
    /// Whether an option asked for it.
    package let isAsked: Bool

    package init(what: String, reason: String, outcome: Outcome = .lost, isAsked: Bool = false) {
        self.what = what.printable
        self.reason = reason.printable
        self.outcome = outcome
        self.isAsked = isAsked
    }

    /// Entries of older lists know only what and why.
    package init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        what = try values.decode(String.self, forKey: .what)
        reason = try values.decode(String.self, forKey: .reason)
        outcome = try values.decodeIfPresent(Outcome.self, forKey: .outcome) ?? .lost
        isAsked = try values.decodeIfPresent(Bool.self, forKey: .isAsked) ?? false
    }
}

/// One entry of the upload list: one recording on its way to one destination.
package struct Item: Hashable, Sendable {
    package let id: ItemID
    package let uuid: UUID
    package var group: UUID?
    /// Smaller goes first; among equals the older.
    package var priority: Int64
    package var recording: FilePath
    package var identity: RecordingIdentity
    package let destination: DestinationAddress
    package var options: ItemOptions
    /// The seconds in the cached copy's name.
    package let addedSeconds: Int64
    package var cachedName: FileName
    package var state: ItemState
    package var wish: Wish?
    package var seal: Seal?
    package var remote: RemoteState?
    package var receipt: Receipt?
    package var cleanup: Cleanup
    package var after: AfterState
    /// The name at the far end, where a template made it.
    package var farName: String?
    package var fault: Fault?
    /// Failures in a row since the last progress.
    package var attempts: Int
    /// Not before this moment, where a fault asked for patience.
    package var retryAt: Date?
    package var marks: Set<Mark>
    package var losses: [Loss]
    package var media: MediaSummary?
    package var created: Date
    package var updated: Date

    package init(
        id: ItemID, uuid: UUID, recording: FilePath, identity: RecordingIdentity, destination: DestinationAddress,
        options: ItemOptions, addedSeconds: Int64, cachedName: FileName, created: Date
    ) {
        self.id = id
        self.uuid = uuid
        self.recording = recording
        self.identity = identity
        self.destination = destination
        self.options = options
        self.addedSeconds = addedSeconds
        self.cachedName = cachedName
        self.created = created
        updated = created
        priority = 0
        state = .queued
        cleanup = .none
        after = .none
        attempts = 0
        marks = []
        losses = []
    }

    /// Whether the recording is damaged: it may be all that there is of what the copy lacks.
    package var isDamaged: Bool { !marks.isDisjoint(with: [.damaged, .salvaged]) }

    /// Whether the cached copy is all there is: it was found in the cache, and counts as its recording.
    package var isItsOwnRecording: Bool { marks.contains(.foundInCache) }

    /// The recording's name, for people.
    package var displayName: String { (recording.name?.text ?? recording.text).printable }

    /// Where the item goes on when nothing stands against it.
    package var resumptionState: ItemState {
        if receipt != nil { return .saving }
        return seal == nil ? .queued : .ready
    }
}
