package import IngestModel
package import SystemIO

/// What is taken from a folder, and how it is watched.
package struct WatchRules: Hashable, Sendable {
    /// Names that are taken; empty for everything that looks like a recording.
    package var includes: [FileGlob] = []
    package var excludes: [FileGlob] = []
    /// Smaller files are left alone.
    package var smallest = ByteCount(0)
    /// Seconds since the last change before which a file is left alone.
    package var youngest = 0.0
    package var isRecursive = true
    /// Whether what lies beside a recording goes with it.
    package var groups = true
    /// Seconds without a change after which a file counts as finished where neither kernel nor container can tell.
    package var settlingTime = 2.0
    /// Whether directories are listed again and again rather than watched.
    package var polls = false
    /// Seconds between two looks at what cannot be watched.
    package var pollInterval = 5.0
    /// Seconds between two looks at everything, which bound what a lost event can cost.
    package var scanInterval = 600.0

    /// Directories of our own, by absolute paths without links: what is made there is no recording of anybody's.
    package var own: Set<FilePath> = []

    package init() {}

    /// Whether a file of this path, relative to the folder, is meant.
    package func admits(_ path: FilePath) -> Bool {
        guard let kind = path.name.map(RecordingNames.kind), kind != .temporary else { return false }
        if excludes.contains(where: { $0.matches(path) }) { return false }
        if groups, let place = RecordingPlace(path), place.role.isCompanion { return true }
        return includes.isEmpty ? kind == .recording : includes.contains { $0.matches(path) }
    }

    /// Whether a directory of this path, relative to the folder, is looked into.
    package func entersDirectory(_ path: FilePath) -> Bool {
        guard isRecursive, let name = path.name, !RecordingNames.isSkipped(directory: name) else { return false }
        return !excludes.contains { $0.matches(path) }
    }
}
