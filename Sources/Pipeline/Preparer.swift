import Diagnostics
import FoundationEssentials
import IngestModel
import MediaProcess
import SystemIO
import UploadList
import VideoCache

/// Makes the cached copy of an item: copied, linked, remuxed or compressed.
struct Preparer {
    let context: PipelineContext
    let reporter: ItemReporter

    /// Brings the item from *queued* to *ready*.
    ///
    /// - Throws: `Fault`, `CancellationError`, or what the list throws. What was unfinished is left for the cleanup.
    func prepare(_ item: Item) async throws -> Item? {
        let recording = item.recording
        let identity = try await settledIdentity(of: recording, isWatched: item.options.isWatched == true)
        try checkFinished(item, identity)
        let preparation = item.options.preparation
        if preparation.needsMedia, context.isToKeepQuiet { throw Self.recorderAtWork }
        try await checkRoom(for: identity.size, preparation)
        let name = try await name(for: item, preparation)
        guard let begun = try await context.commit(.preparationBegan(identity, name: name), to: item) else {
            return nil
        }
        reporter.reportState(of: begun)
        let made = try await make(begun, preparation)
        context.crashPoints.reach(.beforeSeal)
        // Written down before the copy gets its name: what is finished says the list.
        let ready = try await context.commit(.prepared(made), to: begun)
        context.crashPoints.reach(.afterSealStored)
        try context.cache.publish(made.name)
        context.crashPoints.reach(.afterSealRenamed)
        if let ready { reporter.reportState(of: ready) }
        return ready
    }

    /// What was found to be finished in a watched folder goes as it was then: quiet alone does not make it so again. Whoever
    /// watches the folder renews the item.
    private func checkFinished(_ item: Item, _ now: RecordingIdentity) throws(Fault) {
        let taken = item.identity
        guard item.options.isWatched == true, taken.isRead else { return }
        let isSame =
            now.hasSameContent(as: taken) && (now.modified == taken.modified || Fingerprint.coversAll(of: now.size))
        if !isSame { throw Self.changedSince }
    }

    private static let changedSince = Fault(
        .recordingChanged, "it has changed since it was finished; it is taken again once it is finished anew",
        retry: .later(after: 2))

    private static let recorderAtWork = Fault(
        .recorderAtWork, "a recording is being made in a watched folder; it is encoded when that is over",
        retry: .later(after: 2))

    /// Seconds until it is looked for again.
    private static let roomInterval = 10.0

    /// Uploads make room, so what is not begun now finds it later.
    private func checkRoom(for size: ByteCount, _ preparation: Preparation) async throws {
        let cache = context.cache
        let settings = context.settings
        if preparation == .link { return }
        let needed = preparation.needsMedia ? 0 : size.value
        if let minimum = settings.minimumFree {
            let free = try await offPool { _ in try cache.freeSpace() }
            if free.value - needed < minimum.value {
                throw Fault(
                    .diskFull,
                    "only \(free.forReading) are free where the cache is, and \(minimum.forReading) are to stay so "
                        + "(--min-free); it is copied when there is room", retry: .later(after: Self.roomInterval))
            }
        }
        guard let limit = settings.cacheLimit else { return }
        let held = try await offPool { _ in try cache.names().reduce(0) { $0 + (cache.size(of: $1)?.value ?? 0) } }
        if held > 0, held + size.value > limit.value {
            throw Fault(
                .diskFull,
                "the cache holds \(ByteCount(held).forReading), and may hold \(limit.forReading) (--cache-limit); it is "
                    + "copied when something has been uploaded", retry: .later(after: Self.roomInterval))
        }
    }

    /// Waits until nobody has written it for a moment.
    private func settledIdentity(of recording: FilePath, isWatched: Bool) async throws -> RecordingIdentity {
        for _ in 0..<3 {
            let now = context.now().timeIntervalSince1970
            let (identity, wait) = try await offPool { _ in
                let opened = try Recording(recording)
                // Whoever watches waits for the writer, however long it rests.
                if isWatched, opened.file.hasWriter() == true { throw Recording.beingWritten }
                let wait = try opened.unsettledFor(at: now)
                return (wait > 0 ? nil : try opened.identity(), wait)
            }
            if let identity { return identity }
            try await Task.sleep(for: .seconds(min(wait, Recording.settlingTime)))
        }
        throw Recording.beingWritten
    }

    /// The name chosen when the item was put on the list, unless an earlier attempt changed the container.
    private func name(for item: Item, _ preparation: Preparation) async throws -> FileName {
        let wanted = preparation.newExtension.map { Array($0.utf8) } ?? item.recording.name?.fileExtension
        if wanted == item.cachedName.fileExtension { return item.cachedName }
        return try await context.list.freeName(
            for: item, preparation: preparation, taken: try context.cache.names())
    }

