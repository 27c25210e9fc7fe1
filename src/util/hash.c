#include "util/hash.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "util/memory.h"

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

/* --- numbered --- */

/* The slot of that hash, or the free one where it belongs. The hash is uniform: its first bytes are the index. */
static uint32_t *find_slot(const struct hash_index *x, const struct hash128 *hash)
{
    size_t i;
    memcpy(&i, hash->bytes, sizeof i);
    for (i &= x->slot_count - 1; x->slots[i]; i = (i + 1) & (x->slot_count - 1))
        if (memcmp(&x->members[x->slots[i] - 1], hash, sizeof *hash) == 0)
            break;
    return &x->slots[i];
}

static void make_room(struct hash_index *x)
{
    if (2 * (x->count + 1) <= x->slot_count)
        return;
    x->slot_count = x->slot_count ? 2 * x->slot_count : 64;
    free(x->slots);
    x->slots = xcalloc(x->slot_count, sizeof *x->slots);
    for (size_t i = 0; i < x->count; i++)
        *find_slot(x, &x->members[i]) = (uint32_t)i + 1;
}

size_t hash_index_add(struct hash_index *x, const struct hash128 *hash, bool *is_new)
{
    make_room(x);
    uint32_t *slot = find_slot(x, hash);
    if (is_new)
        *is_new = *slot == 0;
    if (*slot == 0) {
        *array_add(x->members, x->count) = *hash;
        *slot = (uint32_t)x->count;
    }
    return *slot - 1;
}

bool hash_index_takes(struct hash_index *x, const struct hash128 *hash)
{
    const size_t before = x->count;
    return hash_index_add(x, hash, NULL) == before;
}

bool hash_index_has(const struct hash_index *x, const struct hash128 *hash)
{
    return x->count > 0 && *find_slot(x, hash);
}

void hash_index_free(struct hash_index *x)
{
    free_all(x->members, x->slots);
    *x = HASH_INDEX_INIT;
}

/* --- numbers by hashes --- */

bool hash_map_get(const struct hash_map *m, const struct hash128 *hash, int64_t *number)
{
    if (!hash_index_has(&m->known, hash))
        return false;
    *number = m->numbers[*find_slot(&m->known, hash) - 1];
    return true;
}

void hash_map_put(struct hash_map *m, const struct hash128 *hash, int64_t number)
{
    if (m->known.count == HASH_MAP_MOST)
        hash_index_free(&m->known);
    m->numbers = array_grow(m->numbers, m->known.count, sizeof *m->numbers);
    m->numbers[hash_index_add(&m->known, hash, NULL)] = number;
}

void hash_map_free(struct hash_map *m)
{
    hash_index_free(&m->known);
    free(m->numbers);
    *m = HASH_MAP_INIT;
}
