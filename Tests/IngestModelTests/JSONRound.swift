import FoundationEssentials

/// Through JSON and back.
enum JSONRound {
    static func trip<Value: Codable>(_ value: Value) throws -> Value {
        try JSONDecoder().decode(Value.self, from: JSONEncoder().encode(value))
    }
}
