#include "search/surrogate.h"

#include <stdlib.h>
#include <string.h>

#include "search/belief.h"
#include "search/memory_limit.h"
#include "util/linear.h"
#include "util/memory.h"
#include "util/quantile.h"

#define OBSERVED_MOST 160 /* beyond, what is believed does not change any more */
#define NOISE 0.05        /* of a measurement, relative: repeats of a step time differ by that */
#define PIVOT_LEAST 1e-12 /* of the kernel's matrix: what rounding leaves of alike rows */
#define SPREAD_LEAST 0.10
#define SPREAD_UNKNOWN 0.30 /* where nothing is predicted and little measured */
#define RESIDUAL_MOST 1.0   /* a run that is slower still is broken: its neighbours need not be */
/* Of the kernel, in ranges of a key, times the root of how many keys differ: exp(√2 - 3), the mode of the prior of
 * Hvarfner, Hellsten and Nardi, "Vanilla Bayesian Optimization Performs Great in High Dimensions" (ICML 2024), where
 * BoTorch begins. From no measured table. */
#define LENGTH 0.205
#define BELIEVED 0.5 /* a trust or a slope */
#define FAILURE_PRIOR 0.02
#define FAILURE_WEIGHT 1.0 /* of the prior, in neighbours */

struct surrogate {
    const struct search *s;
    struct estimate *all;
    bool stale, believed;
    /* Keys that differ, as coordinates: positive numbers in doublings. */
    float *coordinates;
    bool *is_number;
    size_t dimensions;
    size_t micro_batch; /* which coordinate it is; SIZE_MAX: none */
    bool *of_batch;     /* by key of the space: differs within a configuration */
    /* Candidates with outcomes, by number, and the kernel from each to all. */
    size_t *told;
    float **kernels;
    size_t told_count;
    /* By memory class: what has shown itself. NAN: nothing. */
    double *largest_fit, *smallest_oom;
};

/* --- coordinates --- */

static bool same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

static bool differs(const struct search_space *space, size_t key)
{
    for (size_t i = 1; i < space->count; i++)
        if (!same(space->candidates[i].values[key], space->candidates[0].values[key]))
            return true;
    return false;
}

static bool is_number(const struct search_space *space, size_t key)
{
    for (size_t i = 0; i < space->count; i++)
        if (!(space->candidates[i].values[key] > 0))
            return false;
    return true;
}

/* Numbers become shares of their range in doublings. Texts are huge negative codes: folded into what a float holds
 * apart. */
static float coordinate(double value, bool number, double low, double range)
{
    if (number)
        return (float)((log2(value) - low) / range);
    return (float)(isnan(value) ? -1e9 : fmod(value, 8388593));
}

static void take_key(struct surrogate *b, size_t key, size_t d)
{
    const struct search_space *space = b->s->space;
    double low = INFINITY, high = -INFINITY;
    b->is_number[d] = is_number(space, key);
    for (size_t i = 0; i < space->count && b->is_number[d]; i++) {
        low = fmin(low, log2(space->candidates[i].values[key]));
        high = fmax(high, log2(space->candidates[i].values[key]));
    }
    for (size_t i = 0; i < space->count; i++)
        b->coordinates[i * b->dimensions + d] =
            coordinate(space->candidates[i].values[key], b->is_number[d], low, high - low);
}

static bool is_micro_batch(const struct search_space *space, size_t key)
{
    size_t i = 0;
    while (i < space->count && space->candidates[i].values[key] == space->candidates[i].micro_batch)
        i++;
    return i == space->count;
}

static void take_coordinates(struct surrogate *b)
{
    const struct search_space *space = b->s->space;
    size_t *keys = xcalloc(space->key_count + 1, sizeof *keys);
    for (size_t k = 0; k < space->key_count; k++)
        if (differs(space, k))
            keys[b->dimensions++] = k;
    b->is_number = xcalloc(b->dimensions + 1, sizeof *b->is_number);
    b->coordinates = xcalloc(space->count + 1, (b->dimensions + 1) * sizeof *b->coordinates);
    b->micro_batch = SIZE_MAX;
    for (size_t d = 0; d < b->dimensions; d++) {
        take_key(b, keys[d], d);
        if (b->is_number[d] && is_micro_batch(space, keys[d]))
            b->micro_batch = d;
    }
    free(keys);
}

