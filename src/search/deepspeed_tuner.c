#include "search/deepspeed_tuner.h"

#include <stdlib.h>

#include "util/memory.h"
#include "util/rng.h"

#define DRAWN_FIRST 2
#define ROUNDS 30
#define RATE 0.3

struct candidate_draw {
    size_t candidate;
    uint64_t draw;
};

static int compare_draws(const void *a, const void *b)
{
    const struct candidate_draw *x = a, *y = b;
    if (x->draw != y->draw)
        return x->draw < y->draw ? -1 : 1;
    return (x->candidate > y->candidate) - (x->candidate < y->candidate);
}

void tuner_order(const struct search *s, enum deepspeed_tuner tuner, size_t *candidates, size_t count)
{
    struct candidate_draw *drawn = xcalloc(count + 1, sizeof *drawn);
    uint64_t seed = (uint64_t)search_number(s, SEARCH_RANDOM_SEED);
    for (size_t i = 0; i < count; i++) {
        const struct candidate *c = &s->space->candidates[candidates[i]];
        /* DeepSpeed keeps the grid's list in a set, whose order differs from process to process. */
        drawn[i] = (struct candidate_draw){candidates[i], rng_at(seed + (tuner == TUNER_GRID), c->identity)};
    }
    qsort(drawn, count, sizeof *drawn, compare_draws);
    for (size_t i = 0; i < count; i++)
        candidates[i] = drawn[i].candidate;
    free(drawn);
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
    if (t->state == TRIAL_FAILED || isnan(t->objective) || !(best > 0))
        return 0;
    return s->space->maximise ? t->objective / best : best / t->objective;
}

static double best_of(const struct search *s, const size_t *tried, size_t count)
{
    double best = NAN;
    for (size_t i = 0; i < count; i++)
        if (search_better(s->space, s->trials[tried[i]].objective, best))
            best = s->trials[tried[i]].objective;
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

void tuner_rank(const struct search *s, size_t *candidates, size_t count, size_t tried)
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
