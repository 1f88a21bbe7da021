package import IngestModel
import SystemIO

/// What opens a destination: its access token, and a user with a password where it wants HTTP's Basic authentication.
/// Neither is ever stored in the list, or printed.
package struct Credentials: Sendable {
    private let tokenFile: FilePath?
    private let fixedToken: Secret?
    private let user: String?
    private let passwordFile: FilePath?

    /// - Parameters:
    ///   - tokenFile: read each time, so that a renewed token is found; its last line end is no part of the token.
    ///   - fixedToken: used where there is no file; from the environment, the configuration, or the program's own.
    ///   - user: for Basic authentication.
    ///   - passwordFile: the password is its first line.
    package init(
        tokenFile: FilePath? = nil, fixedToken: Secret? = nil, user: String? = nil, passwordFile: FilePath? = nil
    ) {
        self.tokenFile = tokenFile
        self.fixedToken = fixedToken
        self.user = user
        self.passwordFile = passwordFile
    }

    /// What requests carry, read anew.
    ///
    /// - Throws: a `Fault` where a file cannot be used.
    package func current() throws(Fault) -> Authorisation {
        Authorisation(token: try token(), basic: try basic())
    }

    var hasToken: Bool { tokenFile != nil || fixedToken != nil }

    /// Where the token, or what opens the server otherwise, is to be put right.
    var remedy: String {
        if let tokenFile { return "the token is read from \(tokenFile.text)" }
        if let passwordFile { return "the password is read from \(passwordFile.text)" }
        return "give the right one with --token-file or INGEST_TOKEN, or in the destination's table"
    }

    private func token() throws(Fault) -> String {
        if let tokenFile { return try Self.token(in: tokenFile) }
        guard let text = fixedToken?.text, !text.isEmpty else { return "" }
        guard Self.isToken(text) else {
            throw Fault(.credentials, "the token from the environment or the configuration holds a space or nothing")
        }
        return text
    }

    private func basic() throws(Fault) -> Authorisation.Basic? {
        guard let user else { return nil }
        let password = try passwordFile.map { file throws(Fault) in try PrivateFile.firstLine(of: file, "password") }
        return Authorisation.Basic(user: user, password: password ?? "")
    }

    /// Whether the text can be a token: something, and nothing that a header or a field could not carry.
    package static func isToken(_ text: String) -> Bool {
        !text.isEmpty && text.unicodeScalars.allSatisfy { $0.value > 0x20 && $0.value != 0x7F }
    }

    /// Reads a token from a file that only its owner may read.
    package static func token(in path: FilePath) throws(Fault) -> String {
        let token = try PrivateFile.firstLine(of: path, "token")
        guard isToken(token) else {
            throw Fault(.credentials, "the token file \(path.text) does not hold a token on its first line")
        }
        return token
    }
}

/// What one request carries.
package struct Authorisation: Sendable {
    struct Basic: Sendable {
        let user: String
        let password: String
    }

    /// Empty for none.
    let token: String
    let basic: Basic?

    static let none = Authorisation(token: "", basic: nil)
}

/// Files that nobody but their owner may read.
package enum PrivateFile {
    private static let longest = 4096

    /// The first line, without its end.
    ///
    /// - Parameters:
    ///   - path: the file.
    ///   - what: what it holds, in a word.
    /// - Returns: the line, possibly empty.
    /// - Throws: a `Fault`.
    package static func firstLine(of path: FilePath, _ what: String) throws(Fault) -> String {
        let bytes: [UInt8]
        do {
            let file = try FileSystem.open(path, .reading)
            try check(file.status(), path, what)
            bytes = try file.read(at: 0, count: longest + 1)
        } catch let fault as Fault {
            throw fault
        } catch {
            throw Fault(.credentials, "the \(what) file \(path.text) cannot be read: \(error)")
        }
        let line = bytes.prefix { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") }
        guard bytes.count <= longest, let text = String(validating: line, as: UTF8.self) else {
            throw Fault(.credentials, "the \(what) file \(path.text) does not hold a \(what) on its first line")
        }
        return text
    }

    /// Fails if others can read the file, or nobody can.
    static func check(_ path: FilePath, _ what: String) throws(Fault) {
        do {
            try check(FileSystem.open(path, .reading).status(), path, what)
        } catch let fault as Fault {
            throw fault
        } catch {
            throw Fault(.credentials, "the \(what) file \(path.text) cannot be read: \(error)")
        }
    }

    private static func check(_ status: FileStatus, _ path: FilePath, _ what: String) throws(Fault) {
        guard status.permissions & 0o077 == 0 else {
            throw Fault(
                .credentials, "the \(what) file \(path.text) can be read by others; make it private (chmod 600)")
        }
    }
}
