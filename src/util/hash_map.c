#include "util/hash_map.h"

#include <stdlib.h>
#include <string.h>

#include "util/memory.h"

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

static void grow(struct hash_map *m)
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
        grow(m);
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
