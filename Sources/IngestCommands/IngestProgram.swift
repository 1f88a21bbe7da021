import Diagnostics
import IngestModel
import OptionParsing
import SystemIO

/// The whole program but for its entry.
package enum IngestProgram {
    package static let version = "0.1.0"

    /// Does what the arguments (without the program's name, in the system's bytes) say, and tells how the program should
    /// end.
    package static func run(_ arguments: [[UInt8]], _ context: CommandContext) async -> ExitCode {
        let status = await status(arguments, context)
        guard let failure = context.output.failure else { return status }
        context.say("the results cannot be written: \(failure.meaning)", .error)
        return status == .done ? .failed : status
    }

    private static func status(_ arguments: [[UInt8]], _ context: CommandContext) async -> ExitCode {
        let typed = Invocation(arguments)
        if typed.options.help {
            context.output.write(Help.text(for: typed.command))
            return .done
        }
        if typed.options.version, typed.problems.isEmpty {
            context.output.write("ingest \(version)\n")
            return .done
        }
        if !typed.problems.isEmpty { return refuse(typed, context) }
        let invocation: Invocation
        do {
            invocation = typed.usesSettings ? try configured(typed, context) : typed
        } catch {
            for sentence in error.sentences { context.say(Words.sentence(sentence), .error) }
            return .usage
        }
        if !invocation.problems.isEmpty { return refuse(invocation, context) }
        do {
            return try await perform(invocation, context)
        } catch {
            // Whoever closed the pipe does not want to hear about it.
            if context.output.isClosed { return .done }
            let failure = CommandFailure(error)
            context.say(Words.sentence(failure.reason), .error)
            return failure.status
        }
    }

    private static func configured(
        _ typed: Invocation, _ context: CommandContext
    ) throws(ConfigurationProblems) -> Invocation {
        typed.over(try Configuration.read(context, typed: typed.options.configuration))
    }

    private static func refuse(_ invocation: Invocation, _ context: CommandContext) -> ExitCode {
        for problem in invocation.problems { context.say(problem, .error) }
        context.write(Help.hint(for: invocation.command), .notice)
        return .usage
    }

    private static func perform(_ invocation: Invocation, _ context: CommandContext) async throws -> ExitCode {
        switch invocation.command {
        case .upload: try await UploadCommand.run(context, invocation)
        case .watch: try await WatchCommand.run(context, invocation)
        case .run: try await RunCommand.run(context, invocation)
        case .list: try await ListCommand.run(context, invocation)
        case .show: try await ListCommand.show(context, invocation)
        case .pause, .resume, .retry, .next, .cancel, .remove, .clear:
            try await ControlCommands.run(context, invocation)
        case .clean: try await CleanCommand.run(context, invocation)
        case .probe: try await ProbeCommand.run(context, invocation)
        case .receive: try await ReceiveCommand.run(context, invocation)
        case .config: ConfigCommand.run(context, invocation)
        case .completions: try await CompletionsCommand.run(context, invocation)
        case .man: ManCommand.run(context)
        }
    }
}
