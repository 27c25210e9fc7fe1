#include "metrics/samples.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/memory.h"
#include "util/quantile.h"

/* --- quantiles in bounded memory --- */

enum { SIZE = QUANTILE_SKETCH_BUFFER, LEVELS = 50 };

struct quantile_sketch {
    double fresh[SIZE]; /* not sorted yet */
    size_t fresh_count;
    double *levels[LEVELS]; /* of SIZE values that stand for 2^level each; NULL: none */
    bool second[LEVELS];    /* which of each two values the next merge keeps, in turn, so that errors cancel out */
};

struct weighted_value {
    double value;
    int64_t weight;
};

struct quantile_sketch *quantile_sketch_create(void)
{
    return xcalloc(1, sizeof(struct quantile_sketch));
}

struct quantile_sketch *quantile_sketch_copy(const struct quantile_sketch *q)
{
    if (!q)
        return NULL;
    struct quantile_sketch *copy = xmalloc(sizeof *copy);
    *copy = *q;
    for (size_t i = 0; i < LEVELS; i++) {
        if (!q->levels[i])
            continue;
        copy->levels[i] = xcalloc(SIZE, sizeof(double));
        memcpy(copy->levels[i], q->levels[i], SIZE * sizeof(double));
    }
    return copy;
}

void quantile_sketch_free(struct quantile_sketch *q)
{
    for (size_t i = 0; q && i < LEVELS; i++)
        free(q->levels[i]);
    free(q);
}

/* Every second value of two sorted buffers, into `a`. */
static void merge(double *a, const double *b, bool second)
{
    double both[2 * SIZE];
    size_t i = 0, j = 0;
    for (size_t k = 0; k < 2 * SIZE; k++)
        both[k] = j == SIZE || (i < SIZE && a[i] <= b[j]) ? a[i++] : b[j++];
    for (size_t k = 0; k < SIZE; k++)
        a[k] = both[2 * k + second];
}

static void put_away(struct quantile_sketch *q)
{
    double *buffer = xcalloc(SIZE, sizeof *buffer);
    size_t level = 0;
    memcpy(buffer, q->fresh, sizeof q->fresh);
    sort_doubles(buffer, SIZE);
    for (; q->levels[level] && level < LEVELS - 1; level++) {
        merge(buffer, q->levels[level], q->second[level]);
        q->second[level] = !q->second[level];
        free(q->levels[level]);
        q->levels[level] = NULL;
    }
    free(q->levels[level]);
    q->levels[level] = buffer;
    q->fresh_count = 0;
}

void quantile_sketch_add(struct quantile_sketch *q, double value)
{
    if (q->fresh_count == SIZE)
        put_away(q);
    q->fresh[q->fresh_count++] = value;
}

BY_NUMBER(compare_values, struct weighted_value, ->value)

double quantile_sketch_at(const struct quantile_sketch *q, double share)
{
    OWNED struct weighted_value *values = xcalloc(SIZE * (LEVELS + 1), sizeof *values);
    size_t count = 0;
    int64_t total = (int64_t)q->fresh_count;
    for (size_t i = 0; i < q->fresh_count; i++)
        values[count++] = (struct weighted_value){q->fresh[i], 1};
    for (size_t level = 0; level < LEVELS; level++) {
        for (size_t i = 0; q->levels[level] && i < SIZE; i++)
            values[count++] = (struct weighted_value){q->levels[level][i], (int64_t)1 << level};
        total += q->levels[level] ? (int64_t)SIZE << level : 0;
    }
    array_sort(values, count, compare_values);
    const int64_t rank = (int64_t)(share * (double)(total - 1) + 0.5);
    size_t i = 0;
    for (int64_t below = values[0].weight; below <= rank && i + 1 < count; below += values[i].weight)
        i++;
    const double value = values[i].value;
    return value;
}

/* --- lists --- */

void sample_list_free(struct sample_list *l)
{
    for (size_t i = 0; i < l->name_count; i++) {
        free(l->names[i]);
        quantile_sketch_free(l->series[i].quantiles);
    }
    free_all(l->names, l->series, l->samples);
    *l = SAMPLE_LIST_INIT;
}

