/* Runs the candidate with the largest expected improvement on the best of its group per device-hour
 * (search/surrogate.h).
 *
 * With best merit m, mean μ and deviation σ, the expected improvement is σ·(z·Φ(z) + φ(z)), z = (μ - m)/σ, relative to
 * the objective. It is averaged over the two views of the predictions by the trust in each, multiplied by the square of
 * the probability of not failing, and divided by devices × predicted time. In a group without a result, the highest
 * mean goes first, weighted in the same way.
 *
 * A group continues until the probability that some remaining candidate runs and beats the best by the target gap is
 * less than DOUBT (search/belief.h). First come candidates worth their run: the gain, weighted by the chance of
 * running, is at least the gap. Then the likeliest to be better, because they leave most doubt. Last comes one that
 * would be better but may well fail, and another as long as they run; one that would be better if predictions were
 * wrong; and what would be left if the best were a mistake, where nothing else was measured or the others say so; then
 * the search ends. Running trials count as if they had come out as expected. */
#include <stdlib.h>

#include "search/belief.h"
#include "search/process.h"
#include "search/surrogate.h"
#include "util/memory.h"

#define DOUBT 0.05     /* probability that something better by the gap is left; less ends a search */
#define DRAWN_MOST 100 /* candidates of a group, the likeliest to be better, in the joint draws */
#define EVEN 0.25      /* a chance that is worth one trial */
#define SUSPECT 3.0    /* deviations from what the others say, by which a best may be a mistake */
#define GAP_MOST 0.99  /* largest gap with a finite logarithm */
#define ALIKE 0.9      /* of the highest score: candidates at or above this are drawn from */

/* Probabilities of failure. */
#define NO_RISK (-1.0)
#define ALL_BUT_CERTAIN (1 - 1e-9)

struct model_strategy {
    struct surrogate *surrogate;
    double *gains;   /* by open candidate, when last asked: expected gain over the best */
    double *best;    /* by group: merit to beat; -INFINITY: none */
    double *chances; /* by open candidate, when last asked: probability that it runs and is better by the gap */
    double *scores;  /* by candidate, in the current pass; negative: excluded */
    double *left;    /* by group, when last asked: probability that something better is left */
    size_t beyond;   /* last candidate run, before the end, although it may well fail; NONE: none */
    size_t *doubted; /* by group: the same of one that is better only if predictions are wrong */
};

struct choice {
    size_t candidate;
    double score, gain;
    bool any;
};

static void model_create(struct search *s, void *own)
{
    struct model_strategy *m = own;
    m->beyond = NONE;
    m->surrogate = surrogate_create(s);
    m->gains = arena_keep(&s->arena, xcalloc(s->space->count + 1, sizeof *m->gains));
    m->chances = arena_keep(&s->arena, xcalloc(s->space->count + 1, sizeof *m->chances));
    m->scores = arena_keep(&s->arena, xcalloc(s->space->count + 1, sizeof *m->scores));
    m->best = arena_keep(&s->arena, xcalloc(s->space->group_count + 1, sizeof *m->best));
    m->left = arena_keep(&s->arena, xcalloc(s->space->group_count + 1, sizeof *m->left));
    m->doubted = arena_keep(&s->arena, xcalloc(s->space->group_count + 1, sizeof *m->doubted));
    for (size_t g = 0; g < s->space->group_count; g++)
        m->doubted[g] = NONE;
}

static void model_free(void *own)
{
    surrogate_free(((struct model_strategy *)own)->surrogate);
}

static void model_tell(struct search *s, void *own, size_t candidate, const struct search_outcome *outcome)
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

/* Weight of the chance that it runs: squared, because a failure says nothing about the speed of the others. */
static double worth_of(const struct estimate *b)
{
    double success = 1 - failure_of(b);
    return success * success;
}

/* Relative cost: devices × time of a step. */
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
        return worth_of(b) * exp(b->mean); /* compared within one group only: see choose */
    return worth_of(b) * gain / cost_of(space, c, b);
}

/* --- whether to go on --- */

static struct left_expectation expected_over(const struct expectation *x, double beaten)
{
    double noise = REGRESSION_NOISE * REGRESSION_NOISE;
    return (struct left_expectation){x->mean - beaten, sqrt(fmax(x->deviation * x->deviation - noise, 0))};
}

