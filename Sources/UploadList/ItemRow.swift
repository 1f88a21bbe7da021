import FoundationEssentials
import IngestModel
import SQLite

/// How an item stands in its row.
enum ItemRow {
    static let columns = """
        id, uuid, group_uuid, priority, state, wish, recording, identity, destination, options, added_seconds, \
        cached_name, seal, remote, receipt, cleanup, fault, attempts, retry_at, marks, losses, media, created, updated, \
        after_state, after_reason, far_name
        """

    static func item(_ row: borrowing Row) throws -> Item {
        guard let uuid = UUID(uuidString: row.text(1)), let state = ItemState(rawValue: row.text(4)),
            let recording = FilePath(bytes: row.blob(6)), let cachedName = FileName(bytes: row.blob(11)),
            let cleanup = Cleanup(rawValue: row.text(15)),
            let after = AfterState(word: row.optionalText(24), reason: row.optionalText(25))
        else { throw Malformed() }
        var item = Item(
            id: ItemID(row.integer(0)), uuid: uuid, recording: recording, identity: try decoded(row.text(7)),
            destination: try DestinationAddress(argument: row.text(8)), options: try decoded(row.text(9)),
            addedSeconds: row.integer(10), cachedName: cachedName,
            created: Date(timeIntervalSince1970: row.real(22)))
        item.group = row.optionalText(2).flatMap { UUID(uuidString: $0) }
        item.priority = row.integer(3)
        item.state = state
        item.wish = row.optionalText(5).flatMap { Wish(rawValue: $0) }
        item.seal = try row.optionalText(12).map { try decoded($0) }
        item.remote = try row.optionalText(13).map { try decoded($0) }
        item.receipt = try row.optionalText(14).map { try decoded($0) }
        item.cleanup = cleanup
        item.after = after
        item.farName = row.optionalText(26)
        item.fault = try row.optionalText(16).map { try decoded($0) }
        item.attempts = Int(row.integer(17))
        item.retryAt = row.optionalReal(18).map { Date(timeIntervalSince1970: $0) }
        item.marks = try decoded(row.text(19))
        item.losses = try decoded(row.text(20))
        item.media = try row.optionalText(21).map { try decoded($0) }
        item.updated = Date(timeIntervalSince1970: row.real(23))
        return item
    }

    /// Everything that the holder of the item's lock writes: not the wish and not the priority, which are others' to
    /// write. In the order of `values`.
    static let written = [
        "state", "recording", "identity", "source_size", "source_fingerprint", "options", "cached_name", "seal",
        "remote", "receipt", "cleanup", "fault", "attempts", "retry_at", "marks", "losses", "media", "updated",
        "after_state", "after_reason", "far_name",
    ]

    static let assignments = written.map { "\($0) = ?" }.joined(separator: ", ")

    static func values(_ item: Item) throws -> [Value] {
        [
            .text(item.state.rawValue), .blob(item.recording.bytes), .text(try encoded(item.identity)),
            .integer(item.identity.size.value), .text(item.identity.fingerprint.hex), .text(try encoded(item.options)),
            .blob(item.cachedName.bytes), .optional(try item.seal.map { try encoded($0) }),
            .optional(try item.remote.map { try encoded($0) }), .optional(try item.receipt.map { try encoded($0) }),
            .text(item.cleanup.rawValue), .optional(try item.fault.map { try encoded($0) }),
            .integer(Int64(item.attempts)), .optional(item.retryAt?.timeIntervalSince1970),
            .text(try encoded(item.marks.sorted { $0.rawValue < $1.rawValue })), .text(try encoded(item.losses)),
            .optional(try item.media.map { try encoded($0) }), .real(item.updated.timeIntervalSince1970),
            .optional(item.after.word), .optional(item.after.reason), .optional(item.farName),
        ]
    }

    static func encoded(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }

    static func decoded<Result: Decodable>(_ text: String) throws -> Result {
        do {
            return try JSONDecoder().decode(Result.self, from: Data(text.utf8))
        } catch {
            throw Malformed()
        }
    }

    /// A row that this program cannot have written.
    struct Malformed: Error {}
}
