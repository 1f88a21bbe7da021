import OptionParsing

/// Scripts that make shells complete command lines, made of the tables.
enum Completions {
    /// Commands that have a word.
    private static let words = CommandName.allCases.filter { $0 != .upload }

    /// What a command takes besides options.
    private enum Operands {
        case files, ids, words([String]), none
    }

    private static func operands(of command: CommandName) -> Operands {
        switch command {
        case .upload, .watch, .probe: .files
        case .show, .pause, .resume, .retry, .next, .cancel, .remove: .ids
        case .config: .words(ConfigCommand.operands)
        case .completions: .words(CompletionsCommand.shells)
        case .run, .list, .clear, .clean, .receive, .man: .none
        }
    }

    private static func specs(of command: CommandName) -> [OptionSpec<Options>] {
        OptionDeclaration.of(command).map { $0.spec }
    }

    // MARK: - bash

    static var bash: String {
        """
        # bash completion for ingest
        _ingest() {
            local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command= index
            # “=” is a word of its own.
            if [[ $current == = ]]; then
                current=
            elif [[ $previous == = ]]; then
                previous=${COMP_WORDS[COMP_CWORD - 2]}
            fi
            for ((index = 1; index < COMP_CWORD; index++)); do
                case ${COMP_WORDS[index]} in
                -q | -v | --quiet | --verbose | --json) ;;
                \(words.map { $0.rawValue }.joined(separator: " | "))) command=${COMP_WORDS[index]} && break ;;
                *) break ;;
                esac
            done
            compopt +o nospace
            case $command:$previous in
        \(CommandName.allCases.flatMap { bashValues(of: $0) }.joined(separator: "\n"))
            esac
            case $command:$current in
        \(CommandName.allCases.map { bashOptions(of: $0) }.joined(separator: "\n"))
        \(CommandName.allCases.map { bashOperands(of: $0) }.joined(separator: "\n"))
            esac
        }
        _ingest_files() {
            compopt -o filenames
            mapfile -t COMPREPLY < <(compgen "$1" -- "$2")
        }
        _ingest_words() {
            mapfile -t COMPREPLY < <(compgen -W "$1" -- "$2")
        }
        complete -F _ingest ingest

        """
    }

    private static func bashValues(of command: CommandName) -> [String] {
        specs(of: command).compactMap { spec in
            let names = (["--\(spec.name)"] + (spec.short.map { ["-\($0)"] } ?? [])).map { "\(command.rawValue):\($0)" }
            // An optional value comes behind “=” only.
            var pattern = names.joined(separator: " | ")
            if case .optional = spec.value { pattern = "\(command.rawValue):--\(spec.name)" }
            let action: String? =
                switch spec.kind {
                case nil: nil
                case .choice(let choices): "_ingest_words '\(choices.joined(separator: " "))' \"$current\""
                case .words(let choices, let behind):
                    "_ingest_words '\((choices + [behind]).joined(separator: " "))' \"$current\""
                case .known(let what):
                    "_ingest_words \"$(ingest completions \(what) 2>/dev/null | cut -f1)\" \"$current\""
                case .file: "_ingest_files -f \"$current\""
                case .directory: "_ingest_files -d \"$current\""
                case .text, .number, .quantity, .secret: "COMPREPLY=()"
                }
            guard let action else { return nil }
            let isOptional = if case .optional = spec.value { true } else { false }
            return isOptional
                ? "        \(pattern)) [[ ${COMP_WORDS[COMP_CWORD]} == = || ${COMP_WORDS[COMP_CWORD - 1]} == = ]] && { \(action); return; } ;;"
                : "        \(pattern)) \(action) && return ;;"
        }
    }

    private static func bashOptions(of command: CommandName) -> String {
        let names = specs(of: command).flatMap { ["--\($0.name)"] + ($0.isNegatable ? ["--no-\($0.name)"] : []) }
        return "        \(command.rawValue):-*) _ingest_words '\(names.joined(separator: " "))' \"$current\" ;;"
    }

    private static func bashOperands(of command: CommandName) -> String {
        let action =
            switch operands(of: command) {
            case .files where command == .upload:
                "_ingest_files -f \"$current\"; COMPREPLY+=($(compgen -W '\(words.map { $0.rawValue }.joined(separator: " "))' -- \"$current\"))"
            case .files: "_ingest_files -f \"$current\""
            case .ids:
                "_ingest_words \"$(ingest completions ids 2>/dev/null | cut -f1)\" \"$current\""
            case .words(let words): "_ingest_words '\(words.joined(separator: " "))' \"$current\""
            case .none: "COMPREPLY=()"
            }
        return "        \(command.rawValue):*) \(action) ;;"
    }

    // MARK: - fish

    static var fish: String {
        var out = "# fish completion for ingest\n"
        let all = words.map { $0.rawValue }.joined(separator: " ")
        let first = "__fish_use_subcommand"
        for command in words {
            out +=
                "complete -c ingest -n \(first) -a \(command.rawValue) -d '\(quoted(CommandText.summary(of: command).text))'\n"
        }
        for command in CommandName.allCases {
            let condition =
                command == .upload
                ? "'not __fish_seen_subcommand_from \(all)'" : "'__fish_seen_subcommand_from \(command.rawValue)'"
            switch operands(of: command) {
            case .files: break
            case .ids: out += "complete -c ingest -n \(condition) -f -a '(ingest completions ids 2>/dev/null)'\n"
            case .words(let words):
                out += "complete -c ingest -n \(condition) -f -a '\(words.joined(separator: " "))'\n"
            case .none: out += "complete -c ingest -n \(condition) -f\n"
            }
            for spec in specs(of: command) { out += fishOption(spec, condition) }
        }
        return out
    }

