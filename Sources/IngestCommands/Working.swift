import Glibc
import IngestModel
import Pipeline
import SystemIO

/// Working off items with events shown and signals obeyed; what `ingest FILE`, `run` and `watch` share.
enum Working {
    struct Result {
        /// A signal or a closed pipe ended it early.
        let isInterrupted: Bool
        let signal: Int32?
        let endings: [ItemState]
    }

    static func run(
        _ context: CommandContext, _ options: Options, _ session: Session, mode: Supervisor.Mode, ids: Set<ItemID>?,
        reload: (@Sendable () -> Void)? = nil, greeting: String? = nil, service: ServiceManager? = nil,
        beside companions: (Supervisor) -> [@Sendable () async throws -> Void] = { _ in [] }
    ) async throws -> Result {
        let supervisor = Supervisor(context: session.pipeline, mode: mode, ids: ids) { service?.alive() }
        let signals = StopSignals(reload: reload, service: service) { Task { await supervisor.stop() } }
        // Whoever reads it may send signals from now on.
        if let greeting, !options.quiet { context.say(greeting) }
        service?.ready()
        let told = Task { await ServiceStatus.tell(service, of: session.list, now: context.now) }
        let shown = Task { await show(session, context, options, supervisor) }
        let beside = companions(supervisor).map { companion in
            Task {
                do {
                    try await companion()
                } catch {
                    await supervisor.give(up: error)
                }
            }
        }
        var failure: (any Error)?
        do {
            try await supervisor.run()
        } catch {
            failure = error
        }
        for task in beside {
            task.cancel()
            await task.value
        }
        told.cancel()
        await told.value
        await session.finish()
        await shown.value
        if let failure { throw failure }
        return Result(
            isInterrupted: signals.first != nil || context.output.isClosed, signal: signals.first,
            endings: await supervisor.results)
    }

    private static func show(
        _ session: Session, _ context: CommandContext, _ options: Options, _ supervisor: Supervisor
    ) async {
        let output = makeOutput(context, options)
        for await event in session.events {
            output.show(event)
            // Nobody reads the results any more: end, and keep everything.
            if context.output.isClosed { await supervisor.stop() }
        }
        output.finish()
    }

    private static func makeOutput(_ context: CommandContext, _ options: Options) -> any EventOutput {
        if options.json { return JSONOutput(context) }
        let isLive = context.errors.isTerminal && context.environment["TERM"] != "dumb" && options.color != .never
        return isLive && !options.quiet
            ? TerminalOutput(context, isQuiet: options.quiet, isVerbose: options.verbose)
            : PlainOutput(context, isQuiet: options.quiet, isVerbose: options.verbose)
    }
}
