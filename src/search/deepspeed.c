/* DeepSpeed's autotuning (0.16, deepspeed/autotuning) as a procedure over known results: every question replays it from
 * the beginning until it needs a result that is missing. One trial at a time.
 *
 * For each stage, with one configuration drawn for it: the smallest micro-batch that runs (starting from the one that
 * the previous stage reached), the largest (5 % above the estimate, the estimate, 5 % below, then a bisection that ends
 * when it gains less than 5 %), and a few between half of the largest and the largest. If the stage improved on the
 * previous one, a tuner then tries all its configurations with these micro-batches; it ends after early_stopping trials
 * without improvement, or after 50.
 *
 * As in DeepSpeed, a stage is skipped if its estimate is below what the previous stage reached, later stages do not
 * repeat smaller micro-batches, and only the metric is compared. Left out are what crashed, the profile run (estimates
 * are predictions, or the largest micro-batch in the space), and the refinement, which could not win. Unlike in
 * DeepSpeed, stage 0 is tuned, because here it may have several configurations, and a metric's direction is respected.
 */
#include <stdlib.h>
#include <string.h>

#include "search/state.h"
#include "util/memory.h"
#include "util/rng.h"

#define TUNER_TRIALS 50
#define LEAST_GAIN 0.05

/* --- the tuners, over a list of experiments --- */

#define DRAWN_FIRST 2
#define ROUNDS 30
#define RATE 0.3

/* The order in which the tuner would try the candidates, as far as that is known. Grid and random each have a fixed
 * order, from draws of their own: DeepSpeed keeps the grid's list in a set, whose order differs from process to
 * process. The caller frees it. */
static size_t *tuner_order(const struct search *s, const size_t *candidates, size_t count)
{
    struct rank *ranks = xcalloc(count + 1, sizeof *ranks);
    uint64_t seed = (uint64_t)search_number(s, SEARCH_RANDOM_SEED) + (s->strategy == STRATEGY_DEEPSPEED_GRID);
    for (size_t i = 0; i < count; i++)
        ranks[i] = (struct rank){candidates[i], 0, rng_at(seed, s->space->candidates[candidates[i]].identity)};
    return ranked(ranks, count);
}

struct stump {
    size_t key;
    double at, low, high; /* split value; outputs at or below it, and above it */
};

static double feature(const struct search *s, size_t candidate, size_t key)
{
    double value = s->space->candidates[candidate].values[key];
    return isnan(value) ? 0 : value;
}

static double side(const struct stump *t, double value)
{
    return value <= t->at ? t->low : t->high;
}

/* Splits one key at one value: fills the stump and returns its squared error. */
static double split(const struct search *s, const size_t *tried, const double *left, size_t count, struct stump *t)
{
    double sums[2] = {0, 0}, squares = 0;
    size_t counts[2] = {0, 0};
    for (size_t i = 0; i < count; i++) {
        int above = feature(s, tried[i], t->key) > t->at;
        sums[above] += left[i];
        counts[above]++;
    }
    t->low = counts[0] ? sums[0] / (double)counts[0] : 0;
    t->high = counts[1] ? sums[1] / (double)counts[1] : 0;
    for (size_t i = 0; i < count; i++) {
        double error = left[i] - side(t, feature(s, tried[i], t->key));
        squares += error * error;
    }
    return squares;
}

static struct stump best_stump(const struct search *s, const size_t *tried, const double *left, size_t count)
{
    struct stump best = {0};
    double least = INFINITY;
    for (size_t k = 0; k < s->space->key_count; k++)
        for (size_t i = 0; i < count; i++) {
            struct stump t = {.key = k, .at = feature(s, tried[i], k)};
            double error = split(s, tried, left, count, &t);
            if (error < least) {
                least = error;
                best = t;
            }
        }
    return best;
}

static double target(const struct search *s, size_t candidate, double best)
{
    const struct trial *t = &s->trials[candidate];
    if (t->state == TRIAL_FAILED || isnan(t->outcome.objective) || !(best > 0))
        return 0;
    return s->space->maximise ? t->outcome.objective / best : best / t->outcome.objective;
}

static double best_of(const struct search *s, const size_t *tried, size_t count)
{
    double best = NAN;
    for (size_t i = 0; i < count; i++)
        if (search_better(s->space, s->trials[tried[i]].outcome.objective, best))
            best = s->trials[tried[i]].outcome.objective;
    return best;
}

static void fit(const struct search *s, const size_t *tried, size_t count, struct stump *stumps)
{
    double *left = xcalloc(count + 1, sizeof *left), best = best_of(s, tried, count);
    for (size_t i = 0; i < count; i++)
        left[i] = target(s, tried[i], best);
    for (size_t r = 0; r < ROUNDS; r++) {
        stumps[r] = best_stump(s, tried, left, count);
        for (size_t i = 0; i < count; i++)
            left[i] -= RATE * side(&stumps[r], feature(s, tried[i], stumps[r].key));
    }
    free(left);
}

