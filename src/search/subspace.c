#include "search/subspace.h"

#include <stdlib.h>

#include "util/memory.h"

/* Maps old numbers to new ones, in order of appearance. */
struct renumbering {
    size_t *new_of; /* SIZE_MAX: none yet */
    size_t count;
};

static struct renumbering renumbering_open(size_t most)
{
    struct renumbering r = {xreallocarray(NULL, most + 1, sizeof *r.new_of), 0};
    for (size_t i = 0; i <= most; i++)
        r.new_of[i] = SIZE_MAX;
    return r;
}

static size_t renumber(struct renumbering *r, size_t old)
{
    if (r->new_of[old] == SIZE_MAX)
        r->new_of[old] = r->count++;
    return r->new_of[old];
}

void subspace_make(const struct search_space *whole, const size_t *members, size_t count, struct search_space *out,
                   struct candidate **candidates)
{
    struct renumbering groups = renumbering_open(whole->group_count);
    struct renumbering configurations = renumbering_open(whole->configuration_count);
    struct renumbering memory_classes = renumbering_open(whole->memory_class_count);
    struct candidate *all = xcalloc(count + 1, sizeof *all);
    for (size_t i = 0; i < count; i++) {
        struct candidate *c = &all[i];
        *c = whole->candidates[members[i]];
        c->group = renumber(&groups, c->group);
        c->configuration = renumber(&configurations, c->configuration);
        c->memory_class = renumber(&memory_classes, c->memory_class);
    }
    *out = *whole;
    out->candidates = *candidates = all;
    out->count = count;
    out->group_count = groups.count;
    out->configuration_count = configurations.count;
    out->memory_class_count = memory_classes.count;
    free(groups.new_of);
    free(configurations.new_of);
    free(memory_classes.new_of);
}
