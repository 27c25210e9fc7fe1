/* Quantiles of any number of values in bounded memory (Munro and Paterson 1980): sorted buffers of equal size whose
 * values stand for 1, 2, 4, … of those that came; two buffers that stand for as many become one with every second value
 * of both. */
#pragma once

#include <stddef.h>

/* The rank of the value returned for a share of n values is wrong by at most n * b / 2048, where b is the number of
 * times that n can be halved until it is below 1024: by 0.5 % of a million and 1 % of a thousand millions. In practice
 * it is a tenth of that. Exact up to 1024. */
#define QUANTILE_SKETCH_BUFFER 1024

struct quantile_sketch;
struct quantile_sketch *quantile_sketch_create(void);
struct quantile_sketch *quantile_sketch_copy(const struct quantile_sketch *q); /* of NULL: NULL */
void quantile_sketch_free(struct quantile_sketch *q);

/* Not NaN. */
void quantile_sketch_add(struct quantile_sketch *q, double value);

/* The share-quantile (0 to 1) of what was added, at least one value. */
double quantile_sketch_at(const struct quantile_sketch *q, double share);
