import CSQLite

/// A connection to one database file. Not thread-safe: whoever owns it uses it from one thread at a time.
package final class Connection {
    /// How the file is made safe against other connections and sudden ends.
    package enum Journal: Sendable {
        /// Write-ahead log: readers and a writer at once; needs shared memory between all users.
        case writeAhead
        /// Rollback journal: for network file systems.
        case rollback
    }

    /// What a committed transaction survives.
    package enum Durability: Sendable {
        /// A power cut: the log is synced before the commit returns.
        case synced
        /// The end of the process, not a power cut.
        case written
    }

    private let handle: OpaquePointer
    private var statements: [String: Statement] = [:]
    private var durability: Durability?
    private let journal: Journal

    /// Opens the file, or makes it.
    ///
    /// - Parameters:
    ///   - path: a path in the file system's bytes.
    ///   - journal: the journal mode; changes the file's mode if it differs.
    ///   - patience: milliseconds to wait for other connections' locks.
    /// - Throws: `SQLiteError`, also for a file that is no database.
    package init(path: [UInt8], journal: Journal, patience: Int32 = 10_000) throws(SQLiteError) {
        var opened: OpaquePointer?
        let terminated = path.map { CChar(bitPattern: $0) } + [0]
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
        let result = sqlite3_open_v2(terminated, &opened, flags, nil)
        guard result == SQLITE_OK, let opened else {
            let error = SQLiteError(of: opened, code: result)
            sqlite3_close_v2(opened)
            throw error
        }
        handle = opened
        self.journal = journal
        sqlite3_busy_timeout(handle, patience)
        switch journal {
        case .writeAhead:
            try execute("PRAGMA journal_mode = WAL")
            // The log and its index stay when the last connection closes: on a full disk they could not be made again.
            var stays: CInt = 1
            sqlite3_file_control(handle, "main", SQLITE_FCNTL_PERSIST_WAL, &stays)
            try execute("PRAGMA journal_size_limit = 1048576")
        case .rollback:
            try execute("PRAGMA journal_mode = DELETE")
        }
        try execute("PRAGMA foreign_keys = ON")
        try execute("PRAGMA trusted_schema = OFF")
    }

    deinit {
        statements.removeAll()
        sqlite3_close_v2(handle)
    }

    /// Runs statements that give no rows and take no values, separated by semicolons.
    package func execute(_ sql: String) throws(SQLiteError) {
        let result = sqlite3_exec(handle, sql, nil, nil, nil)
        if result != SQLITE_OK { throw SQLiteError(of: handle, code: result, statement: sql) }
    }

    /// Runs one statement to its end, ignoring rows.
    package func run(_ sql: String, _ values: [Value] = []) throws(SQLiteError) {
        try each(sql, values) { _ in }
    }

    /// Runs one query and hands over its rows, each valid only during the call.
    package func each(
        _ sql: String, _ values: [Value] = [], _ body: (borrowing Row) throws -> Void
    ) throws {
        let statement = try prepared(sql)
        defer { statement.reset() }
        try statement.bind(values)
        while try statement.step() { try body(Row(statement: statement)) }
    }

    private func each(
        _ sql: String, _ values: [Value], _ body: (borrowing Row) -> Void
    ) throws(SQLiteError) {
        let statement = try prepared(sql)
        defer { statement.reset() }
        try statement.bind(values)
        while try statement.step() { body(Row(statement: statement)) }
    }

    /// The rows of a query, each made into a value.
    package func rows<Result>(
        _ sql: String, _ values: [Value] = [], _ make: (borrowing Row) throws -> Result
    ) throws -> [Result] {
        var results: [Result] = []
        try each(sql, values) { results.append(try make($0)) }
        return results
    }

    /// The first row of a query, made into a value.
    package func row<Result>(
        _ sql: String, _ values: [Value] = [], _ make: (borrowing Row) throws -> Result
    ) throws -> Result? {
        let statement = try prepared(sql)
        defer { statement.reset() }
        try statement.bind(values)
        return try statement.step() ? try make(Row(statement: statement)) : nil
    }

    /// How many rows the last statement changed.
    package var changes: Int { Int(sqlite3_changes64(handle)) }

    package var lastInsertedRow: Int64 { sqlite3_last_insert_rowid(handle) }

    /// A number that changes when another connection has committed something.
    package func dataVersion() throws -> Int64 {
        try row("PRAGMA data_version") { $0.integer(0) } ?? 0
    }

    /// Runs `body` in one transaction that is committed when it returns and rolled back when it throws.
    package func transaction<Result>(
        _ durability: Durability, _ body: () throws -> Result
    ) throws -> Result {
        if self.durability != durability {
            let level =
                switch durability {
                case .synced: journal == .writeAhead ? "FULL" : "EXTRA"
                case .written: "NORMAL"
                }
            try execute("PRAGMA synchronous = \(level)")
            self.durability = durability
        }
        try execute("BEGIN IMMEDIATE")
        do {
            let result = try body()
            try execute("COMMIT")
            return result
        } catch {
            // Where SQLite has rolled back by itself already there is nothing left to undo.
            if sqlite3_get_autocommit(handle) == 0 { try? execute("ROLLBACK") }
            throw error
        }
    }

    private func prepared(_ sql: String) throws(SQLiteError) -> Statement {
        if let known = statements[sql], !known.isBusy { return known }
        let statement = try Statement(sql, connection: handle)
        if statements[sql] == nil { statements[sql] = statement }
        return statement
    }
}
