import OptionParsing
import Settings

/// The manual page, made of the tables; roff with the macros of man(7).
enum ManualPage {
    static var text: String {
        var out = ".TH INGEST 1 \"\" \"ingest \(IngestProgram.version)\" \"User Commands\"\n"
        out += section("NAME") + "ingest \\- bring recorded video off the machine that recorded it\n"
        out += section("SYNOPSIS")
        out += ".B ingest\n[\\fIOPTION\\fR]... \\fIFILE\\fR...\n"
        for command in CommandName.allCases where command != .upload {
            out += ".br\n.B ingest\n\(escaped(CommandText.summary(of: command).synopsis))\n"
        }
        out += section("DESCRIPTION") + escaped(CommandText.about(.upload)) + "\n"
        out += section("COMMANDS")
        for command in CommandName.allCases where command != .upload {
            out += ".TP\n\\fBingest \(escaped(CommandText.summary(of: command).synopsis))\\fR\n"
            out += escaped(CommandText.about(command)) + "\n"
        }
        out += section("OPTIONS")
        out +=
            "Options may stand before or behind operands. A switch with \\fB\\-\\-no\\-\\fR in front is taken back.\n"
        for group in OptionDeclaration.Group.allCases {
            out += ".SS \(group.rawValue)\n"
            for declaration in OptionDeclaration.table where declaration.group == group {
                out += ".TP\n\(synopsis(declaration.spec))\n\(escaped(sentence(declaration.spec.helpWithDefault)))\n"
                out += commands(declaration)
            }
        }
        return out + configuration + rest
    }

    private static var configuration: String {
        var out = section("CONFIGURATION")
        out +=
            escaped(
                "Settings stand in /etc/ingest/config.toml and in ~/.config/ingest/config.toml (TOML 1.0), each under the name of its "
                    + "option. The command line counts more than the environment, that more than the user's file, that more than the "
                    + "system's. A path may begin with ~/, and is otherwise taken from the directory of the file. “ingest config” "
                    + "shows what holds and where it comes from. A destination is a table [destination.NAME], and NAME is then what "
                    + "--to takes; a table in the user's file replaces one of the same name in the system's. Its keys:")
            + "\n"
        for key in DestinationKeys.table {
            out += ".TP\n\\fB\(escaped(key.name))\\fR\(escaped(key.valueSynopsis.replacing(" ", with: " = ")))\n"
            out += escaped(sentence(key.helpWithDefault)) + (key.isRepeatable ? " May be an array.\n" : "\n")
        }
        let names = OptionDeclaration.of(.watch).map { $0.spec.name }.filter {
            OptionDeclaration.ofFolders.contains($0)
        }
        out +=
            ".PP\nA table \\fB[watch.\\fINAME\\fB]\\fR is for \\fBingest watch\\fR without operands: \\fBfolder\\fR, one or an "
        out += "array, and what holds for it: \(names.map { escaped($0) }.joined(separator: ", ")).\n"
        out += ".PP\nAn example:\n.PP\n.nf\n.RS\n"
        out += """
            to = "archive"
            compress = true
            after = "trash"

            [destination.archive]
            url = "block+https://archive.example/upload"
            token\\-file = "~/.config/ingest/archive.token"
            limit\\-rate = "2MiB"
            timetable = ["mon\\-fri 08:00\\-18:00 500k"]

            [watch.cards]
            folder = "/media/cards"
            after = "delete"
            keep\\-for = "7d"

            """
        return out + ".RE\n.fi\n"
    }

    private static var rest: String {
        var out = section("EXIT STATUS")
        let statuses = [
            ("0", "everything done"), ("1", "failed"), ("2", "wrong usage, configuration or id"),
            ("3", "some files done, some failed"),
            ("75", "not now: kept on the list, a later “ingest run” goes on"), ("130", "interrupted; kept on the list"),
        ]
        for (status, meaning) in statuses { out += ".TP\n\\fB\(status)\\fR\n\(escaped(meaning))\n" }
        out += section("ENVIRONMENT")
        let example = SettingsReader<Options>.variable(for: "limit-rate")
        let variables = [
            ("INGEST_TOKEN", "the access token of destinations that have none of their own, and of the receiver"),
            ("INGEST_CONFIG", "a configuration file, as --config"),
            (
                "INGEST_\\fINAME\\fR",
                "any other setting: \(example) is --limit-rate. Switches take true or false"
            ),
            (
                "XDG_CACHE_HOME, XDG_STATE_HOME, XDG_DATA_HOME, XDG_CONFIG_HOME",
                "where the copies, the list, received files and settings are"
            ),
            ("http_proxy, https_proxy, all_proxy, no_proxy", "as curl reads them"),
        ]
        for (name, meaning) in variables { out += ".TP\n\\fB\(name)\\fR\n\(escaped(meaning))\n" }
        out += section("SIGNALS")
        out +=
            "SIGINT and SIGTERM end the program in good order; the second one ends it at once, and nothing is lost either "
        out += "way. SIGHUP has \\fBrun\\fR, \\fBwatch\\fR and \\fBreceive\\fR read their settings again.\n"
        out += section("FILES")
        let files = [
            ("~/.cache/Video/", "copies of recordings on their way"),
            ("~/.local/state/ingest/list.sqlite", "the upload list"),
            ("~/.local/share/ingest/received/", "what the receiver received"),
            ("~/.config/ingest/config.toml, /etc/ingest/config.toml", "settings"),
        ]
        for (name, meaning) in files { out += ".TP\n\\fI\(escaped(name))\\fR\n\(meaning)\n" }
        return out
    }

    private static func section(_ title: String) -> String { ".SH \(title)\n" }

    private static func synopsis(_ spec: OptionSpec<Options>) -> String {
        let short = spec.short.map { "\\fB\\-\($0)\\fR, " } ?? ""
        return "\(short)\\fB\\-\\-\(escaped(spec.name))\\fR\\fI\(escaped(spec.valueSynopsis))\\fR"
    }

    /// Which commands it belongs to, where that is not all of them or uploading alone.
    private static func commands(_ declaration: OptionDeclaration) -> String {
        let commands = declaration.commands
        if commands == [.upload] || commands.count > CommandName.allCases.count / 2 { return "" }
        let names = CommandName.allCases.filter { commands.contains($0) }.map { $0 == .upload ? "FILE" : $0.rawValue }
        return "For: \(names.joined(separator: ", ")).\n"
    }

    private static func sentence(_ text: String) -> String {
        text.prefix(1).uppercased() + Words.sentence(String(text.dropFirst()))
    }

    /// Text as roff takes it: no line may begin with a point or an apostrophe, dashes stay dashes.
    private static func escaped(_ text: String) -> String {
        let plain = text.replacing("\\", with: "\\e").replacing("-", with: "\\-").replacing("“", with: "\\(lq")
            .replacing(
                "”", with: "\\(rq")
        return plain.hasPrefix(".") || plain.hasPrefix("'") ? "\\&" + plain : plain
    }
}