/* The micro-batch and what follows from it. */
static void mark_batch_keys(struct surrogate *b)
{
    const struct search_space *space = b->s->space;
    size_t *first = xcalloc(space->configuration_count + 1, sizeof *first); /* its number and 1; 0: none so far */
    b->of_batch = xcalloc(space->key_count + 1, sizeof *b->of_batch);
    for (size_t i = 0; i < space->count; i++) {
        const struct candidate *c = &space->candidates[i];
        size_t *seen = &first[c->configuration];
        if (*seen == 0)
            *seen = i + 1;
        for (size_t k = 0; k < space->key_count; k++)
            b->of_batch[k] |= !same(c->values[k], space->candidates[*seen - 1].values[k]);
    }
    free(first);
}

static float kernel(const struct surrogate *b, size_t i, size_t j)
{
    const float *x = b->coordinates + i * b->dimensions, *y = b->coordinates + j * b->dimensions;
    float sum = 0;
    for (size_t d = 0; d < b->dimensions; d++) {
        float distance = b->is_number[d] ? x[d] - y[d] : x[d] == y[d] ? 0 : 1;
        sum += distance * distance;
    }
    return b->dimensions ? expf(-sum / (2 * (float)(LENGTH * LENGTH) * (float)b->dimensions)) : 1;
}

/* --- outcomes --- */

struct surrogate *surrogate_create(const struct search *s)
{
    struct surrogate *b = xcalloc(1, sizeof *b);
    b->s = s;
    b->stale = b->believed = true;
    b->all = xcalloc(s->space->count + 1, sizeof *b->all);
    b->largest_fit = xcalloc(s->space->memory_class_count + 1, sizeof *b->largest_fit);
    b->smallest_oom = xcalloc(s->space->memory_class_count + 1, sizeof *b->smallest_oom);
    for (size_t i = 0; i < s->space->memory_class_count; i++)
        b->largest_fit[i] = b->smallest_oom[i] = NAN;
    take_coordinates(b);
    mark_batch_keys(b);
    return b;
}

void surrogate_free(struct surrogate *b)
{
    if (!b)
        return;
    for (size_t i = 0; i < b->told_count; i++)
        free(b->kernels[i]);
    free(b->kernels);
    free(b->told);
    free(b->coordinates);
    free(b->is_number);
    free(b->of_batch);
    free(b->largest_fit);
    free(b->smallest_oom);
    free(b->all);
    free(b);
}

static void note_memory(struct surrogate *b, size_t candidate)
{
    const struct candidate *c = &b->s->space->candidates[candidate];
    const struct trial *t = &b->s->trials[candidate];
    double *fit = &b->largest_fit[c->memory_class], *oom = &b->smallest_oom[c->memory_class];
    if (isnan(c->micro_batch))
        return;
    if (t->out_of_memory && !(*oom <= c->micro_batch))
        *oom = c->micro_batch;
    if (t->state != TRIAL_FAILED && !(*fit >= c->micro_batch))
        *fit = c->micro_batch;
}

void surrogate_tell(struct surrogate *b, size_t candidate)
{
    b->stale = true;
    note_memory(b, candidate);
    size_t at = 0;
    while (at < b->told_count && b->told[at] < candidate)
        at++;
    if ((at < b->told_count && b->told[at] == candidate) || b->told_count >= OBSERVED_MOST)
        return;
    b->told = array_grow(b->told, b->told_count, sizeof *b->told);
    b->kernels = array_grow(b->kernels, b->told_count, sizeof *b->kernels);
    memmove(b->told + at + 1, b->told + at, (b->told_count - at) * sizeof *b->told);
    memmove(b->kernels + at + 1, b->kernels + at, (b->told_count - at) * sizeof *b->kernels);
    float *row = xcalloc(b->s->space->count + 1, sizeof *row);
    for (size_t i = 0; i < b->s->space->count; i++)
        row[i] = kernel(b, i, candidate);
    b->told[at] = candidate;
    b->kernels[at] = row;
    b->told_count++;
}

