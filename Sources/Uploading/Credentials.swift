package import IngestModel
import SystemIO

/// The access token of a destination: from a file, or handed over by the program. It is never stored and never printed.
package struct Credentials: Sendable {
    private let tokenFile: FilePath?
    private let fixedToken: String?

    /// - Parameters:
    ///   - tokenFile: read each time, so that a renewed token is found; its last line end is no part of the token.
    ///   - fixedToken: used where there is no file; from the environment, or the program's own.
    package init(tokenFile: FilePath?, fixedToken: String?) {
        self.tokenFile = tokenFile
        self.fixedToken = fixedToken
    }

    package func token() throws(Fault) -> String {
        guard let tokenFile else {
            guard let fixedToken, !fixedToken.isEmpty else { return "" }
            guard Self.isToken(fixedToken) else {
                throw Fault(.credentials, "INGEST_TOKEN does not hold a token: no space may stand in it")
            }
            return fixedToken
        }
        return try Self.token(in: tokenFile)
    }

    /// Whether the text can be a token: something, and nothing that a header or a field could not carry.
    package static func isToken(_ text: String) -> Bool {
        !text.isEmpty && text.unicodeScalars.allSatisfy { $0.value > 0x20 && $0.value != 0x7F }
    }

    /// Reads a token from a file that only its owner may read.
    package static func token(in path: FilePath) throws(Fault) -> String {
        let bytes: [UInt8]
        do {
            let file = try FileSystem.open(path, .reading)
            guard try file.status().permissions & 0o077 == 0 else {
                throw Fault(
                    .credentials,
                    "the token file \(path.text) can be read by others; make it private (chmod 600)")
            }
            bytes = try file.read(at: 0, count: 4097)
        } catch let fault as Fault {
            throw fault
        } catch {
            throw Fault(.credentials, "the token file \(path.text) cannot be read: \(error)")
        }
        let line = bytes.prefix { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") }
        guard bytes.count <= 4096, let token = String(validating: line, as: UTF8.self), isToken(token) else {
            throw Fault(.credentials, "the token file \(path.text) does not hold a token on its first line")
        }
        return token
    }
}
