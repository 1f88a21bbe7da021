import CLinux
import Foundation
import Synchronization

/// A child that inherits nothing but its three standard files, and starts with every signal as it is by default.
///
/// Foundation's `Process` is not used: where about a thousand files are open it reads behind the end of its list of them, and
/// the tests end with a crash now and then.
final class SpawnedProcess: Sendable {
    let pid: Int32
    /// The exit status, or 1000 and the number of the signal that ended it; `nil` as long as it runs.
    private let ending = Mutex<Int32?>(nil)

    /// - Parameters:
    ///   - words: the program's path and its arguments.
    ///   - environment: all of it; `nil` for that of this process.
    ///   - directory: where it runs; `nil` for that of this process.
    ///   - output: the file that gets its standard output.
    ///   - errors: the file that gets its standard error.
    /// - Throws: `TestFailure` where it cannot be started.
    init(
        _ words: [String], environment: [String: String]? = nil, directory: String? = nil, output: String = "/dev/null",
        errors: String = "/dev/null"
    ) throws {
        let words = directory.map { ["/usr/bin/env", "-C", $0] + words } ?? words
        let files = [
            open("/dev/null", O_RDONLY | O_CLOEXEC), open(output, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600),
            open(errors, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600),
        ]
        defer { for file in files where file >= 0 { close(file) } }
        if files.contains(where: { $0 < 0 }) { throw TestFailure("no files for the output of \(words[0])") }
        let arguments = words.map { strdup($0) } + [nil]
        let variables = (environment ?? ProcessInfo.processInfo.environment).map { strdup("\($0)=\($1)") } + [nil]
        defer { for text in arguments + variables { free(text) } }
        var pid: pid_t = 0
        let result = linux_spawn(&pid, words[0], arguments, variables, files[0], files[1], files[2])
        if result != 0 { throw TestFailure("\(words[0]) cannot be started: \(String(cString: strerror(result)))") }
        self.pid = pid
    }

    deinit {
        kill()
    }

    /// See `ending`.
    var status: Int32? { end(WNOHANG) }

    func wait() -> Int32? { end(0) }

    /// Ends it if it runs.
    func kill() {
        ending.withLock { known in
            if known == nil {
                Foundation.kill(pid, SIGKILL)
                var status: Int32 = 0
                while waitpid(pid, &status, 0) == -1, errno == EINTR {}
                known = 1000 + SIGKILL
            }
        }
    }

    private func end(_ options: Int32) -> Int32? {
        ending.withLock { known in
            if known != nil { return known }
            var status: Int32 = 0
            var result = waitpid(pid, &status, options)
            while result == -1, errno == EINTR { result = waitpid(pid, &status, options) }
            if result == pid {
                let signal = status & 0x7F
                known = signal == 0 ? status >> 8 & 0xFF : 1000 + signal
            }
            return known
        }
    }
}
