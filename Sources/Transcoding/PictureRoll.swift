/// Holds the pictures that came out of a decoder against the packets that went in: some decoders leave out what they
/// cannot decode without a word.
struct PictureRoll {
    /// Times of packets whose pictures have not come.
    private var missing: Set<Int64> = []
    private var first: Int64?
    private var came: Int64 = 0
    private var matched: Int64 = 0
    /// A packet so soon behind a picture is its second field.
    private let fieldSpan: Int64

    /// A decoder holds back a few dozen; more than this are lost in any case.
    private static let most = 4096

    /// - Parameter usualDuration: of a picture, in the stream's time base.
    init(usualDuration: Int64) {
        fieldSpan = usualDuration * 3 / 4
    }

    /// A packet goes in that is to be shown at this time.
    mutating func sent(_ time: Int64) {
        if missing.count < Self.most { missing.insert(time) }
    }

    /// A picture came out, with the time of its packet.
    mutating func came(_ time: Int64) {
        came += 1
        first = min(first ?? time, time)
        if missing.remove(time) != nil { matched += 1 }
        for other in missing where other > time && other < time + fieldSpan { missing.remove(other) }
    }

    /// Packets behind the first picture of which none came, once the decoder has given all it had. 0 where the times of
    /// packets and pictures have nothing to do with each other.
    var unseen: Int64 {
        guard let first, matched > came / 2 else { return 0 }
        return Int64(missing.count { $0 > first })
    }
}
