package import FoundationEssentials
package import IngestModel
import SystemIO

/// Where deleted files can be got back from (FreeDesktop.org Trash specification 1.0).
package struct Trash: Sendable {
    /// `$XDG_DATA_HOME/Trash`.
    private let home: FilePath?
    private let user: UInt32
    private let now: @Sendable () -> Date

    private static let noteSuffix = ".trashinfo"

    package init(home: FilePath?, user: UInt32, now: @escaping @Sendable () -> Date) {
        self.home = home
        self.user = user
        self.now = now
    }

    /// Moves the file that lies at `path` into the trash of its disk, as if it still were at `original`.
    ///
    /// - Throws: `SystemError`, or a `Fault` where the disk has no trash. The file is where it was then.
    package func take(_ path: FilePath, as original: FilePath) throws {
        guard let name = original.name else { return }
        let device = try FileSystem.status(of: path, following: false).device
        let (trash, shown) = try place(for: original, on: device)
        let (files, info) = (trash.appending("files"), trash.appending("info"))
        try FileSystem.makeDirectory(files)
        try FileSystem.makeDirectory(info)
        let date = WallClock.time(now())
        let text = "[Trash Info]\nPath=\(shown)\nDeletionDate=\(Self.text(date))\n"
        for ordinal in 1...9999 {
            let taken = name.numbered(ordinal, limit: 255 - Self.noteSuffix.utf8.count)
            let note = info.appending(taken.appending(Self.noteSuffix))
            // Its note, made first and exclusively, makes the name ours.
            guard try Self.write(text, to: note) else { continue }
            guard try Self.rename(path, to: files.appending(taken), orRemove: note) else { continue }
            try FileSystem.synchroniseDirectory(files)
            return try FileSystem.synchroniseDirectory(path.parent)
        }
        throw Fault(.fileSystem, "the trash has no name left for it")
    }

    /// `false` if there is a file of that name.
    private static func write(_ text: String, to path: FilePath) throws(SystemError) -> Bool {
        do {
            let file = try FileSystem.open(path, .creating)
            try file.write(text)
            try file.synchronise()
            return true
        } catch {
            guard error.alreadyExists else { throw error }
            return false
        }
    }

    /// `false` if there is a file of that name; the note is gone then.
    private static func rename(
        _ path: FilePath, to target: FilePath, orRemove note: FilePath
    ) throws(SystemError) -> Bool {
        do {
            try FileSystem.renameWithoutReplacing(path, to: target)
            return true
        } catch {
            try FileSystem.remove(note)
            guard error.alreadyExists else { throw error }
            return false
        }
    }

    /// The trash directory of the file's disk, and how the file's path is written there.
    private func place(for original: FilePath, on device: UInt64) throws -> (trash: FilePath, path: String) {
        if let home, try Self.device(ofNearest: home) == device { return (home, original.percentEncoded) }
        let top = try Self.top(of: original.parent, device)
        let below = String(original.percentEncoded.dropFirst(top == .root ? 1 : top.percentEncoded.utf8.count + 1))
        let shared = top.appending(".Trash")
        if let status = try FileSystem.statusIfExists(of: shared, following: false), status.kind == .directory,
            status.permissions & 0o1000 != 0, let own = FileName("\(user)")
        {
            return (shared.appending(own), below)
        }
        guard let own = FileName(".Trash-\(user)") else { preconditionFailure("a number makes a file name") }
        let trash = top.appending(own)
        do {
            try FileSystem.makeDirectory(trash)
            let status = try FileSystem.status(of: trash, following: false)
            guard status.kind == .directory, status.owner == user else {
                throw Fault(.fileSystem, "\(trash.text) is no trash of yours")
            }
        } catch let error as SystemError {
            throw Fault(.fileSystem, "the disk it is on can have no trash: \(error)")
        }
        return (trash, below)
    }

    private static func device(ofNearest path: FilePath) throws(SystemError) -> UInt64? {
        var path = path
        while true {
            if let status = try FileSystem.statusIfExists(of: path) { return status.device }
            if path.parent == path { return nil }
            path = path.parent
        }
    }

    /// The directory at which the disk is mounted.
    private static func top(of directory: FilePath, _ device: UInt64) throws(SystemError) -> FilePath {
        var top = directory
        while top.parent != top, try FileSystem.status(of: top.parent).device == device { top = top.parent }
        return top
    }

    private static func text(_ time: WallTime) -> String {
        func padded(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let day = "\(time.year)-\(padded(time.month))-\(padded(time.day))"
        return "\(day)T\(padded(time.hour)):\(padded(time.minute)):\(padded(time.second))"
    }
}
