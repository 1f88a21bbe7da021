/// What is done where a copy would not be, or is not, what the recording is.
package struct CopyCare: Hashable, Codable, Sendable {
    /// With a recording that is damaged.
    package enum Damaged: String, Codable, CaseIterable, Sendable {
        case fail
        /// It goes as it is.
        case upload
        /// Everything of it that can be decoded goes.
        case salvage
    }

    /// With a copy that does not hold what it should.
    package enum BadResult: String, Codable, CaseIterable, Sendable {
        /// The recording goes as it is instead.
        case original
        case fail
    }

    /// How much of a copy is decoded again before it counts.
    package enum Verification: String, Codable, CaseIterable, Sendable {
        /// Its end, and places spread over it.
        case sample
        /// All of it.
        case full
    }

    /// Whether nothing may be lost but what was asked for.
    package var isStrict: Bool
    package var damaged: Damaged
    package var badResult: BadResult
    package var verification: Verification

    package static let standard = CopyCare()

    package init(
        isStrict: Bool = false, damaged: Damaged = .fail, badResult: BadResult = .original,
        verification: Verification = .sample
    ) {
        self.isStrict = isStrict
        self.damaged = damaged
        self.badResult = badResult
        self.verification = verification
    }
}
