import Foundation
import IngestModel
import IngestTestSupport
import SystemIO
import Testing

@testable import Transcoding

/// The index of a copy: in front, whatever room was left for it.
@Suite("Index of a copy", .timeLimit(.minutes(5)))
struct IndexTests {
    private let making = try? Making()

    private func setUp() throws -> Making { try #require(making) }

    /// A file as the muxer leaves it: behind a gap, the index at the end.
    private func unfinished(gap: Int) async throws -> (plain: FilePath, behindGap: FilePath) {
        let making = try setUp()
        let plain = try await making.record(
            "plain-\(gap).mp4",
            [
                "-f", "lavfi", "-i", "testsrc2=size=320x180:rate=30:duration=4,noise=alls=20:allf=t", "-f", "lavfi",
                "-i",
                "sine=duration=4", "-c:v", "libx264", "-preset", "ultrafast", "-c:a", "aac",
            ])
        var bytes = try plain.contents()
        var index = try #require(MovieFile.index(of: plain))
        ChunkOffsets.shift(in: &index, by: Int64(gap))
        bytes.replaceSubrange((bytes.count - index.size)..., with: index.written)
        return (
            plain,
            try making.directory.write([UInt8](repeating: 0, count: gap) + bytes, to: "gap-\(gap).mp4")
        )
    }

    private func order(of path: FilePath) throws -> [BoxType] {
        try MovieFile.parts(of: FileSystem.open(path, .reading)).map { $0.type }
    }

    @Test("where it fits the data stay, and what is left over is marked free", arguments: [9000, 12_000])
    func fits(gap: Int) async throws {
        let (plain, path) = try await unfinished(gap: gap)
        let data = try plain.contents().count
        try IndexPlacement(gap: Int64(gap)).carryOut(on: path) { _ in }
        #expect(try order(of: path) == ["ftyp", "moov", "free", "free", "mdat"])
        // The muxer's own head, and its index at the end, are gone: nothing was moved.
        let index = try #require(MovieFile.index(of: path)).size
        #expect(try path.contents().count == data + gap - index)
        #expect(try await Judge.digests(path, "0") == Judge.digests(plain, "0"))
    }

    @Test(
        "where it does not fit, or too much would be left empty, the data are moved", arguments: [0, 8, 3000, 500_000])
    func doesNotFit(gap: Int) async throws {
        let (plain, path) = try await unfinished(gap: gap)
        try IndexPlacement(gap: Int64(gap)).carryOut(on: path) { _ in }
        #expect(try order(of: path) == ["ftyp", "moov", "free", "mdat"])
        #expect(try path.contents().count == plain.contents().count)
        #expect(try await Judge.digests(path, "0") == Judge.digests(plain, "0"))
    }

    @Test("what is grafted may make it larger than the room that was left")
    func grows() async throws {
        let (plain, path) = try await unfinished(gap: 9000)
        try IndexPlacement(gap: 9000).carryOut(on: path) { index in
            index.children.append(MovieBox("free", [UInt8](repeating: 7, count: 100_000)))
        }
        #expect(try order(of: path) == ["ftyp", "moov", "free", "mdat"])
        #expect(try await Judge.digests(path, "0") == Judge.digests(plain, "0"))
    }

    @Test("places beyond four gigabytes get more bits, and keep their order")
    func wide() throws {
        func index(_ type: BoxType, _ places: [UInt64], size: Int) -> MovieBox {
            var table: [UInt8] = []
            table.append(0, size: 4)
            table.append(UInt64(places.count), size: 4)
            for place in places { table.append(place, size: size) }
            var box = MovieBox(type, table)
            for parent: BoxType in ["stbl", "minf", "mdia", "trak", "moov"] {
                box = MovieBox(type: parent, content: .boxes([box]))
            }
            return box
        }
        let top = UInt64(UInt32.max)
        var near = index("stco", [100, top - 50], size: 4)
        ChunkOffsets.widen(in: &near, forMovingBy: 50)
        #expect(near == index("stco", [100, top - 50], size: 4))
        ChunkOffsets.widen(in: &near, forMovingBy: 51)
        ChunkOffsets.shift(in: &near, by: 51)
        #expect(near == index("co64", [151, top + 1], size: 8))
        ChunkOffsets.shift(in: &near, by: -51)
        #expect(near == index("co64", [100, top - 50], size: 8))
    }

    @Test("boxes are written as they were read; those that do not make sense are refused")
    func roundTrip() throws {
        let bytes = try TestPlace.fixture("whole.mp4").contents()
        let boxes = try MovieBox.parse(bytes[...])
        #expect(boxes.flatMap { $0.written } == bytes)
        for broken in [[0, 0, 0, 9] + Array("free".utf8), [0, 0, 0, 7] + Array("free".utf8)] as [[UInt8]] {
            #expect(throws: MovieBox.Malformed.self) { try MovieBox.parse(broken[...]) }
        }
    }
}
