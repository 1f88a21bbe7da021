package import IngestModel
package import OptionParsing
package import SystemIO

/// Lays configuration files and the environment over each other, by the same tables as the command line.
///
/// Later layers win: defaults, the system's file, the user's file, the environment; the command line comes after it, by
/// `OptionParser`.
package struct SettingsReader<Target> {
    private let options: [OptionSpec<Target>]
    private let destinationKeys: [OptionSpec<DestinationProfile>]
    private let folderOptions: Set<String>
    private let check: @Sendable (DestinationProfile) -> String?
    private let home: FilePath?

    /// - Parameters:
    ///   - options: every option of every command.
    ///   - destinationKeys: what a table `[destination.NAME]` may hold.
    ///   - folderOptions: the options that a table `[watch.NAME]` may hold.
    ///   - check: what is wrong with a whole table, without a full stop; `nil` if nothing is.
    ///   - home: what `~/` at the beginning of a path means.
    package init(
        options: [OptionSpec<Target>], destinationKeys: [OptionSpec<DestinationProfile>],
        folderOptions: Set<String> = [],
        check: @escaping @Sendable (DestinationProfile) -> String? = { _ in nil }, home: FilePath?
    ) {
        self.options = options
        self.destinationKeys = destinationKeys
        self.folderOptions = folderOptions
        self.check = check
        self.home = home
    }

    package struct Result {
        package var target: Target
        /// By name; options that are no settings are not among them.
        package var settings: [String: Setting]
        package var destinations: [DestinationName: ConfiguredDestination] = [:]
        /// By name.
        package var folders: [String: ConfiguredFolder<Target>] = [:]
        /// Sentences without a full stop; empty if all is well.
        package var problems: [String] = []
    }

    /// Reads the layers below the command line.
    ///
    /// - Parameters:
    ///   - target: with the defaults.
    ///   - files: from the weakest to the strongest.
    ///   - environment: whose `INGEST_…` variables are options.
    /// - Returns: what holds, where it comes from, and everything that is wrong.
    package func read(into target: Target, _ files: [ConfigurationFile], _ environment: Environment) -> Result {
        var settings: [String: Setting] = [:]
        for option in options where option.isSetting {
            settings[option.name] = Setting(
                name: option.name, texts: option.standard.map { [$0] } ?? [], isOn: false, origin: .standard)
        }
        var result = Result(target: target, settings: settings)
        for file in files { read(file, &result) }
        read(environment, &result)
        return result
    }

    /// It says where settings are, and is read by who looks for them.
    private static var readElsewhere: Set<String> { ["INGEST_CONFIG"] }

    /// The variable that holds an option: `INGEST_LIMIT_RATE`.
    package static func variable(for option: String) -> String {
        "INGEST_" + option.uppercased().split(separator: "-").joined(separator: "_")
    }

    private func read(_ environment: Environment, _ result: inout Result) {
        for option in options {
            let name = Self.variable(for: option.name)
            if !option.isSetting {
                if environment[name] != nil, !Self.readElsewhere.contains(name) {
                    result.problems.append("\(name): “\(option.name)” is for the command line only")
                }
                continue
            }
            guard let text = environment[name] else { continue }
            let value: OptionValue?
            var isOn = true
            switch (option.value, Self.truth(of: text)) {
            case (.none, nil):
                result.problems.append("\(name) takes true or false, not “\(Shown.text(text))”")
                continue
            case (.none, let truth?): (value, isOn) = (nil, truth)
            case (.optional, let truth?): (value, isOn) = (nil, truth)
            case (.optional, nil), (.required, _):
                value = OptionValue(bytes: expanded(text, option.kind, below: environment.workingDirectory))
            }
            do throws(ValueProblem) {
                try option.apply(&result.target, value, isOn)
                note(option, value, isOn, .environment(name), &result.settings)
            } catch {
                result.problems.append(error.sentence(about: name, value))
            }
        }
    }

    private static func truth(of text: String) -> Bool? {
        switch text.lowercased() {
        case "true", "yes", "on", "1": true
        case "false", "no", "off", "0": false
        default: nil
        }
    }

    // MARK: - Files

    private func read(_ file: ConfigurationFile, _ result: inout Result) {
        var problems: [(TextPlace, String)] = []
        for entry in file.entries {
            if entry.key == "destination" {
                readDestinations(entry, file, &result, &problems)
                continue
            }
            if entry.key == "watch", !folderOptions.isEmpty {
                readFolders(entry, file, &result, &problems)
                continue
            }
            guard let option = options.first(where: { $0.name == entry.key && $0.isSetting }) else {
                problems.append((entry.place, unknown(entry)))
                continue
            }
            apply(option, entry, file, to: &result.target, &result.settings, &problems)
        }
        let sorted = problems.sorted { $0.0 < $1.0 }
        result.problems += sorted.map { "\(ConfigurationFile.place(file.path, $0.0)): \($0.1)" }
    }

    private func unknown(_ entry: TOMLEntry) -> String {
        let key = entry.key
        if case .table = entry.node.content, DestinationName(key) != nil {
            return "there is no table [\(key)]; is [destination.\(key)] meant?"
        }
        if destinationKeys.contains(where: { $0.name == key }) {
            return "“\(key)” belongs into the table of a destination, [destination.NAME]"
        }
        if options.contains(where: { $0.name == key }) {
            return "“\(key)” is for the command line only"
        }
        let names = options.filter { $0.isSetting }.map { $0.name } + ["destination", "watch"]
        return Self.unknown(key, among: names)
    }

    private static func unknown(_ key: String, among names: [String]) -> String {
        let wanted = key.split(separator: "_").joined(separator: "-")
        let hint = EditDistance.nearest(to: wanted, among: names).map { "; did you mean “\($0)”?" } ?? ""
        return "unknown key “\(Shown.text(key))”\(hint)"
    }

    private func readDestinations(
        _ entry: TOMLEntry, _ file: ConfigurationFile, _ result: inout Result, _ problems: inout [(TextPlace, String)]
    ) {
        guard case .table(let tables) = entry.node.content else {
            problems.append(
                (
                    entry.place,
                    "“destination” holds tables, such as [destination.nas]; where recordings go by itself is “to”"
                ))
            return
        }
        for table in tables {
            guard let name = DestinationName(table.key) else {
                problems.append(
                    (
                        table.place,
                        "“\(Shown.text(table.key))” cannot be the name of a destination; letters, digits, “.”, “_” and “-” "
                            + "can, and “builtin” is taken"
                    ))
                continue
            }
            guard case .table(let entries) = table.node.content else {
                problems.append((table.place, "a destination is a table: [destination.\(name.text)]"))
                continue
            }
            readDestination(name, table.place, entries, file, &result, &problems)
        }
    }

    private func readDestination(
        _ name: DestinationName, _ place: TextPlace, _ entries: [TOMLEntry], _ file: ConfigurationFile,
        _ result: inout Result, _ problems: inout [(TextPlace, String)]
    ) {
        var profile = DestinationProfile()
        var settings: [String: Setting] = [:]
        let before = problems.count
        for entry in entries {
            guard let key = destinationKeys.first(where: { $0.name == entry.key }) else {
                // What is added at the end of a file ends up in its last table.
                let isOption = options.contains { $0.name == entry.key && $0.isSetting }
                problems.append(
                    (
                        entry.place,
                        isOption
                            ? "“\(entry.key)” is no key of a destination; it belongs above the first [table]"
                            : Self.unknown(entry.key, among: destinationKeys.map { $0.name })
                    ))
                continue
            }
            if key.kind == .secret, !file.isPrivate {
                problems.append(
                    (
                        entry.place,
                        "“\(key.name)” stands in a file that others can read; make it private (chmod 600), or use "
                            + "“\(key.name)-file”"
                    ))
                continue
            }
            apply(key, entry, file, to: &profile, &settings, &problems)
        }
        if problems.count == before, profile.address == nil {
            problems.append((place, "[destination.\(name.text)] has no “url”"))
        } else if problems.count == before, let problem = check(profile) {
            problems.append((place, "[destination.\(name.text)]: \(problem)"))
        }
        // The whole table takes the place of a weaker file's: one's token must not go to the other's URL.
        result.destinations[name] = ConfiguredDestination(
            name: name, profile: profile, settings: destinationKeys.compactMap { settings[$0.name] })
    }

    // MARK: - Folders

    private func readFolders(
        _ entry: TOMLEntry, _ file: ConfigurationFile, _ result: inout Result, _ problems: inout [(TextPlace, String)]
    ) {
        guard case .table(let tables) = entry.node.content else {
            problems.append((entry.place, "“watch” holds tables, such as [watch.cards]"))
            return
        }
        for table in tables {
            guard DestinationName(table.key) != nil else {
                problems.append(
                    (table.place, "“\(Shown.text(table.key))” cannot be a name; letters, digits, “.”, “_” and “-” can"))
                continue
            }
            guard case .table(let entries) = table.node.content else {
                problems.append((table.place, "a watched folder is a table: [watch.\(table.key)]"))
                continue
            }
            readFolder(table.key, table.place, entries, file, &result, &problems)
        }
    }

    private func readFolder(
        _ name: String, _ place: TextPlace, _ entries: [TOMLEntry], _ file: ConfigurationFile, _ result: inout Result,
        _ problems: inout [(TextPlace, String)]
    ) {
        var folders: [FilePath] = []
        var settings: [String: Setting] = [:]
        var changes: [ConfiguredFolder<Target>.Change] = []
        let before = problems.count
        let folderKey = OptionSpec<[FilePath]>.value("folder", nil, .directory, "DIR", help: "what is watched") {
            (folders, value) throws(ValueProblem) in
            guard let path = FilePath(bytes: value.bytes) else { throw .expected("a path") }
            folders.append(path)
        }.repeatable
        for entry in entries {
            if entry.key == folderKey.name {
                apply(folderKey, entry, file, to: &folders, &settings, &problems)
            } else if let option = options.first(where: { $0.name == entry.key && folderOptions.contains($0.name) }) {
                // Tried on something that is thrown away: what is wrong is told now, what is right is done later.
                var trial = result.target
                apply(option, entry, file, to: &trial, &settings, &problems) { value, isOn in
                    changes.append(
                        ConfiguredFolder.Change(option: option.name) { try? option.apply(&$0, value, isOn) })
                }
            } else {
                problems.append((entry.place, unknownInFolder(entry.key)))
            }
        }
        if problems.count == before, folders.isEmpty { problems.append((place, "[watch.\(name)] has no “folder”")) }
        let names = [folderKey.name] + options.map { $0.name }
        result.folders[name] = ConfiguredFolder(
            name: name, folders: folders, settings: names.compactMap { settings[$0] }, changes: changes)
    }

    private func unknownInFolder(_ key: String) -> String {
        if options.contains(where: { $0.name == key && $0.isSetting }) {
            return "“\(key)” holds for the whole program; it belongs above the first [table]"
        }
        return Self.unknown(key, among: folderOptions.sorted() + ["folder"])
    }

    private func apply<Subject>(
        _ option: OptionSpec<Subject>, _ entry: TOMLEntry, _ file: ConfigurationFile, to subject: inout Subject,
        _ settings: inout [String: Setting], _ problems: inout [(TextPlace, String)],
        noting note: (OptionValue?, Bool) -> Void = { _, _ in }
    ) {
        var nodes = [entry.node]
        if case .array(let items) = entry.node.content, option.isRepeatable { nodes = items }
        for node in nodes {
            do throws(ValueProblem) {
                var (value, isOn) = try Self.value(of: node, for: option)
                if let text = value?.text {
                    value = OptionValue(bytes: expanded(text, option.kind, below: file.path.parent))
                }
                do throws(ValueProblem) {
                    try option.apply(&subject, value, isOn)
                } catch {
                    throw .sentence(error.sentence(about: "“\(option.name)”", value))
                }
                self.note(option, value, isOn, .file(file.path, entry.place), &settings)
                note(value, isOn)
            } catch {
                guard case .sentence(let sentence) = error else { continue }
                problems.append((node.place, sentence))
            }
        }
    }

    /// A value as it would be typed. Throws whole sentences.
    private static func value<Subject>(
        of node: TOMLNode, for option: OptionSpec<Subject>
    ) throws(ValueProblem) -> (OptionValue?, isOn: Bool) {
        switch (option.value, node.content) {
        case (.none, .boolean(let isOn)), (.optional, .boolean(let isOn)): return (nil, isOn)
        case (.optional, .string(let text)): return (OptionValue(text), true)
        case (.required(.number, _), .integer(let digits)), (.required(.number, _), .float(let digits)),
            (.required(.quantity, _), .integer(let digits)):
            return (OptionValue(digits), true)
        case (.required(let kind, _), .string(let text)) where kind != .number: return (OptionValue(text), true)
        default:
            throw .sentence("“\(option.name)” takes \(Self.wanted(by: option)), not \(node.kindInWords)")
        }
    }

    private static func wanted<Subject>(by option: OptionSpec<Subject>) -> String {
        let one =
            switch option.value {
            case .none: "true or false"
            case .optional: "true, false or a string"
            case .required(.number, _): "a number without quotes"
            case .required(.quantity, _): "a number, or a string such as \"1MiB\" or \"5m\""
            case .required: "a string"
            }
        return option.isRepeatable ? "\(one), or an array of such" : one
    }

    private func note<Subject>(
        _ option: OptionSpec<Subject>, _ value: OptionValue?, _ isOn: Bool, _ origin: Origin,
        _ settings: inout [String: Setting]
    ) {
        var setting = settings[option.name] ?? Setting(name: option.name, texts: [], isOn: isOn, origin: origin)
        let isMore = option.isRepeatable && setting.origin == origin
        let shown = option.kind == .secret ? value.map { _ in Secret.placeholder } : value?.text
        setting.texts = (isMore ? setting.texts : []) + [shown].compactMap { $0 }
        setting.isOn = isOn
        setting.origin = origin
        settings[option.name] = setting
    }

    // MARK: - Paths

    /// A path as a shell would have made it: `~/` is the home, and what is not absolute lies below `directory`.
    private func expanded(_ text: String, _ kind: ValueKind?, below directory: FilePath) -> [UInt8] {
        switch kind {
        case .file, .directory: return path(text, below: directory)
        case .words(_, let prefix) where text.hasPrefix(prefix):
            return Array(prefix.utf8) + path(String(text.dropFirst(prefix.count)), below: directory)
        default: return Array(text.utf8)
        }
    }

    private func path(_ text: String, below directory: FilePath) -> [UInt8] {
        if text == "~" || text.hasPrefix("~/"), let home {
            return home.bytes + Array(text.dropFirst().utf8)
        }
        return FilePath(text)?.absolute(in: directory).bytes ?? Array(text.utf8)
    }
}

extension TOMLNode {
    fileprivate var kindInWords: String {
        switch content {
        case .string: "a string"
        case .integer: "a whole number"
        case .float: "a number with a fraction"
        case .boolean: "true or false"
        case .array: "an array"
        case .table: "a table"
        case .time: "a date or time"
        }
    }
}
