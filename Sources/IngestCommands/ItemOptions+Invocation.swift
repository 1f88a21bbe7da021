import IngestModel

extension Invocation {
    /// What is stored with an item. What the configuration says about its destination stands between what was typed and what
    /// else a file says; what opens the destination is not stored but looked up.
    ///
    /// - Parameter directory: what relative paths lie below.
    /// - Returns: the options, with absolute paths.
    func itemOptions(in directory: FilePath) -> ItemOptions {
        let profile = profile
        let tokenFile = isExplicit("token-file") || profile?.hasCredentials != true ? options.tokenFile : nil
        let blockSize = isExplicit("block-size") ? nil : profile?.blockSize
        return ItemOptions(
            preparation: options.preparation, blockSize: blockSize ?? options.blockSize, limitRate: options.limitRate,
            tokenFile: tokenFile?.absolute(in: directory), title: options.title, parameters: options.parameters,
            template: options.template, after: options.after.absolute(in: directory), save: saveHook(directory),
            stripsLocation: options.strip == .location ? true : nil)
    }

    private func saveHook(_ directory: FilePath) -> SaveHook? {
        if !isExplicit("save"), let url = profile?.save {
            return SaveHook(url: url, tokenFile: profile?.saveTokenFile)
        }
        return options.save.map { SaveHook(url: $0, tokenFile: options.saveTokenFile?.absolute(in: directory)) }
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
