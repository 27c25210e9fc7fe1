#include "search/walk.h"

#include <stdlib.h>

bool walk_next(struct walk *w, const struct search *s, size_t *candidate, size_t *place)
{
    /* What was forgotten lies behind: one more round finds it. */
    for (size_t seen = 0; seen < s->space->count; seen++) {
        size_t at = (w->next + seen) % s->space->count;
        if (!search_is_open(s, w->order[at]))
            continue;
        w->next = at + 1;
        *candidate = w->order[at];
        *place = at;
        return true;
    }
    return false;
}

void walk_free(void *walk)
{
    struct walk *w = walk;
    if (w)
        free(w->order);
    free(w);
}
