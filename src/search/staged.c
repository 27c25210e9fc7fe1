/* Memory first, then speed. Whenever nothing runs and nothing is queued, the procedure starts again from the beginning
 * and runs until it needs results that are missing. Independent results are queued together and run side by side if
 * there is room; the next step is decided when all of them are in, so that it does not depend on how many run at once.
 *
 * Climb: the first configuration of each ZeRO stage, starting from the lowest stage whose predicted largest micro-batch
 * is not far below that of any other. Its largest micro-batch is found with the line of its memory
 * (below) or, without one, by doubling and bisection. A higher stage is tried with micro-batches for
 * which the lower has no room, or else with the same one; the first stage that is no faster ends the climb. Lower
 * stages follow if they may yet be faster. If none of these runs, configurations that need less memory are tried.
 *
 * Descend: keys that save memory, if more memory may pay; then keys of speed, one at a time.
 *
 * Refine: the exact largest micro-batch of the best; below it, a multiple of 8, or as many sizes as
 * num_tuning_micro_batch_sizes says, from half of it on; sizes between the best and its neighbours if the best is not
 * the largest; other accumulations. */
#include <stdlib.h>

#include "search/state.h"
#include "util/buffer.h"
#include "util/hash.h"
#include "util/memory.h"

#define STAGES_MOST 16
#define STAGE_MAY_WIN 0.9 /* of the best: a lower stage expected to reach this share may win */
#define NEAR_ENOUGH 1.1   /* between micro-batches around a peak */
#define FEW_ACCUMULATIONS 4
#define COARSE_GAIN 0.01  /* least gain that is worth a trial while stages are compared */
#define HOPELESS 1.08     /* times the usable memory: such a run will not fit */
#define WORTH_MEMORY 0.05 /* least gain from twice the micro-batch */
#define SAVER_FAILURES 2  /* failures after which a neighbour that never ran is given up */
#define MASK_BITS 64
#define JUST_BELOW 0.999 /* of what did not fit */

/* --- memory ---
 *
 * Memory of a configuration as a straight line over its micro-batch, from measurements and predictions:
 *
 *   bytes(m) = bytes of an anchor + slope · (m - micro-batch of the anchor)
 *
 * The anchor is a measured run of the same memory class; or else one of the same group, shifted by the predicted
 * difference between the two classes; or else the prediction. The slope goes through two measured runs of the class; or
 * else it is the predicted one, multiplied by the largest ratio of measured to predicted slope seen in the group. */
struct memory_estimate {
    double micro_batch, bytes, slope; /* NAN: not known */
};

/* What there is to estimate with. Nothing is measured during a pass. */
struct measured_memory {
    const struct search *s;
    size_t *runs, count; /* candidates */
    double ratio;        /* of measured to predicted slope, the largest in the group; NAN: not known */
};

static const struct candidate *candidate_of(const struct search *s, size_t candidate)
{
    return &s->space->candidates[candidate];
}

static bool is_measured(const struct search *s, size_t candidate)
{
    const struct trial *t = &s->trials[candidate];
    return trial_runs(t) && t->outcome.bytes > 0 && candidate_of(s, candidate)->micro_batch > 0;
}

/* Slope through the class's measured runs with the smallest and the largest micro-batch; NAN: there are not two. */
static double measured_slope(const struct measured_memory *m, size_t class)
{
    const struct search *s = m->s;
    const struct candidate *least = NULL, *most = NULL;
    for (size_t i = 0; i < m->count; i++) {
        const struct candidate *c = candidate_of(s, m->runs[i]);
        if (c->memory_class != class)
            continue;
        if (!least || c->micro_batch < least->micro_batch)
            least = c;
        if (!most || c->micro_batch > most->micro_batch)
            most = c;
    }
    if (!least || least->micro_batch == most->micro_batch)
        return NAN;
    const struct candidate *all = s->space->candidates;
    double slope = (s->trials[most - all].outcome.bytes - s->trials[least - all].outcome.bytes) /
                   (most->micro_batch - least->micro_batch);
    return slope > 0 ? slope : NAN;
}

static double predicted_slope(const struct search *s, size_t family)
{
    const struct candidate *first = family_candidate(s, family, 0),
                           *last = family_candidate(s, family, family_size(s, family) - 1);
    double slope = (last->bytes - first->bytes) / (last->micro_batch - first->micro_batch);
    return slope > 0 ? slope : NAN;
}

/* What is known of the members of a family. */
struct standing {
    size_t runs;                /* how many ran */
    size_t first, largest;      /* of these; NONE: there are none */
    size_t best;                /* the first of the best of them */
    double objective;           /* of that; NAN: nothing ran */
    bool is_known, is_measured; /* some member was tried; the memory of one was measured */
    bool is_broken; /* none ran, and one failed for a reason other than memory: assume that the rest fail, too */
};

