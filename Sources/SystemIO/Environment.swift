import Glibc
package import IngestModel

/// Everything the program takes from its surroundings, read once at its start and handed down; nothing below the
/// commands reads the process environment.
package struct Environment: Sendable {
    package let variables: [String: String]
    package let workingDirectory: FilePath
    /// The directory of the program file, where the media process is looked for.
    package let programDirectory: FilePath
    package let crashPoints: CrashPoints

    package init(
        variables: [String: String], workingDirectory: FilePath, programDirectory: FilePath,
        crashPoints: CrashPoints = .none
    ) {
        self.variables = variables
        self.workingDirectory = workingDirectory
        self.programDirectory = programDirectory
        self.crashPoints = crashPoints
    }

    /// Of this process.
    package static func ofProcess() throws(SystemError) -> Environment {
        var variables: [String: String] = [:]
        var entry = environ
        while let text = entry.pointee {
            let pair = String(cString: text).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if pair.count == 2 { variables[String(pair[0])] = String(pair[1]) }
            entry += 1
        }
        guard let text = getcwd(nil, 0) else { throw .last("find the working directory") }
        defer { free(text) }
        guard let directory = FilePath(String(cString: text)) else {
            throw SystemError("find the working directory", code: ENOENT)
        }
        return Environment(
            variables: variables, workingDirectory: directory,
            programDirectory: try FileSystem.programPath().parent,
            crashPoints: CrashPoints(named: variables["INGEST_CRASH_AT"]))
    }

    /// A variable that is set and not empty.
    package subscript(name: String) -> String? {
        variables[name].flatMap { $0.isEmpty ? nil : $0 }
    }

    /// The program of this name that `PATH` leads to.
    package func program(_ name: StaticString) -> FilePath? {
        (self["PATH"] ?? "").split(separator: ":").lazy
            .compactMap { FilePath(String($0)) }.filter { $0.isAbsolute }.map { $0.appending(name) }
            .first { $0.withCString { access($0, X_OK) } == 0 }
    }

    package var home: FilePath? { absolutePath("HOME") }

    /// `$XDG_CACHE_HOME/Video`, default `~/.cache/Video`; `nil` where not even a home is known.
    package var videoCache: FilePath? { place("XDG_CACHE_HOME", else: ".cache", "Video") }

    /// `$XDG_STATE_HOME/ingest`, default `~/.local/state/ingest`.
    package var stateDirectory: FilePath? { place("XDG_STATE_HOME", else: ".local/state", "ingest") }

    /// `$XDG_DATA_HOME/ingest/received`, default `~/.local/share/ingest/received`.
    package var receivedDirectory: FilePath? { place("XDG_DATA_HOME", else: ".local/share", "ingest/received") }

    /// `$XDG_DATA_HOME/Trash`, default `~/.local/share/Trash`.
    package var trashDirectory: FilePath? { place("XDG_DATA_HOME", else: ".local/share", "Trash") }

    /// `$XDG_CONFIG_HOME/ingest/config.toml`, default `~/.config/ingest/config.toml`.
    package var configurationFile: FilePath? { place("XDG_CONFIG_HOME", else: ".config", "ingest/config.toml") }

    private func place(_ variable: String, else fallback: StaticString, _ below: StaticString) -> FilePath? {
        (absolutePath(variable) ?? home?.appending(fallback))?.appending(below)
    }

    /// Variables that are empty or not absolute count as unset (XDG base directory specification).
    private func absolutePath(_ name: String) -> FilePath? {
        guard let path = self[name].flatMap({ FilePath($0) }), path.isAbsolute else { return nil }
        return path
    }
}

/// Points at which a debug build kills itself on demand, so that tests can see what a sudden end leaves behind. A
/// release build has none.
package struct CrashPoints: Sendable {
    package enum Point: String, CaseIterable, Sendable {
        case afterEnqueue = "after-enqueue"
        case whilePreparing = "while-preparing"
        case beforeSeal = "before-seal"
        case afterSealStored = "after-seal-stored"
        case afterSealRenamed = "after-seal-renamed"
        case beforeOpen = "before-open"
        case afterOpenAnswered = "after-open-answered"
        case afterOpenStored = "after-open-stored"
        case beforeBlock = "before-block"
        case afterBlockAnswered = "after-block-answered"
        case afterBlockStored = "after-block-stored"
        case afterReceiptAnswered = "after-receipt-answered"
        case afterReceiptStored = "after-receipt-stored"
        case afterDoneStored = "after-done-stored"
        case afterCopyDeleted = "after-copy-deleted"
        case afterHookAnswered = "after-hook-answered"
        case afterDisposal = "after-disposal"
        case afterCancelStored = "after-cancel-stored"
        case beforeAbandon = "before-abandon"
        case afterAbandon = "after-abandon"
    }

    private let point: Point?
    /// The point is passed so many times before it counts.
    private let skips: Int
    private let passed = Counter()

    package static let none = CrashPoints(named: nil)

    /// `name` or `name:n`, the n-th time (from 1) the point is reached.
    init(named text: String?) {
        #if DEBUG
            let parts = (text ?? "").split(separator: ":")
            point = parts.first.flatMap { Point(rawValue: String($0)) }
            skips = max(1, parts.count > 1 ? Int(parts[1]) ?? 1 : 1) - 1
        #else
            point = nil
            skips = 0
        #endif
    }

    /// Ends the process as `kill -9` does, if this is the point that was asked for.
    package func reach(_ point: Point) {
        #if DEBUG
            if point == self.point, passed.next() == skips { kill(getpid(), SIGKILL) }
        #endif
    }
}
