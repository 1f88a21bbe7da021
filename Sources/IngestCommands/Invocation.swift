import IngestModel
import OptionParsing

/// What the command line asks for.
struct Invocation: Sendable {
    let command: CommandName
    let options: Options
    let operands: [[UInt8]]
    /// Everything that is wrong with it.
    let problems: [String]

    /// Reads the arguments, without the program's name.
    ///
    /// The command is the first argument that is no option; only `-q`, `-v`, `--json` and `--color` may stand before it.
    /// `./watch` or `--` names a file that is called like a command.
    init(_ arguments: [[UInt8]]) {
        let (command, rest) = Self.split(Self.spelledOut(arguments))
        let parser = OptionParser(OptionDeclaration.of(command).map { $0.spec })
        let result = parser.parse(rest, into: Options())
        self.command = command
        options = result.target
        operands = result.operands
        problems = result.problems + (result.target.help || result.target.version ? [] : Self.check(command, result))
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
            return (count == 0 ? ["name a file to upload"] : []) + checkCompressing(options)
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
        case .run, .list, .clear, .clean, .receive:
            return count == 0 ? [] : ["“\(command.rawValue)” takes no operand"]
        }
    }

    private static func checkCompressing(_ options: Options) -> [String] {
        var problems: [String] = []
        if options.remux, options.compress != nil { problems.append("--remux and --compress exclude each other") }
        if options.compress == nil {
            let refining: [(name: String, isGiven: Bool)] = [
                ("--codec", options.codec != nil), ("--quality", options.quality != nil),
                ("--max-height", options.maxHeight != nil), ("--max-fps", options.maxFramesPerSecond != nil),
            ]
            for option in refining where option.isGiven { problems.append("\(option.name) goes with --compress") }
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
            maxFramesPerSecond: maxFramesPerSecond)
    }

    var preparation: Preparation {
        if let settings = compressSettings { return .compress(settings) }
        if remux { return .remux }
        return links ? .link : .copy
    }
}
