import OptionParsing

/// Help texts, made of the tables.
enum Help {
    private static let column = 28
    private static let width = 98

    static func text(for command: CommandName) -> String {
        var out = ""
        for line in usage(of: command) { out += "usage: \(line)\n" }
        out += "\n" + wrapped(CommandText.about(command), indent: 0) + "\n"
        if command == .upload {
            out += "\nCommands (each has --help):\n"
            for other in CommandName.allCases where other != .upload {
                out += row("  " + CommandText.summary(of: other).synopsis, CommandText.summary(of: other).text)
            }
        }
        let options = OptionDeclaration.of(command)
        for group in OptionDeclaration.Group.allCases {
            let members = options.filter { $0.group == group }
            if members.isEmpty { continue }
            out += "\n\(group.rawValue):\n"
            for member in members { out += row("  " + member.spec.synopsis, member.spec.helpWithDefault) }
        }
        if command == .upload {
            out += """

                Sizes: 500k, 1M, 1MiB, 2.5G (k, M, G are 1000; KiB, MiB, GiB are 1024).
                Exit status: 0 done, 1 failed, 2 wrong usage, 3 some done and some failed,
                75 not now (kept on the list), 130 interrupted.

                """
        }
        return out
    }

    /// For those who got the usage wrong: one line that says where the rest is.
    static func hint(for command: CommandName) -> String {
        "usage: \(usage(of: command)[0])\nTry “ingest\(command == .upload ? "" : " " + command.rawValue) --help”.\n"
    }

    private static func usage(of command: CommandName) -> [String] {
        switch command {
        case .upload: ["ingest [OPTION]... FILE...", "ingest COMMAND [OPTION]..."]
        default: ["ingest \(CommandText.summary(of: command).synopsis)"]
        }
    }

    private static func row(_ left: String, _ right: String) -> String {
        let start = left.count < column ? left + String(repeating: " ", count: column - left.count) : left + "\n"
        let text = wrapped(right, indent: column)
        return left.count < column
            ? start + text.dropFirst(column) + "\n" : start + text + "\n"
    }

    /// Broken between words, every line indented.
    private static func wrapped(_ text: String, indent: Int) -> String {
        let space = String(repeating: " ", count: indent)
        var lines: [String] = []
        var line = space
        for word in text.split(separator: " ") {
            if line.count > indent, line.count + word.count + 1 > width {
                lines.append(line)
                line = space
            }
            line += (line.count > indent ? " " : "") + word
        }
        return (lines + [line]).joined(separator: "\n")
    }
}

extension OptionSpec {
    /// The sentence, and what holds by itself.
    var helpWithDefault: String { standard.map { "\(help) (default \($0))" } ?? help }
}
