import Checksums
import FoundationEssentials
import HTTPServer
import IngestModel
import SystemIO

/// Takes one request of the block protocol: reads the form piece by piece, writes the block straight to where it
/// belongs, and answers. Memory does not grow with the block.
final class BlockSink: BodySink, MultipartTarget {
    private let receiver: ReceiverCore
    private let head: RequestHead
    private var parser: MultipartParser
    private var fields: [String: String] = [:]
    private var fieldBytes = 0
    private var partCount = 0
    private var part = Part.none
    private var block = BlockContent.missing
    private var refusal: Refusal?

    private enum Part {
        case none
        case field(name: String, value: [UInt8])
        case block
    }

    /// Where the bytes of the part `block` go.
    private enum BlockContent {
        case missing
        /// Counted only: an opening, or a request that is refused anyway.
        case ignored(count: Int64)
        case writing(BlockWriter)
        /// The part came before the fields: kept until they are there.
        case spooled(SharedDescriptor, fileName: String, count: Int64)
    }

    private static let longestField = 4096
    private static let mostFieldBytes = 64 << 10
    private static let mostParts = 64
    private static let longestName = 256

    init(receiver: ReceiverCore, head: RequestHead, boundary: String) {
        self.receiver = receiver
        self.head = head
        parser = MultipartParser(boundary: boundary)
    }

    // MARK: - Body

    func receive(_ bytes: Span<UInt8>) {
        if refusal != nil { return }
        do {
            try parser.consume(bytes, self)
        } catch {
            refuse(.field("the body", "is no sound multipart/form-data: \(error.reason)"))
        }
    }

    func partBegan(name: String, fileName: String?) {
        partCount += 1
        guard partCount <= Self.mostParts, name.utf8.count <= Self.longestName else {
            return refuse(.field("the body", "has too many parts, or too long a name"))
        }
        guard name == BlockWire.Field.block else {
            part = .field(name: name, value: [])
            return
        }
        part = .block
        guard case .missing = block else { return refuse(.field("block", "comes twice")) }
        attempt {
            let fileName = fileName ?? ""
            if let request = try BlockRequest(fields: fields, isWhole: false) {
                block = try begin(request, fileName: fileName)
            } else {
                block = .spooled(try receiver.store.spoolFile(), fileName: fileName, count: 0)
            }
        }
    }

    func partContinues(_ bytes: Span<UInt8>) {
        if refusal != nil { return }
        switch part {
        case .none: break
        case .field(let name, var value):
            fieldBytes += bytes.count
            guard value.count + bytes.count <= Self.longestField, fieldBytes <= Self.mostFieldBytes else {
                return refuse(.field("a field", "is too long"))
            }
            for index in bytes.indices { value.append(bytes[index]) }
            part = .field(name: name, value: value)
        case .block: attempt { try blockContinues(bytes) }
        }
    }

    private func blockContinues(_ bytes: Span<UInt8>) throws {
        switch block {
        case .missing: break
        case .ignored(let count): block = .ignored(count: count + Int64(bytes.count))
        case .writing(let writer): try writer.write(bytes)
        case .spooled(let file, let fileName, let count):
            guard count + Int64(bytes.count) <= receiver.largestSpool else {
                throw Refusal.field(
                    "block", "comes before the fields that tell where it belongs, and is too long for that")
            }
            try file.descriptor.write(bytes, at: count)
            block = .spooled(file, fileName: fileName, count: count + Int64(bytes.count))
        }
    }

    func partEnded() {
        if case .field(let name, let value) = part { fields[name] = String(decoding: value, as: UTF8.self) }
        part = .none
    }

    // MARK: - Answer

    func finish() -> ServerResponse {
        if let refusal { return .refusal(refusal) }
        guard parser.isFinished else {
            return .refusal(.field("the body", "ends before its last boundary"))
        }
        do {
            return .success(try answer())
        } catch let refusal as Refusal {
            return .refusal(refusal)
        } catch {
            return .refusal(receiver.refusal(for: error))
        }
    }

