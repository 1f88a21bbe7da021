import IngestModel
import SystemIO

/// The directories of a folder that are being watched or polled, each once, whatever links lead to it.
struct DirectoryTable {
    struct Place: Hashable {
        let device: UInt64
        let inode: UInt64
    }

    struct Entry {
        let path: FilePath
        /// `nil` for one that is polled.
        let watch: Int32?
        /// The last full scan that came through it.
        var scan: Int
    }

    private var entries: [Place: Entry] = [:]
    private var places: [Int32: Place] = [:]

    var polled: [FilePath] { entries.values.filter { $0.watch == nil }.map { $0.path } }
    var hasPolled: Bool { entries.count > places.count }
    var count: Int { entries.count }

    subscript(place: Place) -> Entry? { entries[place] }

    func path(ofWatch watch: Int32) -> FilePath? { places[watch].flatMap { entries[$0]?.path } }

    mutating func note(_ place: Place, _ entry: Entry) {
        if let old = entries[place]?.watch, old != entry.watch { places[old] = nil }
        entries[place] = entry
        if let watch = entry.watch { places[watch] = place }
    }

    func paths(within directory: FilePath) -> [FilePath] {
        entries.values.filter { $0.path.isWithin(directory) }.map { $0.path }
    }

    /// The kernel has ended the watch.
    mutating func remove(watch: Int32) {
        guard let place = places.removeValue(forKey: watch) else { return }
        entries[place] = nil
    }

    /// Forgets the directories that fit, and returns the watches on them.
    mutating func removeAll(where isMeant: (Entry) -> Bool) -> [Int32] {
        var watches: [Int32] = []
        for (place, entry) in entries where isMeant(entry) {
            entries[place] = nil
            if let watch = entry.watch {
                places[watch] = nil
                watches.append(watch)
            }
        }
        return watches
    }
}
