import FFmpeg
import IngestModel
import SystemIO

/// Opening recordings, and what it means for the item when that fails.
enum Source {
    /// The demuxers of what recording devices and programs write. Playlists, image sequences and other formats that lead
    /// to further files are not among them.
    static let formats = [
        "mov", "matroska", "mpegts", "mpeg", "avi", "flv", "mxf", "asf", "ogg", "wav", "w64", "aiff", "caf", "flac",
        "mp3",
        "aac", "ac3", "eac3", "amr", "dts", "dv", "gxf", "nut", "rm", "ivf", "h261", "h263", "h264", "hevc", "m4v",
        "mjpeg",
        "mpegvideo", "obu", "av1", "au", "vc1", "tta", "wv", "ape",
    ]

    /// What always works.
    static let asItIs = "Without --compress or --remux it is uploaded as it is"

    /// - Parameters:
    ///   - path: the recording's.
    ///   - looksInside: whether its beginning is decoded.
    ///   - headIsRead: called between reading its head and decoding its beginning.
    /// - Returns: the opened recording.
    /// - Throws: a `Fault` with the sentence for people.
    static func open(
        _ path: FilePath, looksInside: Bool = true, headIsRead: () -> Void = {}
    ) throws(Fault) -> InputFile {
        let input: InputFile
        do {
            input = try InputFile(path: path.bytes, formats: formats, looksInside: looksInside, headIsRead: headIsRead)
        } catch {
            throw fault(opening: error, of: path)
        }
        if input.lacksIndex { throw memory }
        return input
    }

    /// The index of a recording whose tracks and tags are to be read as they stand there; `nil` where it has none of the ISO
    /// base media format.
    static func index(of path: FilePath, _ input: InputFile) -> MovieBox? {
        input.formatName.contains("mp4") ? MovieFile.index(of: path) : nil
    }

    private static func fault(opening error: FFmpegError, of path: FilePath) -> Fault {
        let head = head(of: path)
        if head.isEmpty {
            return Fault(.notMedia, "it is empty (0 bytes); did the recorder write anything?")
        }
        // The extension alone makes libavformat look for a moov in whatever it is.
        if FFmpegLog.mentions("moov atom not found"), beginsLikeMP4(head) {
            return Fault(
                .notFinalised,
                "the recording was not finalised (no moov atom); it is left untouched. Let the recorder finish, or repair "
                    + "it, then run ingest again")
        }
        if error.errorNumber == 12 { return memory }
        // 1 and 22 are what demuxers say of bytes that they cannot make sense of, not what the system said.
        if let number = error.errorNumber, number != 1, number != 22, !FFmpegLog.mentions("whitelist") {
            return number == 2
                ? Fault(.recordingMissing, "there is no such file")
                : Fault(.recordingUnreadable, "it cannot be read (\(error))")
        }
        return Fault(
            .notMedia,
            "it is not a recording that can be read; without --compress it is uploaded as it is")
    }

    /// Nearly always a number in a damaged file that asks for gigabytes: trying again would ask for them again.
    private static let memory = Fault(
        .encoderFailed,
        "it asks for more memory than there is, as a damaged recording or a very large picture does; it is left untouched. "
            + asItIs)

    private static func head(of path: FilePath) -> [UInt8] {
        guard let file = try? FileSystem.open(path, .reading) else { return [0] }
        return (try? file.read(at: 0, count: 12)) ?? [0]
    }

    /// Whether the first box is one that files of the ISO base media format or QuickTime begin with.
    private static func beginsLikeMP4(_ head: [UInt8]) -> Bool {
        let first: Set<String> = [
            "ftyp", "styp", "moov", "moof", "mdat", "free", "skip", "wide", "pnot", "uuid", "sidx",
        ]
        return head.count >= 8 && first.contains(String(decoding: head[4..<8], as: UTF8.self))
    }

    /// What a failure while reading or encoding means.
    static func fault(for error: any Error) -> Fault {
        switch error {
        case let fault as Fault: fault
        case let error as FFmpegError: fault(error)
        default: Fault(.encoderFailed, "\(error)")
        }
    }

    private static func fault(_ error: FFmpegError) -> Fault {
        switch error.errorNumber {
        case 28, 122:
            Fault(
                .diskFull, "the disk of the cache is full; make room", retry: .later(after: 30))
        case 12: memory
        default:
            Fault(.encoderFailed, "it could not be encoded (\(error)); without --compress it is uploaded as it is")
        }
    }

    /// Formats whose time stamps count from a moment of their own, so that only their differences mean something.
    static func hasArbitraryStart(_ input: InputFile) -> Bool {
        ["mpegts", "mpeg", "gxf", "dv", "asf", "rm", "ogg"].contains {
            input.formatName.split(separator: ",").contains($0[...])
        }
    }

    /// What is subtracted from every time stamp, in seconds as a fraction of a million.
    static func startOffset(_ input: InputFile) -> Int64 {
        hasArbitraryStart(input) ? input.startMicroseconds ?? 0 : 0
    }

    /// The time base of `startOffset`.
    static let microseconds = Rational(1, 1_000_000)
}
