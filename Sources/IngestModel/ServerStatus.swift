/// What an HTTP status means for an upload, whatever the protocol: what no protocol gives a meaning of its own.
package enum ServerStatus {
    /// - Parameters:
    ///   - status: not of success.
    ///   - detail: what the server said besides, as the end of a sentence; empty for nothing.
    ///   - retryAfter: seconds that it asks to wait.
    /// - Returns: the fault, in words.
    package static func fault(_ status: Int, detail: String, retryAfter: Double?) -> Fault {
        switch status {
        case 507:
            Fault(.farSideFull, "the destination has no space left\(detail)", retry: .later(after: retryAfter))
        case 408, 423, 425, 429, 500...599:
            Fault(.busy, "the destination answered \(status)\(detail)", retry: .later(after: retryAfter))
        case 300..<400:
            Fault(
                .redirected,
                "the destination redirects (\(status)) in a way that would lose the data; give the address that it redirects "
                    + "to with --to")
        default: Fault(.refused, "the destination refused it (\(status))\(detail)")
        }
    }

    /// 401 or 403 again, after the credentials were read anew.
    static func notAccepted(_ status: Int, detail: String, remedy: String) -> Fault {
        Fault(.credentials, "the destination does not accept the token (\(status))\(detail); \(remedy)")
    }
}
