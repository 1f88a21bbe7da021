/// How fast a destination may be sent to, by day and time of day.
///
/// Made of rules such as `mon-fri 08:00-18:00 500k`: the first that fits holds; where none does, nothing is limited. A rule
/// whose end is not after its beginning goes on past midnight and counts to the day on which it begins.
package struct Timetable: Hashable, Sendable {
    package enum Limit: Hashable, Sendable {
        case none
        /// Bytes per second.
        case rate(ByteCount)
        /// Nothing is sent.
        case closed
    }

    /// A moment on the wall clock.
    package struct Moment: Hashable, Sendable {
        /// 0 is Monday.
        package let weekday: Int
        /// Minutes since midnight.
        package let minute: Int

        package init(weekday: Int, minute: Int) {
            self.weekday = weekday
            self.minute = minute
        }
    }

    package struct Rule: Hashable, Sendable {
        let days: Set<Int>
        let begin: Int
        let end: Int
        let limit: Limit

        func holds(at moment: Moment) -> Bool {
            if begin < end { return days.contains(moment.weekday) && (begin..<end).contains(moment.minute) }
            if moment.minute >= begin { return days.contains(moment.weekday) }
            return moment.minute < end && days.contains((moment.weekday + 6) % 7)
        }
    }

    package private(set) var rules: [Rule] = []

    package init() {}

    package func limit(at moment: Moment) -> Limit {
        rules.first { $0.holds(at: moment) }?.limit ?? .none
    }

    /// Minutes until something may be sent again, counted on the wall clock; `nil` if nothing stands against it now, and a
    /// whole week if it is never allowed.
    package func minutesUntilOpen(from moment: Moment) -> Int? {
        if limit(at: moment) != .closed { return nil }
        let week = Self.week
        let start = moment.weekday * Self.day + moment.minute
        return (1..<week).first { ahead in
            let minute = (start + ahead) % week
            return limit(at: Moment(weekday: minute / Self.day, minute: minute % Self.day)) != .closed
        } ?? week
    }

    private static let day = 24 * 60
    /// In minutes.
    package static let week = 7 * day
    package static let dayNames = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
    private static let names = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]

    /// Adds a rule: `[DAYS] FROM-TO RATE`, days as `mon-fri` or `sat,sun` (every day without), times as `8:00` or `24:00`,
    /// the rate as bytes a second, `off` for nothing at all, `max` for no limit.
    ///
    /// - Returns: whether the text was one.
    package mutating func add(_ text: String) -> Bool {
        var words = text.split(separator: " ")
        guard (2...3).contains(words.count) else { return false }
        var days = Set(0..<7)
        if words.count == 3 {
            guard let named = Self.days(words.removeFirst().lowercased()) else { return false }
            days = named
        }
        let times = words[0].split(separator: "-", omittingEmptySubsequences: false)
        guard times.count == 2, let begin = Self.minutes(times[0]), let end = Self.minutes(times[1]),
            begin < Self.day, begin != end, let limit = Self.limit(String(words[1]))
        else { return false }
        rules.append(Rule(days: days, begin: begin, end: end, limit: limit))
        return true
    }

    private static func days(_ text: String) -> Set<Int>? {
        var days: Set<Int> = []
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            let ends = part.split(separator: "-", omittingEmptySubsequences: false)
            guard let first = ends.first.flatMap({ names.firstIndex(of: String($0)) }), ends.count <= 2,
                let last = ends.last.flatMap({ names.firstIndex(of: String($0)) })
            else { return nil }
            var day = first
            days.insert(day)
            while day != last {
                day = (day + 1) % 7
                days.insert(day)
            }
        }
        return days
    }

    private static func minutes(_ text: Substring) -> Int? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, (1...2).contains(parts[0].count), parts[1].count == 2,
            let hour = BlockWire.number(String(parts[0])), let minute = BlockWire.number(String(parts[1])),
            minute < 60, hour * 60 + minute <= Int64(day)
        else { return nil }
        return Int(hour * 60 + minute)
    }

    private static func limit(_ text: String) -> Limit? {
        switch text.lowercased() {
        case "off": .closed
        case "max": Limit.none
        default:
            ByteCount(argument: text).flatMap { $0 >= ByteCount.leastRate ? .rate($0) : nil }
        }
    }
}

extension ByteCount {
    /// The lowest rate that may be asked for: servers cut connections that all but stand still.
    package static let leastRate = ByteCount(4000)
}
