import IngestModel

/// Looks into a file of a known size, a little at a time and never more than a fixed amount: whatever the file says, there are at
/// most `mostCalls` reads and `mostBytes` bytes. Beyond that, and after a failure, every look finds nothing.
final class ByteProbe {
    static let mostCalls = 2048
    static let mostBytes = 2 << 20
    /// What a look at a few bytes takes along, so that the next header is often there already.
    private static let ahead = 512
    /// The kernel keeps files in pages of 4 KiB, and what copies files writes whole ones.
    private static let page: Int64 = 4096
    private static let samples: Int64 = 24

    let size: Int64
    /// Whether more was asked for than is given: no verdict may rest on what was not found then.
    private(set) var isSpent = false
    /// Whether the file had less than its size promises.
    private(set) var isShort = false

    private let fetch: (Int64, Int) -> [UInt8]?
    private var window: [UInt8] = []
    private var windowStart: Int64 = 0
    private var calls = 0
    private var taken = 0

    /// - Parameters:
    ///   - size: the file's, in bytes.
    ///   - fetch: reads so many bytes at an offset; fewer at the end of the file, `nil` when it fails.
    init(size: Int64, fetch: @escaping (Int64, Int) -> [UInt8]?) {
        self.size = size
        self.fetch = fetch
    }

    /// The bytes there, fewer at the end of the file.
    func bytes(at offset: Int64, count: Int) -> [UInt8] {
        guard offset >= 0, offset < size, count > 0 else { return [] }
        let wanted = Int(min(Int64(count), size - offset))
        if offset < windowStart || offset - windowStart > Int64(window.count - wanted) {
            fill(at: offset, count: Int(min(Int64(max(wanted, Self.ahead)), size - offset)))
        }
        let start = Int(offset - windowStart)
        guard start <= window.count else { return [] }
        return Array(window[start...].prefix(wanted))
    }

    /// Whether the file is nothing but zeros between two offsets; no more than the last 64 KiB are looked at.
    func isEmpty(from start: Int64, to end: Int64) -> Bool {
        let first = max(0, start, end - 65536)
        let looked = bytes(at: first, count: Int(max(0, end - first)))
        return !looked.isEmpty && looked.allSatisfy { $0 == 0 }
    }

    /// Whether the last bytes before `end` look as if they had not been copied yet: zeros from the last page's beginning on, of
    /// which 16 are enough.
    func endsEmpty(at end: Int64) -> Bool {
        let inLastPage = end % Self.page
        return isEmpty(from: end - (inLastPage == 0 ? 16 : min(16, inLastPage)), to: end)
    }

    /// Whether one of a few places, evenly spread, is a page of nothing but zeros, as in space that is filled in several places at
    /// once.
    func hasHole(from start: Int64, to end: Int64) -> Bool {
        let first = (start + Self.page - 1) / Self.page
        let pages = end / Self.page - first
        return stride(from: first, to: first + max(0, pages), by: Int(max(1, pages / Self.samples)))
            .contains { number in
                let place = number * Self.page
                return isEmpty(from: place, to: place + 16) && isEmpty(from: place, to: place + Self.page)
            }
    }

    /// Says that there is more than is going to be looked at.
    func giveUp() {
        isSpent = true
    }

    private func fill(at offset: Int64, count: Int) {
        window = []
        windowStart = offset
        guard !isSpent, calls < Self.mostCalls, taken + count <= Self.mostBytes else {
            isSpent = true
            return
        }
        calls += 1
        taken += count
        guard let read = fetch(offset, count) else {
            isSpent = true
            return
        }
        window = Array(read.prefix(count))
        if window.count < count { isShort = true }
    }
}

/// Four characters that name a part of a file, as most containers have them.
struct FourCC: Hashable, ExpressibleByStringLiteral {
    let code: UInt32

    init(_ code: UInt32) {
        self.code = code
    }

    init(stringLiteral text: String) {
        code = text.utf8.prefix(4).reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// Whether all four are printable ASCII, as every name in use is but for QuickTime's `©`.
    var isPrintable: Bool {
        [code >> 24, code >> 16, code >> 8, code].allSatisfy { (0x20...0x7E).contains($0 & 0xFF) }
    }
}

extension [UInt8] {
    /// The whole number of so many bytes at an index, most significant first; `nil` where they are not all there.
    func big(_ index: Int, _ length: Int) -> UInt64? {
        guard index >= 0, index <= count - length else { return nil }
        return self[index..<index + length].reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// The same, least significant first.
    func little(_ index: Int, _ length: Int) -> UInt64? {
        guard index >= 0, index <= count - length else { return nil }
        return self[index..<index + length].reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }

    func fourCC(_ index: Int) -> FourCC? {
        big(index, 4).map { FourCC(UInt32(truncatingIfNeeded: $0)) }
    }
}

extension Int64 {
    /// The sum with a length a file names; the greatest number where it does not fit.
    func reaching(_ length: UInt64) -> Int64 {
        let (sum, overflow) = addingReportingOverflow(Int64(clamping: length))
        return overflow ? .max : sum
    }
}

/// How verdicts say what is missing.
enum Missing {
    static let empty = ContainerVerdict.incomplete("its end is still empty (space that was reserved for it)")
    static let emptyEnd = ContainerVerdict.unprovable("its end is empty, as in a copy under way")
    static let hole = ContainerVerdict.unprovable("there are empty places in it, as in a copy under way")
    static let behind = ContainerVerdict.unprovable("more bytes follow behind its end")

    /// A length that no recording has is what a recorder writes before it knows.
    private static let unlikely: Int64 = 1 << 50

    static func part(_ there: Int64, of whole: Int64) -> ContainerVerdict {
        if whole > unlikely { return unfinished }
        let there = ByteCount(max(0, there)), whole = ByteCount(max(0, whole))
        if there.forReading == whole.forReading {
            return .incomplete("\(there.value) of \(whole.value) bytes are there")
        }
        return .incomplete("\(there.forReading) of \(whole.forReading) are there")
    }

    static let unfinished = ContainerVerdict.incomplete("it is still being recorded: its length is not written yet")
}
