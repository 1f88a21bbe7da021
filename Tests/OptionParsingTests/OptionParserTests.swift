import OptionParsing
import Testing

@Suite("Option parser")
struct OptionParserTests {
    private struct Target: Equatable, Sendable {
        var compress: String?
        var isCompressing = false
        var rate = ""
        var isQuiet = false
        var isRemuxing = false
        var verbosity = 0
    }

    private static let options: [OptionSpec<Target>] = [
        .optionalValue("compress", "c", .text, "PRESET", help: "h") { (target, value, isOn) throws(ValueProblem) in
            if let value, value.text == "bad" { throw .expected("good") }
            target.isCompressing = isOn
            target.compress = value?.text
        },
        .value("limit-rate", "r", .quantity, "RATE", help: "h") { target, value in target.rate = value.text },
        .flag("quiet", "q", help: "h") { $0.isQuiet = $1 },
        .flag("remux", help: "h") { $0.isRemuxing = $1 }.negatable,
        .flag("verbose", "v", help: "h") { target, _ in target.verbosity += 1 },
        .value("secret", nil, .text, "X", help: "h") { (_, _) throws(ValueProblem) in throw .sentence("not like this")
        },
    ]

    private func parse(_ words: [String]) -> OptionParser<Target>.Result {
        OptionParser(Self.options).parse(words.map { Array($0.utf8) }, into: Target())
    }

    private func operands(_ result: OptionParser<Target>.Result) -> [String] {
        result.operands.map { String(decoding: $0, as: UTF8.self) }
    }

    @Test("every spelling, before and behind operands")
    func spellings() {
        for words in [
            ["--limit-rate", "5", "a"], ["--limit-rate=5", "a"], ["-r", "5", "a"], ["-r5", "a"], ["a", "-r", "5"],
            ["a", "--limit-rate=5"],
            ["-qr5", "a"], ["-qr", "5", "a"],
        ] {
            let result = parse(words)
            #expect(result.problems.isEmpty && result.target.rate == "5" && operands(result) == ["a"], "\(words)")
        }
    }

    @Test("an optional value is taken by = only")
    func optionalValues() {
        #expect(parse(["--compress", "fast"]).target.compress == nil)
        #expect(operands(parse(["--compress", "fast"])) == ["fast"])
        #expect(parse(["--compress=fast"]).target.compress == "fast")
        #expect(parse(["-c", "fast"]).target.isCompressing)
        #expect(parse(["--compress="]).target.compress == "")
        // Behind a bundled letter comes another switch, not its value.
        let bundled = parse(["-cq"])
        #expect(bundled.target.isCompressing && bundled.target.isQuiet && bundled.target.compress == nil)
    }

    @Test("the last one wins; switches are taken back where that is meant")
    func lastWins() {
        #expect(parse(["-r1", "--limit-rate=2", "-r", "3"]).target.rate == "3")
        #expect(!parse(["--remux", "--no-remux"]).target.isRemuxing)
        #expect(parse(["--no-remux", "--remux"]).target.isRemuxing)
        #expect(parse(["--no-quiet"]).problems.count == 1)
        #expect(parse(["-vvv"]).target.verbosity == 3)
    }

    @Test("-- ends options; a lone dash and dashes behind it are operands")
    func operandsEnd() {
        #expect(operands(parse(["-q", "--", "-r", "--remux", "--"])) == ["-r", "--remux", "--"])
        #expect(operands(parse(["-"])) == ["-"])
        #expect(operands(parse(["--limit-rate", "--", "x"])) == ["x"])
        #expect(parse(["--limit-rate", "--", "x"]).target.rate == "--")
    }

    @Test("operands keep bytes that are no text")
    func bytes() {
        let odd: [UInt8] = [0x2F, 0xFF, 0xFE]
        #expect(OptionParser(Self.options).parse([odd], into: Target()).operands == [odd])
    }

    @Test("everything that is wrong is told, at once, with the nearest name")
    func problems() {
        let result = parse(["--compres", "--limit-rat=1", "-x", "--quiet=1", "--zzzzzzzz", "--limit-rate"])
        #expect(
            result.problems == [
                "unknown option --compres; did you mean --compress?",
                "unknown option --limit-rat; did you mean --limit-rate?",
                "unknown option -x", "--quiet takes no value", "unknown option --zzzzzzzz",
                "--limit-rate needs a value: --limit-rate RATE",
            ])
    }

    @Test("no abbreviations")
    func abbreviations() {
        #expect(parse(["--comp"]).problems.count == 1)
        #expect(parse(["--limit"]).problems.count == 1)
    }

    @Test("a value that is not taken is shown, unless it may be a secret")
    func values() {
        #expect(parse(["--compress=bad"]).problems == ["--compress takes good, not “bad”"])
        #expect(parse(["--secret=hunter2"]).problems == ["--secret: not like this"])
        #expect(parse(["--unknown=hunter2"]).problems.allSatisfy { !$0.contains("hunter2") })
        #expect(parse(["--\u{1B}[2Jx"]).problems.allSatisfy { !$0.contains("\u{1B}") })
    }

    @Test(
        "distances between words",
        arguments: [("", "", 0), ("a", "", 1), ("kitten", "sitting", 3), ("compres", "compress", 1)])
    func distances(left: String, right: String, distance: Int) {
        #expect(EditDistance.between(left, right) == distance)
        #expect(EditDistance.between(right, left) == distance)
    }

    @Test("help shows how an option is written")
    func synopses() {
        #expect(
            Self.options.map { $0.synopsis } == [
                "-c, --compress[=PRESET]", "-r, --limit-rate RATE", "-q, --quiet", "    --[no-]remux", "-v, --verbose",
                "    --secret X",
            ])
    }
}
