import Foundation
import IngestCommands
import IngestModel
import IngestTestSupport
import SystemIO
import Testing

/// The commands as they are typed, in a home of their own, without a process.
@Suite("Commands", .timeLimit(.minutes(3)))
struct CommandTests {
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    private struct Result {
        let status: ExitCode
        let output: String
        let errors: String
    }

    /// `isJournal`: standard error is what the service manager says is the journal.
    private func run(
        _ words: [String], _ variables: [String: String] = [:], isJournal: Bool = false
    ) async throws -> Result {
        let outPath = try directory.file("out-\(UUID().uuidString)")
        let errPath = try directory.file("err-\(UUID().uuidString)")
        let out = try FileSystem.open(outPath, .creating)
        let err = try FileSystem.open(errPath, .creating)
        var surroundings = ["HOME": directory.path.text, "TERM": "dumb"].merging(variables) { $1 }
        if isJournal {
            let status = try FileSystem.status(of: errPath)
            surroundings["JOURNAL_STREAM"] = "\(status.device):\(status.inode)"
        }
        let context = CommandContext(
            environment: Environment(
                variables: surroundings,
                workingDirectory: directory.path,
                programDirectory: try TestPath.make(TestPlace.programs)),
            output: OutputStream(SharedDescriptor(out)), errors: OutputStream(SharedDescriptor(err)), now: { Date() })
        let status = await IngestProgram.run(words.map { Array($0.utf8) }, context)
        return Result(
            status: status, output: String(decoding: try outPath.contents(), as: UTF8.self),
            errors: String(decoding: try errPath.contents(), as: UTF8.self))
    }

    @Test(
        "help of every command: fits a screen, names every option once",
        arguments: [
            "", "run", "list", "show", "pause", "resume", "retry", "next", "cancel", "remove", "clear", "clean",
            "probe", "receive", "config", "completions", "man",
        ])
    func help(command: String) async throws {
        let result = try await run([command, "--help"].filter { !$0.isEmpty })
        #expect(result.status == .done && result.errors.isEmpty)
        let lines = result.output.split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.allSatisfy { $0.count <= 100 })
        #expect(lines.count < (command.isEmpty ? 100 : 40))
        #expect(result.output.hasPrefix("usage: ingest"))
        let names = result.output.matches(of: /--(?:\[no-\])?([a-z-]+)/).map { String($0.1) }
        for name in ["help", "verbose", "quiet"] { #expect(names.contains(name)) }
    }

    @Test(
        "wrong usage: status 2, every problem in a line, and where the help is",
        arguments: [
            (["--compres", "x"], "--compress"), ([], "name a file"), (["--to", "gopher://x/", "x"], "gopher"),
            (["run", "x"], "takes no operand"),
            (["pause"], "ids"), (["pause", "x"], "no id"), (["pause", "1", "--all"], "not both"), (["show"], "id"),
            (["--block-size=0", "x"], "1 byte to 1GiB"),
            (["--block-size=2GiB", "x"], "1 byte to 1GiB"), (["--limit-rate=0", "x"], "bytes a second"),
            (["--compress=best", "x"], "fast, balanced or small"),
            (["--codec=h264", "x"], "goes with --compress"), (["--remux", "--compress", "x"], "exclude"),
            (["--patience=soon", "x"], "duration"),
            (["--jobs=0", "x"], "from 1 to 64"), (["receive", "--listen=x"], "ADDR:PORT"),
            (["list", "--compress"], "unknown option"),
            (["--cache=move", "x"], "copy or link"), (["receive", "--json"], "unknown option"),
            (["probe"], "look into"),
            (["--as={nme}", "x"], "there is no {nme}"), (["--after=shred", "x"], "keep, delete, trash or move:DIR"),
            (["--strip=location", "x"], "goes with --compress"), (["--strip=all", "x"], "nothing or location"),
            (["--save=ftp://x/", "x"], "http or https"), (["--param=a", "x"], "KEY=VALUE"),
            (["--param=url=x", "x"], "another name"),
            (["config", "edit"], "show, path"),
            (["completions", "tcsh"], "bash, zsh, fish"), (["completions"], "bash, zsh, fish"),
            (["--no-detach", "x"], "unknown option"),
        ])
    func usage(words: [String], mention: String) async throws {
        let result = try await run(words)
        #expect(result.status == .usage)
        #expect(result.errors.contains(mention), "\(result.errors)")
        #expect(result.errors.contains("--help"))
        #expect(result.output.isEmpty)
    }

