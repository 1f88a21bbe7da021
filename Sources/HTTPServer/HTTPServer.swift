import CMicroHTTPD
import Glibc
import Synchronization
import SystemIO

/// An HTTP/1.1 server on libmicrohttpd, with a thread for each connection, so that handlers may block.
///
/// Listens from `init` on; stops when `stop` is called or the last reference goes.
package final class HTTPServer: Sendable {
    package struct Limits: Sendable {
        /// At once; a further one takes the place of the one that has been idle for longest.
        package var connections: UInt32 = 512
        /// Seconds without a byte after which a connection is closed.
        package var idleSeconds: UInt32 = 60
        package var patience = Patience()
        /// The longest body of a request, however it is framed.
        package var longestBody = Int64.max

        package init() {}
    }

    /// The address it listens at, with the port that was given or picked.
    package let address: ListenAddress
    private let context: ServerContext
    private let daemon: DaemonHandle

    /// - Throws: `ListenError` with the reason in words.
    package init(
        listen address: ListenAddress, limits: Limits = Limits(), handler: any RequestHandler
    ) throws(ListenError) {
        var storage = try Self.socketAddress(of: address)
        context = ServerContext(
            handler: handler, watch: ConnectionWatch(patience: limits.patience, most: Int(limits.connections)),
            longestBody: limits.longestBody)
        let settings = ingest_mhd_settings(
            idle_seconds: limits.idleSeconds,
            // Beyond its limit libmicrohttpd closes whoever comes: it must leave time for those to end that are cut off.
            most_connections: limits.connections * 2, connection_memory: 128 << 10, thread_stack: 1 << 20)
        errno = 0
        guard
            let daemon = ingest_mhd_start(
                &storage, settings, Unmanaged.passUnretained(context).toOpaque(), handleRequest, requestCompleted,
                connectionChanged)
        else {
            let reason = errno == 0 ? "the address cannot be used" : String(cString: strerror(errno)).lowercased()
            throw ListenError(description: "cannot listen at \(address): \(reason)")
        }
        self.daemon = DaemonHandle(daemon)
        self.address = ListenAddress(host: address.host, port: ingest_mhd_port(daemon))
        context.watch.start()
    }

    deinit {
        stop()
    }

    /// Closes the listening socket and all connections, and waits for their threads.
    package func stop() {
        context.watch.stop()
        daemon.stop()
    }

    /// Cuts a connection, whose sink is then let go.
    package func drop(connection: Int) {
        context.watch.drop(connection)
    }

    private static func socketAddress(of address: ListenAddress) throws(ListenError) -> sockaddr_storage {
        var hints = addrinfo()
        hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE
        hints.ai_socktype = CInt(SOCK_STREAM.rawValue)
        var found: UnsafeMutablePointer<addrinfo>?
        let result = getaddrinfo(address.host, "\(address.port)", &hints, &found)
        guard result == 0, let found, let bytes = found.pointee.ai_addr else {
            throw ListenError(description: "“\(address.host)” is not a numeric address to listen at")
        }
        defer { freeaddrinfo(found) }
        var storage = sockaddr_storage()
        memcpy(&storage, bytes, min(Int(found.pointee.ai_addrlen), MemoryLayout<sockaddr_storage>.size))
        return storage
    }
}

/// libmicrohttpd's daemon, stopped once.
private final class DaemonHandle: Sendable {
    /// The pointer as a number, 0 once it is stopped.
    private let daemon: Mutex<UInt>

    init(_ daemon: OpaquePointer) {
        self.daemon = Mutex(UInt(bitPattern: daemon))
    }

    func stop() {
        let taken = daemon.withLock { address in
            defer { address = 0 }
            return address
        }
        if let pointer = OpaquePointer(bitPattern: taken) { MHD_stop_daemon(pointer) }
    }
}

/// What the callbacks work with; alive as long as the daemon.
private final class ServerContext: Sendable {
    let handler: any RequestHandler
    let watch: ConnectionWatch
    let longestBody: Int64

