import IngestModel

/// Whether something would be lost that nobody asked to lose.
enum Strictness {
    static func fault(_ losses: [Loss]) -> Fault? {
        let unasked = losses.filter { !$0.isAsked }
        guard let first = unasked.first else { return nil }
        let more = unasked.count > 1 ? " (and \(unasked.count - 1) more)" : ""
        return Fault(
            .wouldLose,
            "the copy would not keep \(first.what)\(more): \(first.reason); without --strict it is made all the same, and "
                + "without --compress or --remux the recording is uploaded as it is")
    }
}
