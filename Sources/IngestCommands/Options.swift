import FolderWatch
import HTTPServer
import IngestModel
import OptionParsing
import Pipeline
import SystemIO

/// The commands.
enum CommandName: String, CaseIterable, Sendable {
    /// `ingest FILE...`; has no word of its own.
    case upload = ""
    case watch, run, list, show, pause, resume, retry, next, cancel, remove, clear, clean, probe, receive, config,
        completions
    case man
}

/// What settings and command line say, before it is looked at together.
struct Options: Sendable {
    enum Color: String, CaseIterable, Sendable { case auto, always, never }
    /// What can be left out of a copy.
    enum Strippable: String, CaseIterable, Sendable { case nothing, location }

    var compress: CompressSettings.Preset?
    var remux = false
    var codec: CompressSettings.Codec?
    var quality: Int?
    var maxHeight: Int?
    var maxFramesPerSecond: Double?
    var targetSize: ByteCount?
    var sound: CompressSettings.Sound?
    var keepsInterlaced = false
    var strip = Strippable.nothing
    var care = CopyCare.standard
    var destination = DestinationAddress.builtIn
    var template: NameTemplate?
    var after = AfterAction.keep
    var save: ServerURL?
    var saveTokenFile: FilePath?
    var parameters: [String: String] = [:]
    var title: String?
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
    var watch = WatchRules()
    /// Seconds.
    var keepsFor: Double?
    var freesBelow: ByteCount?
    var minimumFree = ByteCount.gibibytes(2)
    var cacheLimit: ByteCount?
    var encodesWhenIdle = false
    var seen = false
    var forget = false
    var configuration: FilePath?
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
        case following = "When it is there"
        case watching = "Watching"
        case working = "Working"
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

    /// What a table `[watch.NAME]` may hold: what belongs to its recordings, not to the whole program.
    static let ofFolders: Set<String> = {
        let groups: Set<Group> = [.compressing, .uploading, .following, .watching]
        let ofProgram: Set<String> = ["min-free", "cache-limit", "when-idle"]
        return Set(of(.watch).filter { groups.contains($0.group) && $0.spec.isSetting }.map { $0.spec.name })
            .subtracting(ofProgram)
    }()

    private static let everywhere = Set(CommandName.allCases)
    private static let controls: Set<CommandName> = [.pause, .resume, .retry, .next, .cancel]

    private static func declare(
        _ group: Group, _ commands: Set<CommandName>, _ spec: OptionSpec<Options>
    ) -> OptionDeclaration {
        OptionDeclaration(group: group, commands: commands, spec: spec)
    }

    static let table = compressing + uploading + following + watching + working + receiving + selecting + output