    init(handler: any RequestHandler, watch: ConnectionWatch, longestBody: Int64) {
        self.handler = handler
        self.watch = watch
        self.longestBody = longestBody
    }

    static func of(_ pointer: UnsafeMutableRawPointer?) -> ServerContext {
        guard let pointer else { preconditionFailure("every callback was given its server") }
        return Unmanaged<ServerContext>.fromOpaque(pointer).takeUnretainedValue()
    }
}

/// One request between its head and its answer; lives on its connection's thread.
private final class ActiveRequest {
    let action: RequestAction
    let connection: Int
    /// Bytes of the body that have come.
    var received: Int64 = 0
    /// The answer was given while the body was still coming.
    var isAnsweredEarly = false

    /// How much of a body that nobody wants is read all the same.
    static let mostDiscarded: Int64 = 4 << 20

    init(action: RequestAction, connection: Int) {
        self.action = action
        self.connection = connection
    }
}

private func handleRequest(
    context: UnsafeMutableRawPointer?, connection: OpaquePointer?, url: UnsafePointer<CChar>?,
    method: UnsafePointer<CChar>?, version: UnsafePointer<CChar>?, data: UnsafePointer<CChar>?,
    size: UnsafeMutablePointer<Int>?, state: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> MHD_Result {
    guard let connection, let url, let method, let size, let state else { return .NO }
    let server = ServerContext.of(context)
    guard let known = state.pointee else {
        return begin(
            connection, server, url: String(cString: url), method: String(cString: method), state: state)
    }
    let request = Unmanaged<ActiveRequest>.fromOpaque(known).takeUnretainedValue()
    if size.pointee > 0 {
        let count = size.pointee
        server.watch.received(count, on: request.connection)
        request.received += Int64(count)
        // Closes the connection.
        if request.received > server.longestBody { return .NO }
        switch request.action {
        case .receive(let sink):
            // Valid until this call returns, as the span is.
            (data ?? url).withMemoryRebound(to: UInt8.self, capacity: count) { bytes in
                sink.receive(Span(_unsafeStart: bytes, count: count))
            }
        case .respond:
            if request.received > ActiveRequest.mostDiscarded { return .NO }
        }
        size.pointee = 0
        return .YES
    }
    server.watch.answering(request.connection)
    let response =
        switch request.action {
        case .receive(let sink): sink.finish()
        case .respond(let response): response
        }
    server.watch.sending(request.connection)
    return queue(response, on: connection)
}

private func begin(
    _ connection: OpaquePointer, _ server: ServerContext, url: String, method: String,
    state: UnsafeMutablePointer<UnsafeMutableRawPointer?>
) -> MHD_Result {
    let id = Int(bitPattern: ingest_mhd_socket_context(connection))
    server.watch.headCame(id)
    let lines = values(of: connection, .HEADER_KIND)
    let headers = lines.reduce(into: [String: String]()) { $0[$1.name.lowercased()] = $1.value }
    let query = values(of: connection, .GET_ARGUMENT_KIND).reduce(into: [String: String]()) {
        $0[$1.name] = $1.value
    }
    let length = headers["content-length"].flatMap { Int64($0) }
    let head = RequestHead(
        method: method, path: url, query: query, headers: headers, contentLength: length, connection: id)
    let badFraming = statusOfFraming(lines.map { ($0.name.lowercased(), $0.value) })
    let action =
        badFraming.map { .respond(ServerResponse(status: $0, headers: [("Connection", "close")])) }
        ?? server.handler.begin(head)
    let request = ActiveRequest(action: action, connection: id)
    state.pointee = Unmanaged.passRetained(request).toOpaque()
    // A body without a sound end, or too long to be thrown away: answer at once and close the connection.
    if case .respond(let response) = action, badFraming != nil || length ?? 0 > ActiveRequest.mostDiscarded {
        server.watch.sending(id)
        request.isAnsweredEarly = true
        return queue(response, on: connection)
    }
    return .YES
}

/// The status of a refusal where it is not certain where the body ends (RFC 9112, section 6.3), else `nil`. A proxy in front
/// may have taken another end; libmicrohttpd takes the end of the connection, and would wait for it.
private func statusOfFraming(_ lines: [(name: String, value: String)]) -> Int? {
    let lengths = lines.filter { $0.name == "content-length" }
    let codings = lines.filter { $0.name == "transfer-encoding" }
    if lengths.count + codings.count > 1 { return 400 }
    if let coding = codings.first, coding.value.lowercased() != "chunked" { return 501 }
    if let length = lengths.first, Int64(length.value) == nil { return 413 }
    return nil
}

/// Closing a socket with unread bytes resets the connection, which may overtake the answer that has just been sent. So
/// what comes is thrown away until the client has read the answer and closes, or the watch cuts it off.
private func linger(_ socket: CInt) {
    shutdown(socket, CInt(SHUT_WR))
    var room = [UInt8](repeating: 0, count: 16384)
    while true {
        var ready = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
        guard poll(&ready, 1, 5000) > 0 else { return }
        let count = room.withUnsafeMutableBytes { recv(socket, $0.baseAddress, $0.count, CInt(MSG_DONTWAIT)) }
        if count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR) { return }
    }
}

