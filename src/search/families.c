#include "search/families.h"

#include <stdlib.h>

#include "util/memory.h"

struct family_member {
    size_t family, candidate;
    double micro_batch;
};

static int compare_members(const void *a, const void *b)
{
    const struct family_member *x = a, *y = b;
    if (x->family != y->family)
        return x->family < y->family ? -1 : 1;
    if (x->micro_batch != y->micro_batch)
        return x->micro_batch < y->micro_batch ? -1 : 1;
    return (x->candidate > y->candidate) - (x->candidate < y->candidate);
}

/* Drops families without a member that may be searched. */
static void take_members(struct families *f, const struct family_member *members, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || members[i].family != members[i - 1].family)
            f->first[f->count++] = i;
        f->members[i] = members[i].candidate;
    }
    f->first[f->count] = count;
}

int families_create(const struct search *s, struct families *out, struct error *e)
{
    const struct search_space *space = s->space;
    struct family_member *members = xcalloc(space->count + 1, sizeof *members);
    size_t count = 0;
    bool varies = false;
    *out = (struct families){0};
    for (size_t i = 0; i < space->count; i++) {
        const struct candidate *c = &space->candidates[i];
        if (!s->trials[i].eligible)
            continue;
        varies |= !isnan(c->micro_batch);
        members[count++] = (struct family_member){c->configuration, i, isnan(c->micro_batch) ? 0 : c->micro_batch};
    }
    if (!varies) {
        free(members);
        return error_set(e, ERROR_USAGE,
                         "strategy %s bisects the micro-batch, but no spec has one (micro_batch, mbs or "
                         "train_micro_batch_size_per_gpu)",
                         s->options.strategy);
    }
    qsort(members, count, sizeof *members, compare_members);
    out->members = xcalloc(count + 1, sizeof *out->members);
    out->first = xcalloc(count + 2, sizeof *out->first);
    out->largest_fit = xcalloc(space->memory_class_count + 1, sizeof *out->largest_fit);
    out->smallest_oom = xcalloc(space->memory_class_count + 1, sizeof *out->smallest_oom);
    for (size_t i = 0; i < space->memory_class_count; i++)
        out->largest_fit[i] = out->smallest_oom[i] = NAN;
    take_members(out, members, count);
    free(members);
    return 0;
}

void families_free(struct families *f)
{
    free(f->members);
    free(f->first);
    free(f->largest_fit);
    free(f->smallest_oom);
}

void families_keep_first(struct families *f, const struct search *s)
{
    const struct candidate *all = s->space->candidates;
    size_t kept = 0;
    for (size_t family = 0; family < f->count; family++) {
        size_t first = f->first[family], end = f->first[family + 1];
        f->first[family] = kept;
        for (size_t i = first; i < end; i++)
            if (kept == f->first[family] || all[f->members[kept - 1]].micro_batch != all[f->members[i]].micro_batch)
                f->members[kept++] = f->members[i];
    }
    f->first[f->count] = kept;
}

void families_tell(struct families *f, const struct search *s, size_t candidate)
{
    const struct candidate *c = &s->space->candidates[candidate];
    const struct trial *t = &s->trials[candidate];
    double *fit = &f->largest_fit[c->memory_class], *oom = &f->smallest_oom[c->memory_class];
    if (t->out_of_memory && !(*oom <= c->micro_batch))
        *oom = c->micro_batch;
    if (t->state != TRIAL_FAILED && !(*fit >= c->micro_batch))
        *fit = c->micro_batch;
}

size_t families_size(const struct families *f, size_t family)
{
    return f->first[family + 1] - f->first[family];
}

size_t families_member(const struct families *f, size_t family, size_t at)
{
    return f->members[f->first[family] + at];
}

bool families_too_large(const struct families *f, const struct search *s, size_t candidate)
{
    const struct candidate *c = &s->space->candidates[candidate];
    return c->micro_batch >= f->smallest_oom[c->memory_class];
}

size_t families_at_most(const struct families *f, const struct search *s, size_t family, double micro_batch)
{
    size_t at = families_size(f, family);
    while (at > 0 && !(s->space->candidates[families_member(f, family, at - 1)].micro_batch <= micro_batch))
        at--;
    return at ? at - 1 : SIZE_MAX;
}

size_t families_estimate(const struct families *f, const struct search *s, size_t family, double factor)
{
    size_t last = families_size(f, family) - 1, at = last;
    const struct candidate *all = s->space->candidates;
    while (at > 0 && all[families_member(f, family, at)].oom_probability > 0.5)
        at--;
    size_t scaled = families_at_most(f, s, family, factor * all[families_member(f, family, at)].micro_batch);
    return scaled == SIZE_MAX ? 0 : scaled;
}