    private static let compressing: [OptionDeclaration] = [
        declare(
            .compressing, [.upload, .watch, .probe],
            .optionalValue(
                "compress", "c", Parse.kind(CompressSettings.Preset.self), "PRESET",
                help: "transcode for upload: fast, balanced (default) or small"
            ) { (options, value, isOn) throws(ValueProblem) in
                guard isOn else { return options.compress = nil }
                options.compress = try value.map { value throws(ValueProblem) in try Parse.choice(value) } ?? .balanced
                options.remux = false
            }.negatable),
        declare(
            .compressing, [.upload, .watch],
            .flag("remux", help: "change the container only (mp4, index in front), encode nothing") {
                $0.remux = $1
                if $1 { $0.compress = nil }
            }.negatable),
        declare(
            .compressing, [.upload, .watch, .probe],
            .value(
                "codec", nil, Parse.kind(CompressSettings.Codec.self), "CODEC",
                help: "auto, h264, hevc or av1; auto takes hevc for 10 bits and HDR"
            ) { (options, value) throws(ValueProblem) in options.codec = try Parse.choice(value) }.standing(at: "auto")),
        declare(
            .compressing, [.upload, .watch, .probe],
            .value(
                "quality", nil, .number, "N", help: "the encoder's constant rate factor, 1 to 63, lower is better"
            ) { (options, value) throws(ValueProblem) in options.quality = try Parse.number(value, in: 1...63) }),
        declare(
            .compressing, [.upload, .watch, .probe],
            .value(
                "max-height", nil, .number, "N", help: "shrink pictures whose shorter side has more than N pixels"
            ) {
                (options, value) throws(ValueProblem) in options.maxHeight = try Parse.number(value, in: 16...16_384)
            }),
        declare(
            .compressing, [.upload, .watch, .probe],
            .value("max-fps", nil, .number, "N", help: "drop frames beyond N a second") {
                (options, value) throws(ValueProblem) in options.maxFramesPerSecond = try Parse.frameRate(value)
            }),
        declare(
            .compressing, [.upload, .watch, .probe],
            .value(
                "target-size", nil, .quantity, "SIZE", help: "no more than this; what fits into it decides the quality"
            ) {
                (options, value) throws(ValueProblem) in options.targetSize = try Parse.size(value)
            }),
        declare(
            .compressing, [.upload, .watch, .probe],
            .value(
                "audio", nil, Parse.kind(CompressSettings.Sound.self), "HOW",
                help: "auto (default), copy where mp4 holds it, aac, or none"
            ) { (options, value) throws(ValueProblem) in options.sound = try Parse.choice(value) }
            .standing(at: "auto")),
        declare(
            .compressing, [.upload, .watch, .probe],
            .flag("keep-interlaced", help: "leave interlaced pictures interlaced") { $0.keepsInterlaced = $1 }
                .negatable),
        declare(
            .compressing, [.upload, .watch],
            .flag("strict", help: "fail rather than lose a stream or a tag") { $0.care.isStrict = $1 }.negatable),
        declare(
            .compressing, [.upload, .watch],
            .value(
                "verify", nil, Parse.kind(CopyCare.Verification.self), "EXTENT",
                help: "decode a sample of the finished copy (default), or all of it (full)"
            ) { (options, value) throws(ValueProblem) in options.care.verification = try Parse.choice(value) }
            .standing(at: "sample")),
        declare(
            .compressing, [.upload, .watch],
            .value(
                "on-bad-result", nil, Parse.kind(CopyCare.BadResult.self), "WHAT",
                help: "where the copy is not right: upload the original (default), or fail"
            ) { (options, value) throws(ValueProblem) in options.care.badResult = try Parse.choice(value) }
            .standing(at: "original")),
        declare(
            .compressing, [.upload, .watch],
            .value(
                "damaged", nil, Parse.kind(CopyCare.Damaged.self), "WHAT",
                help: "with a damaged recording: fail (default), upload it as it is, or salvage what decodes"
            ) { (options, value) throws(ValueProblem) in options.care.damaged = try Parse.choice(value) }
            .standing(at: "fail")),
        declare(
            .compressing, [.upload, .watch],
            .value(
                "strip", nil, Parse.kind(Options.Strippable.self), "WHAT",
                help: "leave location (where it was recorded) out of the copy, or nothing"
            ) { (options, value) throws(ValueProblem) in options.strip = try Parse.choice(value) }
            .standing(at: "nothing")),
    ]