/* With the room that array_grow would have made. */
static void *copied(const void *items, size_t count, size_t item_bytes)
{
    size_t room = 1;
    while (room < count)
        room *= 2;
    void *copy = xcalloc(room, item_bytes);
    if (count > 0)
        memcpy(copy, items, count * item_bytes);
    return copy;
}

void sample_list_copy(const struct sample_list *l, struct sample_list *out)
{
    *out = *l;
    out->names = copied(l->names, l->name_count, sizeof *l->names);
    out->series = copied(l->series, l->name_count, sizeof *l->series);
    out->samples = copied(l->samples, l->count, sizeof *l->samples);
    for (size_t i = 0; i < l->name_count; i++) {
        out->names[i] = xstrdup(l->names[i]);
        out->series[i].quantiles = quantile_sketch_copy(l->series[i].quantiles);
    }
}

size_t sample_list_find(const struct sample_list *l, const char *name)
{
    return FIRST(k, l->name_count, strcmp(l->names[k], name) == 0);
}

size_t sample_list_add_name(struct sample_list *l, const char *name, struct sample_filter filter)
{
    l->names = array_grow(l->names, l->name_count, sizeof *l->names);
    l->series = array_grow(l->series, l->name_count, sizeof *l->series);
    l->names[l->name_count] = xstrdup(name);
    l->series[l->name_count] =
        (struct series){.filter = filter, .stride = 1, .tally = {.last = (double)NAN, .last_step = -1}};
    return l->name_count++;
}

/* --- what counts --- */

/* `ordinal`: how many of its name came before. */
static bool counts(const struct sample_filter *f, int64_t ordinal, int64_t step)
{
    return ordinal >= f->warmup && step >= f->first_step && (f->last_step == 0 || step <= f->last_step);
}

static void count_value(struct tally *t, double value)
{
    t->last = value;
    if (!isfinite(value)) {
        t->not_finite++;
        return;
    }
    t->counted++;
    t->minimum = t->counted == 1 || value < t->minimum ? value : t->minimum;
    t->maximum = t->counted == 1 || value > t->maximum ? value : t->maximum;
    double distance = value - t->mean;
    t->mean += distance / (double)t->counted;
    t->squares += distance * (value - t->mean);
}

/* --- thinning --- */

static void halve(struct sample_list *l, const bool *thinned)
{
    OWNED int64_t *position = xcalloc(l->name_count, sizeof *position);
    size_t kept = 0;
    for (size_t i = 0; i < l->count; i++) {
        const struct sample *s = &l->samples[i];
        if (!thinned[s->metric] || position[s->metric]++ % 2 == 0)
            l->samples[kept++] = *s;
    }
    l->count = kept;
}

/* All samples of the name are kept so far. */
static void begin_quantiles(struct sample_list *l, size_t metric)
{
    size_t count;
    OWNED double *values = sample_list_counted(l, metric, &count);
    l->series[metric].quantiles = quantile_sketch_create();
    for (size_t i = 0; i < count; i++)
        quantile_sketch_add(l->series[metric].quantiles, values[i]);
}

/* The names with more than half of what the largest has: names that report at every step are thinned together, a number
 * that is reported once stays. */
static void thin(struct sample_list *l)
{
    size_t *counts_of = xcalloc(l->name_count, sizeof *counts_of), most = 0;
    OWNED bool *thinned = xcalloc(l->name_count, sizeof *thinned);
    for (size_t i = 0; i < l->count; i++)
        counts_of[l->samples[i].metric]++;
    for (size_t i = 0; i < l->name_count; i++)
        most = counts_of[i] > most ? counts_of[i] : most;
    for (size_t i = 0; i < l->name_count; i++) {
        thinned[i] = counts_of[i] > most / 2;
        if (thinned[i] && l->series[i].stride == 1)
            begin_quantiles(l, i);
        l->series[i].stride *= thinned[i] ? 2 : 1;
    }
    halve(l, thinned);
    free(counts_of);
}

static void keep_sample(struct sample_list *l, struct sample sample)
{
    *array_add(l->samples, l->count) = sample;
}

