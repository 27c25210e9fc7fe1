/* For each configuration, finds the largest micro-batch that runs, then the best one, which may be smaller.
 *
 * Largest: starts at the largest that is predicted to fit (times search_range_factor; without predictions, the middle),
 * doubles while it runs or halves while it does not, then bisects. What ran or ran out of memory holds for every
 * configuration of the memory class; other failures hold for their own configuration only.
 *
 * Best: looks at the fastest known member and its nearest known neighbours, and halves the wider gap while it is wider
 * than a factor of NEAR_ENOUGH and may contain something better, assuming that speed has a single peak over the
 * micro-batch.
 *
 * Configurations come in the order of the prediction for their largest that fits, or else by hash(seed, configuration).
 * One is finished before the next begins, except while it waits for a trial of its own. The next trial follows from the
 * states of the candidates alone. */
#include <stdlib.h>

#include "search/state.h"
#include "util/memory.h"
#include "util/rng.h"

#define NEAR_ENOUGH 1.34

struct binary {
    struct families families;
    size_t *order; /* families */
    size_t done;   /* the first `done` of them have nothing left */
};

static double predicted_best(const struct families *f, const struct search *s, size_t family)
{
    double best = -INFINITY;
    size_t last = families_estimate(f, s, family, 1);
    for (size_t i = 0; i <= last; i++) {
        const struct candidate *c = &s->space->candidates[families_member(f, family, i)];
        double predicted = c->oom_probability > 0.5 ? NAN : search_predicted_log(s->space, c);
        if (predicted > best)
            best = predicted;
    }
    return best;
}

static int create(struct search *s, void **own, struct error *e)
{
    struct binary *b = xcalloc(1, sizeof *b);
    uint64_t seed = (uint64_t)search_number(s, SEARCH_RANDOM_SEED);
    *own = b;
    if (families_create(s, &b->families, e) < 0)
        return -1;
    struct rank *ranks = xcalloc(b->families.count + 1, sizeof *ranks);
    for (size_t f = 0; f < b->families.count; f++)
        ranks[f] = (struct rank){f, predicted_best(&b->families, s, f),
                                 rng_at(seed, s->space->candidates[families_member(&b->families, f, 0)].identity)};
    b->order = ranked(ranks, b->families.count);
    return 0;
}

static void destroy(void *own)
{
    struct binary *b = own;
    families_free(&b->families);
    free(b->order);
    free(b);
}

static void tell(struct search *s, void *own, size_t candidate, const struct search_outcome *outcome)
{
    (void)s;
    (void)candidate;
    (void)outcome;
    ((struct binary *)own)->done = 0; /* any bracket may have changed */
}

/* --- one configuration --- */

struct family_view {
    const struct binary *b;
    const struct search *s;
    size_t family, size;
};

static size_t candidate_at(const struct family_view *v, size_t at)
{
    return families_member(&v->b->families, v->family, at);
}

static double micro_batch_at(const struct family_view *v, size_t at)
{
    return v->s->space->candidates[candidate_at(v, at)].micro_batch;
}

/* Members below `*low` run, those from `*high` on do not; in between is unknown. */
static void bracket(const struct family_view *v, size_t *low, size_t *high)
{
    *low = 0;
    *high = v->size;
    for (size_t i = 0; i < v->size; i++) {
        size_t c = candidate_at(v, i);
        const struct candidate *x = &v->s->space->candidates[c];
        bool failed = v->s->trials[c].state == TRIAL_FAILED || search_is_too_large(v->s, c);
        if (failed && i < *high)
            *high = i;
        if (!failed && x->micro_batch <= v->s->largest_fit[x->memory_class])
            *low = i + 1;
    }
    /* A failure of another kind lies below what fits: do not try anything beyond it. */
    if (*low > *high)
        *low = *high;
}