    private static let uploading: [OptionDeclaration] = [
        declare(
            .uploading, [.upload, .watch],
            .value(
                "to", "t", .known("destinations"), "DESTINATION",
                help:
                    "a name from the configuration, a directory, or a URL: block+https://host/path, tus+https://host/files/, or "
                    + "https, which is asked; without it, the receiver built into the program"
            ) { (options, value) throws(ValueProblem) in options.destination = try Parse.destination(value) }
            .standing(at: DestinationAddress.builtInWord)),
        declare(
            .uploading, [.upload, .watch],
            .value(
                "as", nil, .text, "TEMPLATE",
                help:
                    "the name at the far end, made of {name} {stem} {ext} {seconds} {date} {time} {year} {month} {day} "
                    + "{host} {dir} {id} and “/”"
            ) { (options, value) throws(ValueProblem) in options.template = try Parse.template(value) }
            .standing(at: "{seconds}-{name}")),
        declare(
            .uploading, [.upload, .watch, .receive],
            .value(
                "token-file", nil, .file, "FILE",
                help: "the access token is the first line of FILE, which must be private"
            ) { (options, value) throws(ValueProblem) in options.tokenFile = try Parse.path(value) }),
        declare(
            .uploading, [.upload, .watch],
            .value(
                "cache", nil, .choice(["copy", "link"]), "HOW",
                help: "copy the recording into the cache, or link it where that is safe"
            ) { (options, value) throws(ValueProblem) in
                switch value.text {
                case "copy": options.links = false
                case "link": options.links = true
                default: throw .expected("copy or link")
                }
            }.standing(at: "copy")),
        declare(
            .uploading, [.upload, .watch],
            .value("block-size", nil, .quantity, "SIZE", help: "bytes of a block, up to 1GiB") {
                (options, value) throws(ValueProblem) in options.blockSize = try Parse.blockSize(value)
            }.standing(at: "1MiB")),
        declare(
            .uploading, [.upload, .watch, .run],
            .value("limit-rate", nil, .quantity, "RATE", help: "bytes a second at most, such as 500k or 2MiB") {
                (options, value) throws(ValueProblem) in options.limitRate = try Parse.rate(value)
            }),
    ]

    private static let following: [OptionDeclaration] = [
        declare(
            .following, [.upload, .watch],
            .value(
                "after", nil, .words(["keep", "delete", "trash"], directoryBehind: AfterAction.movePrefix), "WHAT",
                help: "what becomes of the recording once it is there: keep, delete, trash or move:DIR"
            ) { (options, value) throws(ValueProblem) in options.after = try Parse.after(value) }
            .standing(at: "keep")),
        declare(
            .following, [.watch],
            .value(
                "keep-for", nil, .quantity, "DURATION", help: "--after waits so long once the recording is there"
            ) { (options, value) throws(ValueProblem) in options.keepsFor = try Parse.duration(value) }),
        declare(
            .following, [.watch],
            .value(
                "free-below", nil, .quantity, "SIZE",
                help:
                    "--after waits until less than that is free where the recording lies, those done first first; with "
                    + "--keep-for whichever comes first"
            ) { (options, value) throws(ValueProblem) in options.freesBelow = try Parse.size(value) }),
        declare(
            .following, [.upload, .watch],
            .value(
                "save", nil, .text, "URL",
                help: "tell this URL, in JSON, where the file is; it is done when that answers 2xx"
            ) {
                (options, value) throws(ValueProblem) in options.save = try Parse.serverURL(value)
            }),
        declare(
            .following, [.upload, .watch],
            .value(
                "save-token-file", nil, .file, "FILE",
                help: "the bearer token for --save is the first line of FILE, which must be private"
            ) { (options, value) throws(ValueProblem) in options.saveTokenFile = try Parse.path(value) }),
        declare(
            .following, [.upload, .watch],
            .value(
                "param", nil, .text, "KEY=VALUE", help: "something for --save to be told; may be given several times"
            ) {
                (options, value) throws(ValueProblem) in
                let (key, text) = try Parse.parameter(value)
                options.parameters[key] = text
            }.repeatable),
        declare(
            .following, [.upload],
            .value("title", nil, .text, "TEXT", help: "a title for --save to be told") { $0.title = $1.text }.onlyTyped),
    ]

