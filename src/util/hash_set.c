#include "util/hash_set.h"

#include <stdlib.h>
#include <string.h>

#include "util/memory.h"

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

static void grow(struct hash_set *s)
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
        grow(s);
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
    *s = (struct hash_set)HASH_SET_INIT;
}
