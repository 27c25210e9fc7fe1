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

#include "search/state.h"
#include "util/memory.h"
#include "util/rng.h"

#define NEAR_ENOUGH 1.34

struct binary {
    size_t *order; /* families */
};

static double predicted_best(const struct search *s, size_t family)
{
    double best = -INFINITY;
    size_t last = family_estimate(s, family, 1);
    for (size_t i = 0; i <= last; i++) {
        const struct candidate *c = family_candidate(s, family, i);
        double predicted = c->oom_probability > 0.5 ? NAN : search_predicted_log(s->space, c);
        if (predicted > best)
            best = predicted;
    }
    return best;
}

static void bisection_create(struct search *s, void *own)
{
    struct binary *b = own;
    uint64_t seed = (uint64_t)search_number(s, SEARCH_RANDOM_SEED);
    struct rank *ranks = xcalloc(s->families.count + 1, sizeof *ranks);
    for (size_t f = 0; f < s->families.count; f++)
        ranks[f] = (struct rank){f, predicted_best(s, f), rng_at(seed, family_candidate(s, f, 0)->identity)};
    b->order = arena_keep(&s->arena, ranked(ranks, s->families.count));
}

/* --- one configuration --- */

/* Members below `*low` run, those from `*high` on do not; in between is unknown. */
static void bracket(const struct search *s, size_t family, size_t *low, size_t *high)
{
    *low = 0;
    *high = family_size(s, family);
    for (size_t i = 0; i < family_size(s, family); i++) {
        size_t c = family_member(s, family, i);
        const struct candidate *x = &s->space->candidates[c];
        bool failed = s->trials[c].state == TRIAL_FAILED || search_is_too_large(s, c);
        if (failed && i < *high)
            *high = i;
        if (!failed && x->micro_batch <= s->largest_fit[x->memory_class])
            *low = i + 1;
    }
    /* A failure of another kind lies below what fits: do not try anything beyond it. */
    if (*low > *high)
        *low = *high;
}

/* The largest member with at most half of that one's micro-batch, or else the first. */
static size_t half_of(const struct search *s, size_t family, size_t at)
{
    size_t half = family_at_most(s, family, family_micro_batch(s, family, at) / 2);
    return half == NONE || half >= at ? 0 : half;
}

static size_t next_for_largest(const struct search *s, size_t family, size_t low, size_t high)
{
    size_t size = family_size(s, family);
    if (low == 0 && high == size)
        return isnan(family_candidate(s, family, 0)->oom_probability)
                   ? (size - 1) / 2
                   : family_estimate(s, family, search_number(s, SEARCH_RANGE_FACTOR));
    if (high == size) { /* all have run so far */
        size_t twice = family_at_most(s, family, 2 * family_micro_batch(s, family, low - 1));
        return twice > low ? twice : low;
    }
    return low == 0 ? half_of(s, family, high) : (low + high) / 2;
}

/* The member below `low` to try next to the best known; NONE: none is left. */
static size_t next_for_best(const struct search *s, size_t family, size_t low)
{
    size_t best = family_best(s, family, low), below = NONE, above = low;
    if (best == NONE)
        return low - 1;
    for (size_t i = 0; i < best; i++)
        if (trial_runs(family_trial(s, family, i)))
            below = i;
    for (size_t i = low; i-- > best + 1;)
        if (trial_runs(family_trial(s, family, i)))
            above = i;
    if (above == low && best + 1 < low) /* another configuration's run shows that the largest fits */
        return low - 1;
    if (below == NONE && best > 0)
        return half_of(s, family, best);
    double size = family_micro_batch(s, family, best);
    double gap_below = below == NONE || best - below < 2 ? 1 : size / family_micro_batch(s, family, below);
    double gap_above = above == low || above - best < 2 ? 1 : family_micro_batch(s, family, above) / size;
    if (gap_below < NEAR_ENOUGH && gap_above < NEAR_ENOUGH)
        return NONE;
    return gap_below >= gap_above ? (below + best + 1) / 2 : (best + above) / 2;
}

/* NONE: nothing is left. */
static size_t next_of(const struct search *s, size_t family, const char **why)
{
    size_t low, high;
    bracket(s, family, &low, &high);
    if (low < high) {
        bool all = high == family_size(s, family);
        *why = low == 0 && all ? "the estimate of the largest micro-batch"
               : all           ? "twice the largest that ran"
               : low == 0      ? "half of the smallest that did not run"
                               : "between the largest that ran and the smallest that did not";
        return next_for_largest(s, family, low, high);
    }
    *why = "next to the best micro-batch of the configuration";
    return low == 0 ? NONE : next_for_best(s, family, low);
}

static bool is_waiting(const struct search *s, size_t family)
{
    return ANY(i, family_size(s, family), family_trial(s, family, i)->state == TRIAL_RUNNING);
}

static enum search_answer bisection_ask(struct search *s, void *own, struct decision *out)
{
    const struct binary *b = own;
    for (size_t i = 0; i < s->families.count; i++) {
        size_t family = b->order[i];
        const char *why;
        if (is_waiting(s, family))
            continue;
        size_t at = next_of(s, family, &why);
        if (at == NONE || !search_is_open(s, family_member(s, family, at)))
            continue;
        out->candidate = family_member(s, family, at);
        out->lineage = family_candidate(s, family, 0)->identity;
        out->index = at;
        explain(out, "micro-batch %g: %s", family_micro_batch(s, family, at), why);
        return SEARCH_RUN;
    }
    explain(out, "the best micro-batch of every configuration is known");
    return SEARCH_FINISHED;
}

const struct algorithm algorithm_bisection = {.own_size = sizeof(struct binary),
                                              .is_of_families = true,
                                              .create = bisection_create,
                                              .ask = bisection_ask};
