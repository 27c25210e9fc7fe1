#include "search/surrogate.h"

#include <stdlib.h>
#include <string.h>

#include "search/belief.h"
#include "search/process.h"
#include "util/linear.h"
#include "util/memory.h"
#include "util/quantile.h"

/* Share of the process that is a sum over single keys: if keys act independently, what a run shows about one key holds
 * for every value of the others. */
#define SUM_SHARE 0.8

/* Standard deviation of ln of the error of the layout arithmetic (search/belief.h): for merits, when nothing else is
 * predicted and little measured; for bytes. */
#define USUAL_SPREAD 0.30
#define USUAL_SPREAD_BYTES 0.50

struct surrogate {
    const struct search *s;
    struct estimate *all;
    bool stale;
    size_t left_out; /* a candidate whose time counts as not measured; NONE: none */
    struct process_space space;
    float *need;    /* by candidate: ln of the memory by arithmetic, relative to the middle of its range */
    bool *of_batch; /* by key of the space: differs within a configuration */
    /* Candidates with outcomes, and the kernel from each of them to all candidates. */
    size_t told[RUNS_MOST];
    float *nearness[RUNS_MOST];
    size_t told_count;
    /* How far predictions contradict arithmetic, in merits and in bytes. */
    struct contradiction time, memory;
    double memory_trust; /* in predicted bytes; 1 if there are none */
    /* The process behind the estimates: its kernel, the noise's variance as a share of the spread's, and the degrees of
     * freedom of the spread's estimate. */
    struct kernel kernel;
    double noise;
    size_t freedom;
    /* What each of the runs that tell most explains of each candidate: pivot_count rows of factors. */
    double *rows;
    size_t pivot_count;
};

/* Calibration of one place. */
struct fitted {
    struct calibration memory, time;
    bool has_memory, has_time;
};

static const struct candidate *told_candidate(const struct surrogate *b, size_t i)
{
    return &b->s->space->candidates[b->told[i]];
}

static const struct trial *told_trial(const struct surrogate *b, size_t i)
{
    return &b->s->trials[b->told[i]];
}

static bool has_merit(const struct surrogate *b, size_t i)
{
    return trial_runs(told_trial(b, i)) && b->told[i] != b->left_out;
}

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

/* --- the need of memory --- */

/* Takes the micro-batch if arithmetic gives nothing. */
static void take_needs(struct surrogate *b)
{
    const struct search_space *space = b->s->space;
    double low = 0, high = 0;
    b->need = xcalloc(space->count + 1, sizeof *b->need);
    for (int by_micro_batch = 0; by_micro_batch <= 1 && !(low < high); by_micro_batch++) {
        OWNED double *needs = xcalloc(space->count + 1, sizeof *needs);
        for (size_t i = 0; i < space->count; i++) {
            const struct candidate *c = &space->candidates[i];
            needs[i] = by_micro_batch && c->micro_batch > 0 ? log(c->micro_batch) : c->usual_bytes;
            low = i ? fmin(low, needs[i]) : needs[i];
            high = i ? fmax(high, needs[i]) : needs[i];
        }
        for (size_t i = 0; i < space->count; i++)
            b->need[i] = (float)(needs[i] - (low + high) / 2);
    }
}

/* --- predictions against arithmetic --- */

static void compare_claims(struct surrogate *b)
{
    const struct search_space *space = b->s->space;
    OWNED double *predicted = xcalloc(space->count + 1, sizeof *predicted),
                 *usual = xcalloc(space->count + 1, sizeof *usual);
    OWNED size_t *group = xcalloc(space->count + 1, sizeof *group);
    const struct two_claims claims = {predicted, usual, group, space->count, space->group_count};
    for (size_t i = 0; i < space->count; i++) {
        predicted[i] = search_predicted_log(space, &space->candidates[i]);
        usual[i] = space->candidates[i].usual_merit;
        group[i] = space->candidates[i].group;
    }
    b->time = claims_compare(&claims, USUAL_SPREAD);
    for (size_t i = 0; i < space->count; i++) {
        predicted[i] = space->candidates[i].bytes > 0 ? log(space->candidates[i].bytes) : NAN;
        usual[i] = space->candidates[i].usual_bytes;
    }
    b->memory = claims_compare(&claims, USUAL_SPREAD_BYTES);
}

/* --- predictions, calibrated by what was measured --- */

