package import IngestModel

/// What one look at a file shows.
package struct Look: Sendable {
    let size: ByteCount
    /// Seconds since its last change, by its own time; negative where that lies in the future.
    let age: Double
    /// Seconds for which it has been seen not to change.
    let quietFor: Double
    /// Whether somebody has it open for writing, or mapped so; `nil` where the kernel cannot tell.
    let hasWriter: Bool?
    /// What the container proves; `nil` where that was not looked at.
    let proof: ContainerVerdict?

    package init(size: ByteCount, age: Double, quietFor: Double, hasWriter: Bool?, proof: ContainerVerdict?) {
        self.size = size
        self.age = age
        self.quietFor = quietFor
        self.hasWriter = hasWriter
        self.proof = proof
    }
}

/// Whether a recording is finished: first the kernel is asked, then the container, then the clock.
package enum Readiness: Hashable, Sendable {
    /// `isProven`: by the container; if not, by the clock.
    case finished(isProven: Bool)
    /// Not yet, for this reason; another look in so many seconds, unless something happens before.
    case waits(for: WaitingReason, lookAgain: Double)

    /// Seconds between two looks at a file that somebody writes: nothing tells when a memory map ends.
    private static let writerInterval = 0.5
    private static let incompleteInterval = 5.0
    private static let emptyInterval = 5.0

    package static func judge(_ look: Look, _ rules: WatchRules) -> Readiness {
        if look.hasWriter == true { return .waits(for: .writer, lookAgain: writerInterval) }
        if look.size.value == 0 { return .waits(for: .lacking("it is empty"), lookAgain: emptyInterval) }
        if look.age >= 0, look.age < rules.youngest {
            return .waits(
                for: .passing("it changed less than \(Int(rules.youngest)) s ago"), lookAgain: rules.youngest - look.age
            )
        }
        switch (look.hasWriter, look.proof) {
        case (_, .incomplete(let clause)): return .waits(for: .lacking(clause), lookAgain: incompleteInterval)
        case (false, .complete): return .finished(isProven: true)
        case (false, _):
            // With nobody writing, its own time counts too: what lay there before is not waited for.
            return settled(max(look.quietFor, look.age), look, rules)
        case (_, _): return settled(look.quietFor, look, rules)
        }
    }

    private static func settled(_ seconds: Double, _ look: Look, _ rules: WatchRules) -> Readiness {
        if seconds >= rules.settlingTime { return .finished(isProven: look.proof == .complete) }
        return .waits(
            for: .passing("it may still be written; nothing proves that it is complete"),
            lookAgain: max(0.02, rules.settlingTime - seconds))
    }
}
