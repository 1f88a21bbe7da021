import FoundationEssentials

/// The names of the block protocol's form fields, headers and error codes; used by both sides.
package enum BlockWire {
    package enum Field {
        package static let sequenceNo = "sequenceNo"
        package static let blockSize = "blockSize"
        package static let fileSize = "totFileSize"
        package static let suffix = "suffix"
        package static let token = "token"
        package static let uploadToken = "upToken"
        package static let crc = "crc"
        package static let block = "block"
    }

    package enum Header {
        package static let idempotencyKey = "Idempotency-Key"
        package static let uploadToken = "Upload-Token"
    }

    /// `error.code` of a refusal.
    package enum Refusal: String, Sendable, CaseIterable {
        case field, length, crc, token, unknownToken, sequence, changed, space
        /// Not in the protocol's table; ours for what has no code of its own there.
        case other
    }

    package static let defaultDataKey = "data"

    /// Reads a number as the protocol writes it: decimal digits without sign, no more than 63 bits.
    package static func number(_ text: String) -> Int64? {
        let digits = text.utf8
        guard !digits.isEmpty, digits.count <= 19, digits.allSatisfy({ (48...57).contains($0) }) else { return nil }
        return Int64(text)
    }
}

/// What a successful answer carries beside its key.
package struct BlockAnswer: Hashable, Sendable {
    package var uploadToken: String?
    package var fileURL: String?
    package var size: Int64?
    package var sha256: String?
    package var receivedCount: Int64?

    package init(
        uploadToken: String? = nil, fileURL: String? = nil, size: Int64? = nil, sha256: String? = nil,
        receivedCount: Int64? = nil
    ) {
        self.uploadToken = uploadToken
        self.fileURL = fileURL
        self.size = size
        self.sha256 = sha256
        self.receivedCount = receivedCount
    }
}

/// A refusal as it stands in the body of an answer.
package struct BlockRefusal: Hashable, Sendable {
    package var code: String
    package var message: String
    package var expectedSequenceNo: Int64?

    package init(code: String, message: String, expectedSequenceNo: Int64? = nil) {
        self.code = code
        self.message = message
        self.expectedSequenceNo = expectedSequenceNo
    }
}

// MARK: - JSON

extension BlockAnswer: Codable {
    private enum Key: String, CodingKey {
        case uploadToken = "upToken"
        case fileURL = "fileUrl"
        case size, sha256, receivedCount
    }

    /// Servers differ: a token may be a number, a size digits in quotes. But a receipt that makes no sense is none: throws
    /// for a size or a digest of another type.
    package init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: Key.self)
        if let text = try? values.decode(String.self, forKey: .uploadToken) {
            uploadToken = text
        } else if let number = try? values.decode(Int64.self, forKey: .uploadToken) {
            uploadToken = String(number)
        }
        fileURL = try? values.decode(String.self, forKey: .fileURL)
        if let text = try? values.decode(String.self, forKey: .size) {
            guard let number = BlockWire.number(text) else {
                throw DecodingError.dataCorruptedError(forKey: .size, in: values, debugDescription: "no number")
            }
            size = number
        } else {
            size = try values.decodeIfPresent(Int64.self, forKey: .size)
        }
        sha256 = try values.decodeIfPresent(String.self, forKey: .sha256)
        receivedCount = try? values.decode(Int64.self, forKey: .receivedCount)
    }

    package func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: Key.self)
        try values.encodeIfPresent(uploadToken, forKey: .uploadToken)
        try values.encodeIfPresent(fileURL, forKey: .fileURL)
        try values.encodeIfPresent(size, forKey: .size)
        try values.encodeIfPresent(sha256, forKey: .sha256)
        try values.encodeIfPresent(receivedCount, forKey: .receivedCount)
    }
}

extension BlockRefusal: Codable {
    private enum Key: String, CodingKey { case code, message, expectedSequenceNo }

    package init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: Key.self)
        code = (try? values.decode(String.self, forKey: .code)) ?? ""
        message = (try? values.decode(String.self, forKey: .message)) ?? ""
        expectedSequenceNo = try? values.decode(Int64.self, forKey: .expectedSequenceNo)
    }

    package func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: Key.self)
        try values.encode(code, forKey: .code)
        try values.encode(message, forKey: .message)
        try values.encodeIfPresent(expectedSequenceNo, forKey: .expectedSequenceNo)
    }
}

/// The JSON bodies of the protocol.
package enum BlockJSON {
    /// The answer under `dataKey`, or `nil` if the body is anything else than an object that holds an object there.
    package static func answer(in body: [UInt8], dataKey: String = BlockWire.defaultDataKey) -> BlockAnswer? {
        (try? JSONDecoder().decode(Envelope<BlockAnswer>.self, from: Data(body), configuration: dataKey))?.content
    }

    package static func refusal(in body: [UInt8]) -> BlockRefusal? {
        (try? JSONDecoder().decode(Envelope<BlockRefusal>.self, from: Data(body), configuration: "error"))?.content
    }

    package static func body(_ answer: BlockAnswer) -> [UInt8] {
        encoded(["data": answer])
    }

    package static func body(_ refusal: BlockRefusal) -> [UInt8] {
        encoded(["error": refusal])
    }

    private static func encoded(_ value: some Encodable) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        do {
            return Array(try encoder.encode(value))
        } catch {
            preconditionFailure("strings and whole numbers always encode: \(error)")
        }
    }

    /// An object with the content under a key that is known only when it is read.
    private struct Envelope<Content: Decodable>: DecodableWithConfiguration {
        struct Key: CodingKey {
            let stringValue: String
            var intValue: Int? { nil }
            init(stringValue: String) { self.stringValue = stringValue }
            init?(intValue: Int) { nil }
        }

        let content: Content

        init(from decoder: any Decoder, configuration key: String) throws {
            content = try decoder.container(keyedBy: Key.self).decode(Content.self, forKey: Key(stringValue: key))
        }
    }
}
