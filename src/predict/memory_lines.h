/* Lines of measured memory over the micro-batch (baseline.h), one for each class of combinations that differ in that
 * alone. What two runs tell goes before what is modelled, as far as the line reaches: from half of the smallest
 * micro-batch measured to twice the largest, and within the interval of the model, so that two runs that scatter do not
 * lead far away. On nanotron's published runs the third and later micro-batch of a class is off by 10.3 % instead of
 * 11.2 % on average (tests/unit/test_predict_memory_lines.c). Pure. */
#ifndef MESHSWEEP_PREDICT_MEMORY_LINES_H
#define MESHSWEEP_PREDICT_MEMORY_LINES_H

#include <stdbool.h>
#include <stdint.h>

#include "predict/inputs.h"

struct memory_lines;

struct memory_lines *memory_lines_create(void);
void memory_lines_free(struct memory_lines *l);

/* The class of a combination: a hash of all but micro_batch, what follows from it, and steps. `s` is what `values`
 * decode to. */
uint64_t memory_class(const struct input_value *values, const struct subject *s);

/* Notes what a run took. Of more than MEMORY_LINE_POINTS the oldest is forgotten, and classes beyond MEMORY_LINES_MOST
 * are not kept. */
#define MEMORY_LINE_POINTS 8
#define MEMORY_LINES_MOST 1024
void memory_lines_add(struct memory_lines *l, uint64_t class, double micro_batch, double bytes);

/* False, `*bytes` untouched, when there is no line or it does not reach so far. */
bool memory_lines_bytes(const struct memory_lines *l, uint64_t class, double micro_batch, double *bytes);

#endif
