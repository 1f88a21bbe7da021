package import IngestModel
import SystemIO

/// A configuration file that could be read and is TOML; what stands in it is not judged yet.
package struct ConfigurationFile: Sendable {
    package let path: FilePath
    let entries: [TOMLEntry]
    /// Whether nobody but its owner can read it.
    let isPrivate: Bool

    /// Why a file is no configuration: a sentence that names the file and, where there is one, line and column.
    package struct Problem: Error, Hashable, Sendable {
        package let sentence: String
    }

    private static let largest = 1 << 20

    /// Reads the file.
    ///
    /// - Returns: `nil` where there is none.
    /// - Throws: `Problem` for what cannot be read or is no TOML.
    package static func readIfPresent(_ path: FilePath) throws(Problem) -> ConfigurationFile? {
        let bytes: [UInt8]
        let status: FileStatus
        do {
            guard try FileSystem.statusIfExists(of: path) != nil else { return nil }
            let file = try FileSystem.open(path, .reading)
            status = try file.status()
            guard status.kind == .regular else {
                throw Problem(sentence: "the configuration \(path.text.printable) is no file")
            }
            bytes = try file.read(at: 0, count: largest + 1)
        } catch let problem as Problem {
            throw problem
        } catch {
            throw Problem(sentence: "the configuration \(path.text.printable) cannot be read: \(error)")
        }
        guard bytes.count <= largest else {
            throw Problem(sentence: "the configuration \(path.text.printable) is longer than a mebibyte")
        }
        do throws(TOMLProblem) {
            return ConfigurationFile(
                path: path, entries: try TOMLDocument.entries(of: bytes), isPrivate: status.permissions & 0o077 == 0)
        } catch {
            throw Problem(sentence: "\(place(path, error.place)): this is not TOML: \(error.sentence.printable)")
        }
    }

    /// `path:line:column`, as compilers write it.
    static func place(_ path: FilePath, _ place: TextPlace) -> String {
        "\(path.text.printable):\(place.line):\(place.column)"
    }
}
