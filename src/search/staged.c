/* Memory first, then speed. Whenever nothing runs and nothing is queued, the procedure starts again from the beginning
 * and runs until it needs results that are missing. Independent results are queued together and run side by side if
 * there is room; the next step is decided when all of them are in, so that it does not depend on how many run at once.
 *
 * Climb: the first configuration of each ZeRO stage, starting from the lowest stage whose predicted largest micro-batch
 * is not far below that of any other. Its largest micro-batch is found with the line of its memory
 * (search/memory_estimate.h) or, without one, by doubling and bisection. A higher stage is tried with micro-batches for
 * which the lower has no room, or else with the same one; the first stage that is no faster ends the climb. Lower
 * stages follow if they may yet be faster. If none of these runs, configurations that need less memory are tried.
 *
 * Descend (staged_keys.c): keys that save memory, if more memory may pay; then keys of speed, one at a time.
 *
 * Refine: the exact largest micro-batch of the best; below it, a multiple of 8, or as many sizes as
 * num_tuning_micro_batch_sizes says, from half of it on; sizes between the best and its neighbours if the best is not
 * the largest; other accumulations. */
#include <stdio.h>
#include <stdlib.h>

#include "search/staged_flow.h"
#include "util/memory.h"

#define STAGES_MOST 16
#define STAGE_MAY_WIN 0.9 /* of the best: a lower stage expected to reach this share may win */
#define NEAR_ENOUGH 1.1   /* between micro-batches around a peak */
#define FEW_ACCUMULATIONS 4

struct staged_own {
    struct staged shared;
    struct staged_needs queue; /* items from `next` on are still to be requested */
    size_t next;
};

/* --- climbing --- */

struct climb {
    size_t families[STAGES_MOST]; /* the first family of each stage, lowest stage first */
    size_t count;
};

static struct climb stages_of(const struct staged_flow *f)
{
    struct climb c = {.count = 0};
    for (size_t i = 0; i < f->d->families.count && c.count < STAGES_MOST; i++) {
        size_t at = c.count;
        while (at > 0 && staged_stage(f, c.families[at - 1]) > staged_stage(f, i))
            at--;
        if (!staged_is_of_group(f, i) || (at > 0 && staged_stage(f, c.families[at - 1]) == staged_stage(f, i)))
            continue;
        for (size_t k = c.count++; k > at; k--)
            c.families[k] = c.families[k - 1];
        c.families[at] = i;
    }
    for (size_t i = 0; i < c.count; i++)
        c.families[i] = staged_least_saving(f, c.families[i]);
    return c;
}

/* From the predictions before anything ran, so that it never changes. */
static double predicted_largest(const struct staged_flow *f, size_t family)
{
    size_t at = staged_size(f, family);
    if (isnan(staged_member(f, family, 0)->bytes) || isnan(staged_member(f, family, 0)->usable_bytes))
        return NAN;
    while (at > 0 && staged_member(f, family, at - 1)->bytes > staged_member(f, family, at - 1)->usable_bytes)
        at--;
    return at ? staged_member(f, family, at - 1)->micro_batch : 0;
}

static size_t first_stage(const struct staged_flow *f, const struct climb *c)
{
    double most = 0;
    for (size_t i = 0; i < c->count; i++)
        most = fmax(most, predicted_largest(f, c->families[i]));
    for (size_t i = 0; i < c->count; i++)
        if (!(predicted_largest(f, c->families[i]) < most / 2))
            return most > 0 || isnan(predicted_largest(f, c->families[i])) ? i : c->count - 1;
    return 0;
}

/* Tries the higher stage at the micro-batch that the lower one reached. */
static bool try_same_size(struct staged_flow *f, size_t family, double micro_batch)
{
    for (size_t i = 0; i < staged_size(f, family); i++)
        if (staged_member(f, family, i)->micro_batch == micro_batch)
            return staged_result(f, family, i, "the micro-batch that the stage below reached");
    return true;
}

static bool climb_up(struct staged_flow *f, const struct climb *c, size_t first)
{
    double reach = 0, best = NAN;
    for (size_t i = first; i < c->count; i++) {
        size_t family = c->families[i];
        if (!staged_find_largest(f, family, (struct staged_purpose){.reach = reach, .rival = best}))
            return false;
        if (reach > 0 && staged_largest_run(f, family) == NONE && !try_same_size(f, family, reach))
            return false;
        if (staged_largest_run(f, family) == NONE)
            continue;
        reach = fmax(reach, staged_member(f, family, staged_largest_run(f, family))->micro_batch);
        if (!isnan(best) && !search_better(f->s->space, staged_objective(f, family), best))
            return true;
        best = staged_objective(f, family);
    }
    return true;
}

