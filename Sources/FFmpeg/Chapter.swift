import CFFmpeg

/// A chapter mark.
package struct Chapter: Hashable, Sendable {
    /// In the time base.
    package let start: Int64
    package let end: Int64
    package let timeBase: Rational
    package let title: String?

    package init(start: Int64, end: Int64, timeBase: Rational, title: String?) {
        self.start = start
        self.end = end
        self.timeBase = timeBase
        self.title = title
    }

    init(_ chapter: AVChapter) {
        self.init(
            start: chapter.start, end: chapter.end, timeBase: Rational(chapter.time_base),
            title: Metadata.read(chapter.metadata)["title"])
    }
}