    private func make(_ item: Item, _ preparation: Preparation) async throws -> PreparedCopy {
        switch preparation {
        case .copy: try await copy(item, marks: [])
        case .link: try await link(item)
        case .remux: try await convert(item, settings: nil)
        case .compress(let settings):
            if try await isKnownToBeNoSmaller(item) {
                try await copyOriginal(item, mark: .keptOriginal)
            } else {
                try await compress(item, settings)
            }
        }
    }

    // MARK: - Byte for byte

    private func copy(_ item: Item, marks: Set<Mark>) async throws -> PreparedCopy {
        let cache = context.cache
        let crashPoints = context.crashPoints
        let reporter = reporter
        return try await offPool { stop in
            let recording = try Recording(item.recording)
            let identity = try recording.identity()
            try checkFinished(item, identity)
            let part = try cache.begin(item.cachedName)
            let digest = try cache.copy(recording, into: part, stop: stop) { count in
                crashPoints.reach(.whilePreparing)
                reporter.progress(.copying, done: count.value, total: identity.size.value)
            }
            let seal = try cache.seal(item.cachedName, modified: recording.modified, sha256: digest)
            return PreparedCopy(
                seal: seal, name: item.cachedName, identity: identity.with(sha256: digest), marks: marks)
        }
    }

    private func link(_ item: Item) async throws -> PreparedCopy {
        let cache = context.cache
        let linked: PreparedCopy? = try await offPool { _ in
            let recording = try Recording(item.recording)
            let identity = try recording.identity()
            try checkFinished(item, identity)
            guard let seal = try cache.link(recording, as: item.cachedName) else { return nil }
            return PreparedCopy(seal: seal, name: item.cachedName, identity: identity)
        }
        if let linked { return linked }
        reporter.report(.note("it cannot be linked into the cache, so it is copied"))
        return try await copy(item, marks: [])
    }

    // MARK: - By the media process

    /// Whether a copy of these bytes with these options has turned out no smaller before.
    private func isKnownToBeNoSmaller(_ item: Item) async throws -> Bool {
        for isDone in [true, false] {
            for other in try await context.list.items(like: item.identity, to: item.destination, done: isDone)
            where other.marks.contains(.keptOriginal) && other.options.preparation == item.options.preparation {
                if Acquaintance.compare(item.identity, with: other.identity) == .known {
                    reporter.report(
                        .note("compressing it has turned out to make it no smaller before, so it is uploaded as it is"))
                    return true
                }
            }
        }
        return false
    }

    private func compress(_ item: Item, _ settings: CompressSettings) async throws -> PreparedCopy {
        do {
            return try await convert(item, settings: settings)
        } catch let refusal as NotWorthwhile {
            let forecast = refusal.forecast
            // Changing the container reads all of it, and finds where it is cut off or torn.
            let remuxed: PreparedCopy
            do {
                remuxed = try await convert(item, settings: nil, isOnlyLookedAt: !forecast.isWorthRemuxing)
            } catch let fault as Fault where fault.code == .nothingToEncode {
                // No other container holds it, which shows only on the way.
                return try await keepOriginal(item, instead: forecast.size)
            }
            if !remuxed.marks.isEmpty {
                if !forecast.isWorthRemuxing { for loss in remuxed.losses { reporter.report(.loss(loss)) } }
                return remuxed
            }
            if !forecast.isWorthRemuxing { return try await keepOriginal(item, instead: forecast.size) }
            reporter.report(
                .note(
                    "compressed it would have about \(forecast.size.forReading) instead of "
                        + "\(item.identity.size.forReading), so only its container is changed"))
            return remuxed
        }
    }

    /// - Parameters:
    ///   - item: whose recording it is.
    ///   - settings: `nil` changes the container only.
    ///   - isOnlyLookedAt: whether a sound recording goes as it is afterwards, so that nothing of it is lost.
    /// - Returns: what was made.
    /// - Throws: `NotWorthwhile`, or a fault.
    private func convert(
        _ item: Item, settings: CompressSettings?, isOnlyLookedAt: Bool = false
    ) async throws -> PreparedCopy {
        var care = item.options.care ?? .standard
        if isOnlyLookedAt { care.isStrict = false }
        let cache = context.cache
        _ = try await offPool { _ in try cache.begin(item.cachedName).status() }
        let job = MediaJob(
            input: item.recording, output: cache.partPath(of: item.cachedName), settings: settings,
            threads: context.settings.threads, niceness: context.settings.niceness,
            stripsLocation: item.options.stripsLocation == true, care: care)
        // Held open all the while, so that its going away does not matter once it has been begun.
        let recording = try await offPool { _ in OpenRecording(try Recording(item.recording)) }
        // The recording's digest is taken meanwhile: it is read in any case, and the page cache is shared.
        async let digest = offPool { stop in try recording.value.digest(stop: stop) }
        let summary: MediaSummary
        let losses: [Loss]
        do {
            (summary, losses) = try await runMedia(job, tellsLosses: !isOnlyLookedAt)
        } catch let fault as Fault {
            return try await sendOriginal(item, insteadOf: fault)
        }
        let identity = item.identity.with(sha256: try await digest)
        // Nothing may have touched it between the first look and the last frame read.
        try await offPool { _ in
            try recording.value.checkUnchanged()
            guard try recording.value.identity().isUnchanged(from: identity) else { throw Self.changed }
        }
        let seal = try await offPool { _ in
            try cache.seal(item.cachedName, modified: identity.modified, sha256: nil)
        }
        // The recording as it is would tell the position.
        if settings != nil, !job.stripsLocation, summary.damage == nil,
            !CopyWorth.isSmallEnough(seal.size, for: identity.size)
        {
            return try await keepOriginal(item, instead: seal.size)
        }
        return PreparedCopy(
            seal: seal, name: item.cachedName, identity: identity, marks: summary.damage == nil ? [] : [.salvaged],
            losses: losses, media: summary)
    }

