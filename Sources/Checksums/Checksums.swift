import CChecksums
package import IngestModel

/// CRC-32 (zlib, ISO-HDLC), taken piece by piece.
package struct CRC32: Sendable {
    private var register: UInt32 = 0

    package init() {}

    package mutating func update(_ bytes: Span<UInt8>) {
        register = bytes.withUnsafeBytes { ingest_crc32(register, $0.baseAddress, UInt64($0.count)) }
    }

    /// Of everything so far; more may follow.
    package var value: CRC32Value { CRC32Value(register) }
}

/// A digest of libcrypto, taken piece by piece. It uses the processor's instructions where it has them.
@safe
struct RunningDigest: ~Copyable {
    private let context: OpaquePointer

    init(_ kind: MessageDigest) {
        let method = kind == .sha1 ? EVP_sha1() : EVP_sha256()
        guard let context = EVP_MD_CTX_new(), EVP_DigestInit_ex(context, method, nil) == 1 else {
            // Only memory can be missing here.
            preconditionFailure("libcrypto cannot begin a digest")
        }
        self.context = context
    }

    deinit {
        EVP_MD_CTX_free(context)
    }

    mutating func update(_ bytes: Span<UInt8>) {
        bytes.withUnsafeBytes { buffer in
            guard EVP_DigestUpdate(context, buffer.baseAddress, buffer.count) == 1 else {
                preconditionFailure("libcrypto cannot continue a digest")
            }
        }
    }

    consuming func finish() -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var count: UInt32 = 0
        guard EVP_DigestFinal_ex(context, &bytes, &count) == 1 else {
            preconditionFailure("libcrypto cannot end a digest")
        }
        return Array(bytes.prefix(Int(count)))
    }
}

/// SHA-256 (FIPS 180-4), taken piece by piece.
package struct SHA256: ~Copyable {
    private var digest = RunningDigest(.sha256)

    package init() {}

    package mutating func update(_ bytes: Span<UInt8>) {
        digest.update(bytes)
    }

    package consuming func finish() -> SHA256Digest {
        guard let value = SHA256Digest(bytes: digest.finish()) else {
            preconditionFailure("a SHA-256 has 32 bytes")
        }
        return value
    }

    package static func digest(of bytes: [UInt8]) -> SHA256Digest {
        var hash = SHA256()
        hash.update(bytes.span)
        return hash.finish()
    }
}

/// Secrets: made and compared.
package enum Secret {
    /// `count` bytes from the system's random number generator.
    package static func randomBytes(count: Int) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    }

    /// Compares in a time that depends on the lengths only.
    package static func isEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        left.count == right.count && CRYPTO_memcmp(left, right, left.count) == 0
    }
}