/* Measured seconds of a step, or else the time from the objective, in its own unit. */
static double seconds_measured(const struct surrogate *b, size_t candidate)
{
    const struct candidate *c = &b->s->space->candidates[candidate];
    const struct trial *t = &b->s->trials[candidate];
    if (t->outcome.seconds > 0)
        return t->outcome.seconds;
    if (b->s->space->relation == SEARCH_RATE && t->outcome.objective > 0)
        return c->work / t->outcome.objective;
    return b->s->space->relation == SEARCH_TIME && t->outcome.objective > 0 ? t->outcome.objective : NAN;
}

/* Unit of times that come from the objective, in predicted seconds: the median ratio. 1 for measured step times. */
static double unit_of_time(const struct surrogate *b)
{
    double ratios[RUNS_MOST];
    size_t count = 0;
    for (size_t i = 0; i < b->told_count; i++) {
        const struct candidate *c = told_candidate(b, i);
        double measured = seconds_measured(b, b->told[i]);
        if (has_merit(b, i) && measured > 0 && c->seconds > 0) {
            if (b->s->trials[b->told[i]].outcome.seconds > 0)
                return 1;
            ratios[count++] = measured / c->seconds;
        }
    }
    return count ? median(ratios, count) : 1;
}

static struct observation observed(const double *terms, double y, enum observation_kind kind)
{
    struct observation o = {.y = y, .kind = kind};
    memcpy(o.terms, terms, sizeof o.terms);
    return o;
}

/* What a run says of its memory: how much it used, that it ran out of it, or that it did not. */
static struct observation memory_observed(const struct candidate *c, const struct search_outcome *o)
{
    if (o->out_of_memory)
        return observed(c->memory_terms, c->usable_bytes, OBSERVATION_AT_LEAST);
    return o->bytes > 0 ? observed(c->memory_terms, o->bytes, OBSERVATION_MEASURED)
                        : observed(c->memory_terms, c->usable_bytes, OBSERVATION_AT_MOST);
}

/* For every place. The caller frees it. */
static struct fitted *fit_places(const struct surrogate *b)
{
    const struct search_space *space = b->s->space;
    struct fitted *fits = xcalloc(space->place_count + 1, sizeof *fits);
    OWNED struct observation *times = xcalloc(RUNS_MOST, sizeof *times),
                             *memories = xcalloc(RUNS_MOST, sizeof *memories);
    double unit = unit_of_time(b);
    for (size_t p = 0; p < space->place_count; p++) {
        const struct search_place *place = &space->places[p];
        size_t time_count = 0, memory_count = 0;
        for (size_t i = 0; i < b->told_count; i++) {
            const struct candidate *c = told_candidate(b, i);
            const struct trial *t = told_trial(b, i);
            const double measured = seconds_measured(b, b->told[i]) / unit;
            if (c->place == p && c->time_terms && has_merit(b, i) && measured > 0)
                times[time_count++] = observed(c->time_terms, measured, OBSERVATION_MEASURED);
            if (c->place == p && c->memory_terms && c->usable_bytes > 0 &&
                (t->state != TRIAL_FAILED || t->outcome.out_of_memory))
                memories[memory_count++] = memory_observed(c, &t->outcome);
        }
        fits[p].has_time = place->has_time && calibrate(&place->time, times, time_count, NULL, &fits[p].time);
        fits[p].has_memory =
            place->has_memory && calibrate(&place->memory, memories, memory_count, NULL, &fits[p].memory);
    }
    return fits;
}

/* --- failures --- */

#define FAILURE_PRIOR 0.02
#define FAILURE_WEIGHT 1.0 /* weight of the overall share, in neighbours */
#define FAILURE_RUNS 10.0  /* runs that the prior counts as in the overall share */

/* Returns whether they differ only in the batch and the ZeRO stage. Then the one with the higher stage and the smaller
 * micro-batch needs no more memory. */
static bool are_ordered(const struct surrogate *b, const struct candidate *x, const struct candidate *y)
{
    if (x->group != y->group || isnan(x->micro_batch) || isnan(y->micro_batch))
        return false;
    for (size_t k = 0; k < b->s->space->key_count; k++) {
        bool is_stage = x->values[k] == x->zero_stage && y->values[k] == y->zero_stage;
        if (!same_value(x->values[k], y->values[k]) && !b->of_batch[k] && !b->space.names[k] && !is_stage)
            return false;
    }
    return true;
}

