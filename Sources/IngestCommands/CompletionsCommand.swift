import IngestModel
import Settings
import SystemIO
import UploadList

/// `ingest completions bash|zsh|fish`, and what those scripts ask for: `ids` and `destinations`, a name and what it is a
/// line, with a tab between them.
enum CompletionsCommand {
    static let shells = ["bash", "zsh", "fish"]
    static let operands = shells + ["ids", "destinations"]

    static func run(_ context: CommandContext, _ invocation: Invocation) async throws -> ExitCode {
        switch invocation.operands.first.map({ String(decoding: $0, as: UTF8.self) }) {
        case "bash": context.output.write(Completions.bash)
        case "zsh": context.output.write(Completions.zsh)
        case "fish": context.output.write(Completions.fish)
        case "ids": try await writeIDs(context)
        default: try writeDestinations(context, invocation)
        }
        return .done
    }

    /// The newest thousand that are not finished: who has more of them types.
    private static func writeIDs(_ context: CommandContext) async throws {
        let list = try Session.openList(context)
        for (item, _) in try await list.items(after: ItemID(0), limit: 1000, finishedToo: false) {
            context.output.write("\(item.id)\t\(item.displayName), \(item.state.rawValue)\n")
        }
    }

    private static func writeDestinations(_ context: CommandContext, _ invocation: Invocation) throws {
        let configuration = try Configuration.read(context, typed: invocation.options.configuration)
        context.output.write("\(DestinationAddress.builtInWord)\tthe receiver built into the program\n")
        for destination in configuration.destinations.values.sorted(by: { $0.name.text < $1.name.text }) {
            let url = destination.profile.address?.text.printable ?? ""
            context.output.write("\(destination.name.text)\t\(url)\n")
        }
    }
}
