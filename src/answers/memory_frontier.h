/* How large one key can become before memory runs out, for each combination of the others: the measured limit, and the
 * one predicted by a line through memory over size. */
#ifndef MESHSWEEP_ANSWERS_MEMORY_FRONTIER_H
#define MESHSWEEP_ANSWERS_MEMORY_FRONTIER_H

#include "answers/prediction_report.h"

/* Initialise to zero. */
struct memory_frontier {
    struct frontier_line *lines; /* one per combination without the key */
    size_t count;
};

/* Ignores rows without a number for `key`. */
void memory_frontier_add(struct memory_frontier *frontier, const char *key, const struct predicted_row *row);
void memory_frontier_free(struct memory_frontier *frontier);

/* Appends a table for people. ERROR_NOTHING if no row had the key. */
int memory_frontier_describe(const struct memory_frontier *frontier, const char *key, struct buffer *out,
                             struct error *e);

#endif