    private static let watching: [OptionDeclaration] = [
        declare(
            .watching, [.watch],
            .value(
                "include", nil, .text, "GLOB",
                help:
                    "take files of such names only, instead of everything that looks like a recording; may be given several times"
            ) { (options, value) throws(ValueProblem) in options.watch.includes.append(try Parse.glob(value)) }
            .repeatable),
        declare(
            .watching, [.watch],
            .value("exclude", nil, .text, "GLOB", help: "leave files and directories of such names alone") {
                (options, value) throws(ValueProblem) in options.watch.excludes.append(try Parse.glob(value))
            }.repeatable),
        declare(
            .watching, [.watch],
            .value("min-size", nil, .quantity, "SIZE", help: "leave smaller files alone") {
                (options, value) throws(ValueProblem) in options.watch.smallest = try Parse.size(value)
            }),
        declare(
            .watching, [.watch],
            .value(
                "older-than", nil, .quantity, "DURATION",
                help: "leave files alone until so long after their last change"
            ) {
                (options, value) throws(ValueProblem) in options.watch.youngest = try Parse.duration(value)
            }),
        declare(
            .watching, [.watch],
            .flag("recursive", help: "look into the directories of the folder too") {
                $0.watch.isRecursive = $1
            }.negatable.standing(at: "true")),
        declare(
            .watching, [.watch],
            .value(
                "group", nil, .choice(["on", "off"]), "HOW",
                help:
                    "on: what lies beside a recording (subtitles, metadata, small versions) goes with it, and --after waits "
                    + "for all of it; off: each file by itself"
            ) { (options, value) throws(ValueProblem) in
                switch value.text {
                case "on": options.watch.groups = true
                case "off": options.watch.groups = false
                default: throw .expected("on or off")
                }
            }.standing(at: "on")),
        declare(
            .watching, [.watch],
            .value(
                "settle", nil, .quantity, "DURATION",
                help:
                    "where neither kernel nor container can tell, a recording is finished after so long without a change"
            ) { (options, value) throws(ValueProblem) in options.watch.settlingTime = try Parse.duration(value) }
            .standing(at: "2s")),
        declare(
            .watching, [.watch],
            .flag("poll", help: "list the folder every few seconds; by itself only where the system tells no news") {
                $0.watch.polls = $1
            }.negatable),
        declare(
            .watching, [.watch],
            .value(
                "rescan", nil, .quantity, "DURATION", help: "look at everything so often, in case news were lost"
            ) {
                (options, value) throws(ValueProblem) in
                options.watch.scanInterval = try Parse.duration(value)
                guard options.watch.scanInterval >= 1 else { throw .expected("a duration of a second or more") }
            }.standing(at: "10m")),
        declare(
            .watching, [.watch],
            .value(
                "min-free", nil, .quantity, "SIZE",
                help: "begin no copy that would leave less free where the cache is; uploads go on"
            ) { (options, value) throws(ValueProblem) in options.minimumFree = try Parse.size(value) }
            .standing(at: "2GiB")),
        declare(
            .watching, [.watch],
            .value(
                "cache-limit", nil, .quantity, "SIZE",
                help: "begin no copy that would make the cache larger; a recording that is larger by itself goes alone"
            ) {
                (options, value) throws(ValueProblem) in options.cacheLimit = try Parse.size(value)
            }),
        declare(
            .watching, [.watch],
            .flag("when-idle", help: "encode only while no recording is being made in the folders") {
                $0.encodesWhenIdle = $1
            }.negatable),
        declare(
            .watching, [.watch],
            .flag("seen", help: "list what has been brought and is left alone from then on") { $0.seen = $1 }.onlyTyped),
        declare(
            .watching, [.watch],
            .flag(
                "forget",
                help: "forget those of these numbers, or with --all everything, so that they are brought again"
            ) {
                $0.forget = $1
            }.onlyTyped),
        declare(.watching, [.watch], .flag("all", "a", help: "with --forget: everything") { $0.all = $1 }.onlyTyped),
    ]

    private static let working: [OptionDeclaration] = [
        declare(
            .working, [.upload, .watch, .run],
            .value("jobs", "j", .number, "N", help: "files at once") {
                (options, value) throws(ValueProblem) in
                options.jobs = try Parse.number(value, in: 1...Supervisor.mostJobs)
            }.standing(at: "1")),
        declare(
            .working, [.upload, .run],
            .value(
                "patience", nil, .quantity, "DURATION", help: "leave a file for later after so long without progress"
            ) { (options, value) throws(ValueProblem) in options.patience = try Parse.duration(value) }
            .standing(at: "5m")),
        declare(
            .working, [.upload],
            .flag(
                "detach", "d", help: "put the files on the list, print their ids and return; “ingest run” does the work"
            ) { $0.detach = $1 }.onlyTyped),
        declare(
            .working, [.upload, .watch, .run],
            .value(
                "threads", nil, .number, "N", help: "threads of the video encoder (default: three for two processors)"
            ) { (options, value) throws(ValueProblem) in options.threads = try Parse.number(value, in: 1...256) }),
        declare(
            .working, [.upload, .watch, .run],
            .value(
                "nice", nil, .number, "N",
                help: "nice value of the encoder, 0 to 19; “run” and “watch” take 10 and idle I/O by themselves"
            ) { (options, value) throws(ValueProblem) in options.niceness = try Parse.number(value, in: 0...19) }),
    ]

