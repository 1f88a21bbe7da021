import Checksums
package import Diagnostics
import FoundationEssentials
import HTTPClient
package import IngestModel
package import SystemIO

/// A directory on a disk, or one that another machine lends (NFS, SMB): copied beside its name, read back, then named.
package struct DirectoryDestination: Destination {
    private let directory: FilePath
    private let crashPoints: CrashPoints
    private let log: Log
    /// Bytes between two times that what is there is synced and written down.
    private let step: Int64
    private let sharesBlocks: Bool

    package static let step: Int64 = 64 << 20
    /// Bytes that are read and written at once.
    private static let piece = 4 << 20
    private static let mostRestarts = 2

    /// - Parameters:
    ///   - directory: its absolute path.
    ///   - step: bytes between two times that the progress is made sure of.
    ///   - sharesBlocks: whether the copy may share the blocks of the cached one, where the file system can do that.
    ///   - crashPoints: where to end, for tests.
    ///   - log: where steps are told.
    package init(
        _ directory: FilePath, step: Int64 = Self.step, sharesBlocks: Bool = true, crashPoints: CrashPoints = .none,
        log: Log = .none
    ) {
        self.directory = directory
        self.step = step
        self.sharesBlocks = sharesBlocks
        self.crashPoints = crashPoints
        self.log = log
    }

    package func upload(
        _ source: UploadSource, from remote: RemoteState?, ledger: any UploadLedger
    ) async throws -> Receipt {
        let device = try await offPool { _ in try self.device() }
        var state = try await begin(source, device, from: remote, ledger: ledger)
        for _ in 0...Self.mostRestarts {
            if let name = state.name, let receipt = try await published(name, source) { return receipt }
            try await copy(source, &state, ledger)
            if let receipt = try await publish(source, &state, ledger) { return receipt }
            state = Self.fresh(source, device)
            try await ledger.abandon(replacement: .directory(state))
        }
        throw Fault(
            .receiptMismatch,
            "what is read back from \(directory.text) is not the copy, several times over; memory, disk or link damages data"
        )
    }

    // MARK: - Steps

    /// The directory's file system, if the directory is there.
    private func device() throws -> UInt64 {
        do {
            let status = try FileSystem.status(of: directory)
            guard status.kind == .directory else {
                throw Fault(.refused, "\(directory.text) is not a directory")
            }
            return status.device
        } catch let fault as Fault {
            throw fault
        } catch {
            throw Fault(
                .unreachable, "the directory \(directory.text) is not there (\(error)); is its disk mounted?",
                retry: .later(after: nil))
        }
    }

    private func begin(
        _ source: UploadSource, _ device: UInt64, from remote: RemoteState?, ledger: any UploadLedger
    ) async throws -> DirectoryLedger {
        if case .directory(let known) = remote, known.seal == source.seal.id, known.fileSize == source.seal.size {
            guard known.device == device else {
                throw Fault(
                    .unreachable, "another disk than before is at \(directory.text); is the right one mounted?",
                    retry: .later(after: nil))
            }
            return known
        }
        let fresh = Self.fresh(source, device)
        if remote == nil {
            try await ledger.save(.directory(fresh), progressed: false)
        } else {
            try await ledger.abandon(replacement: .directory(fresh))
        }
        return fresh
    }

    private static func fresh(_ source: UploadSource, _ device: UInt64) -> DirectoryLedger {
        DirectoryLedger(
            seal: source.seal.id, fileSize: source.seal.size, device: device,
            part: ".ingest-\(Hex.text(Secret.randomBytes(count: 8))).part")
    }

    /// Copies what is not there yet. What was written down as there has been synced; should it be wrong all the same, reading it
    /// back shows that.
    private func copy(_ source: UploadSource, _ state: inout DirectoryLedger, _ ledger: any UploadLedger) async throws {
        let size = source.seal.size.value
        let path = try part(state)
        let isFirst = state.offset.value == 0
        crashPoints.reach(.beforeOpen)
        let isShared = try await attempt {
            // Others are to find it there as if it had been copied by hand.
            let file = try FileSystem.open(path, .openingOrCreating, isPrivate: false)
            if !isFirst { return false }
            try file.truncate(to: 0)
            return sharesBlocks && file.reflink(from: source.file.descriptor)
        }
        crashPoints.reach(.afterOpenAnswered)
        if isShared {
            log.debug("shared the blocks", ["bytes": "\(size)"])
            state.offset = source.seal.size
        } else if isFirst {
            try await ledger.save(.directory(state), progressed: false)
            crashPoints.reach(.afterOpenStored)
        }
        while state.offset.value < size {
            crashPoints.reach(.beforeBlock)
            let start = state.offset.value
            let end = min(size, start + step)
            try await copy(start..<end, source, to: path, ledger)
            crashPoints.reach(.afterBlockAnswered)
            state.offset = ByteCount(end)
            try await ledger.save(.directory(state), progressed: true)
            crashPoints.reach(.afterBlockStored)
            source.passed(end)
        }
    }

    private func copy(
        _ range: Range<Int64>, _ source: UploadSource, to path: FilePath, _ ledger: any UploadLedger
    ) async throws {
        var position = range.lowerBound
        while position < range.upperBound {
            try Task.checkCancellation()
            var wanted = min(Self.piece, Int(range.upperBound - position))
            if !source.limiters.isEmpty {
                wanted = RateLimiter.take(wanted, from: source.limiters)
                if wanted == 0 {
                    try await Task.sleep(for: .seconds(max(0.01, min(1, RateLimiter.delay(of: source.limiters)))))
                    continue
                }
            }
            let (start, count) = (position, wanted)
            try await attempt {
                let bytes = try source.file.descriptor.read(at: start, count: count)
                guard bytes.count == count else {
                    throw Fault(.copyChanged, "its copy in the cache became shorter while it was uploaded")
                }
                try FileSystem.open(path, .readingAndWriting).write(bytes.span, at: start)
            }
            position += Int64(count)
            ledger.inFlight(position - range.lowerBound)
        }
        try await attempt { try FileSystem.open(path, .readingAndWriting).synchronise() }
    }

    /// Reads back what is there, and names it. `nil` where it is not what was sent; then it is gone.
    private func publish(
        _ source: UploadSource, _ state: inout DirectoryLedger, _ ledger: any UploadLedger
    ) async throws -> Receipt? {
        let path = try part(state)
        let digest = try await source.digest()
        let isRight = try await attempt {
            let file = try FileSystem.open(path, .readingAndWriting)
            try file.truncate(to: source.seal.size.value)
            try file.setModified(source.seal.modified)
            try file.synchronise()
            file.forgetCached()
            return try MessageDigest.sha256.value(of: 0..<source.seal.size.value, in: file) == digest.bytes
        }
        guard isRight else {
            _ = try await attempt { try FileSystem.removeIfExists(path) }
            return nil
        }
        guard let wish = FileName(source.name) else {
            throw Fault(.refused, "the name “\(source.name.printable)” is none that a file can have")
        }
        for ordinal in 1...9999 {
            let name = wish.numbered(ordinal)
            let target = directory.appending(name)
            if FileSystem.exists(target) { continue }
            state.name = name.text
            try await ledger.save(.directory(state), progressed: false)
            let isNamed = try await attempt { () throws -> Bool in
                do {
                    try FileSystem.renameWithoutReplacing(path, to: target)
                } catch let error as SystemError where error.alreadyExists {
                    return false
                }
                try FileSystem.synchroniseDirectory(directory)
                return true
            }
            guard isNamed else { continue }
            crashPoints.reach(.afterReceiptAnswered)
            return receipt(target, source, digest)
        }
        throw Fault(.refused, "every name like “\(source.name.printable)” is taken in \(directory.text)")
    }

    /// The file that was named before a sudden end, if it is the copy.
    private func published(_ name: String, _ source: UploadSource) async throws -> Receipt? {
        guard let name = FileName(name) else { return nil }
        let target = directory.appending(name)
        let digest = try await source.digest()
        let isThere = try await attempt {
            guard let status = try FileSystem.statusIfExists(of: target, following: false), status.kind == .regular,
                status.size == source.seal.size
            else { return false }
            let file = try FileSystem.open(target, .reading)
            return try MessageDigest.sha256.value(of: 0..<source.seal.size.value, in: file) == digest.bytes
        }
        return isThere ? receipt(target, source, digest) : nil
    }

    private func receipt(_ target: FilePath, _ source: UploadSource, _ digest: SHA256Digest) -> Receipt {
        Receipt(url: target.fileURL, size: source.seal.size, sha256: digest, proof: .digest)
    }

    private func part(_ state: DirectoryLedger) throws(Fault) -> FilePath {
        guard let name = FileName(state.part) else { throw Fault(.fileSystem, "the list names a file that cannot be") }
        return directory.appending(name)
    }

    /// Work on the directory, which may go away in the middle.
    private func attempt<Result: Sendable>(_ work: @escaping @Sendable () throws -> Result) async throws -> Result {
        do {
            return try await offPool { _ in try work() }
        } catch let error as SystemError {
            if error.isOutOfSpace {
                throw Fault(
                    .farSideFull, "there is no room left in \(directory.text)", retry: .later(after: nil))
            }
            if error.isPermission {
                throw Fault(.refused, "\(directory.text) cannot be written to (\(error))")
            }
            throw Fault(
                .unreachable, "\(error); is the disk of \(directory.text) still there?", retry: .later(after: nil))
        }
    }

    // MARK: - Giving up

    package func abandon(_ remote: RemoteState, named name: String) async throws -> Abandonment {
        guard case .directory(let state) = remote else { return .leftToExpire }
        let device = try await offPool { _ in try self.device() }
        guard device == state.device else {
            throw Fault(
                .unreachable, "another disk than before is at \(directory.text)", retry: .later(after: nil))
        }
        let path = try part(state)
        crashPoints.reach(.beforeAbandon)
        let wasThere = try await attempt { try FileSystem.removeIfExists(path) }
        crashPoints.reach(.afterAbandon)
        return wasThere ? .dropped : .leftToExpire
    }
}