/* The largest micro-batch known to fit and the smallest known not to, from outcomes of the candidate's class and,
 * without predictions, of other stages. NAN: none. */
static void bracket(const struct surrogate *b, const struct candidate *c, double *fit, double *oom)
{
    *fit = b->s->largest_fit[c->memory_class];
    *oom = b->s->smallest_oom[c->memory_class];
    for (size_t i = 0; isnan(c->bytes) && i < b->told_count; i++) {
        const struct candidate *o = told_candidate(b, i);
        const struct trial *t = told_trial(b, i);
        if (o->memory_class == c->memory_class || o->zero_stage == c->zero_stage || !are_ordered(b, o, c))
            continue;
        if (t->outcome.out_of_memory && o->zero_stage > c->zero_stage)
            *oom = fmin(*oom, o->micro_batch);
        if (trial_runs(t) && o->zero_stage < c->zero_stage)
            *fit = fmax(*fit, o->micro_batch);
    }
}

/* Returns where the micro-batch lies between what fitted and what did not, in doublings: 0 … 1, the probability of
 * exceeding a limit that may be anywhere in between. 0 if one end is not known. */
static double share_between(const struct candidate *c, double fit, double oom)
{
    return fit < oom ? log(c->micro_batch / fit) / log(oom / fit) : 0;
}

/* --- the limit, as predicted and as outcomes alone tell --- */

/* Outcomes that bear on the limit. */
struct limit_outcomes {
    size_t at[RUNS_MOST];
    const float *nearness[RUNS_MOST];
    bool out_of_memory[RUNS_MOST];
};

/* `known`: takes only candidates whose need by this is known; NULL: all. `own` lends what the result points to. */
static struct limit limit_of(const struct surrogate *b, const float *known, struct limit_outcomes *own)
{
    struct limit l = {.space = &b->space,
                      .need = b->need,
                      .expected = limit_unpredicted(FAILURE_PRIOR),
                      .told = {0, own->at, own->nearness},
                      .out_of_memory = own->out_of_memory};
    for (size_t i = 0; i < b->told_count; i++) {
        const struct trial *t = told_trial(b, i);
        if ((t->state == TRIAL_FAILED && !t->outcome.out_of_memory) || (known && isnan(known[b->told[i]])))
            continue;
        own->at[l.told.count] = b->told[i];
        own->nearness[l.told.count] = b->nearness[i];
        own->out_of_memory[l.told.count++] = t->outcome.out_of_memory;
    }
    return l;
}

/* ln(predicted bytes / usable bytes) by candidate, NAN if not known, and the predictions' `sigma`. NULL: none is known.
 * The caller frees it. */
static float *needs_predicted(const struct surrogate *b, const struct fitted *fits, double *sigma)
{
    const struct search_space *space = b->s->space;
    float *need = xcalloc(space->count + 1, sizeof *need);
    bool any = false;
    for (size_t i = 0; i < space->count; i++) {
        const struct candidate *c = &space->candidates[i];
        need[i] = NAN;
        if (!c->memory_terms || !(c->bytes > 0) || !(c->usable_bytes > 0) || !fits[c->place].has_memory)
            continue;
        const struct calibration *fit = &fits[c->place].memory;
        any = true;
        *sigma = fmax(*sigma, fit->sigma);
        need[i] = (float)log(weighted_sum(fit->weights, c->memory_terms, space->places[c->place].memory.terms) /
                             c->usable_bytes);
    }
    if (any)
        return need;
    free(need);
    return NULL;
}

/* Predicted probabilities of running out of memory, corrected by outcomes; sets `memory_trust`. NAN without a
 * prediction. The caller frees it. */
static double *chances_predicted(struct surrogate *b, const struct fitted *fits)
{
    struct limit_outcomes own;
    double sigma = 0;
    OWNED float *need = needs_predicted(b, fits, &sigma);
    b->memory_trust = 1;
    if (!need)
        return NULL;
    const struct limit otherwise = limit_of(b, need, &own);
    struct limit l = otherwise;
    l.need = need;
    l.expected = limit_predicted(sigma);
    double *chances = xcalloc(b->space.count + 1, sizeof *chances), evidence = memory_limit_chances(&l, chances);
    b->memory_trust = trust_contradicted(memory_belief_trust(evidence, memory_limit_chances(&otherwise, NULL)),
                                         &b->memory, MEMORY_ANYWHERE);
    return chances;
}

