/* Within config: ranges, { from = 1, to = 64, factor = 2 }. */
#ifndef MESHSWEEP_SWEEP_FILE_RANGE_H
#define MESHSWEEP_SWEEP_FILE_RANGE_H

#include "sweep_file/reading.h"

/* One of step and factor; the other is 0. */
struct number_range {
    int64_t first, step, factor;
    uint64_t count;
};

/* Whether a value is meant as a range: a table with `from` or `to`. */
bool range_is_meant(const struct toml_node *node);

/* A range of integers; false after a complaint. */
bool range_read(const struct reading *r, const struct toml_node *node, struct number_range *out);
int64_t range_at(const struct number_range *range, uint64_t position);

/* The values of a range in ascending order, both ends included where the step meets them: integers, or reals of 15
 * digits where one of its numbers is real. At most a million; the array is the caller's. False after a complaint. */
bool range_read_values(const struct reading *r, const struct toml_node *node, struct value **values, size_t *count);

#endif
