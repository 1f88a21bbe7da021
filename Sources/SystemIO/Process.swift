import CLinux
import Glibc
package import IngestModel

/// Facts about this process.
package enum ThisProcess {
    /// Writing to a pipe or socket whose other end is gone becomes an error instead of the end of the process.
    package static func ignoreBrokenPipes() {
        signal(SIGPIPE, SIG_IGN)
    }

    /// Be polite: `nice` value (`setpriority(2)`) and idle I/O priority, so that a recorder on the same machine drops no
    /// frame. What the kernel refuses stays as it is.
    package static func lowerPriority(niceness: Int) {
        _ = setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, CInt(niceness))
        _ = linux_set_idle_io_priority()
    }

    /// Raises how many files and connections may be open, as far as the system lets it.
    package static func allowOpenFiles(_ count: Int) {
        linux_allow_open_files(UInt64(count))
    }

    /// Ends at once, without unwinding anything; what must outlast it is on the disk already.
    package static func exitNow(_ status: CInt) -> Never {
        _exit(status)
    }

    /// Bytes that this process has written to anything (`/proc/self/io`); 0 where the kernel does not say.
    package static var bytesWritten: Int64 {
        guard let path = FilePath("/proc/self/io"), let file = try? FileSystem.open(path, .reading),
            let bytes = try? file.readSome(atMost: 4096)
        else { return 0 }
        for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n") where line.hasPrefix("wchar: ") {
            return Int64(line.dropFirst("wchar: ".count)) ?? 0
        }
        return 0
    }

    package static var processorCount: Int { max(1, sysconf(CInt(_SC_NPROCESSORS_ONLN))) }
}

/// The two ends of a pipe.
private struct Pipe: ~Copyable {
    let reading: FileDescriptor
    let writing: FileDescriptor

    init() throws(SystemError) {
        var ends: [CInt] = [-1, -1]
        _ = try retrying("make a pipe") { linux_pipe(&ends) }
        reading = FileDescriptor(owning: ends[0])
        writing = FileDescriptor(owning: ends[1])
    }
}

/// A program running as a child: its standard input and output are pipes of ours, its standard error is discarded or
/// shared.
///
/// It inherits no other descriptor, and runs in a process group of its own, so that a ^C typed at the terminal reaches
/// only this process. Killed and waited for when the value ends.
package final class ChildProcess: Sendable {
    /// How a child ended.
    package enum Ending: Hashable, Sendable {
        case exited(Int)
        /// By this signal.
        case killed(Int)
    }

    private let pid: Int32
    /// The child sees the end of its input when this closes, be it because our process died.
    private let input: SharedDescriptor
    private let output: FileDescriptor

    /// - Parameters:
    ///   - program: the file to run.
    ///   - arguments: what stands behind the program's name.
    ///   - variables: the child's whole environment, but for what the service manager says to this process alone.
    /// - Throws: `SystemError` where there are no pipes, or the program cannot be started.
    package init(
        _ program: FilePath, arguments: [String], variables: [String: String]
    ) throws(SystemError) {
        // A child may end before it has read its input.
        ThisProcess.ignoreBrokenPipes()
        let inputPipe = try Pipe()
        let outputPipe = try Pipe()
        let null = try FileSystem.open(Self.nullDevice(), .readingAndWriting)
        let words = [program.text] + arguments
        let settings = variables.filter { !ServiceManager.variables.contains($0.key) }.map { "\($0)=\($1)" }
        var pid: Int32 = 0
        let result = CStrings.with(words.map { strdup($0) }) { words in
            CStrings.with(settings.map { strdup($0) }) { settings in
                program.withCString {
                    linux_spawn(
                        &pid, $0, words, settings, inputPipe.reading.number, outputPipe.writing.number, null.number)
                }
            }
        }
        if result != 0 { throw SystemError("start", program, code: result) }
        self.pid = pid
        input = SharedDescriptor(inputPipe.writing)
        output = outputPipe.reading
    }

    deinit {
        kill(pid, SIGKILL)
        var status: CInt = 0
        while waitpid(pid, &status, 0) == -1, errno == EINTR {}
    }

    /// Writes to the child's standard input. A child that no longer reads is no error here: `finish` tells how it ended.
    package func send(_ bytes: [UInt8]) throws(SystemError) {
        do {
            try input.descriptor.write(bytes.span)
        } catch {
            guard error.code == EPIPE else { throw error }
        }
    }

    /// Waits at most `milliseconds` for output: what came, empty at its end, `nil` if nothing came in time.
    package func receive(within milliseconds: CInt) throws(SystemError) -> [UInt8]? {
        var request = pollfd(fd: output.number, events: Int16(POLLIN), revents: 0)
        let ready = try retrying("wait for a program's output") { poll(&request, 1, milliseconds) }
        if ready == 0 { return nil }
        return try output.readSome(atMost: 64 << 10)
    }

    package func send(signal number: CInt) {
        kill(pid, number)
    }

    /// Kills what still runs and tells how the child ended. To be called once, and last.
    package func finish(killing: Bool) -> Ending {
        if killing { kill(pid, SIGKILL) }
        // Leaves the child to be reaped by deinit, so that its number is not given to another process meanwhile.
        var status = linux_wait_for_end(pid)
        while status == -1, errno == EINTR { status = linux_wait_for_end(pid) }
        return status < 256 ? .exited(Int(status)) : .killed(Int(status) - 256)
    }

    private static func nullDevice() throws(SystemError) -> FilePath {
        guard let path = FilePath("/dev/null") else { throw SystemError("open /dev/null", code: ENOENT) }
        return path
    }
}