static struct standing standing_of(const struct search *s, size_t family)
{
    struct standing x = {.first = NONE, .largest = NONE, .best = NONE, .objective = NAN};
    for (size_t i = 0; i < family_size(s, family); i++) {
        const struct trial *t = family_trial(s, family, i);
        x.is_known |= t->state != TRIAL_NONE;
        x.is_measured |= is_measured(s, family_member(s, family, i));
        x.is_broken |= t->state == TRIAL_FAILED && !t->outcome.out_of_memory;
        if (!trial_runs(t))
            continue;
        x.first = x.runs++ ? x.first : i;
        x.largest = i;
        if (search_better(s->space, t->outcome.objective, x.objective)) {
            x.best = i;
            x.objective = t->outcome.objective;
        }
    }
    x.is_broken &= x.runs == 0;
    return x;
}

static double ratio_of(const struct measured_memory *m, const size_t *families, size_t count)
{
    double ratio = NAN;
    for (size_t i = 0; i < count; i++)
        if (standing_of(m->s, families[i]).is_measured)
            ratio = fmax(ratio, measured_slope(m, family_candidate(m->s, families[i], 0)->memory_class) /
                                    predicted_slope(m->s, families[i]));
    return ratio;
}

static double slope_of(const struct measured_memory *m, size_t family)
{
    double slope = measured_slope(m, family_candidate(m->s, family, 0)->memory_class);
    double predicted = predicted_slope(m->s, family);
    slope = isnan(slope) ? m->ratio * predicted : slope;
    return isnan(slope) ? predicted : slope;
}

/* The group's measured run with the largest micro-batch, preferably of the same class; NULL: none. */
static const struct candidate *anchor_of(const struct measured_memory *m, const struct candidate *own)
{
    const struct candidate *anchor = NULL;
    for (size_t i = 0; i < m->count; i++) {
        const struct candidate *c = candidate_of(m->s, m->runs[i]);
        bool same = c->memory_class == own->memory_class;
        bool anchored = anchor && anchor->memory_class == own->memory_class;
        if (c->group != own->group)
            continue;
        if (!anchor || (same && !anchored) || (same == anchored && c->micro_batch > anchor->micro_batch))
            anchor = c;
    }
    return anchor;
}

static struct memory_estimate memory_estimate_of(const struct measured_memory *m, size_t family)
{
    const struct search *s = m->s;
    const struct candidate *own = family_candidate(s, family, 0), *anchor = anchor_of(m, own);
    struct memory_estimate l = {own->micro_batch, own->bytes, slope_of(m, family)};
    if (!anchor)
        return l;
    l.micro_batch = anchor->micro_batch;
    l.bytes = s->trials[anchor - s->space->candidates].outcome.bytes;
    if (anchor->memory_class != own->memory_class)
        l.bytes += own->bytes - anchor->bytes;
    if (anchor->memory_class != own->memory_class && anchor->micro_batch != own->micro_batch)
        l.bytes += predicted_slope(s, family) * (anchor->micro_batch - own->micro_batch);
    return l;
}

/* NAN if the line is not known. */
static double memory_estimate_bytes(const struct memory_estimate *l, double micro_batch)
{
    return micro_batch == l->micro_batch ? l->bytes : l->bytes + l->slope * (micro_batch - l->micro_batch);
}

/* The smallest value of the line among the family's runs that ran out of memory; NAN: none did. */
static double least_too_much(const struct measured_memory *m, size_t family)
{
    const struct search *s = m->s;
    double least = NAN;
    for (size_t i = 0; i < family_size(s, family); i++) {
        size_t candidate = family_member(s, family, i);
        if (!s->trials[candidate].outcome.out_of_memory)
            continue;
        const struct memory_estimate l = memory_estimate_of(m, family);
        least = fmin(least, memory_estimate_bytes(&l, candidate_of(s, candidate)->micro_batch));
    }
    return least;
}

/* Bytes of a device that a run of the group may use: predicted to be usable, but no more than the lines give for runs
 * that ran out of memory, and no less than any run was measured to use. NAN: not known. */
static double memory_estimate_usable(const struct measured_memory *m, size_t group)
{
    const struct search *s = m->s;
    double usable = NAN, measured = 0;
    for (size_t i = 0; i < s->space->count; i++) {
        const struct candidate *c = candidate_of(s, i);
        if (c->group != group)
            continue;
        usable = isnan(usable) ? c->usable_bytes : usable;
        measured = is_measured(s, i) ? fmax(measured, s->trials[i].outcome.bytes) : measured;
    }
    for (size_t family = 0; family < s->families.count; family++)
        if (family_candidate(s, family, 0)->group == group)
            usable = fmin(usable, JUST_BELOW * least_too_much(m, family));
    return usable < measured ? measured : usable;
}

