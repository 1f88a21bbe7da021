import CSQLite

/// A result code of SQLite (https://www.sqlite.org/rescode.html). A pattern of a primary code matches all codes that
/// extend it.
package struct ResultCode: RawRepresentable, Hashable, Sendable {
    package let rawValue: Int32

    package init(rawValue: Int32) {
        self.rawValue = rawValue
    }

    package var primary: ResultCode { ResultCode(rawValue: rawValue & 0xFF) }

    package static let busy = ResultCode(rawValue: SQLITE_BUSY)
    package static let locked = ResultCode(rawValue: SQLITE_LOCKED)
    package static let full = ResultCode(rawValue: SQLITE_FULL)
    package static let corrupt = ResultCode(rawValue: SQLITE_CORRUPT)
    package static let notADatabase = ResultCode(rawValue: SQLITE_NOTADB)
    package static let readOnly = ResultCode(rawValue: SQLITE_READONLY)
    package static let cannotOpen = ResultCode(rawValue: SQLITE_CANTOPEN)
    package static let constraint = ResultCode(rawValue: SQLITE_CONSTRAINT)
    package static let inputOutput = ResultCode(rawValue: SQLITE_IOERR)

    package static func ~= (pattern: ResultCode, code: ResultCode) -> Bool {
        pattern == code || (pattern.primary == pattern && pattern == code.primary)
    }
}

/// What SQLite said no to.
package struct SQLiteError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The extended code.
    package let code: ResultCode
    package let message: String
    package let statement: String?

    package var description: String {
        let place = statement.map { " in “\($0.prefix(120))”" } ?? ""
        return "\(message) (SQLite \(code.rawValue))\(place)"
    }

    init(code: Int32, message: String, statement: String? = nil) {
        self.code = ResultCode(rawValue: code)
        self.message = message
        self.statement = statement
    }

    /// With what the connection says of its last failure.
    init(of connection: OpaquePointer?, code: Int32, statement: String? = nil) {
        if let connection {
            self.init(
                code: sqlite3_extended_errcode(connection), message: String(cString: sqlite3_errmsg(connection)),
                statement: statement)
        } else {
            self.init(code: code, message: String(cString: sqlite3_errstr(code)), statement: statement)
        }
    }
}
