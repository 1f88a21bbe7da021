package import FoundationEssentials
package import IngestModel
import SQLite

/// What watched folders need of the list: who is known, who waits.
extension UploadList {
    // MARK: - What has been dealt with

    func note(_ outcome: SeenOutcome, of item: Item, now: Date) throws {
        try insertSeen(item.identity, item.recording, item.destination, outcome, item.id, now)
    }

    private func insertSeen(
        _ identity: RecordingIdentity, _ recording: FilePath, _ destination: DestinationAddress, _ outcome: SeenOutcome,
        _ item: ItemID, _ now: Date
    ) throws {
        try connection.run(
            """
            INSERT INTO seen (destination, source_size, source_fingerprint, identity, recording, item, outcome, time)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                .text(destination.text), .integer(Self.sizeColumn(identity)), .text(identity.fingerprint.hex),
                .text(try ItemRow.encoded(identity)), .blob(recording.bytes), .integer(item.value),
                .text(outcome.rawValue), .real(now.timeIntervalSince1970),
            ])
    }

    /// What was never read is looked for by its place, whatever size it has by then.
    private static func sizeColumn(_ identity: RecordingIdentity) -> Int64 {
        identity.isRead ? identity.size.value : -1
    }

    /// Remembers another file with the bytes of one that has been dealt with, so that they need not be read again.
    package func note(_ identity: RecordingIdentity, at recording: FilePath, like known: SeenRecording, now: Date)
        throws
    {
        try transaction(.written) {
            try insertSeen(identity, recording, known.destination, known.outcome, known.item, now)
        }
    }

    private static let seenColumns = "id, destination, recording, identity, item, outcome, time"

    private static func seen(_ row: borrowing Row) throws -> SeenRecording {
        guard let recording = FilePath(bytes: row.blob(2)), let outcome = SeenOutcome(rawValue: row.text(5)) else {
            throw ItemRow.Malformed()
        }
        return SeenRecording(
            number: row.integer(0), destination: try DestinationAddress(argument: row.text(1)), recording: recording,
            identity: try ItemRow.decoded(row.text(3)), item: ItemID(row.integer(4)), outcome: outcome,
            time: Date(timeIntervalSince1970: row.real(6)))
    }

    /// The newest recordings, up to 100, that have been dealt with and may be this one; and those of the same place that
    /// were given up before they were read.
    package func seen(
        like identity: RecordingIdentity, at recording: FilePath, to destination: DestinationAddress
    ) throws -> [SeenRecording] {
        try guarded { try unguardedSeen(like: identity, at: recording, to: destination) }
    }

    private func unguardedSeen(
        like identity: RecordingIdentity, at recording: FilePath, to destination: DestinationAddress
    ) throws -> [SeenRecording] {
        try connection.rows(
            """
            SELECT \(Self.seenColumns) FROM seen
            WHERE destination = ?1 AND source_size = ?2 AND source_fingerprint = ?3
            UNION ALL SELECT \(Self.seenColumns) FROM seen
            WHERE destination = ?1 AND source_size = -1 AND source_fingerprint = ?4 AND recording = ?5
            ORDER BY id DESC LIMIT 100
            """,
            [
                .text(destination.text), .integer(identity.size.value), .text(identity.fingerprint.hex),
                .text(SHA256Digest.none.hex), .blob(recording.bytes),
            ], Self.seen)
    }

    /// Up to `limit` recordings that have been dealt with, with numbers above `after`, in their order.
    package func seen(after number: Int64, limit: Int) throws -> [SeenRecording] {
        try guarded {
            try connection.rows(
                "SELECT \(Self.seenColumns) FROM seen WHERE id > ? ORDER BY id LIMIT ?",
                [.integer(number), .integer(Int64(limit))], Self.seen)
        }
    }

    /// Forgets the recordings of this number, and all others with the same bytes, so that they count as new.
    ///
    /// - Returns: how many entries that were.
    package func forgetSeen(_ number: Int64) throws -> Int {
        try transaction(.synced) {
            try connection.run(
                """
                DELETE FROM seen WHERE (destination, source_size, source_fingerprint) IN
                    (SELECT destination, source_size, source_fingerprint FROM seen WHERE id = ?)
                """,
                [.integer(number)])
            return try countForgetting(connection.changes)
        }
    }

    /// Forgets everything that has been dealt with.
    package func forgetAllSeen() throws -> Int {
        try transaction(.synced) {
            try connection.run("DELETE FROM seen", [])
            return try countForgetting(connection.changes)
        }
    }

    private func countForgetting(_ count: Int) throws -> Int {
        try connection.run("UPDATE forgettings SET count = count + ?", [.integer(Int64(count))])
        return count
    }

    /// Changes whenever something is forgotten.
    package func seenVersion() throws -> Int64 {
        try guarded { try connection.row("SELECT count FROM forgettings") { $0.integer(0) } ?? 0 }
    }

    // MARK: - Items by their place

    /// Unfinished items of the recording at this path, the newest first.
    package func open(at recording: FilePath, to destination: DestinationAddress) throws -> [Item] {
        try guarded { try openItems(at: recording, to: destination) }
    }

    func openItems(at recording: FilePath, to destination: DestinationAddress) throws -> [Item] {
        try connection.rows(
            """
            SELECT \(ItemRow.columns) FROM items
            WHERE recording = ? AND destination = ? AND state NOT IN ('done', 'cancelled') ORDER BY id DESC
            """,
            [.blob(recording.bytes), .text(destination.text)], ItemRow.item)
    }

    // MARK: - Files that are one recording

    /// The newest items, up to 100, of groups with this key.
    package func members(ofGroup key: [UInt8], to destination: DestinationAddress) throws -> [Item] {
        try guarded {
            try connection.rows(
                """
                SELECT \(ItemRow.columns) FROM items
                WHERE group_key = ? AND destination = ? ORDER BY id DESC LIMIT 100
                """,
                [.blob(key), .text(destination.text)], ItemRow.item)
        }
    }

    /// An item of the group that is not done yet, nor given up.
    package func unfinished(inGroup group: UUID, besides id: ItemID) throws -> ItemID? {
        try guarded {
            try connection.row(
                """
                SELECT id FROM items
                WHERE group_uuid = ? AND id <> ? AND state NOT IN ('done', 'cancelled') ORDER BY id LIMIT 1
                """,
                [.text(group.uuidString), .integer(id.value)]
            ) { ItemID($0.integer(0)) }
        }
    }

    // MARK: - Recordings that stay for a while

    /// Up to 64 done items whose recording has stayed long enough, in the order of their times.
    package func heldUntil(_ now: Date) throws -> [Item] {
        try guarded {
            try connection.rows(
                """
                SELECT \(ItemRow.columns) FROM items
                WHERE after_state = 'held' AND retry_at <= ? ORDER BY retry_at LIMIT 64
                """,
                [.real(now.timeIntervalSince1970)], ItemRow.item)
        }
    }

    /// Up to `limit` done items whose recording still stays, with ids above `after`, in their order.
    package func held(to destination: DestinationAddress, after: ItemID, limit: Int) throws -> [Item] {
        try guarded {
            try connection.rows(
                """
                SELECT \(ItemRow.columns) FROM items
                WHERE after_state = 'held' AND destination = ? AND id > ? ORDER BY id LIMIT ?
                """,
                [.text(destination.text), .integer(after.value), .integer(Int64(limit))], ItemRow.item)
        }
    }

    /// Up to `limit` done items whose recording goes when room is needed, those done first first.
    package func heldForRoom(limit: Int) throws -> [Item] {
        try guarded {
            try connection.rows(
                """
                SELECT \(ItemRow.columns) FROM items WHERE after_state = 'held'
                    AND instr(options, '"freesBelow":') > 0 ORDER BY updated LIMIT ?
                """,
                [.integer(Int64(limit))], ItemRow.item)
        }
    }

    // MARK: - New ones

    /// What a recording was held against before it was found to be new.
    package struct Known: Sendable {
        let items: Set<ItemID>
        let newestSeen: Int64?

        package init(items: Set<ItemID>, newestSeen: Int64?) {
            self.items = items
            self.newestSeen = newestSeen
        }
    }

    /// Puts a recording on the list, unless its path has an item that waits, or somebody else has brought one like it meanwhile.
    ///
    /// - Returns: whether it has been put there.
    package func addUnlessKnown(_ new: NewItem, besides known: Known, now: Date) throws -> Bool {
        try transaction(.synced) {
            guard try isAll(known, like: new.identity, at: new.recording, to: new.destination) else { return false }
            let isWaiting = try openItems(at: new.recording, to: new.destination).contains { $0.state == .waiting }
            if isWaiting { return false }
            _ = try insert(new, now: now)
            return true
        }
    }

    /// Writes down that an item's recording is new, unless somebody else has brought one like it meanwhile.
    ///
    /// - Returns: the item; `nil` if that has not been done.
    package func commit(_ transition: Transition, of item: Item, unlessKnownBesides known: Known) throws -> Item? {
        try transaction(.synced) {
            guard let identity = transition.item?.identity,
                try isAll(known, like: identity, at: item.recording, to: item.destination, besides: item.id)
            else { return nil }
            return try store(transition, of: item.id)
        }
    }

    private func isAll(
        _ known: Known, like identity: RecordingIdentity, at recording: FilePath, to destination: DestinationAddress,
        besides own: ItemID? = nil
    ) throws -> Bool {
        let open = try unguardedItems(like: identity, to: destination, done: false)
        let seen = try unguardedSeen(like: identity, at: recording, to: destination)
        return open.allSatisfy { $0.id == own || known.items.contains($0.id) } && seen.first?.number == known.newestSeen
    }

    // MARK: - Waiting

    /// Puts a recording on the list that is not finished yet, unless an unfinished item of it is there.
    ///
    /// - Returns: that item.
    package func addWaiting(_ new: NewItem, now: Date) throws -> Item {
        try transaction(.written) {
            if let there = try openItems(at: new.recording, to: new.destination).first { return there }
            return try insert(new, now: now)
        }
    }

    /// All items that wait.
    package func waiting(to destination: DestinationAddress) throws -> [Item] {
        try guarded {
            try connection.rows(
                """
                SELECT \(ItemRow.columns) FROM items
                WHERE state = 'waiting' AND destination = ? AND state NOT IN ('done', 'cancelled') ORDER BY id
                """,
                [.text(destination.text)], ItemRow.item)
        }
    }

    /// Takes an item off the list that waited for a recording which is gone.
    package func forgetWaiting(_ id: ItemID) throws {
        try transaction(.written) {
            try connection.run("DELETE FROM items WHERE id = ? AND state = 'waiting'", [.integer(id.value)])
        }
    }
}
