/* Runs what is expected to improve most on the best of its group per device-hour (search/surrogate.h).
 *
 * With best merit m, mean μ and deviation σ the expected improvement is σ·(z·Φ(z) + φ(z)), z = (μ - m)/σ, in relative
 * terms of the objective, and counts in both views of the predictions by the trust in each; times the square of the
 * probability of not failing, over devices × predicted time. Before a group has a result, its highest mean goes first,
 * likewise weighed. When nothing at all is, the best of what is left is tried all the same until the last
 * PATIENCE trials (PATIENCE_DOUBTED where predicted times rank badly, memory is not trusted, or there are none), or
 * PATIENCE_SHARE of those before them, brought nothing better. Then one that would be better but may well fail is
 * tried, and another as long as they run; then the search is over. What runs counts as if it had come out as
 * believed. */
#include <stdio.h>
#include <stdlib.h>

#include "search/surrogate.h"
#include "util/memory.h"

/* Trials without a better one before "nothing more is expected" is believed: predictions may be worse than they
 * seem. */
#define PATIENCE 3
#define PATIENCE_DOUBTED 10 /* where outcomes have contradicted them, or there are none */
#define PATIENCE_SHARE 0.5  /* of the trials up to the last gain: what was found late was not seen coming */

/* Chances of failure. */
#define NONE (-1.0)
#define EVEN 0.5
#define ALL_BUT_CERTAIN (1 - 1e-9)

struct model_strategy {
    struct surrogate *surrogate;
    double *gains;         /* by candidate that is open, when last asked: expected over the best */
    double *best;          /* by group: merit that has to be beaten; -INFINITY: none */
    size_t *winner;        /* by group, when last asked: candidate with the best outcome; SIZE_MAX: none */
    size_t beyond;         /* candidate that ran last as what may well fail, before the end; SIZE_MAX: none did */
    size_t trials_at_gain; /* that had been asked for when one was seen to be another */
};

struct choice {
    size_t candidate;
    double score, gain;
    bool any;
};

static int create(struct search *s, void **own, struct error *e)
{
    (void)e;
    struct model_strategy *m = xcalloc(1, sizeof *m);
    m->beyond = SIZE_MAX;
    m->surrogate = surrogate_create(s);
    m->gains = xcalloc(s->space->count + 1, sizeof *m->gains);
    m->best = xcalloc(s->space->group_count + 1, sizeof *m->best);
    m->winner = xcalloc(s->space->group_count + 1, sizeof *m->winner);
    for (size_t g = 0; g < s->space->group_count; g++)
        m->winner[g] = SIZE_MAX;
    *own = m;
    return 0;
}

static void destroy(void *own)
{
    struct model_strategy *m = own;
    if (!m)
        return;
    surrogate_free(m->surrogate);
    free(m->gains);
    free(m->best);
    free(m->winner);
    free(m);
}

static void tell(struct search *s, void *own, size_t candidate, const struct search_outcome *outcome)
{
    (void)s;
    (void)outcome;
    surrogate_tell(((struct model_strategy *)own)->surrogate, candidate);
}

static void find_bests(const struct search *s, const struct estimate *all, double *best)
{
    for (size_t g = 0; g < s->space->group_count; g++)
        best[g] = s->best[g].any ? merit_of(s->space, s->best[g].objective) : -INFINITY;
    for (size_t i = 0; i < s->space->count; i++) {
        double *b = &best[s->space->candidates[i].group];
        if (s->trials[i].state == TRIAL_RUNNING && all[i].mean > *b)
            *b = all[i].mean;
    }
}

static double gain_of(const struct expectation *x, double best)
{
    double z = (x->mean - best) / x->deviation;
    double density = exp(-z * z / 2) / sqrt(2 * M_PI), share = 0.5 * erfc(-z / M_SQRT2);
    return x->deviation * (z * share + density);
}

static double expected_gain(const struct estimate *b, double best)
{
    if (isinf(best))
        return 1; /* anything is better than nothing */
    return b->trust * gain_of(&b->believed, best) + (1 - b->trust) * gain_of(&b->doubted, best);
}

static void fill_gains(const struct search *s, const struct estimate *all, struct model_strategy *m)
{
    for (size_t i = 0; i < s->space->count; i++)
        if (search_is_open(s, i))
            m->gains[i] = expected_gain(&all[i], m->best[s->space->candidates[i].group]);
}

