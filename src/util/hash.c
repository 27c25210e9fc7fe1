#include "util/hash.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

struct hash128 hash_bytes(const void *bytes, size_t length)
{
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes, length));
    struct hash128 out;
    memcpy(out.bytes, canonical.digest, sizeof out.bytes);
    return out;
}

char *hash_hex(const struct hash128 *hash, char out[HASH_HEX_BYTES])
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < sizeof hash->bytes; i++) {
        out[2 * i] = digits[hash->bytes[i] >> 4];
        out[2 * i + 1] = digits[hash->bytes[i] & 15];
    }
    out[HASH_HEX_BYTES - 1] = '\0';
    return out;
}

struct hash128 hash_from_prefix(const char *digits, bool last)
{
    struct hash128 out;
    char hex[HASH_HEX_BYTES];
    memset(hex, last ? 'f' : '0', sizeof hex);
    memcpy(hex, digits, strnlen(digits, sizeof hex - 1));
    for (size_t i = 0; i < sizeof out.bytes; i++) {
        const char pair[] = {hex[2 * i], hex[2 * i + 1], '\0'};
        out.bytes[i] = (unsigned char)strtoul(pair, NULL, 16);
    }
    return out;
}
