import Diagnostics
import FoundationEssentials
import IngestModel
import Pipeline

/// One line for each running item, redrawn in place at most ten times a second; what is worth keeping scrolls by above.
final class TerminalOutput: EventOutput {
    private struct Line {
        let file: String
        var text: String
        var stage: StageProgress.Stage?
        var stageBegan: Date
    }

    private let context: CommandContext
    private let isQuiet: Bool
    private let isVerbose: Bool
    private var lines: [ItemID: Line] = [:]
    private var order: [ItemID] = []
    private var drawn = 0
    private var drawnAt: Date?

    private static let interval = 0.1

    init(_ context: CommandContext, isQuiet: Bool, isVerbose: Bool) {
        self.context = context
        self.isQuiet = isQuiet
        self.isVerbose = isVerbose
    }

    func show(_ event: PipelineEvent) {
        switch event.kind {
        case .progress(let progress, let inFlight): update(event, progress, inFlight)
        case .state(let state):
            if !state.isRunnable || state == .ready || state == .queued { drop(event.id) }
        case .retry, .done, .failed: drop(event.id)
        case .loss, .note, .warning: break
        }
        if let line = EventText.line(event, isQuiet: isQuiet, isVerbose: isVerbose), !isStateChange(event) || isVerbose
        {
            say(line, EventText.level(event))
        } else {
            redraw(force: false, at: event.time)
        }
        if case .done(let receipt, _) = event.kind {
            erase()
            context.output.write(receipt.url.printable + "\n")
            redraw(force: true, at: event.time)
        }
    }

    func say(_ sentence: String, _ level: LogLevel) {
        erase()
        context.say(sentence, level)
        redraw(force: true, at: context.now())
    }

    func finish() {
        erase()
        lines = [:]
        order = []
    }

    /// The moving line shows it already.
    private func isStateChange(_ event: PipelineEvent) -> Bool {
        if case .state = event.kind { true } else { false }
    }

    private func update(_ event: PipelineEvent, _ progress: StageProgress, _ inFlight: Int64) {
        if isQuiet { return }
        var line = lines[event.id] ?? Line(file: event.file, text: "", stage: nil, stageBegan: event.time)
        if line.stage != progress.stage {
            line.stage = progress.stage
            line.stageBegan = event.time
        }
        var remaining = Words.remaining(progress)
        if remaining == nil, progress.fraction > 0.01 {
            let elapsed = event.time.timeIntervalSince(line.stageBegan)
            remaining = elapsed / progress.fraction * (1 - progress.fraction)
        }
        line.text = Words.progress(progress, inFlight: inFlight, remaining: remaining)
        if lines[event.id] == nil { order.append(event.id) }
        lines[event.id] = line
    }

    private func drop(_ id: ItemID) {
        lines[id] = nil
        order.removeAll { $0 == id }
    }

    private func redraw(force: Bool, at time: Date) {
        if isQuiet { return }
        if !force, let drawnAt, time.timeIntervalSince(drawnAt) < Self.interval { return }
        drawnAt = time
        var out = drawn > 0 ? "\u{1B}[\(drawn)A" : ""
        let width = max(20, context.errors.width)
        let shown = order.compactMap { lines[$0] }
        for line in shown { out += "\u{1B}[2K" + Self.fit(line, width: width) + "\n" }
        if drawn > shown.count { out += "\u{1B}[J" }
        drawn = shown.count
        context.errors.write(out)
    }

    private func erase() {
        if drawn > 0 { context.errors.write("\u{1B}[\(drawn)A\u{1B}[J") }
        drawn = 0
    }

    /// On a narrow terminal the name gives way first, then whole numbers from the end; never a part of one.
    private static func fit(_ line: Line, width: Int) -> String {
        let room = width - 1
        var parts = line.text.split(separator: "  ")
        while parts.count > 1, parts.joined(separator: "  ").count + 2 + shortestName > room { parts.removeLast() }
        let text = parts.joined(separator: "  ")
        let nameRoom = room - text.count - 2
        if line.file.count <= nameRoom { return line.file + "  " + text }
        if nameRoom >= 2 { return line.file.prefix(nameRoom - 1) + "…  " + text }
        return String(text.prefix(room))
    }

    private static let shortestName = 8
}
