import IngestModel
import OptionParsing
import Settings
import SystemIO

/// What the configuration files and the environment say.
struct Configuration: Sendable {
    let options: Options
    /// In the order of the table.
    let settings: [Setting]
    let destinations: [DestinationName: ConfiguredDestination]
    /// In the order of their names.
    let folders: [ConfiguredFolder<Options>]

    private static let system = FilePath("/etc/ingest/config.toml")

    /// Reads `/etc/ingest/config.toml`, the user's file (or the one that `--config` or `INGEST_CONFIG` names), and the
    /// environment.
    ///
    /// - Parameters:
    ///   - context: whose environment it is.
    ///   - typed: what `--config` says.
    /// - Returns: what holds below the command line.
    /// - Throws: `ConfigurationProblems` with everything that is wrong.
    static func read(
        _ context: CommandContext, typed: FilePath?
    ) throws(ConfigurationProblems) -> Configuration {
        let environment = context.environment
        var problems: [String] = []
        var files: [ConfigurationFile] = []
        for (path, isWanted) in places(environment, typed) {
            do throws(ConfigurationFile.Problem) {
                if let file = try ConfigurationFile.readIfPresent(path) {
                    files.append(file)
                } else if isWanted {
                    problems.append("there is no configuration \(path.text.printable)")
                }
            } catch {
                problems.append(error.sentence)
            }
        }
        let table = OptionDeclaration.table.map { $0.spec }
        let reader = SettingsReader(
            options: table, destinationKeys: DestinationKeys.table, folderOptions: OptionDeclaration.ofFolders,
            check: DestinationKeys.objection,
            home: environment.home)
        let result = reader.read(into: Options(), files, environment)
        problems += result.problems
        problems += contradictions(result.settings)
        guard problems.isEmpty else { throw ConfigurationProblems(sentences: problems) }
        var settings = result.settings
        // The stronger one has taken the weaker one back.
        if result.target.remux { settings["compress"]?.takeBack() }
        if result.target.compress != nil { settings["remux"]?.takeBack() }
        return Configuration(
            options: result.target, settings: table.compactMap { $0.isSetting ? settings[$0.name] : nil },
            destinations: result.destinations, folders: result.folders.values.sorted { $0.name < $1.name })
    }

    /// What one file, or the environment, says against itself.
    private static func contradictions(_ settings: [String: Setting]) -> [String] {
        guard let compress = settings["compress"], let remux = settings["remux"], compress.isOn, remux.isOn else {
            return []
        }
        switch (compress.origin, remux.origin) {
        case (.file(let path, _), .file(let other, _)) where path == other:
            return ["\(path.text.printable): “compress” and “remux” exclude each other"]
        case (.environment, .environment): return ["INGEST_COMPRESS and INGEST_REMUX exclude each other"]
        default: return []
        }
    }

    /// Where settings are looked for, from the weakest to the strongest, and whether something must be there.
    private static func places(_ environment: Environment, _ typed: FilePath?) -> [(FilePath, isWanted: Bool)] {
        let (user, isWanted) = userFile(environment, typed)
        return [(system, false), (user, isWanted)].compactMap { path, isWanted in path.map { ($0, isWanted) } }
    }

    /// The user's file, and whether it was named.
    static func userFile(_ environment: Environment, _ typed: FilePath?) -> (path: FilePath?, isNamed: Bool) {
        let named = typed ?? environment["INGEST_CONFIG"].flatMap { FilePath($0) }
        guard let named else { return (environment.configurationFile, false) }
        return (named.absolute(in: environment.workingDirectory), true)
    }
}

extension Setting {
    fileprivate mutating func takeBack() {
        texts = []
        isOn = false
    }
}

/// Why the settings cannot be used.
struct ConfigurationProblems: Error {
    /// Without full stops.
    let sentences: [String]
}

extension Invocation {
    /// What the configuration says about the destination; `nil` for a URL and the built-in receiver.
    var profile: DestinationProfile? {
        guard case .named(let name) = options.destination else { return nil }
        return destinations[name]?.profile
    }

    /// What is wrong with the destination; `nil` if nothing is.
    func objectionToDestination(_ environment: Environment) -> String? {
        guard case .named(let name) = options.destination, destinations[name] == nil else { return nil }
        let known = destinations.keys.map { $0.text }.sorted()
        let file = Configuration.userFile(environment, options.configuration).path?.text.printable ?? "config.toml"
        let hint =
            if let nearest = EditDistance.nearest(to: name.text, among: known) { "; did you mean “\(nearest)”?" } else {
                known.isEmpty
                    ? "; \(file) has no [destination.\(name.text)]. A directory is not possible yet, a URL is"
                    : "; there are \(known.joined(separator: ", "))"
            }
        return "there is no destination “\(name.text)”\(hint)"
    }
}
