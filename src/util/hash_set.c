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
