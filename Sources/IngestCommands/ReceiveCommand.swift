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
        let token = try token(options, context)
        if token == nil, !options.listen.isLoopback, !options.open {
            throw CommandFailure(
                .usage,
                "listening at \(options.listen) lets everybody in who can reach it; give a token with --token-file or "
                    + "INGEST_TOKEN, or say --open")
        }
        // Each of the server's connections may write a file and hold a lock.
        ThisProcess.allowOpenFiles(4096)
        let log = LogSink.log(context, options, lowest: .info)
        let receiver: Receiver
        do {
            receiver = try Receiver(
                store: store, listen: options.listen,
                settings: ReceiverSettings(token: token, publicURL: options.publicURL), log: log.scope("receiver"))
        } catch let error as ReceiverError {
            throw CommandFailure(.failed, "\(error)")
        }
        let (stopped, continuation) = AsyncStream.makeStream(of: Void.self)
        let signals = StopSignals { continuation.finish() }
        context.output.write("listening on http://\(receiver.address)\n")
        if !options.quiet {
            context.say("uploads go to http://\(receiver.address)/upload, files to \(store.text.printable)")
        }
        for await _ in stopped {}
        receiver.stop()
        return signals.first == SIGINT ? .interrupted : .done
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
