#include "compare/texts.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "util/hash.h"
#include "util/memory.h"

/* The slot of the text, or the free slot where it belongs. At most half of the slots are used. */
static size_t find_slot(const struct texts *t, const char *text)
{
    const struct hash128 hash = hash_bytes(text, strlen(text));
    size_t at;
    memcpy(&at, hash.bytes, sizeof at);
    at &= t->room - 1;
    while (t->places[at] && strcmp(t->items[t->places[at] - 1], text) != 0)
        at = (at + 1) & (t->room - 1);
    return at;
}

static void grow(struct texts *t)
{
    t->room = t->room ? 2 * t->room : 256;
    free(t->places);
    t->places = xcalloc(t->room, sizeof *t->places);
    for (size_t i = 0; i < t->count; i++)
        t->places[find_slot(t, t->items[i])] = (uint32_t)i + 1;
}

uint32_t texts_number(struct texts *t, const char *text)
{
    if (2 * (t->count + 1) > t->room)
        grow(t);
    size_t at = find_slot(t, text);
    if (!t->places[at]) {
        assert(t->count < UINT32_MAX - 1);
        *array_add(t->items, t->count) = xstrdup(text);
        t->places[at] = (uint32_t)t->count;
    }
    return t->places[at] - 1;
}

void texts_free(struct texts *t)
{
    for (size_t i = 0; i < t->count; i++)
        free(t->items[i]);
    free_all(t->items, t->places);
    *t = TEXTS_INIT;
}
