import HTTPServer
import IngestModel
import OptionParsing
import SystemIO

/// The commands.
enum CommandName: String, CaseIterable, Sendable {
    /// `ingest FILE...`; has no word of its own.
    case upload = ""
    case run, list, show, pause, resume, retry, next, cancel, remove, clear, clean, probe, receive
}

/// What the command line says, before it is looked at together.
struct Options: Sendable {
    enum Color: String, CaseIterable, Sendable { case auto, always, never }

    var compress: CompressSettings.Preset?
    var remux = false
    var codec: CompressSettings.Codec?
    var quality: Int?
    var maxHeight: Int?
    var maxFramesPerSecond: Double?
    var destination = DestinationAddress.builtIn
    var tokenFile: FilePath?
    var links = false
    var blockSize = ItemOptions.defaultBlockSize
    var limitRate: ByteCount?
    var jobs = 1
    /// Seconds.
    var patience = 300.0
    var detach = false
    var threads: Int?
    var niceness: Int?
    var json = false
    var quiet = false
    var verbose = false
    var color = Color.auto
    var all = false
    var follow = false
    var once = false
    var force = false
    var finished = false
    var dryRun = false
    var listen = ListenAddress(host: "127.0.0.1", port: 8899)
    var store: FilePath?
    var publicURL: String?
    var open = false
    var help = false
    var version = false
}

/// Every option, once, with the commands it belongs to.
struct OptionDeclaration: Sendable {
    enum Group: String, CaseIterable, Sendable {
        case compressing = "Compressing"
        case uploading = "Uploading"
        case receiving = "Receiving"
        case selecting = "Which and how"
        case output = "Output"
    }

    let group: Group
    let commands: Set<CommandName>
    let spec: OptionSpec<Options>

    /// Those of one command, in the order of the table.
    static func of(_ command: CommandName) -> [OptionDeclaration] {
        table.filter { $0.commands.contains(command) }
    }

    private static let everywhere = Set(CommandName.allCases)
    private static let controls: Set<CommandName> = [.pause, .resume, .retry, .next, .cancel]

    private static func declare(
        _ group: Group, _ commands: Set<CommandName>, _ spec: OptionSpec<Options>
    ) -> OptionDeclaration {
        OptionDeclaration(group: group, commands: commands, spec: spec)
    }

    static let table: [OptionDeclaration] = compressing + uploading + receiving + selecting + output

    private static let compressing: [OptionDeclaration] = [
        declare(
            .compressing, [.upload, .probe],
            .optionalValue(
                "compress", "c", "PRESET", help: "transcode for upload: fast, balanced (default) or small"
            ) { (options, value) throws(ValueProblem) in
                options.compress = try value.map { value throws(ValueProblem) in try Parse.choice(value) } ?? .balanced
            }),
        declare(
            .compressing, [.upload],
            .flag("remux", negatable: true, help: "change the container only (mp4, index in front), encode nothing") {
                $0.remux = $1
            }),
        declare(
            .compressing, [.upload, .probe],
            .value(
                "codec", nil, "CODEC", help: "auto (default), h264, hevc or av1; auto takes hevc for 10 bits and HDR"
            ) {
                (options, value) throws(ValueProblem) in options.codec = try Parse.choice(value)
            }),
        declare(
            .compressing, [.upload, .probe],
            .value("quality", nil, "N", help: "the encoder's constant rate factor, 1 to 63, lower is better") {
                (options, value) throws(ValueProblem) in options.quality = try Parse.number(value, in: 1...63)
            }),
        declare(
            .compressing, [.upload, .probe],
            .value("max-height", nil, "N", help: "shrink pictures whose shorter side has more than N pixels") {
                (options, value) throws(ValueProblem) in options.maxHeight = try Parse.number(value, in: 16...16_384)
            }),
        declare(
            .compressing, [.upload, .probe],
            .value("max-fps", nil, "N", help: "drop frames beyond N a second") {
                (options, value) throws(ValueProblem) in
                options.maxFramesPerSecond = try Parse.frameRate(value)
            }),
    ]

