import IngestModel
import OptionParsing
import Settings

/// What the command line asks for, on top of what the settings say.
struct Invocation: Sendable {
    let command: CommandName
    private(set) var options: Options
    let operands: [[UInt8]]
    /// Everything that is wrong with it.
    let problems: [String]
    /// Every setting with what it comes from, in the order of the table.
    let settings: [Setting]
    let destinations: [DestinationName: ConfiguredDestination]
    let folders: [ConfiguredFolder<Options>]
    /// The options that files or the environment say something about.
    private let configured: Set<String>
    /// The options that stand on the command line.
    private let given: Set<String>
    /// The arguments it was read from.
    private let arguments: [[UInt8]]

    /// Reads the arguments, without the program's name.
    ///
    /// The command is the first argument that is no option; only `-q`, `-v`, `--json` and `--color` may stand before it.
    /// `./watch` or `--` names a file that is called like a command.
    ///
    /// - Parameters:
    ///   - arguments: in the system's bytes.
    ///   - configured: what holds where the arguments say nothing; `nil` for the defaults.
    init(_ arguments: [[UInt8]], over configured: Configuration? = nil) {
        let (command, rest) = Self.split(Self.spelledOut(arguments))
        let specs = OptionDeclaration.of(command).map { $0.spec }
        let result = OptionParser(specs).parse(rest, into: configured?.options ?? Options())
        self.command = command
        self.arguments = arguments
        given = Set(result.given.keys)
        self.configured = Set((configured?.settings ?? []).filter { $0.origin != .standard }.map { $0.name })
        options = result.target
        operands = result.operands
        problems = result.problems + (result.target.help || result.target.version ? [] : Self.check(command, result))
        destinations = configured?.destinations ?? [:]
        folders = configured?.folders ?? []
        settings = (configured?.settings ?? []).map { setting in
            guard let given = result.given[setting.name] else { return setting }
            return Setting(
                name: setting.name, texts: given.value.map { [$0.text] } ?? [], isOn: given.isOn, origin: .commandLine)
        }
    }

    /// The same arguments over settings that have been read anew.
    func over(_ configured: Configuration) -> Invocation { Invocation(arguments, over: configured) }

    /// The same for the recordings of a configured folder.
    func inside(_ folder: ConfiguredFolder<Options>) -> Invocation {
        var inside = self
        folder.apply(to: &inside.options, below: isExplicit)
        // A token that stands beside another server is not for this one.
        for (server, token) in [("to", "token-file"), ("save", "save-token-file")]
        where folder.says(server) && !isExplicit(server) && isConfigured(server) && !folder.says(token)
            && !isExplicit(token)
        {
            if server == "to" { inside.options.tokenFile = nil } else { inside.options.saveTokenFile = nil }
        }
        return inside
    }

    /// Whether it has anything to do with what the configuration says, right or wrong.
    var usesSettings: Bool {
        switch command {
        case .completions, .man: false
        case .config: operands.first != Array("path".utf8)
        default: true
        }
    }

    /// Whether something below the command line says something about the option.
    func isConfigured(_ option: String) -> Bool { configured.contains(option) }

    /// Whether it stands on the command line.
    func isTyped(_ option: String) -> Bool { given.contains(option) }

    /// Whether the command line or the environment says something about the option, and not only a file.
    func isExplicit(_ option: String) -> Bool {
        switch settings.first(where: { $0.name == option })?.origin {
        case .commandLine, .environment: true
        case .standard, .file, nil: false
        }
    }

    /// `help` and `help COMMAND` for `--help` and `COMMAND --help`.
    private static func spelledOut(_ arguments: [[UInt8]]) -> [[UInt8]] {
        guard arguments.first == Array("help".utf8), arguments.count <= 2 else { return arguments }
        return arguments.dropFirst() + [Array("--help".utf8)]
    }

    private static func split(_ arguments: [[UInt8]]) -> (CommandName, [[UInt8]]) {
        var index = 0
        while index < arguments.count {
            let text = String(decoding: arguments[index], as: UTF8.self)
            switch text {
            case "--json", "--quiet", "--verbose": index += 1
            case "--color": index += 2
            case _ where text.hasPrefix("--color="): index += 1
            case _ where text.hasPrefix("-") && text.count > 1 && text.dropFirst().allSatisfy { "qv".contains($0) }:
                index += 1
            default:
                guard let command = CommandName(rawValue: text), command != .upload else { return (.upload, arguments) }
                var rest = arguments
                rest.remove(at: index)
                return (command, rest)
            }
        }
        return (.upload, arguments)
    }