/* --- the procedure --- */

/* One pass over one group. Families and members are indices into struct families. */
struct staged_pass {
    struct search *s;
    const bool *of_batch; /* by key of the space: differs within a configuration */
    const size_t *own;    /* the group's families */
    size_t own_count;
    struct measured_memory measured;
    double usable;
    /* Of the family that compare_with() was last called for. */
    uint64_t *differing; /* by family: bit mask of keys by index modulo MASK_BITS; 0: itself, or another stage or group
                          */
    uint64_t of_memory;  /* the keys that save memory */
};

/* The purpose of a search for the largest micro-batch. */
struct purpose {
    double reach;    /* only larger micro-batches matter */
    double rival;    /* objective to beat; NAN: none */
    bool exact;      /* close the bracket completely, however little is left to gain */
    size_t patience; /* failures after which a family is given up if nothing ran; 0: no limit */
    bool blind; /* predictions say nothing about the difference in memory: until two of its runs show it, nothing is
                 * expected */
};

/* --- results --- */

/* -1: no stage. */
static double stage(const struct staged_pass *f, size_t family)
{
    double stage = family_candidate(f->s, family, 0)->zero_stage;
    return isnan(stage) ? -1 : stage;
}

/* Results that do not depend on each other are requested together: go on after a false, and return false at the end. So
 * do all functions below that return false for a missing result. */
static bool result(struct staged_pass *f, size_t family, size_t at, const char *why)
{
    return search_knows(f->s, family_member(f->s, family, at), why);
}

static bool is_better(const struct staged_pass *f, size_t family, size_t than)
{
    return search_better(f->s->space, standing_of(f->s, family).objective, standing_of(f->s, than).objective);
}

/* The best of the families; NONE: none of them ran. */
static size_t best_among(const struct staged_pass *f, const size_t *families, size_t count)
{
    size_t best = NONE;
    for (size_t i = 0; i < count; i++)
        if (standing_of(f->s, families[i]).runs && (best == NONE || is_better(f, families[i], best)))
            best = families[i];
    return best;
}

/* --- what is expected --- */

/* How many members, counted from the first, are expected to fit; NONE: not known. */
static size_t count_fitting(const struct staged_pass *f, size_t family)
{
    const struct memory_estimate l = memory_estimate_of(&f->measured, family);
    size_t at = family_size(f->s, family);
    if (isnan(f->usable) || isnan(memory_estimate_bytes(&l, family_micro_batch(f->s, family, at - 1))))
        return NONE;
    while (at > 0 && memory_estimate_bytes(&l, family_micro_batch(f->s, family, at - 1)) > f->usable)
        at--;
    return at;
}

/* Returns whether the member has almost no chance of fitting. */
static bool is_hopeless(const struct staged_pass *f, size_t family, size_t at)
{
    const struct memory_estimate l = memory_estimate_of(&f->measured, family);
    return memory_estimate_bytes(&l, family_micro_batch(f->s, family, at)) > HOPELESS * f->usable;
}

/* Time per sample, in any unit. */
static double time_of(const struct staged_pass *f, size_t family, size_t at)
{
    double objective = family_trial(f->s, family, at)->outcome.objective;
    return f->s->space->maximise ? 1 / objective : objective;
}

/* Expected relative gain in the objective from micro-batch `from` to `to`. The time of a step is a fixed part plus a
 * part per sample, so 1/rate is linear in 1/micro-batch. Both come from two runs of the family, or else of the best
 * family; if that has not two either, all time is taken to be fixed, the most that can be gained. */
