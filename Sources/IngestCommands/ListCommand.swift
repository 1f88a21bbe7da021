import FoundationEssentials
import IngestModel
import SystemIO
import UploadList

/// `ingest list` and `ingest show`
enum ListCommand {
    /// Rows that are fetched at a time: memory does not grow with the list.
    private static let page = 500

    static func run(_ context: CommandContext, _ invocation: Invocation) async throws -> ExitCode {
        let list = try Session.openList(context)
        if invocation.options.follow { return try await follow(list, context, invocation.options) }
        try await write(list, context, invocation.options, to: context.output)
        return .done
    }

    private static func write(
        _ list: UploadList, _ context: CommandContext, _ options: Options, to output: OutputStream
    ) async throws {
        var after = ItemID(0)
        var count = 0
        if options.json { output.write("[") }
        while !output.isBroken {
            let rows = try await list.items(after: after, limit: page, finishedToo: options.all)
            guard let last = rows.last else { break }
            for (item, progress) in rows {
                if options.json {
                    let json = JSONText.line(
                        ItemJSON(
                            item: item, progress: progress, cachedPath: cachedPath(item, context), now: context.now()))
                    output.write((count == 0 ? "\n" : ",\n") + json)
                } else {
                    if count == 0 { output.write(ItemText.header) }
                    output.write(
                        ItemText.row(
                            item, progress, attendance: try Attendance.of(item, in: list), now: context.now(),
                            isColored: isColored(context, options)))
                }
                count += 1
            }
            after = last.item.id
        }
        if options.json {
            output.write(count == 0 ? "]\n" : "\n]\n")
        } else if count == 0, !options.quiet {
            context.say(
                options.all ? "the upload list is empty" : "nothing is on its way; “ingest list --all” shows what was")
        }
    }

    private static func follow(_ list: UploadList, _ context: CommandContext, _ options: Options) async throws
        -> ExitCode
    {
        let stop = StopFlag()
        let signals = StopSignals { stop.set() }
        let isLive = context.output.isTerminal && !options.json
        while !stop.isSet, !context.output.isBroken {
            if isLive { context.output.write("\u{1B}[H\u{1B}[2J") }
            try await write(list, context, options, to: context.output)
            try await Task.sleep(for: .milliseconds(isLive ? 500 : 1000))
        }
        return signals.first == nil ? .done : .interrupted
    }

    static func show(_ context: CommandContext, _ invocation: Invocation) async throws -> ExitCode {
        let list = try Session.openList(context)
        guard let id = invocation.ids.first, let item = try await list.item(id) else {
            throw CommandFailure(.usage, "there is no item \(invocation.ids.first.map { "\($0)" } ?? "")")
        }
        let progress = try await list.progress(of: id)
        if invocation.options.json {
            let json = ItemJSON(
                item: item, progress: progress, cachedPath: cachedPath(item, context), now: context.now())
            context.output.write(JSONText.line(json) + "\n")
        } else {
            context.output.write(
                ItemText.page(
                    item, progress, cachedPath: cachedPath(item, context),
                    attendance: try Attendance.of(item, in: list), now: context.now()))
        }
        return .done
    }

    private static func cachedPath(_ item: Item, _ context: CommandContext) -> FilePath {
        (context.environment.videoCache ?? .root).appending(item.cachedName)
    }

    private static func isColored(_ context: CommandContext, _ options: Options) -> Bool {
        switch options.color {
        case .always: true
        case .never: false
        case .auto:
            context.output.isTerminal && context.environment["NO_COLOR"] == nil && context.environment["TERM"] != "dumb"
        }
    }
}
