/* Numbers by 128-bit hashes in bounded space: a cache of values that can be computed again. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/hash.h"

/* Beyond so many, a number takes the place of another one. 24 MiB. */
#define HASH_MAP_MOST (1U << 19)

struct hash_map_entry {
    struct hash128 hash; /* all zero: free */
    int64_t number;
};

struct hash_map {
    struct hash_map_entry *entries;
    size_t room; /* a power of two, or 0 */
    size_t count;
};

#define HASH_MAP_INIT ((struct hash_map){NULL, 0, 0})

bool hash_map_get(const struct hash_map *m, const struct hash128 *hash, int64_t *number);
void hash_map_put(struct hash_map *m, const struct hash128 *hash, int64_t number);
void hash_map_free(struct hash_map *m);
