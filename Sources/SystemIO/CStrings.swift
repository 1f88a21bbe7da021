import Glibc

/// Lists of strings as C takes them.
enum CStrings {
    /// Hands over the strings as an array that ends with a null pointer, and frees them afterwards.
    ///
    /// - Parameters:
    ///   - strings: copies made with `strdup(3)`.
    ///   - body: must not keep the array.
    /// - Returns: what `body` returns.
    static func with<Result>(
        _ strings: [UnsafeMutablePointer<CChar>?], _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> Result
    ) -> Result {
        defer { for string in strings { free(string) } }
        return (strings + [nil]).withUnsafeBufferPointer { buffer in
            guard let start = buffer.baseAddress else { preconditionFailure("the list ends with a null pointer") }
            return body(start)
        }
    }
}
