import CFFmpeg
import Synchronization

/// A call into FFmpeg that failed: what it was for, FFmpeg's code, and the last thing the library logged.
package struct FFmpegError: Error, Hashable, Sendable, CustomStringConvertible {
    package let operation: String
    package let code: Int32
    /// What the library said last, such as `moov atom not found`; empty if nothing.
    package let detail: String

    init(_ operation: String, code: Int32) {
        self.operation = operation
        self.code = code
        detail = FFmpegLog.lastError()
    }

    /// The `errno` behind it, where the system refused something.
    package var errorNumber: Int32? {
        let number = ingest_ff_errno(code)
        return number == 0 ? nil : number
    }

    package var description: String {
        var text = [CChar](repeating: 0, count: 128)
        av_strerror(code, &text, text.count)
        let meaning = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return detail.isEmpty ? "\(operation): \(meaning)" : "\(operation): \(meaning) (\(detail))"
    }
}

/// The one place where a code becomes an error.
@discardableResult
func check(_ code: Int32, _ operation: String) throws(FFmpegError) -> Int32 {
    if code < 0 { throw FFmpegError(operation, code: code) }
    return code
}

/// What FFmpeg's libraries log, from whatever thread: the last errors are kept, nothing is printed.
package enum FFmpegLog {
    private static let lines = Mutex<[String]>([])
    private static let most = 20

    /// Takes over the logging of the whole process.
    package static func capture() {
        av_log_set_level(AV_LOG_ERROR)
        av_log_set_callback { context, level, format, arguments in
            guard level <= AV_LOG_ERROR, let format, let arguments else { return }
            var text = [CChar](repeating: 0, count: 512)
            var printPrefix: Int32 = 0
            av_log_format_line2(context, level, format, arguments, &text, Int32(text.count), &printPrefix)
            let bytes = text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
            FFmpegLog.append(String(decoding: bytes, as: UTF8.self), from: context.map { UInt(bitPattern: $0) })
        }
    }

    /// Errors that each watched object has logged, by its address.
    private static let counts = Mutex<[UInt: Int64]>([:])

    /// Counts the errors that the object (whose first member is its class) logs from now on.
    static func watch(_ object: UnsafeRawPointer) {
        counts.withLock { $0[UInt(bitPattern: object)] = 0 }
    }

    static func forget(_ object: UnsafeRawPointer) {
        counts.withLock { $0[UInt(bitPattern: object)] = nil }
    }

    static func errors(of object: UnsafeRawPointer) -> Int64 {
        counts.withLock { $0[UInt(bitPattern: object)] ?? 0 }
    }

    private static func append(_ line: String, from object: UInt?) {
        if let object, !line.contains("prematurely") {
            counts.withLock { counts in
                if let count = counts[object] { counts[object] = count + 1 }
            }
        }
        let line = String(line.prefix(400).filter { $0 != "\n" && $0 != "\r" })
        if line.isEmpty { return }
        lines.withLock { lines in
            lines.append(line)
            if lines.count > most { lines.removeFirst() }
        }
    }

    /// The newest line.
    static func lastError() -> String {
        lines.withLock { $0.last ?? "" }
    }

    /// Whether any of the last lines holds the text.
    package static func mentions(_ text: String) -> Bool {
        lines.withLock { $0.contains { $0.contains(text) } }
    }
}
