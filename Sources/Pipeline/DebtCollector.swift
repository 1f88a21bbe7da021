import Diagnostics
import FoundationEssentials
import IngestModel
import UploadList
import Uploading

/// Has the far side drop what is of no use there any more.
package struct DebtCollector: Sendable {
    private let context: PipelineContext

    /// Seconds after which a debt is given up: by then servers drop what nobody goes on with.
    private static let longest = 7.0 * 86_400
    private static let interval = Duration.seconds(5)

    package init(context: PipelineContext) {
        self.context = context
    }

    /// What became of the debts that were looked at.
    package struct Outcome: Sendable {
        package var dropped = 0
        /// Destinations that cannot drop: what they hold expires there.
        package var leftToExpire: [String] = []
        /// Sentences about those that could not be paid now.
        package var unpaid: [String] = []
    }

    /// Pays what is due now.
    @discardableResult
    package func payDue() async -> Outcome {
        await pay(dueAt: context.now())
    }

    /// Pays everything, due or not.
    package func payAll() async -> Outcome {
        await pay(dueAt: nil)
    }

    /// Looks for due debts every few seconds until the task is cancelled.
    func payWhileRunning() async {
        while !Task.isCancelled {
            await payDue()
            // Cancellation only means that the loop ends.
            try? await Task.sleep(for: Self.interval)
        }
    }

    private func pay(dueAt now: Date?) async -> Outcome {
        var outcome = Outcome()
        do {
            // One process at a time: the second to ask for the same thing would be told that there is nothing.
            guard let lock = try ItemLock.takeForDebts(in: context.list) else { return outcome }
            defer { withExtendedLifetime(lock) {} }
            for open in try await context.list.debts(dueAt: now) {
                try Task.checkCancellation()
                try await pay(open, &outcome)
            }
        } catch is CancellationError {
            return outcome
        } catch {
            context.log.error("debts could not be paid", ["reason": "\(error)"])
            outcome.unpaid.append("\(error)")
        }
        return outcome
    }

    private func pay(_ open: UploadList.OpenDebt, _ outcome: inout Outcome) async throws {
        let debt = open.debt
        do {
            let destination = try await context.destinations.destination(
                for: debt.destination, tokenFile: debt.tokenFile)
            switch try await destination.abandon(debt.remote, named: debt.name) {
            case .dropped: outcome.dropped += 1
            case .leftToExpire:
                outcome.leftToExpire.append(debt.name)
                context.log.info(
                    "the destination cannot drop what it has of this upload; it will expire there", ["file": debt.name])
            }
            try await context.list.settle(open.id)
        } catch let fault as Fault {
            if context.now().timeIntervalSince(open.created) > Self.longest {
                outcome.leftToExpire.append(debt.name)
                return try await context.list.settle(open.id)
            }
            var generator = SystemRandomNumberGenerator()
            let delay = RetryPolicy(first: 5, longest: 3600).delay(
                afterFailure: open.attempts + 1, demanded: fault.demandedDelay, using: &generator)
            outcome.unpaid.append("\(debt.name): \(fault.reason)")
            try await context.list.postpone(
                open.id, until: context.now().addingTimeInterval(delay), reason: fault.reason)
        }
    }
}
