#include "search/staged_flow.h"

#include "util/memory.h"

#define COARSE_GAIN 0.01 /* least gain that is worth a trial while stages are compared */
#define HOPELESS 1.08    /* times the usable memory: such a run will not fit */

/* --- results --- */

const struct candidate *staged_member(const struct staged_flow *f, size_t family, size_t at)
{
    return &f->s->space->candidates[families_member(&f->d->families, family, at)];
}

const struct trial *staged_trial(const struct staged_flow *f, size_t family, size_t at)
{
    return &f->s->trials[families_member(&f->d->families, family, at)];
}

size_t staged_size(const struct staged_flow *f, size_t family)
{
    return families_size(&f->d->families, family);
}

bool staged_runs(const struct trial *t)
{
    return t->state == TRIAL_OK || t->state == TRIAL_STOPPED;
}

double staged_stage(const struct staged_flow *f, size_t family)
{
    double stage = staged_member(f, family, 0)->zero_stage;
    return isnan(stage) ? -1 : stage;
}

bool staged_candidate_result(struct staged_flow *f, size_t candidate, const char *why)
{
    struct staged_needs *n = f->needs;
    const struct trial *t = &f->s->trials[candidate];
    if (t->state != TRIAL_NONE && t->state != TRIAL_RUNNING)
        return true;
    for (size_t i = 0; i < n->count; i++)
        if (n->items[i].candidate == candidate)
            return false;
    n->items = array_grow(n->items, n->count, sizeof *n->items);
    n->items[n->count++] = (struct staged_need){candidate, why};
    return false;
}

bool staged_result(struct staged_flow *f, size_t family, size_t at, const char *why)
{
    return staged_candidate_result(f, families_member(&f->d->families, family, at), why);
}

size_t staged_best_at(const struct staged_flow *f, size_t family)
{
    size_t best = NONE;
    for (size_t i = 0; i < staged_size(f, family); i++)
        if (staged_runs(staged_trial(f, family, i)) &&
            (best == NONE || search_better(f->s->space, staged_trial(f, family, i)->objective,
                                           staged_trial(f, family, best)->objective)))
            best = i;
    return best;
}

double staged_objective(const struct staged_flow *f, size_t family)
{
    size_t at = staged_best_at(f, family);
    return at == NONE ? NAN : staged_trial(f, family, at)->objective;
}

bool staged_is_of_group(const struct staged_flow *f, size_t family)
{
    return staged_member(f, family, 0)->group == f->group;
}

size_t staged_best_family(const struct staged_flow *f)
{
    size_t best = NONE;
    for (size_t i = 0; i < f->d->families.count; i++)
        if (staged_is_of_group(f, i) && staged_best_at(f, i) != NONE &&
            (best == NONE || search_better(f->s->space, staged_objective(f, i), staged_objective(f, best))))
            best = i;
    return best;
}

size_t staged_largest_run(const struct staged_flow *f, size_t family)
{
    size_t at = staged_size(f, family);
    while (at > 0 && !staged_runs(staged_trial(f, family, at - 1)))
        at--;
    return at ? at - 1 : NONE;
}

/* --- what is expected --- */

size_t staged_count_fitting(const struct staged_flow *f, size_t family)
{
    const struct memory_estimate l = memory_estimate_of(&f->d->families, f->s, family);
    size_t at = staged_size(f, family);
    if (isnan(f->usable) || isnan(memory_estimate_bytes(&l, staged_member(f, family, at - 1)->micro_batch)))
        return NONE;
    while (at > 0 && memory_estimate_bytes(&l, staged_member(f, family, at - 1)->micro_batch) > f->usable)
        at--;
    return at;
}

/* Whether the member has almost no chance of fitting. */
static bool is_hopeless(const struct staged_flow *f, size_t family, size_t at)
{
    const struct memory_estimate l = memory_estimate_of(&f->d->families, f->s, family);
    return memory_estimate_bytes(&l, staged_member(f, family, at)->micro_batch) > HOPELESS * f->usable;
}

/* Time per sample, in any unit. */
static double time_of(const struct staged_flow *f, size_t family, size_t at)
{
    double objective = staged_trial(f, family, at)->objective;
    return f->s->space->maximise ? 1 / objective : objective;
}

/* Two runs show how time and memory depend on the micro-batch. */
static bool has_two_runs(const struct staged_flow *f, size_t family)
{
    size_t count = 0;
    for (size_t i = 0; i < staged_size(f, family); i++)
        count += staged_runs(staged_trial(f, family, i));
    return count > 1;
}

double staged_gain(const struct staged_flow *f, size_t family, double from, double to)
{
    size_t best = staged_best_family(f), other = 0;
    family = has_two_runs(f, family) || best == NONE ? family : best;
    if (!has_two_runs(f, family))
        return to / from - 1;
    size_t most = staged_largest_run(f, family);
    while (!staged_runs(staged_trial(f, family, other)))
        other++;
    double x0 = 1 / staged_member(f, family, other)->micro_batch, x1 = 1 / staged_member(f, family, most)->micro_batch;
    double y0 = time_of(f, family, other), y1 = time_of(f, family, most);
    double fixed = (y0 - y1) / (x0 - x1), each = y1 - fixed * x1;
    each = each > 0 ? each : 0;
    return (each + fixed / from) / (each + fixed / to) - 1;
}

