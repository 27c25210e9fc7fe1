#include "metrics/quantile_sketch.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "util/memory.h"
#include "util/quantile.h"

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

static int compare_values(const void *a, const void *b)
{
    const struct weighted_value *left = a, *right = b;
    return (left->value > right->value) - (left->value < right->value);
}

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
    qsort(values, count, sizeof *values, compare_values);
    const int64_t rank = (int64_t)(share * (double)(total - 1) + 0.5);
    size_t i = 0;
    for (int64_t below = values[0].weight; below <= rank && i + 1 < count; below += values[i].weight)
        i++;
    const double value = values[i].value;
    return value;
}
