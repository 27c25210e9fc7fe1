#include "search/memory_estimate.h"

#define JUST_BELOW 0.999 /* of what did not fit */

static const struct candidate *candidate_of(const struct search *s, size_t candidate)
{
    return &s->space->candidates[candidate];
}

static bool is_measured(const struct search *s, size_t candidate)
{
    const struct trial *t = &s->trials[candidate];
    return trial_runs(t) && t->bytes > 0 && candidate_of(s, candidate)->micro_batch > 0;
}

/* --- slopes --- */

/* Slope through the class's measured runs with the smallest and the largest micro-batch; NAN: there are not two. */
static double measured_slope(const struct search *s, size_t class)
{
    const struct candidate *least = NULL, *most = NULL;
    for (size_t i = 0; i < s->space->count; i++) {
        const struct candidate *c = candidate_of(s, i);
        if (c->memory_class != class || !is_measured(s, i))
            continue;
        if (!least || c->micro_batch < least->micro_batch)
            least = c;
        if (!most || c->micro_batch > most->micro_batch)
            most = c;
    }
    if (!least || least->micro_batch == most->micro_batch)
        return NAN;
    const struct candidate *all = s->space->candidates;
    double slope =
        (s->trials[most - all].bytes - s->trials[least - all].bytes) / (most->micro_batch - least->micro_batch);
    return slope > 0 ? slope : NAN;
}

static double predicted_slope(const struct families *f, const struct search *s, size_t family)
{
    const struct candidate *first = candidate_of(s, families_member(f, family, 0)),
                           *last = candidate_of(s, families_member(f, family, families_size(f, family) - 1));
    double slope = (last->bytes - first->bytes) / (last->micro_batch - first->micro_batch);
    return slope > 0 ? slope : NAN;
}

static bool any_is_measured(const struct families *f, const struct search *s, size_t family)
{
    size_t i = 0;
    while (i < families_size(f, family) && !is_measured(s, families_member(f, family, i)))
        i++;
    return i < families_size(f, family);
}

static double slope_of(const struct families *f, const struct search *s, size_t family)
{
    const struct candidate *own = candidate_of(s, families_member(f, family, 0));
    double slope = measured_slope(s, own->memory_class), predicted = predicted_slope(f, s, family);
    double ratio = NAN;
    for (size_t other = 0; isnan(slope) && other < f->count; other++) {
        const struct candidate *c = candidate_of(s, families_member(f, other, 0));
        if (c->group == own->group && any_is_measured(f, s, other))
            ratio = fmax(ratio, measured_slope(s, c->memory_class) / predicted_slope(f, s, other));
    }
    slope = isnan(slope) ? ratio * predicted : slope;
    return isnan(slope) ? predicted : slope;
}

/* --- anchors --- */

/* The group's measured run with the largest micro-batch, preferably of the same class; NULL: none. */
static const struct candidate *anchor_of(const struct search *s, const struct candidate *own)
{
    const struct candidate *anchor = NULL;
    for (size_t i = 0; i < s->space->count; i++) {
        const struct candidate *c = candidate_of(s, i);
        bool same = c->memory_class == own->memory_class;
        bool anchored = anchor && anchor->memory_class == own->memory_class;
        if (c->group != own->group || !is_measured(s, i))
            continue;
        if (!anchor || (same && !anchored) || (same == anchored && c->micro_batch > anchor->micro_batch))
            anchor = c;
    }
    return anchor;
}

struct memory_estimate memory_estimate_of(const struct families *f, const struct search *s, size_t family)
{
    const struct candidate *own = candidate_of(s, families_member(f, family, 0)), *anchor = anchor_of(s, own);
    struct memory_estimate l = {own->micro_batch, own->bytes, slope_of(f, s, family)};
    if (!anchor)
        return l;
    l.micro_batch = anchor->micro_batch;
    l.bytes = s->trials[anchor - s->space->candidates].bytes;
    if (anchor->memory_class != own->memory_class)
        l.bytes += own->bytes - anchor->bytes;
    if (anchor->memory_class != own->memory_class && anchor->micro_batch != own->micro_batch)
        l.bytes += predicted_slope(f, s, family) * (anchor->micro_batch - own->micro_batch);
    return l;
}

double memory_estimate_bytes(const struct memory_estimate *l, double micro_batch)
{
    return micro_batch == l->micro_batch ? l->bytes : l->bytes + l->slope * (micro_batch - l->micro_batch);
}

/* --- what there is --- */

/* The smallest value of the line among the family's runs that ran out of memory; NAN: none did. */
static double least_too_much(const struct families *f, const struct search *s, size_t family)
{
    struct memory_estimate l = {NAN, NAN, NAN};
    double least = NAN;
    for (size_t i = 0; i < families_size(f, family); i++) {
        size_t candidate = families_member(f, family, i);
        if (!s->trials[candidate].out_of_memory)
            continue;
        if (isnan(l.micro_batch))
            l = memory_estimate_of(f, s, family);
        least = fmin(least, memory_estimate_bytes(&l, candidate_of(s, candidate)->micro_batch));
    }
    return least;
}

double memory_estimate_usable(const struct families *f, const struct search *s, size_t group)
{
    double usable = NAN, measured = 0;
    for (size_t i = 0; i < s->space->count; i++) {
        const struct candidate *c = candidate_of(s, i);
        if (c->group != group)
            continue;
        usable = isnan(usable) ? c->usable_bytes : usable;
        measured = is_measured(s, i) ? fmax(measured, s->trials[i].bytes) : measured;
    }
    for (size_t family = 0; family < f->count; family++)
        if (candidate_of(s, families_member(f, family, 0))->group == group)
            usable = fmin(usable, JUST_BELOW * least_too_much(f, s, family));
    return usable < measured ? measured : usable;
}
