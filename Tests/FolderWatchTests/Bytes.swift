import FolderWatch
import Foundation
import IngestModel
import IngestTestSupport

/// A verdict, with the bounds on what it may cost held.
func examine(_ bytes: [UInt8], size: Int64? = nil) throws -> ContainerVerdict {
    var calls = 0
    var asked = 0
    let verdict = ContainerProof.examine(size: size ?? Int64(bytes.count)) { (offset: Int64, count: Int) -> [UInt8] in
        calls += 1
        asked += count
        return offset >= bytes.count ? [] : Array(bytes[Int(offset)...].prefix(count))
    }
    guard calls <= 4096, asked <= 4 << 20 else { throw TestFailure("\(calls) reads of \(asked) bytes") }
    return verdict
}

func examine(_ path: FilePath) throws -> ContainerVerdict {
    try examine(contents(path))
}

func contents(_ path: FilePath) throws -> [UInt8] {
    Array(try Data(contentsOf: URL(fileURLWithPath: path.text)))
}

extension ContainerVerdict {
    var isIncomplete: Bool {
        if case .incomplete = self { true } else { false }
    }

    var isUnprovable: Bool {
        if case .unprovable = self { true } else { false }
    }
}

/// Big-endian.
func number(_ value: UInt64, _ length: Int) -> [UInt8] {
    (0..<length).reversed().map { UInt8(truncatingIfNeeded: value >> UInt64(8 * $0)) }
}

/// A box with a length of four bytes, or the one given instead.
func box(_ type: String, _ content: [UInt8], length: UInt64? = nil) -> [UInt8] {
    number(length ?? UInt64(8 + content.count), 4) + Array(type.utf8) + content
}

func full(_ type: String, _ content: [UInt8]) -> [UInt8] {
    box(type, [0, 0, 0, 0] + content)
}

/// An index of one track with one chunk of samples of these lengths at an offset.
func index(chunkAt offset: UInt64, samples: [UInt64], more: [UInt8] = []) -> [UInt8] {
    let tables =
        full("stsc", number(1, 4) + number(1, 4) + number(UInt64(samples.count), 4) + number(1, 4))
        + full("stsz", number(0, 4) + number(UInt64(samples.count), 4) + samples.flatMap { number($0, 4) })
        + full("co64", number(1, 4) + number(offset, 8))
    let references = box("dinf", full("dref", number(1, 4) + box("url ", [0, 0, 0, 1])))
    let media = box("mdia", box("minf", references + box("stbl", tables)))
    return box("moov", full("mvhd", [UInt8](repeating: 1, count: 96)) + box("trak", media) + more)
}

/// Bytes without long runs of zeros.
func data(_ count: Int) -> [UInt8] {
    TestBytes.make(count, seed: 7)
}
