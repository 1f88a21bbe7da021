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

/// A table `[destination.NAME]`.
package struct ConfiguredDestination: Hashable, Sendable {
    package let name: DestinationName
    package let profile: DestinationProfile
    package let settings: [Setting]
}
