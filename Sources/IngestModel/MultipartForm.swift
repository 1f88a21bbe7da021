/// A `multipart/form-data` body (RFC 7578) of text fields and, last, one file part: what stands before the file's
/// bytes and what stands behind them.
package struct MultipartForm: Hashable, Sendable {
    package let boundary: String
    package let head: [UInt8]
    package let tail: [UInt8]

    package var contentType: String { "multipart/form-data; boundary=\(boundary)" }

    /// - Parameters:
    ///   - fields: names and values of the text fields, in order.
    ///   - fileField: the name of the part that carries the file's bytes.
    ///   - fileName: the file's name; quotes and line ends are percent-encoded as browsers do.
    ///   - boundary: the boundary; must not occur in the file's bytes, so it is long and random.
    package init(fields: [(name: String, value: String)], fileField: String, fileName: String, boundary: String) {
        self.boundary = boundary
        var text = ""
        for field in fields {
            text += "--\(boundary)\r\nContent-Disposition: form-data; name=\"\(Self.escaped(field.name))\"\r\n\r\n"
            text += field.value + "\r\n"
        }
        text += "--\(boundary)\r\nContent-Disposition: form-data; name=\"\(Self.escaped(fileField))\"; "
        text += "filename=\"\(Self.escaped(fileName))\"\r\nContent-Type: application/octet-stream\r\n\r\n"
        head = Array(text.utf8)
        tail = Array("\r\n--\(boundary)--\r\n".utf8)
    }

    /// As the HTML standard wants it: `"`, CR and LF as `%22`, `%0D`, `%0A`; other control characters likewise.
    private static func escaped(_ text: String) -> String {
        var out = ""
        for scalar in text.unicodeScalars {
            if scalar == "\"" || scalar.value < 0x20 || scalar.value == 0x7F {
                out += "%" + Hex.text([UInt8(scalar.value)]).uppercased()
            } else {
                out.unicodeScalars.append(scalar)
            }
        }
        return out
    }
}