/* --- merits --- */

double merit_of(const struct search_space *space, double objective)
{
    double least = 1e-300;
    double magnitude = log(objective > least ? objective : least);
    return space->maximise ? magnitude : -magnitude;
}

double merit_objective(const struct search_space *space, double merit)
{
    return exp(space->maximise ? merit : -merit);
}

static bool has_merit(const struct trial *t)
{
    return t->state == TRIAL_OK || t->state == TRIAL_STOPPED;
}

static double weighted(const struct calibration *c, const struct calibration_prior *prior, const double *terms)
{
    return weighted_sum(c ? c->weights : prior->weights, terms, prior->terms);
}

/* Seconds of a step as measured; else what the objective says, in the objective's units. */
static double seconds_measured(const struct surrogate *b, size_t candidate)
{
    const struct candidate *c = &b->s->space->candidates[candidate];
    const struct trial *t = &b->s->trials[candidate];
    if (t->seconds > 0)
        return t->seconds;
    if (b->s->space->relation == SEARCH_RATE && t->objective > 0)
        return c->work / t->objective;
    return b->s->space->relation == SEARCH_TIME && t->objective > 0 ? t->objective : NAN;
}

/* --- calibration --- */

struct fitted {
    struct calibration memory, time;
    bool has_memory, has_time;
    struct memory_belief belief;
};

/* Where the objective alone tells the time, its unit may be any: brought to that of the predictions. */
static double unit_of_time(const struct surrogate *b)
{
    double ratios[OBSERVED_MOST];
    size_t count = 0;
    for (size_t i = 0; i < b->told_count; i++) {
        const struct candidate *c = &b->s->space->candidates[b->told[i]];
        double measured = seconds_measured(b, b->told[i]);
        if (has_merit(&b->s->trials[b->told[i]]) && measured > 0 && c->seconds > 0) {
            if (b->s->trials[b->told[i]].seconds > 0)
                return 1;
            ratios[count++] = measured / c->seconds;
        }
    }
    return count ? median(ratios, count) : 1;
}

static size_t take_times(const struct surrogate *b, size_t place, double unit, struct observation *out)
{
    size_t count = 0;
    for (size_t i = 0; i < b->told_count; i++) {
        const struct candidate *c = &b->s->space->candidates[b->told[i]];
        double measured = seconds_measured(b, b->told[i]) / unit;
        if (c->place != place || !c->time_terms || !has_merit(&b->s->trials[b->told[i]]) || !(measured > 0))
            continue;
        out[count] = (struct observation){.y = measured, .kind = OBSERVATION_MEASURED};
        memcpy(out[count++].terms, c->time_terms, sizeof out->terms);
    }
    return count;
}

static size_t take_memories(const struct surrogate *b, size_t place, struct observation *out)
{
    size_t count = 0;
    for (size_t i = 0; i < b->told_count; i++) {
        const struct candidate *c = &b->s->space->candidates[b->told[i]];
        const struct trial *t = &b->s->trials[b->told[i]];
        if (c->place != place || !c->memory_terms || !(c->usable_bytes > 0) ||
            (t->state == TRIAL_FAILED && !t->out_of_memory))
            continue;
        struct observation o = {.y = c->usable_bytes, .kind = OBSERVATION_AT_LEAST};
        if (!t->out_of_memory) {
            o.kind = t->bytes > 0 ? OBSERVATION_MEASURED : OBSERVATION_AT_MOST;
            o.y = t->bytes > 0 ? t->bytes : c->usable_bytes;
        }
        memcpy(o.terms, c->memory_terms, sizeof o.terms);
        out[count++] = o;
    }
    return count;
}

