import IngestModel
import OptionParsing

/// Values of options as they are typed.
enum Parse {
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
        // Servers cut connections that all but stand still.
        guard let rate = ByteCount(argument: value.text), rate.value >= 4000 else {
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

    /// `90`, `90s`, `5m`, `1h30m`, `1d`; also with a fraction.
    static func duration(_ value: OptionValue) throws(ValueProblem) -> Double {
        let units: [Character: Double] = ["s": 1, "m": 60, "h": 3600, "d": 86_400]
        var seconds = 0.0
        var rest = value.text[...]
        repeat {
            let digits = rest.prefix { units[$0] == nil }
            guard let number = Double(digits), number >= 0, number.isFinite else {
                throw .expected("a duration, such as 90s, 5m or 1h30m")
            }
            rest = rest.dropFirst(digits.count)
            seconds += number * (rest.first.flatMap { units[$0] } ?? 1)
            rest = rest.dropFirst()
        } while !rest.isEmpty
        return seconds
    }

    static func destination(_ value: OptionValue) throws(ValueProblem) -> DestinationAddress {
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

    static func url(_ value: OptionValue) throws(ValueProblem) -> String {
        guard let url = try? ServerURL(value.text) else { throw .expected("an http or https URL") }
        return url.text
    }
}