/* Moves the untried candidate that a model of candidates[0 … tried - 1] ranks first to candidates[tried]. The model
 * boosts least-squares stumps over all keys; it is fitted to objectives as shares of the best, failures as 0.
 * (DeepSpeed fits XGBoost's pairwise ranking to the same data.) The first two are drawn. */
static void tuner_rank(const struct search *s, size_t *candidates, size_t count, size_t tried)
{
    struct stump stumps[ROUNDS];
    size_t best = tried;
    double highest = -INFINITY;
    if (tried < DRAWN_FIRST || tried >= count)
        return;
    fit(s, candidates, tried, stumps);
    for (size_t i = tried; i < count; i++) {
        double sum = 0;
        for (size_t r = 0; r < ROUNDS; r++)
            sum += RATE * side(&stumps[r], feature(s, candidates[i], stumps[r].key));
        if (sum > highest) {
            highest = sum;
            best = i;
        }
    }
    size_t chosen = candidates[best];
    candidates[best] = candidates[tried];
    candidates[tried] = chosen;
}

/* --- the procedure --- */

/* How far the experiments of a stage are ranked. Every question replays the whole procedure; ranks that the model gave
 * for the same outcomes are kept instead of fitting it again. */
struct ranking {
    size_t *from, *list; /* in the order of experiments(), and ranked; NULL: not yet */
    size_t count, ranked;
};

/* One pass through the procedure. */
struct flow {
    struct search *s;
    struct ranking *rankings;                       /* by stage */
    double last_max, last_micro_batch, last_metric; /* of the previous stage; NAN: none */
};

struct stage {
    size_t base; /* the family that it starts with */
    size_t number;
    double largest, best_micro_batch, best_metric;
    double sizes[64];
    size_t size_count;
};

/* Returns whether the result is known. *metric is NAN for a failure. */
static bool result(struct flow *f, size_t candidate, const char *why, double *metric)
{
    *metric = f->s->trials[candidate].outcome.objective;
    return search_knows(f->s, candidate, why);
}

static double micro_batch_of(const struct flow *f, size_t candidate)
{
    return f->s->space->candidates[candidate].micro_batch;
}

/* The member of the family with the largest micro-batch up to the given one; if all are larger, the first. */
static size_t member_at(const struct flow *f, size_t family, double micro_batch)
{
    size_t at = family_at_most(f->s, family, micro_batch);
    return family_member(f->s, family, at == NONE ? 0 : at);
}

static bool gains(const struct flow *f, double metric, double over)
{
    if (isnan(over))
        return !isnan(metric);
    return f->s->space->maximise ? metric > over * (1 + LEAST_GAIN) : metric < over * (1 - LEAST_GAIN);
}

/* --- one stage --- */

static bool bisect(struct flow *f, struct stage *g, double low, double high)
{
    double last = NAN, metric;
    while (low <= high) {
        double middle = floor((low + high) / 2);
        size_t c = member_at(f, g->base, middle);
        if (!result(f, c, "bisection for the largest micro-batch", &metric))
            return false;
        if (isnan(metric)) {
            high = middle - 1;
            continue;
        }
        if (micro_batch_of(f, c) > g->largest)
            g->largest = micro_batch_of(f, c);
        if (!isnan(last) && !gains(f, metric, last))
            break;
        last = metric;
        low = middle + 1;
    }
    return true;
}

static bool find_largest(struct flow *f, struct stage *g, double least, double estimate)
{
    const double tries[] = {ceil(1.05 * estimate), estimate, floor(0.95 * estimate)};
    double metric;
    g->largest = least;
    for (size_t i = 0; i < LENGTH(tries); i++) {
        size_t c = member_at(f, g->base, tries[i]);
        if (!result(f, c, "near the estimated largest micro-batch", &metric))
            return false;
        if (!isnan(metric)) {
            g->largest = fmax(least, micro_batch_of(f, c));
            return true;
        }
    }
    return bisect(f, g, least, estimate);
}

static void add_size(struct flow *f, struct stage *g, double micro_batch)
{
    double size = micro_batch_of(f, member_at(f, g->base, micro_batch));
    for (size_t i = 0; i < g->size_count; i++)
        if (g->sizes[i] == size)
            return;
    if (g->size_count < LENGTH(g->sizes))
        g->sizes[g->size_count++] = size;
}

