import FFmpeg

/// A recording's chapters, on the copy's time line.
enum ChapterMarks {
    /// From nothing on, in their order; what lies before the beginning is cut. One without an end lasts until the next.
    static func of(_ input: InputFile) -> [Chapter] {
        let offset = Source.startOffset(input)
        let marks = input.chapters.compactMap { (chapter) -> Chapter? in
            guard chapter.timeBase.isPositive, chapter.timeBase.isPlausible(chapter.start) else { return nil }
            let shift = chapter.timeBase.rescale(offset, from: Source.microseconds)
            let start = max(0, chapter.start - shift)
            let isEndKnown = chapter.timeBase.isPlausible(chapter.end) && chapter.end - shift > start
            return Chapter(
                start: start, end: isEndKnown ? chapter.end - shift : start, timeBase: chapter.timeBase,
                title: chapter.title)
        }.sorted { Rational.compare($0.start, $0.timeBase, $1.start, $1.timeBase) < 0 }
        return marks.enumerated().map { number, chapter in
            if chapter.end > chapter.start { return chapter }
            let next = number + 1 < marks.count ? marks[number + 1] : nil
            let end =
                next.map { chapter.timeBase.rescale($0.start, from: $0.timeBase) }
                ?? chapter.timeBase.rescale(Int64((input.duration ?? 0) * 1_000_000), from: Source.microseconds)
            return Chapter(
                start: chapter.start, end: max(chapter.start + 1, end), timeBase: chapter.timeBase,
                title: chapter.title)
        }
    }
}
