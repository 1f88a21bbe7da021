/// MXF (SMPTE ST 377-1): the header says "closed and complete", which is written over it when all else is there, and the index of
/// partitions (Random Index Pack) stands at the end.
struct MXFProof {
    /// How every key begins.
    static let label = FourCC(0x060E_2B34)

    /// The least length of a Random Index Pack: key, length, one entry, and its own length.
    private static let shortestIndex: UInt64 = 16 + 1 + 12 + 4
    private static let indexKey: UInt64 = 0x0205_0101_0D01_0201
    private static let partitionKinds = (header: UInt8(2), index: UInt8(0x11))

    private let probe: ByteProbe

    init(_ probe: ByteProbe) {
        self.probe = probe
    }

    func verdict() -> ContainerVerdict {
        let key = probe.bytes(at: 0, count: 16)
        guard key.count == 16 else { return .incomplete("there is only its beginning") }
        guard key[13] == Self.partitionKinds.header else { return .unprovable("it does not begin with its header") }
        // 1 open, 2 closed, both with more to come; 3 and 4 the same, complete.
        let isClosed = key[14] == 4
        guard hasIndex else {
            if !isClosed { return .incomplete("its header is not closed yet") }
            if let footer, footer >= probe.size { return Missing.part(probe.size, of: footer) }
            return .unprovable("it has no index of its parts at the end")
        }
        return isClosed ? .complete : .unprovable("its header was never closed")
    }

    /// Where the header says that the last partition begins: behind two versions of 2 bytes, a grid of 4, two offsets of 8.
    private var footer: Int64? {
        let head = probe.bytes(at: 16, count: 9 + 32)
        guard let first = head.first else { return nil }
        let value = first < 0x80 ? 1 : 1 + Int(first & 0x7F)
        guard value <= 9, let footer = head.big(value + 24, 8), footer > 0 else { return nil }
        return Int64(clamping: footer)
    }

    /// Whether the file's last four bytes are the length of an index that begins so far before the end.
    private var hasIndex: Bool {
        guard let length = probe.bytes(at: probe.size - 4, count: 4).big(0, 4), length >= Self.shortestIndex,
            Int64(clamping: length) < probe.size
        else { return false }
        let key = probe.bytes(at: probe.size - Int64(clamping: length), count: 16)
        return key.fourCC(0) == Self.label && key.big(4, 8) == Self.indexKey && key.count > 13
            && key[13] == Self.partitionKinds.index
    }
}