static double failure_of(const struct estimate *b)
{
    return 1 - (1 - b->out_of_memory) * (1 - b->other_failure);
}

/* What the chance that it runs counts for: squared, as a failure tells nothing of how fast the others are. */
static double worth_of(const struct estimate *b)
{
    double success = 1 - failure_of(b);
    return success * success;
}

/* Relative: devices times how long a step takes. */
static double cost_of(const struct search_space *space, const struct candidate *c, const struct estimate *b)
{
    if (space->relation == SEARCH_UNRELATED)
        return c->devices;
    double time = (space->relation == SEARCH_RATE ? c->work : 1) * exp(-b->mean);
    return c->devices * time;
}

static double score_of(const struct search_space *space, const struct candidate *c, const struct estimate *b,
                       double best, double gain)
{
    if (isinf(best))
        return worth_of(b) * exp(b->mean); /* of one group at a time: see choose */
    return worth_of(b) * gain / cost_of(space, c, b);
}

/* One way to look for what runs next: GAIN_WEIGHED counts the risk twice, as worth_of, GAIN_BY_CHANCE once. */
struct pass {
    double risk, risk_of_first; /* most of it, in a group with a result and in one without */
    enum { GAIN_WEIGHED, GAIN_ANY, GAIN_BY_CHANCE } gain;
};

static bool may_run(const struct estimate *b, double best, const struct pass *p)
{
    return failure_of(b) <= (isinf(best) ? p->risk_of_first : p->risk);
}

/* Groups without a result come first, the first of them in order. */
static size_t first_empty_group(const struct search *s, const double *best, const struct estimate *all,
                                const struct pass *p)
{
    size_t group = SIZE_MAX;
    for (size_t i = 0; i < s->space->count; i++) {
        size_t g = s->space->candidates[i].group;
        if (g < group && isinf(best[g]) && search_is_open(s, i) && may_run(&all[i], best[g], p))
            group = g;
    }
    return group;
}

/* Whether enough is expected of it. */
static bool is_worth_it(const struct search *s, const struct estimate *b, const struct pass *p, double gain)
{
    double chance = p->gain == GAIN_BY_CHANCE ? 1 - failure_of(b) : worth_of(b);
    return p->gain == GAIN_ANY || gain * chance >= search_number(s, SEARCH_TARGET_GAP);
}

static struct choice choose(const struct search *s, const struct estimate *all, const struct model_strategy *m,
                            const struct pass *p)
{
    struct choice c = {0};
    const double *best = m->best;
    size_t empty = first_empty_group(s, best, all, p);
    for (size_t i = 0; i < s->space->count; i++) {
        const struct candidate *x = &s->space->candidates[i];
        if (!search_is_open(s, i) || !may_run(&all[i], best[x->group], p) || (empty != SIZE_MAX && x->group != empty))
            continue;
        double gain = m->gains[i];
        if (!is_worth_it(s, &all[i], p, gain))
            continue;
        double score = score_of(s->space, x, &all[i], best[x->group], gain);
        if (!c.any || score > c.score)
            c = (struct choice){i, score, gain, true};
    }
    return c;
}

static void explain(const struct search *s, const struct estimate *b, double best, const struct choice *c,
                    struct decision *out)
{
    int at = 0;
    if (!isinf(best) || b->trust > 0) /* what arithmetic says has no unit */
        at = snprintf(out->reason, sizeof out->reason, "expected objective %.4g ± %.0f %%, ",
                      merit_objective(s->space, b->mean), 100 * b->deviation);
    at += snprintf(out->reason + at, sizeof out->reason - (size_t)at, "fails with %.0f %%", 100 * failure_of(b));
    if (isinf(best))
        snprintf(out->reason + at, sizeof out->reason - (size_t)at, "; the most promising of a group without results");
    else
        snprintf(out->reason + at, sizeof out->reason - (size_t)at, "; expected gain over the best %.2g %%",
                 100 * c->gain);
}

/* Seen when asked, and not when told: what ran at the same time may end in any order. */
static size_t trials_since_gain(const struct search *s, struct model_strategy *m)
{
    for (size_t g = 0; g < s->space->group_count; g++) {
        size_t winner = s->best[g].any ? s->best[g].candidate : SIZE_MAX;
        if (winner != m->winner[g])
            m->trials_at_gain = s->counts.trials;
        m->winner[g] = winner;
    }
    return s->counts.trials - m->trials_at_gain;
}

