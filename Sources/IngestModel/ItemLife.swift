package import FoundationEssentials

/// What happens next to an item: the only place where states follow each other.
///
/// A pure state machine. `step` says what the holder of the item's lock has to do; when that has happened (or failed)
/// `apply` says what to write down. The caller writes it down before it acts on it.
package enum ItemLife {
    /// What to do next.
    package enum Step: Hashable, Sendable {
        case obey(Wish)
        /// Delete what the cache holds of the item: an unfinished copy, or one that is no longer needed.
        case cleanUp
        case prepare
        case upload
        /// The receipt is there; do what follows an upload.
        case save
        /// Do with the recording what `--after` asks for.
        case dispose
        /// Nothing before this moment.
        case wait(until: Date)
        /// Nothing, until somebody asks for it.
        case rest
    }

    /// What has happened.
    package enum Event: Sendable {
        /// The recording was looked at and is about to be copied or encoded under this name.
        case preparationBegan(RecordingIdentity, name: FileName)
        /// The copy is complete and synced; it may still carry the suffix of an unfinished one.
        case prepared(PreparedCopy)
        /// The name at the far end, where a template makes it, holds from now on.
        case uploadBegan(farName: String?)
        /// The far side's state changed or is about to. `progressed`: more bytes are acknowledged than before.
        case remoteChanged(RemoteState, progressed: Bool)
        /// An upload was about to be opened, and nothing of that has reached the far side.
        case remoteForgotten
        /// The far side's part is given up; `replacement` is the upload that takes its place, if any yet.
        case remoteAbandoned(replacement: RemoteState?)
        /// The digest of the sealed copy has been taken.
        case digestTaken(SHA256Digest)
        case received(Receipt)
        case saved
        /// Another thing is to become of a recording that still stays; `nil` keeps it.
        case disposalChanged(AfterAction?, keepsFor: Double?, freesBelow: ByteCount?)
        /// What `--after` asks for has waited long enough, or the room is needed.
        case disposalDue
        /// What `--after` asks for has been done, or cannot be for this reason.
        case disposed(failure: String?)
        /// The cache holds nothing of the item any more.
        case cleanedUp
        /// The sealed copy is gone or no longer what it was; the recording is unchanged, so that it can be made again.
        case copyLost
        /// The recording has changed; it counts as it now is. What is complete at the far side stays there.
        case withdrawn(RecordingIdentity)
        /// A copy that is its own recording has changed; it counts as it now is.
        case readopted(RecordingIdentity, Seal)
        /// The recording has changed after the copy was taken; the copy goes as it was.
        case recordingChanged
        /// Something went wrong; `retryAt` where it is worth another try.
        case failed(Fault, retryAt: Date?)
        /// A network has appeared: what could not be reached is tried again at once.
        case networkCameBack
        /// What held it back may not do so any more: it is tried again at once.
        case reconsidered
        /// The process stops working on the item; everything is kept.
        case interrupted
        /// Seen in a watched folder, but not finished, for this reason; or not any more, before it was copied.
        case waited(Fault)
        /// The recording is finished, or has changed before it was copied: it is taken as it now is, with these options or those
        /// it has, and at once.
        case renewed(RecordingIdentity, ItemOptions?)
        /// The recording lies elsewhere now.
        case relocated(FilePath)
        case wished(Wish)
        case resumed
        case retried
        /// Its recording was given again, with these options: it goes on, whatever held it up.
        case takenUp(ItemOptions)
    }

    /// Seconds that a recording is left alone that was still growing.
    package static let settlingTime = 5.0

    package static func step(for item: Item, at now: Date) -> Step {
        if item.cleanup == .pending { return .cleanUp }
        if let wish = item.wish { return .obey(wish) }
        if item.state == .done, item.after == .pending { return .dispose }
        guard item.state.isRunnable else { return .rest }
        if let retryAt = item.retryAt, retryAt > now, !wasSetBack(item, now) { return .wait(until: retryAt) }
        if item.receipt != nil { return .save }
        return item.seal == nil ? .prepare : .upload
    }

    /// Whether the clock has been set back since the item was written: a moment that was near then may be years away now.
    private static func wasSetBack(_ item: Item, _ now: Date) -> Bool {
        item.updated.timeIntervalSince(now) > clockSlack
    }

    /// Seconds that clocks of processes that share a list may differ.
    package static let clockSlack = 2.0

    package static func apply(_ event: Event, to item: Item, at now: Date) -> Transition {
        var transition = Transition(item: item, now: now)
        transition.apply(event)
        return transition
    }
}

