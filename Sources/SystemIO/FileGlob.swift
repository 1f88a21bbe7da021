import Glibc
package import IngestModel

/// A pattern that names match (`fnmatch(3)`), such as `*.mov`; upper and lower case are the same.
package struct FileGlob: Hashable, Sendable, CustomStringConvertible {
    package let description: String
    /// A pattern with a slash is held against the path below the folder, one without against the name.
    private let isForPaths: Bool

    /// `nil` for an empty pattern.
    package init?(_ pattern: String) {
        if pattern.isEmpty || pattern.utf8.contains(0) { return nil }
        isForPaths = pattern.contains("/")
        description = pattern.hasPrefix("/") ? String(pattern.dropFirst()) : pattern
    }

    /// Whether the pattern fits a path that is relative to the folder.
    package func matches(_ path: FilePath) -> Bool {
        guard let subject = isForPaths ? path : path.name.flatMap({ FilePath(bytes: $0.bytes) }) else { return false }
        // FNM_CASEFOLD is GNU's (1 << 4).
        return subject.withCString { fnmatch(description, $0, 1 << 4) } == 0
    }
}
