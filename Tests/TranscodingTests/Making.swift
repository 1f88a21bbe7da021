import Foundation
import IngestModel
import IngestTestSupport
import Synchronization
import Testing
import Transcoding

/// One copy made by the worker, in this process.
struct Making {
    let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    struct Outcome {
        let path: FilePath
        let last: MediaEvent
        let losses: [Loss]

        func summary() throws -> MediaSummary {
            guard case .made(let summary) = last else { throw TestFailure("\(last)") }
            return summary
        }

        var fault: Fault? {
            if case .failed(let fault) = last { fault } else { nil }
        }
    }

    func make(
        _ input: FilePath, _ settings: CompressSettings? = CompressSettings(preset: .fast),
        stripsLocation: Bool = false,
        care: CopyCare = .standard
    ) async throws -> Outcome {
        let output = try directory.write([], to: "out-\(UUID().uuidString).part")
        let events = Mutex<[MediaEvent]>([])
        let job = MediaJob(
            input: input, output: output, settings: settings, threads: 2, niceness: nil, stripsLocation: stripsLocation,
            care: care)
        await Task.detached {
            MediaWorker { event in events.withLock { $0.append(event) } }.handle(.prepare(job))
        }.value
        let all = events.withLock { $0 }
        return Outcome(
            path: output, last: try #require(all.last),
            losses: all.compactMap { if case .loss(let loss) = $0 { loss } else { nil } })
    }

    func record(_ name: String, _ arguments: [String]) async throws -> FilePath {
        let path = try directory.file(name)
        try await Judge.record(arguments, to: path)
        return path
    }
}