/* The result of the climb: the best among the first families of each stage. */
static size_t best_of_climb(const struct staged_flow *f, const struct climb *c)
{
    size_t best = NONE;
    for (size_t i = 0; i < c->count; i++)
        if (staged_best_at(f, c->families[i]) != NONE &&
            (best == NONE ||
             search_better(f->s->space, staged_objective(f, c->families[i]), staged_objective(f, best))))
            best = c->families[i];
    return best;
}

/* Tries stages below the one that the climb began with. */
static bool climb_down(struct staged_flow *f, const struct climb *c, size_t first)
{
    for (size_t i = first; i-- > 0;) {
        size_t family = c->families[i], best = best_of_climb(f, c), fitting = staged_count_fitting(f, family);
        if (best == NONE || fitting == 0)
            continue;
        double from = staged_member(f, best, staged_best_at(f, best))->micro_batch;
        double to = fitting == NONE ? from : staged_member(f, family, fitting - 1)->micro_batch;
        if (1 + staged_gain(f, best, from, to) >= STAGE_MAY_WIN &&
            !staged_find_largest(f, family, (struct staged_purpose){.rival = staged_objective(f, best)}))
            return false;
    }
    return true;
}

static bool climb(struct staged_flow *f, size_t *base)
{
    const struct climb c = stages_of(f);
    size_t first = first_stage(f, &c);
    if (!climb_up(f, &c, first) || !climb_down(f, &c, first))
        return false;
    *base = best_of_climb(f, &c);
    return *base != NONE || staged_rescue(f, base);
}

/* --- refining --- */

static bool try_size(struct staged_flow *f, size_t family, double micro_batch, const char *why)
{
    size_t at = families_at_most(&f->d->families, f->s, family, micro_batch);
    return at == NONE || staged_result(f, family, at, why);
}

/* Tries a multiple of 8 below the largest, or the configured number of sizes from half of it on. */
static bool try_below(struct staged_flow *f, size_t family)
{
    double largest = staged_member(f, family, staged_largest_run(f, family))->micro_batch, half = floor(largest / 2);
    double count = search_number(f->s, SEARCH_NUM_TUNING_MICRO_BATCH_SIZES);
    static const char why[] = "a smaller micro-batch than the largest";
    if (count <= 1)
        return largest <= 8 || fmod(largest, 8) == 0 || try_size(f, family, 8 * floor(largest / 8), why);
    double stride = fmax(1, floor((largest - half) / count));
    bool known = true;
    for (int64_t i = 0, sizes = (int64_t)ceil((largest - fmax(1, half)) / stride); i < sizes; i++)
        known &= try_size(f, family, fmax(1, half) + (double)i * stride, why);
    return known;
}

/* If the largest micro-batch is not the best, speed has a peak: halves the wider gap beside it. */
static bool find_peak(struct staged_flow *f, size_t family)
{
    for (;;) {
        size_t best = staged_best_at(f, family), below = best, above = best, most = staged_largest_run(f, family);
        if (best == most)
            return true;
        do
            above++;
        while (above < most && !staged_runs(staged_trial(f, family, above)));
        while (below > 0 && (below == best || !staged_runs(staged_trial(f, family, below))))
            below--;
        double size = staged_member(f, family, best)->micro_batch,
               up = staged_member(f, family, above)->micro_batch / size;
        double down =
            staged_runs(staged_trial(f, family, below)) ? size / staged_member(f, family, below)->micro_batch : 1;
        if (fmax(up, down) <= NEAR_ENOUGH)
            return true;
        size_t middle = up >= down ? (best + above) / 2 : (best + below) / 2;
        if (middle == best || middle == above || middle == below ||
            staged_trial(f, family, middle)->state == TRIAL_FAILED)
            return true;
        if (!staged_result(f, family, middle, "between the best micro-batch and its neighbour"))
            return false;
    }
}

static bool is_other_accumulation(const struct staged_flow *f, const struct candidate *best, const struct candidate *c)
{
    return c != best && c->configuration == best->configuration && c->micro_batch == best->micro_batch &&
           f->s->trials[c - f->s->space->candidates].eligible;
}

/* Tries other accumulations at the best micro-batch: all if there are few; otherwise the second, as the first is hardly
 * ever beaten, and the one in the middle. */
