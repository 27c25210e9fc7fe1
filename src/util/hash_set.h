/* A set of 128-bit hashes: 32 bytes per member at most. */
#ifndef MESHSWEEP_UTIL_HASH_SET_H
#define MESHSWEEP_UTIL_HASH_SET_H

#include <stdbool.h>
#include <stddef.h>

#include "util/hash.h"

struct hash_set {
    struct hash128 *slots; /* all zero: free */
    size_t capacity;       /* a power of two, or 0 */
    size_t count;
    bool has_zero; /* whether the all-zero hash is a member */
};

#define HASH_SET_INIT                                                                                                  \
    {                                                                                                                  \
        NULL, 0, 0, false                                                                                              \
    }

/* Adds; false when it was there already. */
bool hash_set_add(struct hash_set *s, const struct hash128 *hash);
bool hash_set_has(const struct hash_set *s, const struct hash128 *hash);
void hash_set_free(struct hash_set *s);

#endif
