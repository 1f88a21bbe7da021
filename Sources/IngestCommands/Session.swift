import Diagnostics
import FoundationEssentials
import Glibc
import IngestModel
import Pipeline
import Settings
import Synchronization
import SystemIO
import UploadList
import VideoCache

/// What every command on the list begins with: the list, the cache, and the pipeline's context.
struct Session {
    let list: UploadList
    let cache: VideoCache
    let pipeline: PipelineContext
    let events: AsyncStream<PipelineEvent>
    private let continuation: AsyncStream<PipelineEvent>.Continuation
    private let niceness: Int?

    /// - Parameters:
    ///   - context: the surroundings.
    ///   - invocation: with the settings.
    ///   - niceness: of the media process, where no option says another.
    /// - Throws: `CommandFailure` with the sentence and the status.
    init(_ context: CommandContext, _ invocation: Invocation, niceness: Int? = nil) throws {
        self.niceness = niceness
        guard let stateDirectory = context.environment.stateDirectory,
            let cacheDirectory = context.environment.videoCache
        else {
            throw CommandFailure(.failed, "there is no home directory; set HOME, or XDG_STATE_HOME and XDG_CACHE_HOME")
        }
        list = try Self.openList(stateDirectory, context)
        do {
            cache = try VideoCache(directory: cacheDirectory)
        } catch {
            throw CommandFailure(error.isTemporary ? .later : .failed, error.reason)
        }
        (events, continuation) = AsyncStream.makeStream(of: PipelineEvent.self)
        let sink = continuation
        pipeline = PipelineContext(
            list: list, cache: cache, environment: context.environment,
            settings: Self.settings(invocation, niceness), log: LogSink.log(context, invocation.options),
            now: context.now, send: { sink.yield($0) })
    }

    private static func settings(_ invocation: Invocation, _ niceness: Int?) -> PipelineSettings {
        let options = invocation.options
        var settings = PipelineSettings(
            jobs: options.jobs, limitRate: options.limitRate,
            threads: options.threads ?? max(1, ThisProcess.processorCount * 3 / 2),
            niceness: options.niceness ?? niceness, destinations: invocation.destinations.mapValues { $0.profile })
        if invocation.command == .watch {
            settings.minimumFree = options.minimumFree
            settings.cacheLimit = options.cacheLimit
            settings.encodesWhenIdle = options.encodesWhenIdle
        }
        return settings
    }

    /// Reads the settings again, for what is done from now on. Those that are wrong change nothing, and `nil` is returned.
    @discardableResult
    func reload(_ context: CommandContext, _ invocation: Invocation) -> Invocation? {
        guard let fresh = Reloading.read(context, invocation) else { return nil }
        pipeline.adopt(Self.settings(fresh, niceness))
        if !fresh.options.quiet { context.say("the settings have been read again") }
        return fresh
    }

    /// Without the cache and the pipeline, for commands that only look.
    static func openList(_ context: CommandContext) throws -> UploadList {
        guard let directory = context.environment.stateDirectory else {
            throw CommandFailure(.failed, "there is no home directory; set HOME, or XDG_STATE_HOME")
        }
        return try openList(directory, context)
    }

    private static func openList(_ directory: FilePath, _ context: CommandContext) throws -> UploadList {
        do {
            let list = try UploadList(directory: directory, now: context.now())
            if let notice = list.notice { context.say(Words.sentence(notice), .warning) }
            return list
        } catch let error as ListError {
            throw CommandFailure(error.isTemporary ? .later : .failed, "\(error)")
        } catch let error as SystemError {
            throw CommandFailure(error.isOutOfSpace ? .later : .failed, "the upload list cannot be used: \(error)")
        }
    }

    /// No more events come.
    func finish() async {
        await pipeline.shutDown()
        continuation.finish()
    }
}

/// A command that cannot do what it should: the sentence, and how the program ends.
struct CommandFailure: Error {
    let status: ExitCode
    let reason: String

    init(_ status: ExitCode, _ reason: String) {
        self.status = status
        self.reason = reason
    }

    /// What an error from below means for the whole command.
    init(_ error: any Error) {
        switch error {
        case let failure as CommandFailure: self = failure
        case let problems as ConfigurationProblems: self.init(.usage, problems.sentences.joined(separator: "; "))
        case let error as ListError: self.init(error.isTemporary ? .later : .failed, "\(error)")
        case let fault as Fault: self.init(fault.isTemporary ? .later : .failed, fault.reason)
        default: self.init(.failed, "\(error)".printable)
        }
    }
}

/// Where log lines go: to where people are told things.
enum LogSink {
    static func log(_ context: CommandContext, _ options: Options, lowest: LogLevel = .warning) -> Log {
        Log("ingest", lowest: options.verbose ? .debug : options.quiet ? .error : lowest) { line in
            context.say(line.words, line.level)
        }
    }
}

/// Settings that are read again while a command runs.
enum Reloading {
    /// `nil`, and a word to the person, if they cannot be used.
    static func read(_ context: CommandContext, _ invocation: Invocation) -> Invocation? {
        do throws(ConfigurationProblems) {
            let fresh = invocation.over(try Configuration.read(context, typed: invocation.options.configuration))
            guard fresh.problems.isEmpty else { throw ConfigurationProblems(sentences: fresh.problems) }
            return fresh
        } catch {
            for sentence in error.sentences { context.say(Words.sentence(sentence), .error) }
            context.say("the settings stay as they were", .warning)
            return nil
        }
    }
}

/// The signals that end a command: the first one in good order, the second at once.
final class StopSignals: Sendable {
    private let watch: SignalWatch
    private let received: Received

    private final class Received: Sendable {
        let first = Mutex<Int32?>(nil)
    }

    /// - Parameters:
    ///   - reload: called on SIGHUP, on a thread of its own; without it SIGHUP ends the command too.
    ///   - service: hears that the settings are read again, and that the end begins.
    ///   - stop: called on the first SIGINT, SIGTERM or SIGHUP, on the same thread.
    init(
        reload: (@Sendable () -> Void)? = nil, service: ServiceManager? = nil, stop: @escaping @Sendable () -> Void
    ) {
        let received = Received()
        self.received = received
        watch = SignalWatch([SIGINT, SIGTERM, SIGHUP]) { number in
            if number == SIGHUP, let reload {
                if let service { service.reloading(reload) } else { reload() }
                return
            }
            let isFirst = received.first.withLock { first in
                if first != nil { return false }
                first = number
                return true
            }
            service?.stopping()
            if isFirst { stop() } else { ThisProcess.exitNow(ExitCode.interrupted.rawValue) }
        }
    }

    /// The first signal that came.
    var first: Int32? { received.first.withLock { $0 } }
}
