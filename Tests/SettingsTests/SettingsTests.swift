import IngestModel
import IngestTestSupport
import OptionParsing
import Settings
import SystemIO
import Testing

/// The layers below the command line, by a table of options that is only for this.
@Suite("Settings")
struct SettingsTests {
    private struct Target: Sendable {
        var compress: String?
        var isRemuxing = false
        var jobs = 1
        var rate = ""
        var file = ""
        var after = ""
        var words: [String] = []
        var isForced = false
    }

    private static let options: [OptionSpec<Target>] = [
        .optionalValue("compress", "c", .choice(["fast", "small"]), "PRESET", help: "h") {
            (target, value, isOn) throws(ValueProblem) in
            if let value, value.text == "bad" { throw .expected("fast or small") }
            target.compress = isOn ? value?.text ?? "balanced" : nil
        },
        .flag("remux", help: "h") { $0.isRemuxing = $1 },
        .value("jobs", nil, .number, "N", help: "h") { (target, value) throws(ValueProblem) in
            guard let jobs = Int(value.text) else { throw .expected("a whole number") }
            target.jobs = jobs
        }.standing(at: "1"),
        .value("limit-rate", nil, .quantity, "RATE", help: "h") { $0.rate = $1.text },
        .value("token-file", nil, .file, "FILE", help: "h") { $0.file = $1.text },
        .value("after", nil, .words(["keep"], directoryBehind: "move:"), "WHAT", help: "h") { $0.after = $1.text },
        .value("word", nil, .text, "W", help: "h") { $0.words.append($1.text) }.repeatable,
        .flag("force", help: "h") { $0.isForced = $1 }.onlyTyped,
    ]

    private static let keys: [OptionSpec<DestinationProfile>] = [
        .value("url", nil, .text, "URL", help: "h") { (profile, value) throws(ValueProblem) in
            guard let address = try? DestinationAddress(argument: value.text) else { throw .expected("a URL") }
            profile.address = address
        },
        .value("token", nil, .secret, "T", help: "h") { $0.token = Secret($1.text) },
        .value("limit-rate", nil, .quantity, "RATE", help: "h") { $0.limitRate = ByteCount(argument: $1.text) },
    ]

    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    private func file(_ text: String, _ name: String = "config.toml", mode: UInt16 = 0o644) throws -> ConfigurationFile
    {
        let path = try directory.write(Array(text.utf8), to: name)
        try path.setMode(mode)
        return try #require(try ConfigurationFile.readIfPresent(path))
    }

    private func read(
        _ files: [ConfigurationFile], _ variables: [String: String] = [:]
    ) throws -> SettingsReader<Target>.Result {
        SettingsReader(options: Self.options, destinationKeys: Self.keys, home: try TestPath.make("/home/me")).read(
            into: Target(), files,
            Environment(
                variables: variables, workingDirectory: try TestPath.make("/work"),
                programDirectory: try TestPath.make("/bin")))
    }

    @Test("values of every type arrive as if they had been typed")
    func types() throws {
        let result = try read([
            file(
                """
                compress = "fast"
                remux = true
                jobs = 4
                limit-rate = 500_000
                word = ["a", "b"]
                """)
        ])
        #expect(result.problems == [])
        #expect(result.target.compress == "fast" && result.target.isRemuxing && result.target.jobs == 4)
        #expect(result.target.rate == "500000" && result.target.words == ["a", "b"])
        #expect(try read([file("compress = true")]).target.compress == "balanced")
        #expect(try read([file("compress = false")]).target.compress == nil)
    }

    @Test("later layers win, and each value knows where it comes from")
    func layers() throws {
        let system = try file("jobs = 2\nlimit-rate = \"1M\"\ncompress = true\n", "system.toml")
        let user = try file("\njobs = 3\nlimit-rate = \"2M\"\n", "user.toml")
        let result = try read([system, user], ["INGEST_LIMIT_RATE": "3M", "INGEST_COMPRESS": "no"])
        #expect(result.target.jobs == 3 && result.target.rate == "3M" && result.target.compress == nil)
        let origins = result.settings.mapValues { $0.origin }
        guard case .file(user.path, let place) = origins["jobs"] else { throw TestFailure("\(origins)") }
        #expect(place.line == 2)
        #expect(origins["limit-rate"] == .environment("INGEST_LIMIT_RATE"))
        #expect(origins["remux"] == .standard)
        #expect(result.settings["jobs"]?.texts == ["3"] && result.settings["remux"]?.texts == [])
        #expect(result.settings["force"] == nil)
    }

    @Test(
        "what is wrong is told with file, line, column and a hint",
        arguments: [
            ("jbos = 1", "1:1: unknown key “jbos”; did you mean “jobs”?"),
            ("limit_rate = \"1M\"", "1:1: unknown key “limit_rate”; did you mean “limit-rate”?"),
            ("\n  force = true", "2:3: “force” is for the command line only"),
            (
                "[destination.nas]\nurl = \"http://h/\"\njobs = 2",
                "3:1: “jobs” is no key of a destination; it belongs above"
            ),
            ("token = \"x\"", "1:1: “token” belongs into the table of a destination"),
            ("[nas]\nurl = \"http://h/\"", "1:2: there is no table [nas]; is [destination.nas] meant?"),
            ("jobs = \"4\"", "1:8: “jobs” takes a number without quotes, not a string"),
            ("jobs = 4.5", "1:8: “jobs” takes a whole number, not “4.5”"),
            ("remux = \"yes\"", "1:9: “remux” takes true or false, not a string"),
            ("token-file = 5", "1:14: “token-file” takes a string, not a whole number"),
            ("compress = \"bad\"", "1:12: “compress” takes fast or small, not “bad”"),
            ("word = [\"a\", 5]", "1:14: “word” takes a string, or an array of such, not a whole number"),
            ("jobs = [1]", "1:8: “jobs” takes a number without quotes, not an array"),
            ("jobs = 2026-01-01", "1:8: “jobs” takes a number without quotes, not a date or time"),
            ("destination = \"nas\"", "1:1: “destination” holds tables, such as [destination.nas]"),
            ("[destination.nas]\nlimit-rate = 5", "1:14: [destination.nas] has no “url”"),
            ("[destination.nas]\nurl = \"http://h/\"\nprxy = 1", "3:1: unknown key “prxy”"),
            ("[destination.\"a b\"]\nurl = \"http://h/\"", "1:14: “a b” cannot be the name of a destination"),
            ("[destination.builtin]\nurl = \"http://h/\"", "“builtin” is taken"),
        ])
    func problems(text: String, wanted: String) throws {
        let result = try read([file(text)])
        #expect(result.problems.count == 1)
        #expect(result.problems.first?.contains("config.toml:") == true)
        #expect(result.problems.first?.contains(wanted) == true, "\(result.problems)")
    }

