import Foundation
import IngestModel
import IngestTestSupport
import SQLite
import SystemIO
import Testing
import UploadList

/// What watched folders need of the list.
@Suite("The list for watched folders", .timeLimit(.minutes(5)))
struct WatchingListTests {
    private let directory: TemporaryDirectory
    private static let now = Date(timeIntervalSince1970: 1_700_000_000)

    init() throws {
        directory = try TemporaryDirectory()
    }

    private func open() throws -> UploadList { try UploadList(directory: directory.file("state"), now: Self.now) }

    private static func identity(_ print: UInt8 = 1, inode: UInt64 = 2) throws -> RecordingIdentity {
        RecordingIdentity(
            device: 1, inode: inode, size: ByteCount(25), modified: FileTime(seconds: 3, nanoseconds: 4),
            fingerprint: try #require(SHA256Digest(bytes: [UInt8](repeating: print, count: 32))))
    }

    private static func new(
        _ path: String, _ identity: RecordingIdentity, state: ItemState = .queued, _ group: UploadList.NewGroup? = nil
    ) throws -> UploadList.NewItem {
        UploadList.NewItem(
            recording: try TestPath.make(path), identity: identity, destination: .builtIn, options: ItemOptions(),
            takenNames: [], state: state, group: group)
    }

    @Test("what is done is known from then on, also when its entry is gone, until it is forgotten")
    func ledger() async throws {
        let list = try open()
        let identity = try Self.identity()
        let path = try TestPath.make("/r/a.mov")
        let item = try await list.add(Self.new("/r/a.mov", identity), now: Self.now)
        #expect(try await list.seen(like: identity, at: path, to: .builtIn).isEmpty)
        var done = item
        done.receipt = Receipt(url: "u", size: ByteCount(1), sha256: nil, proof: .size)
        try await list.commit(ItemLife.apply(.saved, to: done, at: Self.now), of: item.id)
        try await list.wish(.remove, for: item.id)
        var current = try #require(try await list.item(item.id))
        for event in [ItemLife.Event.wished(.remove), .cleanedUp] {
            guard let next = try await list.commit(ItemLife.apply(event, to: current, at: Self.now), of: item.id) else {
                break
            }
            current = next
        }
        #expect(try await list.item(item.id) == nil)
        let seen = try await list.seen(like: identity, at: path, to: .builtIn)
        #expect(seen.map { $0.outcome } == [.brought] && seen.first?.item == item.id)
        #expect(try await list.seen(like: Self.identity(2), at: path, to: .builtIn).isEmpty)
        let before = try await list.seenVersion()
        try await list.note(Self.identity(inode: 9), at: path, like: try #require(seen.first), now: Self.now)
        #expect(try await list.seenVersion() == before)
        #expect(try await list.forgetSeen(99) == 0)
        #expect(try await list.forgetSeen(1) == 2)
        #expect(try await list.seenVersion() != before)
        #expect(try await list.seen(after: 0, limit: 5).isEmpty)
    }

    @Test("what was given up before it was read is known by its place")
    func unread() async throws {
        let list = try open()
        let unread = RecordingIdentity.unread(
            device: 1, inode: 7, size: ByteCount(3), modified: FileTime(seconds: 1, nanoseconds: 0))
        let item = try await list.addWaiting(Self.new("/r/a.mov", unread, state: .waiting), now: Self.now)
        #expect(item.state == .waiting)
        #expect(try await list.addWaiting(Self.new("/r/a.mov", unread, state: .waiting), now: Self.now).id == item.id)
        #expect(try await list.waiting(to: .builtIn).map { $0.id } == [item.id])
        // Whoever asks for it by hand goes on with the same item.
        #expect(try await list.addUnlessThere(Self.new("/r/a.mov", Self.identity()), now: Self.now).item.id == item.id)
        try await list.wish(.remove, for: item.id)
        try await list.commit(ItemLife.apply(.wished(.remove), to: item, at: Self.now), of: item.id)
        let path = try TestPath.make("/r/a.mov")
        let seen = try await list.seen(like: Self.identity(3, inode: 7), at: path, to: .builtIn)
        #expect(seen.map { $0.outcome } == [.dismissed] && seen.first?.identity.isRead == false)
        #expect(try await list.seen(like: Self.identity(3), at: TestPath.make("/r/b.mov"), to: .builtIn).isEmpty)
    }

    @Test("what waits goes off the list when it is gone, and only that")
    func forgotten() async throws {
        let list = try open()
        let waiting = try await list.addWaiting(Self.new("/r/a.mov", Self.identity(), state: .waiting), now: Self.now)
        let queued = try await list.add(Self.new("/r/b.mov", Self.identity(2)), now: Self.now)
        try await list.forgetWaiting(waiting.id)
        try await list.forgetWaiting(queued.id)
        #expect(try await list.item(waiting.id) == nil)
        #expect(try await list.item(queued.id) != nil)
        #expect(try await list.due(at: Self.now, limit: 5).map { $0.id } == [queued.id])
    }

    @Test("a group has one time stamp, and is unfinished as long as one of its files is")
    func group() async throws {
        let list = try open()
        let id = UUID()
        let first = try await list.add(
            Self.new("/r/a.mov", Self.identity(), UploadList.NewGroup(key: [1, 0, 2], id: id, seconds: nil)),
            now: Self.now)
        let second = try await list.add(
            Self.new(
                "/r/a.srt", Self.identity(2), UploadList.NewGroup(key: [1, 0, 2], id: id, seconds: first.addedSeconds)),
            now: Self.now.addingTimeInterval(50))
        #expect(second.addedSeconds == first.addedSeconds && second.group == id)
        #expect(try await list.members(ofGroup: [1, 0, 2], to: .builtIn).map { $0.id } == [second.id, first.id])
        #expect(try await list.unfinished(inGroup: id, besides: first.id) == second.id)
        try await list.wish(.cancel, for: second.id)
        try await list.commit(ItemLife.apply(.wished(.cancel), to: second, at: Self.now), of: second.id)
        #expect(try await list.unfinished(inGroup: id, besides: first.id) == nil)
    }

    @Test("questions that are asked for every file are answered by indexes")
    func indexes() async throws {
        _ = try open()
        let connection = try Connection(path: directory.file("state/list.sqlite").bytes, journal: .writeAhead)
        let unfinished = "state NOT IN ('done', 'cancelled')"
        for (query, index) in [
            (
                "FROM seen WHERE destination = 'x' AND source_size = 1 AND source_fingerprint = 'f'",
                "seen_by_content (destination=? AND source_size=? AND source_fingerprint=?)"
            ),
            (
                "FROM items WHERE recording = x'00' AND destination = 'x' AND \(unfinished)",
                "items_by_path (recording=?)"
            ),
            (
                "FROM items WHERE group_key = x'00' AND destination = 'x' ORDER BY id DESC LIMIT 100",
                "items_by_group_key (group_key=? AND destination=?)"
            ),
            ("FROM items WHERE group_uuid = 'g' AND id <> 3 AND \(unfinished)", "items_by_group (group_uuid=?)"),
            (
                "FROM items WHERE state = 'waiting' AND destination = 'x' AND \(unfinished)",
                "items_unfinished (state=?)"
            ),
            ("FROM items WHERE after_state = 'held' AND retry_at <= 5 ORDER BY retry_at", "items_held (retry_at<?)"),
            (
                "FROM items WHERE after_state = 'held' AND instr(options, '\"freesBelow\":') > 0 ORDER BY updated",
                "items_held_for_room"
            ),
        ] {
            let plan = try connection.rows("EXPLAIN QUERY PLAN SELECT * \(query)") { $0.text(3) }.joined(
                separator: "; ")
            #expect(plan.contains(index), "\(query): \(plan)")
        }
    }
}
