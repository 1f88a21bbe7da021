/// What an option's value was given as: bytes, because paths need not be UTF-8.
package struct OptionValue: Sendable {
    package let bytes: [UInt8]

    package init(bytes: [UInt8]) {
        self.bytes = bytes
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

/// One option, declared once: parser, help and completions come from it.
package struct OptionSpec<Target>: Sendable {
    package enum Value: Hashable, Sendable {
        /// A switch; `--no-name` takes it back where that makes sense.
        case none(negatable: Bool)
        case required(placeholder: String)
        /// Only by `=`: `--name=value`.
        case optional(placeholder: String)
    }

    /// Without dashes.
    package let name: String
    package let short: Character?
    package let value: Value
    /// One sentence without a full stop.
    package let help: String
    /// Changes the target; gets `nil` for a switch and for an optional value that is not there. `false` as the second
    /// argument is the negated switch.
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
        _ name: String, _ short: Character? = nil, negatable: Bool = false, help: String,
        _ set: @escaping @Sendable (inout Target, Bool) -> Void
    ) -> OptionSpec {
        OptionSpec(name: name, short: short, value: .none(negatable: negatable), help: help) { target, _, isOn in
            set(&target, isOn)
        }
    }

    package static func value(
        _ name: String, _ short: Character? = nil, _ placeholder: String, help: String,
        _ set: @escaping @Sendable (inout Target, OptionValue) throws(ValueProblem) -> Void
    ) -> OptionSpec {
        OptionSpec(
            name: name, short: short, value: .required(placeholder: placeholder), help: help
        ) { (target, value, _) throws(ValueProblem) in
            if let value { try set(&target, value) }
        }
    }

    package static func optionalValue(
        _ name: String, _ short: Character? = nil, _ placeholder: String, help: String,
        _ set: @escaping @Sendable (inout Target, OptionValue?) throws(ValueProblem) -> Void
    ) -> OptionSpec {
        OptionSpec(
            name: name, short: short, value: .optional(placeholder: placeholder), help: help
        ) { (target, value, _) throws(ValueProblem) in
            try set(&target, value)
        }
    }

    /// As help shows it: `-c, --compress[=PRESET]`.
    package var synopsis: String {
        let shortText = short.map { "-\($0), " } ?? "    "
        let name =
            switch value {
            case .none(let negatable): negatable ? "[no-]\(name)" : name
            case .required, .optional: name
            }
        let valueText =
            switch value {
            case .none: ""
            case .required(let placeholder): " \(placeholder)"
            case .optional(let placeholder): "[=\(placeholder)]"
            }
        return "\(shortText)--\(name)\(valueText)"
    }
}