static void fit_place(const struct surrogate *b, size_t place, double unit, struct fitted *out)
{
    const struct search_place *p = &b->s->space->places[place];
    struct observation *observations = xcalloc(OBSERVED_MOST, sizeof *observations);
    struct error ignored;
    size_t count = take_times(b, place, unit, observations);
    out->has_time = p->has_time && calibrate(&p->time, observations, count, NULL, &out->time, &ignored) == 0;
    count = take_memories(b, place, observations);
    out->has_memory = p->has_memory && calibrate(&p->memory, observations, count, NULL, &out->memory, &ignored) == 0;
    if (out->has_memory)
        memory_belief_learn(&p->memory, &out->memory, observations, count, &out->belief);
    free(observations);
}

/* --- the prior and the level --- */

/* The probability that predicted times say something, by the seconds that runs took. */
static double trust_of(const struct surrogate *b, const struct fitted *fits)
{
    struct compared_time runs[OBSERVED_MOST];
    size_t count = 0;
    for (size_t i = 0; i < b->told_count; i++) {
        const struct candidate *c = &b->s->space->candidates[b->told[i]];
        const struct trial *t = &b->s->trials[b->told[i]];
        if (has_merit(t) && t->seconds > 0 && c->seconds > 0 && fits[c->place].has_time)
            runs[count++] = (struct compared_time){c->seconds, t->seconds, b->s->space->places[c->place].time.sigma};
    }
    return time_belief_trust(runs, count);
}

static double prior_merit(const struct surrogate *b, const struct fitted *fits, const struct candidate *c,
                          bool as_fitted)
{
    const struct search_space *space = b->s->space;
    if (isnan(search_predicted_log(space, c)))
        return NAN;
    double seconds = c->seconds;
    if (as_fitted && c->time_terms && fits[c->place].has_time)
        seconds = weighted(&fits[c->place].time, &space->places[c->place].time, c->time_terms);
    return (space->relation == SEARCH_RATE ? log(c->work) : 0) - log(seconds);
}

static void fill_priors(struct surrogate *b, const struct fitted *fits, bool as_fitted)
{
    const struct search_space *space = b->s->space;
    double least = INFINITY;
    for (size_t i = 0; i < space->count; i++) {
        b->all[i].mean = prior_merit(b, fits, &space->candidates[i], as_fitted);
        if (b->all[i].mean < least)
            least = b->all[i].mean;
    }
    /* What cannot be predicted is taken for no better than the worst that can. */
    for (size_t i = 0; i < space->count; i++)
        if (isnan(b->all[i].mean))
            b->all[i].mean = isfinite(least) ? least : 0;
}

static double spread_of(const struct surrogate *b, const struct fitted *fits, const double *residuals, size_t count)
{
    double squares = 0, prior = SPREAD_UNKNOWN;
    for (size_t i = 0; i < b->s->space->place_count; i++)
        if (fits[i].has_time)
            prior = fits[i].time.sigma;
    for (size_t i = 0; i < count; i++)
        squares += residuals[i] * residuals[i];
    /* The prior counts as three measurements: what a calibration needs before it is believed at all. */
    double spread = sqrt((3 * prior * prior + squares) / (3 + (double)count));
    return spread > SPREAD_LEAST ? spread : SPREAD_LEAST;
}

/* --- the slope --- */

static struct time_slope slope_of_priors(const struct surrogate *b, const struct fitted *fits, bool as_fitted,
                                         double trust)
{
    double prior[OBSERVED_MOST], merit[OBSERVED_MOST];
    size_t n = 0;
    for (size_t i = 0; i < b->told_count; i++) {
        const struct trial *t = &b->s->trials[b->told[i]];
        double predicted = prior_merit(b, fits, &b->s->space->candidates[b->told[i]], as_fitted);
        if (!has_merit(t) || isnan(predicted))
            continue;
        prior[n] = predicted;
        merit[n++] = merit_of(b->s->space, t->objective);
    }
    return time_belief_slope(prior, merit, n, trust, spread_of(b, fits, NULL, 0));
}

