import Checksums
import Diagnostics
import FoundationEssentials
import HTTPClient
import HTTPServer
import IngestModel
import Receiver
import SystemIO
import Uploading

/// Makes a destination of an address, and keeps what destinations share: the HTTP client, their limits and the built-in
/// receiver.
actor Destinations {
    private let environment: Environment
    private let settings: LiveSettings
    private let now: @Sendable () -> Date
    private let log: Log
    private var client: HTTPClient?
    private var builtIn: BuiltIn?
    private var limiters: [DestinationName: RateLimiter] = [:]

    /// The receiver inside the program: on a loopback port of its own, with a token that nobody else knows.
    private struct BuiltIn {
        let receiver: Receiver
        let client: HTTPClient
        let access: ServerAccess
    }

    init(environment: Environment, settings: LiveSettings, now: @escaping @Sendable () -> Date, log: Log) {
        self.environment = environment
        self.settings = settings
        self.now = now
        self.log = log
    }

    /// - Parameters:
    ///   - address: of an item or a debt.
    ///   - tokenFile: what the item was given; it stands before what the configuration says.
    /// - Returns: the destination as it is configured now.
    /// - Throws: a `Fault` where that is not to be had.
    func destination(for address: DestinationAddress, tokenFile: FilePath?) throws -> any Destination {
        switch address {
        case .named(let name):
            let profile = try profile(of: name)
            return try server(at: profile.address ?? .builtIn, profile, tokenFile)
        default: return try server(at: address, DestinationProfile(), tokenFile)
        }
    }

    private func server(
        at address: DestinationAddress, _ profile: DestinationProfile, _ tokenFile: FilePath?
    ) throws -> any Destination {
        switch address {
        case .block(let url, _): return block(access(to: url, profile, tokenFile), profile)
        case .tus(let url, _): return tus(access(to: url, profile, tokenFile))
        case .server(let url, _):
            let access = access(to: url, profile, tokenFile)
            return NegotiatedDestination(block: block(access, profile), tus: tus(access))
        case .directory(let path):
            return DirectoryDestination(path, crashPoints: environment.crashPoints, log: log.scope("upload"))
        case .builtIn, .named: return try builtInDestination()
        }
    }

    private func block(_ access: ServerAccess, _ profile: DestinationProfile) -> BlockDestination {
        BlockDestination(
            access, dataKey: profile.dataKey ?? BlockWire.defaultDataKey, crashPoints: environment.crashPoints,
            log: log.scope("upload"))
    }

    private func tus(_ access: ServerAccess) -> TusDestination {
        TusDestination(access, crashPoints: environment.crashPoints, log: log.scope("upload"))
    }

    private func access(
        to url: ServerURL, _ profile: DestinationProfile, _ tokenFile: FilePath?
    ) -> ServerAccess {
        let hasOwn = profile.token != nil || profile.tokenFile != nil || profile.user != nil
        let common = hasOwn ? nil : environment["INGEST_TOKEN"].map { Secret($0) }
        let credentials = Credentials(
            tokenFile: tokenFile ?? profile.tokenFile, fixedToken: profile.token ?? common, user: profile.user,
            passwordFile: profile.passwordFile)
        return ServerAccess(url: url, client: sharedClient(), credentials: credentials, route: Self.route(profile))
    }

    private static func route(_ profile: DestinationProfile) -> HTTPRoute {
        HTTPRoute(
            certificateAuthorities: profile.certificateAuthorities?.text,
            clientCertificate: profile.clientCertificate?.text, clientKey: profile.clientKey?.text, proxy: profile.proxy
        )
    }

    private func sharedClient() -> HTTPClient {
        let shared = client ?? HTTPClient(proxies: ProxySettings(environment: environment))
        client = shared
        return shared
    }

    /// Who tells the save hook. One on the item's own destination is reached and trusted as that is.
    func saveHook(_ hook: SaveHook, of address: DestinationAddress) -> SaveHookClient {
        var route = HTTPRoute()
        if case .named(let name) = address, let profile = settings.current.destinations[name],
            profile.address?.url?.origin == hook.url.origin
        {
            route = Self.route(profile)
        }
        return SaveHookClient(
            ServerAccess(
                url: hook.url, client: sharedClient(), credentials: Credentials(tokenFile: hook.tokenFile),
                route: route, noun: "the save hook"))
    }

    private func profile(of name: DestinationName) throws(Fault) -> DestinationProfile {
        if let profile = settings.current.destinations[name] { return profile }
        throw Fault(
            .credentials,
            "the configuration knows no destination “\(name.text)” any more; see “ingest config path”, then “ingest retry”"
        )
    }

    // MARK: - Limits

    /// What limits all items of a destination together: its `limit-rate` and its timetable.
    func limiter(of address: DestinationAddress) -> RateLimiter? {
        guard case .named(let name) = address else { return nil }
        if let limiter = limiters[name] { return limiter }
        let (settings, now) = (settings, now)
        let limiter = RateLimiter {
            guard let profile = settings.current.destinations[name] else { return nil }
            var rates = [profile.limitRate]
            // A block that is on its way when a destination closes still arrives.
            if case .rate(let rate) = profile.timetable.limit(at: WallClock.time(now()).moment) { rates.append(rate) }
            return rates.compactMap { $0?.value }.min().map { max(1, $0) }
        }
        limiters[name] = limiter
        return limiter
    }

    /// Fails while the timetable of the destination lets nothing through.
    nonisolated func checkOpen(_ address: DestinationAddress) throws(Fault) {
        guard case .named(let name) = address, let profile = settings.current.destinations[name] else { return }
        let time = WallClock.time(now())
        guard let minutes = profile.timetable.minutesUntilOpen(from: time.moment) else { return }
        let seconds = Double(minutes * 60 - time.second)
        let opening = WallClock.time(now().addingTimeInterval(seconds))
        let clock = "\(opening.hour):\(opening.minute < 10 ? "0" : "")\(opening.minute)"
        let until =
            switch minutes {
            case ..<(24 * 60): " before \(clock)"
            case ..<Timetable.week: " before \(Timetable.dayNames[opening.weekday]) \(clock)"
            default: ", whatever the day"
            }
        throw Fault(
            .closed, "the timetable of “\(name.text)” lets nothing through\(until)", retry: .later(after: seconds))
    }

    func shutDown() {
        builtIn?.receiver.stop()
        builtIn = nil
        client = nil
    }

    private func builtInDestination() throws -> any Destination {
        let builtIn = try runningBuiltIn()
        let inner = BlockDestination(
            builtIn.access, crashPoints: environment.crashPoints, log: log.scope("upload"))
        return BuiltInDestination(inner: inner, directory: builtIn.receiver.directory)
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
            let client = HTTPClient(proxies: .none)
            let access = ServerAccess(
                url: try ServerURL("http://\(receiver.address)/upload"), client: client,
                credentials: Credentials(fixedToken: Secret(token)))
            let made = BuiltIn(receiver: receiver, client: client, access: access)
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
            url: directory.fileURL + "/" + name, size: receipt.size, sha256: receipt.sha256, proof: receipt.proof)
    }

    func abandon(_ remote: RemoteState, named name: String) async throws -> Abandonment {
        try await inner.abandon(remote, named: name)
    }
}
