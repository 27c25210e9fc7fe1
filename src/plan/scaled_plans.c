#include "plan/scaled_plans.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/memory.h"

#define INTERVAL_90 1.6448536269514722 /* of a normal distribution */
#define UNKNOWN ((struct scaled_figure){NAN, NAN, NAN})

void scaled_plans_free(struct scaled_plans *p)
{
    for (size_t i = 0; i < p->count; i++)
        free(p->items[i].words);
    free_all(p->items, p->ranked);
    *p = (struct scaled_plans){.count = 0};
}

/* --- adding --- */

static struct plan_figures figures_of(const struct prediction *p)
{
    double amount = p->tokens > 0 ? p->tokens : p->samples;
    struct plan_figures f = {.found = true,
                             .devices = p->devices,
                             .samples = p->samples,
                             .memory = UNKNOWN,
                             .seconds = UNKNOWN,
                             .throughput = UNKNOWN,
                             .verdict = p->has_probability ? p->verdict : 0,
                             .oom_probability = p->has_probability ? p->oom_probability : NAN};
    if (p->has_memory)
        f.memory = (struct scaled_figure){p->memory.most.bytes, p->memory.low_bytes, p->memory.high_bytes};
    if (p->has_time)
        f.seconds = (struct scaled_figure){p->seconds, p->low_s, p->high_s};
    if (p->has_time)
        f.throughput = (struct scaled_figure){amount / p->seconds, amount / p->high_s, amount / p->low_s};
    return f;
}

static double rate_per_device(const struct plan_figures *f)
{
    return f->throughput.value / f->devices;
}

static void add(struct scaled_plans *p, const struct plan_seen *seen, bool is_there)
{
    const struct prediction *found = seen->prediction;
    p->items = array_grow(p->items, p->count, sizeof *p->items);
    struct scaled_plan *plan = &p->items[p->count++];
    /* Rounded: the same work is reckoned from other batches. */
    *plan = (struct scaled_plan){.words = xstrdup(seen->words),
                                 .work = (double)(float)(found->flops / found->samples),
                                 .counts_tokens = found->tokens > 0,
                                 .memory_of = seen->memory_of,
                                 .efficiency = UNKNOWN};
    for (int q = 0; q < PREDICTED_QUANTITIES; q++)
        plan->spread[q] = evidence_scaling_width(found->where.framework, (enum predicted_quantity)q, found->devices, 1);
    *(is_there ? &plan->there : &plan->here) = figures_of(found);
}

void scaled_plans_add_here(struct scaled_plans *p, const struct plan_seen *seen)
{
    if (!seen->prediction)
        return;
    add(p, seen, false);
    if (seen->is_measured)
        p->measured_devices = fmax(p->measured_devices, seen->prediction->devices);
}

void scaled_plans_add_there(struct scaled_plans *p, const struct plan_seen *seen)
{
    p->without += !seen->prediction;
    if (seen->prediction)
        add(p, seen, true);
}

/* --- one of each words --- */

static int by_words(const void *a, const void *b)
{
    return strcmp(((const struct scaled_plan *)a)->words, ((const struct scaled_plan *)b)->words);
}

/* Returns whether figures of the same words go before others: below `devices`, more devices, the faster plan. */
static bool goes_before(const struct plan_figures *a, const struct plan_figures *b, double devices)
{
    if (!a->found || !b->found)
        return a->found;
    if ((a->devices < devices) != (b->devices < devices))
        return a->devices < devices;
    if (a->devices != b->devices)
        return a->devices > b->devices;
    return isnan(rate_per_device(b)) || rate_per_device(a) > rate_per_device(b);
}

/* Into the first of `count` plans with the same words. */
static void merge(struct scaled_plan *plans, size_t count)
{
    struct plan_figures there = plans[0].there, here = plans[0].here;
    for (size_t i = 1; i < count; i++)
        if (goes_before(&plans[i].there, &there, INFINITY)) {
            there = plans[i].there;
            memcpy(plans[0].spread, plans[i].spread, sizeof plans[0].spread);
        }
    for (size_t i = 1; i < count; i++) {
        if (goes_before(&plans[i].here, &here, there.found ? there.devices : INFINITY))
            here = plans[i].here;
        free(plans[i].words);
    }
    plans[0].there = there;
    plans[0].here = here;
}

static void merge_words(struct scaled_plans *p)
{
    size_t kept = 0, count;
    if (p->count > 0)
        qsort(p->items, p->count, sizeof *p->items, by_words);
    for (size_t first = 0; first < p->count; first += count) {
        for (count = 1; first + count < p->count && by_words(&p->items[first], &p->items[first + count]) == 0;)
            count++;
        merge(&p->items[first], count);
        p->items[kept++] = p->items[first];
    }
    p->count = kept;
}

