/// The URL of a server: `http` or `https`, without user, password or fragment.
package struct ServerURL: Hashable, Sendable {
    /// What counts as one server for credentials and for what is remembered about it (RFC 6454).
    package struct Origin: Hashable, Sendable {
        package let scheme: String
        package let host: String
        package let port: Int

        package var text: String { "\(scheme)://\(host):\(port)" }
    }

    package let origin: Origin
    /// As it goes to the HTTP client: scheme, authority, path and query, bytes outside ASCII percent-encoded.
    package let text: String

    package enum Problem: Error, Equatable {
        case noScheme
        case unknownScheme(String)
        case credentials
        case malformed
    }

    package init(_ text: String) throws(Problem) {
        guard let separator = text.firstRange(of: "://") else { throw .noScheme }
        let scheme = text[..<separator.lowerBound].lowercased()
        guard scheme == "http" || scheme == "https" else { throw .unknownScheme(scheme) }
        let rest = text[separator.upperBound...]
        let authorityEnd = rest.firstIndex { "/?#".contains($0) } ?? rest.endIndex
        let authority = rest[..<authorityEnd]
        if authority.contains("@") { throw .credentials }
        var path = rest[authorityEnd...]
        if let fragment = path.firstIndex(of: "#") { path = path[..<fragment] }
        guard
            path.unicodeScalars.allSatisfy({
                $0.value > 0x20 && $0.value != 0x7F && !"\\<>\"^`{|}".contains(String($0))
            })
        else { throw .malformed }
        let (host, port) = try Self.split(authority)
        origin = Origin(scheme: scheme, host: host, port: port ?? (scheme == "https" ? 443 : 80))
        let portText = port.map { ":\($0)" } ?? ""
        let pathText = path.isEmpty ? "/" : path.hasPrefix("?") ? "/" + path : String(path)
        self.text = "\(scheme)://\(host)\(portText)\(Self.percentEncoded(pathText))"
    }

    private static func split(_ authority: Substring) throws(Problem) -> (host: String, port: Int?) {
        let hostEnd: Substring.Index
        if authority.hasPrefix("[") {
            guard let bracket = authority.firstIndex(of: "]") else { throw .malformed }
            hostEnd = authority.index(after: bracket)
        } else {
            hostEnd = authority.firstIndex(of: ":") ?? authority.endIndex
        }
        let host = authority[..<hostEnd].lowercased()
        let allowed = host.unicodeScalars.allSatisfy { scalar in
            scalar.value >= 0x80 || "abcdefghijklmnopqrstuvwxyz0123456789-._~[]:%".unicodeScalars.contains(scalar)
        }
        guard !host.isEmpty, allowed, host.hasPrefix("[") || !host.contains("[") else { throw .malformed }
        var port: Int?
        if hostEnd < authority.endIndex {
            let digits = authority[authority.index(after: hostEnd)...]
            guard authority[hostEnd] == ":", digits.allSatisfy({ $0.isASCII && $0.isNumber }),
                let number = Int(digits), (1...65_535).contains(number)
            else { throw .malformed }
            port = number
        }
        return (host, port)
    }

    private static func percentEncoded(_ text: String) -> String {
        var out = ""
        for byte in text.utf8 {
            if byte < 0x80 {
                out.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                out += "%" + Hex.text([byte]).uppercased()
            }
        }
        return out
    }
}

/// Where an item goes.
package enum DestinationAddress: Hashable, Sendable {
    /// The receiver inside the program, on loopback, into its default store.
    case builtIn
    /// A server of the block protocol. The scheme is kept as it was typed, for the list.
    case block(ServerURL, typed: String)
    /// A server of tus 1.0, likewise.
    case tus(ServerURL, typed: String)
    /// A server that is asked which of them it speaks.
    case server(ServerURL, typed: String)
    /// A directory of this machine, named by an absolute path: a disk, or what another machine lends.
    case directory(FilePath)
    /// What the configuration calls so, whenever it is needed.
    case named(DestinationName)

    package static let builtInWord = "builtin"

    /// What was typed cannot be a destination; a sentence says why. Never repeats a password.
    package struct Problem: Error, Equatable {
        package let reason: String
    }

    /// Reads `--to`. Fails with a sentence that says what is wrong and what is possible.
    package init(argument: String) throws(Problem) {
        if argument == Self.builtInWord {
            self = .builtIn
            return
        }
        if let name = DestinationName(argument) {
            self = .named(name)
            return
        }
        if let path = FilePath(fileURL: argument) {
            self = .directory(path)
            return
        }
        let prefix = ["block+", "tus+"].first { argument.lowercased().hasPrefix($0) } ?? ""
        let typed = String(argument.dropFirst(prefix.count))
        do {
            let url = try ServerURL(typed)
            self =
                switch prefix {
                case "tus+": .tus(url, typed: argument)
                case "block+": .block(url, typed: argument)
                default: .server(url, typed: argument)
                }
        } catch {
            throw Problem(reason: Self.sentence(for: error, argument: argument))
        }
    }

    /// The server's, where it is one.
    package var url: ServerURL? {
        switch self {
        case .block(let url, _), .tus(let url, _), .server(let url, _): url
        case .builtIn, .named, .directory: nil
        }
    }

    /// As the list stores it and `init(argument:)` reads it back.
    package var text: String {
        switch self {
        case .builtIn: Self.builtInWord
        case .block(_, let typed), .tus(_, let typed), .server(_, let typed): typed
        case .named(let name): name.text
        case .directory(let path): path.fileURL
        }
    }

    private static func sentence(for problem: ServerURL.Problem, argument: String) -> String {
        switch problem {
        case .credentials:
            "the destination carries a user name or password; put the token into a file and name it with --token-file"
        case .noScheme:
            "“\(argument.printable)” is not a destination; give a URL such as block+https://host/upload, or a name from the "
                + "configuration"
        case .unknownScheme(let scheme):
            "this version cannot upload to “\(scheme.printable)://”; it knows block+https, tus+https and "
                + "https, each with http as well, and file"
        case .malformed:
            "the destination “\(argument.printable)” is not a well-formed URL"
        }
    }
}

extension DestinationAddress: Codable {
    package init(from decoder: any Decoder) throws {
        let text = try decoder.singleValueContainer().decode(String.self)
        do {
            try self.init(argument: text)
        } catch let problem {
            throw DecodingError.dataCorrupted(
                .init(codingPath: decoder.codingPath, debugDescription: problem.reason))
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }
}

extension ServerURL: Codable {
    package init(from decoder: any Decoder) throws {
        let text = try decoder.singleValueContainer().decode(String.self)
        do {
            try self.init(text)
        } catch {
            throw DecodingError.dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: "\(error)"))
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }
}
