import IngestModel
import SystemIO
import Uploading

extension Invocation {
    /// What is stored with an item. What the configuration says about its destination stands between what was typed and what
    /// else a file says; what opens the destination is not stored but looked up.
    ///
    /// - Parameter directory: what relative paths lie below.
    /// - Returns: the options, with absolute paths.
    func itemOptions(in directory: FilePath) -> ItemOptions {
        let profile = profile
        let isForIt = goesWith("to", file: "token-file") && profile?.hasCredentials != true
        let tokenFile = isExplicit("token-file") || isForIt ? options.tokenFile : nil
        let blockSize = isExplicit("block-size") ? nil : profile?.blockSize
        return ItemOptions(
            preparation: options.preparation, blockSize: blockSize ?? options.blockSize, limitRate: options.limitRate,
            tokenFile: tokenFile?.absolute(in: directory), title: options.title, parameters: options.parameters,
            template: options.template, after: options.after.absolute(in: directory), save: saveHook(directory),
            stripsLocation: options.strip == .location ? true : nil,
            keepsFor: command == .watch ? options.keepsFor : nil,
            freesBelow: command == .watch ? options.freesBelow : nil, isWatched: command == .watch ? true : nil,
            care: options.care == .standard || !options.preparation.needsMedia ? nil : options.care)
    }

    /// Before anything is copied: what cannot be used now is not going to be later.
    func checkDestination(_ context: CommandContext) throws {
        if let objection = objectionToDestination(context.environment) {
            throw CommandFailure(.usage, objection)
        }
        let options = itemOptions(in: context.environment.workingDirectory)
        let tokenFile = options.tokenFile ?? profile?.tokenFile
        for file in [tokenFile, options.save?.tokenFile].compactMap({ $0 }) { _ = try Credentials.token(in: file) }
        if options.save == nil {
            for name in ["param", "title"] where isTyped(name) {
                throw CommandFailure(
                    .usage, "--\(name) is told to the save hook, and there is none: name it with --save")
            }
        }
        if case .move(let target) = options.after {
            guard try FileSystem.statusIfExists(of: target)?.kind == .directory else {
                throw CommandFailure(.usage, "there is no directory \(target.text.printable) to move recordings to")
            }
        }
    }

    private func saveHook(_ directory: FilePath) -> SaveHook? {
        if !isExplicit("save"), let url = profile?.save {
            return SaveHook(url: url, tokenFile: profile?.saveTokenFile)
        }
        let tokenFile = goesWith("save", file: "save-token-file") ? options.saveTokenFile : nil
        return options.save.map { SaveHook(url: $0, tokenFile: tokenFile?.absolute(in: directory)) }
    }

    /// Whether a token that a file names may go to the server that holds: not where the file names it beside another server,
    /// whose it is then.
    private func goesWith(_ server: String, file tokenFile: String) -> Bool {
        isExplicit(tokenFile) || !isExplicit(server) || !isConfigured(server)
    }
}

extension AfterAction {
    /// `nil` for keeping the recording, which is what happens by itself.
    fileprivate func absolute(in directory: FilePath) -> AfterAction? {
        switch self {
        case .keep: nil
        case .delete, .trash: self
        case .move(let target): .move(target.absolute(in: directory))
        }
    }
}

extension DestinationProfile {
    fileprivate var hasCredentials: Bool { token != nil || tokenFile != nil || user != nil }
}
