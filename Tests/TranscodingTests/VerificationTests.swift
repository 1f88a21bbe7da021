import Foundation
import IngestModel
import IngestTestSupport
import Testing

@testable import Transcoding

/// What was made is held against what it should be: each way in which it may be wrong is found.
@Suite("Verification of copies", .timeLimit(.minutes(5)))
struct VerificationTests {
    private let making = try? Making()

    private func setUp() throws -> Making { try #require(making) }

    private func recording(
        _ name: String, _ filter: String = "null", seconds: Int = 4, hasSound: Bool = true
    ) async throws -> FilePath {
        try await setUp().record(
            name,
            [
                "-f", "lavfi", "-i", "testsrc2=size=320x180:rate=30:duration=\(seconds),\(filter)", "-f", "lavfi", "-i",
                "sine=duration=\(seconds)", "-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-c:a",
                "pcm_s16le",
            ] + (hasSound ? [] : ["-an"]))
    }

    private func made(
        of input: FilePath, _ settings: CompressSettings? = CompressSettings(preset: .fast)
    ) throws -> (copy: FilePath, tracks: [Verification.Expected]) {
        let output = try setUp().directory.write([], to: "made-\(UUID().uuidString).part")
        let job = MediaJob(input: input, output: output, settings: settings, threads: 2, niceness: nil)
        return (output, try CopyMaker(job: job, emit: { _ in }, headIsRead: {}).make().tracks)
    }

    private func verification(
        _ copy: FilePath, of recording: FilePath, isFull: Bool = false
    ) -> Verification {
        Verification(path: copy, recording: recording, isFull: isFull, isOfDamaged: false, emit: { _ in })
    }

    private func objection(_ verification: Verification, _ tracks: [Verification.Expected]) -> String? {
        do {
            try verification.check(against: tracks)
            return nil
        } catch {
            return error.reason
        }
    }

    @Test("a good copy passes, also when all of it is decoded", arguments: [false, true])
    func good(isFull: Bool) async throws {
        let source = try await recording("good.mkv")
        let (copy, tracks) = try made(of: source)
        #expect(objection(verification(copy, of: source, isFull: isFull), tracks) == nil)
    }

    @Test(
        "another picture is found, whatever its time stamps", arguments: ["hflip", "negate", "transpose,scale=320:180"])
    func otherPicture(filter: String) async throws {
        let (source, other) = (try await recording("source.mov"), try await recording("other.mov", filter))
        let (copy, tracks) = try made(of: other)
        #expect(objection(verification(copy, of: other), tracks) == nil)
        let words = objection(verification(copy, of: source), tracks)
        #expect(words?.contains("shows another picture than the recording") == true, "\(words ?? "nothing")")
    }

    @Test("coarse encoding of noise is no other picture")
    func coarse() async throws {
        let source = try await recording("noise.mov", "noise=alls=80:allf=t", seconds: 2)
        let (copy, tracks) = try made(of: source, CompressSettings(preset: .fast, quality: 51))
        #expect(objection(verification(copy, of: source), tracks) == nil)
    }

    @Test("packets that are missing, or have another time, are found")
    func otherTimes() async throws {
        let source = try await recording("source.mov")
        let (copy, tracks) = try made(of: source)
        func changed(_ name: String, _ arguments: [String]) async throws -> FilePath {
            try await setUp().record(name, ["-i", copy.text, "-map", "0:v", "-map", "0:a", "-c", "copy"] + arguments)
        }
        let shorter = try await changed("shorter.mp4", ["-frames:v", "119"])
        #expect(objection(verification(shorter, of: source), tracks)?.contains("119 packets where 120") == true)
        let shifted = try await changed(
            "shifted.mp4", ["-bsf:v", "setts=pts=PTS+if(eq(N\\,60)\\,90\\,0):dts=DTS"])
        #expect(
            objection(verification(shifted, of: source), tracks)?.contains("other time stamps than were written")
                == true)
        let silent = try await setUp().record("silent.mp4", ["-i", copy.text, "-map", "0:v", "-c", "copy"])
        #expect(objection(verification(silent, of: source), tracks)?.contains("1 streams where 2") == true)
    }

    @Test("damage between the sampled places is found when all of it is decoded")
    func damage() async throws {
        let source = try await recording("long.mov", seconds: 60, hasSound: false)
        let (copy, tracks) = try made(of: source)
        var bytes = try copy.contents()
        // Somewhere in the second of four sampled quarters, behind its sample.
        let start = bytes.count * 45 / 100
        for index in start..<(start + 3000) { bytes[index] = 0x55 }
        let spoiled = try setUp().directory.write(bytes, to: "spoiled.mp4")
        let words = objection(verification(spoiled, of: source, isFull: true), tracks)
        #expect(words?.contains("cannot be decoded") == true, "\(words ?? "nothing")")
    }

    @Test("of what is copied as it is, one other byte is found, wherever it is")
    func otherByte() async throws {
        let source = try await setUp().record(
            "copied.mov",
            [
                "-f", "lavfi", "-i", "testsrc2=size=320x180:rate=30:duration=20", "-f", "lavfi", "-i",
                "sine=duration=20",
                "-c:v", "libx264", "-preset", "ultrafast", "-c:a", "aac",
            ])
        let (copy, tracks) = try made(of: source, nil)
        #expect(objection(verification(copy, of: source), tracks) == nil)
        for share in [30, 60, 95] {
            var bytes = try copy.contents()
            bytes[bytes.count * share / 100] ^= 1
            let spoiled = try setUp().directory.write(bytes, to: "spoiled-\(share).mp4")
            let words = objection(verification(spoiled, of: source), tracks)
            #expect(words?.contains("has other bytes than were written") == true, "\(words ?? "nothing")")
        }
    }

    @Test("damage at a sampled place is found")
    func sampledDamage() async throws {
        let source = try await recording("short.mov")
        let (copy, tracks) = try made(of: source)
        var bytes = try copy.contents()
        let start = bytes.count * 20 / 100
        for index in start..<(bytes.count * 30 / 100) { bytes[index] = 0x55 }
        let spoiled = try setUp().directory.write(bytes, to: "spoiled.mp4")
        #expect(objection(verification(spoiled, of: source), tracks) != nil)
    }
}
