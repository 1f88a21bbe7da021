/// Reads arguments by a table of options. A pure function: nothing is opened, printed or ended.
///
/// `--name value`, `--name=value`, `-n value`, `-nvalue`, bundled short switches, `--no-name`, `--` ends options, options
/// stand before or behind operands, the last one wins, no abbreviations.
package struct OptionParser<Target>: Sendable {
    private let options: [OptionSpec<Target>]

    package init(_ options: [OptionSpec<Target>]) {
        self.options = options
    }

    /// What the arguments say, and everything that is wrong with them.
    package struct Result {
        package var target: Target
        package var operands: [[UInt8]] = []
        /// The options that were given, by name, each as it was given last.
        package var given: [String: Given] = [:]
        /// Sentences without a full stop; empty if all is well.
        package var problems: [String] = []
    }

    /// An option as it was given.
    package struct Given {
        /// `nil` for a switch.
        package let value: OptionValue?
        /// `false` where it was taken back.
        package let isOn: Bool
    }

    package func parse(_ arguments: [[UInt8]], into target: Target) -> Result {
        var result = Result(target: target)
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            if argument == Array("--".utf8) {
                result.operands += rest
                break
            }
            if argument.starts(with: "--".utf8) {
                parseLong(argument, &rest, &result)
            } else if argument.count > 1, argument[0] == UInt8(ascii: "-") {
                parseShort(argument, &rest, &result)
            } else {
                result.operands.append(argument)
            }
        }
        return result
    }

    private func parseLong(_ argument: [UInt8], _ rest: inout ArraySlice<[UInt8]>, _ result: inout Result) {
        let body = argument.dropFirst(2)
        let equals = body.firstIndex(of: UInt8(ascii: "="))
        let name = String(decoding: body[..<(equals ?? body.endIndex)], as: UTF8.self)
        let attached = equals.map { OptionValue(bytes: Array(body[($0 + 1)...])) }
        if let option = options.first(where: { $0.name == name }) {
            take(option, shown: "--\(name)", attached: attached, &rest, &result)
            return
        }
        if name.hasPrefix("no-"), let option = options.first(where: { "no-" + $0.name == name && $0.isNegatable }) {
            if attached != nil {
                result.problems.append("--\(name) takes no value")
            } else {
                apply(option, nil, isOn: false, shown: "--\(name)", &result)
            }
            return
        }
        let hint = nearest(to: name).map { "; did you mean --\($0)?" } ?? ""
        result.problems.append("unknown option --\(Self.shown(name))\(hint)")
    }

    private func parseShort(_ argument: [UInt8], _ rest: inout ArraySlice<[UInt8]>, _ result: inout Result) {
        var letters = argument.dropFirst()
        while let letter = letters.popFirst() {
            let character = Character(Unicode.Scalar(letter))
            guard let option = options.first(where: { $0.short == character }) else {
                result.problems.append("unknown option -\(Self.shown(String(character)))")
                return
            }
            switch option.value {
            case .none, .optional: apply(option, nil, isOn: true, shown: "-\(character)", &result)
            case .required:
                let attached = letters.isEmpty ? nil : OptionValue(bytes: Array(letters))
                take(option, shown: "-\(character)", attached: attached, &rest, &result)
                return
            }
        }
    }

    private func take(
        _ option: OptionSpec<Target>, shown: String, attached: OptionValue?, _ rest: inout ArraySlice<[UInt8]>,
        _ result: inout Result
    ) {
        switch option.value {
        case .none:
            if attached != nil {
                result.problems.append("\(shown) takes no value")
            } else {
                apply(option, nil, isOn: true, shown: shown, &result)
            }
        case .optional: apply(option, attached, isOn: true, shown: shown, &result)
        case .required(_, let placeholder):
            guard let value = attached ?? rest.popFirst().map({ OptionValue(bytes: $0) }) else {
                result.problems.append("\(shown) needs a value: \(shown) \(placeholder)")
                return
            }
            apply(option, value, isOn: true, shown: shown, &result)
        }
    }

    private func apply(
        _ option: OptionSpec<Target>, _ value: OptionValue?, isOn: Bool, shown: String, _ result: inout Result
    ) {
        result.given[option.name] = Given(value: value, isOn: isOn)
        do throws(ValueProblem) {
            try option.apply(&result.target, value, isOn)
        } catch {
            result.problems.append(error.sentence(about: shown, value))
        }
    }

    /// The option whose name is at most a third of its letters away.
    private func nearest(to name: String) -> String? {
        EditDistance.nearest(to: name, among: options.map { $0.name })
    }

    private static func shown(_ text: String) -> String { Shown.text(text) }
}

extension ValueProblem {
    /// What is wrong with the value of `name`, without a full stop.
    package func sentence(about name: String, _ value: OptionValue?) -> String {
        switch self {
        case .expected(let expected):
            "\(name) takes \(expected), not \(value.map { "“\(Shown.text($0.text))”" } ?? "nothing")"
        case .sentence(let sentence): "\(name): \(sentence)"
        }
    }
}

/// What others typed, as it may stand in a sentence.
package enum Shown {
    /// Without control characters, and not longer than a person wants to read.
    package static func text(_ text: String) -> String {
        String(
            text.unicodeScalars.filter { $0.value >= 0x20 && !(0x7F..<0xA0).contains($0.value) }.prefix(80).map(
                Character.init))
    }
}

/// How many letters have to be inserted, deleted or exchanged to make one word of another (Levenshtein).
package enum EditDistance {
    /// The candidate that is at most half of the name's letters away, and closest.
    package static func nearest(to name: String, among candidates: [String]) -> String? {
        let distances = candidates.map { ($0, between(name, $0)) }
        guard let best = distances.min(by: { $0.1 < $1.1 }), best.1 <= max(1, name.count / 2) else { return nil }
        return best.0
    }

    package static func between(_ left: String, _ right: String) -> Int {
        let right = Array(right)
        var row = Array(0...right.count)
        for (index, letter) in left.enumerated() {
            var diagonal = row[0]
            row[0] = index + 1
            for column in right.indices {
                let change = diagonal + (letter == right[column] ? 0 : 1)
                diagonal = row[column + 1]
                row[column + 1] = min(change, row[column] + 1, row[column + 1] + 1)
            }
        }
        return row[right.count]
    }
}
