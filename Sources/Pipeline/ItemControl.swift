import FoundationEssentials
package import IngestModel
import SystemIO
import UploadList
import VideoCache

/// What people ask of items: pause, resume, retry, cancel, remove. Where another process works on the item the wish is
/// written down and that process obeys; where none does it is done here, under the item's lock.
package struct ItemControl: Sendable {
    private let context: PipelineContext

    /// Seconds to wait for another process to obey.
    private static let patience = 2.0

    package init(context: PipelineContext) {
        self.context = context
    }

    package enum Result: Sendable {
        /// Done; `nil`: and forgotten.
        case done(Item?)
        /// Written down; the process that works on the item has not obeyed yet.
        case asked
        /// Not done, for this reason.
        case refused(String)
        case unknown
    }

    private static let waits = "the recording is not finished yet, so there is nothing to do that with"

    /// Pauses, cancels or removes.
    package func ask(_ wish: Wish, of id: ItemID) async throws -> Result {
        guard let before = try await context.list.item(id) else { return .unknown }
        if let reason = try await objection(to: wish, for: before) { return .refused(reason) }
        try await context.list.wish(wish, for: id)
        let deadline = ContinuousClock.now + .seconds(Self.patience)
        while true {
            if let result = try await settle(id, wish) { return result }
            guard let current = try await context.list.item(id) else { return .done(nil) }
            if current.wish == nil { return try await verdict(on: wish, current) }
            if ContinuousClock.now > deadline { return .asked }
            try await Task.sleep(for: .milliseconds(50))
        }
    }

    /// Does what is wished, if nobody works on the item.
    private func settle(_ id: ItemID, _ wish: Wish) async throws -> Result? {
        guard let lock = try ItemLock.take(id, in: context.list) else { return nil }
        defer { withExtendedLifetime(lock) {} }
        guard let item = try await context.list.item(id) else { return .done(nil) }
        guard let settled = try await worker(for: item).settle(item) else { return .done(nil) }
        return try await verdict(on: wish, settled)
    }

    private func verdict(on wish: Wish, _ item: Item) async throws -> Result {
        if wish != .pause, !item.state.isFinished, let reason = try await objection(to: wish, for: item) {
            return .refused(reason)
        }
        return .done(item)
    }

    private func objection(to wish: Wish, for item: Item) async throws -> String? {
        if wish == .pause, item.state == .waiting { return Self.waits }
        if wish == .pause || wish.isForced { return nil }
        let path = item.recording
        let recording = try await offPool { _ in Recording.identityIfPresent(at: path) }
        return CopySafety.objection(toDeletingCopyOf: item, recording: recording)
    }

    /// Lets a paused item go on.
    package func resume(_ id: ItemID) async throws -> Result {
        try await change(id, .resumed) { item in
            if item.wish == .pause { return nil }
            return item.state == .paused ? nil : "it is not paused, it is \(item.state.rawValue)"
        }
    }

    /// Lets a failed item, or one that waits for its next try, go on at once.
    package func retry(_ id: ItemID) async throws -> Result {
        try await change(id, .retried) { item in
            switch item.state {
            case .waiting: Self.waits
            case .failed, .paused: nil
            case .done where item.after.reason != nil: nil
            case .done, .cancelled: "it is \(item.state.rawValue); there is nothing to try again"
            case .queued, .preparing, .ready, .uploading, .saving: nil
            }
        }
    }

    /// Puts the item before all others.
    package func putFirst(_ id: ItemID) async throws -> Result {
        guard let item = try await context.list.item(id) else { return .unknown }
        if item.state.isFinished { return .refused("it is \(item.state.rawValue); there is nothing to put first") }
        try await context.list.putFirst(id)
        return .done(try await context.list.item(id))
    }

    private func change(
        _ id: ItemID, _ event: ItemLife.Event, unless objection: (Item) -> String?
    ) async throws -> Result {
        guard let known = try await context.list.item(id) else { return .unknown }
        if let reason = objection(known) { return .refused(reason) }
        try await context.list.withdrawWish(.pause, for: id)
        guard let lock = try ItemLock.take(id, in: context.list) else { return .done(known) }
        defer { withExtendedLifetime(lock) {} }
        guard let item = try await context.list.item(id) else { return .unknown }
        return .done(try await context.commit(event, to: item))
    }

    private func worker(for item: Item) -> ItemWorker {
        ItemWorker(
            context: context, reporter: ItemReporter(item, now: context.now, send: context.send))
    }
}
