/// `ingest man`
enum ManCommand {
    static func run(_ context: CommandContext) -> ExitCode {
        context.output.write(ManualPage.text)
        return .done
    }
}
