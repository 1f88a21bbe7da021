import IngestModel
import IngestTestSupport
import Testing

@Suite("Names at the far end")
struct NameTemplateTests {
    private func name(_ template: String, recording: String = "/rec/cam/take.one.MOV") throws -> String {
        try NameTemplate(template).name(
            NameTemplate.Facts(
                recording: try TestPath.make(recording), cachedName: try #require(FileName("1700000000-take.one.mp4")),
                id: ItemID(7), seconds: 1_700_000_000,
                added: WallTime(year: 2023, month: 11, day: 4, hour: 9, minute: 5, second: 3, weekday: 5), host: "rack2"
            ))
    }

    @Test(
        "every field",
        arguments: [
            ("{seconds}-{name}", "1700000000-take.one.mp4"), ("{stem}", "take.one"), ("{ext}", "mp4"),
            ("{date}_{time}", "2023-11-04_09-05-03"), ("{year}/{month}/{day}/{id}.{ext}", "2023/11/04/7.mp4"),
            ("{host}/{dir}/{name}", "rack2/cam/take.one.mp4"),
        ])
    func fields(template: String, wanted: String) throws {
        #expect(try name(template) == wanted)
    }

    @Test("only what is typed makes directories, and nothing climbs out of them")
    func hostileNames() throws {
        #expect(try name("{dir}/{name}", recording: "/x.mov") == "_/x.mp4")
        #expect(try name("{stem}/{id}", recording: "/a/..mov") == "_/7")
        #expect(
            try name("{stem}", recording: "/a/new\nline.mov") == "new line"
                || name("{stem}", recording: "/a/new\nline.mov") == "newline")
        let long = String(repeating: "ä", count: 120)
        #expect(try name("{stem}{stem}", recording: "/a/\(long).mov").utf8.count <= 255)
    }

    @Test(
        "what is no template",
        arguments: ["{nme}", "{name", "name}", "/{name}", "{name}/", "a//b", "../{name}", "a/./{name}", ""])
    func wrong(template: String) {
        #expect(throws: NameTemplate.Problem.self) { try NameTemplate(template) }
    }
}

@Suite("Timetables")
struct TimetableTests {
    private func timetable(_ rules: String...) throws -> Timetable {
        var timetable = Timetable()
        for rule in rules where !timetable.add(rule) { throw TestFailure("no rule: \(rule)") }
        return timetable
    }

    /// A moment, Monday is 0.
    private func at(_ day: Int, _ hour: Int, _ minute: Int = 0) -> Timetable.Moment {
        Timetable.Moment(weekday: day, minute: hour * 60 + minute)
    }

    @Test("the first rule that fits holds; outside of all nothing is limited")
    func rules() throws {
        let table = try timetable("mon-fri 8:00-18:00 500k", "sat,sun 00:00-24:00 2MiB", "7:00-9:00 max")
        #expect(table.limit(at: at(0, 8)) == .rate(ByteCount(500_000)))
        #expect(table.limit(at: at(0, 7, 59)) == .none)
        #expect(table.limit(at: at(4, 17, 59)) == .rate(ByteCount(500_000)))
        #expect(table.limit(at: at(4, 18)) == .none)
        #expect(table.limit(at: at(5, 12)) == .rate(ByteCount(2 << 20)))
        #expect(Timetable().limit(at: at(0, 0)) == .none)
    }

    @Test("a rule past midnight counts to the day on which it begins, also from Sunday to Monday")
    func nights() throws {
        let table = try timetable("sun 22:00-6:00 off")
        #expect(table.limit(at: at(6, 23)) == .closed && table.limit(at: at(0, 5, 59)) == .closed)
        #expect(table.limit(at: at(0, 6)) == .none && table.limit(at: at(6, 5)) == .none)
        #expect(table.minutesUntilOpen(from: at(6, 23)) == 7 * 60)
        #expect(table.minutesUntilOpen(from: at(0, 5, 59)) == 1)
        #expect(table.minutesUntilOpen(from: at(0, 6)) == nil)
    }

    @Test("days may go round the end of the week")
    func roundTheWeek() throws {
        let table = try timetable("fri-mon 10:00-11:00 off")
        for day in [4, 5, 6, 0] { #expect(table.limit(at: at(day, 10)) == .closed) }
        for day in [1, 2, 3] { #expect(table.limit(at: at(day, 10)) == .none) }
    }

    @Test("one that never opens says a week")
    func never() throws {
        #expect(try timetable("0:00-24:00 off").minutesUntilOpen(from: at(2, 3)) == 7 * 24 * 60)
    }

    @Test(
        "what is no rule",
        arguments: [
            "", "8:00-18:00", "8-18 500k", "8:00-8:00 500k", "25:00-26:00 off", "8:60-9:00 off", "moon 8:00-9:00 off",
            "mon- 8:00-9:00 off", "8:00-9:00 3k", "8:00-9:00 fast", "mon 8:00-9:00 500k extra", "24:00-8:00 off",
        ])
    func wrong(rule: String) {
        var table = Timetable()
        #expect(!table.add(rule) && table.rules.isEmpty)
    }
}

@Suite("Names of destinations")
struct DestinationNameTests {
    @Test("what can be one, and what is a URL or the built-in receiver")
    func names() throws {
        for text in ["nas", "a.b-c_1", "1"] {
            let name = try #require(DestinationName(text))
            #expect(name.text == text)
            #expect(try DestinationAddress(argument: text) == .named(name))
            #expect(try DestinationAddress(argument: text).text == text)
        }
        for text in ["builtin", "", "-x", ".x", "a b", "a/b", "ä", "a:b", String(repeating: "a", count: 65)] {
            #expect(DestinationName(text) == nil)
        }
    }
}
