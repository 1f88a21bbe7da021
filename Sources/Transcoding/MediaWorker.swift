import FFmpeg
package import IngestModel

/// What the media process does: one request, answered by events.
package struct MediaWorker: Sendable {
    private let emit: @Sendable (MediaEvent) -> Void

    /// - Parameter emit: takes the events, from any thread.
    package init(emit: @escaping @Sendable (MediaEvent) -> Void) {
        self.emit = emit
    }

    /// Does what is asked; the last event is the result or `failed`.
    package func handle(_ request: MediaRequest) {
        FFmpegLog.capture()
        do throws(Fault) {
            switch request {
            case .probe(let input, let settings):
                emit(.probed(try Probe.report(on: input, settings: settings)))
            case .prepare(let job):
                emit(.made(try prepare(job)))
            }
        } catch {
            emit(.failed(error))
        }
    }

    private func prepare(_ job: MediaJob) throws(Fault) -> MediaSummary {
        let made = try CopyMaker(job: job, emit: emit).make()
        if let fault = DamageCheck.fault(in: made.tallies) { throw fault }
        for loss in DamageCheck.losses(in: made.tallies) { emit(.loss(loss)) }
        emit(.progress(MediaProgress(stage: .checking, fraction: 0, frames: made.summary.videoFrames)))
        let verification = Verification(path: job.output, emit: emit)
        try verification.check(against: made.tallies)
        let missing = try verification.missing(of: made.tags)
        if !missing.isEmpty {
            emit(
                .loss(
                    Loss(
                        what: "the tag\(missing.count == 1 ? "" : "s") \(missing.joined(separator: ", "))",
                        reason: "not carried over yet")))
        }
        return made.summary
    }
}
