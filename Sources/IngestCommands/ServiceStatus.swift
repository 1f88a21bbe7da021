import FoundationEssentials
import Receiver
import SystemIO
import UploadList

/// What `systemctl status` says of a running service.
enum ServiceStatus {
    /// Tells the service manager how the list stands, until the task is cancelled; nothing where there is none.
    static func tell(_ service: ServiceManager?, of list: UploadList, now: @Sendable () -> Date) async {
        guard let service, service.isPresent else { return }
        var seen: [Int64] = []
        while !Task.isCancelled {
            // A list that cannot be read is the supervisor's to tell of; the status stays until it can.
            if let writes = try? await list.writes(), writes != seen, let counts = try? await list.counts(at: now()) {
                seen = writes
                service.status(text(counts))
            }
            // Cancellation only means that nobody wants to know any more.
            try? await Task.sleep(for: ServiceManager.statusInterval)
        }
    }

    /// The same for a receiver; and that it is alive, as long as its store answers.
    static func tell(_ service: ServiceManager, of receiver: Receiver) async {
        guard service.isPresent else { return }
        let place = "listening on \(receiver.address)"
        let turn = min(ServiceManager.statusInterval, (service.patience ?? .seconds(60)) / 6)
        while !Task.isCancelled {
            // What is wrong with the store its clients are told; only one that does not answer at all holds this up.
            let count = (try? await offPool { _ in try receiver.uploadsComingIn() }) ?? 0
            service.status(count == 0 ? place : place + ", " + Words.count(count, "upload comes in", "uploads come in"))
            service.alive()
            // Cancellation only means that nobody wants to know any more.
            try? await Task.sleep(for: turn)
        }
    }

    /// `2 uploading, 5 waiting, 1 failed`
    static func text(_ counts: ListCounts) -> String {
        let parts = [
            (counts.preparing, "preparing"), (counts.uploading, "uploading"), (counts.waiting, "waiting"),
            (counts.failed, "failed"),
        ]
        let shown = parts.filter { $0.0 > 0 }.map { "\($0) \($1)" }
        return shown.isEmpty ? "nothing to do" : shown.joined(separator: ", ")
    }
}
