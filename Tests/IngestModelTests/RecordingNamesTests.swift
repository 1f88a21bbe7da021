import IngestModel
import IngestTestSupport
import Testing

@Suite("Recording names")
struct RecordingNamesTests {
    private func made(_ name: String) throws -> FileName {
        try #require(FileName(name))
    }

    private func kind(_ name: String) throws -> NameKind {
        RecordingNames.kind(of: try made(name))
    }

    @Test(
        "Recordings by their extension",
        arguments: [
            "a.mp4", "A.MOV", "b.MkV", "GH010123.MP4", "00000.MTS", "x.webm", "sound.WAV", "talk.part1.mp4", "A001.R3D",
            "C0001.MXF",
            "VID_20240101_120000_00_001.insv", "no dots in front.avi", "a..mp4", "talk.tmp4.mov", "temp.mp4",
            "part.mkv",
        ])
    func recordings(_ name: String) throws {
        #expect(try kind(name) == .recording)
    }

    @Test(
        "What stands beside them",
        arguments: [
            "a.srt", "A.THM", "GL010123.LRV", "DJI_0001.LRF", "IMG_0001.AAE", "C0001M01.XML", "a.mp4.xmp", "a.en.vtt",
        ])
    func sidecars(_ name: String) throws {
        #expect(try kind(name) == .sidecar)
    }

    @Test(
        "What programs have not finished, and what is hidden",
        arguments: [
            "a.mp4.part", "a.mp4.crdownload", "Unconfirmed 1.crdownload", "a.mkv.!qB", "a.mkv.!ut", "a.mp4~", "._a.mp4",
            ".a.mp4.Xy12Zz",
            ".syncthing.a.mp4.tmp", "~syncthing~a.mp4.tmp", ".goutputstream-ABC", ".nfs000001", ".fuse_hidden0001",
            ".DS_Store",
            "Thumbs.db", ".~lock.a.odt#", "a.mp4.aria2", "a.mp4.filepart", "a.mp4.TMP", "a.temp.mp4", "a.tmp.mkv",
            "~$a.mp4",
            "a.mp4.download", "a.mp4.ffs_tmp", ".mp4",
        ])
    func temporary(_ name: String) throws {
        #expect(try kind(name) == .temporary)
    }

    @Test("The rest", arguments: ["a.txt", "a", "mp4", "a.", "a.jpg", "index.bdm", "a.mp4.sha256", "a.zip"])
    func other(_ name: String) throws {
        #expect(try kind(name) == .other)
    }

    @Test("Names that are no text are names")
    func bytes() throws {
        let recording = try #require(FileName(bytes: [0xFF, 0x2E, 0x4D, 0x50, 0x34]))
        let other = try #require(FileName(bytes: [0x41, 0x2E, 0xFF]))
        #expect(RecordingNames.kind(of: recording) == .recording)
        #expect(RecordingNames.kind(of: other) == .other)
    }

    @Test("Directories without recordings of their owner")
    func directories() throws {
        for name in [
            "@eaDir", "#recycle", "#snapshot", ".Trash-1000", ".Trashes", ".Spotlight-V100", ".fseventsd",
            "System Volume Information",
            "$RECYCLE.BIN", "lost+found", ".stversions", ".stfolder", "_UNPACK_talk", ".git", "a.mp4.part", "@Recycle",
        ] {
            #expect(try RecordingNames.isSkipped(directory: made(name)), "\(name)")
        }
        for name in ["DCIM", "100GOPRO", "talks", "2024-01", "PRIVATE", "recycle", "snapshots"] {
            #expect(try !RecordingNames.isSkipped(directory: made(name)), "\(name)")
        }
    }

    @Test("A downloader's notes say what is unfinished")
    func partner() throws {
        let partners = RecordingNames.partnersOfUnfinished(try #require(FileName("a.mp4"))).map { $0.text }
        #expect(partners.contains("a.mp4.aria2") && partners.contains("a.mp4.part"))
    }
}
