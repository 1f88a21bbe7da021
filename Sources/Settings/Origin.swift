package import IngestModel

/// Where a value comes from, from the weakest to the strongest.
package enum Origin: Hashable, Sendable {
    /// Nobody said anything.
    case standard
    case file(FilePath, TextPlace)
    /// The variable's name.
    case environment(String)
    case commandLine
}

/// One value that is in force.
package struct Setting: Hashable, Sendable {
    package let name: String
    /// As it would be typed; several where it was given several times, empty for a switch that is off and for what is not
    /// set.
    package var texts: [String]
    package var isOn: Bool
    package var origin: Origin

    package init(name: String, texts: [String], isOn: Bool, origin: Origin) {
        self.name = name
        self.texts = texts
        self.isOn = isOn
        self.origin = origin
    }
}

/// A table `[watch.NAME]`: folders, and options that hold for them.
package struct ConfiguredFolder<Target>: Sendable {
    package let name: String
    package let folders: [FilePath]
    /// In the order of the table of options.
    package let settings: [Setting]
    let changes: [Change]

    /// What one key does.
    struct Change: Sendable {
        let option: String
        let apply: @Sendable (inout Target) -> Void
    }

    package func says(_ option: String) -> Bool { changes.contains { $0.option == option } }

    /// Lays the table over what else holds, but not over what is stronger than any file.
    package func apply(to target: inout Target, below isStronger: (String) -> Bool) {
        for change in changes where !isStronger(change.option) { change.apply(&target) }
    }
}

/// A table `[destination.NAME]`.
package struct ConfiguredDestination: Hashable, Sendable {
    package let name: DestinationName
    package let profile: DestinationProfile
    package let settings: [Setting]
}
