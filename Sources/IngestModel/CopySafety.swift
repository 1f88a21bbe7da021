/// Whether deleting a cached copy could delete the last copy of a recording.
package enum CopySafety {
    /// Judges the deletion of the item's sealed copy.
    ///
    /// - Parameters:
    ///   - item: the item whose copy would go.
    ///   - recording: what stands now where the recording was, or `nil` if nothing does.
    /// - Returns: `nil` if the copy may go, else a sentence that says why it must not.
    package static func objection(toDeletingCopyOf item: Item, recording: RecordingIdentity?) -> String? {
        if item.seal == nil || item.receipt != nil || item.state.isFinished { return nil }
        if item.isItsOwnRecording {
            return "\(item.displayName) was found in the cache, so it may be the last copy, and it has not reached a "
                + "destination; nothing is deleted. Use --force to delete it all the same"
        }
        guard let recording else {
            return "\(item.displayName) is gone, so its copy in the cache may be the last one, and it has not reached "
                + "its destination; nothing is deleted. Use --force to delete it all the same"
        }
        guard recording.isUnchanged(from: item.identity) else {
            return
                "\(item.displayName) has changed since it was copied, so the copy in the cache may be the last one of "
                + "what it was, and it has not reached its destination; nothing is deleted. Use --force to delete it "
                + "all the same"
        }
        return nil
    }
}

/// What to do about a recording that no longer is what it was when its copy was sealed.
package enum RecordingCheck: Equatable, Sendable {
    /// Unchanged, or gone (the copy carries on alone).
    case goOn
    /// The same file has grown and all that was copied still stands in it, or the copy is a link to it: the copy can be
    /// given up for the new whole.
    case withdraw
    /// Replaced, shortened or overwritten: what was copied may exist nowhere else. The copy goes on as it was taken.
    case goOnMarked

    /// - Parameters:
    ///   - taken: the identity that the copy was taken from.
    ///   - isLink: whether the copy is a hard link to the recording.
    ///   - now: what stands at the path now, `nil` if nothing does.
    ///   - oldFingerprint: the fingerprint over the bytes that stood there then (as long as the old size), taken now;
    ///     `nil` where the file is shorter than it was.
    /// - Returns: what to do with the copy.
    package static func compare(
        taken: RecordingIdentity, isLink: Bool, now: RecordingIdentity?, oldFingerprint: SHA256Digest?
    ) -> RecordingCheck {
        guard let now else { return .goOn }
        // The link has changed with it, whatever was changed.
        if isLink, now.isSameInode(as: taken), !now.isUnchanged(from: taken) { return .withdraw }
        if now.size == taken.size && now.fingerprint == taken.fingerprint { return .goOn }
        let hasGrown = now.isSameInode(as: taken) && now.size > taken.size
        return hasGrown && oldFingerprint == taken.fingerprint ? .withdraw : .goOnMarked
    }
}
