import FoundationEssentials
import Glibc
package import IngestModel
import SystemIO

/// Runs `ingest-media`, which does everything that opens a media file: one process for each piece of work, so that a codec
/// that crashes, hangs or eats memory takes down one item and nothing else.
///
/// The request goes in as one JSON line, events come out as JSON lines. The child ends when its standard input ends, so it
/// dies with this process however that dies.
package struct MediaProcess: Sendable {
    private let program: FilePath
    /// Seconds without a word after which the process counts as hanging.
    private let patience: Double

    package init(program: FilePath, patience: Double = 60) {
        self.program = program
        self.patience = patience
    }

    /// Its whole environment. An arena of memory for every thread would be reserved in vain, and counts.
    private static let variables = ["LANG": "C.UTF-8", "SVT_LOG": "1", "MALLOC_ARENA_MAX": "4"]

    /// Finds the program beside `ingest`, else in `../libexec/ingest/`.
    package static func locate(beside directory: FilePath) throws(Fault) -> FilePath {
        let candidates = [
            directory.appending("ingest-media"), directory.parent.appending("libexec/ingest/ingest-media"),
        ]
        for candidate in candidates {
            if let status = try? FileSystem.statusIfExists(of: candidate), status.kind == .regular { return candidate }
        }
        throw Fault(
            .mediaProgramMissing,
            "the program ingest-media is missing; it belongs beside ingest, or in ../libexec/ingest/")
    }

    /// Does the work and hands over the events as they come. `isHeld` is asked several times a second: as long as it says so
    /// the process stands still.
    ///
    /// - Returns: the last event, which is a result.
    /// - Throws: the `Fault` that the process reported, or one that says how it ended; `CancellationError` when the task is
    ///   cancelled, after the process has been killed.
    package func run(
        _ request: MediaRequest, isHeld: @escaping @Sendable () -> Bool = { false },
        onEvent: @escaping @Sendable (MediaEvent) -> Void
    ) async throws -> MediaEvent {
        try await offPool { stop in
            try conduct(request, stop: stop, isHeld: isHeld, onEvent: onEvent)
        }
    }

    private func conduct(
        _ request: MediaRequest, stop: StopFlag, isHeld: () -> Bool, onEvent: (MediaEvent) -> Void
    ) throws -> MediaEvent {
        let child: ChildProcess
        do {
            child = try ChildProcess(program, arguments: [], variables: Self.variables)
            try child.send(Array(try JSONEncoder().encode(request)) + [UInt8(ascii: "\n")])
        } catch let error as SystemError {
            throw Fault(.encoderFailed, "the encoder could not be started: \(error)", retry: .later(after: 10))
        }
        var lines = LineReader()
        var lastEvent: MediaEvent?
        var heardAt = ContinuousClock.now
        var isStanding = false
        while true {
            if isHeld() != isStanding {
                isStanding.toggle()
                child.send(signal: isStanding ? SIGSTOP : SIGCONT)
            }
            if isStanding { heardAt = .now }
            if stop.isSet {
                _ = child.finish(killing: true)
                throw CancellationError()
            }
            guard let bytes = try child.receive(within: 100) else {
                if ContinuousClock.now - heardAt < .seconds(patience) { continue }
                _ = child.finish(killing: true)
                throw Fault(
                    .encoderHung,
                    "the encoder made no progress for \(Int(patience)) s and was ended; without --compress the recording "
                        + "is uploaded as it is")
            }
            if bytes.isEmpty { break }
            heardAt = .now
            for line in try lines.take(bytes) {
                let event = try Self.event(line)
                lastEvent = event
                onEvent(event)
            }
        }
        return try Self.result(lastEvent, ending: child.finish(killing: false))
    }

    private static func event(_ line: [UInt8]) throws(Fault) -> MediaEvent {
        do {
            return try JSONDecoder().decode(MediaEvent.self, from: Data(line))
        } catch {
            throw Fault(.encoderFailed, "the encoder said something that cannot be understood")
        }
    }

    private static func result(_ event: MediaEvent?, ending: ChildProcess.Ending) throws(Fault) -> MediaEvent {
        switch event {
        case .failed(let fault): throw fault
        case .made, .probed, .notWorthwhile:
            if let event, ending == .exited(0) { return event }
        case .progress, .loss, .unfenced, .expected, nil: break
        }
        let how =
            switch ending {
            case .exited(let status): "with status \(status)"
            case .killed(let signal): "by signal \(signal)"
            }
        throw Fault(
            .encoderCrashed,
            "the encoder was ended \(how) while it worked on this recording; nothing else is affected. Without --compress it "
                + "is uploaded as it is")
    }
}

/// Cuts a stream of bytes into lines.
struct LineReader {
    private var rest: [UInt8] = []
    private static let longest = 1 << 20

    /// The lines that are complete now, without their ends. Fails for a line that does not end.
    mutating func take(_ bytes: [UInt8]) throws(Fault) -> [[UInt8]] {
        rest += bytes
        guard let end = rest.lastIndex(of: UInt8(ascii: "\n")) else {
            if rest.count > Self.longest { throw Fault(.encoderFailed, "the encoder talks without end") }
            return []
        }
        let lines = rest[..<end].split(separator: UInt8(ascii: "\n")).map { Array($0) }
        rest = Array(rest[(end + 1)...])
        return lines
    }
}
