package import FoundationEssentials
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

/// One of the program's output streams. What cannot be written because nobody reads it is dropped, and `isBroken` says so.
package final class OutputStream: Sendable {
    private let file: SharedDescriptor
    private let broken = StopFlag()
    private let lock = Mutex<Void>(())

    package init(_ file: SharedDescriptor) {
        self.file = file
    }

    package func write(_ text: String) {
        if text.isEmpty || broken.isSet { return }
        lock.withLock { _ in
            do {
                try file.descriptor.write(text)
            } catch {
                broken.set()
            }
        }
    }

    package var isBroken: Bool { broken.isSet }
    package var isTerminal: Bool { Terminal.isTerminal(file) }
    package var width: Int { Terminal.width(file) }
}