    private func answer() throws -> BlockAnswer {
        guard let request = try BlockRequest(fields: fields, isWhole: true) else {
            preconditionFailure("a whole form is a request or is refused")
        }
        try receiver.authorise(request.token)
        if case .spooled(let file, let fileName, let count) = block {
            // Everything is known now: as if the block had come last.
            block = try begin(request, fileName: fileName)
            try replay(file, count: count)
        }
        switch block {
        case .missing, .spooled: throw Refusal.field("block", "is missing")
        case .ignored(let count):
            guard count == 0, let opened else { throw Refusal(400, .length, "sequence 0 carries no bytes") }
            return try receiver.answer(toOpening: opened, head: head)
        case .writing(let writer):
            guard let crc = request.crc else { throw Refusal.field(BlockWire.Field.crc, "is missing") }
            return try writer.finish(expected: crc, head: head)
        }
    }

    private var opened: UploadRecord?

    /// Decides what becomes of the block's bytes. An opening opens the upload here.
    private func begin(_ request: BlockRequest, fileName: String) throws -> BlockContent {
        try receiver.authorise(request.token)
        switch request.kind {
        case .open:
            opened = try receiver.store.open(
                ReceiverStore.Opening(
                    key: head.headers[BlockWire.Header.idempotencyKey.lowercased()].map { String($0.prefix(200)) },
                    plan: request.plan, fileName: String(fileName.prefix(1000)), suffix: request.suffix),
                now: Date())
            return .ignored(count: 0)
        case .block(let number, let token):
            return .writing(
                try BlockWriter(
                    receiver: receiver, token: token, number: number, plan: request.plan, connection: head.connection))
        }
    }

    private func replay(_ file: SharedDescriptor, count: Int64) throws {
        var position: Int64 = 0
        while position < count {
            let bytes = try file.descriptor.read(at: position, count: Int(min(1 << 16, count - position)))
            if bytes.isEmpty { return }
            try blockContinues(bytes.span)
            position += Int64(bytes.count)
        }
    }

    private func attempt(_ work: () throws -> Void) {
        do {
            try work()
        } catch let refusal as Refusal {
            refuse(refusal)
        } catch {
            refuse(receiver.refusal(for: error))
        }
    }

    private func refuse(_ refusal: Refusal) {
        self.refusal = refusal
        // Lets go of the upload's lock.
        block = .ignored(count: 0)
    }
}

/// The fields of a request, checked.
struct BlockRequest {
    enum Kind {
        case open
        case block(number: Int64, token: String)
    }

    let kind: Kind
    let plan: BlockPlan
    let suffix: String
    let token: String
    let crc: CRC32Value?

    /// Checks the fields. Unless all that will come are there (`isWhole`), `nil` where missing ones may still follow. Throws
    /// a `Refusal` for what is malformed, missing or senseless.
    init?(fields: [String: String], isWhole: Bool) throws(Refusal) {
        func number(_ name: String) throws(Refusal) -> Int64? {
            guard let text = fields[name] else {
                if isWhole { throw .field(name, "is missing") }
                return nil
            }
            guard let value = BlockWire.number(text) else { throw .field(name, "is no number in decimal digits") }
            return value
        }
        guard let sequence = try number(BlockWire.Field.sequenceNo), let size = try number(BlockWire.Field.fileSize),
            let blockSize = try number(BlockWire.Field.blockSize)
        else { return nil }
        guard blockSize <= ItemOptions.largestBlockSize.value,
            let plan = BlockPlan(fileSize: ByteCount(size), blockSize: ByteCount(blockSize))
        else { throw .field(BlockWire.Field.blockSize, "is not between 1 byte and 1 GiB") }
        guard sequence <= plan.totalCount else { throw .field(BlockWire.Field.sequenceNo, "is beyond the last block") }
        // A token may still come behind the block.
        guard let token = fields[BlockWire.Field.token] ?? (isWhole ? "" : nil) else { return nil }
        if sequence == 0 {
            guard let suffix = fields[BlockWire.Field.suffix] ?? (isWhole ? "" : nil) else { return nil }
            kind = .open
            self.suffix = String(suffix.prefix(300))
        } else {
            guard let uploadToken = fields[BlockWire.Field.uploadToken] else {
                if isWhole { throw .field(BlockWire.Field.uploadToken, "is missing") }
                return nil
            }
            kind = .block(number: sequence, token: uploadToken)
            suffix = ""
        }
        if let text = fields[BlockWire.Field.crc], sequence > 0 {
            guard let crc = CRC32Value(hex: text) else {
                throw .field(BlockWire.Field.crc, "is not eight hexadecimal digits")
            }
            self.crc = crc
        } else {
            crc = nil
        }
        self.plan = plan
        self.token = token
    }
}