    @Test(
        "what was typed well but leads nowhere: status 2, and no item",
        arguments: [
            (["--after=move:nowhere", "x"], "no directory"), (["--title=T", "x"], "save hook"),
            (["--to=nas", "x"], "no destination “nas”"), (["--token-file=none", "x"], "cannot be read"),
        ])
    func leadingNowhere(words: [String], mention: String) async throws {
        try directory.write([1, 2, 3], to: "x")
        let result = try await run(words)
        #expect(result.status != .done && result.output.isEmpty && result.errors.contains(mention), "\(result.errors)")
        #expect(try await run(["list", "--json"]).output == "[]\n")
    }

    @Test("every line in the journal says how much it matters; nothing else does")
    func journal() async throws {
        try directory.write(TestBytes.make(5000), to: "noise.mov")
        let words = ["noise.mov", "--compress"]
        let kept = try await run(words, isJournal: true)
        #expect(kept.status == .failed)
        let lines = kept.errors.split(separator: "\n")
        #expect(lines.allSatisfy { $0.prefixMatch(of: #/<[3-7]>ingest: /#) != nil }, "\(kept.errors)")
        #expect(lines.contains { $0.hasPrefix("<6>") && $0.contains("is being prepared") })
        #expect(lines.contains { $0.hasPrefix("<3>") && $0.contains("It stays on the list") })
        let wrong = try await run(["--compres", "x"], isJournal: true).errors.split(separator: "\n")
        #expect(wrong.count == 3 && wrong[0].hasPrefix("<3>ingest: ") && wrong[1].hasPrefix("<5>usage: "))
        for variables in [[:], ["JOURNAL_STREAM": "1:2"], ["JOURNAL_STREAM": ""]] {
            #expect(try await run(words, variables).errors.hasPrefix("ingest: "))
        }
        // What may be said again is a warning.
        try directory.write(TestBytes.make(5000), to: "a.bin")
        let later = try await run(["a.bin", "--to", "http://127.0.0.1:9/up", "--patience=0"], isJournal: true)
        #expect(later.errors.contains(#/<4>ingest: a.bin: .*The next try is due/#), "\(later.errors)")
    }

    @Test("a password in a destination is refused and not repeated")
    func passwords() async throws {
        let result = try await run(["x", "--to", "block+http://user:hunter2@h/"])
        #expect(result.status == .usage && !result.errors.contains("hunter2"))
    }

    @Test(
        "only --json, -q, -v and --color may stand before a command",
        arguments: [
            (["--json", "list"], "[]\n"), (["-q", "--json", "list"], "[]\n"),
            (["-qv", "--json", "--color", "never", "list"], "[]\n"),
            (["--color=never", "list", "--json"], "[]\n"),
        ])
    func beforeCommands(words: [String], output: String) async throws {
        #expect(try await run(words).output == output)
    }

    @Test(
        "files that are called like commands are named with ./ or behind --",
        arguments: [["./list"], ["--", "list"], ["--limit-rate=1M", "list"]])
    func commandNames(words: [String]) async throws {
        try directory.write([1, 2, 3], to: "list")
        let result = try await run(["--detach"] + words)
        #expect(result.status == .done && result.output == "1\n")
    }

    @Test("what cannot be uploaded makes no item")
    func noItems() async throws {
        #expect(try await run(["missing.mov"]).status == .failed)
        #expect(try await run(["."]).status == .usage)
        #expect(try await run(["missing.mov", "."]).status == .usage)
        #expect(try await run(["list", "--json", "--all"]).output == "[]\n")
    }

