#include "search/numbering.h"

#include <stdlib.h>

#include "util/memory.h"

void numbering_open(struct numbering *n, size_t most)
{
    n->room = 16;
    while (n->room < 2 * most)
        n->room *= 2;
    n->hashes = xcalloc(n->room, sizeof *n->hashes);
    n->numbers = xcalloc(n->room, sizeof *n->numbers);
    for (size_t i = 0; i < n->room; i++)
        n->numbers[i] = SIZE_MAX;
}

void numbering_close(struct numbering *n)
{
    free(n->hashes);
    free(n->numbers);
    *n = (struct numbering){0};
}

size_t numbering_find(struct numbering *n, uint64_t hash)
{
    size_t at = hash & (n->room - 1);
    while (n->numbers[at] != SIZE_MAX && n->hashes[at] != hash)
        at = (at + 1) & (n->room - 1);
    if (n->numbers[at] == SIZE_MAX) {
        n->hashes[at] = hash;
        n->numbers[at] = n->count++;
    }
    return n->numbers[at];
}
