/// Files that are one recording have equal groups.
package struct RecordingGroup: Hashable, Sendable {
    /// Directory, kind of rule, and what their names have in common, with NUL between them.
    package let key: [UInt8]
    /// Where its files lie; on a card, the directory above those.
    package let directory: FilePath
    /// Whether they lie in several directories below that one.
    package let isOnCard: Bool
    /// What the names of its files begin with; `nil` where they differ from the first letter on.
    package let beginning: [UInt8]?
}

/// What a file is in its recording.
package enum RecordingRole: Hashable, Sendable {
    /// Pictures; 1 for the first or only chapter.
    case clip(chapter: Int)
    /// Sound alone.
    case sound
    /// A small version of a clip.
    case proxy
    case sidecar

    /// Whether it never is a recording by itself.
    package var isCompanion: Bool { self == .proxy || self == .sidecar }

    /// Whether it is a recording by itself beside the others of its group. A group in which nothing leads is none.
    package func leads(among group: some Sequence<RecordingRole>) -> Bool {
        switch self {
        case .clip: true
        case .sound: !group.contains { if case .clip = $0 { true } else { false } }
        case .proxy, .sidecar: false
        }
    }
}

/// Where a file belongs among recordings, by its path alone.
///
/// The rules are those of cameras: GoPro's and Insta360's names of chapters and lenses, the directories of AVCHD, of Sony's XAVC and
/// XDCAM cards and of P2, the numbered parts of R3D. Everything else (DCF's `MVI_0001.MP4` and `MVI_0001.THM`, DJI, iPhones, people) is
/// one recording where directory and name are the same up to the extension.
package struct RecordingPlace: Hashable, Sendable {
    package let group: RecordingGroup
    package let role: RecordingRole

    /// - Parameter path: the file's, always given in the same way, absolute or not. `nil` where the name belongs to no recording.
    package init?(_ path: FilePath) {
        guard let name = path.name, RecordingNames.kind(of: name) != .temporary else { return nil }
        let directory = path.parent
        guard let place = Self.onCard(directory, name) ?? Self.byCamera(directory, name) ?? Self.byStem(directory, name)
        else { return nil }
        self = place
    }

    private init(_ directory: FilePath, _ rule: String, _ stem: some Sequence<UInt8>, _ role: RecordingRole) {
        group = RecordingGroup(
            key: directory.bytes + [0] + Array(rule.utf8) + [0] + Array(stem), directory: directory,
            isOnCard: rule == Self.cardRule, beginning: rule.isEmpty ? Array(stem) : nil)
        self.role = role
    }

    private static let cardRule = "card"

    // MARK: Any directory

    private static func byStem(_ directory: FilePath, _ name: FileName) -> RecordingPlace? {
        guard let role = role(of: name) else { return nil }
        var stem = name.stem
        if role == .sidecar {
            // Some programs append: `talk.mp4.xmp`.
            if let inner = FileName(bytes: stem), RecordingNames.kind(of: inner) == .recording { stem = inner.stem }
            // Sony's metadata of the clip C0001 is C0001M01.XML.
            if name.fileExtension.lowercasedText == "xml" { stem = cut(stem, letter: UInt8(ascii: "M")) }
        }
        return RecordingPlace(directory, "", withoutLanguage(stem), role)
    }

    private static func role(of name: FileName) -> RecordingRole? {
        let fileExtension = name.fileExtension.lowercasedText
        if RecordingNames.video.contains(fileExtension) { return .clip(chapter: 1) }
        if RecordingNames.sound.contains(fileExtension) { return .sound }
        if RecordingNames.proxies.contains(fileExtension) { return .proxy }
        return RecordingNames.sidecars.contains(fileExtension) ? .sidecar : nil
    }

    /// `talk.en` and `talk.pt-BR` are `talk`: subtitles, and recordings in several languages.
    private static func withoutLanguage(_ stem: [UInt8]) -> [UInt8] {
        guard let dot = stem.lastIndex(of: UInt8(ascii: ".")), dot > 0 else { return stem }
        let tag = stem[(dot + 1)...]
        func isWord(_ part: some Sequence<UInt8>, _ letters: ClosedRange<UInt8>) -> Bool {
            part.allSatisfy(letters.contains)
        }
        guard tag.count >= 2, isWord(tag.prefix(2), 0x61...0x7A) else { return stem }
        let region = tag.dropFirst(2)
        guard region.isEmpty || (region.count == 3 && region.first == 0x2D && isWord(region.dropFirst(), 0x41...0x5A))
        else { return stem }
        return Array(stem[..<dot])
    }

    /// The stem without a letter and two digits at its end.
    private static func cut(_ stem: [UInt8], letter: UInt8?) -> [UInt8] {
        let ending = stem.suffix(letter == nil ? 2 : 3)
        guard ending.count < stem.count, ending.suffix(2).allSatisfy({ (0x30...0x39).contains($0) }) else {
            return stem
        }
        if let letter, (ending.first ?? 0) & 0xDF != letter { return stem }
        return Array(stem.dropLast(ending.count))
    }

    // MARK: Names

    /// How a camera names the parts of one recording, in front of the extension.
    private struct CameraName {
        /// Names with the same rule and the same digits `n` are one recording.
        let rule: String
        /// Letters as they are, in capitals; `n` a digit that the parts share, `c` one of the chapter's number, `x` any digit; `*` at
        /// the beginning any bytes that the parts share.
        let pattern: [UInt8]
        /// `nil` where the extension says it.
        var role: RecordingRole?
        /// What the first chapter's number is.
        var firstChapter = 1
        /// The only extension it is for, if there is one.
        var fileExtension: String?

        init(
            _ rule: String, _ pattern: String, role: RecordingRole? = nil, firstChapter: Int = 1,
            fileExtension: String? = nil
        ) {
            self.rule = rule
            self.pattern = Array(pattern.utf8)
            self.role = role
            self.firstChapter = firstChapter
            self.fileExtension = fileExtension
        }

        /// What the parts share and the chapter, if the stem fits.
        func match(_ stem: [UInt8]) -> (common: [UInt8], chapter: Int)? {
            let isOpen = pattern.first == UInt8(ascii: "*")
            let pattern = pattern.dropFirst(isOpen ? 1 : 0)
            guard isOpen ? stem.count > pattern.count : stem.count == pattern.count else { return nil }
            var common = Array(stem.dropLast(pattern.count))
            var number: Int?
            for (byte, wanted) in zip(stem.suffix(pattern.count), pattern) {
                let isDigit = (0x30...0x39).contains(byte)
                switch wanted {
                case UInt8(ascii: "n") where isDigit: common.append(byte)
                case UInt8(ascii: "c") where isDigit: number = (number ?? 0) * 10 + Int(byte - 0x30)
                case UInt8(ascii: "x") where isDigit: break
                case byte: break
                default: return nil
                }
            }
            return (common, number.map { $0 - firstChapter + 1 } ?? 1)
        }
    }

    private static let cameraNames = [
        // GoPro's convention since HERO6: AVC, HEVC, 360°, the small version; chapter, number.
        CameraName("gopro", "GHccnnnn"),
        CameraName("gopro", "GXccnnnn"),
        CameraName("gopro", "GSccnnnn"),
        CameraName("gopro", "GLccnnnn", role: .proxy),
        // And before: the first chapter has none in its name, the second is 01.
        CameraName("gopr", "GOPRnnnn"),
        CameraName("gopr", "GPccnnnn", firstChapter: 0),
        // Insta360: day, time, lens (00 and 10; the small versions 01 and 11), number.
        CameraName("insta360", "VID_nnnnnnnn_nnnnnn_xx_nnn"),
        CameraName("insta360", "LRV_nnnnnnnn_nnnnnn_xx_nnn", role: .proxy),
        // RED: a clip's parts.
        CameraName("red", "*_ccc", fileExtension: "r3d"),
    ]

    private static func byCamera(_ directory: FilePath, _ name: FileName) -> RecordingPlace? {
        guard let role = role(of: name) else { return nil }
        let stem = name.stem.map { (0x61...0x7A).contains($0) ? $0 & 0xDF : $0 }
        for camera in cameraNames {
            if let only = camera.fileExtension, only != name.fileExtension.lowercasedText { continue }
            guard let (common, chapter) = camera.match(stem) else { continue }
            let part = if case .clip = role { RecordingRole.clip(chapter: chapter) } else { role }
            return RecordingPlace(directory, camera.rule, common, camera.role ?? part)
        }
        return nil
    }

    // MARK: Cards

    /// One directory of a card's fixed structure.
    private struct CardFolder {
        let root: String
        let folder: String
        /// `nil` where the extension says it.
        let role: RecordingRole?
        /// What stands behind the clip's name: a letter and two digits, or two digits, or nothing.
        var ending: Ending = .none

        enum Ending { case none, digits, letter(UInt8) }
    }

    /// AVCHD 2.0 (BDMV; its playlists and indexes are the card's, not a clip's), Sony's XAVC S (M4ROOT) and XDCAM (XDROOT),
    /// Panasonic's P2 (CONTENTS).
    private static let cardFolders = [
        CardFolder(root: "bdmv", folder: "stream", role: nil),
        CardFolder(root: "bdmv", folder: "clipinf", role: .sidecar),
        CardFolder(root: "m4root", folder: "clip", role: nil, ending: .letter(UInt8(ascii: "M"))),
        CardFolder(root: "m4root", folder: "sub", role: .proxy, ending: .letter(UInt8(ascii: "S"))),
        CardFolder(root: "m4root", folder: "thmbnl", role: .sidecar, ending: .letter(UInt8(ascii: "T"))),
        CardFolder(root: "xdroot", folder: "clip", role: nil, ending: .letter(UInt8(ascii: "M"))),
        CardFolder(root: "xdroot", folder: "sub", role: .proxy, ending: .letter(UInt8(ascii: "S"))),
        CardFolder(root: "xdroot", folder: "thmbnl", role: .sidecar, ending: .letter(UInt8(ascii: "T"))),
        CardFolder(root: "contents", folder: "video", role: .clip(chapter: 1)),
        CardFolder(root: "contents", folder: "audio", role: .sound, ending: .digits),
        CardFolder(root: "contents", folder: "clip", role: .sidecar),
        CardFolder(root: "contents", folder: "icon", role: .sidecar),
        CardFolder(root: "contents", folder: "voice", role: .sidecar, ending: .digits),
        CardFolder(root: "contents", folder: "proxy", role: .proxy),
    ]

    private static func onCard(_ directory: FilePath, _ name: FileName) -> RecordingPlace? {
        guard let folder = directory.name?.bytes.lowercasedText, let root = directory.parent.name?.bytes.lowercasedText,
            let place = cardFolders.first(where: { $0.root == root && $0.folder == folder }),
            let role = place.role ?? role(of: name)
        else { return nil }
        let stem =
            switch place.ending {
            case .none: name.stem
            case .digits: cut(name.stem, letter: nil)
            case .letter(let letter): place.role == nil && role != .sidecar ? name.stem : cut(name.stem, letter: letter)
            }
        return RecordingPlace(directory.parent, cardRule, stem.lowercasedText.utf8, role)
    }
}
