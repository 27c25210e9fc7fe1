#include "search/surrogate.h"

#include <stdlib.h>
#include <string.h>

#include "search/surrogate_parts.h"
#include "util/memory.h"

/* --- coordinates --- */

bool surrogate_same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

static bool differs(const struct search_space *space, size_t key)
{
    for (size_t i = 1; i < space->count; i++)
        if (!surrogate_same(space->candidates[i].values[key], space->candidates[0].values[key]))
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

/* Numbers become shares of their range in doublings. Texts are huge negative codes: fold them into distinct floats. */
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

/* --- single-key kernels: a key has few values, so each costs a table --- */

static int compare_floats(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static uint32_t level_of(const float *values, size_t count, float value)
{
    const float *found = bsearch(&value, values, count, sizeof *values, compare_floats);
    return found ? (uint32_t)(found - values) : 0; /* a value that is not finite is not in the table */
}

static void take_levels(struct surrogate *b)
{
    size_t count = b->s->space->count, dimensions = b->dimensions;
    float *values = xcalloc(count + 1, sizeof *values);
    b->levels = xcalloc(count + 1, (dimensions + 1) * sizeof *b->levels);
    b->scales = xcalloc(dimensions + 1, sizeof *b->scales);
    for (size_t d = 0; d < dimensions; d++) {
        struct key_scale *scale = &b->scales[d];
        for (size_t i = 0; i < count; i++)
            values[i] = b->coordinates[i * dimensions + d];
        qsort(values, count, sizeof *values, compare_floats);
        for (size_t i = 0; i < count; i++)
            if (i == 0 || values[i] != values[scale->count - 1])
                values[scale->count++] = values[i];
        scale->values = xcalloc(scale->count + 1, sizeof *scale->values);
        for (size_t i = 0; i < scale->count; i++)
            scale->values[i] = values[i];
        for (size_t i = 0; i < count; i++)
            b->levels[i * dimensions + d] = level_of(scale->values, scale->count, b->coordinates[i * dimensions + d]);
    }
    free(values);
}

static void free_levels(struct surrogate *b)
{
    for (size_t d = 0; b->scales && d < b->dimensions; d++)
        free(b->scales[d].values);
    free(b->scales);
    free(b->levels);
}

static float alike(const struct surrogate *b, size_t d, float x, float y)
{
    if (!b->is_number[d])
        return x == y ? 1 : 0;
    float length = (float)SURROGATE_LENGTH * sqrtf((float)b->dimensions);
    return expf(-(x - y) * (x - y) / (2 * length * length));
}

double surrogate_alike(const struct surrogate *b, size_t i, size_t j)
{
    const float *x = b->coordinates + i * b->dimensions, *y = b->coordinates + j * b->dimensions;
    double sum = 0;
    for (size_t d = 0; d < b->dimensions; d++)
        sum += (double)alike(b, d, x[d], y[d]);
    return b->dimensions ? sum / (double)b->dimensions : 1;
}

void surrogate_add_alike(const struct surrogate *b, const size_t *told, const double *weights, size_t n, float *sums)
{
    size_t count = b->s->space->count, dimensions = b->dimensions;
    for (size_t d = 0; d < dimensions; d++) {
        const struct key_scale *scale = &b->scales[d];
        float *table = xcalloc(scale->count + 1, sizeof *table);
        for (size_t l = 0; l < scale->count; l++)
            for (size_t i = 0; i < n; i++)
                table[l] += (float)weights[i] / (float)dimensions *
                            alike(b, d, scale->values[l], b->coordinates[b->told[told[i]] * dimensions + d]);
        for (size_t c = 0; c < count; c++)
            sums[c] += (float)SURROGATE_SUM * table[b->levels[c * dimensions + d]];
        free(table);
    }
}

/* --- the need of memory --- */

static double need_of(const struct candidate *c, bool by_micro_batch)
{
    return by_micro_batch && c->micro_batch > 0 ? log(c->micro_batch) : c->usual_bytes;
}

static bool take_need(struct surrogate *b, bool by_micro_batch)
{
    const struct search_space *space = b->s->space;
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < space->count; i++) {
        low = fmin(low, need_of(&space->candidates[i], by_micro_batch));
        high = fmax(high, need_of(&space->candidates[i], by_micro_batch));
    }
    for (size_t i = 0; i < space->count; i++)
        b->need[i] = (float)(need_of(&space->candidates[i], by_micro_batch) - (low + high) / 2);
    return low < high;
}

/* Uses the micro-batch if arithmetic gives nothing. */
static void take_needs(struct surrogate *b)
{
    b->need = xcalloc(b->s->space->count + 1, sizeof *b->need);
    if (!take_need(b, false))
        take_need(b, true);
}

/* Keys that differ within a configuration: the micro-batch and what follows from it. */
static void mark_batch_keys(struct surrogate *b)
{
    const struct search_space *space = b->s->space;
    size_t *first = xcalloc(space->configuration_count + 1, sizeof *first); /* index + 1 of its first candidate; 0: none
                                                                             * so far */
    b->of_batch = xcalloc(space->key_count + 1, sizeof *b->of_batch);
    for (size_t i = 0; i < space->count; i++) {
        const struct candidate *c = &space->candidates[i];
        size_t *seen = &first[c->configuration];
        if (*seen == 0)
            *seen = i + 1;
        for (size_t k = 0; k < space->key_count; k++)
            b->of_batch[k] |= !surrogate_same(c->values[k], space->candidates[*seen - 1].values[k]);
    }
    free(first);
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
    for (size_t d = 0; d < b->dimensions; d++)
        take_key(b, keys[d], d);
    free(keys);
    mark_batch_keys(b);
    take_needs(b);
    take_levels(b);
}

/* --- predictions against arithmetic --- */

static double mean_distance(const struct two_claims *c)
{
    double sum = 0, count = 0;
    for (size_t i = 0; i < c->count; i++)
        if (!isnan(c->predicted[i])) {
            sum += c->predicted[i] - c->arithmetic[i];
            count++;
        }
    return count > 0 ? sum / count : 0;
}

static void compare_claims(struct surrogate *b)
{
    const struct search_space *space = b->s->space;
    double *predicted = xcalloc(space->count + 1, sizeof *predicted), *usual = xcalloc(space->count + 1, sizeof *usual);
    size_t *group = xcalloc(space->count + 1, sizeof *group);
    const struct two_claims claims = {predicted, usual, group, space->count, space->group_count};
    for (size_t i = 0; i < space->count; i++) {
        predicted[i] = search_predicted_log(space, &space->candidates[i]);
        usual[i] = space->candidates[i].usual_merit;
        group[i] = space->candidates[i].group;
    }
    b->time = claims_compare(&claims, USUAL_SPREAD);
    b->usual_level = mean_distance(&claims);
    for (size_t i = 0; i < space->count; i++) {
        predicted[i] = space->candidates[i].bytes > 0 ? log(space->candidates[i].bytes) : NAN;
        usual[i] = space->candidates[i].usual_bytes;
    }
    b->memory = claims_compare(&claims, USUAL_SPREAD_BYTES);
    free(predicted);
    free(usual);
    free(group);
}

float surrogate_kernel(const struct surrogate *b, size_t i, size_t j)
{
    const float *x = b->coordinates + i * b->dimensions, *y = b->coordinates + j * b->dimensions;
    float sum = 0;
    for (size_t d = 0; d < b->dimensions; d++) {
        float distance = b->is_number[d] ? x[d] - y[d] : x[d] == y[d] ? 0 : 1;
        sum += distance * distance;
    }
    return b->dimensions ? expf(-sum / (2 * (float)(SURROGATE_LENGTH * SURROGATE_LENGTH) * (float)b->dimensions)) : 1;
}

/* --- outcomes --- */

struct surrogate *surrogate_create(const struct search *s)
{
    struct surrogate *b = xcalloc(1, sizeof *b);
    b->s = s;
    b->stale = true;
    b->all = xcalloc(s->space->count + 1, sizeof *b->all);
    b->largest_fit = xcalloc(s->space->memory_class_count + 1, sizeof *b->largest_fit);
    b->smallest_oom = xcalloc(s->space->memory_class_count + 1, sizeof *b->smallest_oom);
    for (size_t i = 0; i < s->space->memory_class_count; i++)
        b->largest_fit[i] = b->smallest_oom[i] = NAN;
    take_coordinates(b);
    compare_claims(b);
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
    free(b->need);
    free_levels(b);
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
        row[i] = surrogate_kernel(b, i, candidate);
    b->told[at] = candidate;
    b->kernels[at] = row;
    b->told_count++;
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

const struct estimate *surrogate_all(struct surrogate *b)
{
    if (!b->stale)
        return b->all;
    struct fitted *fits = surrogate_fit(b);
    surrogate_fill_failures(b, fits);
    surrogate_fill_means(b, fits);
    b->stale = false;
    free(fits);
    return b->all;
}
