package import FoundationEssentials
package import IngestModel
import SystemIO

/// Does with a recording what `--after` asks for, and only if it is still the very file that was uploaded.
///
/// A file can be exchanged for another between a look and a deletion. So it first gets a name that nobody else uses, is
/// looked at under that, and gets its own back if it is not the one. Done again after a sudden end it goes on from there.
package struct RecordingDisposal: Sendable {
    private let recording: FilePath
    private let identity: RecordingIdentity
    /// Where the recording is while it is looked at.
    private let aside: FilePath

    /// - Parameters:
    ///   - recording: its path.
    ///   - identity: what was uploaded.
    ///   - id: the item's; names the file for the moment in which it has no name.
    package init(recording: FilePath, identity: RecordingIdentity, id: UUID) {
        self.recording = recording
        self.identity = identity
        guard let name = FileName(".ingest-\(id.uuidString.lowercased())") else {
            preconditionFailure("a UUID makes a file name")
        }
        aside = recording.parent.appending(name)
    }

    /// - Parameters:
    ///   - action: what is asked for.
    ///   - trash: where trash goes.
    /// - Throws: a `Fault` in words; the recording is then where it was.
    package func carryOut(_ action: AfterAction, trash: Trash) throws(Fault) {
        do {
            switch action {
            case .keep: return
            case .delete:
                if try takeAside() { try delete() }
            case .trash:
                if try takeAside() { try orPutBack { try trash.take(aside, as: recording) } }
            case .move(let directory): try move(into: directory)
            }
        } catch let fault as Fault {
            throw fault
        } catch {
            throw Fault(.fileSystem, "\(error)")
        }
    }

    /// Gives the recording its other name. `false` if there is nothing left to do: it is gone.
    private func takeAside() throws -> Bool {
        guard let status = try FileSystem.statusIfExists(of: recording, following: false) else {
            guard try FileSystem.statusIfExists(of: aside, following: false) != nil else { return false }
            return try isStillTheOne(aside)
        }
        if status.kind == .link {
            throw Fault(.notAFile, "it was reached through a symbolic link, and what that points to is left alone")
        }
        guard try isStillTheOne(recording) else { return false }
        try FileSystem.renameWithoutReplacing(recording, to: aside)
        return try orPutBack { try isStillTheOne(aside) }
    }

    /// Always `true`; a fault says what is different.
    private func isStillTheOne(_ path: FilePath) throws(Fault) -> Bool {
        let present = try Recording(path)
        guard try present.identity().isUnchanged(from: identity) else {
            throw Fault(.recordingChanged, "it is no longer the file that was uploaded, and is left alone")
        }
        if present.file.hasWriter() == true {
            throw Fault(.recordingChanged, "another program has it open for writing, and it is left alone")
        }
        return true
    }

    private func orPutBack<Result>(_ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch {
            try FileSystem.renameWithoutReplacing(aside, to: recording)
            throw error
        }
    }

    private func delete() throws(SystemError) {
        try FileSystem.remove(aside)
        try FileSystem.synchroniseDirectory(aside.parent)
    }

    // MARK: - Moving

    private func move(into directory: FilePath) throws {
        guard let name = recording.name else { return }
        guard let status = try FileSystem.statusIfExists(of: directory), status.kind == .directory else {
            throw Fault(.fileSystem, "there is no directory \(directory.text) to move it to")
        }
        if status.device != identity.device { return try moveByCopying(into: directory, name) }
        guard try takeAside() else { return }
        try orPutBack {
            try Self.withFreeName(like: name, in: directory) { (target) throws(SystemError) in
                try FileSystem.renameWithoutReplacing(aside, to: target)
            }
        }
        try FileSystem.synchroniseDirectory(directory)
        try FileSystem.synchroniseDirectory(recording.parent)
    }

    private func moveByCopying(into directory: FilePath, _ name: FileName) throws {
        guard try takeAside() else { return }
        try orPutBack {
            let source = try Recording(aside)
            // Copied already, by somebody who came to a sudden end before the recording could go.
            if try !Self.holds(identity, as: name, in: directory) { try Self.copy(source, as: name, into: directory) }
        }
        try delete()
    }

    private static func copy(_ source: borrowing Recording, as name: FileName, into directory: FilePath) throws {
        let part = directory.appending(name.appending(CachedName.partSuffix))
        try FileSystem.removeIfExists(part)
        do {
            let file = try FileSystem.open(part, .creating)
            let copied = try file.copy(from: source.file, size: source.size, progress: { _ in }, passing: { _ in })
            guard copied.count == source.size else {
                throw Fault(.recordingChanged, "it became shorter while it was moved")
            }
            try file.setModified(source.modified)
            try withFreeName(like: name, in: directory) { (target) throws(SystemError) in
                try FileSystem.publish(file, from: part, to: target)
            }
        } catch {
            try FileSystem.removeIfExists(part)
            throw error
        }
    }

    private static func holds(_ identity: RecordingIdentity, as name: FileName, in directory: FilePath) throws -> Bool {
        guard let there = Recording.identityIfPresent(at: directory.appending(name)) else { return false }
        return there.hasSameContent(as: identity) && there.modified == identity.modified
    }

    /// Calls with `name`, `name-2` … until one is free.
    private static func withFreeName(
        like name: FileName, in directory: FilePath, _ body: (FilePath) throws(SystemError) -> Void
    ) throws(SystemError) {
        for ordinal in 1...9999 {
            do {
                return try body(directory.appending(name.numbered(ordinal)))
            } catch {
                guard error.alreadyExists else { throw error }
            }
        }
        throw SystemError("find a free name for", directory.appending(name), code: SystemError.outOfSpaceCode)
    }
}

extension FileName {
    /// `clip.mov`, `clip-2.mov`, `clip-3.mov` …
    func numbered(_ ordinal: Int) -> FileName {
        if ordinal <= 1 { return self }
        let ending = fileExtension.isEmpty ? [] : [UInt8(ascii: ".")] + fileExtension
        return FileName(bytes: stem + Array("-\(ordinal)".utf8) + ending) ?? appending("-\(ordinal)")
    }
}
