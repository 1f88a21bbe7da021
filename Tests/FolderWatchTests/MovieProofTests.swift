import FolderWatch
import IngestModel
import IngestTestSupport
import Testing

@Suite("Proof of a movie's completeness")
struct MovieProofTests {
    private let start = box("ftyp", Array("isom".utf8) + number(0, 4))
    private let samples: [UInt64] = [3000, 4000, 3000]

    /// The index behind the data, as recorders write it.
    private func behind(dataLength: UInt64? = nil) -> [UInt8] {
        start + box("mdat", data(10_000), length: dataLength)
            + index(chunkAt: UInt64(start.count) + 8, samples: samples)
    }

    /// The index in front, with data of a length in its header of its own.
    private func front(length: UInt64? = nil, type: String = "mdat") -> [UInt8] {
        let size = index(chunkAt: 0, samples: samples).count
        let offset = UInt64(start.count + size + 8)
        return start + index(chunkAt: offset, samples: samples) + box(type, data(10_000), length: length)
    }

    @Test("Index and data are there")
    func complete() throws {
        #expect(try examine(behind()) == .complete)
        #expect(try examine(front()) == .complete)
        #expect(try examine(Array(behind().dropFirst(start.count - 8))) != .complete)
        let old = box("wide", []) + box("mdat", data(10_000)) + index(chunkAt: 16, samples: samples)
        #expect(try examine(old) == .complete, "QuickTime before ftyp")
        let long = number(1, 4) + Array("mdat".utf8) + number(10_016, 8) + data(10_000)
        #expect(try examine(start + long + index(chunkAt: UInt64(start.count) + 16, samples: samples)) == .complete)
        #expect(try examine(behind() + box("free", [UInt8](repeating: 0, count: 1000))) == .complete)
        #expect(try examine(behind() + box("uuid", data(100))) == .complete)
    }

    @Test("Lengths not written yet")
    func placeholders() throws {
        #expect(try examine(start + box("mdat", data(10_000), length: 0)).isIncomplete)
        #expect(try examine(start + box("mdat", data(10_000), length: 0xFFFF_FFFF)).isIncomplete)
        let question = number(1, 4) + Array("mdat????????".utf8) + data(10_000)
        #expect(try examine(start + question).isIncomplete)
        #expect(try examine(start + box("mdat", data(10_000)) + box("moov", data(300), length: 0)).isIncomplete)
    }

    @Test("Data to the end of the file: the index in front tells its length")
    func openData() throws {
        #expect(try examine(front(length: 0)) == .complete)
        #expect(try examine(front(length: 0).dropLast(1).map { $0 }).isIncomplete)
        #expect(try examine(Array(front(length: 0).prefix(start.count + 250))).isIncomplete)
    }

    @Test("Every beginning is incomplete, every half-copied preallocation is not complete")
    func cuts() throws {
        for whole in [behind(), front()] {
            for count in stride(from: 1, to: whole.count, by: 97) {
                #expect(try examine(Array(whole.prefix(count))) != .complete, "the first \(count) bytes")
                guard whole.count - count > 16 else { continue }
                let reserved = whole.prefix(count) + [UInt8](repeating: 0, count: whole.count - count)
                #expect(try examine(Array(reserved)) != .complete, "\(count) bytes of reserved space filled")
            }
        }
    }

    @Test("A hole in the middle, where several places are filled at once")
    func hole() throws {
        let length = 1 << 20
        var whole =
            start + box("mdat", data(length)) + index(chunkAt: UInt64(start.count) + 8, samples: [UInt64(length)])
        #expect(try examine(whole) == .complete)
        for byte in length / 2..<length / 2 + length / 16 { whole[byte] = 0 }
        #expect(try examine(whole).isUnprovable)
    }

    @Test("An index that points elsewhere")
    func pointers() throws {
        #expect(try examine(start + box("mdat", data(100)) + index(chunkAt: 5000, samples: [10])).isIncomplete)
        #expect(try examine(start + box("mdat", data(100)) + index(chunkAt: 1 << 63, samples: [10])).isIncomplete)
        #expect(try examine(start + box("mdat", data(100)) + index(chunkAt: 200, samples: [10])).isUnprovable)
        #expect(try examine(start + box("mdat", data(100)) + index(chunkAt: 30, samples: [1000])).isUnprovable)
        #expect(try examine(start + box("mdat", data(100)) + box("moov", full("mvhd", data(96)))).isUnprovable)
        #expect(try examine(start + index(chunkAt: 30, samples: [100])).isIncomplete)
    }

    @Test("What follows the last box")
    func rests() throws {
        #expect(try examine(behind() + [UInt8](repeating: 0, count: 5000)).isUnprovable)
        #expect(try examine(behind() + [13, 10]).isUnprovable)
        #expect(try examine(behind() + data(5000)).isUnprovable)
        let trailer = data(5000) + Array("8db42d694ccc418790edff439fe026bf".utf8)
        #expect(try examine(behind() + trailer) == .complete, "as Insta360 ends its files")
        #expect(try examine(behind() + box("uuid", data(100), length: 5000)).isIncomplete)
    }

    @Test("Fragments prove it by the index that closes them")
    func fragments() throws {
        let head = start + box("moov", full("mvhd", data(96)) + box("mvex", full("trex", data(20))))
        let fragment = box("moof", data(100)) + box("mdat", data(1000))
        // 8 bytes of header, 12 and 20 of a table, 16 of the length of all.
        let end = box("mfra", full("tfra", data(20)) + full("mfro", number(56, 4)))
        #expect(try examine(head + fragment + fragment).isUnprovable)
        #expect(try examine(head + fragment + fragment + end) == .complete)
        #expect(try examine(head + fragment + end.dropLast(1)).isIncomplete)
        #expect(try examine(head + fragment + fragment.dropLast(1)).isIncomplete)
        #expect(try examine(head + fragment + [UInt8](repeating: 0, count: 500)).isIncomplete)
    }

    @Test("Boxes without number, boxes in boxes, and numbers without measure end in a verdict")
    func hostile() throws {
        let tiny = (0..<200_000).flatMap { _ in box("free", []) }
        #expect(try examine(start + tiny).isUnprovable)
        #expect(try examine(box("moov", tiny)).isUnprovable)
        var nested = box("stbl", [])
        for _ in 0..<2000 { nested = box("trak", nested) }
        #expect(try examine(start + box("moov", nested)) != .complete)
        let huge = number(1, 4) + Array("moov".utf8) + number(.max, 8)
        #expect(try examine(start + huge).isIncomplete)
        let table = full("stco", number(0xFFFF_FFFF, 4))
        let media = box("trak", box("mdia", box("minf", box("stbl", table))))
        #expect(try examine(start + box("mdat", data(100)) + box("moov", media)) != .complete)
        #expect(try examine(behind(), size: .max).isUnprovable)
        #expect(try examine(behind(), size: 1 << 59).isUnprovable)
    }
}
