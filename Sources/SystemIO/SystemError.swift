import Glibc
package import IngestModel

/// A system call that failed: which, on what, and why.
package struct SystemError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What was being done, in words, such as `open` or `rename`.
    package let operation: String
    package let path: FilePath?
    /// The `errno` it failed with.
    package let code: Int32

    package init(_ operation: String, _ path: FilePath? = nil, code: Int32) {
        self.operation = operation
        self.path = path
        self.code = code
    }

    /// With the `errno` that the call just made has left.
    package static func last(_ operation: String, _ path: FilePath? = nil) -> SystemError {
        SystemError(operation, path, code: errno)
    }

    /// `cannot open /a/b: no such file or directory`
    package var description: String {
        let place = path.map { " " + $0.text.printable } ?? ""
        return "cannot \(operation)\(place): \(meaning)"
    }

    /// What the code means, without the capital that `strerror(3)` begins with.
    package var meaning: String {
        let text = String(cString: strerror(code))
        return text.prefix(1).lowercased() + text.dropFirst()
    }

    package var isNotFound: Bool { code == ENOENT || code == ENOTDIR }
    package var alreadyExists: Bool { code == EEXIST }
    /// The disk, the quota or the largest file size is exhausted.
    package var isOutOfSpace: Bool { code == ENOSPC || code == EDQUOT || code == EFBIG }
    /// ENOSPC, for those who find out beforehand.
    package static let outOfSpaceCode = ENOSPC

    package var isPermission: Bool { code == EACCES || code == EPERM || code == EROFS }
    /// A rename or a link that would have to leave its file system, or its mount.
    package var isOtherFileSystem: Bool { code == EXDEV }
    package var isBrokenPipe: Bool { code == EPIPE }
}

/// Calls until the answer is not EINTR; -1 otherwise becomes the error.
func retrying<Number: SignedNumeric & Equatable>(
    _ operation: String, _ path: FilePath? = nil, _ call: () -> Number
) throws(SystemError) -> Number {
    while true {
        let result = call()
        if result != -1 { return result }
        if errno != EINTR { throw .last(operation, path) }
    }
}

extension FilePath {
    /// The path as a C string for the length of `body`.
    func withCString<Result>(_ body: (UnsafePointer<CChar>) -> Result) -> Result {
        let terminated = bytes + [0]
        return terminated.withUnsafeBufferPointer { buffer in
            buffer.withMemoryRebound(to: CChar.self) { characters in
                // Never empty: it ends with the NUL just added.
                characters.baseAddress.map(body)
            }
        } ?? body("")
    }
}
