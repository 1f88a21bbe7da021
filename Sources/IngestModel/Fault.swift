/// Why an item could not go on: a code to act on, a sentence for people, and whether trying again makes sense.
///
/// Whether to try again is decided where the fault is born; those who retry only obey it.
package struct Fault: Error, Hashable, Codable, Sendable {
    package enum Code: String, Codable, Sendable, CaseIterable {
        // The recording
        case recordingMissing, recordingUnreadable, recordingChanged, notAFile, notFinished, incomplete
        // The media process
        case notMedia, notFinalised, damaged, nothingToEncode, encoderFailed, encoderCrashed, encoderHung, verification
        case wouldLose
        case mediaProgramMissing
        // The cache and this machine
        case diskFull, recorderAtWork, cacheUnusable, copyLost, copyChanged, foundInCache, fileSystem
        // The far side
        case unreachable, certificate, closed, busy, farSideFull, invalidAnswer, refused, credentials, redirected
        case damagedOnTheWay, forgotten, conflict, tooLarge, receiptMismatch
    }

    package enum Retry: Hashable, Codable, Sendable {
        /// Trying again unchanged would fail again.
        case never
        /// Worth another try; not before `after` seconds have passed, where the far side said so.
        case later(after: Double?)
    }

    package let code: Code
    /// One sentence: what happened, why, and what to do. Printable; names no secret.
    package let reason: String
    package let retry: Retry

    package init(_ code: Code, _ reason: String, retry: Retry = .never) {
        self.code = code
        self.reason = reason.printable
        self.retry = retry
    }

    package var isTemporary: Bool { retry != .never }

    /// Whether another network could make the difference.
    package var isAboutReaching: Bool {
        isTemporary && demandedDelay == nil && (code == .unreachable || code == .certificate)
    }

    /// What the far side demanded to wait, in seconds.
    package var demandedDelay: Double? {
        if case .later(let after) = retry { after } else { nil }
    }
}

extension Fault.Code {
    /// Whether doing the same again can end otherwise once something outside the recording and its options has changed.
    package var isCuredByRetrying: Bool {
        switch self {
        case .notAFile, .incomplete, .notMedia, .notFinalised, .damaged, .nothingToEncode, .verification,
            .wouldLose, .recordingMissing:
            false
        default: true
        }
    }
}

extension Fault: CustomStringConvertible {
    package var description: String { reason }
}
