import FoundationEssentials
import IngestModel

/// One line of `--json`: what happened, to which item, and what belongs to it.
struct EventJSON: Encodable {
    var event: String
    var time: Date
    var id: Int64?
    var file: String
    var state: String?
    var stage: String?
    var bytes: Int64?
    var total: Int64?
    var originalSize: Int64?
    var rate: Double?
    var fraction: Double?
    var url: String?
    var sha256: String?
    var receipt: String?
    var what: String?
    var reason: String?
    /// Of a loss: `lost` or `changed`, and whether an option asked for it.
    var outcome: String?
    var isAsked: Bool?
    var code: String?
    var retryAfter: Double?
}

/// An item as `list --json` and `show --json` give it. Every key is always there.
struct ItemJSON: Encodable {
    let item: Item
    let progress: StageProgress?
    /// Where the cached copy is.
    let cachedPath: FilePath
    let now: Date

    private enum Key: String, CodingKey {
        case id, uuid, group, file, title, state, stage, bytes, total, rate, fraction, destination, options, flags,
            losses
        case totalSize, totalCount, uploadedCount, uploadPercent, progressText, filePath, parameters
        case url, sha256, sourceSHA256, receipt, reason, code, retryAfter, attempts, cleanup, after, created, updated,
            media
        case retryAt, wish
    }

    private var totalSize: Int64 { item.seal?.size.value ?? item.identity.size.value }
    private var acknowledged: Int64 { item.receipt != nil ? totalSize : item.remote?.acknowledged.value ?? 0 }

    private var plan: BlockPlan? {
        if case .block(let ledger) = item.remote { return ledger.plan }
        return BlockPlan(fileSize: ByteCount(totalSize), blockSize: item.options.blockSize)
    }

    private var uploadedCount: Int64 {
        if item.receipt != nil { return plan?.totalCount ?? 0 }
        if case .block(let ledger) = item.remote { return ledger.acknowledgedCount }
        return 0
    }

    func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: Key.self)
        try values.encode(item.id, forKey: .id)
        try values.encode(item.uuid.uuidString.lowercased(), forKey: .uuid)
        try values.encode(item.group?.uuidString.lowercased(), forKey: .group)
        try values.encode(item.recording.text, forKey: .file)
        try values.encode(item.options.title ?? item.recording.name?.text, forKey: .title)
        try values.encode(item.state, forKey: .state)
        try values.encode(item.wish, forKey: .wish)
        try values.encode(item.destination.text, forKey: .destination)
        try values.encode(item.options.summary, forKey: .options)
        try values.encode(item.marks.map { $0.rawValue }.sorted(), forKey: .flags)
        try values.encode(item.losses, forKey: .losses)
        try values.encode(item.options.parameters, forKey: .parameters)
        try encodeProgress(&values)
        try encodeOutcome(&values)
        try values.encode(item.created, forKey: .created)
        try values.encode(item.updated, forKey: .updated)
    }

    private func encodeProgress(_ values: inout KeyedEncodingContainer<Key>) throws {
        try values.encode(progress?.stage, forKey: .stage)
        try values.encode(progress?.stage.countsBytes == true ? progress?.done : nil, forKey: .bytes)
        try values.encode(progress?.stage.countsBytes == true ? progress?.total : nil, forKey: .total)
        try values.encode(progress?.fraction, forKey: .fraction)
        try values.encode(progress?.rate, forKey: .rate)
        try values.encode(totalSize, forKey: .totalSize)
        try values.encode(plan?.totalCount ?? 0, forKey: .totalCount)
        try values.encode(uploadedCount, forKey: .uploadedCount)
        let isDone = item.receipt != nil
        let percent = totalSize > 0 ? Int(Double(acknowledged) / Double(totalSize) * 100) : isDone ? 100 : 0
        try values.encode(isDone ? 100 : min(99, percent), forKey: .uploadPercent)
        try values.encode(Words.pair(acknowledged, of: totalSize), forKey: .progressText)
        try values.encode(item.seal == nil || item.cleanup == .done ? nil : cachedPath.text, forKey: .filePath)
    }

    private func encodeOutcome(_ values: inout KeyedEncodingContainer<Key>) throws {
        try values.encode(item.receipt?.url, forKey: .url)
        try values.encode(item.seal?.sha256, forKey: .sha256)
        try values.encode(item.identity.sha256, forKey: .sourceSHA256)
        try values.encode(item.receipt?.proof, forKey: .receipt)
        try values.encode(item.fault?.reason, forKey: .reason)
        try values.encode(item.fault?.code, forKey: .code)
        try values.encode(item.retryAt, forKey: .retryAt)
        try values.encode(item.retryAt.map { max(0, $0.timeIntervalSince(now)) }, forKey: .retryAfter)
        try values.encode(item.attempts, forKey: .attempts)
        try values.encode(item.cleanup, forKey: .cleanup)
        try values.encode(item.after.words, forKey: .after)
        try values.encode(item.media, forKey: .media)
    }
}

extension ItemOptions {
    /// The options as they would be typed, for people and programs.
    var summary: [String] {
        var words: [String] = []
        switch preparation {
        case .copy: break
        case .link: words.append("--cache=link")
        case .remux: words.append("--remux")
        case .compress(let settings):
            words.append("--compress=\(settings.preset.rawValue)")
            if settings.codec != .auto { words.append("--codec=\(settings.codec.rawValue)") }
            if let quality = settings.quality { words.append("--quality=\(quality)") }
            if let height = settings.maxHeight { words.append("--max-height=\(height)") }
            if let rate = settings.maxFramesPerSecond {
                words.append("--max-fps=\(rate == rate.rounded() ? "\(Int(rate))" : "\(rate)")")
            }
            if let size = settings.targetSize { words.append("--target-size=\(size.value)") }
            if let sound = settings.sound { words.append("--audio=\(sound.rawValue)") }
            if settings.keepsInterlaced == true { words.append("--keep-interlaced") }
        }
        if stripsLocation == true { words.append("--strip=location") }
        let care = care ?? .standard
        if care.isStrict { words.append("--strict") }
        if care.damaged != .fail { words.append("--damaged=\(care.damaged.rawValue)") }
        if care.badResult != .original { words.append("--on-bad-result=\(care.badResult.rawValue)") }
        if care.verification != .sample { words.append("--verify=\(care.verification.rawValue)") }
        if let template { words.append("--as=\(template.text)") }
        if let after { words.append("--after=\(after.text)") }
        if let save { words.append("--save=\(save.url.text)") }
        if let file = save?.tokenFile { words.append("--save-token-file=\(file.text)") }
        if let title { words.append("--title=\(title)") }
        for (key, value) in parameters.sorted(by: { $0.key < $1.key }) { words.append("--param=\(key)=\(value)") }
        if blockSize != Self.defaultBlockSize { words.append("--block-size=\(blockSize.value)") }
        if let limitRate { words.append("--limit-rate=\(limitRate.value)") }
        if let tokenFile { words.append("--token-file=\(tokenFile.text)") }
        return words
    }
}

extension AfterState {
    /// For programs and people; `nil` where nothing is owed.
    var words: String? {
        if let reason { return "failed(\(reason))" }
        return word
    }
}

/// JSON as this program prints it: one line, keys sorted, times by RFC 3339.
enum JSONText {
    static func line(_ value: some Encodable) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        encoder.dateEncodingStrategy = .iso8601
        do {
            return String(decoding: try encoder.encode(value), as: UTF8.self)
        } catch {
            preconditionFailure("numbers, texts and dates always encode: \(error)")
        }
    }
}
