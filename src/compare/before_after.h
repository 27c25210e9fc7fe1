/* Compares the jobs that two databases have in common: measurements before and now. */
#pragma once

#include <stdbool.h>

#include "database/db.h"

/* Matches the jobs of the two current sweeps by job key. All their successful attempts count, each with its summary,
 * whether or not they meet [sweep] subject_to. */
struct before_after_request {
    const char *before, *now; /* paths */
    const char *metric;       /* NULL: the objective of the later sweep */
    const char *by;           /* a column of `results`: one verdict per value; NULL: one for all */
    double limit;             /* the slowdown to detect, as a ratio above 1 */
    bool decides;             /* it is asked for; else there are figures without a verdict */
};

/* Fills the tables of sql/comparisons.sql in `out`. ERROR_USAGE for an unknown metric or key, a metric without a
 * direction, or units that differ. ERROR_NOTHING if no job is in both databases, or none was measured on both sides. */
int before_after_read(struct db *before, struct db *now, const struct before_after_request *request, struct db *out,
                      struct error *e);
