import FoundationEssentials
import IngestModel
import Pipeline
import UploadList

/// `ingest clean [--dry-run]`
enum CleanCommand {
    static func run(_ context: CommandContext, _ invocation: Invocation) async throws -> ExitCode {
        let options = invocation.options
        var session = try Session(context, invocation)
        if try await !session.list.isSound() {
            if options.dryRun { throw ListError.damaged(session.list.path) }
            await session.finish()
            let aside = try UploadList.setAside(session.list.path, now: context.now())
            context.say("the upload list was damaged; it is kept as \(aside.text.printable), and a new one begins")
            session = try Session(context, invocation)
        }
        let report = try await Reconciliation(context: session.pipeline).run(isDry: options.dryRun)
        await session.finish()
        if options.json {
            context.output.write(JSONText.line(CleanJSON(report)) + "\n")
        } else {
            for line in lines(report, isDry: options.dryRun) { context.say(line) }
        }
        return report.debts.unpaid.isEmpty ? .done : .later
    }

    private static func lines(_ report: Reconciliation.Report, isDry: Bool) -> [String] {
        let would = isDry ? "would be " : ""
        var lines: [String] = []
        for name in report.deleted { lines.append("\(name): unfinished and nobody's; \(would)deleted") }
        for name in report.found { lines.append("\(name): no list knew it; \(would)taken into the list as failed") }
        for reason in report.leftAlone { lines.append(Words.sentence("left alone: \(reason)")) }
        for id in report.cleaned { lines.append("item \(id): its copy \(would)deleted as it was owed") }
        if isDry, report.owed > 0 {
            lines.append("\(Words.count(report.owed, "upload", "uploads")) would be dropped at the far side")
        }
        if report.debts.dropped > 0 {
            lines.append("\(Words.count(report.debts.dropped, "upload was", "uploads were")) dropped at the far side")
        }
        for name in report.debts.leftToExpire {
            lines.append("\(name): its destination cannot drop what it holds; it expires there")
        }
        for reason in report.debts.unpaid { lines.append(Words.sentence("not dropped yet: \(reason)")) }
        lines.append(
            "\(ByteCount(report.freed).forReading) \(isDry ? "would be freed" : "freed"), the cache holds "
                + "\(ByteCount(report.held).forReading)")
        return lines
    }

    private struct CleanJSON: Encodable {
        let deleted: [String]
        let found: [String]
        let leftAlone: [String]
        let cleaned: [ItemID]
        let freed: Int64
        let held: Int64
        let dropped: Int
        let leftToExpire: [String]
        let unpaid: [String]
        let owed: Int

        init(_ report: Reconciliation.Report) {
            deleted = report.deleted
            found = report.found
            leftAlone = report.leftAlone
            cleaned = report.cleaned
            freed = report.freed
            held = report.held
            dropped = report.debts.dropped
            leftToExpire = report.debts.leftToExpire
            unpaid = report.debts.unpaid
            owed = report.owed
        }
    }
}
