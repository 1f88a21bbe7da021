import IngestModel
import IngestTestSupport
import SQLite
import Testing

@Suite("SQLite")
struct ConnectionTests {
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    private func open(_ name: String = "db", patience: Int32 = 100) throws -> Connection {
        try Connection(path: directory.file(name).bytes, journal: .writeAhead, patience: patience)
    }

    @Test("values come back as they went in")
    func values() throws {
        let connection = try open()
        try connection.execute("CREATE TABLE t (a, b, c, d, e)")
        try connection.run(
            "INSERT INTO t VALUES (?, ?, ?, ?, ?)",
            [.integer(.min), .real(1.5), .text("a\u{0}ö"), .blob([0, 255, 0]), .null])
        let row = try connection.row("SELECT * FROM t") {
            ($0.integer(0), $0.real(1), $0.text(2), $0.blob(3), $0.optionalText(4))
        }
        #expect(row?.0 == .min && row?.1 == 1.5 && row?.2 == "a\u{0}ö" && row?.3 == [0, 255, 0] && row?.4 == nil)
        #expect(connection.lastInsertedRow == 1)
    }

    @Test("a transaction that throws leaves nothing; one that returns is seen by others")
    func transactions() throws {
        let connection = try open()
        try connection.execute("CREATE TABLE t (a)")
        struct Stop: Error {}
        #expect(throws: Stop.self) {
            try connection.transaction(.synced) {
                try connection.run("INSERT INTO t VALUES (1)")
                throw Stop()
            }
        }
        let other = try open()
        let before = try other.dataVersion()
        try connection.transaction(.written) { try connection.run("INSERT INTO t VALUES (2)") }
        #expect(try other.rows("SELECT a FROM t") { $0.integer(0) } == [2])
        #expect(try other.dataVersion() != before)
    }

    @Test("synced commits sync, written ones do not have to")
    func durability() throws {
        let connection = try open()
        for (durability, level) in [(Connection.Durability.synced, 2), (.written, 1), (.synced, 2)]
            as [(Connection.Durability, Int64)]
        {
            let found = try connection.transaction(durability) {
                try connection.row("PRAGMA synchronous") { $0.integer(0) }
            }
            #expect(found == level)
        }
    }

    @Test("errors carry code, words and statement; a primary code matches what extends it")
    func errors() throws {
        let connection = try open()
        try connection.execute("CREATE TABLE t (a UNIQUE)")
        try connection.run("INSERT INTO t VALUES (1)")
        #expect {
            try connection.run("INSERT INTO t VALUES (1)")
        } throws: { error in
            guard let error = error as? SQLiteError else { return false }
            return ResultCode.constraint ~= error.code && error.code != .constraint
                && "\(error)".contains("INSERT INTO t")
        }
        let second = try open()
        #expect {
            try connection.transaction(.written) { try second.transaction(.written) {} }
        } throws: { ($0 as? SQLiteError).map { ResultCode.busy ~= $0.code } == true }
        try directory.write(Array("no database at all, but long enough to look like one".utf8), to: "garbage")
        #expect {
            _ = try open("garbage")
        } throws: { ($0 as? SQLiteError)?.code == .notADatabase }
        #expect(throws: SQLiteError.self) { try connection.run("INSERT INTO t VALUES (?)", []) }
    }

    @Test("a query inside the rows of the same query does not disturb it")
    func nesting() throws {
        let connection = try open()
        try connection.execute("CREATE TABLE t (a); INSERT INTO t VALUES (1), (2), (3)")
        var seen: [Int64] = []
        try connection.each("SELECT a FROM t ORDER BY a") { outer in
            try connection.each("SELECT a FROM t ORDER BY a") { seen.append(outer.integer(0) * 10 + $0.integer(0)) }
        }
        #expect(seen == [11, 12, 13, 21, 22, 23, 31, 32, 33])
    }
}
