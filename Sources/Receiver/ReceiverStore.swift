import Checksums
import FoundationEssentials
import IngestModel
import SQLite
import Synchronization
import SystemIO

/// The directory of a receiver: finished files, and in `.ingest` the database and what is unfinished. Several processes
/// may share it.
///
/// An acknowledged block is in the file and in the database before its answer leaves, so the end of the process loses
/// none. Every 64 MiB both are synced; after a power cut the blocks since then are read again and held against their
/// checksums, and the count goes back to the first one that is not right.
final class ReceiverStore: Sendable {
    let directory: FilePath
    private let internals: FilePath
    private let lockPath: FilePath
    private let connection: Mutex<Connection>
    private let live: LiveReceiverSettings
    private var settings: ReceiverSettings { live.current }
    /// Digests under way, by the upload's id. Only a cache: what is missing is read from the file.
    private let digests = Mutex<[Int64: FollowingDigest]>([:])
    /// Uploads whose blocks behind the last sync have been looked at by this process.
    private let trusted = Mutex<Set<Int64>>([])

    private static let syncInterval: Int64 = 64 << 20

    /// - Throws: `SystemError` or `SQLiteError` where the directory cannot be used.
    init(directory: FilePath, settings: LiveReceiverSettings) throws {
        self.directory = directory
        live = settings
        internals = directory.appending(".ingest")
        lockPath = internals.appending("lock")
        try FileSystem.makeDirectory(internals.appending("parts"))
        let database = internals.appending("receiver.sqlite")
        try FileSystem.createIfMissing(database)
        let isNetworked = try FileSystem.open(internals, .directory).isOnNetworkFileSystem()
        let opened = try Connection(path: database.bytes, journal: isNetworked ? .rollback : .writeAhead)
        try opened.transaction(.synced) {
            if try opened.row("PRAGMA user_version", [], { $0.integer(0) }) == 0 {
                try opened.execute(UploadRecord.schema)
                try opened.execute("PRAGMA user_version = 1")
            }
            try opened.execute(UploadRecord.indexes)
        }
        connection = Mutex(opened)
    }

    func partPath(of token: String) -> FilePath {
        guard let name = FileName(token) else { preconditionFailure("tokens are made of hexadecimal digits") }
        return internals.appending("parts").appending(name)
    }

    // MARK: - Opening

    struct Opening {
        let key: String?
        let plan: BlockPlan
        let fileName: String
        let suffix: String
    }

    /// Opens an upload, or finds the one that was opened under the same key.
    func open(_ opening: Opening, now: Date) throws -> UploadRecord {
        let known = try find(key: opening.key, plan: opening.plan)
        if let known, let whole = try whole(known) {
            try touch(whole, now: now)
            return whole
        }
        if opening.plan.fileSize > settings.largestFile {
            throw Refusal(413, .other, "files of this size are not taken")
        }
        let free = try FileSystem.open(directory, .directory).freeSpace()
        guard free > opening.plan.fileSize else { throw Refusal(507, .space, "the store has no room for this file") }
        let token = Hex.text(Secret.randomBytes(count: 16))
        _ = try FileSystem.open(partPath(of: token), .creating)
        try FileSystem.synchroniseDirectory(internals.appending("parts"))
        return try connection.withLock { connection in
            try connection.transaction(.synced) {
                let count =
                    try connection.row("SELECT count(*) FROM uploads WHERE finished_name IS NULL") { $0.integer(0) }
                    ?? 0
                guard count < settings.mostUploads else {
                    try FileSystem.removeIfExists(partPath(of: token))
                    throw Refusal(503, .other, "too many uploads are open", retryAfter: 60)
                }
                // Takes the place of one whose file is gone.
                if let known {
                    try connection.run("DELETE FROM uploads WHERE id = ?", [.integer(known.id)])
                }
                // Another request may have opened it since we looked.
                if let other = try Self.find(key: opening.key, plan: opening.plan, in: connection) {
                    try FileSystem.removeIfExists(partPath(of: token))
                    return other
                }
                try connection.run(
                    """
                    INSERT INTO uploads (token, idempotency_key, size, block_size, file_name, suffix, touched)
                    VALUES (?, ?, ?, ?, ?, ?, ?)
                    """,
                    [
                        .text(token), .optional(opening.key), .integer(opening.plan.fileSize.value),
                        .integer(opening.plan.blockSize.value), .text(opening.fileName), .text(opening.suffix),
                        .real(now.timeIntervalSince1970),
                    ])
                let id = connection.lastInsertedRow
                guard
                    let record = try connection.row(
                        "SELECT \(UploadRecord.columns) FROM uploads WHERE id = ?", [.integer(id)], UploadRecord.read)
                else { throw UploadRecord.Malformed() }
                return record
            }
        }
    }