    private static let uploading: [OptionDeclaration] = [
        declare(
            .uploading, [.upload],
            .value(
                "to", "t", "DESTINATION",
                help: "where it goes: block+https://host/path, or http; without it, the receiver built into the program"
            ) { (options, value) throws(ValueProblem) in options.destination = try Parse.destination(value) }),
        declare(
            .uploading, [.upload, .receive],
            .value("token-file", nil, "FILE", help: "the access token is the first line of FILE, which must be private")
            {
                (options, value) throws(ValueProblem) in options.tokenFile = try Parse.path(value)
            }),
        declare(
            .uploading, [.upload],
            .value(
                "cache", nil, "HOW", help: "copy (default) the recording into the cache, or link it where that is safe"
            ) {
                (options, value) throws(ValueProblem) in
                switch value.text {
                case "copy": options.links = false
                case "link": options.links = true
                default: throw .expected("copy or link")
                }
            }),
        declare(
            .uploading, [.upload],
            .value("block-size", nil, "SIZE", help: "bytes of a block, up to 1GiB (default 1MiB)") {
                (options, value) throws(ValueProblem) in options.blockSize = try Parse.blockSize(value)
            }),
        declare(
            .uploading, [.upload, .run],
            .value("limit-rate", nil, "RATE", help: "bytes a second at most, such as 500k or 2MiB") {
                (options, value) throws(ValueProblem) in options.limitRate = try Parse.rate(value)
            }),
        declare(
            .uploading, [.upload, .run],
            .value("jobs", "j", "N", help: "files at once (default 1)") {
                (options, value) throws(ValueProblem) in options.jobs = try Parse.number(value, in: 1...64)
            }),
        declare(
            .uploading, [.upload, .run],
            .value(
                "patience", nil, "DURATION", help: "leave a file for later after so long without progress (default 5m)"
            ) { (options, value) throws(ValueProblem) in options.patience = try Parse.duration(value) }),
        declare(
            .uploading, [.upload],
            .flag(
                "detach", "d", help: "put the files on the list, print their ids and return; “ingest run” does the work"
            ) {
                $0.detach = $1
            }),
        declare(
            .uploading, [.upload, .run],
            .value("threads", nil, "N", help: "threads of the video encoder (default: three for two processors)") {
                (options, value) throws(ValueProblem) in options.threads = try Parse.number(value, in: 1...256)
            }),
        declare(
            .uploading, [.upload, .run],
            .value("nice", nil, "N", help: "nice value of the encoder, 0 to 19; “run” takes 10 and idle I/O by itself")
            {
                (options, value) throws(ValueProblem) in options.niceness = try Parse.number(value, in: 0...19)
            }),
    ]

    private static let receiving: [OptionDeclaration] = [
        declare(
            .receiving, [.receive],
            .value(
                "listen", nil, "ADDR:PORT",
                help: "where to listen (default 127.0.0.1:8899); :PORT is every address, port 0 picks one"
            ) {
                (options, value) throws(ValueProblem) in
                guard let address = ListenAddress(argument: value.text) else { throw .expected("ADDR:PORT") }
                options.listen = address
            }),
        declare(
            .receiving, [.receive],
            .value("store", nil, "DIR", help: "where received files go (default ~/.local/share/ingest/received)") {
                (options, value) throws(ValueProblem) in options.store = try Parse.path(value)
            }),
        declare(
            .receiving, [.receive],
            .value("public-url", nil, "URL", help: "what the URLs of received files begin with") {
                (options, value) throws(ValueProblem) in options.publicURL = try Parse.url(value)
            }),
        declare(
            .receiving, [.receive],
            .flag("open", help: "listen beyond this machine without a token") { $0.open = $1 }),
    ]

    private static let selecting: [OptionDeclaration] = [
        declare(.selecting, [.list], .flag("all", "a", help: "finished items too") { $0.all = $1 }),
        declare(
            .selecting, [.list], .flag("follow", "f", help: "go on showing the list as it changes") { $0.follow = $1 }),
        declare(.selecting, controls, .flag("all", "a", help: "every item that it fits") { $0.all = $1 }),
        declare(.selecting, [.run], .flag("once", help: "end when nothing is left to do") { $0.once = $1 }),
        declare(
            .selecting, [.cancel, .remove, .clear],
            .flag("force", help: "even if the copy in the cache may be the last one") { $0.force = $1 }),
        declare(.selecting, [.clear], .flag("finished", help: "only what is done or cancelled") { $0.finished = $1 }),
        declare(.selecting, [.clean], .flag("dry-run", "n", help: "only say what would be done") { $0.dryRun = $1 }),
    ]

    private static let output: [OptionDeclaration] = [
        declare(
            .output, everywhere.subtracting([.receive]),
            .flag("json", help: "results as JSON on standard output") { $0.json = $1 }),
        declare(.output, everywhere, .flag("quiet", "q", help: "say only what went wrong") { $0.quiet = $1 }),
        declare(.output, everywhere, .flag("verbose", "v", help: "say more") { $0.verbose = $1 }),
        declare(
            .output, everywhere,
            .value("color", nil, "WHEN", help: "auto (default), always or never") {
                (options, value) throws(ValueProblem) in options.color = try Parse.choice(value)
            }),
        declare(.output, everywhere, .flag("help", "h", help: "this help") { $0.help = $1 }),
        declare(
            .output, [.upload], .flag("version", help: "the version") { $0.version = $1 }),
    ]
}
