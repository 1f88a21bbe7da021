import IngestModel
import SystemIO

extension MediaRequest {
    /// The file that is looked into, and the one that is written.
    private var files: (input: FilePath, output: FilePath?) {
        switch self {
        case .probe(let input, _): (input, nil)
        case .prepare(let job): (job.input, job.output)
        }
    }

    /// What this piece of work needs of the machine.
    var fence: Fence {
        let (input, output) = files
        let size = (try? FileSystem.statusIfExists(of: input))?.size.value ?? 0
        return Fence(
            readable: [input] + Self.machine, writable: output.map { [$0] } ?? [], memory: ByteCount.gibibytes(8),
            longestFile: ByteCount(max(4 << 30, size * 2 + (64 << 20))))
    }

    /// Bytes of memory that opening the file may take. A head describes what is in the file, and an entry of FFmpeg's index
    /// (some 45 bytes) stands for at least three of them; only a file that is damaged or made to do harm asks for more.
    var memoryForHead: ByteCount {
        let size = (try? FileSystem.statusIfExists(of: files.input))?.size.value ?? 0
        return ByteCount((64 << 20) + min(size, 1 << 40) * 16)
    }

    /// What libraries look at: themselves, and how many processors there are.
    private static let machine: [FilePath] = [
        "/usr/lib", "/lib", "/lib64", "/etc/ld.so.cache", "/etc/localtime", "/usr/share/zoneinfo", "/proc/self",
        "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/sys/devices/system", "/dev/null", "/dev/urandom",
    ].compactMap { FilePath($0) }
}
