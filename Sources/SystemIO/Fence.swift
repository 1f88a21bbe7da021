import CLinux
import Glibc
package import IngestModel

/// What a process keeps that works on hostile files.
package struct Fence: Sendable {
    /// Files and directories that may be read.
    package var readable: [FilePath]
    /// Files that may be read, written and shortened; they exist.
    package var writable: [FilePath]
    /// Bytes of memory, reserved or used.
    package var memory: ByteCount
    /// Bytes of the longest file that may be written.
    package var longestFile: ByteCount

    package init(readable: [FilePath], writable: [FilePath], memory: ByteCount, longestFile: ByteCount) {
        self.readable = readable
        self.writable = writable
        self.memory = memory
        self.longestFile = longestFile
    }

    /// Gives up everything else, for good: other files, the network, other processes, more memory. To be called before
    /// there is a second thread.
    ///
    /// - Returns: what the kernel would not take away, in words; empty where all of it is gone.
    package func close() -> [String] {
        let missing = CStrings.with(readable.map { $0.withCString { strdup($0) } }) { readable in
            CStrings.with(writable.map { $0.withCString { strdup($0) } }) { writable in
                linux_fence(readable, writable, UInt64(memory.value), UInt64(longestFile.value))
            }
        }
        let parts: [(flag: Int, name: String)] = [
            (LINUX_FENCE_LIMITS, "resource limits"), (LINUX_FENCE_FILES, "Landlock (files, network)"),
            (LINUX_FENCE_CALLS, "seccomp (system calls)"),
        ]
        return parts.filter { missing & UInt32($0.flag) != 0 }.map { $0.name }
    }

    /// Until `giveMemory`, this process gets no more than so many bytes beyond what it has. A kernel that does not take
    /// this away leaves it at `memory`.
    package static func holdMemory(to more: ByteCount) {
        _ = linux_limit_data(UInt64(max(1, more.value)))
    }

    package static func giveMemory() {
        _ = linux_limit_data(0)
    }
}
