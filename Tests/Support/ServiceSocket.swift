import Foundation
import IngestModel
import Synchronization

/// A service manager's socket in a directory of its own: hears what a service says of itself (`sd_notify(3)`).
package final class ServiceSocket: Sendable {
    private let directory: TemporaryDirectory
    private let socket: Int32
    private let heard = Mutex<[String]>([])

    /// - Parameter abstract: without a file, in the kernel's own name space.
    /// - Throws: `TestFailure` where there can be none.
    package init(abstract: Bool = false) throws {
        directory = try TemporaryDirectory()
        name = abstract ? "@" + UUID().uuidString : directory.path.text + "/notify"
        socket = Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(name.utf8).map { $0 == UInt8(ascii: "@") ? 0 : $0 }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let length = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count)
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(socket, $0, length) }
        }
        guard result == 0 else { throw TestFailure("no service socket: \(errno)") }
    }

    deinit { close(socket) }

    /// What `NOTIFY_SOCKET` holds.
    package let name: String

    /// Everything that has arrived since the beginning, or since `forget`.
    package var messages: [String] {
        heard.withLock { heard in
            var buffer = [UInt8](repeating: 0, count: 4096)
            while true {
                let count = recv(socket, &buffer, buffer.count, Int32(MSG_DONTWAIT))
                guard count > 0 else { return heard }
                heard.append(String(decoding: buffer[..<count], as: UTF8.self))
            }
        }
    }

    package func forget() {
        _ = messages
        heard.withLock { $0 = [] }
    }
}
