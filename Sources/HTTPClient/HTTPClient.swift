import CCurl
import Glibc
import Synchronization
import SystemIO

/// HTTP over libcurl's multi interface: one thread drives all transfers, connections are kept alive between them.
///
/// The thread ends when the client is let go; transfers still under way then fail as cancelled.
package final class HTTPClient: Sendable {
    private let loop: TransferLoop

    package init(proxies: ProxySettings) {
        loop = TransferLoop(proxies: proxies)
        loop.start()
    }

    deinit {
        loop.submit(.stop)
    }

    /// Sends the request and waits for the answer, whatever its status.
    ///
    /// - Throws: `HTTPClientError`; `.cancelled` when the task is cancelled.
    package func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        let id = loop.nextID()
        let cancelled = StopFlag()
        defer { withExtendedLifetime(self) {} }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                loop.submit(.start(id, request, cancelled, continuation))
            }
        } onCancel: {
            // The flag is for a cancellation that overtakes the start.
            cancelled.set()
            loop.submit(.cancel(id))
        }
    }

    /// Resolves what a `Location` header says against the URL of the request (RFC 3986). `nil` for what is no URL.
    package static func resolve(_ reference: String, against base: String) -> String? {
        guard let url = curl_url() else { return nil }
        defer { curl_url_cleanup(url) }
        guard curl_url_set(url, CURLUPART_URL, base, 0) == CURLUE_OK,
            curl_url_set(url, CURLUPART_URL, reference, 0) == CURLUE_OK
        else { return nil }
        var text: UnsafeMutablePointer<CChar>?
        guard curl_url_get(url, CURLUPART_URL, &text, 0) == CURLUE_OK, let text else { return nil }
        defer { curl_free(text) }
        return String(cString: text)
    }
}

/// The thread that owns libcurl's multi handle, and the queue of what others ask of it.
///
/// `@unchecked`: `transfers` is touched by the thread only; `multi` is used by others for
/// `curl_multi_wakeup` alone, which libcurl allows from any thread (its manual page says so).
private final class TransferLoop: @unchecked Sendable {
    enum Command: Sendable {
        case start(Int, HTTPRequest, StopFlag, CheckedContinuation<HTTPResponse, any Error>)
        case cancel(Int)
        case stop
    }

    private let multi: UnsafeMutableRawPointer
    private let proxies: ProxySettings
    private let commands = Mutex<[Command]>([])
    private let counter = Atomic<Int>(0)
    private var transfers: [Int: Transfer] = [:]

    private static let globalInitialisation: Void = {
        // With CURLOPT_NOSIGNAL libcurl leaves this to the program.
        ThisProcess.ignoreBrokenPipes()
        guard ingest_curl_global_init() == CURLE_OK else { preconditionFailure("libcurl cannot be initialised") }
    }()

    init(proxies: ProxySettings) {
        Self.globalInitialisation
        guard let multi = curl_multi_init() else { preconditionFailure("libcurl has no memory") }
        self.multi = multi
        self.proxies = proxies
    }

    deinit {
        curl_multi_cleanup(multi)
    }

    func nextID() -> Int { counter.add(1, ordering: .relaxed).newValue }

    func submit(_ command: Command) {
        commands.withLock { $0.append(command) }
        curl_multi_wakeup(multi)
    }

    func start() {
        Thread.detach { self.run() }
    }

    private func run() {
        while true {
            let pending = commands.withLock { queue in
                defer { queue = [] }
                return queue
            }
            for command in pending where !obey(command) { return }
            resumePaused()
            var running: CInt = 0
            curl_multi_perform(multi, &running)
            collectFinished()
            failStalled()
            curl_multi_poll(multi, nil, 0, timeout(), nil)
        }
    }

    /// `false` ends the loop.
    private func obey(_ command: Command) -> Bool {
        switch command {
        case .start(let id, let request, let cancelled, let continuation):
            if cancelled.isSet {
                continuation.resume(throwing: HTTPClientError.cancelled)
                return true
            }
            do {
                let transfer = try Transfer(id: id, request: request, proxies: proxies, continuation: continuation)
                transfers[id] = transfer
                curl_multi_add_handle(multi, transfer.handle)
            } catch {
                continuation.resume(throwing: error)
            }
        case .cancel(let id):
            guard let transfer = transfers[id] else { return true }
            remove(transfer)
            transfer.fail(.cancelled)
        case .stop:
            for transfer in transfers.values {
                curl_multi_remove_handle(multi, transfer.handle)
                transfer.fail(.cancelled)
            }
            transfers = [:]
            return false
        }
        return true
    }

    private func remove(_ transfer: Transfer) {
        curl_multi_remove_handle(multi, transfer.handle)
        transfers[transfer.id] = nil
    }

    private func resumePaused() {
        for transfer in transfers.values {
            if let delay = transfer.resumesIn, delay <= 0.001 { transfer.resume() }
        }
    }

    private func collectFinished() {
        var left: CInt = 0
        while let message = curl_multi_info_read(multi, &left) {
            guard message.pointee.msg == CURLMSG_DONE else { continue }
            let result = ingest_curl_message_result(message)
            var context: UnsafeMutableRawPointer?
            ingest_curl_get_context(message.pointee.easy_handle, &context)
            let transfer = Transfer.of(context)
            remove(transfer)
            transfer.finish(result)
        }
    }

    private func failStalled() {
        let now = SteadyClock.now
        for transfer in transfers.values {
            guard let error = transfer.isStalled(now: now) else { continue }
            remove(transfer)
            transfer.fail(error)
        }
    }

    /// Milliseconds to sleep at most; libcurl wakes up for its own sockets and timers.
    private func timeout() -> CInt {
        let resumption = transfers.values.compactMap { $0.resumesIn }.min() ?? 1
        return CInt(max(1, min(1000, (resumption * 1000).rounded(.up))))
    }
}
