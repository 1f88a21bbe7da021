import CLinux

/// Hears of links that come up and of addresses and routes that appear (`rtnetlink(7)`).
package final class NetworkWatch: Sendable {
    private let socket: SharedDescriptor

    /// `nil` where the kernel gives no such socket.
    package init?() {
        let number = linux_open_network_watch()
        if number < 0 { return nil }
        socket = SharedDescriptor(FileDescriptor(owning: number))
    }

    /// Whether any of that has happened since the last call.
    package func cameUp() -> Bool {
        linux_network_came_up(socket.descriptor.number) == 1
    }
}