/* `predicted` may be NAN. */
static double chance_of_oom(const struct surrogate *b, const struct candidate *c, double predicted, double unpredicted)
{
    double fit, oom;
    bracket(b, c, &fit, &oom);
    if (c->micro_batch >= oom)
        return 1;
    if (c->micro_batch <= fit)
        return 0;
    double otherwise = fmax(unpredicted, share_between(c, fit, oom));
    if (!isnan(predicted))
        return b->memory_trust * predicted + (1 - b->memory_trust) * otherwise;
    if (!isnan(c->oom_probability))
        return c->oom_probability;
    return c->bytes > 0 && c->usable_bytes > 0 ? 0 : otherwise;
}

/* By candidate, the share of measured neighbours that failed for other reasons, where the share of all runs that did
 * counts as some more: what crashes at random crashes anywhere. The caller frees it. */
static float *failed_nearby(const struct surrogate *b)
{
    size_t count = b->s->space->count;
    double runs = 0, some_failed = 0;
    float *failed = xcalloc(count + 1, sizeof *failed);
    OWNED float *all = xcalloc(count + 1, sizeof *all);
    for (size_t i = 0; i < b->told_count; i++) {
        runs += !told_trial(b, i)->outcome.out_of_memory;
        some_failed += told_trial(b, i)->state == TRIAL_FAILED && !told_trial(b, i)->outcome.out_of_memory;
    }
    double share = (FAILURE_PRIOR * FAILURE_RUNS + some_failed) / (FAILURE_RUNS + runs);
    /* Without failures there is nothing to weight. */
    for (size_t i = 0; some_failed > 0 && i < b->told_count; i++) {
        const struct trial *t = told_trial(b, i);
        for (size_t c = 0; c < count && !t->outcome.out_of_memory; c++) {
            float weight = b->nearness[i][c] * b->nearness[i][c]; /* narrower than the kernel of speed */
            all[c] += weight;
            failed[c] += t->state == TRIAL_FAILED ? weight : 0;
        }
    }
    for (size_t c = 0; c < count; c++)
        failed[c] = ((float)(share * FAILURE_WEIGHT) + failed[c]) / ((float)FAILURE_WEIGHT + all[c]);
    return failed;
}

static void fill_failures(struct surrogate *b, const struct fitted *fits)
{
    struct limit_outcomes own;
    const struct limit l = limit_of(b, NULL, &own);
    OWNED float *otherwise = failed_nearby(b);
    OWNED double *unpredicted = xcalloc(b->space.count + 1, sizeof *unpredicted);
    memory_limit_chances(&l, unpredicted);
    OWNED double *predicted = chances_predicted(b, fits);
    for (size_t c = 0; c < b->s->space->count; c++) {
        struct estimate *e = &b->all[c];
        e->out_of_memory =
            chance_of_oom(b, &b->s->space->candidates[c], predicted ? predicted[c] : NAN, unpredicted[c]);
        e->other_failure = (double)otherwise[c];
    }
}

/* --- merits --- */

#define SPREAD_LEAST 0.10
#define BELIEVED 0.5 /* a trust or a slope */

/* Candidate lengths of the kernel: the square of PROCESS_LENGTH is doubled or halved up to this many times. */
#define LENGTH_STEPS 3

/* --- the prior --- */

/* Probability that predicted times are informative, given the measured step times. */
static double trust_of(const struct surrogate *b, const struct fitted *fits)
{
    struct compared_time runs[RUNS_MOST];
    size_t count = 0;
    for (size_t i = 0; i < b->told_count; i++) {
        const struct candidate *c = told_candidate(b, i);
        const struct trial *t = told_trial(b, i);
        if (has_merit(b, i) && t->outcome.seconds > 0 && c->seconds > 0 && fits[c->place].has_time)
            runs[count++] =
                (struct compared_time){c->seconds, t->outcome.seconds, b->s->space->places[c->place].time.sigma};
    }
    double trust = trust_contradicted(time_belief_trust(runs, count), &b->memory, MEMORY_ANYWHERE);
    return trust_contradicted(trust, &b->time, TIME_ANYWHERE);
}

/* ln of the predicted objective, by the fitted weights where they count. */
static double prior_merit(const struct surrogate *b, const struct fitted *fits, const struct candidate *c)
{
    const struct search_space *space = b->s->space;
    const double predicted = search_predicted_log(space, c);
    if (isnan(predicted) || !c->time_terms || !fits[c->place].has_time)
        return predicted;
    return (space->relation == SEARCH_RATE ? log(c->work) : 0) -
           log(weighted_sum(fits[c->place].time.weights, c->time_terms, space->places[c->place].time.terms));
}

