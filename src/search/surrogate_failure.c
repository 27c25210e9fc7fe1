#include <stdlib.h>

#include "belief/memory_limit.h"
#include "search/surrogate_parts.h"
#include "util/memory.h"

#define FAILURE_PRIOR 0.02
#define FAILURE_WEIGHT 1.0 /* weight of the overall share, in neighbours */
#define FAILURE_RUNS 10.0  /* runs that the prior counts as in the overall share */

/* Whether they differ only in the batch and the ZeRO stage. Then the one with the higher stage and the smaller
 * micro-batch needs no more memory. */
static bool are_ordered(const struct surrogate *b, const struct candidate *x, const struct candidate *y)
{
    if (x->group != y->group || isnan(x->micro_batch) || isnan(y->micro_batch))
        return false;
    for (size_t k = 0; k < b->s->space->key_count; k++) {
        bool is_stage = x->values[k] == x->zero_stage && y->values[k] == y->zero_stage;
        if (!surrogate_same(x->values[k], y->values[k]) && !b->of_batch[k] && !is_stage)
            return false;
    }
    return true;
}

/* The largest micro-batch known to fit and the smallest known not to, from outcomes of the candidate's class and,
 * without predictions, of other stages. NAN: none. */
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
        if (surrogate_has_merit(t) && o->zero_stage < c->zero_stage)
            *fit = fmax(*fit, o->micro_batch);
    }
}

/* Where the micro-batch lies between what fitted and what did not, in doublings: 0 … 1, the probability of exceeding a
 * limit that may be anywhere in between. 0 if one end is not known. */
static double share_between(const struct candidate *c, double fit, double oom)
{
    return fit < oom ? log(c->micro_batch / fit) / log(oom / fit) : 0;
}

/* --- the limit, as predicted and as outcomes alone tell --- */

static struct limit_space limit_space_of(const struct surrogate *b)
{
    return (struct limit_space){.count = b->s->space->count,
                                .dimensions = b->dimensions,
                                .need = b->need,
                                .coordinates = b->coordinates,
                                .is_number = b->is_number,
                                .expected = limit_unpredicted(FAILURE_PRIOR)};
}

/* `need`: takes only candidates whose need is known. */
static size_t take_outcomes(const struct surrogate *b, const float *need, struct limit_outcome *out)
{
    size_t count = 0;
    for (size_t i = 0; i < b->told_count; i++) {
        const struct trial *t = &b->s->trials[b->told[i]];
        if ((t->state != TRIAL_FAILED || t->out_of_memory) && !(need && isnan(need[b->told[i]])))
            out[count++] = (struct limit_outcome){b->told[i], t->out_of_memory, b->kernels[i]};
    }
    return count;
}

static double *chances_of(const struct limit_space *space, const struct limit_outcome *outcomes, size_t count)
{
    double *chances = xcalloc(space->count + 1, sizeof *chances);
    memory_limit_chances(space, outcomes, count, chances);
    return chances;
}

/* ln(predicted bytes / usable bytes) by candidate, NAN if not known, and the predictions' `sigma`. NULL: none is known.
 * The caller frees it. */
static float *needs_predicted(const struct surrogate *b, const struct fitted *fits, double *sigma)
{
    const struct search_space *space = b->s->space;
    float *need = NULL;
    for (size_t i = 0; i < space->count; i++) {
        const struct candidate *c = &space->candidates[i];
        bool known = c->memory_terms && c->bytes > 0 && c->usable_bytes > 0 && fits[c->place].has_memory;
        if (known && !need) {
            need = xcalloc(space->count + 1, sizeof *need);
            for (size_t before = 0; before < i; before++)
                need[before] = NAN;
        }
        if (!need)
            continue;
        need[i] = NAN;
        if (!known)
            continue;
        *sigma = fmax(*sigma, fits[c->place].memory.sigma);
        need[i] =
            (float)log(surrogate_weighted(&fits[c->place].memory, &space->places[c->place].memory, c->memory_terms) /
                       c->usable_bytes);
    }
    return need;
}

/* Predicted probabilities of running out of memory, corrected by outcomes; sets `memory_trust`. NAN without a
 * prediction. The caller frees it. */
static double *chances_predicted(struct surrogate *b, const struct fitted *fits)
{
    struct limit_space otherwise = limit_space_of(b), space = otherwise;
    struct limit_outcome outcomes[OBSERVED_MOST];
    double sigma = 0;
    float *need = needs_predicted(b, fits, &sigma);
    b->memory_trust = 1;
    if (!need)
        return NULL;
    space.need = need;
    space.expected = limit_predicted(sigma);
    size_t count = take_outcomes(b, need, outcomes);
    double *chances = chances_of(&space, outcomes, count);
    b->memory_trust = memory_belief_trust(memory_limit_log_evidence(&space, outcomes, count),
                                          memory_limit_log_evidence(&otherwise, outcomes, count));
    b->memory_trust = trust_contradicted(b->memory_trust, &b->memory, MEMORY_ANYWHERE);
    free(need);
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

/* Share of all runs that fail for other reasons: what crashes at random crashes anywhere. */
static double failing_share(const struct surrogate *b, size_t *failed)
{
    double runs = 0;
    *failed = 0;
    for (size_t i = 0; i < b->told_count; i++) {
        const struct trial *t = &b->s->trials[b->told[i]];
        runs += !t->out_of_memory;
        *failed += t->state == TRIAL_FAILED && !t->out_of_memory;
    }
    return (FAILURE_PRIOR * FAILURE_RUNS + (double)*failed) / (FAILURE_RUNS + runs);
}

/* By candidate, the share of measured neighbours that failed for other reasons. The caller frees it. */
static float *failed_nearby(const struct surrogate *b)
{
    size_t some_failed, count = b->s->space->count;
    double share = failing_share(b, &some_failed);
    size_t told_count = some_failed > 0 ? b->told_count : 0; /* without failures there is nothing to weight */
    float *failed = xcalloc(count + 1, sizeof *failed), *all = xcalloc(count + 1, sizeof *all);
    for (size_t i = 0; i < told_count; i++) {
        const struct trial *t = &b->s->trials[b->told[i]];
        float counts = t->state == TRIAL_FAILED ? 1 : 0;
        for (size_t c = 0; c < count && !t->out_of_memory; c++) {
            float weight = b->kernels[i][c] * b->kernels[i][c]; /* narrower than the kernel of speed */
            all[c] += weight;
            failed[c] += counts * weight;
        }
    }
    for (size_t c = 0; c < count; c++)
        failed[c] = ((float)(share * FAILURE_WEIGHT) + failed[c]) / ((float)FAILURE_WEIGHT + all[c]);
    free(all);
    return failed;
}

void surrogate_fill_failures(struct surrogate *b, const struct fitted *fits)
{
    const struct limit_space space = limit_space_of(b);
    struct limit_outcome outcomes[OBSERVED_MOST];
    float *otherwise = failed_nearby(b);
    double *unpredicted = chances_of(&space, outcomes, take_outcomes(b, NULL, outcomes));
    double *predicted = chances_predicted(b, fits);
    for (size_t c = 0; c < b->s->space->count; c++) {
        struct estimate *e = &b->all[c];
        e->out_of_memory =
            chance_of_oom(b, &b->s->space->candidates[c], predicted ? predicted[c] : NAN, unpredicted[c]);
        e->other_failure = (double)otherwise[c];
    }
    free(otherwise);
    free(unpredicted);
    free(predicted);
}
