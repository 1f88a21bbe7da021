import FoundationEssentials
import IngestModel
import Testing

/// The life of an item, without disk, network or clock.
@Suite("Life of an item")
struct ItemLifeTests {
    private static let now = Date(timeIntervalSince1970: 1_700_000_000)
    private static let digest = SHA256Digest(bytes: [UInt8](repeating: 1, count: 32))

    private static func identity(size: Int64 = 25, inode: UInt64 = 2, print: UInt8 = 1) throws -> RecordingIdentity {
        RecordingIdentity(
            device: 1, inode: inode, size: ByteCount(size), modified: FileTime(seconds: 3, nanoseconds: 4),
            fingerprint: try #require(SHA256Digest(bytes: [UInt8](repeating: print, count: 32))))
    }

    private static func item() throws -> Item {
        Item(
            id: ItemID(1), uuid: UUID(), recording: try #require(FilePath("/r/capture.mov")), identity: try identity(),
            destination: .builtIn, options: ItemOptions(), addedSeconds: 5,
            cachedName: try #require(FileName("5-capture.mov")), created: now)
    }

    private static func seal(_ digest: SHA256Digest? = nil) -> Seal {
        Seal(id: UUID(), size: ByteCount(25), modified: FileTime(seconds: 3, nanoseconds: 4), sha256: digest)
    }

    private static func remote(_ seal: Seal, acknowledged: Int64 = 0, token: String? = "T") -> RemoteState {
        .block(
            BlockLedger(
                seal: seal.id, key: UUID(), token: token, fileSize: ByteCount(25), blockSize: ByteCount(10),
                acknowledgedCount: acknowledged))
    }

    private static func receipt() -> Receipt {
        Receipt(url: "u", size: ByteCount(25), sha256: nil, proof: .parts)
    }

    /// Applies events one after another, with the wishes of others in between.
    private static func after(_ events: [ItemLife.Event], _ start: Item? = nil) throws -> Item {
        try events.reduce(try start ?? item()) { item, event in
            var next = try #require(ItemLife.apply(event, to: item, at: now).item)
            next.wish = ItemLife.apply(event, to: item, at: now).fulfilled == item.wish ? nil : item.wish
            return next
        }
    }

    private static func prepared(_ seal: Seal) throws -> ItemLife.Event {
        .prepared(
            PreparedCopy(seal: seal, name: try #require(FileName("5-capture.mov")), identity: try identity()))
    }

    private static func ready(_ seal: Seal = seal()) throws -> Item { try after([try prepared(seal)]) }

    private static func uploading(acknowledged: Int64 = 1) throws -> Item {
        let seal = seal()
        return try after(
            [.uploadBegan(farName: nil), .remoteChanged(remote(seal, acknowledged: acknowledged), progressed: true)],
            ready(seal))
    }

    private static func step(_ item: Item) -> ItemLife.Step { ItemLife.step(for: item, at: now) }

    @Test("the straight way: queued, preparing, ready, uploading, saving, done, clean")
    func straightWay() throws {
        var item = try Self.item()
        #expect(Self.step(item) == .prepare)
        item = try Self.after([.preparationBegan(try Self.identity(), name: item.cachedName)], item)
        #expect(item.state == .preparing && Self.step(item) == .prepare)
        item = try Self.after([try Self.prepared(Self.seal())], item)
        #expect(item.state == .ready && Self.step(item) == .upload)
        item = try Self.after([.uploadBegan(farName: nil)], item)
        #expect(item.state == .uploading && Self.step(item) == .upload)
        item = try Self.after([.received(Self.receipt())], item)
        #expect(item.state == .saving && Self.step(item) == .save)
        item = try Self.after([.saved], item)
        #expect(item.state == .done && item.cleanup == .pending && Self.step(item) == .cleanUp)
        item = try Self.after([.cleanedUp], item)
        #expect(item.cleanup == .done && Self.step(item) == .rest)
    }

    @Test("intents, tokens, seals and receipts survive a power cut; acknowledgements need not")
    func durability() throws {
        let seal = Self.seal()
        let item = try Self.ready(seal)
        func isDurable(_ event: ItemLife.Event, _ item: Item) -> Bool {
            ItemLife.apply(event, to: item, at: Self.now).isDurable
        }
        #expect(isDurable(try Self.prepared(seal), try Self.item()))
        let intent = Self.remote(seal, token: nil)
        #expect(isDurable(.remoteChanged(intent, progressed: false), item))
        let opened = try Self.after([.remoteChanged(intent, progressed: false)], item)
        guard case .block(var ledger) = intent else { throw Wrong() }
        ledger.token = "T"
        // A token is durable even where the same answer acknowledges blocks.
        #expect(isDurable(.remoteChanged(.block(ledger), progressed: true), opened))
        let sent = try Self.after([.remoteChanged(.block(ledger), progressed: false)], opened)
        ledger.acknowledgedCount = 1
        #expect(!isDurable(.remoteChanged(.block(ledger), progressed: true), sent))
        #expect(isDurable(.received(Self.receipt()), sent))
        #expect(isDurable(.wished(.cancel), sent))
    }

    @Test("pausing keeps the copy and what was sent; resuming goes on there")
    func pausing() throws {
        let running = try Self.uploading()
        let paused = try Self.after([.wished(.pause)], running)
        #expect(paused.state == .paused && paused.seal == running.seal && paused.remote == running.remote)
        #expect(paused.cleanup == .none && Self.step(paused) == .rest)
        let resumed = try Self.after([.resumed], paused)
        #expect(resumed.state == .ready && Self.step(resumed) == .upload)
        // While preparing, only the unfinished copy goes.
        let preparing = try Self.after([.preparationBegan(try Self.identity(), name: try Self.item().cachedName)])
        let early = try Self.after([.wished(.pause)], preparing)
        #expect(early.state == .paused && Self.step(early) == .cleanUp)
        #expect(Self.step(try Self.after([.cleanedUp], early)) == .rest)
    }

    @Test("cancelling owes the far side a word, and deletes the copy")
    func cancelling() throws {
        let running = try Self.uploading()
        let transition = ItemLife.apply(.wished(.cancel), to: running, at: Self.now)
        #expect(transition.debts.map { $0.remote } == [running.remote])
        let cancelled = try #require(transition.item)
        #expect(cancelled.state == .cancelled && cancelled.remote == nil && Self.step(cancelled) == .cleanUp)
        // Nothing was begun over there: nothing is owed.
        #expect(ItemLife.apply(.wished(.cancel), to: try Self.ready(), at: Self.now).debts.isEmpty)
    }

    @Test("cancelled in saving: the far side has it, nothing is dropped there")
    func cancellingLate() throws {
        let saving = try Self.after([.received(Self.receipt())], Self.uploading())
        let transition = ItemLife.apply(.wished(.cancel), to: saving, at: Self.now)
        #expect(transition.debts.isEmpty)
        #expect(transition.item?.state == .cancelled)
    }

    @Test(
        "removing cancels, cleans and only then forgets; a crash in between forgets nothing",
        arguments: [
            Wish.remove, .removeForced,
        ])
    func removing(wish: Wish) throws {
        var item = try Self.uploading()
        item.wish = wish
        #expect(Self.step(item) == .obey(wish))
        let transition = ItemLife.apply(.wished(wish), to: item, at: Self.now)
        var cancelled = try #require(transition.item)
        #expect(transition.fulfilled == nil, "the wish stays until the cache is clean")
        #expect(transition.debts.count == 1)
        cancelled.wish = wish
        #expect(Self.step(cancelled) == .cleanUp)
        let last = ItemLife.apply(.cleanedUp, to: cancelled, at: Self.now)
        #expect(last.item == nil && last.fulfilled == wish)
        // Of what is finished and clean only the entry is left.
        var done = try Self.after([.received(Self.receipt()), .saved, .cleanedUp], Self.uploading())
        done.wish = wish
        #expect(ItemLife.apply(.wished(wish), to: done, at: Self.now).item == nil)
    }

    @Test("every wish comes to an end, from every state")
    func wishesEnd() throws {
        let preparing = try Self.after([.preparationBegan(try Self.identity(), name: try Self.item().cachedName)])
        let failed = try Self.after([.failed(Fault(.refused, "no"), retryAt: nil)], Self.uploading())
        let done = try Self.after([.received(Self.receipt()), .saved], Self.uploading())
        for start in [try Self.item(), preparing, try Self.ready(), try Self.uploading(), failed, done] {
            for wish in [Wish.pause, .cancel, .remove, .cancelForced, .removeForced] {
                var item: Item? = start
                item?.wish = wish
                var steps = 0
                while let current = item, steps < 10 {
                    steps += 1
                    let event: ItemLife.Event
                    switch Self.step(current) {
                    case .obey(let wish): event = .wished(wish)
                    case .cleanUp: event = .cleanedUp
                    case .prepare, .upload, .save, .dispose, .wait, .rest:
                        #expect(current.wish == nil, "\(start.state) \(wish)")
                        item = nil
                        continue
                    }
                    let transition = ItemLife.apply(event, to: current, at: Self.now)
                    item = transition.item
                    item?.wish = transition.fulfilled == current.wish ? nil : current.wish
                }
                #expect(steps < 10, "\(start.state) \(wish) never ends")
            }
        }
    }

    @Test("a fault that may pass waits and keeps everything; progress begins the count anew")
    func temporaryFaults() throws {
        let later = Self.now.addingTimeInterval(8)
        let failed = try Self.after(
            [.failed(Fault(.unreachable, "away", retry: .later(after: nil)), retryAt: later)], Self.uploading())
        #expect(failed.state == .ready && failed.attempts == 1 && failed.seal != nil)
        #expect(Self.step(failed) == .wait(until: later))
        #expect(ItemLife.step(for: failed, at: later) == .upload)
        let seal = try #require(failed.seal)
        let moved = try Self.after([.remoteChanged(Self.remote(seal, acknowledged: 2), progressed: true)], failed)
        #expect(moved.attempts == 0 && moved.fault == nil)
    }

    @Test("a network that comes back ends the waiting for what could not be reached, not what a server demanded")
    func networkCameBack() throws {
        let later = Self.now.addingTimeInterval(30)
        for (fault, step) in [
            (Fault(.unreachable, "away", retry: .later(after: nil)), ItemLife.Step.upload),
            (Fault(.certificate, "portal", retry: .later(after: nil)), .upload),
            (Fault(.busy, "503", retry: .later(after: 30)), .wait(until: later)),
            (Fault(.diskFull, "full", retry: .later(after: 30)), .wait(until: later)),
        ] {
            let waiting = try Self.after([.failed(fault, retryAt: later)], Self.uploading())
            let back = try Self.after([.networkCameBack], waiting)
            #expect(Self.step(back) == step && back.attempts == 1)
        }
    }

    @Test("a fault that stays fails the item and keeps the copy; without a copy what is unfinished goes")
    func lastingFaults() throws {
        let failed = try Self.after([.failed(Fault(.refused, "no"), retryAt: nil)], Self.uploading())
        #expect(failed.state == .failed && failed.seal != nil && Self.step(failed) == .rest)
        #expect(try Self.after([.retried], failed).state == .ready)
        let early = try Self.after([.failed(Fault(.damaged, "cut off"), retryAt: nil)])
        #expect(early.state == .failed && Self.step(early) == .cleanUp)
        #expect(try Self.after([.cleanedUp, .retried], early).state == .queued)
    }

    @Test("two encodes are never mixed: a new seal gives up what the far side has")
    func newSeal() throws {
        let running = try Self.uploading()
        let lost = ItemLife.apply(.copyLost, to: running, at: Self.now)
        #expect(lost.debts.map { $0.remote } == [running.remote])
        let again = try #require(lost.item)
        #expect(again.seal == nil && again.remote == nil && again.state == .queued)
        // Even if a remote state were left behind, sealing anew would give it up.
        let sealed = ItemLife.apply(try Self.prepared(Self.seal()), to: running, at: Self.now)
        #expect(sealed.debts.count == 1 && sealed.item?.remote == nil)
    }

    @Test("a recording that has grown is withdrawn and queued as it now is")
    func withdrawn() throws {
        let running = try Self.uploading()
        let grown = try Self.identity(size: 50)
        let transition = ItemLife.apply(.withdrawn(grown), to: running, at: Self.now)
        #expect(transition.debts.count == 1 && !transition.wasBrought)
        let item = try #require(transition.item)
        #expect(item.identity == grown && item.seal == nil && item.state == .queued && Self.step(item) == .cleanUp)
        // Whoever writes it may not be done.
        let clean = try Self.after([.cleanedUp], item)
        #expect(Self.step(clean) == .wait(until: Self.now.addingTimeInterval(ItemLife.settlingTime)))
    }

    @Test("a recording that has grown while it was uploaded is queued again; what it was counts as brought")
    func withdrawnLate() throws {
        let received = try Self.after([.received(Self.receipt())], Self.uploading())
        let transition = ItemLife.apply(.withdrawn(try Self.identity(size: 50)), to: received, at: Self.now)
        #expect(transition.debts.isEmpty && transition.wasBrought)
        let item = try #require(transition.item)
        #expect(item.receipt == nil && item.remote == nil && item.seal == nil && item.state == .queued)
    }

    @Test("a copy that is its own recording is never given up")
    func ownRecording() throws {
        var found = try Self.uploading()
        found.marks = [.foundInCache]
        for event in [ItemLife.Event.copyLost, .withdrawn(try Self.identity(size: 50))] {
            let after = try Self.after([event], found)
            #expect(after.seal == found.seal && after.cleanup == .none && after.remote == found.remote)
        }
        let seal = Self.seal()
        let transition = ItemLife.apply(.readopted(try Self.identity(size: 50), seal), to: found, at: Self.now)
        #expect(transition.debts.count == 1)
        #expect(transition.item?.seal == seal && transition.item?.cleanup == Cleanup.none)
        #expect(transition.item.map { Self.step($0) } == .upload)
    }

    @Test("interrupted: back to where a run takes it up")
    func interrupted() throws {
        #expect(try Self.after([.interrupted], Self.uploading()).state == .ready)
        let preparing = try Self.after([.preparationBegan(try Self.identity(), name: try Self.item().cachedName)])
        let stopped = try Self.after([.interrupted], preparing)
        #expect(stopped.state == .queued && Self.step(stopped) == .cleanUp)
    }

    @Test(
        "a finished item is not changed by pausing, resuming, retrying or cancelling",
        arguments: [
            ItemLife.Event.wished(.pause), .wished(.cancel), .resumed, .retried,
        ])
    func finished(event: ItemLife.Event) throws {
        let done = try Self.after([.received(Self.receipt()), .saved, .cleanedUp], Self.uploading())
        let after = try Self.after([event], done)
        #expect(after.state == .done && Self.step(after) == .rest)
    }

    private struct Wrong: Error {}

    @Test("a clock that was set back makes nobody wait for a moment that is years away")
    func clockSetBack() throws {
        let later = Self.now.addingTimeInterval(60)
        let fault = Fault(.unreachable, "away", retry: .later(after: nil))
        let failed = try Self.after([.failed(fault, retryAt: later)], Self.uploading())
        #expect(ItemLife.step(for: failed, at: Self.now.addingTimeInterval(-1)) == .wait(until: later))
        #expect(ItemLife.step(for: failed, at: Self.now.addingTimeInterval(-1_000_000)) == .upload)
    }

    @Test(
        "what --after asks for comes after the copy is gone, once; what cannot be done is told and can be tried again")
    func disposing() throws {
        var item = try Self.item()
        item.options.after = .trash
        item = try Self.after([try Self.prepared(Self.seal()), .received(Self.receipt())], item)
        #expect(item.after == .none, "not before it is done")
        item = try Self.after([.saved], item)
        #expect(item.state == .done && item.after == .pending && Self.step(item) == .cleanUp)
        item = try Self.after([.cleanedUp], item)
        #expect(Self.step(item) == .dispose)
        #expect(Self.step(try Self.after([.disposed(failure: nil)], item)) == .rest)
        let failed = try Self.after([.disposed(failure: "no trash")], item)
        #expect(failed.state == .done && failed.after == .failed("no trash") && Self.step(failed) == .rest)
        #expect(Self.step(try Self.after([.retried], failed)) == .dispose)
        // Nobody asked for anything.
        let kept = try Self.after([.received(Self.receipt()), .saved, .cleanedUp], Self.uploading())
        #expect(kept.after == .none && Self.step(kept) == .rest)
    }

    @Test("a copy that is its own recording is never disposed of")
    func ownRecordingsStay() throws {
        var item = try Self.uploading()
        item.options.after = .delete
        item.marks = [.foundInCache]
        #expect(try Self.after([.received(Self.receipt()), .saved], item).after == .none)
    }

    // MARK: - Watched folders

    private static func waiting() throws -> Item {
        var item = try item()
        item.state = .waiting
        return item
    }

    @Test("a recording that is not finished rests, with its reason, until it is")
    func waitsToBeFinished() throws {
        let item = try Self.after([.waited(Fault(.incomplete, "no moov", retry: .later(after: nil)))], Self.waiting())
        #expect(item.state == .waiting && item.fault?.reason == "no moov")
        #expect(ItemLife.step(for: item, at: Self.now) == .rest)
        let finished = try Self.after([.renewed(try Self.identity(size: 30, print: 7), nil)], item)
        #expect(finished.state == .queued && finished.fault == nil && finished.identity.size.value == 30)
        #expect(ItemLife.step(for: finished, at: Self.now) == .prepare)
        #expect(try Self.after([.takenUp(ItemOptions())], item).state == .queued)
        #expect(try Self.after([.wished(.pause)], item).state == .waiting)
        let cancelled = ItemLife.apply(.wished(.cancel), to: item, at: Self.now)
        #expect(cancelled.item?.state == .cancelled && cancelled.seen == .dismissed)
    }

    @Test("a recording that has changed before it was copied is taken at once as it is; one that was copied is not")
    func renewed() throws {
        let fault = Fault(.notMedia, "no")
        let failed = try Self.after([.failed(fault, retryAt: Self.now.addingTimeInterval(60))])
        #expect(failed.state == .queued && failed.retryAt != nil)
        let renewed = try Self.after([.renewed(try Self.identity(print: 9), nil)], failed)
        #expect(renewed.retryAt == nil && renewed.attempts == 0 && renewed.state == .queued)
        let parked = try Self.after([.failed(fault, retryAt: nil), .renewed(try Self.identity(print: 9), nil)])
        #expect(parked.state == .queued && parked.fault == nil)
        let sealed = try Self.ready()
        #expect(try Self.after([.renewed(try Self.identity(print: 9), nil)], sealed).identity == sealed.identity)
        #expect(try Self.after([.relocated(try #require(FilePath("/r/b.mov")))]).recording.text == "/r/b.mov")
    }

    @Test("failures that stay and failures that pass are counted apart")
    func kinds() throws {
        let passing = Fault(.diskFull, "full", retry: .later(after: 1))
        let staying = Fault(.notMedia, "no")
        let item = try Self.after([.failed(passing, retryAt: Self.now), .failed(passing, retryAt: Self.now)])
        #expect(item.attempts == 2)
        #expect(try Self.after([.failed(staying, retryAt: Self.now)], item).attempts == 1)
    }

    @Test("what folders have to know: brought when done, dismissed when given up, brought when given up too late")
    func seen() throws {
        let received = try Self.after([.received(Self.receipt())], Self.ready())
        #expect(ItemLife.apply(.saved, to: received, at: Self.now).seen == .brought)
        #expect(ItemLife.apply(.wished(.remove), to: received, at: Self.now).seen == .brought)
        #expect(ItemLife.apply(.wished(.remove), to: try Self.ready(), at: Self.now).seen == .dismissed)
        #expect(ItemLife.apply(.wished(.pause), to: try Self.ready(), at: Self.now).seen == nil)
        let done = try Self.after([.saved], received)
        #expect(ItemLife.apply(.wished(.remove), to: done, at: Self.now).seen == nil)
    }

    @Test("--after waits for its time, or for the need of room")
    func held() throws {
        var ready = try Self.ready()
        ready.options.after = .delete
        ready.options.keepsFor = 100
        var done = try Self.after([.received(Self.receipt()), .saved, .cleanedUp], ready)
        #expect(done.after == .held && done.retryAt == Self.now.addingTimeInterval(100))
        #expect(ItemLife.step(for: done, at: Self.now.addingTimeInterval(1000)) == .rest)
        done = try Self.after([.disposalDue], done)
        #expect(done.after == .pending && ItemLife.step(for: done, at: Self.now) == .dispose)
        ready.options.keepsFor = nil
        ready.options.freesBelow = ByteCount(5)
        let other = try Self.after([.received(Self.receipt()), .saved], ready)
        #expect(other.after == .held && other.retryAt == nil)
    }
}

@Suite("Never the last copy")
struct CopySafetyTests {
    private static func identity(size: Int64 = 25, inode: UInt64 = 2, print: UInt8 = 1, seconds: Int64 = 3) throws
        -> RecordingIdentity
    {
        RecordingIdentity(
            device: 1, inode: inode, size: ByteCount(size), modified: FileTime(seconds: seconds, nanoseconds: 4),
            fingerprint: try #require(SHA256Digest(bytes: [UInt8](repeating: print, count: 32))))
    }

    private static func sealedItem() throws -> Item {
        var item = Item(
            id: ItemID(1), uuid: UUID(), recording: try #require(FilePath("/r/capture.mov")), identity: try identity(),
            destination: .builtIn, options: ItemOptions(), addedSeconds: 5,
            cachedName: try #require(FileName("5-capture.mov")), created: Date(timeIntervalSince1970: 1))
        item.seal = Seal(id: UUID(), size: ByteCount(25), modified: FileTime(seconds: 3, nanoseconds: 4), sha256: nil)
        item.state = .ready
        return item
    }

    @Test("a sealed copy goes only while the recording is there, unchanged")
    func sealed() throws {
        let item = try Self.sealedItem()
        #expect(CopySafety.objection(toDeletingCopyOf: item, recording: try Self.identity()) == nil)
        #expect(CopySafety.objection(toDeletingCopyOf: item, recording: nil) != nil)
        for changed in [
            try Self.identity(size: 26), try Self.identity(inode: 3), try Self.identity(print: 2),
            try Self.identity(seconds: 4),
        ] {
            #expect(CopySafety.objection(toDeletingCopyOf: item, recording: changed) != nil)
        }
    }

    @Test("what has arrived, what was never sealed, and what is finished may go")
    func harmless() throws {
        var item = try Self.sealedItem()
        item.receipt = Receipt(url: "u", size: ByteCount(25), sha256: nil, proof: .size)
        #expect(CopySafety.objection(toDeletingCopyOf: item, recording: nil) == nil)
        item = try Self.sealedItem()
        item.seal = nil
        #expect(CopySafety.objection(toDeletingCopyOf: item, recording: nil) == nil)
        item = try Self.sealedItem()
        item.state = .cancelled
        #expect(CopySafety.objection(toDeletingCopyOf: item, recording: nil) == nil)
    }

    @Test("a copy found in the cache is its own recording, and never safe to delete")
    func foundInCache() throws {
        var item = try Self.sealedItem()
        item.marks = [.foundInCache]
        #expect(CopySafety.objection(toDeletingCopyOf: item, recording: item.identity) != nil)
    }

    @Test("only a recording that has grown around what was copied is withdrawn")
    func recordingChecks() throws {
        let taken = try Self.identity()
        let same = taken.fingerprint
        let other = try #require(SHA256Digest(bytes: [UInt8](repeating: 9, count: 32)))
        let grown = try Self.identity(size: 50, print: 5, seconds: 9)
        func check(_ now: RecordingIdentity?, _ old: SHA256Digest?, isLink: Bool = false) -> RecordingCheck {
            RecordingCheck.compare(taken: taken, isLink: isLink, now: now, oldFingerprint: old)
        }
        #expect(check(nil, nil) == .goOn)
        #expect(check(taken, same) == .goOn)
        // Touched, or moved to another disk: the bytes are the same.
        #expect(check(try Self.identity(inode: 8, seconds: 99), same) == .goOn)
        #expect(check(grown, same) == .withdraw)
        // Grown, but what stood there stands there no more: the copy may be all that is left of it.
        #expect(check(grown, other) == .goOnMarked)
        #expect(check(try Self.identity(size: 50, inode: 8, print: 5), same) == .goOnMarked)
        #expect(check(try Self.identity(size: 10, print: 5), nil) == .goOnMarked)
        #expect(check(try Self.identity(print: 5), other) == .goOnMarked)
    }

    @Test("a link changes with its recording, and is given up for what that now is")
    func links() throws {
        let taken = try Self.identity()
        let other = try #require(SHA256Digest(bytes: [UInt8](repeating: 9, count: 32)))
        func check(_ now: RecordingIdentity?) -> RecordingCheck {
            RecordingCheck.compare(taken: taken, isLink: true, now: now, oldFingerprint: other)
        }
        #expect(check(nil) == .goOn && check(taken) == .goOn)
        #expect(check(try Self.identity(print: 5)) == .withdraw)
        #expect(check(try Self.identity(seconds: 9)) == .withdraw)
        // Another file stands there; the link still holds what was taken.
        #expect(check(try Self.identity(inode: 8, print: 5)) == .goOnMarked)
    }
}
