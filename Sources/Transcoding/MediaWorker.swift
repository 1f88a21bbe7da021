import FFmpeg
package import IngestModel
import SystemIO

/// What the media process does: one request, answered by events.
package struct MediaWorker: Sendable {
    private let emit: @Sendable (MediaEvent) -> Void
    private let headIsRead: @Sendable () -> Void

    /// - Parameters:
    ///   - emit: takes the events, from any thread.
    ///   - headIsRead: called when the recording's head has been read for the first time, and nothing been decoded yet.
    package init(emit: @escaping @Sendable (MediaEvent) -> Void, headIsRead: @escaping @Sendable () -> Void = {}) {
        self.emit = emit
        self.headIsRead = headIsRead
    }

    /// Does what is asked; the last event is the result or `failed`.
    package func handle(_ request: MediaRequest) {
        FFmpegLog.capture()
        do throws(Fault) {
            switch request {
            case .probe(let input, let settings):
                emit(.probed(try Probe.report(on: input, settings: settings, headIsRead: headIsRead)))
            case .prepare(let job): emit(try prepare(job))
            }
        } catch {
            emit(.failed(error))
        }
    }

    /// So often an encoder that misses the size it aims at gets another chance.
    private static let mostAttempts = 3

    /// A copy that does not weigh more than was asked for; the last one that was made, if that cannot be had.
    private func make(_ job: MediaJob) throws -> CopyMaker.Made {
        do {
            return try makeWithinSize(job)
        } catch is CopyMaker.SoundChanges {
            guard var settings = job.settings, settings.sound != .copy else {
                throw Fault(
                    .nothingToEncode,
                    "its sound changes its samples a second or its channels in the middle, which mp4 cannot hold as it is; use "
                        + "--compress\(job.settings == nil ? "" : " without --audio=copy"), or upload it as it is")
            }
            settings.sound = .aac
            var job = job
            job.settings = settings
            return try makeWithinSize(job)
        }
    }

    private func makeWithinSize(_ job: MediaJob) throws -> CopyMaker.Made {
        var restraint = 1.0
        var attempt = 1
        while true {
            let made = try CopyMaker(job: job, restraint: restraint, emit: emit, headIsRead: headIsRead).make()
            guard let target = job.settings?.targetSize, attempt < Self.mostAttempts else { return made }
            let size = try FileSystem.status(of: job.output).size
            if size.value <= target.value { return made }
            restraint *= 0.97 * Double(target.value) / Double(size.value)
            attempt += 1
        }
    }

    /// - Returns: the last event.
    private func prepare(_ job: MediaJob) throws(Fault) -> MediaEvent {
        let made: CopyMaker.Made
        do {
            made = try make(job)
        } catch let refusal as CopyMaker.NotWorthwhile {
            return .notWorthwhile(refusal.forecast)
        } catch {
            throw Source.fault(for: error)
        }
        emit(.progress(MediaProgress(stage: .checking, fraction: 0, frames: made.summary.videoFrames)))
        let verification = Verification(
            path: job.output, recording: job.input, isFull: job.care.verification == .full,
            isOfDamaged: made.summary.damage != nil, emit: emit)
        let tracks = made.tracks
        let check = Errand { try verification.check(against: tracks) }
        let comparison = Comparison(
            source: made.input, made: try verification.open(), index: MovieFile.index(of: job.output),
            tracks: tracks, plan: made.plan, stripsLocation: job.stripsLocation)
        let outcome = comparison.run()
        do {
            try check.result()
        } catch {
            throw Source.fault(for: error)
        }
        let losses = made.losses + outcome.losses + [SizeBudget.loss(of: job)].compactMap { $0 }
        if job.care.isStrict, let fault = Strictness.fault(losses) { throw fault }
        for loss in losses { emit(.loss(loss)) }
        var summary = made.summary
        summary.kept = outcome.kept
        return .made(summary)
    }
}