static bool is_patient(const struct search *s, struct model_strategy *m)
{
    double since = (double)trials_since_gain(s, m),
           least = surrogate_believes(m->surrogate) ? PATIENCE : PATIENCE_DOUBTED;
    return since < fmax(least, PATIENCE_SHARE * (double)m->trials_at_gain);
}

/* What would gain most by the chance that it runs, unless the last such job did not: predictions that nothing has
 * contradicted near it may be wrong, and what runs there says so of all others. */
static struct choice choose_beyond(const struct search *s, const struct estimate *all, const struct model_strategy *m)
{
    struct choice c = {0};
    if (m->beyond != SIZE_MAX && s->trials[m->beyond].state != TRIAL_OK)
        return c;
    for (size_t i = 0; i < s->space->count; i++) {
        double best = m->best[s->space->candidates[i].group], chance = 1 - failure_of(&all[i]);
        if (!search_is_open(s, i) || isinf(best) || m->gains[i] < search_number(s, SEARCH_TARGET_GAP))
            continue;
        if (chance * m->gains[i] > c.score)
            c = (struct choice){i, chance * m->gains[i], m->gains[i], true};
    }
    return c;
}

/* In this order: what is worth its run, risky or not, before what is run because predictions may be wrong; what will
 * all but certainly fail where nothing of a group has run; and before it is said that nothing more is expected, what is
 * likelier to run than not and would gain it by its chance. */
static const struct pass passes[] = {{ALL_BUT_CERTAIN, SEARCH_HOPELESS, GAIN_WEIGHED},
                                     {ALL_BUT_CERTAIN, SEARCH_HOPELESS, GAIN_ANY},
                                     {NONE, 1, GAIN_ANY},
                                     {EVEN, EVEN, GAIN_BY_CHANCE}};

static void decide_on(const struct search *s, const struct model_strategy *m, const struct estimate *all,
                      const struct choice *c, struct decision *out)
{
    out->candidate = c->candidate;
    out->lineage = s->space->candidates[c->candidate].identity;
    out->index = s->counts.trials;
    explain(s, &all[c->candidate], m->best[s->space->candidates[c->candidate].group], c, out);
}

static void explain_end(const struct search *s, const struct model_strategy *m, const struct estimate *all,
                        struct decision *out)
{
    double gap = search_number(s, SEARCH_TARGET_GAP), least = 1;
    size_t risky = 0;
    for (size_t i = 0; i < s->space->count; i++)
        if (search_is_open(s, i) && m->gains[i] >= gap && failure_of(&all[i]) < 1) {
            least = fmin(least, failure_of(&all[i]));
            risky++;
        }
    if (!search_any_open(s))
        snprintf(out->reason, sizeof out->reason, "all candidates have been tried");
    else if (risky == 0)
        snprintf(out->reason, sizeof out->reason, "no remaining candidate is expected to beat the best by %.3g %%",
                 100 * gap);
    else
        snprintf(out->reason, sizeof out->reason,
                 "no remaining candidate is worth its risk: %zu might beat the best by %.3g %%, but each fails with a "
                 "probability of at least %.0f %%",
                 risky, 100 * gap, 100 * least);
}

static enum search_answer ask(struct search *s, void *own, struct decision *out)
{
    struct model_strategy *m = own;
    const struct estimate *all = surrogate_all(m->surrogate);
    find_bests(s, all, m->best);
    fill_gains(s, all, m);
    bool patient = is_patient(s, m);
    for (size_t i = 0; i < sizeof passes / sizeof *passes; i++) {
        const struct pass *p = &passes[i];
        if (p->gain == GAIN_ANY && !patient)
            continue;
        struct choice c = choose(s, all, m, p);
        if (!c.any)
            continue;
        decide_on(s, m, all, &c, out);
        return SEARCH_RUN;
    }
    struct choice beyond = choose_beyond(s, all, m);
    if (beyond.any) {
        m->beyond = beyond.candidate;
        decide_on(s, m, all, &beyond, out);
        return SEARCH_RUN;
    }
    explain_end(s, m, all, out);
    return SEARCH_FINISHED;
}

const struct strategy strategy_model = {.name = "model", .create = create, .free = destroy, .ask = ask, .tell = tell};