static bool try_accumulations(struct staged_flow *f, size_t family)
{
    const struct search_space *space = f->s->space;
    const struct candidate *best = staged_member(f, family, staged_best_at(f, family));
    size_t count = 0, at = 0;
    bool known = true;
    for (size_t i = 0; i < space->count; i++)
        count += is_other_accumulation(f, best, &space->candidates[i]);
    for (size_t i = 0; i < space->count; i++) {
        if (!is_other_accumulation(f, best, &space->candidates[i]))
            continue;
        if (count <= FEW_ACCUMULATIONS || at == 0 || at == count / 2)
            known &= staged_candidate_result(f, i, "another accumulation at the best micro-batch");
        at++;
    }
    return known;
}

static bool refine(struct staged_flow *f)
{
    size_t best = staged_best_family(f);
    if (best == NONE)
        return true;
    bool is_largest = staged_best_at(f, best) == staged_largest_run(f, best);
    return (!is_largest || staged_find_largest(f, best, (struct staged_purpose){.rival = NAN, .exact = true})) &&
           try_below(f, best) && find_peak(f, best) && try_accumulations(f, best);
}

/* --- the strategy --- */

static bool go_through(struct staged_flow *f)
{
    size_t base;
    f->usable = memory_estimate_usable(&f->d->families, f->s, f->group);
    return climb(f, &base) && (base == NONE || (staged_descend(f, base) && refine(f)));
}

/* Collects what all groups need now; groups know nothing of each other. */
static void find_needs(struct search *s, struct staged_own *own)
{
    own->queue.count = own->next = 0;
    for (size_t group = 0; group < s->space->group_count; group++) {
        struct staged_flow f = {.s = s, .d = &own->shared, .group = group, .needs = &own->queue};
        go_through(&f);
    }
}

/* The next queued need whose result is still unknown; NULL: none. */
static const struct staged_need *next_need(const struct search *s, struct staged_own *own)
{
    while (own->next < own->queue.count && s->trials[own->queue.items[own->next].candidate].state != TRIAL_NONE)
        own->next++;
    return own->next < own->queue.count ? &own->queue.items[own->next] : NULL;
}

static enum search_answer ask(struct search *s, void *own_state, struct decision *out)
{
    struct staged_own *own = own_state;
    const struct staged_need *need = next_need(s, own);
    if (!need && s->counts.running > 0) {
        snprintf(out->reason, sizeof out->reason, "the next trials depend on what runs");
        return SEARCH_WAIT;
    }
    if (!need) {
        find_needs(s, own);
        need = next_need(s, own);
    }
    if (!need) {
        snprintf(out->reason, sizeof out->reason, "all stages are done");
        return SEARCH_FINISHED;
    }
    const struct candidate *c = &s->space->candidates[need->candidate];
    out->candidate = need->candidate;
    out->lineage = c->identity;
    snprintf(out->reason, sizeof out->reason, "ZeRO stage %g, micro-batch %g: %s",
             isnan(c->zero_stage) ? 0 : c->zero_stage, c->micro_batch, need->why);
    return SEARCH_RUN;
}

static void destroy(void *own_state)
{
    struct staged_own *own = own_state;
    if (!own)
        return;
    families_free(&own->shared.families);
    free(own->shared.of_batch);
    free(own->queue.items);
    free(own);
}

/* Keys that differ within a configuration: the micro-batch and what follows from it. */
static void mark_batch_keys(const struct search *s, struct staged *d)
{
    d->of_batch = xcalloc(s->space->key_count + 1, sizeof *d->of_batch);
    for (size_t family = 0; family < d->families.count; family++) {
        const double *first = s->space->candidates[families_member(&d->families, family, 0)].values;
        for (size_t i = 1; i < families_size(&d->families, family); i++) {
            const double *values = s->space->candidates[families_member(&d->families, family, i)].values;
            for (size_t k = 0; k < s->space->key_count; k++)
                d->of_batch[k] |= values[k] != first[k] && !(isnan(values[k]) && isnan(first[k]));
        }
    }
}

static int create(struct search *s, void **own_state, struct error *e)
{
    struct staged_own *own = xcalloc(1, sizeof *own);
    *own_state = own;
    if (families_create(s, &own->shared.families, e) < 0)
        return -1;
    families_keep_first(&own->shared.families, s);
    mark_batch_keys(s, &own->shared);
    return 0;
}

const struct strategy strategy_staged = {.name = "staged",
                                         .create = create,
                                         .free = destroy,
                                         .ask = ask,
                                         .has_own_patience = false};