    @Test("everything that is wrong is told at once, in the order of the file")
    func all() throws {
        let result = try read(
            [file("zzz = 1\njobs = true\n[destination.x]\nyyy = 2\n")],
            ["INGEST_REMUX": "perhaps", "INGEST_FORCE": "true"])
        #expect(result.problems.count == 5)
        #expect(result.problems[4] == "INGEST_FORCE: “force” is for the command line only")
        #expect(result.problems[0].contains(":1:1:") && result.problems[1].contains(":2:8:"))
        #expect(result.problems[3].contains("INGEST_REMUX takes true or false"))
    }

    @Test(
        "what is no TOML is told with its place",
        arguments: [
            ("jobs = ", ":1:"), ("a = 1\na = 2", ":2:"), ("\u{0}", ":1:1"), ("[x", ":1:"),
            ("x = " + String(repeating: "[", count: 40), ":1:"),
            (String(repeating: "a.", count: 30_000) + "b = 1", ":1:34"),
            ("# a.b\n[" + String(repeating: "a.", count: 500) + "b]", ":2:35"),
            ("x = { " + String(repeating: "\"a\" . ", count: 200) + "b = 1 }", ":1:"),
        ])
    func noTOML(text: String, wanted: String) throws {
        let path = try directory.write(Array(text.utf8), to: "broken.toml")
        #expect {
            _ = try ConfigurationFile.readIfPresent(path)
        } throws: { error in
            guard let problem = error as? ConfigurationFile.Problem else { return false }
            return problem.sentence.contains("broken.toml\(wanted)") && problem.sentence.contains("not TOML")
        }
    }

    @Test("points in strings, comments and numbers are no parts of a key")
    func points() throws {
        let dots = String(repeating: ".", count: 60)
        let text = "# \(dots)\nlimit-rate = \"\(dots)\"\nword = ['a\(dots)', \"\"\"\n\(dots)\"\"\"]\n"
        #expect(try read([file(text)]).problems == [])
    }

    @Test("bytes that are not UTF-8, a directory, and a file without end are refused in words")
    func noFile() throws {
        let binary = try directory.write([0x61, 0x3D, 0x22, 0xFF, 0xFE, 0x22], to: "binary.toml")
        #expect(throws: ConfigurationFile.Problem.self) { try ConfigurationFile.readIfPresent(binary) }
        #expect(throws: ConfigurationFile.Problem.self) { try ConfigurationFile.readIfPresent(directory.path) }
        let large = try directory.write(Array(repeating: 0x23, count: 1 << 21), to: "large.toml")
        #expect(throws: ConfigurationFile.Problem.self) { try ConfigurationFile.readIfPresent(large) }
        #expect(try ConfigurationFile.readIfPresent(directory.file("missing.toml")) == nil)
    }

    @Test("secrets stand only in private files, and are not shown")
    func secrets() throws {
        let text = "[destination.nas]\nurl = \"http://h/\"\ntoken = \"s3cret\"\n"
        let open = try read([file(text)])
        #expect(open.problems.count == 1 && open.problems[0].contains("chmod 600"))
        #expect(!open.problems[0].contains("s3cret"))
        let closed = try read([file(text, mode: 0o600)])
        #expect(closed.problems == [])
        let destination = try #require(closed.destinations.values.first)
        #expect(destination.profile.token?.text == "s3cret")
        #expect(!"\(destination)".contains("s3cret"))
    }

    @Test("a user's table takes the place of the system's whole: its token goes nowhere else")
    func tables() throws {
        let system = try file(
            "[destination.nas]\nurl = \"http://h/\"\ntoken = \"s\"\n[destination.other]\nurl = \"http://o/\"\n",
            "system.toml", mode: 0o600)
        let user = try file("[destination.nas]\nurl = \"http://evil/\"\n", "user.toml")
        let result = try read([system, user])
        let name = try #require(DestinationName("nas"))
        let nas = try #require(result.destinations[name])
        #expect(nas.profile.address?.text == "http://evil/" && nas.profile.token == nil)
        #expect(result.destinations.count == 2)
    }

    @Test("paths: ~ is the home; others begin where the file lies, or where the environment was given")
    func paths() throws {
        #expect(try read([file("token-file = \"~/t\"")]).target.file == "/home/me/t")
        #expect(try read([file("token-file = \"t\"")]).target.file == directory.path.text + "/t")
        #expect(try read([file("token-file = \"/t\"")]).target.file == "/t")
        #expect(try read([], ["INGEST_TOKEN_FILE": "t"]).target.file == "/work/t")
        #expect(try read([file("after = \"move:~/done\"")]).target.after == "move:/home/me/done")
        #expect(try read([file("after = \"keep\"")]).target.after == "keep")
    }
}