    private static let receiving: [OptionDeclaration] = [
        declare(
            .receiving, [.receive],
            .value(
                "listen", nil, .text, "ADDR:PORT", help: "where to listen; :PORT is every address, port 0 picks one"
            ) { (options, value) throws(ValueProblem) in
                guard let address = ListenAddress(argument: value.text) else { throw .expected("ADDR:PORT") }
                options.listen = address
            }.standing(at: "127.0.0.1:8899")),
        declare(
            .receiving, [.receive],
            .value(
                "store", nil, .directory, "DIR",
                help: "where received files go (default ~/.local/share/ingest/received)"
            ) { (options, value) throws(ValueProblem) in options.store = try Parse.path(value) }),
        declare(
            .receiving, [.receive],
            .value("public-url", nil, .text, "URL", help: "what the URLs of received files begin with") {
                (options, value) throws(ValueProblem) in options.publicURL = try Parse.serverURL(value).text
            }),
        declare(
            .receiving, [.receive],
            .flag("open", help: "listen beyond this machine without a token") { $0.open = $1 }.onlyTyped),
    ]

    private static let selecting: [OptionDeclaration] = [
        declare(.selecting, [.list], .flag("all", "a", help: "finished items too") { $0.all = $1 }.onlyTyped),
        declare(
            .selecting, [.list],
            .flag("follow", "f", help: "go on showing the list as it changes") { $0.follow = $1 }.onlyTyped),
        declare(.selecting, controls, .flag("all", "a", help: "every item that it fits") { $0.all = $1 }.onlyTyped),
        declare(
            .selecting, [.run], .flag("once", help: "end when nothing is left to do") { $0.once = $1 }.onlyTyped),
        declare(
            .selecting, [.cancel, .remove, .clear],
            .flag("force", help: "even if the copy in the cache may be the last one") { $0.force = $1 }.onlyTyped),
        declare(
            .selecting, [.clear],
            .flag("finished", help: "only what is done or cancelled") { $0.finished = $1 }.onlyTyped),
        declare(
            .selecting, [.clean],
            .flag("dry-run", "n", help: "only say what would be done") { $0.dryRun = $1 }.onlyTyped),
    ]

    private static let output: [OptionDeclaration] = [
        declare(
            .output, everywhere.subtracting([.receive, .completions, .man]),
            .flag("json", help: "results as JSON on standard output") { $0.json = $1 }.negatable),
        declare(.output, everywhere, .flag("quiet", "q", help: "say only what went wrong") { $0.quiet = $1 }.negatable),
        declare(.output, everywhere, .flag("verbose", "v", help: "say more") { $0.verbose = $1 }.negatable),
        declare(
            .output, everywhere,
            .value("color", nil, Parse.kind(Options.Color.self), "WHEN", help: "auto, always or never") {
                (options, value) throws(ValueProblem) in options.color = try Parse.choice(value)
            }.standing(at: "auto")),
        declare(
            .output, everywhere,
            .value(
                "config", nil, .file, "FILE", help: "settings from FILE instead of ~/.config/ingest/config.toml"
            ) { (options, value) throws(ValueProblem) in options.configuration = try Parse.path(value) }.onlyTyped),
        declare(.output, everywhere, .flag("help", "h", help: "this help") { $0.help = $1 }.onlyTyped),
        declare(.output, [.upload], .flag("version", help: "the version") { $0.version = $1 }.onlyTyped),
    ]
}