    private static func check(_ command: CommandName, _ result: OptionParser<Options>.Result) -> [String] {
        let count = result.operands.count
        let options = result.target
        switch command {
        case .upload:
            return (count == 0 ? ["name a file to upload"] : []) + checkCompressing(result)
        case .watch: return checkWatching(result) + checkCompressing(result)
        case .probe: return count == 0 ? ["name a file to look into"] : []
        case .show:
            return count == 1 ? checkIDs(result.operands) : ["name the id of one item; “ingest list” shows them"]
        case .pause, .resume, .retry, .next, .cancel:
            if options.all {
                return count == 0 ? [] : ["name ids or give --all, not both"]
            }
            return count == 0
                ? ["name the ids of items, or give --all; “ingest list” shows them"] : checkIDs(result.operands)
        case .remove:
            return count == 0 ? ["name the ids of items; “ingest list” shows them"] : checkIDs(result.operands)
        case .config, .completions:
            let known = command == .config ? ConfigCommand.operands : CompletionsCommand.operands
            let words = result.operands.map { String(decoding: $0, as: UTF8.self) }
            if words.count == 1, known.contains(words[0]) { return [] }
            if command == .config, words.isEmpty { return [] }
            return ["“\(command.rawValue)” takes one of \(known.joined(separator: ", "))"]
        case .run, .list, .clear, .clean, .receive, .man:
            return count == 0 ? [] : ["“\(command.rawValue)” takes no operand"]
        }
    }

    private static func checkWatching(_ result: OptionParser<Options>.Result) -> [String] {
        let (options, count) = (result.target, result.operands.count)
        if options.seen { return count == 0 && !options.forget ? [] : ["--seen goes alone"] }
        if options.after == .keep {
            for name in ["keep-for", "free-below"] where result.given[name] != nil {
                return ["--\(name) goes with --after"]
            }
        }
        guard options.forget else {
            return options.all ? ["--all goes with --forget"] : []
        }
        if options.all { return count == 0 ? [] : ["name numbers or give --all, not both"] }
        return count == 0
            ? ["name the numbers that “ingest watch --seen” shows, or give --all"] : checkIDs(result.operands)
    }

    private static func checkCompressing(_ result: OptionParser<Options>.Result) -> [String] {
        let (options, given) = (result.target, result.given)
        // Only what was typed contradicts itself: what a file says holds where it fits.
        var problems: [String] = []
        if given["remux"] != nil, given["compress"] != nil, options.remux || options.compress != nil {
            problems.append("--remux and --compress exclude each other")
        }
        if options.keepsInterlaced, options.codec == .hevc || options.codec == .av1 {
            problems.append("--keep-interlaced goes with --codec=h264: the other encoders know whole pictures only")
        }
        if given["target-size"] != nil, given["quality"] != nil {
            problems.append("--target-size and --quality exclude each other")
        }
        if options.compress == nil {
            for name in ["codec", "quality", "max-height", "max-fps", "target-size", "audio", "keep-interlaced"]
            where given[name] != nil {
                problems.append("--\(name) goes with --compress")
            }
        }
        if options.compress == nil, !options.remux {
            for name in ["strict", "verify", "on-bad-result", "damaged"] where given[name] != nil {
                problems.append("--\(name) goes with --compress or --remux")
            }
        }
        // Also where a file says so: whoever wants the position left out must not send it by mistake.
        if options.strip == .location, options.compress == nil, !options.remux {
            problems.append(
                "--strip=location goes with --compress or --remux: a recording that is copied byte for byte tells where it was "
                    + "made. Or say --strip=nothing")
        }
        return problems
    }

    private static func checkIDs(_ operands: [[UInt8]]) -> [String] {
        operands.compactMap { operand in
            let text = String(decoding: operand, as: UTF8.self)
            return BlockWire.number(text) == nil ? "“\(text.printable)” is no id; ids are whole numbers" : nil
        }
    }

    /// The operands as ids; checked by then.
    var ids: [ItemID] {
        operands.compactMap { BlockWire.number(String(decoding: $0, as: UTF8.self)).map { ItemID($0) } }
    }
}

extension Options {
    /// What `--compress` and the options that refine it ask for.
    var compressSettings: CompressSettings? {
        guard let preset = compress else { return nil }
        return CompressSettings(
            preset: preset, codec: codec ?? .auto, quality: quality, maxHeight: maxHeight,
            maxFramesPerSecond: maxFramesPerSecond, sound: sound == .auto ? nil : sound,
            keepsInterlaced: keepsInterlaced ? true : nil, targetSize: targetSize)
    }

    var preparation: Preparation {
        if let settings = compressSettings { return .compress(settings) }
        if remux { return .remux }
        return links ? .link : .copy
    }
}