static size_t next_for_largest(const struct family_view *v, size_t low, size_t high)
{
    size_t estimate = families_estimate(&v->b->families, v->s, v->family, search_number(v->s, SEARCH_RANGE_FACTOR));
    if (low == 0 && high == v->size)
        return isnan(v->s->space->candidates[candidate_at(v, 0)].oom_probability) ? (v->size - 1) / 2 : estimate;
    if (high == v->size) { /* all have run so far */
        size_t twice = families_at_most(&v->b->families, v->s, v->family, 2 * micro_batch_at(v, low - 1));
        return twice > low ? twice : low;
    }
    if (low == 0) { /* none has run so far */
        size_t half = families_at_most(&v->b->families, v->s, v->family, micro_batch_at(v, high) / 2);
        return half == NONE || half >= high ? 0 : half;
    }
    return (low + high) / 2;
}

static bool is_measured(const struct family_view *v, size_t at)
{
    return trial_runs(&v->s->trials[candidate_at(v, at)]);
}

/* The member below `low` to try next to the best known; NONE: none is left. */
static size_t next_for_best(const struct family_view *v, size_t low)
{
    size_t best = NONE, below = NONE, above = low;
    for (size_t i = 0; i < low; i++)
        if (is_measured(v, i) && (best == NONE || search_better(v->s->space, v->s->trials[candidate_at(v, i)].objective,
                                                                v->s->trials[candidate_at(v, best)].objective)))
            best = i;
    if (best == NONE)
        return low - 1;
    for (size_t i = 0; i < best; i++)
        if (is_measured(v, i))
            below = i;
    for (size_t i = low; i-- > best + 1;)
        if (is_measured(v, i))
            above = i;
    if (above == low && best + 1 < low) /* another configuration's run shows that the largest fits */
        return low - 1;
    if (below == NONE && best > 0) {
        size_t half = families_at_most(&v->b->families, v->s, v->family, micro_batch_at(v, best) / 2);
        return half == NONE ? 0 : half;
    }
    double gap_below = below == NONE || best - below < 2 ? 1 : micro_batch_at(v, best) / micro_batch_at(v, below);
    double gap_above = above == low || above - best < 2 ? 1 : micro_batch_at(v, above) / micro_batch_at(v, best);
    if (gap_below < NEAR_ENOUGH && gap_above < NEAR_ENOUGH)
        return NONE;
    return gap_below >= gap_above ? (below + best + 1) / 2 : (best + above) / 2;
}

/* NONE: nothing is left. */
static size_t next_of(const struct family_view *v, const char **why)
{
    size_t low, high;
    bracket(v, &low, &high);
    if (low < high) {
        *why = low == 0 && high == v->size ? "the estimate of the largest micro-batch"
               : high == v->size           ? "twice the largest that ran"
               : low == 0                  ? "half of the smallest that did not run"
                                           : "between the largest that ran and the smallest that did not";
        return next_for_largest(v, low, high);
    }
    *why = "next to the best micro-batch of the configuration";
    return low == 0 ? NONE : next_for_best(v, low);
}

static bool is_waiting(const struct family_view *v)
{
    for (size_t i = 0; i < v->size; i++)
        if (v->s->trials[candidate_at(v, i)].state == TRIAL_RUNNING)
            return true;
    return false;
}

static enum search_answer ask(struct search *s, void *own, struct decision *out)
{
    struct binary *b = own;
    for (size_t i = b->done; i < b->families.count; i++) {
        const struct family_view v = {b, s, b->order[i], families_size(&b->families, b->order[i])};
        const char *why;
        if (is_waiting(&v))
            continue;
        size_t at = next_of(&v, &why);
        if (at == NONE || !search_is_open(s, candidate_at(&v, at))) {
            b->done += i == b->done;
            continue;
        }
        out->candidate = candidate_at(&v, at);
        out->lineage = s->space->candidates[candidate_at(&v, 0)].identity;
        out->index = at;
        explain(out, "micro-batch %g: %s", micro_batch_at(&v, at), why);
        return SEARCH_RUN;
    }
    explain(out, "the best micro-batch of every configuration is known");
    return SEARCH_FINISHED;
}

const struct algorithm algorithm_bisection = {create, destroy, ask, tell};
