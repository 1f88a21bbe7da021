import Diagnostics
import FoundationEssentials
import IngestModel
import Pipeline

/// Shows what happens, one way or another.
protocol EventOutput: AnyObject {
    func show(_ event: PipelineEvent)

    /// A sentence for a person.
    func say(_ sentence: String, _ level: LogLevel)

    /// Nothing more comes.
    func finish()
}

/// One JSON object a line on standard output.
final class JSONOutput: EventOutput {
    private let context: CommandContext

    init(_ context: CommandContext) {
        self.context = context
    }

    func show(_ event: PipelineEvent) {
        var json = EventJSON(
            event: "", time: event.time, id: event.id.value, file: event.recording.text, state: event.state.rawValue)
        switch event.kind {
        case .state: json.event = "state"
        case .progress(let progress, _):
            json.event = "progress"
            json.stage = progress.stage.rawValue
            json.rate = progress.rate
            json.fraction = progress.fraction
            if progress.stage.countsBytes {
                json.bytes = progress.done
                json.total = progress.total
            }
        case .loss(let loss):
            json.event = "loss"
            json.what = loss.what
            json.reason = loss.reason
            json.outcome = loss.outcome.rawValue
            json.isAsked = loss.isAsked
        case .note(let text), .warning(let text):
            json.event = "note"
            json.reason = text
        case .retry(let fault, let delay):
            json.event = "retry"
            json.reason = fault.reason
            json.code = fault.code.rawValue
            json.retryAfter = delay
        case .done(let receipt, let original):
            json.event = "done"
            json.url = receipt.url
            json.sha256 = receipt.sha256?.hex
            json.receipt = receipt.proof.rawValue
            json.total = receipt.size.value
            json.originalSize = original.value
        case .failed(let fault):
            json.event = "failed"
            json.reason = fault.reason
            json.code = fault.code.rawValue
        }
        context.output.write(JSONText.line(json) + "\n")
    }

    func say(_ sentence: String, _ level: LogLevel) {
        context.say(sentence, level)
    }

    func finish() {}
}

/// Lines of text: results on standard output; what is said to people on standard error, at each change of state and every
/// ten seconds; the journal is spared the latter.
final class PlainOutput: EventOutput {
    private let context: CommandContext
    private let isQuiet: Bool
    private let isVerbose: Bool
    private var saidAt: [ItemID: Date] = [:]
    /// What was said last of each item's state: another try is no news.
    private var saidStates: [ItemID: ItemState] = [:]

    private static let interval = 10.0

    init(_ context: CommandContext, isQuiet: Bool, isVerbose: Bool) {
        self.context = context
        self.isQuiet = isQuiet
        self.isVerbose = isVerbose
    }

    func show(_ event: PipelineEvent) {
        if case .progress(let progress, let inFlight) = event.kind {
            if isQuiet || context.isJournal || progress.stage == .uploading && progress.done + inFlight == 0 { return }
            if let said = saidAt[event.id], event.time.timeIntervalSince(said) < Self.interval { return }
            saidAt[event.id] = event.time
            say(
                "\(event.file): " + Words.progress(progress, inFlight: inFlight, remaining: Words.remaining(progress)),
                .info)
            return
        }
        if let line = EventText.line(event, isQuiet: isQuiet, isVerbose: isVerbose), isNews(event) {
            say(line, EventText.level(event))
        }
        if case .done(let receipt, _) = event.kind { context.output.write(receipt.url.printable + "\n") }
    }

    private func isNews(_ event: PipelineEvent) -> Bool {
        guard case .state(let state) = event.kind, !isVerbose else { return true }
        defer { saidStates[event.id] = state }
        return saidStates[event.id] != state
    }

    func say(_ sentence: String, _ level: LogLevel) {
        context.say(sentence, level)
    }

    func finish() {}
}

/// What an event says in a line; nothing for events that need none.
enum EventText {
    static func line(_ event: PipelineEvent, isQuiet: Bool, isVerbose: Bool) -> String? {
        switch event.kind {
        case .progress: return nil
        case .state(let state):
            // Failing and being done have events of their own.
            if isQuiet || state == .failed || state == .done || state == .saving { return nil }
            if !isVerbose, state == .queued || state == .ready { return nil }
            return "\(event.file): \(Words.state(state))"
        case .loss(let loss): return "\(event.file): \(Words.outcome(of: loss)): \(loss.what); \(loss.reason)"
        case .note(let text): return isQuiet ? nil : "\(event.file): " + Words.sentence(text)
        case .warning(let text): return "\(event.file): " + Words.sentence(text)
        case .retry(let fault, let delay):
            if isQuiet { return nil }
            let wait = delay < 0.1 ? "at once" : "in \(Words.wait(delay))"
            return "\(event.file): " + Words.sentence(fault.reason) + " The next try is due \(wait)."
        case .done(let receipt, let original):
            if isQuiet { return nil }
            let was = original == receipt.size ? "" : " instead of \(original.forReading)"
            return "\(event.file): done (\(receipt.size.forReading)\(was), \(EventText.proof(receipt.proof)))"
        case .failed(let fault): return failure(event, fault)
        }
    }

    /// How much the line matters.
    static func level(_ event: PipelineEvent) -> LogLevel {
        switch event.kind {
        case .progress, .state, .note: .info
        case .done: .notice
        case .loss, .warning, .retry: .warning
        case .failed: .error
        }
    }

    static func proof(_ proof: Receipt.Proof) -> String {
        switch proof {
        case .digest: "SHA-256 confirmed"
        case .parts: "every block confirmed"
        case .size: "size confirmed"
        }
    }

    /// What happened, then what is kept.
    private static func failure(_ event: PipelineEvent, _ fault: Fault) -> String {
        "\(event.file): " + Words.sentence(fault.reason) + " It stays on the list as item \(event.id)."
    }
}