    private struct NotWorthwhile: Error {
        let forecast: CopyForecast
    }

    private static let changed = Fault(
        .recordingChanged, "it changed while it was encoded; it is taken again once it stays as it is",
        retry: .later(after: 2))

    /// What was encoded is no smaller: the recording goes as it is.
    private func keepOriginal(_ item: Item, instead size: ByteCount) async throws -> PreparedCopy {
        reporter.report(
            .note(
                "compressed it would have \(size.forReading) instead of \(item.identity.size.forReading), so it is "
                    + "uploaded as it is, with everything in it"))
        return try await copyOriginal(item, mark: .keptOriginal)
    }

    /// Where no copy can be made, or it is not right, the recording goes as it is if that is wanted, and nothing in it was to
    /// be left out.
    private func sendOriginal(_ item: Item, insteadOf fault: Fault) async throws -> PreparedCopy {
        let care = item.options.care ?? .standard
        let mark: Mark
        switch fault.code {
        case .damaged, .notFinalised:
            guard care.damaged == .upload else { throw fault }
            mark = .damaged
        case .verification:
            guard care.badResult == .original else { throw fault }
            mark = .rejectedCopy
        default: throw fault
        }
        if item.options.stripsLocation == true {
            throw Fault(
                fault.code,
                "\(Self.finding(fault)); it is not uploaded as it is, because it may tell the position, which is to be left out"
            )
        }
        reporter.report(.warning("\(Self.finding(fault)); it is uploaded as it is"))
        return try await copyOriginal(item, mark: mark)
    }

    /// What is wrong, without what can be done.
    private static func finding(_ fault: Fault) -> String {
        fault.reason.firstRange(of: ";").map { String(fault.reason[..<$0.lowerBound]) } ?? fault.reason
    }

    private func copyOriginal(_ item: Item, mark: Mark) async throws -> PreparedCopy {
        try context.cache.delete(item.cachedName)
        let name = try await context.list.freeName(
            for: item, preparation: .copy, taken: try context.cache.names())
        guard let renamed = try await context.commit(.preparationBegan(item.identity, name: name), to: item) else {
            throw CancellationError()
        }
        return try await copy(renamed, marks: [mark])
    }

    private func runMedia(_ job: MediaJob, tellsLosses: Bool) async throws -> (MediaSummary, [Loss]) {
        let media = try context.mediaProcess()
        let losses = Collected<Loss>()
        let reporter = reporter
        let crashPoints = context.crashPoints
        let log = context.log
        let stage: StageProgress.Stage = job.settings == nil ? .remuxing : .compressing
        let context = context
        let last = try await media.run(.prepare(job), isHeld: { context.isToKeepQuiet }) { event in
            switch event {
            case .progress(let progress):
                crashPoints.reach(.whilePreparing)
                let shown = progress.stage == .encoding ? stage : .checking
                reporter.progress(
                    shown, done: Int64(progress.fraction * 1000), total: 1000, counted: progress.frames)
            case .loss(let loss):
                losses.append(loss)
                if tellsLosses { reporter.report(.loss(loss)) }
            case .unfenced(let parts):
                log.info("the encoder runs without a part of its fence", ["missing": parts.joined(separator: ", ")])
            case .expected(let copy):
                let minutes = max(1, Int((copy.seconds / 60).rounded()))
                reporter.report(
                    .note("compressed it should have about \(copy.size.forReading); that takes about \(minutes) min"))
            case .made, .probed, .notWorthwhile, .failed: break
            }
        }
        if case .notWorthwhile(let forecast) = last { throw NotWorthwhile(forecast: forecast) }
        guard case .made(let summary) = last else {
            throw Fault(.encoderFailed, "the encoder gave no result")
        }
        return (summary, losses.all)
    }
}

/// A recording that several pieces of work read.
private final class OpenRecording: Sendable {
    let value: Recording

    init(_ value: consuming Recording) {
        self.value = value
    }
}

extension RecordingIdentity {
    fileprivate func with(sha256: SHA256Digest?) -> RecordingIdentity {
        var copy = self
        copy.sha256 = sha256
        return copy
    }
}
