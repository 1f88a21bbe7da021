import Checksums
import Diagnostics
import FoundationEssentials
import HTTPClient
import HTTPServer
import IngestModel
import Receiver
import SystemIO
import Uploading

/// Makes a destination of an address, and keeps what destinations share: the HTTP client and the built-in receiver.
actor Destinations {
    private let environment: Environment
    private let log: Log
    private var client: HTTPClient?
    private var builtIn: BuiltIn?

    /// The receiver inside the program: on a loopback port of its own, with a token that nobody else knows.
    private struct BuiltIn {
        let receiver: Receiver
        let token: String
        let client: HTTPClient
        let url: ServerURL
    }

    init(environment: Environment, log: Log) {
        self.environment = environment
        self.log = log
    }

    func destination(for address: DestinationAddress, tokenFile: FilePath?) throws -> any Destination {
        switch address {
        case .block(let url, _):
            let shared = client ?? HTTPClient(proxies: ProxySettings(environment: environment))
            client = shared
            return BlockDestination(
                url: url, client: shared,
                credentials: Credentials(tokenFile: tokenFile, fixedToken: environment["INGEST_TOKEN"]),
                crashPoints: environment.crashPoints, log: log.scope("upload"))
        case .builtIn:
            let builtIn = try runningBuiltIn()
            let inner = BlockDestination(
                url: builtIn.url, client: builtIn.client,
                credentials: Credentials(tokenFile: nil, fixedToken: builtIn.token),
                crashPoints: environment.crashPoints, log: log.scope("upload"))
            return BuiltInDestination(inner: inner, directory: builtIn.receiver.directory)
        }
    }

    func shutDown() {
        builtIn?.receiver.stop()
        builtIn = nil
        client = nil
    }

    private func runningBuiltIn() throws -> BuiltIn {
        if let builtIn { return builtIn }
        guard let directory = environment.receivedDirectory else {
            throw Fault(.fileSystem, "there is no home directory for the built-in receiver; set HOME, or use --to")
        }
        let token = Hex.text(Secret.randomBytes(count: 16))
        do {
            let receiver = try Receiver(
                store: directory, listen: ListenAddress(host: "127.0.0.1", port: 0),
                settings: ReceiverSettings(token: token), log: log.scope("receiver"))
            let made = BuiltIn(
                receiver: receiver, token: token, client: HTTPClient(proxies: .none),
                url: try ServerURL("http://\(receiver.address)/upload"))
            builtIn = made
            return made
        } catch let error as ReceiverError {
            throw Fault(.fileSystem, "the built-in receiver cannot start: \(error)", retry: .later(after: 5))
        }
    }
}

/// The built-in receiver as a destination: what it received is told as a file, not as a URL that ends with the process.
private struct BuiltInDestination: Destination {
    let inner: BlockDestination
    let directory: FilePath

    func upload(
        _ source: UploadSource, from remote: RemoteState?, ledger: any UploadLedger
    ) async throws -> Receipt {
        let receipt = try await inner.upload(source, from: remote, ledger: ledger)
        let name = receipt.url.split(separator: "/").last.map(String.init) ?? ""
        return Receipt(
            url: FileURL.text(directory) + "/" + name, size: receipt.size, sha256: receipt.sha256, proof: receipt.proof)
    }

    func abandon(_ remote: RemoteState, named name: String) async throws -> Abandonment {
        try await inner.abandon(remote, named: name)
    }
}

/// Paths as `file:` URLs (RFC 8089).
enum FileURL {
    private static let plain = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/".utf8)

    static func text(_ path: FilePath) -> String {
        "file://"
            + path.bytes.map { plain.contains($0) ? String(Unicode.Scalar($0)) : "%" + Hex.text([$0]).uppercased() }
            .joined()
    }
}