/* --- the largest micro-batch --- */

/* The largest member that runs may be any of those from `from` to below `high`. */
struct bracket {
    size_t from, high;
    double low_size; /* largest micro-batch known to run, here or in the stage below; 0: none */
    bool own_low;    /* it is from this family */
    size_t failures;
};

static struct bracket bracket_of(const struct staged_flow *f, size_t family, double reach)
{
    struct bracket b = {.high = staged_size(f, family), .low_size = reach};
    size_t low = staged_largest_run(f, family);
    if (low != NONE && staged_member(f, family, low)->micro_batch > reach) {
        b.low_size = staged_member(f, family, low)->micro_batch;
        b.own_low = true;
    }
    while (b.from < staged_size(f, family) && staged_member(f, family, b.from)->micro_batch <= b.low_size)
        b.from++;
    for (size_t i = staged_size(f, family); i-- > b.from;)
        if (staged_trial(f, family, i)->state == TRIAL_FAILED) {
            b.high = i;
            b.failures++;
        }
    return b;
}

/* The last member of the bracket, from b->from on, with at most that micro-batch. */
static size_t at_most(const struct staged_flow *f, size_t family, const struct bracket *b, double micro_batch)
{
    size_t at = b->high - 1;
    while (at > b->from && staged_member(f, family, at)->micro_batch > micro_batch)
        at--;
    return at;
}

/* The next member to try without a memory line. */
static size_t double_or_bisect(const struct staged_flow *f, size_t family, const struct bracket *b)
{
    if (b->high == staged_size(f, family))
        return b->low_size > 0 ? at_most(f, family, b, 2 * b->low_size) : b->from;
    double high = staged_member(f, family, b->high)->micro_batch, middle = (b->low_size + high) / 2;
    if (high - b->low_size >= 32)
        middle = 8 * floor(middle / 8);
    return at_most(f, family, b, middle);
}

/* The next member to try if the line has room for `fitting` members. Once both ends are known, the line is followed
 * only within the middle half, so that a wrong one costs no more than a bisection. */
static size_t by_line(const struct staged_flow *f, size_t family, const struct bracket *b, size_t fitting)
{
    size_t last = b->high - 1, at = fitting > b->from ? fitting - 1 : b->from;
    at = at < last ? at : last;
    bool closed = b->high < staged_size(f, family);
    if (closed && b->low_size > 0 && last - b->from > 3) {
        size_t quarter = (last - b->from) / 4;
        at = at < b->from + quarter ? b->from + quarter : at > last - quarter ? last - quarter : at;
    } else if (closed && b->failures > 0) {
        double high = staged_member(f, family, b->high)->micro_batch;
        double step = 0.05 * (double)(1U << (b->failures < 5 ? b->failures - 1 : 4));
        size_t less = at_most(f, family, b, floor(high * (1 - step)));
        at = at < less ? at : less;
    }
    return at;
}

/* Whether the larger micro-batches of a bracket are not worth their trials: they gain little, or too little to beat the
 * rival. With little patience, members beyond what is expected to fit do not count. */
static bool is_close_enough(const struct staged_flow *f, size_t family, const struct bracket *b,
                            const struct staged_purpose *p, size_t fitting)
{
    size_t last = b->high - 1;
    if (!b->own_low)
        return false;
    last = p->patience && fitting != NONE && fitting > b->from && fitting - 1 < last ? fitting - 1 : last;
    double best = staged_objective(f, family);
    double gain = staged_gain(f, family, b->low_size, staged_member(f, family, last)->micro_batch);
    return gain < COARSE_GAIN ||
           search_better(f->s->space, p->rival, f->s->space->maximise ? best * (1 + gain) : best / (1 + gain));
}

/* None of its members ran, and one failed for a reason other than memory: assume that the rest fail, too. */
static bool is_broken(const struct staged_flow *f, size_t family)
{
    bool otherwise = false;
    for (size_t i = 0; i < staged_size(f, family); i++)
        otherwise |= staged_trial(f, family, i)->state == TRIAL_FAILED && !staged_trial(f, family, i)->out_of_memory;
    return otherwise && staged_largest_run(f, family) == NONE;
}

bool staged_find_largest(struct staged_flow *f, size_t family, struct staged_purpose p)
{
    for (;;) {
        const struct bracket b = bracket_of(f, family, p.reach);
        size_t fitting = p.blind && !has_two_runs(f, family) ? NONE : staged_count_fitting(f, family);
        if (b.from >= b.high || is_broken(f, family))
            return true;
        if (p.patience > 0 && b.failures >= p.patience && !b.own_low)
            return true;
        if (!p.exact && is_close_enough(f, family, &b, &p, fitting))
            return true;
        if (b.low_size > 0 && fitting != NONE && fitting <= b.from && is_hopeless(f, family, b.from))
            return true;
        size_t at = fitting == NONE ? double_or_bisect(f, family, &b) : by_line(f, family, &b, fitting);
        if (!staged_result(f, family, at, "the largest micro-batch that runs"))
            return false;
    }
}
