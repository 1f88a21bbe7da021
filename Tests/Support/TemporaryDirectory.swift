import Foundation
package import IngestModel

/// A directory of a test's own; gone when the value is let go.
package final class TemporaryDirectory: Sendable {
    package let path: FilePath

    package init() throws {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("ingest-test-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: url, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        path = try TestPath.make(url.path)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path.text)
    }

    package func file(_ name: String) throws -> FilePath {
        try TestPath.make(path.text + "/" + name)
    }

    /// Writes a script that can be run at once. Another process writes it: a file that is open for writing cannot be run, and
    /// every program that is started meanwhile holds what is open here for a moment.
    package func writeProgram(_ script: String, to name: String) throws -> FilePath {
        let text = try write(Array(script.utf8), to: name + ".text")
        let path = try file(name)
        let copying = try SpawnedProcess(["/bin/cp", text.text, path.text])
        guard copying.wait() == 0 else { throw TestFailure("\(name) cannot be written") }
        try path.setMode(0o755)
        return path
    }

    /// Writes a file whose last change was a minute ago, so that nobody waits for it to settle.
    @discardableResult
    package func write(_ bytes: [UInt8], to name: String) throws -> FilePath {
        let path = try file(name)
        try FileManager.default.createDirectory(atPath: path.parent.text, withIntermediateDirectories: true)
        try Data(bytes).write(to: URL(fileURLWithPath: path.text))
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSinceNow: -60)], ofItemAtPath: path.text)
        return path
    }

    /// Names of all regular files below, relative to it, sorted.
    package func files(below name: String = "") throws -> [String] {
        let root = URL(fileURLWithPath: path.text + (name.isEmpty ? "" : "/" + name))
        guard FileManager.default.fileExists(atPath: root.path) else { return [] }
        let walker = FileManager.default.enumerator(at: root, includingPropertiesForKeys: [.isRegularFileKey])
        var found: [String] = []
        while let url = walker?.nextObject() as? URL {
            if try url.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile == true {
                found.append(String(url.path.dropFirst(root.path.count + 1)))
            }
        }
        return found.sorted()
    }
}

package enum TestPath {
    package static func make(_ text: String) throws -> FilePath {
        guard let path = FilePath(text) else { throw TestFailure("“\(text)” is no path") }
        return path
    }
}

/// Something that a test needs is not there.
package struct TestFailure: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) {
        self.description = description
    }
}

extension FilePath {
    /// Changes who may do what with it.
    package func setMode(_ mode: UInt16) throws {
        try FileManager.default.setAttributes([.posixPermissions: NSNumber(value: mode)], ofItemAtPath: text)
    }

    /// The whole file.
    package func contents() throws -> [UInt8] {
        [UInt8](try Data(contentsOf: URL(fileURLWithPath: text)))
    }
}

/// Bytes that look random and are the same every time.
package enum TestBytes {
    package static func make(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
        var state = seed &* 0x9E37_79B9_7F4A_7C15 | 1
        return (0..<count).map { _ in
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            return UInt8(truncatingIfNeeded: state >> 24)
        }
    }
}