static double expected_gain(const struct staged_pass *f, size_t family, double from, double to)
{
    size_t best = best_among(f, f->own, f->own_count);
    family = standing_of(f->s, family).runs > 1 || best == NONE ? family : best;
    const struct standing x = standing_of(f->s, family);
    if (x.runs < 2)
        return to / from - 1;
    double x0 = 1 / family_micro_batch(f->s, family, x.first), x1 = 1 / family_micro_batch(f->s, family, x.largest);
    double y0 = time_of(f, family, x.first), y1 = time_of(f, family, x.largest);
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

static struct bracket bracket_of(const struct staged_pass *f, size_t family, double reach)
{
    struct bracket b = {.high = family_size(f->s, family), .low_size = reach};
    size_t low = standing_of(f->s, family).largest;
    if (low != NONE && family_micro_batch(f->s, family, low) > reach) {
        b.low_size = family_micro_batch(f->s, family, low);
        b.own_low = true;
    }
    while (b.from < family_size(f->s, family) && family_micro_batch(f->s, family, b.from) <= b.low_size)
        b.from++;
    for (size_t i = family_size(f->s, family); i-- > b.from;)
        if (family_trial(f->s, family, i)->state == TRIAL_FAILED) {
            b.high = i;
            b.failures++;
        }
    return b;
}

/* The last member of the bracket, from b->from on, with at most that micro-batch. */
static size_t at_most(const struct staged_pass *f, size_t family, const struct bracket *b, double micro_batch)
{
    size_t at = b->high - 1;
    while (at > b->from && family_micro_batch(f->s, family, at) > micro_batch)
        at--;
    return at;
}

/* The next member to try without a memory line. */
static size_t double_or_bisect(const struct staged_pass *f, size_t family, const struct bracket *b)
{
    if (b->high == family_size(f->s, family))
        return b->low_size > 0 ? at_most(f, family, b, 2 * b->low_size) : b->from;
    double high = family_micro_batch(f->s, family, b->high), middle = (b->low_size + high) / 2;
    if (high - b->low_size >= 32)
        middle = 8 * floor(middle / 8);
    return at_most(f, family, b, middle);
}

/* The next member to try if the line has room for `fitting` members. Once both ends are known, the line is followed
 * only within the middle half, so that a wrong one costs no more than a bisection. */
static size_t by_line(const struct staged_pass *f, size_t family, const struct bracket *b, size_t fitting)
{
    size_t last = b->high - 1, at = fitting > b->from ? fitting - 1 : b->from;
    at = at < last ? at : last;
    bool closed = b->high < family_size(f->s, family);
    if (closed && b->low_size > 0 && last - b->from > 3) {
        size_t quarter = (last - b->from) / 4;
        at = at < b->from + quarter ? b->from + quarter : at > last - quarter ? last - quarter : at;
    } else if (closed && b->failures > 0) {
        double high = family_micro_batch(f->s, family, b->high);
        double step = 0.05 * (double)(1U << (b->failures < 5 ? b->failures - 1 : 4));
        size_t less = at_most(f, family, b, floor(high * (1 - step)));
        at = at < less ? at : less;
    }
    return at;
}

/* Returns whether the larger micro-batches of a bracket are not worth their trials: they gain little, or too little to
 * beat the rival. With little patience, members beyond what is expected to fit do not count. */
static bool is_close_enough(const struct staged_pass *f, size_t family, const struct bracket *b,
                            const struct purpose *p, size_t fitting)
{
    size_t last = b->high - 1;
    if (!b->own_low)
        return false;
    last = p->patience && fitting != NONE && fitting > b->from && fitting - 1 < last ? fitting - 1 : last;
    double best = standing_of(f->s, family).objective;
    double gain = expected_gain(f, family, b->low_size, family_micro_batch(f->s, family, last));
    return gain < COARSE_GAIN ||
           search_better(f->s->space, p->rival, f->s->space->maximise ? best * (1 + gain) : best / (1 + gain));
}

static bool find_largest(struct staged_pass *f, size_t family, struct purpose p)
{
    for (;;) {
        const struct bracket b = bracket_of(f, family, p.reach);
        size_t fitting = p.blind && standing_of(f->s, family).runs < 2 ? NONE : count_fitting(f, family);
        if (b.from >= b.high || standing_of(f->s, family).is_broken)
            return true;
        if (p.patience > 0 && b.failures >= p.patience && !b.own_low)
            return true;
        if (!p.exact && is_close_enough(f, family, &b, &p, fitting))
            return true;
        if (b.low_size > 0 && fitting != NONE && fitting <= b.from && is_hopeless(f, family, b.from))
            return true;
        size_t at = fitting == NONE ? double_or_bisect(f, family, &b) : by_line(f, family, &b, fitting);
        if (!result(f, family, at, "the largest micro-batch that runs"))
            return false;
    }
}

/* --- the keys of a configuration other than stage and batch --- */

/* A neighbour differs in a minimal set of keys:
 * no other family differs in only a subset of them.
 *
 * Memory: if the best's largest micro-batch is also its best, and twice as much would gain, neighbours that differ in
 * keys that save memory (saves_memory) are searched one after the other for larger micro-batches. Any that is better
 * becomes the best.
 *
 * Speed: all other neighbours of the best are tried at its micro-batch, all at once; the fastest of them becomes the
 * best, with its own largest micro-batch. A change of keys that was no better is not tried again in combination with
 * others. */

static uint64_t bit_of(size_t key)
{
    return UINT64_C(1) << key % MASK_BITS;
}

static bool differs(const struct staged_pass *f, size_t key, const struct candidate *a, const struct candidate *b)
{
    return !f->of_batch[key] && !same_value(a->values[key], b->values[key]);
}

static uint64_t differing_keys(const struct staged_pass *f, size_t base, size_t family)
{
    const struct candidate *a = family_candidate(f->s, base, 0), *b = family_candidate(f->s, family, 0);
    uint64_t mask = 0;
    if (a->group != b->group || stage(f, base) != stage(f, family))
        return 0;
    for (size_t k = 0; k < f->s->space->key_count; k++)
        mask |= differs(f, k, a, b) ? bit_of(k) : 0;
    return mask;
}

static void compare_with(const struct staged_pass *f, size_t base)
{
    for (size_t i = 0; i < f->s->families.count; i++)
        f->differing[i] = differing_keys(f, base, i);
}

static bool is_neighbour(const struct staged_pass *f, size_t family)
{
    uint64_t own = f->differing[family];
    for (size_t i = 0; own && i < f->s->families.count; i++)
        if (f->differing[i] && f->differing[i] != own && (f->differing[i] & ~own) == 0)
            return false;
    return own != 0;
}

/* Returns whether it differs only in keys that save memory. */
static bool only_saves(const struct staged_pass *f, size_t family)
{
    return f->differing[family] != 0 && (f->differing[family] & ~f->of_memory) == 0;
}

/* Returns whether predictions say nothing about how their memory differs. */
static bool is_blind(const struct staged_pass *f, size_t base, size_t family)
{
    double own = family_candidate(f->s, family, 0)->bytes, of_base = family_candidate(f->s, base, 0)->bytes;
    return isnan(own) || isnan(of_base) || own == of_base;
}

/* Returns whether it differs in keys that save memory and needs less: by prediction, or else by declared order. */
static bool saves(const struct staged_pass *f, size_t base, size_t family)
{
    bool less = is_blind(f, base, family)
                    ? family > base
                    : family_candidate(f->s, family, 0)->bytes < family_candidate(f->s, base, 0)->bytes;
    return (f->differing[family] & f->of_memory) != 0 && less;
}

/* --- memory --- */

static double largest_of(const struct staged_pass *f, size_t family)
{
    return family_micro_batch(f->s, family, standing_of(f->s, family).largest);
}

/* Returns whether micro-batches larger than those that fit are likely to be faster. */
static bool wants_memory(const struct staged_pass *f, size_t base)
{
    size_t most = standing_of(f->s, base).largest;
    return most == standing_of(f->s, base).best && most + 1 < family_size(f->s, base) &&
           expected_gain(f, base, largest_of(f, base), 2 * largest_of(f, base)) >= WORTH_MEMORY;
}

static size_t next_saver(const struct staged_pass *f, size_t base, const bool *done)
{
    bool wants = wants_memory(f, base);
    compare_with(f, base);
    for (size_t i = 0; i < f->s->families.count; i++)
        if (!done[i] && saves(f, base, i) && (wants || standing_of(f->s, i).is_known) && is_neighbour(f, i))
            return i;
    return NONE;
}

static bool save_memory(struct staged_pass *f, size_t *base)
{
    bool *done = xcalloc(f->s->families.count + 1, sizeof *done), known = true;
    for (size_t next; known && (next = next_saver(f, *base, done)) != NONE;) {
        done[next] = true;
        const struct purpose p = {.reach = largest_of(f, *base),
                                  .rival = standing_of(f->s, *base).objective,
                                  .patience = SAVER_FAILURES,
                                  .blind = is_blind(f, *base, next)};
        known = find_largest(f, next, p);
        if (known && is_better(f, next, *base))
            *base = next;
    }
    free(done);
    return known;
}

/* --- speed --- */

/* Hash of the keys in which it differs from the base, with their values. */
static struct hash128 change_of(const struct staged_pass *f, size_t base, size_t family)
{
    const struct candidate *a = family_candidate(f->s, base, 0), *b = family_candidate(f->s, family, 0);
    OWNED_BUFFER change = BUFFER_INIT;
    for (size_t k = 0; k < f->s->space->key_count; k++)
        if (differs(f, k, a, b)) {
            buffer_add(&change, &k, sizeof k);
            buffer_add(&change, &b->values[k], sizeof b->values[k]);
        }
    return hash_bytes(buffer_text(&change), change.length);
}

/* In declared order, or a drawn one, without changes of keys that were no better. The caller frees it. */
static size_t *to_be_tried(const struct staged_pass *f, size_t base, const struct hash_index *lost, size_t *count)
{
    struct rank *ranks = xcalloc(f->s->families.count + 1, sizeof *ranks);
    bool drawn = f->s->options.order == SEARCH_ORDER_SHUFFLED;
    *count = 0;
    compare_with(f, base);
    for (size_t i = 0; i < f->s->families.count; i++) {
        const struct hash128 change = change_of(f, base, i);
        const uint64_t identity = family_candidate(f->s, i, 0)->identity;
        if (!saves(f, base, i) && is_neighbour(f, i) && !hash_index_has(lost, &change))
            ranks[(*count)++] = (struct rank){i, 0, drawn ? search_draw(f->s, identity, 0, UINT64_MAX) : 0};
    }
    return ranked(ranks, *count);
}

/* Tries it at that micro-batch, or at the largest below it that is expected to fit. */
static bool try_at(struct staged_pass *f, size_t family, double micro_batch)
{
    size_t at = family_at_most(f->s, family, micro_batch), fitting = count_fitting(f, family);
    at = at == NONE ? 0 : at;
    at = fitting != NONE && fitting <= at ? (fitting ? fitting - 1 : 0) : at;
    return standing_of(f->s, family).is_known || result(f, family, at, "one key away from the best");
}

/* The best among the base and the tried families. Those no better than the base are added to `lost`. */
static size_t best_of(const struct staged_pass *f, size_t base, const size_t *tried, size_t count,
                      struct hash_index *lost)
{
    size_t best = base;
    for (size_t i = 0; i < count; i++) {
        if (is_better(f, tried[i], best))
            best = tried[i];
        const struct hash128 change = change_of(f, base, tried[i]);
        if (!is_better(f, tried[i], base))
            hash_index_takes(lost, &change);
    }
    return best;
}

static bool speed_up(struct staged_pass *f, size_t base)
{
    struct hash_index lost = HASH_INDEX_INIT;
    bool known = true;
    for (bool better = true; known && better;) {
        size_t count, *tried = to_be_tried(f, base, &lost, &count);
        double micro_batch = family_micro_batch(f->s, base, standing_of(f->s, base).best);
        for (size_t i = 0; i < count; i++)
            known &= try_at(f, tried[i], micro_batch);
        size_t best = known ? best_of(f, base, tried, count, &lost) : base;
        better = best != base;
        base = best;
        free(tried);
    }
    hash_index_free(&lost);
    return known;
}

static bool descend(struct staged_pass *f, size_t base)
{
    return save_memory(f, &base) && speed_up(f, base);
}

/* --- where to begin --- */

/* Among the families that differ from this one only in keys that save memory, the one that is predicted to need the
 * most: jobs that are unlikely to fit are listed last. */
static size_t least_saving(const struct staged_pass *f, size_t family)
{
    size_t most = family;
    compare_with(f, family);
    for (size_t i = 0; i < f->s->families.count; i++)
        if (only_saves(f, i) && family_candidate(f->s, i, 0)->bytes > family_candidate(f->s, most, 0)->bytes)
            most = i;
    return most;
}

/* --- where nothing runs --- */

/* Returns whether it differs from the first family of its stage only in keys that save memory. */
static bool saves_alone(const struct staged_pass *f, size_t family)
{
    size_t first = 0;
    while (stage(f, f->own[first]) != stage(f, family))
        first++;
    compare_with(f, f->own[first]);
    return only_saves(f, family);
}

/* If nothing ran: finds the first family that runs, in declared order, among those that differ from the first of their
 * stage only in keys that save memory, or else among all. NONE: nothing runs. */
static bool rescue(struct staged_pass *f, size_t *found)
{
    *found = NONE;
    for (int all = 0; all <= 1; all++)
        for (size_t i = 0; *found == NONE && i < f->own_count; i++) {
            if (!all && !saves_alone(f, f->own[i]))
                continue;
            if (!find_largest(f, f->own[i], (struct purpose){.rival = NAN}))
                return false;
            if (standing_of(f->s, f->own[i]).largest != NONE)
                *found = f->own[i];
        }
    return true;
}

/* --- climbing --- */

struct climb {
    size_t families[STAGES_MOST]; /* the first family of each stage, lowest stage first */
    size_t count;
};

static struct climb stages_of(const struct staged_pass *f)
{
    struct climb c = {.count = 0};
    struct rank *ranks = xcalloc(f->own_count + 1, sizeof *ranks);
    for (size_t i = 0; i < f->own_count; i++)
        ranks[i] = (struct rank){f->own[i], -stage(f, f->own[i]), 0};
    OWNED size_t *by_stage = ranked(ranks, f->own_count);
    for (size_t i = 0; i < f->own_count && c.count < STAGES_MOST; i++)
        if (i == 0 || stage(f, by_stage[i]) != stage(f, by_stage[i - 1]))
            c.families[c.count++] = by_stage[i];
    for (size_t i = 0; i < c.count; i++)
        c.families[i] = least_saving(f, c.families[i]);
    return c;
}

/* From the predictions before anything ran, so that it never changes. */
static double predicted_largest(const struct staged_pass *f, size_t family)
{
    size_t at = family_size(f->s, family);
    if (isnan(family_candidate(f->s, family, 0)->bytes) || isnan(family_candidate(f->s, family, 0)->usable_bytes))
        return NAN;
    while (at > 0 &&
           family_candidate(f->s, family, at - 1)->bytes > family_candidate(f->s, family, at - 1)->usable_bytes)
        at--;
    return at ? family_micro_batch(f->s, family, at - 1) : 0;
}

static size_t first_stage(const struct staged_pass *f, const struct climb *c)
{
    double most = 0;
    for (size_t i = 0; i < c->count; i++)
        most = fmax(most, predicted_largest(f, c->families[i]));
    for (size_t i = 0; i < c->count; i++)
        if (!(predicted_largest(f, c->families[i]) < most / 2))
            return most > 0 || isnan(predicted_largest(f, c->families[i])) ? i : c->count - 1;
    return 0;
}

/* Tries the higher stage at the micro-batch that the lower one reached. */
static bool try_same_size(struct staged_pass *f, size_t family, double micro_batch)
{
    const size_t at = family_at_most(f->s, family, micro_batch);
    return at == NONE || family_micro_batch(f->s, family, at) != micro_batch ||
           result(f, family, at, "the micro-batch that the stage below reached");
}

static bool climb_up(struct staged_pass *f, const struct climb *c, size_t first)
{
    double reach = 0, best = NAN;
    for (size_t i = first; i < c->count; i++) {
        size_t family = c->families[i];
        if (!find_largest(f, family, (struct purpose){.reach = reach, .rival = best}))
            return false;
        if (reach > 0 && standing_of(f->s, family).largest == NONE && !try_same_size(f, family, reach))
            return false;
        if (standing_of(f->s, family).largest == NONE)
            continue;
        reach = fmax(reach, family_micro_batch(f->s, family, standing_of(f->s, family).largest));
        if (!isnan(best) && !search_better(f->s->space, standing_of(f->s, family).objective, best))
            return true;
        best = standing_of(f->s, family).objective;
    }
    return true;
}

/* Tries stages below the one that the climb began with. */
static bool climb_down(struct staged_pass *f, const struct climb *c, size_t first)
{
    for (size_t i = first; i-- > 0;) {
        size_t family = c->families[i], best = best_among(f, c->families, c->count), fitting = count_fitting(f, family);
        if (best == NONE || fitting == 0)
            continue;
        double from = family_micro_batch(f->s, best, standing_of(f->s, best).best);
        double to = fitting == NONE ? from : family_micro_batch(f->s, family, fitting - 1);
        if (1 + expected_gain(f, best, from, to) >= STAGE_MAY_WIN &&
            !find_largest(f, family, (struct purpose){.rival = standing_of(f->s, best).objective}))
            return false;
    }
    return true;
}

static bool climb(struct staged_pass *f, size_t *base)
{
    const struct climb c = stages_of(f);
    size_t first = first_stage(f, &c);
    if (!climb_up(f, &c, first) || !climb_down(f, &c, first))
        return false;
    *base = best_among(f, c.families, c.count);
    return *base != NONE || rescue(f, base);
}

/* --- refining --- */

static bool try_size(struct staged_pass *f, size_t family, double micro_batch, const char *why)
{
    size_t at = family_at_most(f->s, family, micro_batch);
    return at == NONE || result(f, family, at, why);
}

/* Tries a multiple of 8 below the largest, or the configured number of sizes from half of it on. */
static bool try_below(struct staged_pass *f, size_t family)
{
    double largest = family_micro_batch(f->s, family, standing_of(f->s, family).largest), half = floor(largest / 2);
    double count = search_number(f->s, SEARCH_NUM_TUNING_MICRO_BATCH_SIZES);
    static const char why[] = "a smaller micro-batch than the largest";
    if (count <= 1)
        return largest <= 8 || fmod(largest, 8) == 0 || try_size(f, family, 8 * floor(largest / 8), why);
    double stride = fmax(1, floor((largest - half) / count));
    bool known = true;
    for (int64_t i = 0, sizes = (int64_t)ceil((largest - fmax(1, half)) / stride); i < sizes; i++)
        known &= try_size(f, family, fmax(1, half) + (double)i * stride, why);
    return known;
}

/* If the largest micro-batch is not the best, speed has a peak: halves the wider gap beside it. */
static bool find_peak(struct staged_pass *f, size_t family)
{
    for (;;) {
        size_t best = standing_of(f->s, family).best, below = best, above = best,
               most = standing_of(f->s, family).largest;
        if (best == most)
            return true;
        do
            above++;
        while (above < most && !trial_runs(family_trial(f->s, family, above)));
        while (below > 0 && (below == best || !trial_runs(family_trial(f->s, family, below))))
            below--;
        double size = family_micro_batch(f->s, family, best), up = family_micro_batch(f->s, family, above) / size;
        double down =
            trial_runs(family_trial(f->s, family, below)) ? size / family_micro_batch(f->s, family, below) : 1;
        if (fmax(up, down) <= NEAR_ENOUGH)
            return true;
        size_t middle = up >= down ? (best + above) / 2 : (best + below) / 2;
        if (middle == best || middle == above || middle == below ||
            family_trial(f->s, family, middle)->state == TRIAL_FAILED)
            return true;
        if (!result(f, family, middle, "between the best micro-batch and its neighbour"))
            return false;
    }
}

static bool is_other_accumulation(const struct staged_pass *f, const struct candidate *best, const struct candidate *c)
{
    return c != best && c->configuration == best->configuration && c->micro_batch == best->micro_batch &&
           f->s->trials[c - f->s->space->candidates].eligible;
}

/* Tries other accumulations at the best micro-batch: all if there are few; otherwise the second, as the first is hardly
 * ever beaten, and the one in the middle. */
static bool try_accumulations(struct staged_pass *f, size_t family)
{
    const struct search_space *space = f->s->space;
    const struct candidate *best = family_candidate(f->s, family, standing_of(f->s, family).best);
    size_t count = 0, at = 0;
    bool known = true;
    for (size_t i = 0; i < space->count; i++)
        count += is_other_accumulation(f, best, &space->candidates[i]);
    for (size_t i = 0; i < space->count; i++) {
        if (!is_other_accumulation(f, best, &space->candidates[i]))
            continue;
        if (count <= FEW_ACCUMULATIONS || at == 0 || at == count / 2)
            known &= search_knows(f->s, i, "another accumulation at the best micro-batch");
        at++;
    }
    return known;
}

static bool refine(struct staged_pass *f)
{
    size_t best = best_among(f, f->own, f->own_count);
    if (best == NONE)
        return true;
    bool is_largest = standing_of(f->s, best).best == standing_of(f->s, best).largest;
    return (!is_largest || find_largest(f, best, (struct purpose){.rival = NAN, .exact = true})) &&
           try_below(f, best) && find_peak(f, best) && try_accumulations(f, best);
}

/* --- the algorithm --- */

/* Collects what all groups need now; groups know nothing of each other. */
static void go_through(struct search *s, void *own)
{
    OWNED uint64_t *differing = xcalloc(s->families.count + 1, sizeof *differing);
    OWNED size_t *families = xcalloc(s->families.count + 1, sizeof *families);
    OWNED size_t *runs = xcalloc(s->space->count + 1, sizeof *runs);
    struct staged_pass f = {.s = s,
                            .of_batch = *(bool **)own,
                            .own = families,
                            .measured = {s, runs, 0, NAN},
                            .differing = differing};
    for (size_t i = 0; i < s->space->count; i++)
        if (is_measured(s, i))
            runs[f.measured.count++] = i;
    for (size_t k = 0; s->space->saves_memory && k < s->space->key_count; k++)
        f.of_memory |= s->space->saves_memory[k] ? bit_of(k) : 0;
    for (size_t group = 0; group < s->space->group_count; group++) {
        size_t base;
        f.own_count = 0;
        for (size_t i = 0; i < s->families.count; i++)
            if (family_candidate(s, i, 0)->group == group)
                families[f.own_count++] = i;
        f.measured.ratio = ratio_of(&f.measured, families, f.own_count);
        f.usable = memory_estimate_usable(&f.measured, group);
        if (climb(&f, &base) && base != NONE && descend(&f, base))
            refine(&f);
    }
}

static void staged_create(struct search *s, void *own)
{
    families_keep_first(s);
    *(bool **)own = arena_keep(&s->arena, search_keys_within(s->space, CLASS_CONFIGURATION));
}

const struct algorithm algorithm_staged = {.own_size = sizeof(bool *),
                                           .is_of_families = true,
                                           .create = staged_create,
                                           .go_through = go_through};
