import IngestModel
import SQLite

/// One upload as the receiver's database knows it.
struct UploadRecord: Equatable {
    let id: Int64
    let token: String
    let plan: BlockPlan
    let fileName: String
    let suffix: String
    /// Blocks that are there and were right.
    var received: Int64
    /// Blocks that a power cut cannot take away.
    var synced: Int64
    /// The name of the finished file, once it has one.
    var finishedName: FileName?
    var sha256: SHA256Digest?

    static let columns = """
        id, token, size, block_size, file_name, suffix, received, synced, finished_name, sha256
        """

    static func read(_ row: borrowing Row) throws -> UploadRecord {
        guard
            let plan = BlockPlan(
                fileSize: ByteCount(max(0, row.integer(2))), blockSize: ByteCount(max(0, row.integer(3))))
        else { throw Malformed() }
        return UploadRecord(
            id: row.integer(0), token: row.text(1), plan: plan, fileName: row.text(4), suffix: row.text(5),
            received: row.integer(6), synced: row.integer(7),
            finishedName: row.optionalBlob(8).flatMap { FileName(bytes: $0) },
            sha256: row.optionalText(9).flatMap { SHA256Digest(hex: $0) })
    }

    var isComplete: Bool { received == plan.totalCount }

    struct Malformed: Error {}

    static let schema = """
        CREATE TABLE uploads (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            token TEXT NOT NULL UNIQUE,
            idempotency_key TEXT,
            size INTEGER NOT NULL,
            block_size INTEGER NOT NULL,
            file_name TEXT NOT NULL,
            suffix TEXT NOT NULL,
            received INTEGER NOT NULL DEFAULT 0,
            synced INTEGER NOT NULL DEFAULT 0,
            finished_name BLOB,
            sha256 TEXT,
            touched REAL NOT NULL
        ) STRICT;

        CREATE UNIQUE INDEX uploads_by_key ON uploads (idempotency_key, size, block_size)
            WHERE idempotency_key IS NOT NULL;

        -- The checksum of each block that was accepted, to know a repeated one again.
        CREATE TABLE blocks (
            upload INTEGER NOT NULL REFERENCES uploads (id) ON DELETE CASCADE,
            number INTEGER NOT NULL,
            crc INTEGER NOT NULL,
            PRIMARY KEY (upload, number)
        ) STRICT, WITHOUT ROWID;

        -- What may be fetched; stays when its upload has been forgotten.
        CREATE TABLE files (
            name BLOB PRIMARY KEY
        ) STRICT, WITHOUT ROWID;
        """

    /// Made where they are missing, so that nothing looks through all uploads that there were.
    static let indexes = """
        CREATE INDEX IF NOT EXISTS uploads_by_finished_name ON uploads (finished_name);
        """
}