static bool any_predicted(const struct search_space *space)
{
    size_t i = 0;
    while (i < space->count && isnan(search_predicted_log(space, &space->candidates[i])))
        i++;
    return i < space->count;
}

/* With the weights as fitted where the predictions rank well as they are: a fit to what contradicts them bends them. */
static void fill_means(struct surrogate *b, const struct fitted *fits)
{
    double trust = trust_of(b, fits);
    bool as_fitted = slope_of_priors(b, fits, false, 1).slope > BELIEVED;
    struct time_slope slope = slope_of_priors(b, fits, as_fitted, trust);
    b->believed = any_predicted(b->s->space) && trust > BELIEVED && slope.slope > BELIEVED;
    fill_priors(b, fits, as_fitted);
    for (size_t i = 0; i < b->s->space->count; i++)
        b->all[i].mean = slope.middle + slope.slope * (b->all[i].mean - slope.middle);
}

/* --- residuals --- */

/* Numbers in b->told of those with a merit, and what each lies above the prior and level. */
struct residuals {
    size_t at[OBSERVED_MOST];
    double values[OBSERVED_MOST];
    size_t count;
    double level;
};

static void take_residuals(const struct surrogate *b, struct residuals *r)
{
    double sorted[OBSERVED_MOST];
    r->count = 0;
    for (size_t i = 0; i < b->told_count; i++) {
        const struct trial *t = &b->s->trials[b->told[i]];
        if (!has_merit(t))
            continue;
        r->at[r->count] = i;
        r->values[r->count] = merit_of(b->s->space, t->objective) - b->all[b->told[i]].mean;
        sorted[r->count] = r->values[r->count];
        r->count++;
    }
    r->level = r->count ? median(sorted, r->count) : 0;
    for (size_t i = 0; i < r->count; i++) {
        double value = r->values[i] - r->level;
        r->values[i] = value > RESIDUAL_MOST ? RESIDUAL_MOST : value < -RESIDUAL_MOST ? -RESIDUAL_MOST : value;
    }
}

static void add_kernel(const float *kernels, float weight, size_t count, float *sums, float *nearest)
{
    for (size_t c = 0; c < count; c++) {
        sums[c] += weight * kernels[c];
        nearest[c] = kernels[c] > nearest[c] ? kernels[c] : nearest[c];
    }
}

static void correct(struct surrogate *b, const struct residuals *r, double spread)
{
    size_t n = r->count, count = b->s->space->count;
    double *k = xcalloc(n * n + 1, sizeof *k), *weights = xcalloc(n + 1, sizeof *weights);
    double noise = NOISE * NOISE / (spread * spread);
    for (size_t i = 0; i < n; i++) {
        weights[i] = r->values[i];
        for (size_t j = 0; j < n; j++)
            k[i * n + j] = (double)b->kernels[r->at[i]][b->told[r->at[j]]] + (i == j ? noise : 0);
    }
    solve_positive_definite(k, weights, n, PIVOT_LEAST);
    /* Row by row: a hundred rows at once are more than a processor fetches ahead. */
    float *sums = xcalloc(count + 1, sizeof *sums), *nearest = xcalloc(count + 1, sizeof *nearest);
    for (size_t i = 0; i < n; i++)
        add_kernel(b->kernels[r->at[i]], (float)weights[i], count, sums, nearest);
    for (size_t c = 0; c < count; c++) {
        double left = 1 - (double)nearest[c] * (double)nearest[c];
        b->all[c].mean += r->level + (double)sums[c];
        b->all[c].deviation = sqrt(spread * spread * (left > 0 ? left : 0) + NOISE * NOISE);
    }
    free(sums);
    free(nearest);
    free(k);
    free(weights);
}

/* --- failures --- */

/* Whether they differ in nothing but the batch and the ZeRO stage: then the one with the higher stage and the smaller
 * micro-batch needs no more memory. */
