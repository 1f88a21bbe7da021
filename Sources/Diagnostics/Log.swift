import IngestModel

/// How much a line matters.
package enum LogLevel: Int, Comparable, Sendable {
    case debug, info, notice, warning, error

    package static func < (left: LogLevel, right: LogLevel) -> Bool { left.rawValue < right.rawValue }
}

/// One thing that happened, for whoever keeps the log.
package struct LogLine: Hashable, Sendable {
    package let level: LogLevel
    /// Which part of the program speaks, such as `receiver`.
    package let label: String
    package let message: String
    /// What belongs to it; values are made printable.
    package let fields: [String: String]
}

/// A scope that lines are written in: a label, fields that every line gets, and where the lines go. Passed down as a
/// value; whoever makes the first one decides where its lines end up.
package struct Log: Sendable {
    private let label: String
    private let fields: [String: String]
    private let lowest: LogLevel
    private let sink: @Sendable (LogLine) -> Void

    /// The sink is called from any thread, at once; it must not block for long.
    package init(
        _ label: String, lowest: LogLevel = .info, fields: [String: String] = [:],
        sink: @escaping @Sendable (LogLine) -> Void
    ) {
        self.label = label
        self.fields = fields
        self.lowest = lowest
        self.sink = sink
    }

    /// Throws every line away.
    package static let none = Log("", lowest: .error) { _ in }

    /// A scope inside this one.
    package func scope(_ label: String, _ more: [String: String] = [:]) -> Log {
        Log(label, lowest: lowest, fields: fields.merging(more) { $1 }, sink: sink)
    }

    package func debug(_ message: @autoclosure () -> String, _ more: @autoclosure () -> [String: String] = [:]) {
        write(.debug, message, more)
    }

    package func info(_ message: @autoclosure () -> String, _ more: @autoclosure () -> [String: String] = [:]) {
        write(.info, message, more)
    }

    package func warning(_ message: @autoclosure () -> String, _ more: @autoclosure () -> [String: String] = [:]) {
        write(.warning, message, more)
    }

    package func error(_ message: @autoclosure () -> String, _ more: @autoclosure () -> [String: String] = [:]) {
        write(.error, message, more)
    }

    private func write(_ level: LogLevel, _ message: () -> String, _ more: () -> [String: String]) {
        guard level >= lowest else { return }
        let all = fields.merging(more()) { $1 }.mapValues { $0.printable }
        sink(LogLine(level: level, label: label, message: message().printable, fields: all))
    }
}

extension LogLine {
    /// The line as text: `receiver: received file=a.mp4 size=3.4 MiB`.
    package var text: String { "\(label): \(words)" }

    /// The same for those who know which part of the program speaks.
    package var words: String {
        let pairs = fields.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
        return ([message] + pairs).joined(separator: " ")
    }
}

extension LogLevel {
    /// The priority that journald reads at the beginning of a line (`sd-daemon(3)`, `syslog(3)`).
    package var journalPrefix: String {
        switch self {
        case .debug: "<7>"
        case .info: "<6>"
        case .notice: "<5>"
        case .warning: "<4>"
        case .error: "<3>"
        }
    }
}
