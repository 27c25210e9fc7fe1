/* Sets of 128-bit hashes. One of 32 bytes per member at most: */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/hash.h"

struct hash_set {
    struct hash128 *slots; /* all zero: free */
    size_t capacity;       /* a power of two, or 0 */
    size_t count;
    bool has_zero; /* whether the all-zero hash is a member */
};

#define HASH_SET_INIT ((struct hash_set){NULL, 0, 0, false})

/* Adds; false when it was there already. */
bool hash_set_add(struct hash_set *s, const struct hash128 *hash);
bool hash_set_has(const struct hash_set *s, const struct hash128 *hash);
void hash_set_free(struct hash_set *s);

/* One that numbers its members from 0 in the order in which they come: 24 to 32 bytes per member. */
struct hash_index {
    struct hash128 *members;
    size_t count;
    uint32_t *slots; /* member + 1; 0: free */
    size_t slot_count;
};

#define HASH_INDEX_INIT ((struct hash_index){NULL, 0, NULL, 0})

/* Its number; `*is_new` (may be NULL): it got it now. */
size_t hash_index_add(struct hash_index *x, const struct hash128 *hash, bool *is_new);
void hash_index_free(struct hash_index *x);