static bool are_ordered(const struct surrogate *b, const struct candidate *x, const struct candidate *y)
{
    if (x->group != y->group || isnan(x->micro_batch) || isnan(y->micro_batch))
        return false;
    for (size_t k = 0; k < b->s->space->key_count; k++) {
        bool is_stage = x->values[k] == x->zero_stage && y->values[k] == y->zero_stage;
        if (!same(x->values[k], y->values[k]) && !b->of_batch[k] && !is_stage)
            return false;
    }
    return true;
}

/* What outcomes of its own class, and without predictions of other stages, say of the largest micro-batch that fits
 * and the smallest that does not. NAN: nothing. */
static void bracket(const struct surrogate *b, const struct candidate *c, double *fit, double *oom)
{
    *fit = b->largest_fit[c->memory_class];
    *oom = b->smallest_oom[c->memory_class];
    for (size_t i = 0; isnan(c->bytes) && i < b->told_count; i++) {
        const struct candidate *o = &b->s->space->candidates[b->told[i]];
        const struct trial *t = &b->s->trials[b->told[i]];
        if (o->memory_class == c->memory_class || o->zero_stage == c->zero_stage || !are_ordered(b, o, c))
            continue;
        if (t->out_of_memory && o->zero_stage > c->zero_stage)
            *oom = fmin(*oom, o->micro_batch);
        if (has_merit(t) && o->zero_stage < c->zero_stage)
            *fit = fmax(*fit, o->micro_batch);
    }
}

/* What other classes of the group show above `fit`, where this one has shown nothing: they are likely to be alike. */
static double oom_elsewhere(const struct surrogate *b, const struct candidate *c, double fit)
{
    double oom = NAN;
    for (size_t i = 0; i < b->told_count; i++) {
        const struct candidate *o = &b->s->space->candidates[b->told[i]];
        if (b->s->trials[b->told[i]].out_of_memory && o->group == c->group && o->micro_batch > fit)
            oom = fmin(oom, o->micro_batch);
    }
    return oom;
}

/* Between what fitted and what did not the limit may lie anywhere on a scale of doublings: how far up that is. 0 where
 * one of them is not known. */
static double share_between(const struct candidate *c, double fit, double oom)
{
    return fit < oom ? log(c->micro_batch / fit) / log(oom / fit) : 0;
}

/* Where predictions are not trusted. Squared and halved, so that what is not far beyond the middle counts as no risk
 * (SEARCH_RISKY): that bisects. */
static double chance_between(const struct surrogate *b, const struct candidate *c, double fit, double oom)
{
    fit = fit > 0 ? fit : 1;
    oom = isnan(oom) ? oom_elsewhere(b, c, fit) : oom;
    if (isnan(oom) || c->micro_batch <= fit)
        return 0;
    double share = oom > fit ? share_between(c, fit, oom) : 1;
    return share < 1 ? share * share / 2 : 0.5;
}

static double chance_of_oom(const struct surrogate *b, const struct fitted *fits, const struct candidate *c,
                            double nearby, double unpredicted)
{
    double fit, oom;
    bracket(b, c, &fit, &oom);
    if (c->micro_batch >= oom)
        return 1;
    if (c->micro_batch <= fit)
        return 0;
    if (!(c->bytes > 0) || !(c->usable_bytes > 0))
        return isnan(c->oom_probability) ? fmax(unpredicted, share_between(c, fit, oom)) : c->oom_probability;
    if (!c->memory_terms || !fits[c->place].has_memory)
        return isnan(c->oom_probability) ? 0 : c->oom_probability;
    const struct memory_belief *belief = &fits[c->place].belief;
    double bytes = weighted(&fits[c->place].memory, &b->s->space->places[c->place].memory, c->memory_terms);
    double trusted = memory_belief_chance(belief, log(bytes / c->usable_bytes));
    return belief->trust * trusted + (1 - belief->trust) * fmax(nearby, chance_between(b, c, fit, oom));
}

