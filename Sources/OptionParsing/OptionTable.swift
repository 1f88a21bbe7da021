/// What an option's value was given as: bytes, because paths need not be UTF-8.
package struct OptionValue: Hashable, Sendable {
    package let bytes: [UInt8]

    package init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    package init(_ text: String) {
        bytes = Array(text.utf8)
    }

    /// As text, invalid UTF-8 repaired.
    package var text: String { String(decoding: bytes, as: UTF8.self) }
}

/// A value that an option does not take.
package enum ValueProblem: Error, Hashable, Sendable {
    /// What it takes; the value that was given is shown beside it.
    case expected(String)
    /// The whole sentence; the value is not repeated, since it may hold a secret.
    case sentence(String)
}

/// What an option's value is, for those who type it, complete it, or write it into a file.
package enum ValueKind: Hashable, Sendable {
    case text
    case number
    /// A number with a unit, such as a size; without one it may be written as a number.
    case quantity
    case choice([String])
    case file
    case directory
    /// Words, some of which begin with these letters and go on with a directory.
    case words([String], directoryBehind: String)
    /// Names that only the program knows, such as those of destinations.
    case known(String)
    /// Must not be read by others, nor shown.
    case secret
}

/// One option, declared once: parser, help, completions, manual and configuration come from it.
package struct OptionSpec<Target>: Sendable {
    package enum Value: Hashable, Sendable {
        /// A switch.
        case none
        case required(ValueKind, placeholder: String)
        /// Only by `=`: `--name=value`.
        case optional(ValueKind, placeholder: String)
    }

    /// Without dashes.
    package let name: String
    package let short: Character?
    package let value: Value
    /// One sentence without a full stop.
    package let help: String
    /// What holds where nobody says anything, as it would be typed.
    package private(set) var standard: String?
    /// `--no-name` takes back what a configuration, or an option before it, says.
    package private(set) var isNegatable = false
    /// May be given several times, or as an array.
    package private(set) var isRepeatable = false
    /// Whether it may stand in a configuration and in the environment, and not only on the command line.
    package private(set) var isSetting = true
    /// Changes the target; gets `nil` for a switch and for an optional value that is not there. `false` as the second
    /// argument is the negated option.
    package let apply: @Sendable (inout Target, OptionValue?, Bool) throws(ValueProblem) -> Void

    private init(
        name: String, short: Character?, value: Value, help: String,
        apply: @escaping @Sendable (inout Target, OptionValue?, Bool) throws(ValueProblem) -> Void
    ) {
        self.name = name
        self.short = short
        self.value = value
        self.help = help
        self.apply = apply
    }

    package static func flag(
        _ name: String, _ short: Character? = nil, help: String, _ set: @escaping @Sendable (inout Target, Bool) -> Void
    ) -> OptionSpec {
        OptionSpec(name: name, short: short, value: .none, help: help) { target, _, isOn in set(&target, isOn) }
    }

    package static func value(
        _ name: String, _ short: Character? = nil, _ kind: ValueKind, _ placeholder: String, help: String,
        _ set: @escaping @Sendable (inout Target, OptionValue) throws(ValueProblem) -> Void
    ) -> OptionSpec {
        OptionSpec(
            name: name, short: short, value: .required(kind, placeholder: placeholder), help: help
        ) { (target, value, _) throws(ValueProblem) in
            if let value { try set(&target, value) }
        }
    }

    /// `set` gets `false` where the option is negated.
    package static func optionalValue(
        _ name: String, _ short: Character? = nil, _ kind: ValueKind, _ placeholder: String, help: String,
        _ set: @escaping @Sendable (inout Target, OptionValue?, Bool) throws(ValueProblem) -> Void
    ) -> OptionSpec {
        OptionSpec(
            name: name, short: short, value: .optional(kind, placeholder: placeholder), help: help, apply: set)
    }

    /// The same with a default, as it would be typed.
    package func standing(at standard: String) -> OptionSpec {
        var spec = self
        spec.standard = standard
        return spec
    }

    /// The same, and `--no-name` takes it back.
    package var negatable: OptionSpec {
        var spec = self
        spec.isNegatable = true
        return spec
    }

    package var repeatable: OptionSpec {
        var spec = self
        spec.isRepeatable = true
        return spec
    }

    /// The same, but no setting: it asks for something to be done now.
    package var onlyTyped: OptionSpec {
        var spec = self
        spec.isSetting = false
        return spec
    }

    package var kind: ValueKind? {
        switch value {
        case .none: nil
        case .required(let kind, _), .optional(let kind, _): kind
        }
    }

    /// As help shows it: `-c, --compress[=PRESET]`.
    package var synopsis: String {
        let shortText = short.map { "-\($0), " } ?? "    "
        return "\(shortText)--\(isNegatable ? "[no-]" : "")\(name)\(valueSynopsis)"
    }

    /// ` N`, `[=PRESET]` or nothing.
    package var valueSynopsis: String {
        switch value {
        case .none: ""
        case .required(_, let placeholder): " \(placeholder)"
        case .optional(_, let placeholder): "[=\(placeholder)]"
        }
    }
}
