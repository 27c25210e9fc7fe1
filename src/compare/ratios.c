#include "compare/ratios.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "util/memory.h"
#include "util/quantile.h"
#include "util/rng.h"

#define MISSED 0.05            /* of all comparisons shown together */
#define CORRELATION_MOST 0.271 /* of the results of two halves that choose for each other */

struct ratio_summary ratios_summarise(double *ratios, size_t count)
{
    struct ratio_summary s = {count, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, RATIO_INTERVAL_NONE, RATIO_TOO_FEW};
    if (count == 0)
        return s;
    sort_doubles(ratios, count);
    s.minimum = ratios[0];
    s.quarter = quantile(ratios, count, 0.25);
    s.median = quantile(ratios, count, 0.5);
    s.three_quarters = quantile(ratios, count, 0.75);
    s.maximum = ratios[count - 1];
    return s;
}

/* A binomial count of n with 1/2. */
struct binomial {
    size_t below;       /* the largest d with 2 P(B < d) <= missed; 0: none */
    double tail, point; /* P(B < d), P(B = d) */
};

static struct binomial binomial_tail(size_t n, double missed)
{
    size_t d = n / 2;
    double point = exp(lgamma((double)n + 1) - lgamma((double)d + 1) - lgamma((double)(n - d) + 1) - (double)n * M_LN2);
    double tail = n % 2 ? 0.5 - point : (1 - point) / 2;
    while (d > 0 && 2 * tail > missed) {
        point *= (double)d / (double)(n - d + 1);
        d--;
        tail -= point;
    }
    return (struct binomial){d, tail, point};
}

/* Between two values, as a share of the way in logarithms, so that the interval of a/b is that of b/a turned over. */
static double between(double from, double to, double share)
{
    return from * pow(to / from, share);
}

/* Returns whether the ratios suffice. */
static bool set_ranks(const double *x, double missed, struct ratio_summary *s)
{
    const struct binomial b = binomial_tail(s->count, missed);
    const double n = (double)s->count, d = (double)b.below;
    if (b.below == 0)
        return false;
    double part = (missed / 2 - b.tail) / b.point, share = (n - d) * part / (d + (n - 2 * d) * part);
    s->low = between(x[b.below - 1], x[b.below], share);
    s->high = between(x[s->count - b.below], x[s->count - b.below - 1], share);
    s->interval = RATIO_INTERVAL_RANKS;
    return true;
}

static void set_student(const double *x, double missed, struct ratio_summary *s)
{
    const double n = (double)s->count;
    double mean = 0, squares = 0;
    for (size_t i = 0; i < s->count; i++)
        mean += log(x[i]) / n;
    for (size_t i = 0; i < s->count; i++)
        squares += pow(log(x[i]) - mean, 2);
    double half = student_quantile(1 - missed / 2, n - 1) * sqrt(squares / (n - 1) / n);
    s->low = exp(mean - half);
    s->high = exp(mean + half);
    s->interval = RATIO_INTERVAL_STUDENT;
}

/* The share that a normal interval misses which is to be as much wider as the halves' correlation asks for. */
static double widened(double missed, unsigned choosers)
{
    double width = student_quantile(1 - missed / 2, INFINITY) * sqrt(1 + CORRELATION_MOST * choosers / 2);
    return choosers ? erfc(width / M_SQRT2) : missed;
}

void ratios_judge(const double *ratios, struct ratio_summary *s, size_t together, unsigned choosers)
{
    const double missed = MISSED / (double)together;
    if (s->count < RATIOS_INTERVAL_LEAST)
        return;
    if (!set_ranks(ratios, widened(missed, choosers), s))
        set_student(ratios, widened(missed, choosers), s);
    s->confidence = 1 - missed;
    if (s->count >= RATIOS_LEAST)
        s->verdict = s->low > 1 ? RATIO_HIGHER : s->high < 1 ? RATIO_LOWER : RATIO_SAME;
}

/* --- choices --- */

/* How a setting of a side did in one half. */
struct record {
    size_t side, half;
    uint64_t setting;
    double cost; /* relative to the others of its group: the sum, and once they are joined the mean */
    size_t groups;
};

