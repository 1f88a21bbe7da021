import FolderWatch
import FoundationEssentials
import Glibc
import IngestModel
import Pipeline
import Settings
import SystemIO
import UploadList

/// `ingest watch DIR...`
enum WatchCommand {
    static func run(_ context: CommandContext, _ invocation: Invocation) async throws -> ExitCode {
        if invocation.options.seen { return try await showSeen(context, invocation) }
        if invocation.options.forget { return try await forget(context, invocation) }
        let folders = try folders(context, invocation)
        let session = try Session(context, invocation, niceness: RunCommand.niceness)
        let team = FolderTeam(context, session)
        let worked = try await Working.run(
            context, invocation.options, session, mode: .forever, ids: nil,
            reload: {
                guard let fresh = session.reload(context, invocation) else { return }
                team.replace(context, fresh)
            },
            greeting: "watching \(names(folders)); stop with ^C", service: ServiceManager(context.environment)
        ) { supervisor in
            [{ try await team.run(folders, supervisor) }]
        }
        return worked.signal == SIGINT ? .interrupted : .done
    }

    static func names(_ folders: [WatchedFolder]) -> String {
        folders.map { $0.path.text.printable }.joined(separator: ", ")
    }

    /// Those that were named, else those of the configuration.
    static func folders(_ context: CommandContext, _ invocation: Invocation) throws -> [WatchedFolder] {
        if !invocation.operands.isEmpty {
            return try watched(try invocation.operands.map { try path($0, context) }, context, invocation)
        }
        if invocation.folders.isEmpty {
            throw CommandFailure(.usage, "name a folder to watch, or put a table [watch.NAME] into the configuration")
        }
        return try invocation.folders.flatMap { folder in
            do {
                return try watched(folder.folders, context, invocation.inside(folder))
            } catch let failure as CommandFailure {
                throw CommandFailure(failure.status, "[watch.\(folder.name)]: \(failure.reason)")
            }
        }
    }

    private static func path(_ operand: [UInt8], _ context: CommandContext) throws -> FilePath {
        guard let path = context.absolute(operand) else {
            throw CommandFailure(.usage, "“\(String(decoding: operand, as: UTF8.self).printable)” names no folder")
        }
        return path
    }

    private static func watched(
        _ paths: [FilePath], _ context: CommandContext, _ invocation: Invocation
    ) throws -> [WatchedFolder] {
        try invocation.checkDestination(context)
        let options = invocation.itemOptions(in: context.environment.workingDirectory)
        var rules = invocation.options.watch
        rules.own = own(context.environment)
        return try paths.map { path in
            if let status = try FileSystem.statusIfExists(of: path), status.kind != .directory {
                throw CommandFailure(.usage, "\(path.text.printable) is no folder; “ingest FILE” uploads a file")
            }
            // Recordings are known by paths that do not change with the links that lead to them.
            let real = (try? FileSystem.resolved(path)) ?? path
            if let own = rules.own.first(where: { real.isWithin($0) }) {
                throw CommandFailure(
                    .usage, "\(path.text.printable) lies in \(own.text.printable), where ingest keeps files of its own")
            }
            return WatchedFolder(
                path: real, rules: rules, destination: invocation.options.destination, options: options)
        }
    }

    /// Where this program puts what it makes, and what people have thrown away.
    private static func own(_ environment: Environment) -> Set<FilePath> {
        let places = [
            environment.videoCache, environment.stateDirectory, environment.receivedDirectory,
            environment.trashDirectory,
        ]
        return Set(places.compactMap { $0 }.map { (try? FileSystem.resolved($0)) ?? $0 })
    }

    // MARK: - What has been brought

    private static func showSeen(_ context: CommandContext, _ invocation: Invocation) async throws -> ExitCode {
        let list = try Session.openList(context)
        var number: Int64 = 0
        while true {
            let rows = try await list.seen(after: number, limit: 500)
            guard let last = rows.last else { return .done }
            for row in rows { context.output.write(invocation.options.json ? json(row) : text(row)) }
            number = last.number
        }
    }

    private static func text(_ row: SeenRecording) -> String {
        let number = String(repeating: " ", count: max(0, 4 - "\(row.number)".count)) + "\(row.number)"
        let outcome = row.outcome == .brought ? "brought  " : "dismissed"
        return
            "\(number)  \(row.time.formatted(.iso8601))  \(outcome)  \(row.recording.text.printable) → "
            + "\(row.destination.text.printable)\n"
    }

    private static func json(_ row: SeenRecording) -> String {
        JSONText.line(
            SeenJSON(
                number: row.number, time: row.time, outcome: row.outcome.rawValue, filePath: row.recording.text,
                destination: row.destination.text, id: row.item, sourceSHA256: row.identity.sha256?.hex)) + "\n"
    }

    private struct SeenJSON: Encodable {
        let number: Int64
        let time: Date
        let outcome: String
        let filePath: String
        let destination: String
        let id: ItemID
        let sourceSHA256: String?
    }

    private static func forget(_ context: CommandContext, _ invocation: Invocation) async throws -> ExitCode {
        let list = try Session.openList(context)
        var count = 0
        var statuses: [ExitCode] = []
        if invocation.options.all { count = try await list.forgetAllSeen() }
        for id in invocation.ids {
            let forgotten = try await list.forgetSeen(id.value)
            if forgotten == 0 { context.say("there is no number \(id); “ingest watch --seen” shows them") }
            statuses.append(forgotten == 0 ? .usage : .done)
            count += forgotten
        }
        if !invocation.options.quiet {
            context.say("\(Words.count(count, "recording is", "recordings are")) forgotten")
        }
        return ExitCode.combined(statuses)
    }
}
