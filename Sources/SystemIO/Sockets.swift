import CLinux

/// Options of sockets that C libraries opened.
package enum Sockets {
    /// A peer that does not acknowledge what was sent for so long counts as gone, and an idle one is asked (`tcp(7)`,
    /// `TCP_USER_TIMEOUT`, `TCP_KEEPIDLE`). `false` where the kernel refuses.
    package static func setTimeouts(
        _ socket: CInt, userTimeoutMilliseconds: UInt32, keepAliveSeconds: CInt
    ) -> Bool {
        linux_set_tcp_timeouts(socket, userTimeoutMilliseconds, keepAliveSeconds) == 0
    }

    /// How many bytes the peer has acknowledged since the connection began; 0 where the kernel does not say.
    package static func acknowledgedBytes(_ socket: CInt) -> Int64 {
        max(0, linux_acknowledged_bytes(socket))
    }
}
