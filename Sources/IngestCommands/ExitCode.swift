/// How the program ends.
package enum ExitCode: Int32, Sendable {
    case done = 0
    case failed = 1
    /// Wrong usage, an unknown id, a directory as file.
    case usage = 2
    /// Some files done, some failed.
    case partly = 3
    /// Not now: kept on the list, a later run goes on.
    case later = 75
    case interrupted = 130

    /// Of several files: interrupted, else wrong usage, else failed or partly, else later, else done.
    package static func combined(_ all: [ExitCode]) -> ExitCode {
        if all.contains(.interrupted) { return .interrupted }
        if all.contains(.usage) { return .usage }
        if all.contains(.failed) || all.contains(.partly) {
            return all.contains(.done) || all.contains(.partly) ? .partly : .failed
        }
        return all.contains(.later) ? .later : .done
    }
}
