import IngestModel
import Pipeline

/// `ingest probe FILE...`
enum ProbeCommand {
    static func run(_ context: CommandContext, _ invocation: Invocation) async throws -> ExitCode {
        let options = invocation.options
        let settings = options.compressSettings ?? refined(options)
        var statuses: [ExitCode] = []
        for operand in invocation.operands {
            let shown = String(decoding: operand, as: UTF8.self).printable
            guard let path = context.absolute(operand) else {
                context.say("“\(shown)” names no file")
                statuses.append(.usage)
                continue
            }
            do {
                let report = try await MediaLook.probe(path, settings: settings, environment: context.environment)
                if options.json {
                    context.output.write(JSONText.line(report) + "\n")
                } else {
                    context.output.write(text(report, shown))
                }
                statuses.append(.done)
            } catch let fault as Fault {
                context.say("\(shown): " + Words.sentence(fault.reason))
                statuses.append(.failed)
            }
        }
        return ExitCode.combined(statuses)
    }

    /// What `--compress` would take without a preset named.
    private static func refined(_ options: Options) -> CompressSettings {
        CompressSettings(
            codec: options.codec ?? .auto, quality: options.quality, maxHeight: options.maxHeight,
            maxFramesPerSecond: options.maxFramesPerSecond)
    }

    private static func text(_ report: MediaReport, _ name: String) -> String {
        var out = "\(name): \(report.container.printable)"
        if let duration = report.duration { out += ", \(Decimal.fixed(duration, places: 3)) s" }
        out += "\n"
        if let time = report.creationTime { out += "  created \(time.printable)\n" }
        if report.hasLocation { out += "  carries a position\n" }
        for stream in report.streams {
            let language = stream.language.map { " [\($0)]" } ?? ""
            out += "  stream \(stream.index)\(language): \(stream.kind) \(stream.codec)"
            out += stream.detail.isEmpty ? "" : ", \(stream.detail)"
            out += "\n      --compress: \(stream.plan)\n"
        }
        if let objection = report.objection { out += "  --compress: " + Words.sentence(objection) + "\n" }
        for loss in report.losses { out += "  \(Words.outcome(of: loss)): \(loss.what); \(loss.reason)\n" }
        return out
    }
}