static int by_setting(const void *a, const void *b)
{
    const struct record *x = a, *y = b;
    if (x->half != y->half)
        return x->half < y->half ? -1 : 1;
    if (x->side != y->side)
        return x->side < y->side ? -1 : 1;
    return (x->setting > y->setting) - (x->setting < y->setting);
}

static size_t end_of_side(const struct side_candidate *all, size_t count, size_t from)
{
    size_t end = from + 1;
    while (end < count && all[end].group == all[from].group && all[end].side == all[from].side)
        end++;
    return end;
}

/* A side's choices in one group, of which there are several. */
struct contested_side {
    size_t from, end, half;
};

static struct contested_side *find_contests(struct side_candidate *all, size_t count, size_t *found)
{
    struct contested_side *contests = NULL;
    *found = 0;
    for (size_t from = 0, end; from < count; from = end) {
        end = end_of_side(all, count, from);
        all[from].chosen = end - from == 1;
        for (size_t i = from; i < end; i++)
            all[i].one_of_several = end - from > 1;
        if (end - from == 1)
            continue;
        *array_add(contests, *found) = (struct contested_side){from, end, 0};
    }
    return contests;
}

/* Puts one of each two groups with contests, in random order, into either half. */
static void split(const struct side_candidate *all, struct contested_side *contests, size_t count, uint64_t seed)
{
    size_t *halves = xcalloc(count + 1, sizeof *halves), groups = 0;
    struct rng rng = rng_stream(seed, count);
    for (size_t i = 0; i < count; i++) {
        groups += i == 0 || all[contests[i].from].group != all[contests[i - 1].from].group;
        contests[i].half = groups - 1;
    }
    for (size_t i = 0; i < groups; i++) {
        size_t other = rng_below(&rng, i + 1);
        halves[i] = halves[other];
        halves[other] = i % 2;
    }
    for (size_t i = 0; i < count; i++)
        contests[i].half = halves[contests[i].half];
    free(halves);
}

static struct record *read_records(const struct side_candidate *all, const struct contested_side *contests,
                                   size_t count, size_t *joined)
{
    struct record *records = NULL;
    size_t n = 0;
    for (size_t c = 0; c < count; c++) {
        double mean = 0;
        for (size_t i = contests[c].from; i < contests[c].end; i++)
            mean += all[i].cost / (double)(contests[c].end - contests[c].from);
        for (size_t i = contests[c].from; i < contests[c].end; i++) {
            *array_add(records, n) =
                (struct record){all[i].side, contests[c].half, all[i].setting, all[i].cost - mean, 1};
        }
    }
    array_sort(records, n, by_setting);
    *joined = 0;
    for (size_t i = 0; i < n; i++) {
        struct record *last = *joined ? &records[*joined - 1] : NULL;
        if (!last || by_setting(last, &records[i]) != 0) {
            records[(*joined)++] = records[i];
            continue;
        }
        last->cost += records[i].cost;
        last->groups++;
    }
    for (size_t i = 0; i < *joined; i++)
        records[i].cost /= (double)records[i].groups;
    return records;
}

void choices_make(struct side_candidate *all, size_t count, uint64_t seed)
{
    size_t contest_count, record_count;
    OWNED struct contested_side *contests = find_contests(all, count, &contest_count);
    split(all, contests, contest_count, seed);
    OWNED struct record *records = read_records(all, contests, contest_count, &record_count);
    for (size_t c = 0; c < contest_count; c++) {
        double least = INFINITY;
        struct side_candidate *best = NULL;
        for (size_t i = contests[c].from; i < contests[c].end; i++) {
            const struct record key = {.side = all[i].side, .half = !contests[c].half, .setting = all[i].setting};
            const struct record *r = bsearch(&key, records, record_count, sizeof key, by_setting);
            all[i].chosen = false;
            if (r && r->cost < least) {
                least = r->cost;
                best = &all[i];
            }
        }
        if (best)
            best->chosen = true;
    }
}
