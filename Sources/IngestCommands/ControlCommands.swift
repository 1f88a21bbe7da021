import IngestModel
import Pipeline
import UploadList

/// `pause`, `resume`, `retry`, `next`, `cancel`, `remove`, `clear`
enum ControlCommands {
    static func run(_ context: CommandContext, _ invocation: Invocation) async throws -> ExitCode {
        let session = try Session(context, invocation)
        let control = ItemControl(context: session.pipeline)
        let ids = try await ids(for: invocation, session.list)
        let owed = try await session.list.debts(dueAt: nil).count
        var statuses: [ExitCode] = []
        var changed: [ItemID] = []
        for id in ids {
            let result = try await perform(invocation, id, control)
            if case .done = result { changed.append(id) }
            statuses.append(tell(result, id, invocation, context))
        }
        await session.finish()
        if !invocation.options.quiet {
            sum(invocation, ids, changed, context)
            try await hint(invocation, changed, owedBefore: owed, session, context)
        }
        return ExitCode.combined(statuses)
    }

    /// What a command on many items did.
    private static func sum(
        _ invocation: Invocation, _ ids: [ItemID], _ changed: [ItemID], _ context: CommandContext
    ) {
        if invocation.command == .clear {
            let kept = ids.count - changed.count
            context.say(
                "\(Words.count(changed.count, "item is", "items are")) removed"
                    + (kept > 0 ? ", \(Words.count(kept, "is", "are")) kept" : ""))
        } else if invocation.options.all, ids.isEmpty {
            context.say("there is no item to \(invocation.command.rawValue)")
        }
    }

    /// Which items it is for: those named, or with `--all` (and for `clear`) those that it fits.
    private static func ids(for invocation: Invocation, _ list: UploadList) async throws -> [ItemID] {
        if !invocation.ids.isEmpty { return invocation.ids }
        var ids: [ItemID] = []
        var after = ItemID(0)
        while true {
            let rows = try await list.items(after: after, limit: 500, finishedToo: true)
            // The last one that is put first comes first: so all of them stay in their order.
            guard let last = rows.last else { return invocation.command == .next ? ids.reversed() : ids }
            ids += rows.map { $0.item }.filter { fits($0, invocation) }.map { $0.id }
            after = last.item.id
        }
    }

    private static func fits(_ item: Item, _ invocation: Invocation) -> Bool {
        switch invocation.command {
        case .pause: item.state.isRunnable
        case .resume: item.state == .paused
        case .retry: item.state == .failed || item.retryAt != nil || item.after.reason != nil
        case .next: !item.state.isFinished && item.state != .waiting
        case .cancel: !item.state.isFinished && item.state != .waiting
        // A recording that is being made is nothing to be cleared away.
        // Nor is one whose recording is still to go.
        case .clear:
            item.state != .waiting && item.after != .held && item.after != .pending
                && (!invocation.options.finished || item.state.isFinished)
        default: false
        }
    }

    private static func perform(
        _ invocation: Invocation, _ id: ItemID, _ control: ItemControl
    ) async throws -> ItemControl.Result {
        let isForced = invocation.options.force
        switch invocation.command {
        case .pause: return try await control.ask(.pause, of: id)
        case .resume: return try await control.resume(id)
        case .retry: return try await control.retry(id)
        case .next: return try await control.putFirst(id)
        case .cancel: return try await control.ask(isForced ? .cancelForced : .cancel, of: id)
        default: return try await control.ask(isForced ? .removeForced : .remove, of: id)
        }
    }

    private static func tell(
        _ result: ItemControl.Result, _ id: ItemID, _ invocation: Invocation, _ context: CommandContext
    ) -> ExitCode {
        let options = invocation.options
        switch result {
        case .unknown:
            context.say("there is no item \(id)")
            return .usage
        case .refused(let reason):
            context.say("item \(id): " + Words.sentence(reason))
            return .failed
        case .asked:
            if !options.quiet { context.say("item \(id): the ingest that works on it has been asked to stop it") }
            return .done
        case .done(let item):
            if options.json, let item {
                context.output.write(JSONText.line(Changed(id: id, state: item.state.rawValue)) + "\n")
            } else if !options.quiet, invocation.command != .clear {
                context.say(
                    "item \(id)\(item.map { " (\($0.displayName))" } ?? "") " + outcome(item, invocation.command))
            }
            return .done
        }
    }

    private static func outcome(_ item: Item?, _ command: CommandName) -> String {
        guard let item else { return "is removed" }
        if item.state == .cancelled, item.receipt != nil {
            return "is cancelled; the far side has it complete already, and nothing is deleted there"
        }
        if command == .next { return "goes first" }
        if command == .cancel, item.state == .done { return "is done already; nothing is cancelled" }
        return Words.state(item.state)
    }

    /// Which command does the rest, where nothing runs.
    private static func hint(
        _ invocation: Invocation, _ changed: [ItemID], owedBefore: Int, _ session: Session, _ context: CommandContext
    ) async throws {
        switch invocation.command {
        case .resume, .retry, .next:
            let unattended = try changed.filter { try !session.list.isAttended($0) }
            if !unattended.isEmpty { context.say("no ingest is running that takes it up; start “ingest run”") }
        case .cancel, .remove, .clear:
            let owed = try await session.list.debts(dueAt: nil).count
            if owed > owedBefore {
                context.say(
                    "the far side still holds parts of \(owed == 1 ? "an upload" : "\(owed) uploads"); a running “ingest run” "
                        + "has them dropped, or “ingest clean” does")
            }
        default: break
        }
    }

    private struct Changed: Encodable {
        let id: ItemID
        let state: String
    }
}
