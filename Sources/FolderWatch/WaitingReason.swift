/// Why a recording is waited for.
package enum WaitingReason: Hashable, Sendable {
    /// Somebody has it open for writing.
    case writer
    /// It lacks something, and nobody is known to write it; this says what, for people.
    case lacking(String)
    /// Something else that passes by itself.
    case passing(String)

    /// Whether it stays so unless somebody does something.
    package var isLasting: Bool { if case .lacking = self { true } else { false } }

    package var words: String {
        switch self {
        case .writer: "it is still being written"
        case .lacking(let words), .passing(let words): words
        }
    }
}
