import Foundation

/// A TCP connection to this machine without any manners.
package final class RawConnection {
    private let socket: Int32

    package init(port: UInt16) throws {
        socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else { throw TestFailure("cannot connect") }
    }

    deinit { close(socket) }

    /// Sends all of it, without looking at what comes back. `false` once the other side has closed.
    @discardableResult
    package func send(_ bytes: [UInt8]) -> Bool {
        var byte: UInt8 = 0
        if recv(socket, &byte, 1, Int32(MSG_DONTWAIT | MSG_PEEK)) == 0 { return false }
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes {
                Glibc.send(socket, $0.baseAddress.map { $0 + sent }, $0.count - sent, Int32(MSG_NOSIGNAL))
            }
            if count <= 0 { return false }
            sent += count
        }
        return true
    }

    /// What has come; waits for something, or the end.
    package func receive() -> String {
        var room = [UInt8](repeating: 0, count: 65536)
        let count = room.withUnsafeMutableBytes { recv(socket, $0.baseAddress, $0.count, 0) }
        return String(decoding: room.prefix(max(0, count)), as: UTF8.self)
    }

    @discardableResult
    package func send(_ text: String) -> Bool { send(Array(text.utf8)) }
}
