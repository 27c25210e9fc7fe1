#include <stdlib.h>
#include <string.h>

#include "search/surrogate_parts.h"
#include "util/linear.h"
#include "util/memory.h"
#include "util/quantile.h"

bool surrogate_has_merit(const struct trial *t)
{
    return t->state == TRIAL_OK || t->state == TRIAL_STOPPED;
}

double surrogate_weighted(const struct calibration *c, const struct calibration_prior *prior, const double *terms)
{
    return weighted_sum(c ? c->weights : prior->weights, terms, prior->terms);
}

/* Measured seconds of a step, or else the time from the objective, in its own unit. */
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
/* Unit of times that come from the objective, in predicted seconds: the median ratio. 1 for measured step times. */
static double unit_of_time(const struct surrogate *b)
{
    double ratios[OBSERVED_MOST];
    size_t count = 0;
    for (size_t i = 0; i < b->told_count; i++) {
        const struct candidate *c = &b->s->space->candidates[b->told[i]];
        double measured = seconds_measured(b, b->told[i]);
        if (surrogate_has_merit(&b->s->trials[b->told[i]]) && measured > 0 && c->seconds > 0) {
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
        if (c->place != place || !c->time_terms || !surrogate_has_merit(&b->s->trials[b->told[i]]) || !(measured > 0))
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
    free(observations);
}

struct fitted *surrogate_fit(const struct surrogate *b)
{
    struct fitted *fits = xcalloc(b->s->space->place_count + 1, sizeof *fits);
    double unit = unit_of_time(b);
    for (size_t p = 0; p < b->s->space->place_count; p++)
        fit_place(b, p, unit, &fits[p]);
    return fits;
}