/* The merit that is better by the gap. */
static double to_beat(const struct search *s, double best)
{
    return best - log1p(-fmin(search_number(s, SEARCH_TARGET_GAP), GAP_MOST));
}

static double chance_above(const struct estimate *b, double beaten)
{
    struct left_expectation believed = expected_over(&b->believed, beaten),
                            doubted = expected_over(&b->doubted, beaten);
    double above = b->trust * left_above_alone(&believed) + (1 - b->trust) * left_above_alone(&doubted);
    return above * (1 - failure_of(b));
}

/* The group's open candidates, likeliest to be better first. The caller frees them. */
static size_t *rank_group(const struct search *s, const struct model_strategy *m, size_t group, size_t *count)
{
    struct rank *ranks = xcalloc(s->space->count + 1, sizeof *ranks);
    *count = 0;
    for (size_t i = 0; i < s->space->count; i++)
        if (s->space->candidates[i].group == group && search_is_open(s, i))
            ranks[(*count)++] = (struct rank){i, m->chances[i], 0};
    return ranked(ranks, *count);
}

static double chance_jointly(const struct model_strategy *m, const struct estimate *all, const size_t *ranked,
                             size_t count, double beaten, double trust)
{
    struct left_expectation believed[DRAWN_MOST], doubted[DRAWN_MOST];
    count = count < DRAWN_MOST ? count : DRAWN_MOST;
    double failure[DRAWN_MOST], *correlation = xcalloc(count * count + 1, sizeof *correlation);
    for (size_t i = 0; i < count; i++) {
        const struct estimate *b = &all[ranked[i]];
        failure[i] = failure_of(b);
        believed[i] = expected_over(&b->believed, beaten);
        doubted[i] = expected_over(&b->doubted, beaten);
    }
    const size_t freedom = surrogate_correlation(m->surrogate, ranked, count, correlation);
    double chance =
        better_left(&(struct candidates_left){count, believed, doubted, trust, freedom, failure, correlation});
    free(correlation);
    return chance;
}

/* Skips the joint draws if one candidate alone is enough. */
static double chance_of_better(const struct search *s, const struct model_strategy *m, const struct estimate *all,
                               size_t group)
{
    size_t count;
    /* Without a gap, the search never has enough. */
    if (isinf(m->best[group]) || search_number(s, SEARCH_TARGET_GAP) <= 0)
        return 1;
    OWNED size_t *first = rank_group(s, m, group, &count);
    double chance = count == 0 ? 0 : m->chances[*first];
    if (count > 0 && chance < DOUBT)
        chance = chance_jointly(m, all, first, count, to_beat(s, m->best[group]), all[*first].trust);
    return chance;
}

static void fill_left(const struct search *s, const struct estimate *all, struct model_strategy *m)
{
    for (size_t i = 0; i < s->space->count; i++)
        if (search_is_open(s, i))
            m->chances[i] = chance_above(&all[i], to_beat(s, m->best[s->space->candidates[i].group]));
    for (size_t g = 0; g < s->space->group_count; g++)
        m->left[g] = chance_of_better(s, m, all, g);
}

/* --- what runs next --- */

/* One pass over the candidates. */
struct pass {
    double risk, risk_of_first; /* the most in a group with a result, and in one without */
    enum { BY_GAIN, BY_CHANCE } by;
};

static bool may_run(const struct estimate *b, double best, const struct pass *p)
{
    return failure_of(b) <= (isinf(best) ? p->risk_of_first : p->risk);
}

/* The first group in order among those without a result. */
static size_t first_empty_group(const struct search *s, const double *best, const struct estimate *all,
                                const struct pass *p)
{
    size_t group = NONE;
    for (size_t i = 0; i < s->space->count; i++) {
        size_t g = s->space->candidates[i].group;
        if (g < group && isinf(best[g]) && search_is_open(s, i) && may_run(&all[i], best[g], p))
            group = g;
    }
    return group;
}

/* Negative: not worth its run. */
static double score_in(const struct search *s, const struct model_strategy *m, const struct estimate *b,
                       size_t candidate, const struct pass *p)
{
    const struct candidate *x = &s->space->candidates[candidate];
    double best = m->best[x->group], gain = m->gains[candidate], gap = search_number(s, SEARCH_TARGET_GAP);
    if (p->by == BY_CHANCE && !isinf(best) && gap > 0)
        return m->chances[candidate] * (1 - failure_of(b));
    return worth_of(b) * gain >= gap || p->by == BY_CHANCE ? score_of(s->space, x, b, best, gain) : -1;
}

