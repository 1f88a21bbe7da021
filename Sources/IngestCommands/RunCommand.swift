import Diagnostics
import Glibc
import IngestModel
import Pipeline
import SystemIO
import UploadList

/// `ingest run [--once]`
enum RunCommand {
    /// A recorder on the same machine must not drop frames.
    static let niceness = 10

    static func run(_ context: CommandContext, _ invocation: Invocation) async throws -> ExitCode {
        let options = invocation.options
        let session = try Session(context, invocation, niceness: niceness)
        let mode: Supervisor.Mode = options.once ? .once(patience: options.patience) : .forever
        let worked = try await Working.run(
            context, options, session, mode: mode, ids: nil, reload: { session.reload(context, invocation) },
            greeting: options.once ? nil : "working off the upload list; stop with ^C",
            service: options.once ? nil : ServiceManager(context.environment))
        if worked.signal == SIGINT { return .interrupted }
        if worked.isInterrupted { return .done }
        let failed = try await session.list.failedCount()
        if failed > 0, !options.quiet {
            context.say(
                "\(Words.count(Int(failed), "item has", "items have")) failed before or now; “ingest list” says why, “ingest retry” "
                    + "tries again", .error)
        }
        return ExitCode.combined(
            worked.endings.map { state in
                switch state {
                case .failed: .failed
                case .queued, .preparing, .ready, .uploading, .saving: .later
                case .waiting, .done, .paused, .cancelled: .done
                }
            })
    }
}
