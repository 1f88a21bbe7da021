import CLinux

extension Span<UInt8> {
    /// Where `pattern` first begins at or behind `start`, or `nil` (`memmem(3)`).
    package func firstOffset(of pattern: [UInt8], from start: Int = 0) -> Int? {
        guard start <= count, !pattern.isEmpty else { return nil }
        return withUnsafeBytes { bytes in
            let rest = UnsafeRawBufferPointer(rebasing: bytes[start...])
            let offset = linux_find(rest.baseAddress, UInt64(rest.count), pattern, UInt64(pattern.count))
            return offset < 0 ? nil : start + Int(offset)
        }
    }
}
