import IngestModel
import OptionParsing
import Settings
import SystemIO

/// `ingest config [show|path]`
enum ConfigCommand {
    static let operands = ["show", "path"]

    static func run(_ context: CommandContext, _ invocation: Invocation) -> ExitCode {
        if invocation.operands.first == Array("path".utf8) { return path(context, invocation) }
        let destinations = invocation.destinations.values.sorted { $0.name.text < $1.name.text }
        if invocation.options.json {
            let json = Shown(
                settings: invocation.settings.map { SettingJSON($0) },
                destinations: Dictionary(
                    uniqueKeysWithValues: destinations.map { destination in
                        (destination.name.text, destination.settings.map { SettingJSON($0) })
                    }),
                folders: Dictionary(
                    uniqueKeysWithValues: invocation.folders.map { ($0.name, $0.settings.map { SettingJSON($0) }) }))
            context.output.write(JSONText.line(json) + "\n")
            return .done
        }
        if let objection = invocation.objectionToDestination(context.environment) {
            context.say(Words.sentence(objection))
            return .usage
        }
        for setting in invocation.settings {
            context.output.write(line(setting, OptionDeclaration.table.first { $0.spec.name == setting.name }?.spec))
        }
        for destination in destinations {
            context.output.write("\n[destination.\(ConfigurationText.key(destination.name.text))]\n")
            for setting in destination.settings { context.output.write(line(setting, key(setting.name))) }
        }
        for folder in invocation.folders {
            context.output.write("\n[watch.\(ConfigurationText.key(folder.name))]\n")
            for setting in folder.settings {
                let spec = OptionDeclaration.table.first { $0.spec.name == setting.name }?.spec
                context.output.write(line(setting, spec ?? folderKey))
            }
        }
        return .done
    }

    /// The file to write settings into; it need not be there yet.
    private static func path(_ context: CommandContext, _ invocation: Invocation) -> ExitCode {
        guard let path = Configuration.userFile(context.environment, invocation.options.configuration).path else {
            context.say("there is no home directory; set HOME, or XDG_CONFIG_HOME")
            return .failed
        }
        context.output.write(path.text.printable + "\n")
        return .done
    }

    /// How the one key is written that is no option.
    private static let folderKey = OptionSpec<Options>.value("folder", nil, .directory, "DIR", help: "") { _, _ in }
        .repeatable

    private static func key(_ name: String) -> OptionSpec<DestinationProfile>? {
        DestinationKeys.table.first { $0.name == name }
    }

    /// A line as it could stand in a configuration, with where it comes from.
    private static func line<Target>(_ setting: Setting, _ spec: OptionSpec<Target>?) -> String {
        let value = ConfigurationText.value(setting, spec)
        // What is not set stands there as a comment, to be found.
        let assignment = value.map { "\(setting.name) = \($0)" } ?? "# \(setting.name) is not set"
        let space = String(repeating: " ", count: max(2, 44 - assignment.count))
        return value == nil ? assignment + "\n" : "\(assignment)\(space)# \(setting.origin.text)\n"
    }

    private struct Shown: Encodable {
        let settings: [SettingJSON]
        let destinations: [String: [SettingJSON]]
        let folders: [String: [SettingJSON]]
    }

    /// One setting as `config show --json` gives it.
    private struct SettingJSON: Encodable {
        let name: String
        /// `nil` for what is not set.
        let value: String?
        let origin: String

        init(_ setting: Setting) {
            name = setting.name
            let isSet = setting.isOn || !setting.texts.isEmpty
            value = isSet ? (setting.texts.isEmpty ? "true" : setting.texts.joined(separator: "\n")) : nil
            origin = setting.origin.text
        }
    }
}

extension Origin {
    /// For people.
    fileprivate var text: String {
        switch self {
        case .standard: "default"
        case .file(let path, let place): "\(path.text.printable):\(place.line)"
        case .environment(let name): "environment variable \(name)"
        case .commandLine: "command line"
        }
    }
}

/// Settings as TOML.
enum ConfigurationText {
    /// `nil` for what is not set.
    static func value<Target>(_ setting: Setting, _ spec: OptionSpec<Target>?) -> String? {
        guard let spec else { return nil }
        switch spec.value {
        case .none: return setting.origin == .standard ? spec.standard ?? "false" : setting.isOn ? "true" : "false"
        case .optional:
            if let text = setting.texts.last { return quoted(text) }
            return setting.origin == .standard ? nil : setting.isOn ? "true" : "false"
        case .required(let kind, _):
            if spec.isRepeatable, setting.texts.count > 1 {
                return "[" + setting.texts.map { quoted($0) }.joined(separator: ", ") + "]"
            }
            return setting.texts.last.map { kind == .number ? $0 : quoted($0) }
        }
    }

    static func key(_ name: String) -> String {
        name.contains(".") ? quoted(name) : name
    }

    /// A basic string (TOML 1.0, section String).
    private static func quoted(_ text: String) -> String {
        var out = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\": out += "\\\(scalar)"
            case _ where scalar.value < 0x20 || (0x7F..<0xA0).contains(scalar.value):
                let hex = String(scalar.value, radix: 16, uppercase: true)
                out += "\\u" + String(repeating: "0", count: 4 - hex.count) + hex
            default: out.unicodeScalars.append(scalar)
            }
        }
        return out + "\""
    }
}
