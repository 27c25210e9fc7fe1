/* Lines of measured memory over the micro-batch, by least squares: one for each class of combinations that differ in
 * nothing else. The line through two runs takes precedence over the model in its range: from half of the smallest to
 * twice the largest measured micro-batch, and within the model's interval, so that scattered runs cannot lead far away.
 * On nanotron's published runs, the third and later micro-batches of a class are off by 10.3 % on average instead of
 * 11.2 % (tests/unit/test_predict_memory_lines.c). Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "predict/inputs.h"

struct memory_lines;

struct memory_lines *memory_lines_create(void);
void memory_lines_free(struct memory_lines *l);

/* Class of a combination: a hash of everything but micro_batch, what follows from it, and steps. `s` is decoded from
 * `values`. */
uint64_t memory_class(const struct input_value *values, const struct subject *s);

/* Notes the memory of a run. Beyond MEMORY_LINE_POINTS the oldest run is dropped; classes beyond MEMORY_LINES_MOST are
 * not kept. */
#define MEMORY_LINE_POINTS 8
#define MEMORY_LINES_MOST 1024
void memory_lines_add(struct memory_lines *l, uint64_t class, double micro_batch, double bytes);

/* False, `*bytes` untouched, if there is no line or the micro-batch is outside its range. */
bool memory_lines_bytes(const struct memory_lines *l, uint64_t class, double micro_batch, double *bytes);
