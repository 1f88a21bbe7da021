// libcrypto's digests and ISA-L's CRC behind one header.
#ifndef INGEST_CCHECKSUMS_SHIM_H
#define INGEST_CCHECKSUMS_SHIM_H

#include <isa-l/crc.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

/// CRC-32 as zlib and ISO-HDLC define it, continued from `crc` (0 to begin).
static inline uint32_t ingest_crc32(uint32_t crc, const void *_Nullable bytes, uint64_t length) {
    return length == 0 ? crc : crc32_gzip_refl(crc, (const unsigned char *)bytes, length);
}

#endif