    @Test("detached files are on the list with what they were given; the list tells")
    func detaching() async throws {
        try directory.write(TestBytes.make(3_000_000), to: "a.mov")
        let added = try await run([
            "-d", "a.mov", "--block-size=512KiB", "--limit-rate=2M", "--to", "http://127.0.0.1:9/up",
            "--compress=small",
        ])
        #expect(added.status == .done && added.output == "1\n" && added.errors.contains("must stay"))
        let shown = try await run(["show", "1", "--json"])
        let item = try #require(try JSONSerialization.jsonObject(with: Data(shown.output.utf8)) as? [String: Any])
        #expect(item["state"] as? String == "queued")
        #expect(item["destination"] as? String == "http://127.0.0.1:9/up")
        #expect(item["options"] as? [String] == ["--compress=small", "--block-size=524288", "--limit-rate=2000000"])
        #expect(
            item["totalSize"] as? Int == 3_000_000 && item["totalCount"] as? Int == 6
                && item["uploadedCount"] as? Int == 0)
        #expect(item["progressText"] as? String == "0.00MB/2.86MB" && item["uploadPercent"] as? Int == 0)
        for key in [
            "id", "uuid", "group", "file", "title", "parameters", "flags", "sourceSHA256", "cleanup", "after",
            "created", "updated", "url", "sha256",
            "receipt", "reason", "code", "retryAfter", "stage", "bytes", "total", "rate", "filePath",
        ] { #expect(item.keys.contains(key), "\(key)") }
        let text = try await run(["list"]).output
        #expect(text.contains("a.mov → http://127.0.0.1:9/up") && text.contains("queued"))
        // The same recording and destination again goes on with the same item; another destination is another item.
        #expect(try await run(["-d", "a.mov", "--to", "http://127.0.0.1:9/up"]).output == "1\n")
        #expect(try await run(["-d", "a.mov", "--to", "http://127.0.0.1:9/other"]).output == "2\n")
    }

    @Test("pause, resume, retry, next, cancel, remove, clear on items that nobody works on")
    func controls() async throws {
        for name in ["a", "b", "c"] { try directory.write(Array(name.utf8), to: name) }
        _ = try await run(["-d", "a", "b", "c"])
        func state(_ id: Int) async throws -> String? {
            let items =
                try JSONSerialization.jsonObject(with: Data(try await run(["list", "--all", "--json"]).output.utf8))
                as? [[String: Any]]
            return items?.first { $0["id"] as? Int == id }?["state"] as? String
        }
        #expect(try await run(["pause", "1", "2"]).status == .done)
        #expect(try await state(1) == "paused")
        #expect(try await run(["resume", "1"]).status == .done)
        #expect(try await state(1) == "queued")
        #expect(try await run(["resume", "1"]).status == .failed)
        #expect(try await run(["retry", "1"]).status == .done)
        #expect(try await run(["next", "3"]).status == .done)
        #expect(try await run(["cancel", "3"]).status == .done)
        #expect(try await state(3) == "cancelled")
        #expect(try await run(["retry", "3"]).status == .failed)
        #expect(try await run(["pause", "99"]).status == .usage)
        #expect(try await run(["pause", "1", "99"]).status == .usage)
        #expect(try await state(1) == "paused")
        #expect(try await run(["remove", "3"]).status == .done)
        #expect(try await state(3) == nil)
        #expect(try await run(["resume", "--all"]).status == .done)
        #expect(try await state(2) == "queued")
        #expect(try await run(["clear"]).status == .done)
        #expect(try await run(["list", "--all", "--json"]).output == "[]\n")
    }

    @Test("an empty list says so, and how to see more")
    func emptyList() async throws {
        let result = try await run(["list"])
        #expect(result.status == .done && result.output.isEmpty && result.errors.contains("--all"))
    }

