import Diagnostics
package import FoundationEssentials
import Glibc
import IngestModel
import Synchronization
package import SystemIO

/// What commands work with: the surroundings, and where words go. Tests make their own.
package struct CommandContext: Sendable {
    package let environment: Environment
    /// Results only.
    package let output: OutputStream
    /// Everything said to a person.
    package let errors: OutputStream
    package let now: @Sendable () -> Date
    /// Whether what is said to people goes to the system's journal, which has its own time stamps and keeps every line.
    let isJournal: Bool

    package init(
        environment: Environment, output: OutputStream, errors: OutputStream, now: @escaping @Sendable () -> Date
    ) {
        self.environment = environment
        self.output = output
        self.errors = errors
        self.now = now
        isJournal = errors.isJournal(environment)
    }

    /// Of this process.
    package static func ofProcess() throws -> CommandContext {
        CommandContext(
            environment: try Environment.ofProcess(), output: OutputStream(StandardStream.output),
            errors: OutputStream(StandardStream.error), now: { Date() })
    }

    /// A sentence for a person: `ingest: …`. How much it matters, the journal wants to know.
    func say(_ sentence: String, _ level: LogLevel = .notice) {
        write("ingest: \(sentence)\n", level)
    }

    /// Whole lines for a person.
    func write(_ lines: String, _ level: LogLevel) {
        guard isJournal else { return errors.write(lines) }
        errors.write(lines.split(separator: "\n").map { level.journalPrefix + $0 + "\n" }.joined())
    }

    /// A path as it was typed: absolute, or below the working directory.
    func absolute(_ operand: [UInt8]) -> FilePath? {
        FilePath(bytes: operand)?.absolute(in: environment.workingDirectory)
    }
}

/// One of the program's output streams. Once something could not be written nothing more is.
package final class OutputStream: Sendable {
    private let file: SharedDescriptor
    private let failed = Mutex<SystemError?>(nil)

    package init(_ file: SharedDescriptor) {
        self.file = file
    }

    package func write(_ text: String) {
        if text.isEmpty { return }
        failed.withLock { failed in
            if failed != nil { return }
            do throws(SystemError) {
                try file.descriptor.write(text)
            } catch {
                failed = error
            }
        }
    }

    /// Whether nothing that is written arrives any more.
    package var isBroken: Bool { failed.withLock { $0 != nil } }
    /// Whether nobody reads it any more, who then does not want to hear about that either.
    package var isClosed: Bool { failed.withLock { $0?.code == EPIPE } }
    /// Why it cannot be written, for other reasons than that it is closed.
    package var failure: SystemError? { failed.withLock { $0?.code == EPIPE ? nil : $0 } }
    package var isTerminal: Bool { Terminal.isTerminal(file) }
    /// Whether it is what `JOURNAL_STREAM` says (`systemd.exec(5)`): a service may have sent it somewhere else.
    func isJournal(_ environment: Environment) -> Bool {
        guard let stream = environment["JOURNAL_STREAM"], let status = try? file.descriptor.status() else {
            return false
        }
        return stream == "\(status.device):\(status.inode)"
    }
    package var width: Int { Terminal.width(file) }
}
