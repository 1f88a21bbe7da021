/// What an item is called at the far end: `--as`, such as `{host}/{date}/{name}`.
package struct NameTemplate: Hashable, Sendable {
    package enum Field: String, CaseIterable, Sendable {
        case name, stem, ext, seconds, date, time, year, month, day, host, dir, id
    }

    private enum Piece: Hashable, Sendable {
        case text(String)
        case field(Field)
    }

    /// As it was typed.
    package let text: String
    private let pieces: [Piece]

    package struct Problem: Error, Hashable, Sendable {
        package let reason: String
    }

    /// - Throws: `Problem` for unknown fields, unmatched braces, and what could never be a path below something.
    package init(_ text: String) throws(Problem) {
        self.text = text
        var pieces: [Piece] = []
        var rest = text[...]
        while let brace = rest.firstIndex(where: { $0 == "{" || $0 == "}" }) {
            if brace > rest.startIndex { pieces.append(.text(String(rest[..<brace]))) }
            guard rest[brace] == "{", let end = rest[brace...].firstIndex(of: "}") else {
                throw Problem(reason: "a brace has no other")
            }
            let name = rest[rest.index(after: brace)..<end]
            guard let field = Field(rawValue: String(name)) else {
                let known = Field.allCases.map { "{\($0.rawValue)}" }.joined(separator: " ")
                throw Problem(reason: "there is no {\(String(name).printable)}; there are \(known)")
            }
            pieces.append(.field(field))
            rest = rest[rest.index(after: end)...]
        }
        if !rest.isEmpty { pieces.append(.text(String(rest))) }
        self.pieces = pieces
        let names = text.split(separator: "/", omittingEmptySubsequences: false)
        if names.contains(where: { $0.isEmpty || $0 == "." || $0 == ".." }) {
            throw Problem(reason: "it must be a path of names, without “/” at its ends and without “.” and “..”")
        }
    }

    /// What the fields stand for.
    package struct Facts: Sendable {
        package let recording: FilePath
        /// The name of the sealed copy, for its extension.
        package let cachedName: FileName
        package let id: ItemID
        /// When the item was put on the list: in seconds since 1970, and on the wall clock of this machine.
        package let seconds: Int64
        package let added: WallTime
        package let host: String

        package init(
            recording: FilePath, cachedName: FileName, id: ItemID, seconds: Int64, added: WallTime, host: String
        ) {
            self.recording = recording
            self.cachedName = cachedName
            self.id = id
            self.seconds = seconds
            self.added = added
            self.host = host
        }
    }

    /// The name: printable, every part of it a name that a file could have.
    package func name(_ facts: Facts) -> String {
        let raw = pieces.map { piece in
            switch piece {
            case .text(let text): text
            // Only what was typed makes directories.
            case .field(let field): String(Self.value(field, facts).map { $0 == "/" ? "_" : $0 })
            }
        }.joined()
        let names = raw.split(separator: "/").map { part in
            let name = String(part).printable
            return name == "." || name == ".." ? "_" : Self.cut(name)
        }
        return names.isEmpty ? facts.cachedName.text.printable : names.joined(separator: "/")
    }

    private static func value(_ field: Field, _ facts: Facts) -> String {
        let original = facts.recording.name ?? facts.cachedName
        let stem = String(decoding: original.stem, as: UTF8.self)
        let ending = String(decoding: facts.cachedName.fileExtension, as: UTF8.self)
        let time = facts.added
        return switch field {
        case .name: ending.isEmpty ? stem : "\(stem).\(ending)"
        case .stem: stem
        case .ext: ending
        case .seconds: "\(facts.seconds)"
        case .date: "\(padded(time.year, 4))-\(padded(time.month, 2))-\(padded(time.day, 2))"
        case .time: "\(padded(time.hour, 2))-\(padded(time.minute, 2))-\(padded(time.second, 2))"
        case .year: padded(time.year, 4)
        case .month: padded(time.month, 2)
        case .day: padded(time.day, 2)
        case .host: facts.host
        case .dir: facts.recording.parent.name?.text ?? "_"
        case .id: "\(facts.id)"
        }
    }

    private static func padded(_ number: Int, _ width: Int) -> String {
        let digits = "\(number)"
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }

    /// At most 255 bytes, cut between characters.
    private static func cut(_ name: String) -> String {
        var kept = ""
        for character in name {
            if kept.utf8.count + character.utf8.count > 255 { break }
            kept.append(character)
        }
        return kept
    }
}

extension NameTemplate: Codable {
    package init(from decoder: any Decoder) throws {
        let text = try decoder.singleValueContainer().decode(String.self)
        do {
            try self.init(text)
        } catch {
            throw DecodingError.dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: error.reason))
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }
}

/// A moment as the clock on the wall shows it.
package struct WallTime: Hashable, Sendable {
    package let year: Int
    /// 1 to 12, and 1 to 31.
    package let month: Int
    package let day: Int
    package let hour: Int
    package let minute: Int
    package let second: Int
    /// 0 is Monday.
    package let weekday: Int

    package init(year: Int, month: Int, day: Int, hour: Int, minute: Int, second: Int, weekday: Int) {
        self.year = year
        self.month = month
        self.day = day
        self.hour = hour
        self.minute = minute
        self.second = second
        self.weekday = weekday
    }

    package var moment: Timetable.Moment { Timetable.Moment(weekday: weekday, minute: hour * 60 + minute) }
}
