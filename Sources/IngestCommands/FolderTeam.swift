import IngestModel
import Pipeline

/// The folders that are watched, which may be others after the settings have been read again.
final class FolderTeam: Sendable {
    private let pipeline: PipelineContext
    private let say: @Sendable (String) -> Void
    private let changes: AsyncStream<[WatchedFolder]>
    private let continuation: AsyncStream<[WatchedFolder]>.Continuation

    init(_ context: CommandContext, _ session: Session) {
        pipeline = session.pipeline
        say = { context.say($0) }
        (changes, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Watches them until the task is cancelled, or until one cannot be watched at all.
    func run(_ first: [WatchedFolder], _ supervisor: Supervisor) async throws {
        var folders: [WatchedFolder]? = first
        while let present = folders, !Task.isCancelled {
            folders = try await run(present, supervisor, untilOthersThan: present)
        }
    }

    private func run(
        _ folders: [WatchedFolder], _ supervisor: Supervisor, untilOthersThan present: [WatchedFolder]
    ) async throws -> [WatchedFolder]? {
        let changes = changes
        return try await withThrowingTaskGroup(of: [WatchedFolder]?.self) { group in
            for folder in folders {
                let keeper = FolderKeeper(context: pipeline, folder: folder, supervisor: supervisor, say: say)
                group.addTask {
                    try await keeper.run()
                    return nil
                }
            }
            group.addTask { await changes.first { $0 != present } }
            let next = try await group.next()
            group.cancelAll()
            return next ?? nil
        }
    }

    /// The settings have been read again.
    func replace(_ context: CommandContext, _ invocation: Invocation) {
        do {
            let folders = try WatchCommand.folders(context, invocation)
            continuation.yield(folders)
        } catch {
            context.say(Words.sentence(CommandFailure(error).reason))
            context.say("the folders stay as they were")
        }
    }
}