/// Writes one block to its place, or, if it is there already, compares it.
final class BlockWriter {
    private let receiver: ReceiverCore
    private let record: UploadRecord
    private let number: Int64
    private let range: Range<Int64>
    private let file: SharedDescriptor?
    private let lock: UploadLock
    private var crc = CRC32()
    private var count: Int64 = 0

    init(
        receiver: ReceiverCore, token: String, number: Int64, plan: BlockPlan, connection: Int
    ) throws {
        guard let found = try receiver.store.find(token: token) else { throw Refusal.unknown }
        lock = try receiver.lock(found, for: connection)
        // What it was before the lock was ours may have changed.
        guard let record = try receiver.store.find(token: token) else { throw Refusal.unknown }
        guard record.plan == plan else {
            throw Refusal.field(BlockWire.Field.blockSize, "and totFileSize are not those of the opening")
        }
        guard number <= record.received + 1, let range = plan.range(ofBlock: number) else {
            throw Refusal(
                409, .sequence, "block \(number) is out of order", expected: record.received + 1)
        }
        self.receiver = receiver
        self.record = record
        self.number = number
        self.range = range
        file =
            number > record.received
            ? SharedDescriptor(try FileSystem.open(receiver.store.partPath(of: token), .readingAndWriting)) : nil
    }

    func write(_ bytes: Span<UInt8>) throws {
        count += Int64(bytes.count)
        guard count <= range.upperBound - range.lowerBound else { throw wrongLength }
        crc.update(bytes)
        try file?.descriptor.write(bytes, at: range.lowerBound + count - Int64(bytes.count))
    }

    func finish(expected: CRC32Value, head: RequestHead) throws -> BlockAnswer {
        guard count == range.upperBound - range.lowerBound else { throw wrongLength }
        guard crc.value == expected else {
            throw Refusal(400, .crc, "the block's CRC is \(crc.value.hex), not \(expected.hex)")
        }
        guard let file else { return try answerRepeated(head) }
        var record = try receiver.store.accept(block: number, crc: crc.value, of: record, in: file, now: Date())
        if record.isComplete { record = try receiver.store.finish(record, in: file) }
        return receiver.answer(for: record, head: head)
    }

    private func answerRepeated(_ head: RequestHead) throws -> BlockAnswer {
        guard try receiver.store.crc(of: number, in: record) == crc.value else {
            throw Refusal(409, .changed, "block \(number) was other bytes the first time")
        }
        var record = record
        if record.finishedName != nil {
            try receiver.store.publish(record)
        } else if record.isComplete {
            let file = try FileSystem.open(receiver.store.partPath(of: record.token), .readingAndWriting)
            record = try receiver.store.finish(record, in: SharedDescriptor(file))
        }
        // Only the last block's answer carries the URL.
        return number == record.plan.totalCount
            ? receiver.answer(for: record, head: head) : BlockAnswer(receivedCount: record.received)
    }

    private var wrongLength: Refusal {
        Refusal(
            400, .length,
            "block \(number) has \(range.upperBound - range.lowerBound) bytes, not \(count)\(file == nil ? "" : " or more")"
        )
    }
}
