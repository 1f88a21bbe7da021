import FoundationEssentials
package import IngestModel
import SystemIO
import UploadList
import VideoCache

/// Puts recordings on the list.
package struct Intake: Sendable {
    private let list: UploadList
    private let cache: VideoCache
    private let crashPoints: CrashPoints
    private let now: @Sendable () -> Date

    package init(context: PipelineContext) {
        list = context.list
        cache = context.cache
        crashPoints = context.crashPoints
        now = context.now
    }

    /// What came of putting a recording on the list.
    package enum Result: Sendable {
        /// `before` is the last item that brought the same recording there, if any did.
        case added(Item, before: Item?)
        /// An unfinished item of the same recording and destination goes on.
        case goesOn(Item)
        /// The same, and it was prepared in another way than is asked for now, which stays so.
        case goesOnAsItIs(Item)

        package var item: Item {
            switch self {
            case .added(let item, _), .goesOn(let item), .goesOnAsItIs(let item): item
            }
        }
    }

    /// Puts the recording, named by an absolute path, on the list, or takes up its unfinished item.
    ///
    /// Throws a `Fault` for what cannot be uploaded, without making an item; and what the list throws.
    package func add(
        _ recording: FilePath, to destination: DestinationAddress, options: ItemOptions
    ) async throws -> Result {
        let identity = try await offPool { _ in try Recording(recording).identity() }
        if let known = try await unfinished(recording, identity, destination) {
            return try await resume(known, options: options)
        }
        let before = try await list.items(like: identity, to: destination, done: true).first {
            $0.recording == recording
        }
        let (item, isNew) = try await list.addUnlessThere(
            UploadList.NewItem(
                recording: recording, identity: identity, destination: destination, options: options,
                takenNames: try cache.names()),
            now: now())
        crashPoints.reach(.afterEnqueue)
        // Another process was faster.
        if !isNew { return try await resume(item, options: options) }
        return .added(item, before: before)
    }

    /// The unfinished item of this recording: known by its path, or moved, so that nothing is left at the item's.
    ///
    /// Two files with the same bytes are two recordings.
    private func unfinished(
        _ recording: FilePath, _ identity: RecordingIdentity, _ destination: DestinationAddress
    ) async throws -> Item? {
        let alike = try await list.items(like: identity, to: destination)
        if let same = alike.first(where: { $0.recording == recording }) { return same }
        return try await offPool { _ in
            alike.first { Recording.identityIfPresent(at: $0.recording) == nil }
        }
    }

    private func resume(_ known: Item, options: ItemOptions) async throws -> Result {
        guard let lock = try ItemLock.take(known.id, in: list) else {
            // Another process works on it.
            return known.options.preparation == options.preparation ? .goesOn(known) : .goesOnAsItIs(known)
        }
        defer { withExtendedLifetime(lock) {} }
        guard let item = try await list.item(known.id) else { return .goesOn(known) }
        let isPreparedOtherwise = item.seal != nil && item.options.preparation != options.preparation
        var options = options
        if isPreparedOtherwise { options.preparation = item.options.preparation }
        let event = ItemLife.Event.takenUp(options)
        let resumed = try await list.commit(ItemLife.apply(event, to: item, at: now()), of: item.id) ?? item
        return isPreparedOtherwise ? .goesOnAsItIs(resumed) : .goesOn(resumed)
    }
}