/// What a preparation made.
package struct PreparedCopy: Sendable {
    package let seal: Seal
    package let name: FileName
    package let identity: RecordingIdentity
    package let marks: Set<Mark>
    package let losses: [Loss]
    package let media: MediaSummary?

    package init(
        seal: Seal, name: FileName, identity: RecordingIdentity, marks: Set<Mark> = [], losses: [Loss] = [],
        media: MediaSummary? = nil
    ) {
        self.seal = seal
        self.name = name
        self.identity = identity
        self.marks = marks
        self.losses = losses
        self.media = media
    }
}

/// What is to be written down in one transaction.
package struct Transition: Sendable {
    /// The item as it is from now on; `nil` forgets the entry.
    package private(set) var item: Item?
    /// What the far side has to drop.
    package private(set) var debts: [Debt] = []
    /// The wish that is fulfilled and taken back.
    package private(set) var fulfilled: Wish?
    /// What folders that are watched have to know about its recording from now on.
    package private(set) var seen: SeenOutcome?
    /// Whether its recording, as the item was before, has reached the far side.
    package private(set) var wasBrought = false
    /// Whether the transaction must survive a power cut, not only the end of the process.
    package private(set) var isDurable = true

    fileprivate init(item: Item, now: Date) {
        var item = item
        item.updated = now
        self.item = item
    }

    fileprivate mutating func apply(_ event: ItemLife.Event) {
        guard var item else { return }
        switch event {
        case .preparationBegan(let identity, let name):
            if !identity.isUnchanged(from: item.identity) { item.marks.subtract(Mark.ofCopies) }
            item.identity = identity
            item.cachedName = name
            item.state = .preparing
            isDurable = false
        case .prepared(let copy):
            item.seal = copy.seal
            item.cachedName = copy.name
            item.identity = copy.identity
            item.marks.subtract(Mark.ofCopies)
            item.marks.formUnion(copy.marks)
            item.losses = copy.losses
            item.media = copy.media
            oweRemote(of: &item)
            progress(&item)
            item.state = .ready
        case .uploadBegan(let farName):
            item.farName = farName
            item.state = .uploading
            isDurable = false
        case .remoteChanged(let remote, let progressed):
            isDurable = !remote.onlyAcknowledgesMore(than: item.remote)
            item.remote = remote
            if progressed { progress(&item) }
        case .remoteForgotten:
            item.remote = nil
            isDurable = false
        case .remoteAbandoned(let replacement):
            oweRemote(of: &item)
            item.remote = replacement
        case .digestTaken(let digest):
            item.seal?.sha256 = digest
            if !item.options.preparation.needsMedia { item.identity.sha256 = digest }
            isDurable = false
        case .received(let receipt):
            item.receipt = receipt
            progress(&item)
            item.state = .saving
        case .saved:
            item.state = .done
            item.cleanup = .pending
            progress(&item)
            seen = .brought
            if let after = item.options.after, after != .keep, !item.isItsOwnRecording, !item.isDamaged {
                oweDisposal(of: &item)
            }
        case .disposalChanged(let after, let keepsFor, let freesBelow):
            changeDisposal(of: &item, after, keepsFor, freesBelow)
        case .disposalDue:
            if item.after == .held { item.after = .pending }
            item.retryAt = nil
        case .disposed(let failure):
            item.after = failure.map { .failed($0) } ?? .done
        case .cleanedUp:
            finishCleanup(of: &item)
        case .copyLost:
            if item.isItsOwnRecording { return }
            oweRemote(of: &item)
            item.seal = nil
            item.cleanup = .pending
            item.state = .queued
        case .withdrawn(let identity):
            if item.isItsOwnRecording { return }
            withdraw(&item, identity)
        case .readopted(let identity, let seal):
            oweRemote(of: &item)
            item.identity = identity
            item.seal = seal
            item.state = item.resumptionState
        case .recordingChanged:
            item.marks.insert(.recordingChanged)
        case .failed(let fault, let retryAt):
            // What may pass and what stays are counted apart.
            item.attempts = item.fault?.isTemporary == fault.isTemporary ? item.attempts + 1 : 1
            item.fault = fault
            item.retryAt = retryAt
            if item.seal == nil { item.cleanup = .pending }
            item.state = retryAt == nil ? .failed : item.resumptionState
        case .networkCameBack:
            if item.fault?.isAboutReaching == true { item.retryAt = nil }
            isDurable = false
        case .reconsidered:
            item.retryAt = nil
            isDurable = false
        case .interrupted:
            if item.state.isRunnable { item.state = item.resumptionState }
            if item.seal == nil, item.state == .queued { item.cleanup = .pending }
        case .waited(let fault):
            item.fault = fault
            if item.state == .queued, item.seal == nil {
                item.state = .waiting
                item.retryAt = nil
            }
            isDurable = false
        case .renewed(let identity, let options):
            renew(&item, identity, options)
        case .relocated(let path):
            item.recording = path
        case .wished(let wish):
            obey(wish, &item)
        case .resumed:
            if item.state == .paused { item.state = item.resumptionState }
            item.retryAt = nil
        case .takenUp(let options):
            item.options = options
            if !item.state.isRunnable, !item.state.isFinished { item.state = item.resumptionState }
            progress(&item)
        case .retried:
            if item.state == .failed || item.state == .paused { item.state = item.resumptionState }
            if item.after.reason != nil { item.after = .pending }
            progress(&item)
        }
        // A forgotten entry stays forgotten.
        if self.item != nil { self.item = item }
    }

    private mutating func obey(_ wish: Wish, _ item: inout Item) {
        if wish == .pause {
            fulfilled = wish
            guard item.state.isRunnable else { return }
            if item.seal == nil { item.cleanup = .pending }
            item.state = .paused
            return
        }
        if !item.state.isFinished { seen = item.receipt == nil ? .dismissed : .brought }
        // A removal stays wished for until the cache is clean, so that a crash in between does not forget it.
        if !wish.forgets { fulfilled = wish }
        if !item.state.isFinished {
            if item.receipt == nil { oweRemote(of: &item) }
            item.state = .cancelled
            item.cleanup = .pending
        }
        if wish.forgets, item.cleanup != .pending { self.item = nil }
    }

    private mutating func finishCleanup(of item: inout Item) {
        item.cleanup = item.state.isFinished ? .done : .none
        if let wish = item.wish, wish.forgets, item.state.isFinished {
            fulfilled = wish
            self.item = nil
        }
    }

    private mutating func oweRemote(of item: inout Item) {
        guard let remote = item.remote else { return }
        debts.append(
            Debt(
                destination: item.destination, tokenFile: item.options.tokenFile, remote: remote,
                name: item.displayName))
        item.remote = nil
    }

    private mutating func withdraw(_ item: inout Item, _ identity: RecordingIdentity) {
        wasBrought = item.receipt != nil
        if item.receipt == nil { oweRemote(of: &item) }
        item.remote = nil
        item.receipt = nil
        item.identity = identity
        item.seal = nil
        item.cleanup = .pending
        item.state = .queued
        // Whoever writes it may not be done.
        item.fault = Fault(
            .recordingChanged, "it has grown since it was copied; it is taken again as it now is",
            retry: .later(after: ItemLife.settlingTime))
        item.retryAt = item.updated.addingTimeInterval(ItemLife.settlingTime)
    }

    private func oweDisposal(of item: inout Item) {
        item.after = item.options.keepsFor == nil && item.options.freesBelow == nil ? .pending : .held
        item.retryAt = item.options.keepsFor.map { item.updated.addingTimeInterval($0) }
    }

    private func changeDisposal(
        of item: inout Item, _ after: AfterAction?, _ keepsFor: Double?, _ freesBelow: ByteCount?
    ) {
        guard item.after == .held else { return }
        let done = item.retryAt?.addingTimeInterval(-(item.options.keepsFor ?? 0))
        item.options.after = after
        item.options.keepsFor = keepsFor
        item.options.freesBelow = freesBelow
        oweDisposal(of: &item)
        if after == nil { item.after = .none }
        if let keepsFor, let done { item.retryAt = done.addingTimeInterval(keepsFor) }
    }

    private func renew(_ item: inout Item, _ identity: RecordingIdentity, _ options: ItemOptions?) {
        guard item.seal == nil, !item.state.isFinished else { return }
        if let options { item.options = options }
        item.identity = identity
        if item.state == .waiting || item.state == .failed { item.state = .queued }
        progress(&item)
    }

    private func progress(_ item: inout Item) {
        item.fault = nil
        item.attempts = 0
        item.retryAt = nil
    }
}
