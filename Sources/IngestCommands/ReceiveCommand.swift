import Diagnostics
import Dispatch
import Glibc
import HTTPServer
import IngestModel
import Receiver
import SystemIO
import Uploading

/// `ingest receive`
enum ReceiveCommand {
    static func run(_ context: CommandContext, _ invocation: Invocation) async throws -> ExitCode {
        let options = invocation.options
        let working = context.environment.workingDirectory
        guard let store = options.store?.absolute(in: working) ?? context.environment.receivedDirectory else {
            throw CommandFailure(.failed, "there is no home directory; name a directory with --store")
        }
        let settings = try settings(options, context)
        // Each of the server's connections may write a file and hold a lock.
        ThisProcess.allowOpenFiles(4096)
        let log = LogSink.log(context, options, lowest: .info)
        let receiver: Receiver
        do {
            receiver = try Receiver(
                store: store, listen: options.listen,
                settings: settings, log: log.scope("receiver"))
        } catch let error as ReceiverError {
            throw CommandFailure(.failed, "\(error)")
        }
        let (stopped, continuation) = AsyncStream.makeStream(of: Void.self)
        let service = ServiceManager(context.environment)
        let signals = StopSignals(
            reload: { reload(receiver, context, invocation) }, service: service, stop: { continuation.finish() })
        context.output.write("listening on http://\(receiver.address)\n")
        if !options.quiet {
            context.say("uploads go to http://\(receiver.address)/upload, files to \(store.text.printable)")
        }
        service.ready()
        let told = Task { await ServiceStatus.tell(service, of: receiver) }
        for await _ in stopped {}
        told.cancel()
        receiver.stop()
        return signals.first == SIGINT ? .interrupted : .done
    }

    private static func settings(_ options: Options, _ context: CommandContext) throws -> ReceiverSettings {
        let token = try token(options, context)
        if token == nil, !options.listen.isLoopback, !options.open {
            throw CommandFailure(
                .usage,
                "listening at \(options.listen) lets everybody in who can reach it; give a token with --token-file or "
                    + "INGEST_TOKEN, or say --open")
        }
        return ReceiverSettings(token: token, publicURL: options.publicURL)
    }

    /// Token and public URL may change while it runs; where it listens and stores may not.
    private static func reload(_ receiver: Receiver, _ context: CommandContext, _ invocation: Invocation) {
        guard let fresh = Reloading.read(context, invocation) else { return }
        let (old, new) = (invocation.options, fresh.options)
        do {
            // Held against the address it listens at, not against one that would hold after a restart.
            var options = new
            options.listen = old.listen
            receiver.adopt(try settings(options, context))
        } catch {
            context.say(Words.sentence(CommandFailure(error).reason), .error)
            return context.say("the settings stay as they were", .warning)
        }
        if old.listen != new.listen || old.store != new.store {
            context.say(
                "another --listen or --store takes a restart; the other settings have been read again", .warning)
        } else if !new.quiet {
            context.say("the settings have been read again")
        }
    }

    private static func token(_ options: Options, _ context: CommandContext) throws -> String? {
        if let file = options.tokenFile {
            return try Credentials.token(in: file.absolute(in: context.environment.workingDirectory))
        }
        guard let token = context.environment["INGEST_TOKEN"] else { return nil }
        guard Credentials.isToken(token) else {
            throw CommandFailure(.usage, "INGEST_TOKEN does not hold a token: no space may stand in it")
        }
        return token
    }
}
