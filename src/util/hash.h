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

/* --- numbered --- */

/* A set that numbers its members from 0 in the order in which they come: 24 to 32 bytes per member. */
struct hash_index {
    struct hash128 *members;
    size_t count;
    uint32_t *slots; /* member + 1; 0: free */
    size_t slot_count;
};

#define HASH_INDEX_INIT ((struct hash_index){NULL, 0, NULL, 0})

/* Its number; `*is_new` (may be NULL): it got it now. */
size_t hash_index_add(struct hash_index *x, const struct hash128 *hash, bool *is_new);
/* Adds; false when it was there already. */
bool hash_index_takes(struct hash_index *x, const struct hash128 *hash);
bool hash_index_has(const struct hash_index *x, const struct hash128 *hash);
void hash_index_free(struct hash_index *x);

/* --- numbers by hashes --- */

/* In bounded space: a cache of values that can be computed again. Beyond so many all are forgotten. 24 MiB. */
#define HASH_MAP_MOST (1U << 19)

struct hash_map {
    struct hash_index known;
    int64_t *numbers; /* of these */
};

#define HASH_MAP_INIT ((struct hash_map){HASH_INDEX_INIT, NULL})

bool hash_map_get(const struct hash_map *m, const struct hash128 *hash, int64_t *number);
void hash_map_put(struct hash_map *m, const struct hash128 *hash, int64_t number);
void hash_map_free(struct hash_map *m);