void sample_list_add(struct sample_list *l, size_t metric, int64_t step, double value)
{
    struct series *s = &l->series[metric];
    int64_t ordinal = s->tally.reported++;
    if (step < 0)
        step = s->next_step;
    s->next_step = step < INT64_MAX ? step + 1 : step;
    s->tally.last_step = step;
    s->last = (struct sample){metric, step, value};
    const bool is_counted = counts(&s->filter, ordinal, step);
    if (is_counted)
        count_value(&s->tally, value);
    if (l->count >= SAMPLES_MOST)
        thin(l);
    if (s->quantiles && is_counted && isfinite(value))
        quantile_sketch_add(s->quantiles, value);
    if (ordinal % s->stride == 0)
        keep_sample(l, s->last);
}

void sample_list_complete(struct sample_list *l)
{
    for (size_t i = 0; i < l->name_count; i++) {
        const struct series *s = &l->series[i];
        if (s->tally.reported > 0 && (s->tally.reported - 1) % s->stride != 0)
            keep_sample(l, s->last);
    }
}

void sample_list_add_seen(struct sample_list *l, const char *name, double value)
{
    const size_t metric = sample_list_find(l, name);
    if (metric == l->name_count)
        sample_list_add_name(l, name, (struct sample_filter){0, 0, 0});
    sample_list_add(l, metric, -1, value);
    if ((l->series[metric].tally.reported - 1) % l->series[metric].stride != 0)
        keep_sample(l, l->series[metric].last);
}

/* --- summaries --- */

double *sample_list_counted(const struct sample_list *l, size_t metric, size_t *count)
{
    const struct series *s = &l->series[metric];
    const int64_t final = s->tally.reported - 1;
    double *values = xcalloc(l->count + 1, sizeof *values);
    int64_t ordinal = 0;
    *count = 0;
    for (size_t i = 0; i < l->count; i++) {
        const struct sample *sample = &l->samples[i];
        if (sample->metric != metric)
            continue;
        if (counts(&s->filter, ordinal < final ? ordinal : final, sample->step) && isfinite(sample->value))
            values[(*count)++] = sample->value;
        ordinal += s->stride;
    }
    return values;
}

static double taken(const struct summary *s, enum take take, double last)
{
    switch (take) {
    case TAKE_MEAN:
        return s->mean;
    case TAKE_LAST:
        return isfinite(last) ? last : (double)NAN;
    case TAKE_MAX:
        return s->maximum;
    case TAKE_MIN:
        return s->minimum;
    case TAKE_P90:
        return s->p90;
    case TAKE_MEDIAN:
        break;
    }
    return s->median;
}

/* The statistics that are of all samples, thinned or not. */
static struct summary summary_of(const struct tally *t)
{
    struct summary s = {.mean = NAN, .median = NAN, .minimum = NAN, .maximum = NAN, .stddev = NAN, .p90 = NAN};
    s.count = t->counted;
    s.not_finite = t->not_finite;
    s.reported = t->reported;
    s.ended_finite = isfinite(t->last);
    if (t->counted == 0)
        return s;
    s.mean = t->mean;
    s.minimum = t->minimum;
    s.maximum = t->maximum;
    s.stddev = t->counted > 1 ? sqrt(t->squares / (double)(t->counted - 1)) : 0;
    return s;
}

struct summary sample_list_summarise(const struct sample_list *l, size_t metric, enum take take)
{
    struct tally t = l->series[metric].tally;
    size_t count = 0;
    OWNED double *values = sample_list_counted(l, metric, &count);
    if (t.reported > 0 && t.counted + t.not_finite == 0) {
        count_value(&t, l->series[metric].last.value);
        values[0] = t.last;
        count = (size_t)t.counted;
    }
    struct summary s = summary_of(&t);
    const struct series *series = &l->series[metric];
    const struct quantile_sketch *quantiles = series->tally.counted > 0 ? series->quantiles : NULL;
    sort_doubles(values, count);
    if (s.count > 0) {
        s.median = quantiles ? quantile_sketch_at(quantiles, 0.5) : quantile(values, count, 0.5);
        s.p90 = quantiles ? quantile_sketch_at(quantiles, 0.9) : quantile(values, count, 0.9);
    }
    s.value = taken(&s, take, t.last);
    for (size_t i = 0; i < l->count; i++)
        s.kept += l->samples[i].metric == metric;
    return s;
}