    private func find(key: String?, plan: BlockPlan) throws -> UploadRecord? {
        try connection.withLock { try Self.find(key: key, plan: plan, in: $0) }
    }

    private static func find(
        key: String?, plan: BlockPlan, in connection: borrowing Connection
    ) throws -> UploadRecord? {
        guard let key else { return nil }
        return try connection.row(
            """
            SELECT \(UploadRecord.columns) FROM uploads
            WHERE idempotency_key = ? AND size = ? AND block_size = ?
            """,
            [.text(key), .integer(plan.fileSize.value), .integer(plan.blockSize.value)], UploadRecord.read)
    }

    func find(token: String) throws -> UploadRecord? {
        try read(token: token).flatMap { try whole($0) }
    }

    private func read(token: String) throws -> UploadRecord? {
        try connection.withLock { connection in
            try connection.row(
                "SELECT \(UploadRecord.columns) FROM uploads WHERE token = ?", [.text(token)], UploadRecord.read)
        }
    }

    /// The record as its file proves it; `nil` where the file is gone.
    private func whole(_ record: UploadRecord) throws -> UploadRecord? {
        do {
            if try isIntact(record) { return try trustworthy(record) }
        } catch let error as SystemError where error.isNotFound {
        }
        // Another request may have finished it since it was read: the name is stored before the file gets it.
        guard let current = try read(token: record.token), current.finishedName != nil else { return nil }
        return current
    }

    /// Whether the file of an unfinished upload is still there.
    private func isIntact(_ record: UploadRecord) throws -> Bool {
        if record.finishedName != nil { return true }
        return try FileSystem.statusIfExists(of: partPath(of: record.token)) != nil
    }

    private func touch(_ record: UploadRecord, now: Date) throws {
        try connection.withLock { connection in
            try connection.transaction(.written) {
                try connection.run(
                    "UPDATE uploads SET touched = ? WHERE id = ?",
                    [.real(now.timeIntervalSince1970), .integer(record.id)])
            }
        }
    }

    /// Holds the blocks behind the last sync against their checksums, once in the life of this process.
    private func trustworthy(_ record: UploadRecord) throws -> UploadRecord {
        if record.finishedName != nil || record.received == record.synced { return record }
        if trusted.withLock({ $0.contains(record.id) }) { return record }
        var record = record
        let file = try FileSystem.open(partPath(of: record.token), .reading)
        for number in (record.synced + 1)...record.received {
            guard let range = record.plan.range(ofBlock: number), let expected = try crc(of: number, in: record),
                try CRC32.value(of: range, in: file) == expected
            else {
                try goBack(&record, to: number - 1)
                break
            }
        }
        _ = trusted.withLock { $0.insert(record.id) }
        return record
    }

    private func goBack(_ record: inout UploadRecord, to count: Int64) throws {
        record.received = count
        let id = record.id
        try connection.withLock { connection in
            try connection.transaction(.synced) {
                try connection.run(
                    "DELETE FROM blocks WHERE upload = ? AND number > ?", [.integer(id), .integer(count)])
                try connection.run(
                    "UPDATE uploads SET received = ? WHERE id = ?", [.integer(count), .integer(id)])
            }
        }
    }

    // MARK: - Blocks

    func crc(of number: Int64, in record: UploadRecord) throws -> CRC32Value? {
        try connection.withLock { connection in
            try connection.row(
                "SELECT crc FROM blocks WHERE upload = ? AND number = ?", [.integer(record.id), .integer(number)]
            ) { CRC32Value(UInt32(truncatingIfNeeded: $0.integer(0))) }
        }
    }

    /// The lock that makes one request at a time write an upload; `nil` if another request holds it, maybe of another
    /// process.
    func lock(_ record: UploadRecord) throws(SystemError) -> ByteLock? {
        try ByteLock.take(record.id, in: lockPath)
    }

