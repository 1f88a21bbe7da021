import IngestModel

/// What a file's container says of whether the whole recording is there.
package enum ContainerVerdict: Hashable, Sendable {
    /// All that the container announces is in the file, and whoever wrote it has finished it.
    case complete
    /// Something is not there, or not yet; a clause for people, such as "its index (moov) is not written yet".
    case incomplete(String)
    /// This format, or this file of it, cannot prove it; a clause that says why.
    case unprovable(String)
}

/// Holds a file against what its own container announces.
///
/// A few looks only (`ByteProbe`), whatever the file says. What is looked at is what a copy or a recorder writes last: lengths that
/// are patched at the end, indexes, end marks, and whether the last bytes are more than reserved space. Nothing is decoded. Of
/// copies that do not go from the beginning to the end, as downloaders make them, only large holes are seen.
package enum ContainerProof {
    /// - Parameters:
    ///   - size: the file's, in bytes.
    ///   - read: gives so many bytes at an offset, fewer only at the end of the file.
    /// - Returns: the verdict on the file as it was while it was read.
    /// - Throws: what `read` throws.
    package static func examine<Failure: Error>(
        size: Int64, read: @escaping (_ offset: Int64, _ count: Int) throws(Failure) -> [UInt8]
    ) throws(Failure) -> ContainerVerdict {
        guard size > 0 else { return .incomplete("it is empty") }
        // Far from where offsets would not fit any more.
        guard size < 1 << 60 else { return .unprovable("no recording is so long") }
        var failure: Failure?
        let probe = ByteProbe(size: size) { offset, count in
            do throws(Failure) {
                return try read(offset, count)
            } catch {
                failure = error
                return nil
            }
        }
        let verdict = verdict(of: probe)
        if let failure { throw failure }
        if probe.isShort { return .unprovable("it became shorter while it was looked at") }
        if probe.isSpent { return .unprovable("it has too many parts to look at each") }
        return verdict
    }

    private static func verdict(of probe: ByteProbe) -> ContainerVerdict {
        let head = probe.bytes(at: 0, count: 512)
        // These may have space in reserve, so that only a part of them can have no holes.
        if let first = head.fourCC(4), MovieProof.beginnings.contains(first) { return MovieProof(probe).verdict() }
        let verdict = verdict(of: probe, head)
        return verdict == .complete && probe.hasHole(from: 0, to: probe.size) ? Missing.hole : verdict
    }

    private static func verdict(of probe: ByteProbe, _ head: [UInt8]) -> ContainerVerdict {
        switch head.fourCC(0) {
        case FourCC(0x1A45_DFA3): MatroskaProof(probe).verdict()
        case "RIFF", "RF64", "BW64": RIFFProof(probe).verdict()
        case "FORM": SmallProofs.aiff(probe)
        case "OggS": SmallProofs.ogg(probe)
        case SmallProofs.advancedSystems: SmallProofs.asf(probe)
        case MXFProof.label where head.big(4, 8) == 0x0205_0101_0D01_0201: MXFProof(probe).verdict()
        case _ where head.big(0, 3) == 0x464C56: SmallProofs.flv(probe)
        default: unproven(head, probe)
        }
    }

    /// Formats without an end of their own, by their first bytes.
    private static func unproven(_ head: [UInt8], _ probe: ByteProbe) -> ContainerVerdict {
        if head.allSatisfy({ $0 == 0 }) {
            let middle = probe.size / 2
            let isEmpty =
                probe.isEmpty(from: 0, to: min(4096, probe.size))
                && probe.isEmpty(from: middle, to: min(middle + 4096, probe.size))
                && probe.isEmpty(from: max(0, probe.size - 4096), to: probe.size)
            return isEmpty ? .incomplete("there are only zeros in it yet") : .unprovable("it begins with zeros")
        }
        for format in endless where format.fits(head) {
            return .unprovable("\(format.name) has no mark at its end")
        }
        return .unprovable("its format is not known")
    }

    /// A format whose files end anywhere.
    private struct Endless {
        let name: String
        let fits: @Sendable ([UInt8]) -> Bool
    }

    private static let endless = [
        Endless(name: "an MPEG transport stream") { head in
            [(0, 188), (4, 192), (0, 204)].contains { first, step in
                head.count > first + step && head[first] == 0x47 && head[first + step] == 0x47
            }
        },
        Endless(name: "an MPEG program stream") { $0.fourCC(0) == FourCC(0x0000_01BA) },
        Endless(name: "a raw video stream") { $0.big(0, 3) == 1 || $0.big(0, 4) == 1 },
        Endless(name: "raw DV") { $0.big(0, 3) == 0x1F0700 },
        Endless(name: "MP3") { $0.big(0, 3) == 0x494433 || ($0.big(0, 2) ?? 0) & 0xFFE6 == 0xFFE2 },
        Endless(name: "raw AAC") { ($0.big(0, 2) ?? 0) & 0xFFF6 == 0xFFF0 },
        Endless(name: "FLAC") { $0.fourCC(0) == "fLaC" },
        Endless(name: "IVF") { $0.fourCC(0) == "DKIF" },
        Endless(name: "YUV4MPEG") { $0.fourCC(0) == "YUV4" },
    ]
}