    private static func fishOption(_ spec: OptionSpec<Options>, _ condition: String) -> String {
        var words = ["complete -c ingest -n \(condition)"]
        if let short = spec.short { words.append("-s \(short)") }
        words.append("-l \(spec.name)")
        switch spec.kind {
        case nil: break
        case .choice(let choices): words.append("-xa '\(choices.joined(separator: " "))'")
        case .words(let choices, let behind): words.append("-xa '\((choices + [behind]).joined(separator: " "))'")
        case .known(let what): words.append("-xa '(ingest completions \(what) 2>/dev/null)'")
        case .file: words.append("-rF")
        case .directory: words.append("-xa '(__fish_complete_directories)'")
        case .text, .number, .quantity, .secret: words.append("-x")
        }
        words.append("-d '\(quoted(spec.help))'")
        var out = words.joined(separator: " ") + "\n"
        if spec.isNegatable {
            out += "complete -c ingest -n \(condition) -l no-\(spec.name) -d 'not: \(quoted(spec.help))'\n"
        }
        // Without a value the option stands alone.
        if case .optional = spec.value { out = out.replacing(" -xa '", with: " -fa '") }
        return out
    }

    /// Inside single quotes of fish.
    private static func quoted(_ text: String) -> String {
        text.replacing("\\", with: "\\\\").replacing("'", with: "\\'")
    }

    // MARK: - zsh

    static var zsh: String {
        var out = """
            #compdef ingest
            # zsh completion for ingest
            _ingest_known() {
                local -a entries
                entries=("${(@f)$(ingest completions $1 2>/dev/null | sed 's/:/\\\\:/g; s/\\t/:/')}")
                _describe "$1" entries
            }
            _ingest_commands() {
                local -a entries
                entries=(
            \(words.map { "        '\($0.rawValue):\(zshQuoted(CommandText.summary(of: $0).text))'" }.joined(separator: "\n"))
                )
                _describe command entries
            }
            _ingest() {
                local command= index
                for ((index = 2; index < CURRENT; index++)); do
                    case ${words[index]} in
                    -q | -v | --quiet | --verbose | --json) ;;
                    \(words.map { $0.rawValue }.joined(separator: " | "))) command=${words[index]} && break ;;
                    *) break ;;
                    esac
                done
                if [[ -n $command ]]; then
                    shift $((index - 1)) words
                    ((CURRENT -= index - 1))
                fi
                case $command in

            """
        for command in CommandName.allCases {
            out += "    \(command == .upload ? "''" : command.rawValue))\n        _arguments -s -S \\\n"
            for spec in specs(of: command) {
                for line in zshOption(spec) { out += "            \(line) \\\n" }
            }
            let operand =
                switch operands(of: command) {
                case .files where command == .upload: "'*:file:{ _files; [[ $CURRENT -eq 2 ]] && _ingest_commands }'"
                case .files: "'*:file:_files'"
                case .ids: "'*:item: _ingest_known ids'"
                case .words(let words): "'1:\(command.rawValue):(\(words.joined(separator: " ")))'"
                case .none: "'*: :'"
                }
            out += "            \(operand) ;;\n"
        }
        return out + "    esac\n}\n_ingest \"$@\"\n"
    }

    private static func zshOption(_ spec: OptionSpec<Options>) -> [String] {
        let help = zshQuoted(spec.help)
        let (equals, value): (String, String)
        let action: String =
            switch spec.kind {
            case nil: ""
            case .choice(let choices): "(\(choices.joined(separator: " ")))"
            case .words(let choices, let behind): "(\((choices + [behind]).joined(separator: " ")))"
            case .known(let what): " _ingest_known \(what)"
            case .file: "_files"
            case .directory: "_files -/"
            case .text, .number, .quantity, .secret: " "
            }
        switch spec.value {
        case .none: (equals, value) = ("", "")
        case .required(_, let placeholder):
            (equals, value) = ("=", ":\(placeholder.replacing(":", with: "\\:")):\(action)")
        case .optional(_, let placeholder): (equals, value) = ("=-", "::\(placeholder):\(action)")
        }
        let star = spec.isRepeatable ? "*" : ""
        var lines = ["'\(star)--\(spec.name)\(equals)[\(help)]\(value)'"]
        if let short = spec.short {
            let isOptional = if case .optional = spec.value { true } else { false }
            lines.append("'-\(short)\(equals.isEmpty || isOptional ? "" : "+")[\(help)]\(isOptional ? "" : value)'")
        }
        if spec.isNegatable { lines.append("'--no-\(spec.name)[not: \(help)]'") }
        return lines
    }

    /// Inside single quotes and square brackets of zsh's `_arguments`.
    private static func zshQuoted(_ text: String) -> String {
        text.replacing("'", with: "’").replacing("[", with: "(").replacing("]", with: ")").replacing(":", with: "\\:")
    }
}
