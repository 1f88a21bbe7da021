package import FoundationEssentials
import HTTPClient
import IngestModel

/// What a request that got no answer means for the item.
enum TransportFault {
    /// - Parameters:
    ///   - error: what came instead of an answer.
    ///   - url: where the request went.
    ///   - noun: what that is, where it is not the destination.
    /// - Returns: the fault, in words.
    static func fault(for error: HTTPClientError, url: String, noun: String? = nil) -> Fault {
        let name = (try? ServerURL(url))?.origin.host ?? "the destination"
        let host = noun.map { "\($0) at \(name)" } ?? name
        return switch error {
        case .nameNotResolved:
            Fault(.unreachable, "the name \(host) cannot be resolved; is the network there?", retry: .later(after: nil))
        case .notConnected(let detail):
            Fault(.unreachable, "\(host) cannot be reached (\(detail))", retry: .later(after: nil))
        case .interrupted(let detail) where detail.contains("wrong version number"):
            Fault(
                .unreachable, "\(host) speaks no TLS on that port; is http meant instead of https?",
                retry: .later(after: nil))
        case .interrupted(let detail):
            Fault(.unreachable, "the connection to \(host) broke (\(detail))", retry: .later(after: nil))
        case .timedOut(let detail):
            Fault(.unreachable, "\(host) does not answer (\(detail))", retry: .later(after: nil))
        case .certificate(let detail):
            Fault(
                .certificate,
                "the certificate of \(host) does not verify (\(detail)); a captive portal, or a wrong clock?",
                retry: .later(after: nil))
        case .badAnswer(let detail):
            Fault(
                .invalidAnswer, "\(host) gave no sound answer (\(detail)); is it the right address?",
                retry: .later(after: nil))
        case .bodyChanged: Fault(.copyChanged, "its copy in the cache became shorter while it was uploaded")
        case .badRequest(let detail): Fault(.refused, "the destination cannot be used (\(detail))")
        case .cancelled: Fault(.unreachable, "the request was cancelled", retry: .later(after: nil))
        }
    }
}

/// `Retry-After` (RFC 9110, section 10.2.3): seconds, or a date in one of the three formats of section 5.6.7.
package enum RetryAfter {
    private static let longest = 86_400.0

    /// Seconds from `now`, never negative, at most a day; `nil` for what cannot be read.
    package static func seconds(_ header: String?, now: Date) -> Double? {
        guard let header else { return nil }
        if let number = BlockWire.number(header) { return min(Double(number), longest) }
        guard let date = HTTPDate.parse(header) else { return nil }
        return min(max(0, date.timeIntervalSince(now)), longest)
    }
}

/// Dates as HTTP writes them (RFC 9110, section 5.6.7).
package enum HTTPDate {
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    package static func parse(_ text: String) -> Date? {
        let words = text.split { " ,-".contains($0) }.map(String.init)
        // "Sun, 06 Nov 1994 08:49:37 GMT" and "Sunday, 06-Nov-94 08:49:37 GMT"
        if words.count == 6, words[5] == "GMT" { return date(words[1], words[2], words[3], words[4]) }
        // "Sun Nov  6 08:49:37 1994"
        if words.count == 5 { return date(words[2], words[1], words[4], words[3]) }
        return nil
    }

    private static func date(_ dayText: String, _ monthText: String, _ yearText: String, _ time: String) -> Date? {
        let clock = time.split(separator: ":").compactMap { Int($0) }
        guard let day = Int(dayText), (1...31).contains(day), let month = months.firstIndex(of: monthText),
            var year = Int(yearText), (0...9999).contains(year), clock.count == 3, (0...23).contains(clock[0]),
            (0...59).contains(clock[1]), (0...60).contains(clock[2])
        else { return nil }
        if yearText.count == 2 { year += year < 70 ? 2000 : 1900 }
        let seconds = daysSince1970(year: year, month: month + 1, day: day) * 86_400
        return Date(timeIntervalSince1970: Double(seconds + clock[0] * 3600 + clock[1] * 60 + clock[2]))
    }

    /// Days from 1970-01-01 in the proleptic Gregorian calendar.
    private static func daysSince1970(year: Int, month: Int, day: Int) -> Int {
        let shifted = month > 2 ? year : year - 1
        let era = shifted / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }
}
