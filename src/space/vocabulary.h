/* Words of specs that predictions must know: devices, precisions, schedules, kinds of recomputation, … */
#pragma once

#include "space/space.h"

/* For a sweep whose predictions are asked for: every text of a key that an input is read from, and that the input does
 * not know, is a problem at its key, with the nearest of the words that there are, unless a profile's [predict.keys]
 * make another value of it. A device may be unknown where [predict] states what it can do. So are a layout of stages
 * and a pattern of layers that cannot be read, adapters without modules or rank, and, where no model of the sweep is
 * free of contradictions, or of up to 4,096 combinations none can be predicted, what is wrong with them. Where the
 * sweep has [import] the first is returned instead (the caller's); else NULL. */
char *vocabulary_check(const struct space *space, struct problems *problems);

/* `name`, which by itself would be a name of the input, is by a [synonym] one of another input. */
bool vocabulary_is_of_another(const struct space *space, size_t input, const char *name);

/* The key that an input is read from; NULL: none, or no plain key. */
const struct key *vocabulary_key(const struct space *space, size_t input);

/* Reads a row of prediction_add_columns into `values`, INPUT_COUNT of them; texts are the row's. */
void vocabulary_read_inputs(const struct stmt *row, int first, struct input_value *values);