    /// Does the work under the upload's lock, unless somebody holds it, or has changed the upload meanwhile.
    private func ifUnlocked(_ record: UploadRecord, _ work: (UploadRecord) throws -> Void) throws {
        guard let lock = try lock(record) else { return }
        if let current = try read(token: record.token), current == record { try work(record) }
        _ = consume lock
    }

    /// A block is in the file and was right: counts it. `file` is the upload's file, which the block was written to.
    func accept(
        block number: Int64, crc: CRC32Value, of record: UploadRecord, in file: SharedDescriptor, now: Date
    ) throws -> UploadRecord {
        var record = record
        record.received = number
        let unsynced = record.plan.bytes(inFirst: number).value - record.plan.bytes(inFirst: record.synced).value
        let isDue = unsynced >= Self.syncInterval
        if isDue {
            try file.descriptor.synchroniseData()
            record.synced = number
        }
        let counted = record
        try connection.withLock { connection in
            try connection.transaction(isDue ? .synced : .written) {
                try connection.run(
                    "INSERT OR REPLACE INTO blocks (upload, number, crc) VALUES (?, ?, ?)",
                    [.integer(counted.id), .integer(number), .integer(Int64(crc.value))])
                try connection.run(
                    "UPDATE uploads SET received = ?, synced = ?, touched = ? WHERE id = ?",
                    [
                        .integer(counted.received), .integer(counted.synced), .real(now.timeIntervalSince1970),
                        .integer(counted.id),
                    ])
            }
        }
        digest(of: counted).advance(to: counted.plan.bytes(inFirst: number).value)
        return counted
    }

    /// Holds no descriptor while nobody sends: there may be as many unfinished uploads as descriptors.
    private func digest(of record: UploadRecord) -> FollowingDigest {
        digests.withLock { digests in
            if let known = digests[record.id] { return known }
            let path = partPath(of: record.token)
            let fresh = FollowingDigest { SharedDescriptor(try FileSystem.open(path, .reading)) }
            digests[record.id] = fresh
            return fresh
        }
    }

    // MARK: - Finishing

    /// Publishes the file of a complete upload, or finds that it has been. The caller holds the upload's lock.
    func finish(_ record: UploadRecord, in file: SharedDescriptor) throws -> UploadRecord {
        var record = record
        try file.descriptor.synchroniseData()
        let digest = digest(of: record)
        let id = record.id
        defer {
            _ = digests.withLock { $0.removeValue(forKey: id) }
            _ = trusted.withLock { $0.remove(id) }
        }
        record.sha256 = try digest.finish(at: record.plan.fileSize)
        // The name is written down before the file gets it: whoever comes after a crash finds both.
        try name(&record)
        while true {
            do {
                try publish(record)
                return record
            } catch let error as SystemError where error.alreadyExists {
                // Somebody put a file of this name into the store.
                try name(&record)
            }
        }
    }

    /// Completes what a crash left between naming and renaming.
    func publish(_ record: UploadRecord) throws {
        guard let name = record.finishedName else { return }
        let part = partPath(of: record.token)
        guard try FileSystem.statusIfExists(of: part) != nil else { return }
        do {
            try rename(part, to: name)
        } catch {
            // Unless another request was quicker.
            if try !error.isNotFound || FileSystem.statusIfExists(of: part) != nil { throw error }
        }
    }

    private func rename(_ part: FilePath, to name: FileName) throws(SystemError) {
        let file = try FileSystem.open(part, .readingAndWriting)
        try FileSystem.publish(file, from: part, to: directory.appending(name))
    }

    /// Completes every publication that a crash left between naming and renaming.
    func completePublishing() throws {
        let unpublished = try FileSystem.names(in: internals.appending("parts"))
            .compactMap { try find(token: $0.text) }
            .filter { $0.finishedName != nil }
        for record in unpublished { try ifUnlocked(record, publish) }
    }

