import HTTPServer
import IngestModel
import SystemIO

/// A finished file as an answer, whole or in a range (RFC 9110, section 14).
package enum FileResponse {
    static func make(_ file: SharedDescriptor, name: String, range: String?) throws(SystemError) -> ServerResponse {
        let size = try file.descriptor.status().size.value
        var headers: [(name: String, value: String)] = [
            ("Content-Type", "application/octet-stream"),
            ("X-Content-Type-Options", "nosniff"),
            ("Content-Disposition", "attachment"),
            ("Accept-Ranges", "bytes"),
        ]
        switch requested(range, size: size) {
        case .whole:
            return ServerResponse(
                status: 200, headers: headers, body: .file(FileSlice(file: file, range: 0..<size)))
        case .part(let part):
            headers.append(("Content-Range", "bytes \(part.lowerBound)-\(part.upperBound - 1)/\(size)"))
            return ServerResponse(status: 206, headers: headers, body: .file(FileSlice(file: file, range: part)))
        case .unsatisfiable:
            headers.append(("Content-Range", "bytes */\(size)"))
            return ServerResponse(status: 416, headers: headers)
        }
    }

    package enum Requested: Equatable {
        case whole
        case part(Range<Int64>)
        case unsatisfiable
    }

    /// What a `Range` header asks for. Several ranges, other units and what is malformed get the whole file, as the
    /// standard allows.
    package static func requested(_ header: String?, size: Int64) -> Requested {
        guard let header, header.lowercased().hasPrefix("bytes=") else { return .whole }
        let specification = header.dropFirst("bytes=".count).filter { $0 != " " }
        let ends = specification.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        guard ends.count == 2, !specification.contains(",") else { return .whole }
        if ends[0].isEmpty {
            guard let count = BlockWire.number(String(ends[1])) else { return .whole }
            return count == 0 || size == 0 ? .unsatisfiable : .part(max(0, size - count)..<size)
        }
        guard let first = BlockWire.number(String(ends[0])) else { return .whole }
        var end = size
        if !ends[1].isEmpty {
            guard let last = BlockWire.number(String(ends[1])), last >= first else { return .whole }
            end = last < size ? last + 1 : size
        }
        return first < size ? .part(first..<end) : .unsatisfiable
    }
}
