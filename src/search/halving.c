/* Asynchronous successive halving (Li et al., "A System for Massively Parallel Hyperparameter Tuning", MLSys 2020) over
 * measured steps. Rung i of max_rungs runs for min_steps · divisor^(asha_early_stopping + i) steps, the last rung for
 * the whole job. The best 1/divisor of the candidates measured in a rung, across configurations, are promoted, best
 * first, from the highest rung that has one to promote; otherwise a new candidate begins in the lowest. A candidate
 * that failed or ended before the rung's steps is not promoted; a micro-batch known not to fit its memory class is not
 * begun. New candidates are ordered by prediction, likely failures last, or else by hash(seed, candidate). */

#include "search/state.h"
#include "util/memory.h"

struct halving {
    size_t *order; /* candidates, in the order in which they begin */
};

static int rung_count(const struct search *s)
{
    return (int)search_number(s, SEARCH_MAX_RUNGS);
}

/* Steps of a rung, counted from 0. Returns 0 for the whole job. */
static double rung_steps(const struct search *s, int rung)
{
    double steps = search_number(s, SEARCH_MIN_STEPS) *
                   pow(search_number(s, SEARCH_DIVISOR), search_number(s, SEARCH_ASHA_EARLY_STOPPING) + rung);
    return rung + 1 >= rung_count(s) ? 0 : steps;
}

static void halving_create(struct search *s, void *own)
{
    struct halving *a = own;
    a->order = arena_keep(&s->arena, search_order(s, search_any_predicted(s->space) ? SEARCH_ORDER_PREDICTED
                                                                                    : SEARCH_ORDER_SHUFFLED));
}

/* The number of rungs that were measured: all if it has run completely, or lost against another in the last one. */
static int reached(const struct search *s, size_t candidate)
{
    const struct trial *t = &s->trials[candidate];
    int rungs = 0;
    if (t->state == TRIAL_OK || (t->state == TRIAL_STOPPED && t->resource == 0))
        return rung_count(s);
    while (t->state != TRIAL_FAILED && rung_steps(s, rungs) > 0 && t->outcome.steps >= rung_steps(s, rungs))
        rungs++;
    return rungs;
}

/* The best candidate of the rung that is among its best 1/divisor and not promoted yet; NONE: none. */
static size_t promotable(const struct search *s, int rung)
{
    size_t in_rung = 0, best = NONE, better = 0;
    for (size_t i = 0; i < s->space->count; i++) {
        if (reached(s, i) <= rung)
            continue;
        in_rung++;
        bool goes_on = reached(s, i) == rung + 1 && s->trials[i].state == TRIAL_STOPPED;
        if (goes_on && (best == NONE ||
                        search_better(s->space, s->trials[i].outcome.objective, s->trials[best].outcome.objective)))
            best = i;
    }
    for (size_t i = 0; best != NONE && i < s->space->count; i++)
        better += reached(s, i) > rung && i != best &&
                  search_better(s->space, s->trials[i].outcome.objective, s->trials[best].outcome.objective);
    return better < in_rung / (size_t)search_number(s, SEARCH_DIVISOR) ? best : NONE;
}

/* Candidates that almost certainly fail begin only while nothing has run. */
static size_t next_new(const struct halving *a, const struct search *s)
{
    static const double risks[] = {SEARCH_RISKY, SEARCH_HOPELESS, 1};
    size_t count = LENGTH(risks) - (s->counts.measured > 0);
    for (size_t r = 0; r < count; r++)
        for (size_t i = 0; i < s->space->count; i++)
            if (search_is_open(s, a->order[i]) && !search_is_too_large(s, a->order[i]) &&
                !(s->space->candidates[a->order[i]].oom_probability > risks[r]))
                return a->order[i];
    return NONE;
}

static enum search_answer decide(const struct search *s, size_t candidate, int rung, struct decision *out)
{
    out->candidate = candidate;
    out->resource = rung_steps(s, rung);
    out->lineage = s->space->candidates[candidate].identity;
    out->index = (uint64_t)rung;
    explain(out, "rung %d of %d, ", rung + 1, rung_count(s));
    if (out->resource > 0)
        explain(out, "%g steps: ", out->resource);
    else
        explain(out, "the whole job: ");
    explain(out, "%s", rung ? "among the best of the rung below" : "no rung has a trial to promote");
    return SEARCH_RUN;
}

static enum search_answer halving_ask(struct search *s, void *own, struct decision *out)
{
    const struct halving *a = own;
    for (int rung = rung_count(s) - 2; rung >= 0; rung--) {
        size_t candidate = rung_steps(s, rung) > 0 ? promotable(s, rung) : NONE;
        if (candidate != NONE)
            return decide(s, candidate, rung + 1, out);
    }
    size_t candidate = next_new(a, s);
    if (candidate != NONE)
        return decide(s, candidate, 0, out);
    explain(out, "every rung is complete");
    return SEARCH_FINISHED;
}

const struct algorithm algorithm_halving = {.own_size = sizeof(struct halving),
                                            .create = halving_create,
                                            .ask = halving_ask};
