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

/* --- sets of hashes --- */

static const struct hash128 zero;

static bool is_zero(const struct hash128 *h)
{
    return memcmp(h, &zero, sizeof zero) == 0;
}

/* The slot that holds it, or the free one where it belongs. The hash is uniform: its first bytes are the index. */
static struct hash128 *find_slot(const struct hash_set *s, const struct hash128 *hash)
{
    size_t i;
    memcpy(&i, hash->bytes, sizeof i);
    for (i &= s->capacity - 1; !is_zero(&s->slots[i]); i = (i + 1) & (s->capacity - 1))
        if (memcmp(&s->slots[i], hash, sizeof *hash) == 0)
            break;
    return &s->slots[i];
}

static void set_grow(struct hash_set *s)
{
    struct hash_set larger = {NULL, s->capacity ? s->capacity * 2 : 1024, s->count, s->has_zero};
    larger.slots = xcalloc(larger.capacity, sizeof *larger.slots);
    for (size_t i = 0; i < s->capacity; i++)
        if (!is_zero(&s->slots[i]))
            *find_slot(&larger, &s->slots[i]) = s->slots[i];
    free(s->slots);
    *s = larger;
}

bool hash_set_add(struct hash_set *s, const struct hash128 *hash)
{
    if (is_zero(hash)) {
        bool added = !s->has_zero;
        s->has_zero = true;
        s->count += added;
        return added;
    }
    if (s->count + s->count / 4 + 1 >= s->capacity)
        set_grow(s);
    struct hash128 *slot = find_slot(s, hash);
    if (!is_zero(slot))
        return false;
    *slot = *hash;
    s->count++;
    return true;
}

bool hash_set_has(const struct hash_set *s, const struct hash128 *hash)
{
    if (is_zero(hash))
        return s->has_zero;
    return s->capacity > 0 && !is_zero(find_slot(s, hash));
}

void hash_set_free(struct hash_set *s)
{
    free(s->slots);
    *s = HASH_SET_INIT;
}

/* --- with numbers --- */

/* The slot of that hash, or the free one where it belongs. The hash is uniform: its first bytes are the index. */
static uint32_t *find_number(const struct hash_index *x, const struct hash128 *hash)
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
        *find_number(x, &x->members[i]) = (uint32_t)i + 1;
}

size_t hash_index_add(struct hash_index *x, const struct hash128 *hash, bool *is_new)
{
    make_room(x);
    uint32_t *slot = find_number(x, hash);
    if (is_new)
        *is_new = *slot == 0;
    if (*slot == 0) {
        *array_add(x->members, x->count) = *hash;
        *slot = (uint32_t)x->count;
    }
    return *slot - 1;
}

void hash_index_free(struct hash_index *x)
{
    free(x->members);
    free(x->slots);
    *x = HASH_INDEX_INIT;
}

/* --- numbers by hashes --- */

static const struct hash128 zero;

static bool is_equal(const struct hash128 *a, const struct hash128 *b)
{
    return memcmp(a->bytes, b->bytes, sizeof a->bytes) == 0;
}

/* Returns the entry with the hash, or the free place where it belongs. At most half of the places are taken. */
static struct hash_map_entry *find_entry(const struct hash_map *m, const struct hash128 *hash)
{
    size_t at;
    memcpy(&at, hash->bytes, sizeof at);
    at &= m->room - 1;
    while (!is_equal(&m->entries[at].hash, hash) && !is_equal(&m->entries[at].hash, &zero))
        at = (at + 1) & (m->room - 1);
    return &m->entries[at];
}

static void map_grow(struct hash_map *m)
{
    struct hash_map larger = {NULL, m->room ? 2 * m->room : 256, m->count};
    larger.entries = xcalloc(larger.room, sizeof *larger.entries);
    for (size_t i = 0; i < m->room; i++)
        if (!is_equal(&m->entries[i].hash, &zero))
            *find_entry(&larger, &m->entries[i].hash) = m->entries[i];
    free(m->entries);
    *m = larger;
}

bool hash_map_get(const struct hash_map *m, const struct hash128 *hash, int64_t *number)
{
    const struct hash_map_entry *entry = m->room ? find_entry(m, hash) : NULL;
    if (!entry || !is_equal(&entry->hash, hash))
        return false;
    *number = entry->number;
    return true;
}

/* Returns where a full map keeps it: the place that its hash asks for, taken or not. */
static struct hash_map_entry *displace(const struct hash_map *m, const struct hash128 *hash)
{
    size_t at;
    struct hash_map_entry *entry = find_entry(m, hash);
    if (is_equal(&entry->hash, hash))
        return entry;
    memcpy(&at, hash->bytes, sizeof at);
    entry = &m->entries[at & (m->room - 1)];
    /* A free place must not be taken, nor one emptied in the middle of a run. */
    return is_equal(&entry->hash, &zero) ? NULL : entry;
}

void hash_map_put(struct hash_map *m, const struct hash128 *hash, int64_t number)
{
    bool is_full = m->count >= HASH_MAP_MOST;
    if (2 * (m->count + 1) > m->room && !is_full)
        map_grow(m);
    struct hash_map_entry *entry = is_full ? displace(m, hash) : find_entry(m, hash);
    if (!entry)
        return;
    m->count += !is_full && is_equal(&entry->hash, &zero);
    *entry = (struct hash_map_entry){*hash, number};
}

void hash_map_free(struct hash_map *m)
{
    free(m->entries);
    *m = HASH_MAP_INIT;
}