static void fill_priors(struct surrogate *b, const struct fitted *fits, bool as_fitted)
{
    const struct search_space *space = b->s->space;
    double least = INFINITY;
    for (size_t i = 0; i < space->count; i++) {
        b->all[i].mean = as_fitted ? prior_merit(b, fits, &space->candidates[i])
                                   : search_predicted_log(space, &space->candidates[i]);
        if (b->all[i].mean < least)
            least = b->all[i].mean;
    }
    /* A candidate without a prediction is taken to be as slow as the slowest predicted one. */
    for (size_t i = 0; i < space->count; i++) {
        double predicted = isnan(b->all[i].mean) ? isfinite(least) ? least : 0 : b->all[i].mean;
        double usual = b->time.level + space->candidates[i].usual_merit;
        b->all[i].mean = TIME_TRUST * predicted + (1 - TIME_TRUST) * usual;
    }
}

/* Error of the predictions, by their own sigma. */
static double spread_predicted(const struct surrogate *b, const struct fitted *fits)
{
    double spread = USUAL_SPREAD;
    for (size_t i = 0; i < b->s->space->place_count; i++)
        if (fits[i].has_time)
            spread = fits[i].time.sigma;
    return spread > SPREAD_LEAST ? spread : SPREAD_LEAST;
}

/* --- the slope --- */

static double slope_of_priors(const struct surrogate *b, const struct fitted *fits)
{
    double prior[RUNS_MOST], merit[RUNS_MOST];
    size_t n = 0;
    for (size_t i = 0; i < b->told_count; i++) {
        const struct trial *t = told_trial(b, i);
        double predicted = search_predicted_log(b->s->space, told_candidate(b, i));
        if (!has_merit(b, i) || isnan(predicted))
            continue;
        prior[n] = predicted;
        merit[n++] = merit_of(b->s->space, t->outcome.objective);
    }
    return time_belief_slope(prior, merit, n, spread_predicted(b, fits));
}

/* --- the two views --- */

/* Runs that have a merit. */
struct runs {
    size_t candidates[RUNS_MOST];
    const float *nearness[RUNS_MOST];
    double predicted[RUNS_MOST], usual[RUNS_MOST], merits[RUNS_MOST];
    struct process_told told;
};

/* Returns the kernel to which single keys contribute SUM_SHARE; the rest is one over all of them. */
static struct kernel kernel_at(int steps)
{
    return (struct kernel){.single = SUM_SHARE, .nearby = 1 - SUM_SHARE, .steps = steps};
}

static void take_runs(const struct surrogate *b, struct runs *r)
{
    r->told = (struct process_told){0, r->candidates, r->nearness};
    for (size_t i = 0; i < b->told_count; i++) {
        if (!has_merit(b, i))
            continue;
        r->candidates[r->told.count] = b->told[i];
        r->nearness[r->told.count] = b->nearness[i];
        r->predicted[r->told.count] = b->all[b->told[i]].mean;
        r->usual[r->told.count] = told_candidate(b, i)->usual_merit;
        r->merits[r->told.count++] = merit_of(b->s->space, told_trial(b, i)->outcome.objective);
    }
}

struct views {
    struct explained believed, doubted;
};

static void learn_both(const struct surrogate *b, const struct runs *r, int steps, double spread, struct views *out)
{
    const struct kernel kernel = kernel_at(steps);
    const size_t n = r->told.count;
    OWNED double *covariance = process_covariances(&b->space, &kernel, &r->told);
    regression_explain(&(struct viewed_runs){n, r->predicted, r->merits, spread, covariance}, &out->believed);
    regression_explain(&(struct viewed_runs){n, r->usual, r->merits, USUAL_SPREAD, covariance}, &out->doubted);
}

/* ln of the prior density of a length: log-normal around PROCESS_LENGTH, variance 3. */
static double log_prior_of_length(int steps)
{
    double length = log(PROCESS_LENGTH) + steps * M_LN2 / 2;
    return -length - (length - M_SQRT2) * (length - M_SQRT2) / (2 * 3);
}

/* Posterior mean of the kernel's length, in steps; with few runs it stays in the middle. `trust` is that in the
 * predictions before any run. */
