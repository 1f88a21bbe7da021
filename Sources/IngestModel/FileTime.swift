/// A file's time stamp to the nanosecond, as `stat` gives it: seconds since 1970 UTC and nanoseconds in 0 ..< 10⁹.
package struct FileTime: Hashable, Comparable, Codable, Sendable {
    package let seconds: Int64
    package let nanoseconds: Int64

    package init(seconds: Int64, nanoseconds: Int64) {
        self.seconds = seconds
        self.nanoseconds = nanoseconds
    }

    /// Seconds since 1970 UTC, good to a microsecond.
    package var inSeconds: Double { Double(seconds) + Double(nanoseconds) / 1e9 }

    package static func < (left: FileTime, right: FileTime) -> Bool {
        (left.seconds, left.nanoseconds) < (right.seconds, right.nanoseconds)
    }
}
