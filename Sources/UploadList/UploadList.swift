package import FoundationEssentials
package import IngestModel
import SQLite
package import SystemIO

/// The upload list: every item, every debt, in one SQLite file that several processes share.
///
/// Any process may add items, ask something of them (`wish`) and reorder them. Everything else of an item is written only
/// by the process that holds the item's lock. Each operation is one transaction.
package actor UploadList {
    package nonisolated let path: FilePath
    /// What a person should know about opening it, such as where a damaged list went.
    package nonisolated let notice: String?
    private let lockPath: FilePath
    /// The lock file, to look at; never locked by this descriptor.
    private let lockFile: SharedDescriptor
    let connection: Connection
    private let executor: QueueExecutor
    /// The file that was opened, to know it again.
    private let opened: FileStatus

    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }

    /// The byte of the lock file that guards opening, migrating and setting aside; items use the byte of their id.
    private static let openingByte: Int64 = 0
    /// The byte that guards the debts; no item ever gets this number.
    private static let debtsByte: Int64 = .max - 1
    /// The first of the bytes by which processes show that they look after an item; plus the item's id.
    private static let attendedByte: Int64 = 1 << 62

    /// Opens the list in `directory`, which is made if need be. A file that is no database any more is set aside under a
    /// name that `notice` tells.
    ///
    /// - Throws: `ListError`, or `SystemError` where the directory cannot be made.
    package init(directory: FilePath, now: Date) throws {
        try FileSystem.makeDirectory(directory)
        path = directory.appending("list.sqlite")
        lockPath = directory.appending("list.lock")
        executor = QueueExecutor(label: "upload list")
        var opening = try ByteLock.take(Self.openingByte, in: lockPath)
        for _ in 0..<1000 where opening == nil {
            Pause.briefly()
            opening = try ByteLock.take(Self.openingByte, in: lockPath)
        }
        guard opening != nil else { throw ListError.locked(path) }
        lockFile = SharedDescriptor(try FileSystem.open(lockPath, .readingAndWriting))
        do {
            connection = try Self.open(path)
            notice = nil
        } catch ListError.damaged {
            let aside = try Self.setAside(path, now: now)
            connection = try Self.open(path)
            notice =
                "the upload list \(path.text.printable) was damaged; it is kept as \(aside.text.printable), and a new one "
                + "begins. “ingest clean” takes in what the cache holds"
        }
        opened = try FileSystem.status(of: path)
    }

    private static func open(_ path: FilePath) throws -> Connection {
        do {
            try FileSystem.createIfMissing(path)
            let isNetworked = try FileSystem.open(path.parent, .directory).isOnNetworkFileSystem()
            let connection = try Connection(path: path.bytes, journal: isNetworked ? .rollback : .writeAhead)
            guard try Schema.migrate(connection) else { throw ListError.newer(path) }
            return connection
        } catch let error as SQLiteError {
            throw ListError(error, path: path)
        }
    }

    /// Gives a damaged list, with its log, a name of its own; nothing of it is overwritten.
    package static func setAside(_ path: FilePath, now: Date) throws -> FilePath {
        guard let name = path.name else { return path }
        var ending = ".damaged-\(Int64(now.timeIntervalSince1970))"
        // Twice in one second.
        while try FileSystem.statusIfExists(of: path.parent.appending(name.appending(ending))) != nil { ending += "-2" }
        let aside = path.parent.appending(name.appending(ending))
        for suffix in ["", "-wal", "-shm"] {
            let from = path.parent.appending(name.appending(suffix))
            if try FileSystem.statusIfExists(of: from) == nil { continue }
            try FileSystem.renameWithoutReplacing(from, to: path.parent.appending(name.appending(ending + suffix)))
        }
        try FileSystem.synchroniseDirectory(path.parent)
        return aside
    }

    /// Reads through the whole file (`PRAGMA quick_check`).
    package func isSound() throws -> Bool {
        try guarded { try connection.row("PRAGMA quick_check(1)") { $0.text(0) } == "ok" }
    }

    // MARK: - Locks

    /// The lock that makes this process the only one that works on the item; `nil` if another one does.
    package nonisolated func lock(_ id: ItemID) throws(SystemError) -> ByteLock? {
        try ByteLock.take(id.value, in: lockPath)
    }

    /// The lock that makes this process the only one that pays debts; `nil` if another one does.
    package nonisolated func lockDebts() throws(SystemError) -> ByteLock? {
        try ByteLock.take(Self.debtsByte, in: lockPath)
    }

    /// Shows, as long as the value lives, that this process looks after the items, or with `nil` after all there are and
    /// will be: works on them, or will once they are due.
    package nonisolated func attend(_ ids: Set<ItemID>?) throws(SystemError) -> ByteLock {
        let base = Self.attendedByte
        let ranges = ids.map { $0.map { base + $0.value..<base + $0.value + 1 } } ?? [base..<base + base / 2]
        return try ByteLock.share(ranges, in: lockPath)
    }

    package nonisolated func isAttended(_ id: ItemID) throws(SystemError) -> Bool {
        try ByteLock.isHeld(Self.attendedByte + id.value, in: lockFile)
    }

    package nonisolated func isLocked(_ id: ItemID) throws(SystemError) -> Bool {
        try ByteLock.isHeld(id.value, in: lockFile)
    }

    // MARK: - Adding and finding

    /// The group that a new item belongs to.
    package struct NewGroup: Sendable {
        /// What the paths of its files have in common.
        package let key: [UInt8]
        package let id: UUID
        /// The time stamp that its files share, seconds since 1970; `nil` for the first of them.
        package let seconds: Int64?

        package init(key: [UInt8], id: UUID, seconds: Int64?) {
            self.key = key
            self.id = id
            self.seconds = seconds
        }
    }

    /// What an item is made of.
    package struct NewItem: Sendable {
        package let recording: FilePath
        package let identity: RecordingIdentity
        package let destination: DestinationAddress
        package let options: ItemOptions
        /// Names in the cache that no item of the list may take.
        package let takenNames: Set<FileName>
        /// *queued* or *waiting*.
        package let state: ItemState
        package let group: NewGroup?

        package init(
            recording: FilePath, identity: RecordingIdentity, destination: DestinationAddress, options: ItemOptions,
            takenNames: Set<FileName>, state: ItemState = .queued, group: NewGroup? = nil
        ) {
            self.state = state
            self.group = group
            self.recording = recording
            self.identity = identity
            self.destination = destination
            self.options = options
            self.takenNames = takenNames
        }
    }

    /// Puts an item on the list, unless an unfinished one of the same bytes, path and destination is there by now, and says
    /// which it is. The name of its cached copy is chosen here, once.
    package func addUnlessThere(_ new: NewItem, now: Date) throws -> (item: Item, isNew: Bool) {
        try transaction(.synced) {
            let alike = try unguardedItems(like: new.identity, to: new.destination, done: false)
            if let there = alike.first(where: { $0.recording == new.recording }) { return (there, false) }
            // One that a watched folder waits with is the same recording, whatever it is by now.
            if let waiting = try openItems(at: new.recording, to: new.destination).first(where: { $0.state == .waiting }
            ) {
                return (waiting, false)
            }
            return (try insert(new, now: now), true)
        }
    }

    /// Puts an item on the list. The name of its cached copy is chosen here, once.
    package func add(_ new: NewItem, now: Date) throws -> Item {
        try transaction(.synced) { try insert(new, now: now) }
    }

    func insert(_ new: NewItem, now: Date) throws -> Item {
        guard let original = new.recording.name else {
            throw ListError.unusable(path, "“\(new.recording.text)” names no file")
        }
        let seconds = new.group?.seconds ?? Int64(now.timeIntervalSince1970)
        let name = try freeName(seconds: seconds, original: original, new.options.preparation, new.takenNames)
        var item = Item(
            id: ItemID(0), uuid: UUID(), recording: new.recording, identity: new.identity,
            destination: new.destination, options: new.options, addedSeconds: seconds, cachedName: name, created: now)
        item.state = new.state
        item.group = new.group?.id
        return try insert(item, groupKey: new.group?.key)
    }

    /// Takes a sealed copy that no list knows into the list, as failed.
    package func adopt(
        name: FileName, at path: FilePath, identity: RecordingIdentity, seal: Seal, fault: Fault, now: Date
    ) throws -> Item {
        try transaction(.synced) {
            var item = Item(
                id: ItemID(0), uuid: UUID(), recording: path, identity: identity, destination: .builtIn,
                options: ItemOptions(), addedSeconds: Int64(now.timeIntervalSince1970), cachedName: name, created: now)
            item.state = .failed
            item.seal = seal
            item.fault = fault
            item.marks = [.foundInCache]
            return try insert(item)
        }
    }

    func insert(_ item: Item, groupKey: [UInt8]? = nil) throws -> Item {
        let fixed = ["uuid", "priority", "destination", "added_seconds", "created", "group_uuid", "group_key"]
        let columns = fixed + ItemRow.written
        try connection.run(
            """
            INSERT INTO items (\(columns.joined(separator: ", ")))
            VALUES (\(columns.map { _ in "?" }.joined(separator: ", ")))
            """,
            [
                .text(item.uuid.uuidString), .integer(item.priority), .text(item.destination.text),
                .integer(item.addedSeconds), .real(item.created.timeIntervalSince1970),
                .optional(item.group?.uuidString), .optional(groupKey),
            ] + (try ItemRow.values(item)))
        let id = ItemID(connection.lastInsertedRow)
        guard let stored = try find(id) else { throw ItemRow.Malformed() }
        return stored
    }

    /// A name for the copy that neither the list nor `taken` has. Also used when a copy's container turns out different.
    private func freeName(
        seconds: Int64, original: FileName, _ preparation: Preparation, _ taken: Set<FileName>
    ) throws -> FileName {
        var ordinal = 1
        while true {
            let name = CachedName.make(
                seconds: seconds, original: original, newExtension: preparation.newExtension, ordinal: ordinal)
            if try !isKnown(name), !taken.contains(name), !taken.contains(name.appending(CachedName.partSuffix)) {
                return name
            }
            ordinal += 1
        }
    }

    /// The name itself if no item has it, else the same with an ordinal that neither the list nor `taken` has.
    package func unusedName(like name: FileName, taken: Set<FileName>) throws -> FileName {
        try guarded {
            if try !isKnown(name) { return name }
            for ordinal in 2... {
                let ending = name.fileExtension.isEmpty ? [] : [UInt8(ascii: ".")] + name.fileExtension
                let bytes = name.stem + Array("-\(ordinal)".utf8) + ending
                guard let other = FileName(bytes: bytes) else { break }
                if try !isKnown(other), !taken.contains(other) { return other }
            }
            return name
        }
    }

    private func isKnown(_ name: FileName) throws -> Bool {
        try connection.row("SELECT 1 FROM items WHERE cached_name = ?", [.blob(name.bytes)]) { _ in true } ?? false
    }

    /// Another name for the copy of an item whose container is not what was expected.
    package func freeName(for item: Item, preparation: Preparation, taken: Set<FileName>) throws -> FileName {
        let original = item.recording.name ?? item.cachedName
        return try guarded {
            try freeName(seconds: item.addedSeconds, original: original, preparation, taken)
        }
    }

    package func item(_ id: ItemID) throws -> Item? {
        try guarded { try find(id) }
    }

    func find(_ id: ItemID) throws -> Item? {
        try connection.row(
            "SELECT \(ItemRow.columns) FROM items WHERE id = ?", [.integer(id.value)], ItemRow.item)
    }

    /// Up to `limit` items with ids above `after`, in the order of their ids.
    package func items(after: ItemID, limit: Int, finishedToo: Bool) throws -> [(item: Item, progress: StageProgress?)]
    {
        let condition =
            finishedToo ? "" : "AND (state NOT IN ('done', 'cancelled') OR after_state IN ('pending', 'failed'))"
        return try guarded {
            try connection.rows(
                "SELECT \(ItemRow.columns), progress FROM items WHERE id > ? \(condition) ORDER BY id LIMIT ?",
                [.integer(after.value), .integer(Int64(limit))]
            ) { row in
                (try ItemRow.item(row), try row.optionalText(27).map { try ItemRow.decoded($0) })
            }
        }
    }

    package func progress(of id: ItemID) throws -> StageProgress? {
        try guarded {
            try connection.row("SELECT progress FROM items WHERE id = ?", [.integer(id.value)]) { row in
                try row.optionalText(0).map { try ItemRow.decoded($0) }
            } ?? nil
        }
    }

    /// Up to `limit` items that need work now: runnable, wished something of, or owing a cleanup, and not waiting for
    /// another try; those of `ids` only where some are named, without those of `leaving`. In the order in which they go.
    package func due(
        at now: Date, limit: Int, among ids: Set<ItemID>? = nil, leaving: Set<ItemID> = []
    ) throws -> [Item] {
        let condition = Self.condition(ids, leaving)
        return try guarded {
            try connection.rows(
                """
                SELECT \(ItemRow.columns) FROM items
                WHERE \(Schema.isOpen) \(condition.text)
                    AND (retry_at IS NULL OR retry_at <= ? OR wish IS NOT NULL OR cleanup = 'pending' OR updated > ?)
                ORDER BY priority, id LIMIT ?
                """,
                condition.values + [
                    .real(now.timeIntervalSince1970), .real(now.timeIntervalSince1970 + ItemLife.clockSlack),
                    .integer(Int64(limit)),
                ], ItemRow.item)
        }
    }

    /// The items, up to 1000, that wait for another try, those of `ids` only where some are named.
    package func waiting(at now: Date, among ids: Set<ItemID>? = nil) throws -> [Item] {
        let condition = Self.condition(ids, [])
        return try guarded {
            try connection.rows(
                """
                SELECT \(ItemRow.columns) FROM items
                WHERE \(Schema.isOpen) \(condition.text) AND retry_at > ? ORDER BY priority, id LIMIT 1000
                """,
                condition.values + [.real(now.timeIntervalSince1970)], ItemRow.item)
        }
    }

    /// Whether anything is left to do, now or later, and when the next of those that wait for another try is due.
    package func outlook(
        among ids: Set<ItemID>? = nil, leaving: Set<ItemID> = []
    ) throws -> (isOpen: Bool, nextTry: Date?) {
        let condition = Self.condition(ids, leaving)
        return try guarded {
            try connection.row(
                "SELECT count(*), min(retry_at) FROM items WHERE \(Schema.isOpen) \(condition.text)", condition.values
            ) { row in
                (row.integer(0) > 0, row.optionalReal(1).map { Date(timeIntervalSince1970: $0) })
            } ?? (false, nil)
        }
    }

    /// What confines a query to some items, with its values. The text is the same for all of them: each text is compiled
    /// once and kept.
    private static func condition(_ ids: Set<ItemID>?, _ leaving: Set<ItemID>) -> (text: String, values: [Value]) {
        func list(_ ids: Set<ItemID>) -> Value {
            .text("[" + ids.sorted().map { "\($0)" }.joined(separator: ", ") + "]")
        }
        let among = ids == nil ? "" : "AND id IN (SELECT value FROM json_each(?))"
        let without = leaving.isEmpty ? "" : " AND id NOT IN (SELECT value FROM json_each(?))"
        return (among + without, (ids.map { [list($0)] } ?? []) + (leaving.isEmpty ? [] : [list(leaving)]))
    }

    /// How many items have failed and wait for somebody to do something.
    package func failedCount() throws -> Int64 {
        try guarded {
            try connection.row(
                "SELECT count(*) FROM items WHERE state = 'failed' AND state NOT IN ('done', 'cancelled')"
            ) { $0.integer(0) } ?? 0
        }
    }

    /// How many items are prepared, uploaded, wait for their turn or another try, and have failed.
    package func counts(at now: Date) throws -> ListCounts {
        try guarded {
            var counts = ListCounts()
            let rows = try connection.rows(
                """
                SELECT CASE WHEN state = 'failed' THEN 3 WHEN retry_at > ? OR state IN ('queued', 'ready') THEN 2
                    WHEN state = 'preparing' THEN 0 ELSE 1 END, count(*)
                FROM items WHERE state IN ('queued', 'preparing', 'ready', 'uploading', 'saving', 'failed')
                    AND state NOT IN ('done', 'cancelled') GROUP BY 1
                """, [.real(now.timeIntervalSince1970)]
            ) { (kind: $0.integer(0), count: Int($0.integer(1))) }
            for row in rows {
                switch row.kind {
                case 0: counts.preparing = row.count
                case 1: counts.uploading = row.count
                case 2: counts.waiting = row.count
                default: counts.failed = row.count
                }
            }
            return counts
        }
    }

    /// An unfinished item that still has to make its copy of the recording; `nil` if there is none.
    package func itemNeeding(_ recording: FilePath, besides id: ItemID) throws -> ItemID? {
        try guarded {
            try connection.row(
                """
                SELECT id FROM items WHERE recording = ? AND id <> ? AND seal IS NULL
                    AND state NOT IN ('done', 'cancelled') LIMIT 1
                """,
                [.blob(recording.bytes), .integer(id.value)]
            ) { ItemID($0.integer(0)) }
        }
    }

    /// The newest items, up to 100, of recordings with the same bytes and to the same destination: those that are not
    /// finished, or with `done` those that are.
    package func items(
        like identity: RecordingIdentity, to destination: DestinationAddress, done: Bool = false
    ) throws -> [Item] {
        try guarded { try unguardedItems(like: identity, to: destination, done: done) }
    }

    func unguardedItems(
        like identity: RecordingIdentity, to destination: DestinationAddress, done: Bool
    ) throws -> [Item] {
        try connection.rows(
            """
            SELECT \(ItemRow.columns) FROM items
            WHERE destination = ? AND source_size = ? AND source_fingerprint = ?
                AND state \(done ? "= 'done'" : "NOT IN ('done', 'cancelled')")
            ORDER BY id DESC LIMIT 100
            """,
            [.text(destination.text), .integer(identity.size.value), .text(identity.fingerprint.hex)],
            ItemRow.item)
    }

    /// The names of cached copies, finished or not, that belong to items whose copy is still needed or still to go.
    package func namesInUse() throws -> [FileName: ItemID] {
        try guarded {
            let pairs = try connection.rows(
                "SELECT cached_name, id FROM items WHERE state NOT IN ('done', 'cancelled') OR cleanup = 'pending'"
            ) { (FileName(bytes: $0.blob(0)), ItemID($0.integer(1))) }
            return pairs.reduce(into: [:]) { names, pair in
                if let name = pair.0 { names[name] = pair.1 }
            }
        }
    }

    // MARK: - Asking

    /// Writes down what is asked of the item. A stronger wish is not weakened by a later one.
    package func wish(_ wish: Wish, for id: ItemID) throws {
        try transaction(.synced) {
            try connection.run(
                """
                UPDATE items SET wish = ? WHERE id = ?
                    AND (wish IS NULL OR wish = 'pause' OR ? IN ('remove', 'removeForced'))
                """,
                [.text(wish.rawValue), .integer(id.value), .text(wish.rawValue)])
        }
    }

    package func withdrawWish(_ wish: Wish, for id: ItemID) throws {
        try transaction(.written) {
            try connection.run(
                "UPDATE items SET wish = NULL WHERE id = ? AND wish = ?", [.integer(id.value), .text(wish.rawValue)])
        }
    }

    /// What is asked of the items, for those that work on them.
    package func wishes(among ids: Set<ItemID>) throws -> [ItemID: Wish] {
        try guarded {
            let pairs = try connection.rows("SELECT id, wish FROM items WHERE wish IS NOT NULL") {
                (ItemID($0.integer(0)), Wish(rawValue: $0.text(1)))
            }
            return pairs.reduce(into: [:]) { wishes, pair in
                if ids.contains(pair.0) { wishes[pair.0] = pair.1 }
            }
        }
    }

    /// Puts the item before all others.
    package func putFirst(_ id: ItemID) throws {
        try transaction(.written) {
            try connection.run(
                "UPDATE items SET priority = (SELECT min(priority) FROM items) - 1 WHERE id = ?", [.integer(id.value)])
        }
    }

    // MARK: - Steps, by the holder of the lock

    /// Writes down one step of an item, with the debts that come of it, in one transaction.
    ///
    /// - Returns: the item as it stands now, with wishes that came meanwhile; `nil` once it is forgotten.
    @discardableResult
    package func commit(_ transition: Transition, of id: ItemID) throws -> Item? {
        try transaction(transition.isDurable ? .synced : .written) {
            try store(transition, of: id)
        }
    }

    func store(_ transition: Transition, of id: ItemID) throws -> Item? {
        for debt in transition.debts { try insert(debt, now: transition.item?.updated ?? Date()) }
        if let outcome = transition.seen, let item = try transition.item ?? find(id) {
            try note(outcome, of: item, now: transition.item?.updated ?? Date())
        }
        if transition.wasBrought, let before = try find(id) {
            try note(.brought, of: before, now: transition.item?.updated ?? Date())
        }
        guard let item = transition.item else {
            try connection.run("DELETE FROM items WHERE id = ?", [.integer(id.value)])
            return nil
        }
        try connection.run(
            "UPDATE items SET \(ItemRow.assignments) WHERE id = ?",
            try ItemRow.values(item) + [.integer(id.value)])
        if let wish = transition.fulfilled {
            try connection.run(
                "UPDATE items SET wish = NULL WHERE id = ? AND wish = ?",
                [.integer(id.value), .text(wish.rawValue)])
        }
        if !item.state.isRunnable || item.state == .queued || item.state == .ready {
            try connection.run("UPDATE items SET progress = NULL WHERE id = ?", [.integer(id.value)])
        }
        return try find(id)
    }

    /// Writes down how far the item is, for those who watch from other processes.
    package func note(_ progress: StageProgress, for id: ItemID) throws {
        try transaction(.written) {
            try connection.run(
                "UPDATE items SET progress = ? WHERE id = ?",
                [.text(try ItemRow.encoded(progress)), .integer(id.value)])
        }
    }

    // MARK: - Changes by others

    /// A number that changes when another process has changed the list.
    package func version() throws -> Int64 {
        try guarded { try connection.dataVersion() }
    }

    /// Two numbers of which one changes whenever anybody writes to the list, this process too.
    package func writes() throws -> [Int64] {
        try guarded {
            [try connection.dataVersion(), try connection.row("SELECT total_changes()") { $0.integer(0) } ?? 0]
        }
    }

    /// Changes when anybody writes to the list: what its files look like. Quick, and cheaper than to ask SQLite.
    package nonisolated var stamp: [FileStatus?] {
        [path, path.parent.appending("list.sqlite-wal")].map { try? FileSystem.statusIfExists(of: $0) }
    }

    /// Whether the file is still the one that was opened.
    package nonisolated var isInPlace: Bool {
        guard let there = try? FileSystem.statusIfExists(of: path) else { return false }
        return there.inode == opened.inode && there.device == opened.device
    }

    // MARK: - Errors

    func transaction<Result>(_ durability: Connection.Durability, _ body: () throws -> Result) throws -> Result {
        try guarded { try connection.transaction(durability, body) }
    }

    func guarded<Result>(_ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let error as SQLiteError {
            throw ListError(error, path: path)
        } catch is ItemRow.Malformed {
            throw ListError.damaged(path)
        }
    }
}

/// How the unfinished items stand.
package struct ListCounts: Hashable, Sendable {
    package var preparing = 0
    package var uploading = 0
    /// For their turn, or for another try.
    package var waiting = 0
    package var failed = 0

    package init() {}
}