static int find_length(const struct surrogate *b, const struct runs *r, double spread, double trust)
{
    double log_posterior[2 * LENGTH_STEPS + 1], most = -INFINITY, sum = 0, weighted = 0;
    if (r->told.count < 2)
        return 0;
    for (int steps = -LENGTH_STEPS; steps <= LENGTH_STEPS; steps++) {
        struct views v;
        learn_both(b, r, steps, spread, &v);
        double believed = v.believed.log_evidence, doubted = v.doubted.log_evidence, larger = fmax(believed, doubted);
        double p = log_prior_of_length(steps) + larger +
                   log(trust * exp(believed - larger) + (1 - trust) * exp(doubted - larger));
        log_posterior[steps + LENGTH_STEPS] = p;
        most = fmax(most, p);
    }
    for (int steps = -LENGTH_STEPS; steps <= LENGTH_STEPS; steps++) {
        double weight = exp(log_posterior[steps + LENGTH_STEPS] - most);
        sum += weight;
        weighted += weight * steps;
    }
    return (int)lround(weighted / sum);
}

/* --- what runs leave open --- */

/* Limit on candidates × (runs used for the variance)²: 20 ms. */
#define OPERATIONS_MOST 1.6e7

/* By candidate, the share of the process's variance that is left by the runs that tell most about the others: by
 * pivoted Cholesky, until time is up or only noise is left. The caller frees it. Keeps the rows. */
static double *variance_left(struct surrogate *b, const struct runs *r)
{
    size_t count = b->space.count, most = (size_t)sqrt(OPERATIONS_MOST / (double)(count + 1)) + 1;
    bool taken[RUNS_MOST] = {false};
    double *left = xcalloc(count + 1, sizeof *left);
    most = most < r->told.count ? most : r->told.count;
    free(b->rows);
    b->rows = xcalloc(most * count + 1, sizeof *b->rows);
    for (size_t c = 0; c < count; c++)
        left[c] = 1;
    for (b->pivot_count = 0; b->pivot_count < most; b->pivot_count++) {
        size_t best = NONE;
        for (size_t i = 0; i < r->told.count; i++)
            if (!taken[i] && (best == NONE || left[r->candidates[i]] > left[r->candidates[best]]))
                best = i;
        const size_t pivot = r->candidates[best];
        if (left[pivot] < b->noise)
            break;
        const double root = sqrt(left[pivot] + b->noise), one = 1;
        double *row = b->rows + b->pivot_count * count;
        taken[best] = true;
        process_add(&b->space, &b->kernel, &(struct process_told){1, &pivot, &r->nearness[best]}, &one, row);
        for (const double *before = b->rows; before < row; before += count)
            for (size_t c = 0; c < count; c++)
                row[c] -= before[pivot] * before[c];
        for (size_t c = 0; c < count; c++) {
            row[c] /= root;
            left[c] = fmax(left[c] - row[c] * row[c], 0);
        }
    }
    return left;
}

static struct expectation expect(const struct explained *r, double predicted, double process, double left)
{
    double distance = predicted - r->middle;
    double spread = r->calibration * r->spread, variance = spread * spread + r->slope_variance * distance * distance;
    return (struct expectation){r->level + r->slope * distance + process,
                                sqrt(variance * left + REGRESSION_NOISE * REGRESSION_NOISE)};
}

static void mix(struct estimate *e)
{
    double trust = e->trust, apart = e->believed.mean - e->doubted.mean;
    e->mean = trust * e->believed.mean + (1 - trust) * e->doubted.mean;
    e->deviation =
        sqrt(trust * e->believed.deviation * e->believed.deviation +
             (1 - trust) * e->doubted.deviation * e->doubted.deviation + trust * (1 - trust) * apart * apart);
}

static void fill_estimates(struct surrogate *b, const struct runs *r, const struct views *v, double trust)
{
    size_t count = b->space.count;
    double noise = REGRESSION_NOISE / (trust > BELIEVED ? v->believed.spread : v->doubted.spread);
    b->noise = noise * noise;
    b->freedom = v->doubted.freedom;
    OWNED double *believed = xcalloc(count + 1, sizeof *believed), *doubted = xcalloc(count + 1, sizeof *doubted);
    OWNED double *left = variance_left(b, r);
    process_add(&b->space, &b->kernel, &r->told, v->believed.weights, believed);
    process_add(&b->space, &b->kernel, &r->told, v->doubted.weights, doubted);
    for (size_t c = 0; c < count; c++) {
        struct estimate *e = &b->all[c];
        double predicted = e->mean;
        e->trust = trust;
        e->believed = expect(&v->believed, predicted, believed[c], left[c]);
        e->doubted = expect(&v->doubted, b->s->space->candidates[c].usual_merit, doubted[c], left[c]);
        mix(e);
    }
}

