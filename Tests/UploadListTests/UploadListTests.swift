import Foundation
import IngestModel
import IngestTestSupport
import SQLite
import SystemIO
import Testing
import UploadList

@Suite("Upload list", .timeLimit(.minutes(5)))
struct UploadListTests {
    private let directory: TemporaryDirectory
    private static let now = Date(timeIntervalSince1970: 1_700_000_000)

    init() throws {
        directory = try TemporaryDirectory()
    }

    private func open() throws -> UploadList { try UploadList(directory: directory.file("state"), now: Self.now) }

    private static func identity(_ print: UInt8 = 1) throws -> RecordingIdentity {
        RecordingIdentity(
            device: 1, inode: 2, size: ByteCount(25), modified: FileTime(seconds: 3, nanoseconds: 4),
            fingerprint: try #require(SHA256Digest(bytes: [UInt8](repeating: print, count: 32))))
    }

    private static func new(
        _ path: String = "/r/capture.mov", to destination: DestinationAddress = .builtIn, print: UInt8 = 1,
        taken: Set<FileName> = [], _ preparation: Preparation = .copy
    ) throws -> UploadList.NewItem {
        UploadList.NewItem(
            recording: try TestPath.make(path), identity: try identity(print), destination: destination,
            options: ItemOptions(preparation: preparation, limitRate: ByteCount(5)), takenNames: taken)
    }

    @Test("how many items do what; the list's number of writes changes with each of them")
    func counts() async throws {
        let list = try open()
        let writes = try await list.writes()
        #expect(try await list.counts(at: Self.now) == ListCounts())
        let first = try await list.add(Self.new(), now: Self.now)
        _ = try await list.add(Self.new("/r/b.mov", print: 2), now: Self.now)
        #expect(try await list.writes() != writes)
        #expect(try await list.writes() == list.writes())
        var counts = ListCounts()
        counts.waiting = 2
        #expect(try await list.counts(at: Self.now) == counts)
        let fault = Fault(.recordingMissing, "gone", retry: .never)
        let transition = ItemLife.apply(.failed(fault, retryAt: nil), to: first, at: Self.now)
        _ = try await list.commit(transition, of: first.id)
        counts.waiting = 1
        counts.failed = 1
        #expect(try await list.counts(at: Self.now) == counts)
    }

    @Test("an item comes back as it was written, through every step")
    func roundTrip() async throws {
        let list = try open()
        var item = try await list.add(Self.new(), now: Self.now)
        #expect(item.id == ItemID(1) && item.state == .queued && item.cachedName.text == "1700000000-capture.mov")
        let seal = Seal(
            id: UUID(), size: ByteCount(20), modified: FileTime(seconds: 9, nanoseconds: 8),
            sha256: SHA256Digest(bytes: [UInt8](repeating: 3, count: 32)), isLink: true)
        let copy = PreparedCopy(
            seal: seal, name: item.cachedName, identity: try Self.identity(2), marks: [.keptOriginal],
            losses: [Loss(what: "w", reason: "r")],
            media: MediaSummary(container: "mp4", duration: 1.5, videoFrames: 3, tracks: []))
        let remote = RemoteState.block(
            BlockLedger(
                seal: seal.id, key: UUID(), token: "T", fileSize: ByteCount(20), blockSize: ByteCount(7),
                acknowledgedCount: 2))
        let receipt = Receipt(url: "u", size: ByteCount(20), sha256: seal.sha256, proof: .digest)
        for event in [
            ItemLife.Event.prepared(copy), .uploadBegan(farName: nil), .remoteChanged(remote, progressed: true),
            .failed(Fault(.busy, "b", retry: .later(after: 2)), retryAt: Self.now.addingTimeInterval(2)),
            .received(receipt), .saved,
        ] {
            let expected = try #require(ItemLife.apply(event, to: item, at: Self.now).item)
            item = try #require(try await list.commit(ItemLife.apply(event, to: item, at: Self.now), of: item.id))
            #expect(item == expected)
        }
        // And by another process.
        #expect(try await open().item(item.id) == item)
    }

    @Test("names of cached copies are chosen once, and never taken twice")
    func names() async throws {
        let list = try open()
        let names = try await [
            list.add(Self.new(), now: Self.now), list.add(Self.new(), now: Self.now),
            list.add(Self.new(taken: [#require(FileName("1700000000-capture-3.mov"))]), now: Self.now),
            list.add(Self.new(taken: [#require(FileName("1700000000-capture-3.mov.part"))]), now: Self.now),
            list.add(Self.new(CompressingName.path, .compress(CompressSettings())), now: Self.now),
        ].map { $0.cachedName.text }
        #expect(
            names == [
                "1700000000-capture.mov", "1700000000-capture-2.mov", "1700000000-capture-4.mov",
                "1700000000-capture-5.mov",
                "1700000000-capture.mp4",
            ])
    }

    private enum CompressingName { static let path = "/r/capture.mov" }

    @Test("two processes that add at once take different names and ids")
    func racingAdds() async throws {
        let lists = try (0..<4).map { _ in try open() }
        let items = try await withThrowingTaskGroup(of: Item.self) { group in
            for number in 0..<40 { group.addTask { try await lists[number % 4].add(Self.new(), now: Self.now) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(Set(items.map { $0.id }).count == 40)
        #expect(Set(items.map { $0.cachedName }).count == 40)
    }

    @Test("ids are never used twice, even of entries that are forgotten")
    func idsAreNotReused() async throws {
        let list = try open()
        let first = try await list.add(Self.new(), now: Self.now)
        var doomed = first
        doomed.wish = .remove
        try await list.commit(ItemLife.apply(.wished(.remove), to: doomed, at: Self.now), of: first.id)
        try await list.commit(
            ItemLife.apply(
                .cleanedUp, to: #require(try await list.item(first.id)).wished(.remove), at: Self.now), of: first.id)
        #expect(try await list.item(first.id) == nil)
        #expect(try await list.add(Self.new(), now: Self.now).id == ItemID(2))
    }

    @Test("recordings whose names are not UTF-8 keep their bytes")
    func oddNames() async throws {
        let list = try open()
        let path = try #require(FilePath(bytes: Array("/r/".utf8) + [0xFF, 10, 34] + Array(".mov".utf8)))
        let new = UploadList.NewItem(
            recording: path, identity: try Self.identity(), destination: .builtIn, options: ItemOptions(),
            takenNames: [])
        let item = try await list.add(new, now: Self.now)
        #expect(try await list.item(item.id)?.recording == path)
        #expect(item.cachedName.bytes == Array("1700000000-".utf8) + [0xFF, 10, 34] + Array(".mov".utf8))
    }

    @Test("the unfinished item of the same recording and destination is found; others are not")
    func unfinished() async throws {
        let list = try open()
        let other = try DestinationAddress(argument: "http://h/x")
        let item = try await list.add(Self.new(), now: Self.now)
        #expect(try await list.items(like: Self.identity(), to: .builtIn).first?.id == item.id)
        #expect(try await list.items(like: Self.identity(), to: other).first == nil)
        #expect(try await list.items(like: Self.identity(9), to: .builtIn).first == nil)
        try await list.commit(ItemLife.apply(.wished(.cancel), to: item, at: Self.now), of: item.id)
        #expect(try await list.items(like: Self.identity(), to: .builtIn).first == nil)
    }

    @Test("two processes that bring the same recording at the same time make one item")
    func sameRecording() async throws {
        let (one, two) = (try open(), try open())
        let first = try await one.addUnlessThere(Self.new(), now: Self.now)
        let second = try await two.addUnlessThere(Self.new(), now: Self.now)
        #expect(first.isNew && !second.isNew && first.item.id == second.item.id)
        try await one.commit(ItemLife.apply(.wished(.cancel), to: first.item, at: Self.now), of: first.item.id)
        #expect(try await two.addUnlessThere(Self.new(), now: Self.now).isNew)
    }

    @Test("a list that is damaged twice in a second is set aside twice")
    func setAsideTwice() async throws {
        let path = try open().path
        let first = try UploadList.setAside(path, now: Self.now)
        _ = try open()
        let second = try UploadList.setAside(path, now: Self.now)
        #expect(first != second && FileManager.default.fileExists(atPath: first.text))
        #expect(FileManager.default.fileExists(atPath: second.text))
    }

    @Test("wishes are anybody's to write, and survive what the holder of the lock writes")
    func wishes() async throws {
        let list = try open()
        let item = try await list.add(Self.new(), now: Self.now)
        try await open().wish(.pause, for: item.id)
        // The holder has not seen it yet and writes another step.
        let stored = try #require(
            try await list.commit(ItemLife.apply(.uploadBegan(farName: nil), to: item, at: Self.now), of: item.id))
        #expect(stored.wish == .pause)
        #expect(try await list.wishes(among: [item.id]) == [item.id: .pause])
        // A stronger wish takes the place of a weaker one, not the other way round.
        try await list.wish(.cancel, for: item.id)
        try await list.wish(.pause, for: item.id)
        #expect(try await list.item(item.id)?.wish == .cancel)
        try await list.wish(.remove, for: item.id)
        #expect(try await list.item(item.id)?.wish == .remove)
        let cancelled = ItemLife.apply(.wished(.pause), to: try #require(try await list.item(item.id)), at: Self.now)
        #expect(
            try await list.commit(cancelled, of: item.id)?.wish == .remove,
            "only the wish that was fulfilled is taken back")
    }

    @Test("what is due comes in order, without what waits, what is left out and what is finished")
    func due() async throws {
        let list = try open()
        var items: [Item] = []
        for _ in 0..<5 { items.append(try await list.add(Self.new(), now: Self.now)) }
        try await list.putFirst(items[3].id)
        let later = Self.now.addingTimeInterval(60)
        let fault = Fault(.busy, "b", retry: .later(after: nil))
        try await list.commit(
            ItemLife.apply(.failed(fault, retryAt: later), to: items[1], at: Self.now), of: items[1].id)
        try await list.commit(
            ItemLife.apply(.cleanedUp, to: #require(try await list.item(items[1].id)), at: Self.now), of: items[1].id)
        try await list.commit(ItemLife.apply(.wished(.pause), to: items[2], at: Self.now), of: items[2].id)
        try await list.commit(
            ItemLife.apply(.cleanedUp, to: #require(try await list.item(items[2].id)), at: Self.now), of: items[2].id)
        #expect(try await list.due(at: Self.now, limit: 10).map { $0.id.value } == [4, 1, 5])
        #expect(try await list.due(at: later, limit: 10).map { $0.id.value } == [4, 1, 2, 5])
        #expect(
            try await list.due(at: later, limit: 10, among: [items[0].id, items[1].id], leaving: [items[0].id]).map {
                $0.id.value
            } == [2])
        let outlook = try await list.outlook(among: [items[1].id])
        #expect(outlook.isOpen && outlook.nextTry == later)
        #expect(try await !list.outlook(among: [items[2].id]).isOpen)
        // A wish makes even a paused item due.
        try await list.wish(.cancel, for: items[2].id)
        #expect(try await list.due(at: Self.now, limit: 10).map { $0.id.value } == [4, 1, 3, 5])
    }

    @Test("debts outlive their item, wait, and are settled once")
    func debts() async throws {
        let list = try open()
        let item = try await list.add(Self.new(to: DestinationAddress(argument: "http://h/x")), now: Self.now)
        let remote = RemoteState.block(
            BlockLedger(seal: UUID(), key: UUID(), token: "T", fileSize: ByteCount(20), blockSize: ByteCount(7)))
        let begun = try #require(
            try await list.commit(
                ItemLife.apply(.remoteChanged(remote, progressed: false), to: item, at: Self.now), of: item.id))
        var doomed = begun
        doomed.wish = .remove
        let cancelled = try #require(
            try await list.commit(ItemLife.apply(.wished(.remove), to: doomed, at: Self.now), of: item.id))
        try await list.commit(ItemLife.apply(.cleanedUp, to: cancelled.wished(.remove), at: Self.now), of: item.id)
        #expect(try await list.item(item.id) == nil)
        let debt = try #require(try await open().debts(dueAt: Self.now).first)
        #expect(
            debt.debt.remote == remote && debt.debt.destination.text == "http://h/x" && debt.debt.name == "capture.mov")
        try await list.postpone(debt.id, until: Self.now.addingTimeInterval(5), reason: "away")
        #expect(try await list.debts(dueAt: Self.now).isEmpty)
        #expect(try await list.debts(dueAt: nil).map { $0.attempts } == [1])
        #expect(try await list.debts(dueAt: Self.now.addingTimeInterval(5)).count == 1)
        try await list.settle(debt.id)
        #expect(try await list.debts(dueAt: nil).isEmpty)
    }

    @Test("block sizes are remembered for an origin, until they expire")
    func blockSizes() async throws {
        let list = try open()
        let origin = try ServerURL("https://h/x").origin
        try await list.remember(.kibibytes(512), for: origin, until: Self.now.addingTimeInterval(10))
        #expect(
            try await list.blockSize(for: ServerURL("https://H:443/other").origin, now: Self.now) == .kibibytes(512))
        #expect(try await list.blockSize(for: ServerURL("http://h/x").origin, now: Self.now) == nil)
        #expect(try await list.blockSize(for: origin, now: Self.now.addingTimeInterval(11)) == nil)
    }

    @Test("the file is private, and so is the directory")
    func permissions() throws {
        _ = try open()
        #expect(try FileSystem.status(of: directory.file("state/list.sqlite")).permissions == 0o600)
        #expect(try FileSystem.status(of: directory.file("state")).permissions == 0o700)
    }

    @Test("opening the list again does not take the locks of those who use it")
    func locksSurvive() async throws {
        let list = try open()
        _ = try await list.add(Self.new(), now: Self.now)
        // Another process opens and closes it; the write-ahead log must stay.
        let home = directory.path.text
        let outcome = try await RunningProgram(
            TestPlace.programs + "/ingest", ["list"], environment: ["HOME": home, "XDG_STATE_HOME": home + "/other"]
        ).wait()
        #expect(outcome.status == 0)
        _ = try open()
        let script =
            "import sqlite3,sys; c=sqlite3.connect(sys.argv[1]); print(c.execute('select count(*) from items').fetchone()[0]); c.close()"
        let python = try await RunningProgram(
            "/usr/bin/env", ["python3", "-c", script, home + "/state/list.sqlite"],
            environment: ["PATH": ProcessInfo.processInfo.environment["PATH"] ?? ""]
        ).wait()
        #expect(python.output == "1\n")
        #expect(
            FileManager.default.fileExists(atPath: home + "/state/list.sqlite-wal"), "closing elsewhere deleted the log"
        )
        _ = try await list.add(Self.new(), now: Self.now)
        #expect(try await open().items(after: ItemID(0), limit: 10, finishedToo: true).count == 2)
    }

    @Test("a list of a newer version is refused and left alone")
    func newer() async throws {
        _ = try open()
        let path = try directory.file("state/list.sqlite")
        try Connection(path: path.bytes, journal: .writeAhead).execute("PRAGMA user_version = 999")
        #expect(throws: ListError.newer(path)) { _ = try open() }
        let version = try Connection(path: path.bytes, journal: .writeAhead).row("PRAGMA user_version") {
            $0.integer(0)
        }
        #expect(version == 999)
    }

    @Test("a damaged list is set aside under a name that is told, and never overwritten")
    func damaged() async throws {
        let garbage = Array("this was an upload list once, now it is not any more".utf8)
        try FileSystem.makeDirectory(directory.file("state"))
        try directory.write(garbage, to: "state/list.sqlite")
        let list = try open()
        #expect(list.notice?.contains("list.sqlite.damaged-1700000000") == true)
        #expect(try directory.file("state/list.sqlite.damaged-1700000000").contents() == garbage)
        #expect(try await list.add(Self.new(), now: Self.now).id == ItemID(1))
    }

    @Test("damage inside the file is found by looking through it")
    func soundness() async throws {
        do {
            let list = try open()
            for _ in 0..<200 { _ = try await list.add(Self.new(), now: Self.now) }
            #expect(try await list.isSound())
        }
        let path = try directory.file("state/list.sqlite")
        var bytes = try path.contents()
        for index in stride(from: 8192, to: bytes.count, by: 3) { bytes[index] ^= 0x5A }
        try Data(bytes).write(to: URL(fileURLWithPath: path.text))
        let list = try open()
        let isSound = (try? await list.isSound()) ?? false
        #expect(!isSound)
    }

    @Test("a migration is done once, whoever comes first")
    func migrating() async throws {
        let lists = try await withThrowingTaskGroup(of: UploadList.self) { group in
            for _ in 0..<6 { group.addTask { try open() } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(lists.count == 6)
        for list in lists { _ = try await list.add(Self.new(), now: Self.now) }
        #expect(try await lists[0].items(after: ItemID(0), limit: 100, finishedToo: true).count == 6)
    }

    @Test("what has been dealt with is found by its bytes, what was never read by its place; forgetting is noticed")
    func seen() async throws {
        let list = try open()
        let one = try #require(FilePath("/r/one.mov"))
        let other = try #require(FilePath("/r/other.mov"))
        let read = try Self.identity()
        let unread = RecordingIdentity.unread(
            device: 1, inode: 77, size: ByteCount(3), modified: FileTime(seconds: 5, nanoseconds: 0))
        for identity in [read, unread] {
            let known = SeenRecording(
                number: 0, destination: .builtIn, recording: one, identity: identity, item: ItemID(1),
                outcome: .dismissed, time: Self.now)
            try await list.note(identity, at: one, like: known, now: Self.now)
        }
        #expect(try await list.seen(like: read, at: other, to: .builtIn).map { $0.identity } == [read])
        #expect(try await list.seen(like: read, at: one, to: .builtIn).map { $0.identity } == [unread, read])
        #expect(try await list.seen(like: unread, at: other, to: .builtIn).isEmpty)
        let version = try await list.seenVersion()
        #expect(try await list.forgetSeen(1) == 1)
        let later = try await list.seenVersion()
        #expect(later != version)
        #expect(try await list.forgetAllSeen() == 1)
        #expect(try await list.seenVersion() != later)
    }

    @Test("a list of the first version is brought up to date and keeps its items")
    func firstVersion() async throws {
        do {
            let list = try open()
            _ = try await list.add(Self.new(), now: Self.now)
        }
        // Backwards by hand: what the first version had.
        let path = try directory.file("state/list.sqlite")
        try Connection(path: path.bytes, journal: .writeAhead).execute(
            """
            DROP TABLE seen;
            DROP INDEX items_by_group_key;
            DROP INDEX items_by_group;
            ALTER TABLE items DROP COLUMN group_key;
            DROP INDEX items_held;
            DROP INDEX items_held_for_room;
            DROP INDEX items_unfinished;
            DROP TABLE forgettings;
            DROP INDEX items_by_path;
            DROP INDEX items_open;
            ALTER TABLE items DROP COLUMN after_state;
            ALTER TABLE items DROP COLUMN after_reason;
            ALTER TABLE items DROP COLUMN far_name;
            CREATE INDEX items_open ON items (priority, id)
                WHERE state IN ('queued', 'preparing', 'ready', 'uploading', 'saving')
                    OR wish IS NOT NULL OR cleanup = 'pending';
            PRAGMA user_version = 1;
            """)
        let list = try open()
        let item = try #require(try await list.item(ItemID(1)))
        #expect(item.recording.text == "/r/capture.mov" && item.after == .none && item.farName == nil)
        #expect(try await list.due(at: Self.now, limit: 5).count == 1)
        var done = item
        done.options.after = .delete
        done.receipt = Receipt(url: "u", size: ByteCount(1), sha256: nil, proof: .size)
        try await list.commit(ItemLife.apply(.saved, to: done, at: Self.now), of: item.id)
        let cleaned = try #require(try await list.item(item.id))
        try await list.commit(ItemLife.apply(.cleanedUp, to: cleaned, at: Self.now), of: item.id)
        // What is still owed is found as work to do.
        #expect(try await list.due(at: Self.now, limit: 5).map { $0.after } == [.pending])
    }

    @Test("a large list is walked page by page, and claims do not read through it")
    func large() async throws {
        let list = try open()
        let connection = try Connection(path: directory.file("state/list.sqlite").bytes, journal: .writeAhead)
        let first = try await list.add(Self.new(), now: Self.now)
        try await list.commit(
            ItemLife.apply(
                .received(Receipt(url: "u", size: ByteCount(1), sha256: nil, proof: .size)), to: first, at: Self.now),
            of: first.id)
        try await list.commit(
            ItemLife.apply(.saved, to: #require(try await list.item(first.id)), at: Self.now), of: first.id)
        try await list.commit(
            ItemLife.apply(.cleanedUp, to: #require(try await list.item(first.id)), at: Self.now), of: first.id)
        try connection.transaction(.written) {
            try connection.execute(
                """
                WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
                INSERT INTO items SELECT i, 'u' || i, group_uuid, priority, state, wish, recording, identity, source_size,
                    source_fingerprint, destination, options, added_seconds, CAST('n' || i AS BLOB), seal, remote, receipt, cleanup,
                    fault, attempts, retry_at, marks, losses, media, progress, created, updated, after_state, after_reason,
                far_name, group_key FROM n, items WHERE id = 1
                """)
        }
        let plan = try connection.rows(
            "EXPLAIN QUERY PLAN SELECT id FROM items WHERE (state IN ('queued', 'preparing', 'ready', 'uploading', 'saving') OR wish IS NOT NULL OR cleanup = 'pending' OR after_state = 'pending') ORDER BY priority, id LIMIT 1"
        ) { $0.text(3) }
        #expect(plan.contains { $0.contains("items_open") })
        #expect(try await list.due(at: Self.now, limit: 10).isEmpty)
    }
}

extension Item {
    fileprivate func wished(_ wish: Wish) -> Item {
        var item = self
        item.wish = wish
        return item
    }
}
