import Foundation
package import IngestModel

/// What ffprobe, an independent judge, says of a file.
package struct Probed: Decodable, Sendable {
    package struct Stream: Decodable, Sendable {
        package struct SideData: Decodable, Sendable {
            package var sideDataType: String?
            package var rotation: Double?
        }

        package var codecType: String?
        package var codecName: String?
        package var width: Int?
        package var height: Int?
        package var pixFmt: String?
        package var startTime: String?
        package var duration: String?
        package var nbReadFrames: String?
        /// What the index says, of packets.
        package var nbFrames: String?
        package var avgFrameRate: String?
        package var colorRange: String?
        package var colorPrimaries: String?
        package var colorTransfer: String?
        package var colorSpace: String?
        package var sampleRate: String?
        package var channels: Int?
        package var codecTagString: String?
        package var sampleAspectRatio: String?
        package var fieldOrder: String?
        package var disposition: [String: Int]?
        package var tags: [String: String]?
        package var sideDataList: [SideData]?

        package var start: Double { Double(startTime ?? "") ?? 0 }
        package var length: Double { Double(duration ?? "") ?? 0 }
        package var frames: Int { Int(nbReadFrames ?? "") ?? 0 }
        package var rotation: Double { sideDataList?.compactMap { $0.rotation }.first ?? 0 }
    }

    package struct Format: Decodable, Sendable {
        package var formatName: String?
        package var duration: String?
        package var startTime: String?
        package var tags: [String: String]?

        package var length: Double { Double(duration ?? "") ?? 0 }
    }

    package struct Chapter: Decodable, Sendable {
        package var startTime: String?
        package var endTime: String?
        package var tags: [String: String]?
    }

    package var streams: [Stream]
    package var chapters: [Chapter]?
    package var format: Format?

    package var video: [Stream] { streams.filter { $0.codecType == "video" } }
    package var audio: [Stream] { streams.filter { $0.codecType == "audio" } }
    package var subtitles: [Stream] { streams.filter { $0.codecType == "subtitle" } }
}

package enum Judge {
    /// Everything ffprobe tells, with frames counted by decoding.
    package static func probe(_ path: FilePath) async throws -> Probed {
        let outcome = try await tool(
            "ffprobe",
            [
                "-v", "quiet", "-count_frames", "-show_format", "-show_streams", "-show_chapters", "-of", "json",
                path.text,
            ])
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        return try decoder.decode(Probed.self, from: Data(outcome.output.utf8))
    }

    /// Presentation times of the packets of the first stream of a kind (`v`, `a`), sorted, in seconds.
    package static func times(_ path: FilePath, _ kind: String) async throws -> [Double] {
        let outcome = try await tool(
            "ffprobe",
            [
                "-v", "quiet", "-select_streams", "\(kind):0", "-show_entries", "packet=pts_time", "-of", "csv=p=0",
                path.text,
            ])
        return outcome.output.split(separator: "\n").compactMap { Double($0.prefix { $0 != "," }) }.sorted()
    }

    /// Mean luma of the first picture, 0 … 255, by ffmpeg's own filters.
    package static func brightness(_ path: FilePath) async throws -> Double {
        let outcome = try await tool(
            "ffmpeg",
            [
                "-hide_banner", "-nostdin", "-i", path.text, "-vf", "signalstats,metadata=print:file=-", "-frames:v",
                "1", "-f",
                "null", "-",
            ])
        for line in outcome.output.split(separator: "\n") where line.contains("YAVG=") {
            return Double(line.split(separator: "=").last ?? "") ?? -1
        }
        throw TestFailure("ffmpeg measures nothing: \(outcome.errors)")
    }

    /// A digest of the packets of each stream, in the order of the streams (`streamhash` of ffmpeg).
    package static func digests(_ path: FilePath, _ streams: String) async throws -> [String] {
        try await tool(
            "ffmpeg",
            ["-v", "error", "-i", path.text, "-map", streams, "-c", "copy", "-copy_unknown", "-f", "streamhash", "-"]
        ).output.split(separator: "\n").map { String($0.drop { $0 != "=" }) }
    }

    /// The packets of one stream as ffprobe shows them: size and bytes.
    package static func data(_ path: FilePath, stream: Int) async throws -> String {
        try await tool(
            "ffprobe",
            [
                "-v", "quiet", "-select_streams", "\(stream)", "-show_packets", "-show_data", "-show_entries",
                "packet=size,data", "-of", "csv=p=0", path.text,
            ]
        ).output
    }

    /// The subtitles of a stream as SubRip text.
    package static func subtitles(_ path: FilePath, stream: Int) async throws -> String {
        // As they stand in the file, not from where its first stream begins: sound may begin before 0.
        try await tool(
            "ffmpeg", ["-v", "error", "-copyts", "-i", path.text, "-map", "0:s:\(stream)", "-f", "srt", "-"]
        ).output
    }

    package static func tool(_ name: String, _ arguments: [String]) async throws -> RunningProgram.Outcome {
        try await RunningProgram(
            "/usr/bin/env", [name] + arguments,
            environment: ["PATH": ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"]
        ).wait(seconds: 120)
    }

    /// Makes a recording with ffmpeg.
    package static func record(_ arguments: [String], to path: FilePath) async throws {
        let outcome = try await tool("ffmpeg", ["-v", "error", "-nostdin", "-y"] + arguments + [path.text])
        guard outcome.status == 0 else { throw TestFailure("ffmpeg: \(outcome.errors)") }
    }
}