/* Uses the fitted weights if the predictions rank well as they are; a fit to runs that contradict them would distort
 * them. */
static void fill_means(struct surrogate *b, const struct fitted *fits)
{
    bool predicted = search_any_predicted(b->s->space);
    OWNED struct runs *r = xcalloc(1, sizeof *r);
    struct views v;
    fill_priors(b, fits, slope_of_priors(b, fits) > BELIEVED);
    take_runs(b, r);
    double spread = spread_predicted(b, fits), before = predicted ? trust_of(b, fits) : 0;
    double trust = before > BELIEVED ? 1 : 0; /* before any run the views' units differ: only one counts */
    b->kernel = kernel_at(find_length(b, r, spread, before));
    learn_both(b, r, b->kernel.steps, spread, &v);
    if (before > 0 && r->told.count > 0)
        trust = 1 / (1 + exp(v.doubted.log_evidence - v.believed.log_evidence) * (1 - before) / before);
    fill_estimates(b, r, &v, trust);
}

/* --- what is left, jointly --- */

#define LEFT_LEAST 1e-9 /* of the process's variance: below this is rounding at a measured candidate */

size_t surrogate_correlation(const struct surrogate *b, const size_t *candidates, size_t count, double *out)
{
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j <= i; j++) {
            const size_t x = candidates[i], y = candidates[j];
            double explained = 0;
            for (const double *row = b->rows; row < b->rows + b->pivot_count * b->space.count; row += b->space.count)
                explained += row[x] * row[y];
            out[i * count + j] =
                process_covariance(&b->space, &b->kernel, x, y, process_nearness(&b->space, x, y)) - explained;
        }
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i; j++) {
            double own = fmax(out[i * count + i], LEFT_LEAST), other = fmax(out[j * count + j], LEFT_LEAST);
            out[i * count + j] = out[j * count + i] = out[i * count + j] / sqrt(own * other);
        }
    for (size_t i = 0; i < count; i++)
        out[i * count + i] = 1;
    return b->freedom;
}

/* --- outcomes --- */

struct surrogate *surrogate_create(const struct search *s)
{
    struct surrogate *b = xcalloc(1, sizeof *b);
    b->s = s;
    b->stale = true;
    b->left_out = NONE;
    b->all = xcalloc(s->space->count + 1, sizeof *b->all);
    b->of_batch = search_keys_within(s->space, CLASS_CONFIGURATION);
    process_space_open(s->space, &b->space);
    take_needs(b);
    compare_claims(b);
    return b;
}

void surrogate_free(struct surrogate *b)
{
    if (!b)
        return;
    for (size_t i = 0; i < b->told_count; i++)
        free(b->nearness[i]);
    free_all(b->of_batch, b->need, b->rows);
    process_space_close(&b->space);
    free_all(b->all, b);
}

void surrogate_tell(struct surrogate *b, size_t candidate)
{
    size_t at = 0;
    b->stale = true;
    while (at < b->told_count && b->told[at] < candidate)
        at++;
    if ((at < b->told_count && b->told[at] == candidate) || b->told_count >= RUNS_MOST)
        return;
    memmove(b->told + at + 1, b->told + at, (b->told_count - at) * sizeof *b->told);
    memmove(b->nearness + at + 1, b->nearness + at, (b->told_count - at) * sizeof *b->nearness);
    b->told[at] = candidate;
    b->nearness[at] = xcalloc(b->space.count + 1, sizeof **b->nearness);
    for (size_t i = 0; i < b->space.count; i++)
        b->nearness[at][i] = process_nearness(&b->space, i, candidate);
    b->told_count++;
}

const struct estimate *surrogate_without(struct surrogate *b, size_t candidate)
{
    if (!b->stale && b->left_out == candidate)
        return b->all;
    b->left_out = candidate;
    OWNED struct fitted *fits = fit_places(b);
    fill_failures(b, fits);
    fill_means(b, fits);
    b->stale = false;
    return b->all;
}
