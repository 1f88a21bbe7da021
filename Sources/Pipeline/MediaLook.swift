package import IngestModel
import MediaProcess
package import SystemIO

/// A look into a media file, by the media process.
package enum MediaLook {
    /// - Throws: `Fault` in words.
    package static func probe(
        _ path: FilePath, settings: CompressSettings, environment: Environment
    ) async throws -> MediaReport {
        let media = MediaProcess(program: try MediaProcess.locate(beside: environment.programDirectory))
        let last = try await media.run(.probe(input: path, settings: settings)) { _ in }
        guard case .probed(let report) = last else { throw Fault(.encoderFailed, "the media process gave no result") }
        return report
    }
}