    @Test("nothing steers the terminal that a file name holds")
    func hostileNames() async throws {
        let name = "x\u{1B}[2J\u{9B}31m\n.mov"
        try directory.write([1], to: name)
        _ = try await run(["-d", name])
        for words in [["list"], ["show", "1"], ["cancel", "1"]] {
            let result = try await run(words)
            #expect(
                !(result.output + result.errors).contains("\u{1B}")
                    && !(result.output + result.errors).contains("\u{9B}"), "\(words)")
        }
        // In JSON it is kept, escaped.
        #expect(try await run(["list", "--all", "--json"]).output.contains("\\u001b"))
    }

    @Test("without a home it says what to set")
    func homeless() async throws {
        let result = try await run(["list"], ["HOME": ""])
        #expect(result.status == .failed && result.errors.contains("HOME"))
    }

    @Test("listening beyond this machine wants a token, or --open")
    func openReceivers() async throws {
        let result = try await run(["receive", "--listen", "0.0.0.0:0"])
        #expect(result.status == .usage && result.errors.contains("--open"))
    }

    @Test("a damaged list is set aside by what opens it, and what the cache holds is taken in by clean")
    func damagedList() async throws {
        try FileSystem.makeDirectory(directory.file(".local/state/ingest"))
        try directory.write(Array("not a database, whatever it was before".utf8), to: ".local/state/ingest/list.sqlite")
        try FileSystem.makeDirectory(directory.file(".cache/Video"))
        try directory.write(Array("the last copy".utf8), to: ".cache/Video/5-capture.mov")
        try directory.write(Array("half".utf8), to: ".cache/Video/6-capture.mov.part")
        let dry = try await run(["clean", "--dry-run"])
        #expect(dry.errors.contains("was damaged; it is kept as"))
        #expect(dry.errors.contains("5-capture.mov") && dry.errors.contains("would be"))
        #expect(try directory.files(below: ".cache/Video").contains("6-capture.mov.part"))
        let result = try await run(["clean"])
        #expect(result.status == .done, "\(result.errors)")
        #expect(try directory.files(below: ".cache/Video") == ["5-capture.mov", "CACHEDIR.TAG"])
        let shown = try await run(["show", "1", "--json"]).output
        #expect(shown.contains("\"state\":\"failed\"") && shown.contains("found in the cache"))
        // It may be the last copy: nothing deletes it without being forced.
        for words in [["remove", "1"], ["cancel", "1"], ["clear"]] {
            #expect(try await run(words).status == .failed, "\(words)")
            #expect(try directory.files(below: ".cache/Video").contains("5-capture.mov"))
        }
        #expect(try await run(["clear", "--force"]).status == .done)
        #expect(try directory.files(below: ".cache/Video") == ["CACHEDIR.TAG"])
    }

    @Test(
        "statuses of several files",
        arguments: [
            ([ExitCode.done, .done], ExitCode.done), ([.done, .failed], .partly), ([.failed, .failed], .failed),
            ([.later, .done], .later),
            ([.later, .failed], .failed), ([.usage, .failed, .done], .usage), ([.interrupted, .usage], .interrupted),
            ([], .done), ([.partly, .failed], .partly),
        ])
    func statuses(all: [ExitCode], combined: ExitCode) {
        #expect(ExitCode.combined(all) == combined)
    }

    @Test("probe tells what is in a file")
    func probing() async throws {
        let path = try TestPlace.fixture("two-languages.mov").text
        let result = try await run(["probe", path])
        #expect(result.status == .done && result.output.contains("[fra]") && !result.output.contains("not kept"))
        let json = try await run(["probe", "--json", path])
        #expect((try JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [String: Any])?["streams"] != nil)
        #expect(try await run(["probe", TestPlace.fixture("text.mov").text]).status == .failed)
        #expect(try await run(["probe", "missing"]).status == .failed)
    }

    @Test("what somebody may have meant")
    func guesses() async throws {
        for (words, hint) in [
            (["lsit"], "Did you mean “ingest list”?"), (["recieve"], "Did you mean “ingest receive”?"),
            (["-"], "name a file"), (["fast"], "--compress=fast"),
        ] {
            let result = try await run(words)
            #expect(result.status == .failed && result.errors.contains(hint), "\(words) \(result.errors)")
        }
        // Nothing is begun with another preset than was meant.
        try directory.write([1], to: "x.mov")
        for words in [["x.mov", "--compress", "smal"], ["-c", "fast", "x.mov"]] {
            let result = try await run(words)
            #expect(result.status == .usage && result.errors.contains("a preset is given as"), "\(result.errors)")
        }
        #expect(try await run(["list", "--all", "--json"]).output == "[]\n")
        #expect(try await !run(["capture.mov"]).errors.contains("Did you mean"))
        #expect(try await run(["help"]).output == run(["--help"]).output)
        #expect(try await run(["help", "run"]).output == run(["run", "--help"]).output)
    }

    @Test("what commands on many items did, and what is to be started")
    func sums() async throws {
        for name in ["a", "b", "c"] { try directory.write(Array(name.utf8), to: name) }
        _ = try await run(["-d", "a", "b", "c"])
        #expect(try await run(["retry", "--all"]).errors.contains("there is no item to retry"))
        #expect(try await run(["next", "--all"]).status == .done)
        #expect(try await run(["next", "2"]).errors.contains("start “ingest run”"))
        let paused = try await run(["pause", "3", "--json"])
        #expect(paused.output == "{\"id\":3,\"state\":\"paused\"}\n")
        #expect(try await run(["cancel", "1"]).status == .done)
        let finished = try await run(["next", "1"])
        #expect(finished.status == .failed && finished.errors.contains("it is cancelled"))
        #expect(!finished.errors.contains("ingest run"))
        #expect(try await !run(["list", "--all"]).output.contains("next try"))
        #expect(try await run(["clear", "--finished"]).errors.contains("1 item is removed"))
        #expect(try await run(["clear"]).errors.contains("2 items are removed"))
    }

    @Test(
        "durations",
        arguments: [("90", true), ("1h30m", true), ("0.5h", true), ("5m", true), ("m", false), ("1h-3m", false)])
    func durations(text: String, isOne: Bool) async throws {
        let result = try await run(["--patience", text, "--detach", "missing"])
        #expect((result.status == .usage) == !isOne, "\(text) \(result.errors)")
    }

    @Test("results that cannot be written are told, and the status says so")
    func fullOutput() async throws {
        try directory.write(TestBytes.make(1000), to: "a")
        let full = try FileSystem.open(TestPath.make("/dev/full"), .readingAndWriting)
        let errPath = try directory.file("err")
        let err = try FileSystem.open(errPath, .creating)
        let output = SharedDescriptor(full)
        let errors = SharedDescriptor(err)
        for words in [["a"], ["list", "--all"], ["--help"]] {
            let context = CommandContext(
                environment: Environment(
                    variables: ["HOME": directory.path.text], workingDirectory: directory.path,
                    programDirectory: try TestPath.make(TestPlace.programs)),
                output: OutputStream(output), errors: OutputStream(errors), now: { Date() })
            let status = await IngestProgram.run(words.map { Array($0.utf8) }, context)
            #expect(status == .failed, "\(words)")
        }
        #expect(String(decoding: try errPath.contents(), as: UTF8.self).contains("cannot be written: no space left"))
        // The recording went up all the same.
        let list = try await run(["list", "--all", "--json"])
        #expect(list.output.contains("\"state\":\"done\""))
    }

    @Test("the version is told")
    func version() async throws {
        #expect(try await run(["--version"]).output.hasPrefix("ingest \(IngestProgram.version)\n"))
    }

    // MARK: - Settings

    private func configure(_ text: String, mode: UInt16 = 0o600) throws {
        let path = try directory.write(Array(text.utf8), to: ".config/ingest/config.toml")
        try path.setMode(mode)
    }

    @Test("the default of every option, given as its text, is what holds without it")
    func defaults() async throws {
        let bare = try await run(["config", "show", "--json"])
        #expect(bare.status == .done)
        // What `config show` prints is a configuration that changes nothing.
        let shown = try await run(["config"])
        try configure(shown.output)
        let again = try await run(["config"])
        #expect(again.status == .done, "\(again.errors)")
        let values = { (text: String) in
            text.split(separator: "\n").map {
                $0.split(separator: "  #").first.map { $0.trimmingCharacters(in: .whitespaces) }
            }
        }
        #expect(values(shown.output) == values(again.output))
    }

    @Test("config show names where each value comes from; the strongest wins")
    func origins() async throws {
        try configure(
            """
            to = "nas"
            jobs = 2
            limit-rate = "1M"
            compress = true

            [destination.nas]
            url = "block+https://nas/upload"
            token = "hunter2"
            timetable = ["mon-fri 8:00-18:00 500k", "sun 0:00-24:00 off"]
            """)
        let shown = try await run(["config", "-v"], ["INGEST_JOBS": "3"])
        #expect(shown.status == .done, "\(shown.errors)")
        let lines = shown.output.split(separator: "\n").map(String.init)
        func line(_ beginning: String) -> String { lines.first { $0.hasPrefix(beginning) } ?? "" }
        let file = directory.path.text + "/.config/ingest/config.toml"
        #expect(line("to = \"nas\"").hasSuffix("# \(file):1"))
        #expect(line("jobs = 3").hasSuffix("# environment variable INGEST_JOBS"))
        #expect(line("verbose = true").hasSuffix("# command line"))
        #expect(line("block-size = \"1MiB\"").hasSuffix("# default"))
        #expect(line("# quality").hasSuffix("is not set"))
        #expect(lines.contains("[destination.nas]"))
        #expect(line("timetable = [\"mon-fri 8:00-18:00 500k\", \"sun 0:00-24:00 off\"]") != "")
        #expect(!shown.output.contains("hunter2"))
        #expect(try await !run(["config", "--json"]).output.contains("hunter2"))
        #expect(try await run(["config", "path"]).output == file + "\n")
    }

    @Test(
        "what is wrong in a configuration ends every command with 2, but not its help, its version, and where it lies")
    func brokenConfiguration() async throws {
        try configure("jobs = 0\njbos = 1\n")
        for words in [["list"], ["x"], ["config"], ["run", "--once"]] {
            let result = try await run(words)
            #expect(result.status == .usage)
            #expect(result.errors.contains("config.toml:1:8: “jobs” takes a whole number from 1 to 64, not “0”."))
            #expect(result.errors.contains("config.toml:2:1: unknown key “jbos”; did you mean “jobs”?"))
        }
        for words in [["--help"], ["--version"], ["config", "path"], ["completions", "bash"], ["man"]] {
            #expect(try await run(words).status == .done)
        }
        #expect(try await run(["list", "--config", "none.toml"]).errors.contains("there is no configuration"))
        try directory.write(Array("jobs = 5".utf8), to: "other.toml")
        #expect(try await run(["config", "--config", "other.toml"]).output.contains("jobs = 5"))
        #expect(try await run(["config"], ["INGEST_CONFIG": "other.toml"]).output.contains("jobs = 5"))
    }

    @Test(
        "a configuration that contradicts itself, or would give something away, is refused",
        arguments: [
            ("strip = \"location\"", "byte for byte"), ("compress = true\nremux = true", "exclude each other"),
            ("[destination.x]\nurl = \"http://h/\"\nuser = \"a\"", "go together"),
            ("[destination.x]\nurl = \"http://h/\"\nuser = \"a:hunter2\"", "a name without"),
            ("[destination.x]\nurl = \"http://h/\"\ntoken = \"a\"\ntoken-file = \"b\"", "exclude each other"),
            ("[destination.x]\nurl = \"http://h/\"\ntoken = \"T hunter2\"", "no space"),
            ("[destination.x]\nurl = \"http://h/\"\ndata-key = \"a\\u0000b\"", "a name"),
        ])
    func contradictions(text: String, mention: String) async throws {
        try configure(text)
        try directory.write([1, 2, 3], to: "a.mov")
        let result = try await run(["-d", "a.mov"])
        #expect(result.status == .usage && result.errors.contains(mention), "\(result.errors)")
        #expect(!result.errors.contains("hunter2") && result.output.isEmpty)
    }

    @Test("a token that a file names beside a server goes to no other server")
    func tokensStayHome() async throws {
        for (name, text) in [("t", "secret"), ("h", "hook")] {
            try directory.write(Array(text.utf8), to: ".config/ingest/\(name)").setMode(0o600)
        }
        try configure(
            "to = \"http://127.0.0.1:9/a\"\ntoken-file = \"t\"\nsave = \"http://127.0.0.1:9/h\"\nsave-token-file = \"h\"\n"
        )
        try directory.write([1, 2, 3], to: "a.mov")
        #expect(try await run(["-d", "a.mov"]).status == .done)
        let own = try await run(["show", "1"]).output
        #expect(own.contains("--token-file") && own.contains("--save-token-file"))
        #expect(
            try await run(["-d", "a.mov", "--to", "http://127.0.0.1:9/c", "--save", "http://127.0.0.1:9/d"]).status
                == .done)
        let other = try await run(["show", "2"]).output
        #expect(!other.contains("token-file"), "\(other)")
        // Where the file names no server the token is for whatever is typed.
        try configure("token-file = \"t\"\n")
        #expect(try await run(["-d", "a.mov", "--to", "http://127.0.0.1:9/e"]).status == .done)
        #expect(try await run(["show", "3"]).output.contains("--token-file"))
    }

    @Test("a recording that is reached through a link is not given --after")
    func linkedRecordings() async throws {
        try directory.write([1, 2, 3], to: "a.mov")
        try FileManager.default.createSymbolicLink(
            atPath: directory.path.text + "/l.mov", withDestinationPath: directory.path.text + "/a.mov")
        let result = try await run(["-d", "l.mov", "--after=delete"])
        #expect(result.status == .usage && result.errors.contains("symbolic link"))
        #expect(try await run(["-d", "l.mov"]).status == .done)
    }

    @Test("a file is prepared and named as the configuration says; what is typed stands above it")
    func configuredItems() async throws {
        try configure(
            """
            to = "nas"
            compress = "small"
            codec = "hevc"
            as = "{host}/{name}"
            after = "trash"
            token-file = "~/common.token"

            [destination.nas]
            url = "http://127.0.0.1:9/up"
            block-size = "2MiB"
            token = "t"
            save = "http://127.0.0.1:9/hook"
            """)
        try directory.write([1, 2, 3], to: "a.mov")
        let added = try await run(["-d", "a.mov", "--title", "T", "--param", "camera=A"])
        #expect(added.status == .done, "\(added.errors)")
        let first = try await run(["show", "1"]).output
        for word in [
            "--compress=small", "--codec=hevc", "--as={host}/{name}", "--after=trash", "--block-size=2097152",
            "--save=http://127.0.0.1:9/hook", "--title=T", "--param=camera=A",
        ] { #expect(first.contains(word), "\(word): \(first)") }
        #expect(!first.contains("common.token"), "the destination has a token of its own")
        try directory.write([1, 2, 3], to: "b.mov")
        let typed = try await run([
            "-d", "b.mov", "--no-compress", "--after=keep", "--block-size=1M", "--save=http://x/",
        ])
        #expect(typed.status == .done, "\(typed.errors)")
        let second = try await run(["show", "2"]).output
        #expect(!second.contains("--compress") && !second.contains("--after"))
        #expect(second.contains("--block-size=1000000") && second.contains("--save=http://x/"))
        try directory.write([1, 2, 3], to: "c.mov")
        #expect(try await run(["-d", "c.mov", "--remux"]).status == .done)
        #expect(try await run(["show", "3"]).output.contains("--remux"))
        try configure("to = \"nass\"\n[destination.nas]\nurl = \"http://127.0.0.1:9/up\"\n")
        let checked = try await run(["config"])
        #expect(
            checked.status == .usage && checked.errors.contains("did you mean “nas”?"), "told before anything is sent")
        let unknown = try await run(["-d", "c.mov", "--to", "nass"])
        #expect(unknown.status == .usage && unknown.errors.contains("did you mean “nas”?"))
    }

    // MARK: - Completions and manual

    @Test("ids and destinations for completions, with what they are")
    func completionWords() async throws {
        try configure("[destination.nas]\nurl = \"http://127.0.0.1:9/up\"\n")
        try directory.write([1, 2, 3], to: "a\u{1B}b.mov")
        _ = try await run(["-d", "a\u{1B}b.mov", "--to", "nas"])
        #expect(try await run(["completions", "ids"]).output.hasPrefix("1\ta"))
        #expect(try await !run(["completions", "ids"]).output.contains("\u{1B}"))
        #expect(
            try await run(["completions", "destinations"]).output
                == "builtin\tthe receiver built into the program\nnas\thttp://127.0.0.1:9/up\n")
    }

    @Test("the manual names every option and every key, and roff takes it without a word")
    func manual() async throws {
        let page = try await run(["man"])
        let path = try directory.write(Array(page.output.utf8), to: "ingest.1")
        let read = try await Judge.tool("groff", ["-man", "-Tutf8", "-wall", "-z", path.text])
        #expect(read.status == 0 && read.errors.isEmpty, "\(read.errors)")
        let shown = try await Judge.tool("groff", ["-man", "-Tutf8", "-P-cbou", path.text]).output
        for name in [
            "--compress[=PRESET]", "--limit-rate RATE", "--after WHAT", "data-key", "timetable", "INGEST_TOKEN", "75",
        ] {
            #expect(shown.contains(name), "\(name)")
        }
        #expect(!shown.contains("\\f") && !shown.contains("\\-"))
    }
}
