import CTOML
import FoundationEssentials
import Glibc

/// A value of a TOML document with its place.
struct TOMLNode: Sendable {
    enum Content: Sendable {
        case string(String)
        /// As digits.
        case integer(String)
        case float(String)
        case boolean(Bool)
        case array([TOMLNode])
        case table([TOMLEntry])
        /// A date or a time; no setting has one.
        case time(String)
    }

    let content: Content
    let place: TextPlace
}

/// A key of a table with its value.
struct TOMLEntry: Sendable {
    let key: String
    let place: TextPlace
    let node: TOMLNode
}

/// Line and column, from 1.
package struct TextPlace: Hashable, Comparable, Sendable {
    package let line: Int
    package let column: Int

    package static func < (left: TextPlace, right: TextPlace) -> Bool {
        (left.line, left.column) < (right.line, right.column)
    }
}

/// Why a text is not TOML.
struct TOMLProblem: Error {
    let sentence: String
    let place: TextPlace
}

/// Reads TOML 1.0 (https://toml.io/en/v1.0.0); the only place that calls toml++.
enum TOMLDocument {
    static func entries(of text: [UInt8]) throws(TOMLProblem) -> [TOMLEntry] {
        let result = text.withUnsafeBytes { bytes in
            ingest_toml_read(bytes.baseAddress?.assumingMemoryBound(to: CChar.self), bytes.count)
        }
        guard let answer = result.text else { preconditionFailure("no memory") }
        defer { free(answer) }
        let text = String(cString: answer)
        guard result.is_toml else {
            throw TOMLProblem(
                sentence: text, place: TextPlace(line: Int(result.line), column: Int(result.column)))
        }
        do {
            let root = try JSONDecoder().decode(TOMLNode.self, from: Data(text.utf8))
            guard case .table(let entries) = root.content else { preconditionFailure("a TOML document is a table") }
            return entries
        } catch {
            preconditionFailure("the JSON is our own: \(error)")
        }
    }
}

// MARK: - The JSON of CTOML

extension TextPlace {
    fileprivate enum Key: String, CodingKey { case line, column }

    fileprivate init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: Key.self)
        line = try values.decode(Int.self, forKey: .line)
        column = try values.decode(Int.self, forKey: .column)
    }
}

extension TOMLEntry: Decodable {
    private enum Key: String, CodingKey { case key, node }

    init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: Key.self)
        key = try values.decode(String.self, forKey: .key)
        node = try values.decode(TOMLNode.self, forKey: .node)
        place = try TextPlace(from: decoder)
    }
}

extension TOMLNode: Decodable {
    private enum Key: String, CodingKey { case type, text, items, entries }
    private enum Kind: String, Decodable { case string, integer, float, boolean, array, table, time }

    init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: Key.self)
        let text = try values.decodeIfPresent(String.self, forKey: .text) ?? ""
        content =
            switch try values.decode(Kind.self, forKey: .type) {
            case .string: .string(text)
            case .integer: .integer(text)
            case .float: .float(text)
            case .boolean: .boolean(text == "true")
            case .time: .time(text)
            case .array: .array(try values.decode([TOMLNode].self, forKey: .items))
            case .table: .table(try values.decode([TOMLEntry].self, forKey: .entries))
            }
        place = try TextPlace(from: decoder)
    }
}