const struct scaled_plan *scaled_plans_find(const struct scaled_plans *p, const char *words)
{
    const struct scaled_plan wanted = {.words = (char *)words};
    return p->count > 0 ? bsearch(&wanted, p->items, p->count, sizeof *p->items, by_words) : NULL;
}

/* --- intervals --- */

static void widen(struct scaled_figure *x, double width)
{
    double low = log(x->value / x->low), high = log(x->high / x->value);
    x->low = x->value * exp(-sqrt(low * low + width * width));
    x->high = x->value * exp(sqrt(high * high + width * width));
}

/* A figure of which nothing was measured has the width of comparisons, which reach to hundreds of devices. */
static void widen_figures(const struct scaled_plans *p, const struct scaled_plan *plan, struct plan_figures *f)
{
    double far = p->measured_devices > 0 ? sqrt(fmax(0, log2(f->devices / p->measured_devices))) : 0;
    if (!(far > 0))
        return;
    widen(&f->memory, plan->spread[QUANTITY_OF_MEMORY] * far);
    widen(&f->seconds, plan->spread[QUANTITY_OF_TIME] * far);
    widen(&f->throughput, plan->spread[QUANTITY_OF_TIME] * far);
}

static struct scaled_figure efficiency_of(const struct scaled_plan *plan)
{
    double value = rate_per_device(&plan->there) / rate_per_device(&plan->here);
    double width = plan->spread[QUANTITY_OF_TIME] * sqrt(fabs(log2(plan->there.devices / plan->here.devices)));
    return (struct scaled_figure){value, value * exp(-width), value * exp(width)};
}

/* --- places --- */

static bool has_place(const struct plan_figures *f)
{
    return f->found && !isnan(f->throughput.value) && f->verdict != OOM_CERTAIN;
}

static int compare(double a, double b)
{
    return (a > b) - (a < b);
}

/* By work, the largest and of these the fastest first; what has no place comes last. */
static int by_rate(const struct scaled_plan *a, const struct plan_figures *x, const struct scaled_plan *b,
                   const struct plan_figures *y)
{
    if (a->work != b->work)
        return compare(a->work, b->work);
    if (!has_place(x) || !has_place(y))
        return has_place(y) - has_place(x);
    if (x->devices != y->devices)
        return -compare(x->devices, y->devices);
    return -compare(rate_per_device(x), rate_per_device(y));
}

static int by_rate_here(const void *a, const void *b)
{
    const struct scaled_plan *const *x = a, *const *y = b;
    int order = by_rate(*x, &(*x)->here, *y, &(*y)->here);
    return order ? order : by_words(*x, *y);
}

static int by_rate_there(const void *a, const void *b)
{
    const struct scaled_plan *const *x = a, *const *y = b;
    int order = by_rate(*x, &(*x)->there, *y, &(*y)->there);
    return order ? order : by_words(*x, *y);
}

static struct plan_figures *side(struct scaled_plan *plan, bool is_there)
{
    return is_there ? &plan->there : &plan->here;
}

static void set_places(struct scaled_plans *p, bool is_there)
{
    int64_t place = 0;
    qsort(p->ranked, p->count, sizeof *p->ranked, is_there ? by_rate_there : by_rate_here);
    for (size_t i = 0; i < p->count; i++) {
        struct plan_figures *f = side(p->ranked[i], is_there);
        bool goes_on = i > 0 && p->ranked[i]->work == p->ranked[i - 1]->work &&
                       f->devices == side(p->ranked[i - 1], is_there)->devices;
        place = goes_on ? place + 1 : 1;
        f->place = has_place(f) ? place : 0;
    }
}

void scaled_plans_rank(struct scaled_plans *p)
{
    merge_words(p);
    p->ranked = xcalloc(p->count + 1, sizeof *p->ranked);
    for (size_t i = 0; i < p->count; i++) {
        struct scaled_plan *plan = p->ranked[i] = &p->items[i];
        if (plan->here.found && plan->there.found)
            plan->efficiency = efficiency_of(plan);
        widen_figures(p, plan, &plan->here);
        widen_figures(p, plan, &plan->there);
    }
    set_places(p, false);
    set_places(p, true);
}

static double sigma_of(const struct scaled_figure *x)
{
    return log(x->high / x->low) / (2 * INTERVAL_90);
}

double scaled_plans_faster(const struct scaled_plan *a, const struct scaled_plan *b)
{
    const struct scaled_figure *x = &a->there.throughput, *y = &b->there.throughput;
    double apart = log(x->value / y->value), sigma = hypot(sigma_of(x), sigma_of(y));
    return erfc(-apart / (sigma * sqrt(2))) / 2;
}
