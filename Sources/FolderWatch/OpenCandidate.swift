import IngestModel
import SystemIO

/// A candidate, opened for one look.
final class OpenCandidate {
    private let file: SharedDescriptor
    let status: FileStatus

    init(_ path: FilePath) throws(SystemError) {
        file = SharedDescriptor(try FileSystem.open(path, .reading))
        status = try file.descriptor.status()
    }

    /// What can be seen of it now. The container is looked into only if nobody is known to write.
    func look(quietFor: Double) -> Look {
        let hasWriter = hasWriter()
        return Look(
            size: status.size, age: WallClock.seconds - status.modified.inSeconds, quietFor: quietFor,
            hasWriter: hasWriter, proof: hasWriter == true || status.size.value == 0 ? nil : proof())
    }

    /// Whether it is still what it was when it was opened, and nobody writes it now.
    func isUnchanged() -> Bool {
        guard let now = try? file.descriptor.status(), hasWriter() != true else { return false }
        return now.size == status.size && now.modified == status.modified
    }

    /// Whether it begins like a text: no byte that a text would not have.
    var isText: Bool {
        guard let bytes = try? file.descriptor.read(at: 0, count: 1024), !bytes.isEmpty else { return false }
        return bytes.allSatisfy { (0x20...0x7E).contains($0) || (0x09...0x0D).contains($0) }
    }

    /// A lease says nothing of other machines.
    private func hasWriter() -> Bool? {
        let answer = file.descriptor.hasWriter()
        return answer == false && file.descriptor.isOnNetworkFileSystem() ? nil : answer
    }

    private func proof() -> ContainerVerdict {
        do {
            return try ContainerProof.examine(size: status.size.value) { [file] offset, count in
                try file.descriptor.read(at: offset, count: count)
            }
        } catch {
            return .unprovable("it cannot be read")
        }
    }
}
