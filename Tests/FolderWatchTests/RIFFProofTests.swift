import FolderWatch
import IngestModel
import IngestTestSupport
import Testing

@Suite("Proof of a RIFF file's completeness")
struct RIFFProofTests {
    private func chunk(_ type: String, _ content: [UInt8], length: UInt64? = nil) -> [UInt8] {
        Array(type.utf8) + number(length ?? UInt64(content.count), 4).reversed() + content
            + (content.count % 2 == 1 ? [0] : [])
    }

    private func list(_ type: String, _ kind: String, _ content: [UInt8], length: UInt64? = nil) -> [UInt8] {
        chunk(type, Array(kind.utf8) + content, length: length)
    }

    private func first(length: UInt64? = nil, dataLength: UInt64? = nil) -> [UInt8] {
        let main = chunk("avih", [UInt8](repeating: 1, count: 56))
        let index = chunk("idx1", data(64))
        return list(
            "RIFF", "AVI ", list("LIST", "hdrl", main) + list("LIST", "movi", data(3000), length: dataLength) + index,
            length: length)
    }

    @Test("AVI of one and of several chunks")
    func movie() throws {
        let later = list("RIFF", "AVIX", list("LIST", "movi", data(3000)))
        #expect(try examine(first()) == .complete)
        #expect(try examine(first() + later) == .complete)
        #expect(try examine(first() + later.dropLast(1)).isIncomplete)
        #expect(try examine(first() + list("RIFF", "AVIX", data(300), length: 0)).isIncomplete)
        #expect(try examine(first() + list("RIFF", "AVIX", data(300), length: 0xFFFF_FFFF)).isIncomplete)
        #expect(try examine(first(length: 0xFFFF_FFFF)).isIncomplete)
        #expect(try examine(first(dataLength: 0)).isIncomplete)
        #expect(try examine(first() + data(100)).isUnprovable)
        #expect(try examine(first() + [UInt8](repeating: 0, count: 100)).isUnprovable)
    }

    @Test("WAV, and its lengths of eight bytes")
    func sound() throws {
        let format = chunk("fmt ", data(16))
        #expect(try examine(list("RIFF", "WAVE", format + chunk("data", data(1000)))) == .complete)
        #expect(
            try examine(list("RIFF", "WAVE", format + chunk("data", data(1001))).dropLast(1).map { $0 }) == .complete)
        for length: UInt64 in [0, 0xFFFF_FFFF] {
            let unknown = chunk("data", data(1000), length: length)
            #expect(try examine(list("RIFF", "WAVE", format + unknown, length: length)).isIncomplete)
            #expect(try examine(list("RIFF", "WAVE", format + unknown)).isIncomplete)
        }
        func long(_ whole: UInt64, _ length: UInt64) -> [UInt8] {
            let lengths = chunk("ds64", number(whole, 8).reversed() + number(length, 8).reversed() + data(12))
            return list(
                "RF64", "WAVE", lengths + format + chunk("data", data(1000), length: 0xFFFF_FFFF), length: 0xFFFF_FFFF)
        }
        let whole = UInt64(long(1, 1).count - 8)
        #expect(try examine(long(whole, 1000)) == .complete)
        #expect(try examine(long(0, 0)).isIncomplete)
        #expect(try examine(long(whole + 5000, 6000)).isIncomplete)
        #expect(try examine(long(.max, .max)).isIncomplete)
    }
}
