import IngestModel
import OptionParsing
import Uploading

/// What a table `[destination.NAME]` of the configuration may hold.
enum DestinationKeys {
    /// What is wrong with a whole table, without a full stop.
    static func objection(to profile: DestinationProfile) -> String? {
        if (profile.user == nil) != (profile.passwordFile == nil) { return "“user” and “password-file” go together" }
        if profile.token != nil, profile.tokenFile != nil { return "“token” and “token-file” exclude each other" }
        if profile.clientKey != nil, profile.clientCertificate == nil { return "“client-key” goes with “client-cert”" }
        return nil
    }

    static let table: [OptionSpec<DestinationProfile>] = [
        .value("url", nil, .text, "URL", help: "where it is, as for --to") { (profile, value) throws(ValueProblem) in
            let address = try Parse.destination(value)
            if case .named = address { throw .expected("a URL") }
            profile.address = address
        },
        .value(
            "token-file", nil, .file, "FILE", help: "its access token is the first line of FILE, which must be private"
        ) {
            (profile, value) throws(ValueProblem) in profile.tokenFile = try Parse.path(value)
        },
        .value("token", nil, .secret, "TEXT", help: "its access token, where the configuration itself is private") {
            (profile, value) throws(ValueProblem) in
            guard Credentials.isToken(value.text) else { throw .sentence("no space may stand in a token") }
            profile.token = Secret(value.text)
        },
        .value("user", nil, .text, "NAME", help: "for HTTP's Basic authentication") {
            (profile, value) throws(ValueProblem) in
            // Not shown: somebody may have written the password behind it.
            guard !value.text.contains(":"), !value.text.isEmpty else { throw .sentence("a name without “:”") }
            profile.user = value.text
        },
        .value(
            "password-file", nil, .file, "FILE", help: "the password is the first line of FILE, which must be private"
        ) { (profile, value) throws(ValueProblem) in profile.passwordFile = try Parse.path(value) },
        .value("ca-file", nil, .file, "FILE", help: "trust the authorities in this PEM file, and no others") {
            (profile, value) throws(ValueProblem) in profile.certificateAuthorities = try Parse.path(value)
        },
        .value("client-cert", nil, .file, "FILE", help: "our certificate, PEM") {
            (profile, value) throws(ValueProblem) in profile.clientCertificate = try Parse.path(value)
        },
        .value("client-key", nil, .file, "FILE", help: "its key, PEM; must be private") {
            (profile, value) throws(ValueProblem) in profile.clientKey = try Parse.path(value)
        },
        .value("proxy", nil, .text, "URL", help: "by way of this proxy; empty for none, whatever the environment says")
        {
            (profile, value) throws(ValueProblem) in profile.proxy = try Parse.proxy(value)
        },
        .value("limit-rate", nil, .quantity, "RATE", help: "bytes a second at most, for all items together") {
            (profile, value) throws(ValueProblem) in profile.limitRate = try Parse.rate(value)
        },
        .value(
            "timetable", nil, .text, "RULE",
            help:
                "a limit by time of day, the first rule that fits: “[DAYS] FROM-TO RATE”, such as “mon-fri 08:00-18:00 "
                + "500k”; “off” sends nothing, “max” without limit"
        ) { (profile, value) throws(ValueProblem) in
            guard profile.timetable.add(value.text) else {
                throw .expected("a rule such as “mon-fri 08:00-18:00 500k” or “22:00-06:00 off”")
            }
        }.repeatable,
        .value("block-size", nil, .quantity, "SIZE", help: "bytes of a block, where --block-size says nothing") {
            (profile, value) throws(ValueProblem) in profile.blockSize = try Parse.blockSize(value)
        },
        .value("data-key", nil, .text, "NAME", help: "the key under which the server's answers stand") {
            (profile, value) throws(ValueProblem) in
            guard !value.text.isEmpty, value.text == value.text.printable else { throw .expected("a name") }
            profile.dataKey = value.text
        }.standing(at: BlockWire.defaultDataKey),
        .value("save", nil, .text, "URL", help: "the save hook of what goes there, where --save says nothing") {
            (profile, value) throws(ValueProblem) in profile.save = try Parse.serverURL(value)
        },
        .value("save-token-file", nil, .file, "FILE", help: "the bearer token for it") {
            (profile, value) throws(ValueProblem) in profile.saveTokenFile = try Parse.path(value)
        },
    ]
}