    private func name(_ record: inout UploadRecord) throws {
        let random = settings.token == nil ? Hex.text(Secret.randomBytes(count: 16)) : ""
        var ordinal = 1
        var name: FileName
        repeat {
            name = StoredName.make(
                fileName: record.fileName, suffix: record.suffix, random: random, ordinal: ordinal)
            ordinal += 1
        } while (try isTaken(name))
        record.finishedName = name
        let named = record
        try connection.withLock { connection in
            try connection.transaction(.synced) {
                try connection.run(
                    "UPDATE uploads SET finished_name = ?, sha256 = ?, received = ?, synced = ? WHERE id = ?",
                    [
                        .blob(name.bytes), .optional(named.sha256?.hex), .integer(named.plan.totalCount),
                        .integer(named.plan.totalCount), .integer(named.id),
                    ])
                try connection.run("INSERT OR IGNORE INTO files (name) VALUES (?)", [.blob(name.bytes)])
            }
        }
    }

    private func isTaken(_ name: FileName) throws -> Bool {
        if try FileSystem.statusIfExists(of: directory.appending(name), following: false) != nil { return true }
        return try connection.withLock { connection in
            try connection.row("SELECT 1 FROM uploads WHERE finished_name = ?", [.blob(name.bytes)]) { _ in true }
                ?? false
        }
    }

    // MARK: - Dropping

    /// Drops an unfinished upload. The caller holds its lock.
    func drop(_ record: UploadRecord) throws {
        digests.withLock { $0.removeValue(forKey: record.id) }?.cancel()
        _ = trusted.withLock { $0.remove(record.id) }
        try connection.withLock { connection in
            try connection.transaction(.synced) {
                try connection.run("DELETE FROM uploads WHERE id = ?", [.integer(record.id)])
            }
        }
        try FileSystem.removeIfExists(partPath(of: record.token))
    }

    /// Takes uploads whose age makes no sense for ones that were just continued: last touched in the future, or before this
    /// program was written, by a machine that did not know the time yet. With `all` every one.
    func forgiveAges(at now: Date, all: Bool) throws {
        try connection.withLock { connection in
            try connection.transaction(.written) {
                try connection.run(
                    "UPDATE uploads SET touched = ?1 WHERE ?2 OR touched > ?1 + 86400 OR touched < ?3",
                    [.real(now.timeIntervalSince1970), .integer(all ? 1 : 0), .real(Self.firstPlausible)])
            }
        }
    }

    /// 2024-01-01, in seconds since 1970.
    private static let firstPlausible = 1_704_067_200.0

    /// Drops what nobody has continued since `limit`, forgets finished uploads as old, and deletes files that belong to
    /// no upload and are as old.
    func expire(before limit: Date) throws {
        let old = try connection.withLock { connection in
            try connection.rows(
                "SELECT \(UploadRecord.columns) FROM uploads WHERE touched < ?",
                [.real(limit.timeIntervalSince1970)], UploadRecord.read)
        }
        for record in old {
            try ifUnlocked(record) { record in
                if record.finishedName != nil { try publish(record) }
                try drop(record)
            }
        }
        let parts = internals.appending("parts")
        for name in try FileSystem.names(in: parts) {
            let path = parts.appending(name)
            guard let status = try FileSystem.statusIfExists(of: path),
                Double(status.modified.seconds) < limit.timeIntervalSince1970, try find(token: name.text) == nil
            else { continue }
            try FileSystem.removeIfExists(path)
        }
    }

    // MARK: - Fetching

    /// Opens a finished file of this name, or `nil` if there is none that was received here.
    func finishedFile(named text: String) throws -> SharedDescriptor? {
        guard let name = FileName(text) else { return nil }
        let isOurs = try connection.withLock { connection in
            try connection.row("SELECT 1 FROM files WHERE name = ?", [.blob(name.bytes)]) { _ in true } ?? false
        }
        guard isOurs else { return nil }
        let path = directory.appending(name)
        guard try FileSystem.statusIfExists(of: path, following: false)?.kind == .regular else { return nil }
        return SharedDescriptor(try FileSystem.open(path, .reading, following: false))
    }

    /// A file of its own for a block that came before the fields that tell where it belongs.
    func spoolFile() throws -> SharedDescriptor {
        let path = partPath(of: "spool-" + Hex.text(Secret.randomBytes(count: 16)))
        let file = try FileSystem.open(path, .creating)
        // Nobody else has to find it: it goes when it is closed.
        try FileSystem.remove(path)
        return SharedDescriptor(file)
    }
}