/* The chance of running out of memory as far as outcomes alone tell. */
static void fill_limits(struct surrogate *b)
{
    const struct limit_space space = {.count = b->s->space->count,
                                      .dimensions = b->dimensions,
                                      .micro_batch = b->micro_batch,
                                      .coordinates = b->coordinates,
                                      .is_number = b->is_number,
                                      .rare = FAILURE_PRIOR};
    struct limit_outcome outcomes[OBSERVED_MOST];
    size_t count = 0;
    for (size_t i = 0; i < b->told_count; i++) {
        const struct trial *t = &b->s->trials[b->told[i]];
        if (t->state != TRIAL_FAILED || t->out_of_memory)
            outcomes[count++] = (struct limit_outcome){b->told[i], t->out_of_memory, b->kernels[i]};
    }
    double *chances = xcalloc(space.count + 1, sizeof *chances);
    memory_limit_chances(&space, outcomes, count, chances);
    for (size_t c = 0; c < space.count; c++)
        b->all[c].out_of_memory = chances[c];
    free(chances);
}

/* Whether some run failed, of memory or otherwise: without, there is nothing to weigh. */
static bool some_failed(const struct surrogate *b, bool of_memory)
{
    for (size_t i = 0; i < b->told_count; i++)
        if (b->s->trials[b->told[i]].state == TRIAL_FAILED && b->s->trials[b->told[i]].out_of_memory == of_memory)
            return true;
    return false;
}

/* The share of measured neighbours that failed so, for every candidate. The caller's. */
static float *failed_nearby(const struct surrogate *b, bool of_memory)
{
    size_t told_count = some_failed(b, of_memory) ? b->told_count : 0, count = b->s->space->count;
    float *failed = xcalloc(count + 1, sizeof *failed), *all = xcalloc(count + 1, sizeof *all);
    for (size_t i = 0; i < told_count; i++) {
        const struct trial *t = &b->s->trials[b->told[i]];
        bool is_other = t->state == TRIAL_FAILED && t->out_of_memory != of_memory;
        float counts = t->state == TRIAL_FAILED ? 1 : 0;
        for (size_t c = 0; c < count && !is_other; c++) {
            float weight = b->kernels[i][c] * b->kernels[i][c]; /* nearer than what is said of speed */
            all[c] += weight;
            failed[c] += counts * weight;
        }
    }
    for (size_t c = 0; c < count; c++)
        failed[c] = ((float)(FAILURE_PRIOR * FAILURE_WEIGHT) + failed[c]) / ((float)FAILURE_WEIGHT + all[c]);
    free(all);
    return failed;
}

static bool any_unpredicted(const struct search_space *space)
{
    size_t i = 0;
    while (i < space->count && space->candidates[i].bytes > 0)
        i++;
    return i < space->count;
}

static void fill_failures(struct surrogate *b, const struct fitted *fits)
{
    float *of_memory = failed_nearby(b, true), *otherwise = failed_nearby(b, false);
    for (size_t c = 0; c < b->s->space->count; c++)
        b->all[c].out_of_memory = 0;
    if (some_failed(b, true) && any_unpredicted(b->s->space))
        fill_limits(b);
    for (size_t c = 0; c < b->s->space->count; c++) {
        struct estimate *e = &b->all[c];
        e->out_of_memory = chance_of_oom(b, fits, &b->s->space->candidates[c], (double)of_memory[c], e->out_of_memory);
        e->other_failure = (double)otherwise[c];
    }
    free(of_memory);
    free(otherwise);
}

const struct estimate *surrogate_all(struct surrogate *b)
{
    const struct search_space *space = b->s->space;
    if (!b->stale)
        return b->all;
    struct fitted *fits = xcalloc(space->place_count + 1, sizeof *fits);
    struct residuals *r = xcalloc(1, sizeof *r);
    double unit = unit_of_time(b);
    for (size_t p = 0; p < space->place_count; p++)
        fit_place(b, p, unit, &fits[p]);
    fill_means(b, fits);
    take_residuals(b, r);
    correct(b, r, spread_of(b, fits, r->values, r->count));
    fill_failures(b, fits);
    b->stale = false;
    free(r);
    free(fits);
    return b->all;
}

bool surrogate_believes(struct surrogate *b)
{
    surrogate_all(b);
    return b->believed;
}
