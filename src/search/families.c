#include <stdlib.h>

#include "search/state.h"
#include "util/hash_set.h"
#include "util/memory.h"
#include "util/rng.h"

/* --- orders --- */

static int compare_ranks(const void *a, const void *b)
{
    const struct rank *x = a, *y = b;
    double own = isnan(x->merit) ? -INFINITY : x->merit, other = isnan(y->merit) ? -INFINITY : y->merit;
    if (own != other)
        return own > other ? -1 : 1;
    if (x->draw != y->draw)
        return x->draw < y->draw ? -1 : 1;
    return (x->item > y->item) - (x->item < y->item);
}

size_t *ranked(struct rank *ranks, size_t count)
{
    size_t *items = xcalloc(count + 1, sizeof *items);
    if (count > 0)
        qsort(ranks, count, sizeof *ranks, compare_ranks);
    for (size_t i = 0; i < count; i++)
        items[i] = ranks[i].item;
    free(ranks);
    return items;
}

size_t *search_order(const struct search *s, enum search_order order)
{
    uint64_t seed = (uint64_t)search_number(s, SEARCH_RANDOM_SEED);
    struct rank *ranks = xcalloc(s->space->count + 1, sizeof *ranks);
    for (size_t i = 0; i < s->space->count; i++) {
        const struct candidate *c = &s->space->candidates[i];
        ranks[i] = (struct rank){i, order == SEARCH_ORDER_PREDICTED ? search_predicted_log(s->space, c) : 0,
                                 order == SEARCH_ORDER_SHUFFLED ? rng_at(seed, c->identity) : 0};
    }
    return ranked(ranks, s->space->count);
}

/* --- families --- */

int families_create(struct search *s, struct error *e)
{
    const struct search_space *space = s->space;
    struct families *out = &s->families;
    struct rank *ranks = xcalloc(space->count + 1, sizeof *ranks);
    size_t count = 0;
    bool varies = false;
    for (size_t i = 0; i < space->count; i++) {
        double micro_batch = space->candidates[i].micro_batch;
        varies |= s->trials[i].eligible && !isnan(micro_batch);
        if (s->trials[i].eligible)
            ranks[count++] = (struct rank){i, isnan(micro_batch) ? 0 : -micro_batch, 0};
    }
    if (!varies) {
        free(ranks);
        return error_set(e, ERROR_USAGE,
                         "strategy %s bisects the micro-batch, but no spec has one (micro_batch, mbs or "
                         "train_micro_batch_size_per_gpu)",
                         s->options.strategy);
    }
    /* By micro-batch first; then into their families, whose number of members tells where each begins. */
    OWNED size_t *by_size = ranked(ranks, count), *first = xcalloc(space->configuration_count + 2, sizeof *first);
    out->members = xcalloc(count + 1, sizeof *out->members);
    for (size_t i = 0; i < count; i++)
        first[space->candidates[by_size[i]].configuration + 1]++;
    for (size_t c = 0; c < space->configuration_count; c++)
        first[c + 1] += first[c];
    out->first = xcalloc(space->configuration_count + 2, sizeof *out->first);
    for (size_t c = 0; c < space->configuration_count; c++)
        if (first[c] < first[c + 1]) /* else it has no member that may be searched */
            out->first[out->count++] = first[c];
    out->first[out->count] = count;
    for (size_t i = 0; i < count; i++)
        out->members[first[space->candidates[by_size[i]].configuration]++] = by_size[i];
    return 0;
}

void families_keep_first(struct search *s)
{
    const struct candidate *all = s->space->candidates;
    struct families *f = &s->families;
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

size_t families_draw(const struct search *s, size_t stage, uint64_t lineage, uint64_t index)
{
    size_t count = 0;
    for (size_t i = 0; i < s->families.count; i++)
        count += family_stage(s, i) == stage;
    size_t chosen = count ? search_draw(s, lineage, index, count) : 0;
    for (size_t i = 0; i < s->families.count; i++)
        if (family_stage(s, i) == stage && chosen-- == 0)
            return i;
    return NONE;
}

size_t family_size(const struct search *s, size_t family)
{
    return s->families.first[family + 1] - s->families.first[family];
}

size_t family_member(const struct search *s, size_t family, size_t at)
{
    return s->families.members[s->families.first[family] + at];
}

const struct candidate *family_candidate(const struct search *s, size_t family, size_t at)
{
    return &s->space->candidates[family_member(s, family, at)];
}

const struct trial *family_trial(const struct search *s, size_t family, size_t at)
{
    return &s->trials[family_member(s, family, at)];
}

double family_micro_batch(const struct search *s, size_t family, size_t at)
{
    return family_candidate(s, family, at)->micro_batch;
}

size_t family_stage(const struct search *s, size_t family)
{
    double stage = family_candidate(s, family, 0)->zero_stage;
    return stage >= 0 && stage < FAMILY_STAGES - 1 ? (size_t)stage : FAMILY_STAGES - 1;
}

size_t family_best(const struct search *s, size_t family, size_t count)
{
    size_t best = NONE;
    for (size_t i = 0; i < count; i++)
        if (trial_runs(family_trial(s, family, i)) &&
            (best == NONE ||
             search_better(s->space, family_trial(s, family, i)->objective, family_trial(s, family, best)->objective)))
            best = i;
    return best;
}

size_t family_at_most(const struct search *s, size_t family, double micro_batch)
{
    size_t at = family_size(s, family);
    while (at > 0 && !(family_micro_batch(s, family, at - 1) <= micro_batch))
        at--;
    return at ? at - 1 : NONE;
}

size_t family_estimate(const struct search *s, size_t family, double factor)
{
    size_t at = family_size(s, family) - 1;
    while (at > 0 && family_candidate(s, family, at)->oom_probability > 0.5)
        at--;
    size_t scaled = family_at_most(s, family, factor * family_micro_batch(s, family, at));
    return scaled == NONE ? 0 : scaled;
}

/* --- a part of a space --- */

static size_t renumber(struct hash_index *numbers, size_t number)
{
    const struct hash128 hash = hash_bytes(&number, sizeof number);
    return hash_index_add(numbers, &hash, NULL);
}

void subspace_make(const struct search_space *whole, const size_t *members, size_t count, struct search_space *out,
                   struct candidate **candidates)
{
    struct hash_index groups = HASH_INDEX_INIT, configurations = HASH_INDEX_INIT, memory_classes = HASH_INDEX_INIT;
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
    hash_index_free(&groups);
    hash_index_free(&configurations);
    hash_index_free(&memory_classes);
}
