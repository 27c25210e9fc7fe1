/* XXH3-128, the identity of specs and jobs. Not for secrets. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hash128 {
    unsigned char bytes[16]; /* big-endian canonical form, the same on every machine */
};

#define HASH_HEX_BYTES 33 /* 32 digits and the NUL */

struct hash128 hash_bytes(const void *bytes, size_t length);
char *hash_hex(const struct hash128 *hash, char out[HASH_HEX_BYTES]);

/* The first hash whose hexadecimal digits begin with these (32 at most), or the last one. */
struct hash128 hash_from_prefix(const char *digits, bool last);
