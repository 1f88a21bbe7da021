import OptionParsing

/// Help texts, made of the tables.
enum Help {
    private static let column = 28
    private static let width = 98

    static func text(for command: CommandName) -> String {
        var out = ""
        for line in usage(of: command) { out += "usage: \(line)\n" }
        out += "\n" + wrapped(about(command), indent: 0) + "\n"
        if command == .upload {
            out += "\nCommands (each has --help):\n"
            for other in CommandName.allCases where other != .upload {
                out += row("  " + summary(of: other).synopsis, summary(of: other).text)
            }
        }
        let options = OptionDeclaration.of(command)
        for group in OptionDeclaration.Group.allCases {
            let members = options.filter { $0.group == group }
            if members.isEmpty { continue }
            out += "\n\(group.rawValue):\n"
            for member in members { out += row("  " + member.spec.synopsis, member.spec.help) }
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
        default: ["ingest \(summary(of: command).synopsis)"]
        }
    }

    private static func summary(of command: CommandName) -> (synopsis: String, text: String) {
        switch command {
        case .upload: ("FILE...", "prepare, upload and clean up each file")
        case .run: ("run [--once]", "work off the upload list")
        case .list: ("list", "the upload list")
        case .show: ("show ID", "one item in full")
        case .pause: ("pause ID...|--all", "stop items and keep everything")
        case .resume: ("resume ID...|--all", "let paused items go on")
        case .retry: ("retry ID...|--all", "try failed items again")
        case .next: ("next ID...|--all", "put items first")
        case .cancel: ("cancel ID...|--all", "give items up, keep their entries")
        case .remove: ("remove ID...", "give items up and forget them")
        case .clear: ("clear", "remove every item")
        case .clean: ("clean", "put cache, list and far side in order")
        case .probe: ("probe FILE...", "what is in a file, and what --compress would do")
        case .receive: ("receive", "the server that puts the blocks together")
        }
    }

    private static func about(_ command: CommandName) -> String {
        switch command {
        case .upload:
            "Brings recordings off this machine: compresses them if asked to, keeps a copy in the video cache, uploads it in "
                + "blocks so that nothing is lost and nothing starts over, and deletes the copy once the far side has it. "
                + "The recording itself is never changed. Interrupted, the same command goes on where it stopped."
        case .run:
            "Works off the upload list until it is stopped; with --once until nothing is left to do. Encodes politely: at "
                + "nice 10 and idle I/O priority."
        case .list: "Shows what is on its way, what waits, and what failed and why."
        case .show: "Shows everything that is known of one item: how its copy was made, what was lost, how far it is."
        case .pause:
            "A running ingest stops the items within half a second. What has been prepared and sent is kept. An “ingest "
                + "FILE” that was only for them ends."
        case .resume: "Lets paused items go on; a running ingest takes them up, else start “ingest run”."
        case .retry: "Lets failed items go on where they stopped, at once."
        case .next: "Puts the items before all others; the last one named comes first."
        case .cancel:
            "Stops the items, has the far side drop what it holds, and deletes their copies. Refuses where a copy may be the "
                + "last one of its recording, unless --force is given."
        case .remove:
            "Cancels the items and forgets their entries. Refuses to delete what may be a last copy, as cancel does."
        case .clear: "Removes every item of the list with its copy; with --finished only what is done or cancelled."
        case .clean:
            "Deletes unfinished copies that belong to nobody, takes finished ones that no list knows into the list, does "
                + "owed clean-ups, and has the far side drop what it should."
        case .probe: "Shows the streams of a recording, what would become of each, and what would be lost."
        case .receive:
            "Receives uploads at http://ADDR:PORT/upload and serves the finished files. Beyond this machine it wants a token "
                + "(--token-file, or INGEST_TOKEN in the environment), unless --open is given."
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