static void fill_scores(const struct search *s, const struct estimate *all, struct model_strategy *m,
                        const struct pass *p)
{
    size_t empty = first_empty_group(s, m->best, all, p);
    for (size_t i = 0; i < s->space->count; i++) {
        size_t group = s->space->candidates[i].group;
        bool takes_part = search_is_open(s, i) && may_run(&all[i], m->best[group], p) &&
                          (empty == NONE || group == empty) && m->left[group] >= DOUBT;
        m->scores[i] = takes_part ? score_in(s, m, &all[i], i, p) : -1;
    }
}

/* The candidate with the smallest draw among those that score at least this much. */
static size_t draw_alike(const struct search *s, const struct model_strategy *m, double score)
{
    uint64_t least = UINT64_MAX;
    size_t drawn = 0;
    for (size_t i = 0; i < s->space->count; i++) {
        if (m->scores[i] < score)
            continue;
        uint64_t draw = search_draw(s, s->space->candidates[i].identity, 0, UINT64_MAX);
        drawn = draw < least ? i : drawn;
        least = draw < least ? draw : least;
    }
    return drawn;
}

static struct choice choose(const struct search *s, const struct estimate *all, struct model_strategy *m,
                            const struct pass *p)
{
    struct choice c = {0};
    fill_scores(s, all, m, p);
    for (size_t i = 0; i < s->space->count; i++)
        if (m->scores[i] >= 0 && (!c.any || m->scores[i] > c.score))
            c = (struct choice){i, m->scores[i], m->gains[i], true};
    if (c.any && p->by == BY_GAIN && !isinf(m->best[s->space->candidates[c.candidate].group])) {
        c.candidate = draw_alike(s, m, ALIKE * c.score);
        c.gain = m->gains[c.candidate];
    }
    return c;
}

/* The candidate that would gain most by its chance of running, unless the last such candidate failed. Predictions that
 * nothing nearby has contradicted may be wrong, and a run there tells about all others. */
