package import IngestModel
package import SystemIO

extension CRC32 {
    /// The CRC-32 of a range of a file, read in pieces; `nil` where the file ends before the range does.
    package static func value(
        of range: Range<Int64>, in file: borrowing FileDescriptor
    ) throws(SystemError) -> CRC32Value? {
        var crc = CRC32()
        var position = range.lowerBound
        var bytes: [UInt8] = []
        repeat {
            bytes = try file.read(at: position, count: Int(min(1 << 20, range.upperBound - position)))
            crc.update(bytes.span)
            position += Int64(bytes.count)
        } while position < range.upperBound && !bytes.isEmpty
        return position == range.upperBound ? crc.value : nil
    }
}

/// Digests that protocols ask for by name.
package enum MessageDigest: Sendable {
    case sha1, sha256

    /// Of a range of a file, read in pieces; `nil` where the file ends before the range does.
    package func value(of range: Range<Int64>, in file: borrowing FileDescriptor) throws(SystemError) -> [UInt8]? {
        var hash = RunningDigest(self)
        var position = range.lowerBound
        while position < range.upperBound {
            let bytes = try file.read(at: position, count: Int(min(1 << 20, range.upperBound - position)))
            if bytes.isEmpty { return nil }
            hash.update(bytes.span)
            position += Int64(bytes.count)
        }
        return hash.finish()
    }
}
