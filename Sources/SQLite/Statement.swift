import CSQLite

/// A value as SQLite stores it.
package enum Value: Hashable, Sendable {
    case null
    case integer(Int64)
    case real(Double)
    case text(String)
    case blob([UInt8])

    package static func optional(_ integer: Int64?) -> Value { integer.map { .integer($0) } ?? .null }
    package static func optional(_ real: Double?) -> Value { real.map { .real($0) } ?? .null }
    package static func optional(_ text: String?) -> Value { text.map { .text($0) } ?? .null }
    package static func optional(_ bytes: [UInt8]?) -> Value { bytes.map { .blob($0) } ?? .null }
}

/// A compiled statement.
final class Statement {
    private let handle: OpaquePointer
    private let connection: OpaquePointer
    private let sql: String

    init(_ sql: String, connection: OpaquePointer) throws(SQLiteError) {
        var prepared: OpaquePointer?
        let result = sqlite3_prepare_v3(
            connection, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &prepared, nil)
        guard result == SQLITE_OK, let prepared else {
            throw SQLiteError(of: connection, code: result, statement: sql)
        }
        handle = prepared
        self.connection = connection
        self.sql = sql
    }

    deinit {
        sqlite3_finalize(handle)
    }

    /// Whether rows of it are being read.
    var isBusy: Bool { sqlite3_stmt_busy(handle) != 0 }

    func bind(_ values: [Value]) throws(SQLiteError) {
        guard Int(sqlite3_bind_parameter_count(handle)) == values.count else {
            throw SQLiteError(code: SQLITE_RANGE, message: "wrong number of values", statement: sql)
        }
        for (index, value) in values.enumerated() {
            let position = Int32(index + 1)
            let result =
                switch value {
                case .null: sqlite3_bind_null(handle, position)
                case .integer(let number): sqlite3_bind_int64(handle, position, number)
                case .real(let number): sqlite3_bind_double(handle, position, number)
                case .text(let text): ingest_sqlite_bind_text(handle, position, text, UInt64(text.utf8.count))
                case .blob(let bytes): ingest_sqlite_bind_blob(handle, position, bytes, UInt64(bytes.count))
                }
            if result != SQLITE_OK { throw SQLiteError(of: connection, code: result, statement: sql) }
        }
    }

    /// `true` for a row, `false` at the end.
    func step() throws(SQLiteError) -> Bool {
        switch sqlite3_step(handle) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        case let code: throw SQLiteError(of: connection, code: code, statement: sql)
        }
    }

    func reset() {
        sqlite3_reset(handle)
        sqlite3_clear_bindings(handle)
    }

    fileprivate func isNull(_ column: Int32) -> Bool { sqlite3_column_type(handle, column) == SQLITE_NULL }

    fileprivate func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }

    fileprivate func real(_ column: Int32) -> Double { sqlite3_column_double(handle, column) }

    fileprivate func text(_ column: Int32) -> String {
        guard let bytes = sqlite3_column_text(handle, column) else { return "" }
        let count = Int(sqlite3_column_bytes(handle, column))
        return String(decoding: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self)
    }

    fileprivate func blob(_ column: Int32) -> [UInt8] {
        guard let bytes = sqlite3_column_blob(handle, column) else { return [] }
        return Array(UnsafeRawBufferPointer(start: bytes, count: Int(sqlite3_column_bytes(handle, column))))
    }
}

/// The row a query stands at; columns count from 0. SQLite converts between types as its manual says
/// (https://www.sqlite.org/c3ref/column_blob.html).
package struct Row: ~Copyable {
    private let statement: Statement

    init(statement: Statement) {
        self.statement = statement
    }

    package func integer(_ column: Int32) -> Int64 { statement.integer(column) }
    package func real(_ column: Int32) -> Double { statement.real(column) }
    package func text(_ column: Int32) -> String { statement.text(column) }
    package func blob(_ column: Int32) -> [UInt8] { statement.blob(column) }

    package func optionalInteger(_ column: Int32) -> Int64? { statement.isNull(column) ? nil : integer(column) }
    package func optionalReal(_ column: Int32) -> Double? { statement.isNull(column) ? nil : real(column) }
    package func optionalText(_ column: Int32) -> String? { statement.isNull(column) ? nil : text(column) }
    package func optionalBlob(_ column: Int32) -> [UInt8]? { statement.isNull(column) ? nil : blob(column) }
}
