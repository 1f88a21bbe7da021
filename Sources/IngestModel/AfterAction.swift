/// What becomes of a recording once its item is done: `--after`.
package enum AfterAction: Hashable, Codable, Sendable {
    case keep
    case delete
    case trash
    /// Into this directory, named by an absolute path.
    case move(FilePath)

    package static let movePrefix = "move:"

    /// As it is typed.
    package var text: String {
        switch self {
        case .keep: "keep"
        case .delete: "delete"
        case .trash: "trash"
        case .move(let directory): Self.movePrefix + directory.text
        }
    }
}

/// How far an item is with what `--after` asks for.
package enum AfterState: Hashable, Sendable {
    /// Nothing is owed.
    case none
    case pending
    /// Owed, but not before its time has come or the room is needed.
    case held
    case done
    case failed(String)

    /// As the list stores it, with the reason beside it.
    package var word: String? {
        switch self {
        case .none: nil
        case .pending: "pending"
        case .held: "held"
        case .done: "done"
        case .failed: "failed"
        }
    }

    package var reason: String? { if case .failed(let reason) = self { reason } else { nil } }

    /// `nil` for a word that is none.
    package init?(word: String?, reason: String?) {
        switch word {
        case nil: self = .none
        case "pending": self = .pending
        case "held": self = .held
        case "done": self = .done
        case "failed": self = .failed(reason ?? "")
        default: return nil
        }
    }
}

/// Whom to tell where a recording is, once it is there.
package struct SaveHook: Hashable, Codable, Sendable {
    package var url: ServerURL
    /// Where its bearer token stands.
    package var tokenFile: FilePath?

    package init(url: ServerURL, tokenFile: FilePath? = nil) {
        self.url = url
        self.tokenFile = tokenFile
    }
}
