package import FoundationEssentials
package import IngestModel
import SQLite

/// What outlives the items: what the far side should drop, and the block sizes that servers made us use.
extension UploadList {
    /// A debt with its place in the list.
    package struct OpenDebt: Sendable {
        package let id: Int64
        package let debt: Debt
        package let attempts: Int
        package let created: Date
    }

    func insert(_ debt: Debt, now: Date) throws {
        try connection.run(
            "INSERT INTO debts (destination, token_file, remote, name, created) VALUES (?, ?, ?, ?, ?)",
            [
                .text(debt.destination.text), .optional(debt.tokenFile?.bytes), .text(try ItemRow.encoded(debt.remote)),
                .text(debt.name), .real(now.timeIntervalSince1970),
            ])
    }

    /// Seconds; a debt that is to wait longer was written before the clock was set back.
    private static let longestPostponement = 2.0 * 86_400

    /// The debts, those that wait for another try included only if `dueAt` is `nil`.
    package func debts(dueAt now: Date?) throws -> [OpenDebt] {
        try guarded {
            try connection.rows(
                """
                SELECT id, destination, token_file, remote, name, attempts, created FROM debts
                WHERE ?1 IS NULL OR retry_at IS NULL OR retry_at <= ?1 OR retry_at > ?1 + ?2 ORDER BY id
                """,
                [.optional(now?.timeIntervalSince1970), .real(Self.longestPostponement)]
            ) { row in
                let debt = Debt(
                    destination: try DestinationAddress(argument: row.text(1)),
                    tokenFile: row.optionalBlob(2).flatMap { FilePath(bytes: $0) },
                    remote: try ItemRow.decoded(row.text(3)), name: row.text(4))
                return OpenDebt(
                    id: row.integer(0), debt: debt, attempts: Int(row.integer(5)),
                    created: Date(timeIntervalSince1970: row.real(6)))
            }
        }
    }

    package func settle(_ id: Int64) throws {
        try transaction(.synced) { try connection.run("DELETE FROM debts WHERE id = ?", [.integer(id)]) }
    }

    package func postpone(_ id: Int64, until retryAt: Date, reason: String) throws {
        try transaction(.written) {
            try connection.run(
                "UPDATE debts SET attempts = attempts + 1, retry_at = ?, reason = ? WHERE id = ?",
                [.real(retryAt.timeIntervalSince1970), .text(reason), .integer(id)])
        }
    }

    // MARK: - Block sizes

    /// The block size that this origin made us use not long ago.
    package func blockSize(for origin: ServerURL.Origin, now: Date) throws -> ByteCount? {
        try guarded {
            try connection.row(
                "SELECT size FROM block_sizes WHERE origin = ? AND until > ?",
                [.text(origin.text), .real(now.timeIntervalSince1970)]
            ) { ByteCount(max(1, $0.integer(0))) }
        }
    }

    package func remember(_ size: ByteCount, for origin: ServerURL.Origin, until: Date) throws {
        try transaction(.written) {
            try connection.run(
                "INSERT OR REPLACE INTO block_sizes (origin, size, until) VALUES (?, ?, ?)",
                [.text(origin.text), .integer(size.value), .real(until.timeIntervalSince1970)])
        }
    }
}
