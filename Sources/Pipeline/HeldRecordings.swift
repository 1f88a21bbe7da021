import FoundationEssentials
import IngestModel
import SystemIO
import UploadList

/// Recordings that are done and stay for a while (`--keep-for`) or as long as there is room (`--free-below`).
struct HeldRecordings {
    let context: PipelineContext

    private static let interval = Duration.seconds(5)
    private static let shortInterval = Duration.seconds(1)

    /// Has those go whose time has come, and as many more as room is needed for, those done first first.
    ///
    /// One for each file system in a call: only when it is gone can be seen whether that was enough.
    ///
    /// - Returns: the moment of the next call.
    func release() async throws -> ContinuousClock.Instant {
        var isShort = false
        for item in try await context.list.heldUntil(context.now()) { try await release(item) }
        var relieved: Set<UInt64> = []
        for item in try await context.list.heldForRoom(limit: 1000) {
            guard let below = item.options.freesBelow, let (device, free) = try await room(around: item.recording),
                free < below, relieved.insert(device).inserted
            else { continue }
            try await release(item)
            isShort = true
        }
        return .now + (isShort ? Self.shortInterval : Self.interval)
    }

    private func release(_ item: Item) async throws {
        guard let lock = try ItemLock.take(item.id, in: context.list) else { return }
        defer { withExtendedLifetime(lock) {} }
        guard let current = try await context.list.item(item.id), current.after == .held else { return }
        _ = try await context.commit(.disposalDue, to: current)
    }

    /// The file system that the recording lies on, and what is free there; `nil` where it does not lie any more.
    private func room(around recording: FilePath) async throws -> (device: UInt64, free: ByteCount)? {
        try await offPool { _ in
            // A disk that cannot be asked now is asked again.
            guard let directory = try? FileSystem.open(recording.parent, .directory),
                let status = try? directory.status(), let free = try? directory.freeSpace()
            else { return nil }
            return (status.device, free)
        }
    }
}
