/// The name of a destination in the configuration.
package struct DestinationName: Hashable, Sendable {
    package let text: String

    /// Letters, digits, `.`, `_` and `-` of ASCII, beginning with a letter or digit; at most 64, and not the word that
    /// means the built-in receiver.
    package init?(_ text: String) {
        let isPlain = text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
                true
            default: false
            }
        }
        guard isPlain, let first = text.first, first.isLetter || first.isNumber, text.utf8.count <= 64,
            text != DestinationAddress.builtInWord
        else { return nil }
        self.text = text
    }
}

/// Text that must not be shown: its description says only that it is there.
package struct Secret: Hashable, Sendable, CustomStringConvertible {
    package let text: String

    package init(_ text: String) {
        self.text = text
    }

    /// What is shown instead.
    package static let placeholder = "(hidden)"

    package var description: String { Self.placeholder }
}

/// What the configuration says about one destination: a `[destination.NAME]` table.
package struct DestinationProfile: Hashable, Sendable {
    /// Where it is; never another name.
    package var address: DestinationAddress?
    package var token: Secret?
    package var tokenFile: FilePath?
    /// For HTTP's Basic authentication (RFC 7617), with `passwordFile`.
    package var user: String?
    package var passwordFile: FilePath?
    /// PEM files: who vouches for the server, and who we are.
    package var certificateAuthorities: FilePath?
    package var clientCertificate: FilePath?
    package var clientKey: FilePath?
    /// A proxy's URL, empty for none; `nil` leaves it to the environment.
    package var proxy: String?
    /// Bytes per second that all items together may send there.
    package var limitRate: ByteCount?
    package var timetable = Timetable()
    package var blockSize: ByteCount?
    /// The key under which the server's answers stand.
    package var dataKey: String?
    package var save: ServerURL?
    package var saveTokenFile: FilePath?

    package init() {}
}
