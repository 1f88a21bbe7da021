import IngestModel
import IngestTestSupport
import Receiver
import SystemIO
import Testing

/// Collects what a form consists of.
private final class Collector: MultipartTarget {
    var parts: [(name: String, fileName: String?, bytes: [UInt8])] = []

    func partBegan(name: String, fileName: String?) {
        parts.append((name, fileName, []))
    }

    func partContinues(_ bytes: Span<UInt8>) {
        for index in bytes.indices { parts[parts.count - 1].bytes.append(bytes[index]) }
    }

    func partEnded() {}
}

@Suite("Multipart forms")
struct ParserTests {
    private static func parse(_ body: [UInt8], boundary: String, cut: Int) throws -> Collector {
        var parser = MultipartParser(boundary: boundary)
        let collector = Collector()
        var position = 0
        while position < body.count {
            let end = min(body.count, position + cut)
            try parser.consume(Array(body[position..<end]).span, collector)
            position = end
        }
        guard parser.isFinished else { throw MultipartError(reason: "unfinished") }
        return collector
    }

    /// Content made to look like delimiters.
    private static let treacherous = Array("\r\n--B\r\n-\r\n--\r\n--BB\r\n\r\n--A".utf8)

    @Test("a form is read however it is cut", arguments: [1, 2, 3, 5, 7, 8, 9, 16, 31, 100, 10_000])
    func cuts(cut: Int) throws {
        let form = MultipartForm(
            fields: [("a", "1"), ("empty", ""), ("b", "x\r\n--Boundary-not\r\n")], fileField: "block",
            fileName: "n\"ä.mov",
            boundary: "BoundaryB")
        let body = form.head + Self.treacherous + form.tail
        let parts = try Self.parse(body, boundary: "BoundaryB", cut: cut).parts
        #expect(parts.map { $0.name } == ["a", "empty", "b", "block"])
        #expect(
            parts[0].bytes == [49] && parts[1].bytes == [] && parts[2].bytes == Array("x\r\n--Boundary-not\r\n".utf8))
        #expect(parts[3].fileName == "n\"ä.mov")
        #expect(parts[3].bytes == Self.treacherous)
    }

    @Test("what comes before the first and behind the last boundary does not count")
    func around() throws {
        let body = Array(
            "preamble\r\n--B\r\nContent-Disposition: form-data; name=a\r\n\r\nv\r\n--B--\r\nepilogue --B".utf8)
        let parts = try Self.parse(body, boundary: "B", cut: 3).parts
        #expect(parts.count == 1 && parts[0].bytes == Array("v".utf8))
    }

    @Test(
        "what is no form is refused",
        arguments: [
            "", "--B", "--B\r\n", "--Bx", "--B\r\nX: y\r\n\r\nv\r\n--B--", "--B\r\n\r\nv\r\n--B--",
            "--B\r\nContent-Disposition: form-data\r\n\r\nv\r\n--B--",
            "--B\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nv",
        ])
    func refused(body: String) {
        #expect(throws: MultipartError.self) { try Self.parse(Array(body.utf8), boundary: "B", cut: 2) }
    }

    @Test("a head without end is refused before it fills the memory")
    func longHead() {
        let body = Array("--B\r\nContent-Disposition: form-data; name=\"".utf8) + [UInt8](repeating: 65, count: 20_000)
        #expect(throws: MultipartError.self) { try Self.parse(body, boundary: "B", cut: 1000) }
    }

    @Test(
        "the boundary is found in every spelling of the header",
        arguments: [
            ("multipart/form-data; boundary=abc", "abc"), ("Multipart/Form-Data;boundary=\"a b\"", nil),
            ("multipart/form-data; charset=utf-8; BOUNDARY=\"abc\"", "abc"), ("multipart/mixed; boundary=abc", nil),
            ("multipart/form-data", nil), ("multipart/form-data; boundary=", nil), ("", nil),
        ])
    func boundaries(header: String, boundary: String?) {
        #expect(MultipartParser.boundary(inContentType: header) == boundary)
    }

    @Test(
        "stored names are safe whatever the client says",
        arguments: [
            ("clip.mov", "mov", "clip.mov"), ("../../etc/passwd", "", "passwd"), ("/etc/x", "mov", "x.mov"),
            ("", "mov", "upload.mov"),
            ("", "", "upload"), ("..", "", "upload"), (".hidden", "", "hidden"), ("-rf.mov", "", "rf.mov"),
            ("a\u{0}b\r\n.mov", "", "a_b_.mov"),
            ("日本.mov", "", "日本.mov"), ("a b;c|d.mov", "", "a_b_c_d.mov"), ("C:\\x\\y.mov", "", "y.mov"),
            ("noext", "../../x", "noext.x"),
            ("x", "\r\nX: y", "x.xy"), ("-\u{301}x.mov", "", "x.mov"), ("\u{301}", "", "upload"),
            ("e\u{301}.mov", "", "e\u{301}.mov"),
        ])
    func storedNames(name: String, suffix: String, expected: String) {
        #expect(StoredName.make(fileName: name, suffix: suffix, random: "", ordinal: 1).text == expected)
    }

    @Test("stored names stay short, unguessable where they must, and apart")
    func storedNameShape() {
        let long = StoredName.make(
            fileName: String(repeating: "日", count: 500) + ".mov", suffix: "", random: "ff", ordinal: 3)
        #expect(long.bytes.count <= 200 && long.text.hasSuffix("-ff-3.mov"))
        // One letter with more marks than a name can hold.
        let marks = StoredName.make(
            fileName: "a" + String(repeating: "\u{301}", count: 400), suffix: "", random: "", ordinal: 1)
        #expect(marks.bytes.count <= 200 && marks.text.unicodeScalars.first == "a")
    }

    @Test(
        "ranges of a file of 100 bytes",
        arguments: [
            (nil, FileResponse.Requested.whole), ("bytes=0-9", .part(0..<10)), ("bytes=90-", .part(90..<100)),
            ("bytes=-10", .part(90..<100)),
            ("bytes=-1000", .part(0..<100)), ("bytes=50-5000", .part(50..<100)), ("bytes=100-", .unsatisfiable),
            ("bytes=-0", .unsatisfiable),
            ("bytes=9-5", .whole), ("bytes=0-1,5-6", .whole), ("items=0-1", .whole), ("bytes=a-b", .whole),
            ("bytes=", .whole),
            ("bytes=0-9223372036854775807", .part(0..<100)), ("bytes=99999999999999999999-", .whole),
        ])
    func ranges(header: String?, requested: FileResponse.Requested) {
        #expect(FileResponse.requested(header, size: 100) == requested)
    }
}
