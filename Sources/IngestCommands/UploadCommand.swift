import Diagnostics
import FoundationEssentials
import IngestModel
import OptionParsing
import Pipeline
import SystemIO
import UploadList
import Uploading

/// `ingest FILE...`
enum UploadCommand {
    static func run(_ context: CommandContext, _ invocation: Invocation) async throws -> ExitCode {
        let options = invocation.options
        try invocation.checkDestination(context)
        try checkPreset(invocation, context)
        let session = try Session(context, invocation)
        var intake = FileIntake(context: context, invocation: invocation, session: session)
        for operand in invocation.operands { try await intake.add(operand) }
        if options.detach {
            await session.finish()
            return detached(context, options, intake)
        }
        if intake.ids.isEmpty {
            await session.finish()
            return ExitCode.combined(intake.refusals)
        }
        let worked = try await Working.run(
            context, options, session, mode: .once(patience: options.patience), ids: Set(intake.ids))
        if worked.signal == nil, context.output.isClosed {
            // Whoever closed the pipe does not want to hear about it; the status tells.
            var isDone = intake.refusals.isEmpty
            for id in intake.ids where try await session.list.item(id)?.state != .done { isDone = false }
            return isDone ? .done : .interrupted
        }
        if worked.isInterrupted {
            // Also by SIGTERM: the file asked for has not gone up.
            context.say(try await interruption(of: intake.ids, session))
            return .interrupted
        }
        var statuses = intake.refusals
        for id in intake.ids { statuses.append(try await status(of: id, context, session)) }
        return ExitCode.combined(statuses)
    }

    /// `--compress small FILE` names a file “small”; nearly always a preset was meant.
    private static func checkPreset(_ invocation: Invocation, _ context: CommandContext) throws {
        guard invocation.options.compress != nil else { return }
        for operand in invocation.operands.map({ String(decoding: $0, as: UTF8.self) }) {
            let presets = CompressSettings.Preset.allCases.map { $0.rawValue }
            guard let preset = EditDistance.nearest(to: operand, among: presets), !operand.contains("."),
                let path = context.absolute(Array(operand.utf8)), (try? FileSystem.statusIfExists(of: path)) == nil
            else { continue }
            throw CommandFailure(
                .usage, "there is no file “\(operand.printable)”; a preset is given as --compress=\(preset)")
        }
    }

    /// What is kept of files that were interrupted, and what goes on with them.
    private static func interruption(of ids: [ItemID], _ session: Session) async throws -> String {
        var items: [Item] = []
        for id in ids {
            if let item = try await session.list.item(id) { items.append(item) }
        }
        let open = items.filter { !$0.state.isFinished }
        let uncopied = open.filter { $0.seal == nil }.count
        let kept =
            switch (uncopied, open.count) {
            case (0, _): "what has been copied and sent is kept"
            case (1, 1): "its copy is not complete and is made anew, so the recording must stay where it is"
            default:
                "\(uncopied) of \(open.count) are not copied yet, so those recordings must stay where they are"
            }
        if items.count == 1 { return "interrupted; \(kept). The same command goes on, and so does “ingest run --once”" }
        let done = items.filter { $0.state == .done }.count
        return
            "interrupted; \(done) of \(items.count) files are done; \(kept). “ingest run --once” goes on with the rest"
    }

    private static func detached(_ context: CommandContext, _ options: Options, _ intake: FileIntake) -> ExitCode {
        for item in intake.items {
            context.output.write(options.json ? JSONText.line(["id": item.id]) + "\n" : "\(item.id)\n")
        }
        if !options.quiet, !intake.items.isEmpty {
            context.say(
                "on the list; the recordings are not copied yet and must stay where they are until “ingest run” has "
                    + "taken them up")
        }
        if context.environment["INGEST_TOKEN"] != nil, options.tokenFile == nil, !intake.items.isEmpty {
            context.say("INGEST_TOKEN is not kept with them: “ingest run” needs it too, or give --token-file")
        }
        return ExitCode.combined(intake.refusals + intake.items.map { _ in .done })
    }

