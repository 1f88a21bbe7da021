/// How a file is cut into blocks (contract of the block protocol): block k of 1 … totalCount holds the bytes from
/// (k − 1) · blockSize; the last one is what remains, never empty; a file of 0 bytes has no block.
package struct BlockPlan: Hashable, Sendable {
    package let fileSize: ByteCount
    package let blockSize: ByteCount

    /// Fails for a block size of 0.
    package init?(fileSize: ByteCount, blockSize: ByteCount) {
        guard blockSize.value > 0 else { return nil }
        self.fileSize = fileSize
        self.blockSize = blockSize
    }

    package var totalCount: Int64 {
        fileSize.value / blockSize.value + (fileSize.value % blockSize.value == 0 ? 0 : 1)
    }

    /// The bytes of block `number`, or `nil` if there is no such block.
    package func range(ofBlock number: Int64) -> Range<Int64>? {
        guard number >= 1, number <= totalCount else { return nil }
        let start = (number - 1) * blockSize.value
        return start..<(start + min(blockSize.value, fileSize.value - start))
    }

    /// How many bytes the first `count` blocks hold.
    package func bytes(inFirst count: Int64) -> ByteCount {
        guard count > 0 else { return ByteCount(0) }
        return count >= totalCount ? fileSize : ByteCount(count * blockSize.value)
    }
}
