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

    package init(
        environment: Environment, output: OutputStream, errors: OutputStream, now: @escaping @Sendable () -> Date
    ) {
        self.environment = environment
        self.output = output
        self.errors = errors
        self.now = now
    }

    /// Of this process.
    package static func ofProcess() throws -> CommandContext {
        CommandContext(
            environment: try Environment.ofProcess(), output: OutputStream(StandardStream.output),
            errors: OutputStream(StandardStream.error), now: { Date() })
    }

    /// A sentence for a person: `ingest: …`.
    func say(_ sentence: String) {
        errors.write("ingest: \(sentence)\n")
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
    package var width: Int { Terminal.width(file) }
}