static struct choice choose_beyond(const struct search *s, const struct estimate *all, const struct model_strategy *m)
{
    struct choice c = {0};
    if (m->beyond != NONE && s->trials[m->beyond].state != TRIAL_OK)
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

/* Chooses as if predictions were wrong: where something better would then be left as likely as not, the likeliest such
 * candidate runs, and another for as long as each is the best so far. */
static struct choice choose_doubted(const struct search *s, const struct estimate *all, const struct model_strategy *m,
                                    size_t group)
{
    struct choice c = {0};
    size_t count, last = m->doubted[group];
    double best = m->best[group], beaten = to_beat(s, best);
    if (isinf(best) || (last != NONE && s->best[group].candidate != last))
        return c;
    OWNED size_t *first = rank_group(s, m, group, &count);
    if (count > 0 && all[*first].trust > 0 && chance_jointly(m, all, first, count, beaten, 0) >= EVEN)
        for (size_t i = 0; i < count; i++) {
            struct left_expectation x = expected_over(&all[first[i]].doubted, beaten);
            double score = left_above_alone(&x) * (1 - failure_of(&all[first[i]]));
            if (!c.any || score > c.score)
                c = (struct choice){first[i], score, m->gains[first[i]], true};
        }
    return c;
}

/* Candidates worth their run come first, then those that leave most doubt that the best was found. Candidates that
 * almost certainly fail run only in groups where nothing has run. */
static const struct pass passes[] = {{ALL_BUT_CERTAIN, SEARCH_HOPELESS, BY_GAIN},
                                     {ALL_BUT_CERTAIN, SEARCH_HOPELESS, BY_CHANCE},
                                     {NO_RISK, 1, BY_CHANCE}};

/* Merit of the group's best but one; -INFINITY: none. */
static double merit_behind(const struct search *s, size_t group)
{
    double behind = -INFINITY;
    for (size_t i = 0; i < s->space->count; i++)
        if (s->space->candidates[i].group == group && s->trials[i].state == TRIAL_OK && i != s->best[group].candidate)
            behind = fmax(behind, merit_of(s->space, s->trials[i].outcome.objective));
    return behind;
}

/* Chooses as if the group's best were a mistake: where it is the only run, or all others say that it is. */
static struct choice choose_against(const struct search *s, struct model_strategy *m, size_t group,
                                    const struct estimate **all)
{
    struct choice c = {0};
    size_t at = s->best[group].candidate;
    double merit = s->best[group].any ? merit_of(s->space, s->best[group].objective) : -INFINITY,
           behind = merit_behind(s, group);
    if (isinf(merit) || merit <= to_beat(s, behind))
        return c;
    *all = surrogate_without(m->surrogate, at);
    if (s->counts.measured > 1 && merit - (*all)[at].mean <= SUSPECT * (*all)[at].deviation)
        return c;
    m->best[group] = behind;
    fill_gains(s, *all, m);
    fill_left(s, *all, m);
    for (size_t g = 0; g < s->space->group_count; g++)
        m->left[g] *= g == group;
    for (size_t i = 0; i < LENGTH(passes) && !c.any; i++)
        c = choose(s, *all, m, &(struct pass){passes[i].risk, SEARCH_RISKY, passes[i].by});
    return c;
}

static void decide_on(const struct search *s, const struct model_strategy *m, const struct estimate *all,
                      const struct choice *c, struct decision *out)
{
    const struct estimate *b = &all[c->candidate];
    size_t group = s->space->candidates[c->candidate].group;
    double best = m->best[group];
    out->candidate = c->candidate;
    out->lineage = s->space->candidates[c->candidate].identity;
    out->index = s->counts.trials;
    if (!isinf(best) || b->trust > 0) /* merits by arithmetic have no unit */
        explain(out, "expected objective %.4g ± %.0f %%, ", merit_objective(s->space, b->mean), 100 * b->deviation);
    explain(out, "fails with %.0f %%", 100 * failure_of(b));
    if (s->best[group].any && best < merit_of(s->space, s->best[group].objective))
        explain(out, "; the most promising if the best is a mistake");
    else if (isinf(best))
        explain(out, "; the most promising of a group without results");
    else
        explain(out, c->gain < 0.1 ? "; expected gain over the best %.2g %%" : "; expected gain over the best %.0f %%",
                100 * c->gain);
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
        explain(out, "all candidates have been tried");
    else if (risky == 0)
        explain(out, "no remaining candidate is expected to beat the best by %.3g %%", 100 * gap);
    else
        explain(out,
                "no remaining candidate is worth its risk: %zu might beat the best by %.3g %%, but each fails with a "
                "probability of at least %.0f %%",
                risky, 100 * gap, 100 * least);
}

static enum search_answer model_ask(struct search *s, void *own, struct decision *out)
{
    struct model_strategy *m = own;
    const struct estimate *all = surrogate_without(m->surrogate, NONE);
    find_bests(s, all, m->best);
    fill_gains(s, all, m);
    fill_left(s, all, m);
    struct choice c = {0};
    for (size_t i = 0; i < LENGTH(passes) && !c.any; i++)
        c = choose(s, all, m, &passes[i]);
    if (!c.any) {
        c = choose_beyond(s, all, m);
        m->beyond = c.any ? c.candidate : m->beyond;
    }
    for (size_t g = 0; !c.any && g < s->space->group_count && search_number(s, SEARCH_TARGET_GAP) > 0; g++) {
        c = choose_doubted(s, all, m, g);
        m->doubted[g] = c.any ? c.candidate : m->doubted[g];
    }
    for (size_t g = 0; !c.any && g < s->space->group_count && search_number(s, SEARCH_TARGET_GAP) > 0; g++)
        c = choose_against(s, m, g, &all);
    if (!c.any) {
        all = surrogate_without(m->surrogate, NONE);
        find_bests(s, all, m->best);
        fill_gains(s, all, m);
        explain_end(s, m, all, out);
        return SEARCH_FINISHED;
    }
    decide_on(s, m, all, &c, out);
    return SEARCH_RUN;
}

const struct algorithm algorithm_model = {.own_size = sizeof(struct model_strategy),
                                          .create = model_create,
                                          .free = model_free,
                                          .ask = model_ask,
                                          .tell = model_tell};