private func requestCompleted(
    context: UnsafeMutableRawPointer?, connection: OpaquePointer?,
    state: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, code: MHD_RequestTerminationCode
) {
    guard let pointer = state?.pointee else { return }
    let request = Unmanaged<ActiveRequest>.fromOpaque(pointer).takeRetainedValue()
    state?.pointee = nil
    let watch = ServerContext.of(context).watch
    if request.isAnsweredEarly, code == .REQUEST_TERMINATED_COMPLETED_OK, let connection {
        watch.lingering(request.connection)
        linger(ingest_mhd_socket(connection))
    }
    watch.requestEnded(request.connection)
}

private func connectionChanged(
    context: UnsafeMutableRawPointer?, connection: OpaquePointer?,
    socketContext: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, code: MHD_ConnectionNotificationCode
) {
    guard let connection, let socketContext else { return }
    let server = ServerContext.of(context)
    if code == .CONNECTION_NOTIFY_STARTED {
        // The number of the connection, kept in the pointer itself.
        socketContext.pointee = UnsafeMutableRawPointer(
            bitPattern: server.watch.opened(socket: ingest_mhd_socket(connection)))
    } else {
        server.watch.closed(Int(bitPattern: socketContext.pointee))
    }
}

private func values(of connection: OpaquePointer, _ kind: MHD_ValueKind) -> [(name: String, value: String)] {
    final class Collected { var pairs: [(name: String, value: String)] = [] }
    let collected = Collected()
    MHD_get_connection_values(
        connection, kind,
        { context, _, name, value in
            guard let context, let name else { return .YES }
            let collected = Unmanaged<Collected>.fromOpaque(context).takeUnretainedValue()
            collected.pairs.append((String(cString: name), value.map { String(cString: $0) } ?? ""))
            return .YES
        }, Unmanaged.passUnretained(collected).toOpaque())
    return collected.pairs
}

private func queue(_ response: ServerResponse, on connection: OpaquePointer) -> MHD_Result {
    let made: OpaquePointer?
    switch response.body {
    case .bytes(let bytes):
        var bytes = bytes
        made = bytes.withUnsafeMutableBytes {
            MHD_create_response_from_buffer($0.count, $0.baseAddress, .RESPMEM_MUST_COPY)
        }
    case .file(let slice):
        // libmicrohttpd closes the descriptor with the response.
        guard let number = try? slice.file.descriptor.duplicatedNumber() else { return .NO }
        made = MHD_create_response_from_fd_at_offset64(
            UInt64(slice.count), number, UInt64(slice.range.lowerBound))
        if made == nil { close(number) }
    }
    guard let made else { return .NO }
    defer { MHD_destroy_response(made) }
    for header in response.headers where MHD_add_response_header(made, header.name, header.value) == .NO {
        return .NO
    }
    return MHD_queue_response(connection, UInt32(response.status), made)
}
