package import IngestModel
package import SystemIO

/// A recording that is finished.
package struct FinishedRecording: Sendable {
    package let path: FilePath
    /// What was looked at; by now something else may stand there.
    package let status: FileStatus
    /// Whether its container shows it to be complete; if not, it has only been quiet.
    package let isProven: Bool
}

/// What becomes of a recording that is finished.
package enum Taking: Hashable, Sendable {
    /// It is on the list, or known; nothing more is to be done until it changes.
    case settled
    /// The same, and files of its group go with it.
    case leads(RecordingGroup)
    /// It goes with a recording of its group, and there is none; nothing is to be done until there is.
    case follows(RecordingGroup)
    /// Not now; the next look in so many seconds.
    case later(Double)
}

/// What a person should know about a folder.
package enum FolderNotice: Hashable, Sendable {
    /// It is not there, or not any more; it is waited for.
    case isGone
    case isBack
    /// The user's watches are used up at this number; from this directory on, what cannot be watched is polled.
    case watchLimit(Int?, from: FilePath)
    /// This directory is polled, because other machines may write there.
    case isPolled(FilePath)
    case isUnreadable(FilePath, reason: String)
    /// A receiver keeps here what has arrived; it is left alone.
    case isReceived(FilePath)
    /// Events were lost; everything is looked at anew.
    case hasLostEvents
}

/// Hears of a folder. The calls come one after another, on the folder's own thread, and may block.
package protocol FolderObserver: Sendable {
    /// The recording is finished.
    ///
    /// - Returns: what becomes of it.
    func take(_ recording: FinishedRecording) -> Taking
    /// It is not finished yet, for this reason; comes again when the reason changes.
    ///
    /// - Returns: `false` to be told again a little later.
    func waits(_ path: FilePath, for reason: WaitingReason) -> Bool
    /// A file is not waited for any more: it has gone, or got another name.
    func isGone(_ path: FilePath)
    /// Everything has been looked at; these files are being waited for.
    func hasScanned(waiting: Set<FilePath>)
    func notice(_ notice: FolderNotice)
    /// Whether any file in the folder is being written.
    func isBeingWritten(_ isWritten: Bool)
}