    private static func status(of id: ItemID, _ context: CommandContext, _ session: Session) async throws -> ExitCode {
        guard let item = try await session.list.item(id) else {
            context.say("item \(id) was removed from the list meanwhile; it was not uploaded")
            return .failed
        }
        switch item.state {
        case .done: return item.after.reason == nil ? .done : .failed
        case .failed: return .failed
        case .cancelled:
            let arrived = item.receipt.map { "it is complete at \($0.url.printable) all the same" }
            context.say("\(item.displayName): it was cancelled meanwhile; \(arrived ?? "it was not uploaded")")
            return .failed
        case .waiting, .queued, .preparing, .ready, .uploading, .saving, .paused:
            let why = item.state == .paused ? "it was paused" : item.fault?.reason ?? "it made no progress"
            let what = item.state == .paused ? "ingest resume \(id)" : "ingest run"
            context.say(
                "\(item.displayName): not now: \(Words.sentence(why)) It is kept on the list as item \(id); “\(what)” goes on."
            )
            return .later
        }
    }
}

/// Puts files on the list, one after another, and remembers what was wrong with those that cannot be.
struct FileIntake {
    let context: CommandContext
    let invocation: Invocation
    let session: Session
    private(set) var items: [Item] = []
    private(set) var refusals: [ExitCode] = []

    private var options: Options { invocation.options }

    init(context: CommandContext, invocation: Invocation, session: Session) {
        self.context = context
        self.invocation = invocation
        self.session = session
    }

    /// Each once, in the order in which they were named.
    var ids: [ItemID] {
        var seen: Set<ItemID> = []
        return items.map { $0.id }.filter { seen.insert($0).inserted }
    }

    mutating func add(_ operand: [UInt8]) async throws {
        let shown = String(decoding: operand, as: UTF8.self).printable
        guard let path = context.absolute(operand), let name = path.name?.text.printable else {
            return refuse(.usage, "“\(shown)” names no file")
        }
        if let status = try? FileSystem.statusIfExists(of: path), status.kind == .directory {
            return refuse(.usage, "\(shown) is a directory; name the files in it")
        }
        if options.after != .keep, (try? FileSystem.status(of: path, following: false))?.kind == .link {
            return refuse(
                .usage,
                "\(shown) is a symbolic link, and “--after” would not know what to take away; name the file itself")
        }
        do {
            let result = try await Intake(context: session.pipeline).add(
                path, to: options.destination, options: invocation.itemOptions(in: context.environment.workingDirectory)
            )
            items.append(result.item)
            tell(result, name)
        } catch let fault as Fault {
            if options.json {
                context.output.write(
                    JSONText.line(
                        EventJSON(
                            event: "failed", time: context.now(), file: path.text, reason: fault.reason,
                            code: fault.code.rawValue)) + "\n")
            }
            refuse(.failed, "\(name): " + Words.sentence(fault.reason) + Self.guess(shown, fault))
        }
    }

    /// What somebody may have meant who named a file that is not there.
    private static func guess(_ operand: String, _ fault: Fault) -> String {
        guard fault.code == .recordingMissing else { return "" }
        if operand == "-" { return " Standard input cannot be taken up again after an interruption; name a file." }
        if CompressSettings.Preset(rawValue: operand) != nil { return " A preset is given as --compress=\(operand)." }
        let commands = CommandName.allCases.map { $0.rawValue }.filter { !$0.isEmpty }
        guard let command = EditDistance.nearest(to: operand, among: commands) else { return "" }
        return " Did you mean “ingest \(command)”?"
    }

    private mutating func refuse(_ status: ExitCode, _ sentence: String) {
        context.say(sentence, .error)
        refusals.append(status)
    }

    private func tell(_ result: Intake.Result, _ name: String) {
        switch result {
        case .added(let item, let before):
            if item.identity.size.value == 0, !options.quiet {
                context.say("\(name): is empty (0 bytes) and is uploaded so; did the recorder write anything?")
            }
            if let before, !options.quiet {
                context.say(
                    "\(name): was uploaded before, as item \(before.id)\(before.receipt.map { " (\($0.url))" } ?? ""); it is "
                        + "uploaded again")
            }
        case .goesOn(let item):
            if !options.quiet { context.say("\(name): goes on as item \(item.id)") }
        case .goesOnAsItIs(let item):
            context.say(
                "\(name): goes on as item \(item.id), as it was prepared then (\(how(item))); “ingest cancel \(item.id)” "
                    + "first, to prepare it anew")
        }
    }

    private func how(_ item: Item) -> String {
        item.options.summary.isEmpty ? "byte for byte" : item.options.summary.joined(separator: " ")
    }
}
