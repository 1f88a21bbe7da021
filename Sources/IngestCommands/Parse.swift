import IngestModel
import OptionParsing
import SystemIO
import Uploading

/// Values of options as they are typed.
enum Parse {
    static func kind<Choice: RawRepresentable<String> & CaseIterable>(_: Choice.Type) -> ValueKind {
        .choice(Choice.allCases.map { $0.rawValue })
    }

    static func choice<Choice: RawRepresentable<String> & CaseIterable>(
        _ value: OptionValue
    ) throws(ValueProblem) -> Choice {
        if let choice = Choice(rawValue: value.text) { return choice }
        let names = Choice.allCases.map { $0.rawValue }
        throw .expected(names.dropLast().joined(separator: ", ") + " or " + (names.last ?? ""))
    }

    static func number(_ value: OptionValue, in range: ClosedRange<Int>) throws(ValueProblem) -> Int {
        guard let number = Int(value.text), range.contains(number) else {
            throw .expected("a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    static func frameRate(_ value: OptionValue) throws(ValueProblem) -> Double {
        guard let rate = Double(value.text), (1...1000).contains(rate) else {
            throw .expected("frames a second from 1 to 1000, such as 25 or 29.97")
        }
        return rate
    }

    static func rate(_ value: OptionValue) throws(ValueProblem) -> ByteCount {
        guard let rate = ByteCount(argument: value.text), rate >= .leastRate else {
            throw .expected("bytes a second, 4k or more, such as 500k, 2M or 1.5MiB")
        }
        return rate
    }

    static func blockSize(_ value: OptionValue) throws(ValueProblem) -> ByteCount {
        guard let size = ByteCount(argument: value.text), size.value > 0, size <= ItemOptions.largestBlockSize else {
            throw .expected("a size from 1 byte to 1GiB, such as 512KiB or 16MiB")
        }
        return size
    }

    /// `90`, `90s`, `5m`, `1h30m`, `1d`, `2w`; also with a fraction.
    static func duration(_ value: OptionValue) throws(ValueProblem) -> Double {
        let units: [Character: Double] = ["s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400]
        var seconds = 0.0
        var rest = value.text[...]
        repeat {
            let digits = rest.prefix { units[$0] == nil }
            guard let number = Double(digits), number >= 0, number.isFinite else {
                throw .expected("a duration, such as 90s, 5m, 1h30m or 7d")
            }
            rest = rest.dropFirst(digits.count)
            seconds += number * (rest.first.flatMap { units[$0] } ?? 1)
            rest = rest.dropFirst()
        } while !rest.isEmpty
        return seconds
    }

    static func size(_ value: OptionValue) throws(ValueProblem) -> ByteCount {
        guard let size = ByteCount(argument: value.text) else { throw .expected("a size, such as 500k or 2GiB") }
        return size
    }

    static func glob(_ value: OptionValue) throws(ValueProblem) -> FileGlob {
        guard let glob = FileGlob(value.text) else { throw .expected("a pattern, such as *.mov") }
        return glob
    }

    static func destination(_ value: OptionValue) throws(ValueProblem) -> DestinationAddress {
        if value.text.contains("/"), !value.text.contains("://") {
            guard let path = FilePath(bytes: value.bytes), let real = try? FileSystem.resolved(path),
                let status = try? FileSystem.status(of: real), status.kind == .directory
            else {
                throw .sentence(
                    "there is no directory “\(value.text.printable)”; a server is given by a URL such as "
                        + "block+https://host/upload")
            }
            return .directory(real)
        }
        do {
            return try DestinationAddress(argument: value.text)
        } catch {
            throw .sentence(error.reason)
        }
    }

    static func path(_ value: OptionValue) throws(ValueProblem) -> FilePath {
        guard let path = FilePath(bytes: value.bytes) else { throw .expected("a path") }
        return path
    }

    static func serverURL(_ value: OptionValue) throws(ValueProblem) -> ServerURL {
        do throws(ServerURL.Problem) {
            return try ServerURL(value.text)
        } catch {
            // Without the text, which holds a password.
            if error == .credentials { throw .sentence("a URL must not carry a user name or password") }
            throw .expected("an http or https URL")
        }
    }

    /// An HTTP or SOCKS proxy as libcurl takes it, or nothing.
    static func proxy(_ value: OptionValue) throws(ValueProblem) -> String {
        if value.text.isEmpty { return "" }
        if value.text.contains("@") {
            throw .sentence(
                "a URL must not carry a user name or password; the variable https_proxy may")
        }
        let schemes = ["http://", "https://", "socks4://", "socks4a://", "socks5://", "socks5h://"]
        guard let scheme = schemes.first(where: { value.text.lowercased().hasPrefix($0) }),
            (try? ServerURL("http://" + value.text.dropFirst(scheme.count))) != nil
        else { throw .expected("a proxy's URL, such as http://proxy:3128, or nothing") }
        return value.text
    }

    static func template(_ value: OptionValue) throws(ValueProblem) -> NameTemplate {
        do throws(NameTemplate.Problem) {
            return try NameTemplate(value.text)
        } catch {
            throw .sentence(error.reason)
        }
    }

    static func after(_ value: OptionValue) throws(ValueProblem) -> AfterAction {
        switch value.text {
        case "keep": return .keep
        case "delete": return .delete
        case "trash": return .trash
        default:
            let prefix = Array(AfterAction.movePrefix.utf8)
            guard value.bytes.starts(with: prefix),
                let directory = FilePath(bytes: Array(value.bytes.dropFirst(prefix.count)))
            else { throw .expected("keep, delete, trash or move:DIR") }
            return .move(directory)
        }
    }

    static func parameter(_ value: OptionValue) throws(ValueProblem) -> (key: String, value: String) {
        guard let text = String(validating: value.bytes, as: UTF8.self), let equals = text.firstIndex(of: "="),
            equals != text.startIndex
        else { throw .expected("KEY=VALUE") }
        let key = String(text[..<equals])
        if SaveMessage.ownNames.contains(key) {
            throw .sentence("“\(key)” is what ingest itself tells the save hook; take another name")
        }
        return (key, String(text[text.index(after: equals)...]))
    }
}