static bool sweep_sizes(struct flow *f, struct stage *g, double least)
{
    double half = floor(g->largest / 2), from = least < half ? half : least;
    double stride = floor((g->largest - from) / search_number(f->s, SEARCH_NUM_TUNING_MICRO_BATCH_SIZES));
    double m = from;
    while (m < g->largest) {
        add_size(f, g, m);
        m += stride < 1 ? 1 : stride;
    }
    add_size(f, g, g->largest);
    g->best_metric = NAN;
    for (size_t i = 0; i < g->size_count; i++) {
        double metric;
        if (!result(f, member_at(f, g->base, g->sizes[i]), "micro-batches up to the largest", &metric))
            return false;
        if (search_better(f->s->space, metric, g->best_metric)) {
            g->best_metric = metric;
            g->best_micro_batch = g->sizes[i];
        }
    }
    return true;
}

/* Every configuration of the stage with every micro-batch of the list. The caller frees it. */
static size_t *experiments(const struct flow *f, const struct stage *g, size_t *count)
{
    size_t *list = xcalloc(f->s->families.count * (g->size_count + 1) + 1, sizeof *list);
    *count = 0;
    for (size_t family = 0; family < f->s->families.count; family++) {
        if (family_stage(f->s, family) != g->number)
            continue;
        for (size_t i = 0; i < g->size_count; i++) {
            size_t c = member_at(f, family, g->sizes[i]);
            if (*count == 0 || list[*count - 1] != c)
                list[(*count)++] = c;
        }
    }
    return list;
}

/* The ranking of these experiments, which come in the tuner's first order. Takes ownership of `list`. */
static struct ranking *take_ranking(struct flow *f, const struct stage *g, size_t *list, size_t count)
{
    struct ranking *r = &f->rankings[g->number];
    if (r->from && r->count == count && memcmp(r->from, list, count * sizeof *list) == 0) {
        free(list);
        return r;
    }
    size_t *ranked_list = arena_keep(&f->s->arena, xcalloc(count + 1, sizeof *list));
    *r = (struct ranking){arena_keep(&f->s->arena, list), memcpy(ranked_list, list, count * sizeof *list), count, 0};
    return r;
}

static bool tune(struct flow *f, struct stage *g)
{
    size_t count, best_at = 0;
    OWNED size_t *all = experiments(f, g, &count);
    double best = NAN, patience = search_number(f->s, SEARCH_EARLY_STOPPING);
    bool known = true;
    struct ranking *r = take_ranking(f, g, tuner_order(f->s, all, count), count);
    for (size_t i = 0; known && i < count && i < TUNER_TRIALS; i++) {
        double metric;
        if (patience > 0 && (double)i >= (double)best_at + patience)
            break;
        if (f->s->strategy == STRATEGY_DEEPSPEED_MODEL && i >= r->ranked) {
            tuner_rank(f->s, r->list, count, i);
            r->ranked = i + 1;
        }
        known = result(f, r->list[i], "a tuner's experiment", &metric);
        if (known && search_better(f->s->space, metric, best)) {
            best = metric;
            best_at = i;
        }
    }
    if (known && search_better(f->s->space, best, g->best_metric))
        g->best_metric = best;
    return known;
}

/* False: a result is missing. */
static bool go_through_stage(struct flow *f, struct stage *g)
{
    double metric, estimate = family_micro_batch(f->s, g->base, family_estimate(f->s, g->base, 1));
    if (estimate < f->last_max)
        return true;
    size_t least = isnan(f->last_max) ? family_member(f->s, g->base, 0) : member_at(f, g->base, f->last_max);
    if (!result(f, least, "the smallest micro-batch of the stage", &metric))
        return false;
    if (isnan(metric))
        return true;
    if (!find_largest(f, g, micro_batch_of(f, least), estimate) || !sweep_sizes(f, g, micro_batch_of(f, least)))
        return false;
    bool better = isnan(f->last_metric) || (g->best_micro_batch > f->last_micro_batch &&
                                            search_better(f->s->space, g->best_metric, f->last_metric));
    if (better && !tune(f, g))
        return false;
    f->last_max = g->largest;
    if (better) {
        f->last_micro_batch = g->best_micro_batch;
        f->last_metric = g->best_metric;
    }
    return true;
}

static void go_through(struct search *s, void *own)
{
    struct flow f = {.s = s, .rankings = own, .last_max = NAN, .last_micro_batch = NAN, .last_metric = NAN};
    bool known = true;
    for (size_t stage = 0; known && stage < FAMILY_STAGES; stage++) {
        /* The configuration that a person would have started with is not known, so it is drawn. */
        struct stage g = {.base = families_draw(s, stage, stage, 0), .number = stage};
        known = g.base == NONE || go_through_stage(&f, &g);
    }
}

const struct algorithm algorithm_deepspeed = {.own_size = FAMILY_STAGES * sizeof(struct ranking),
                                              .is_of_families = true,
                                              .go_through = go_through};
