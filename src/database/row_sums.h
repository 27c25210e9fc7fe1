/* Sums over rows, by which two large sets of rows are compared in one pass over each. */
#pragma once

#include "database/db.h"

/* Adds the aggregates row_sum(VALUE, …), 64 bits that are equal for the same rows in whatever order, and for others but
 * once in 2^64; sorted_row_sum(N, VALUE, …), which is NULL of rows that do not come in order, or of which two have
 * the same first N values, none of them NULL; and single_row_sum(N, VALUE, …), which leaves out rows that come next to
 * each other with the same first N values. */
int row_sums_add(struct db *db, struct error *e);

/* Tells whether each index has the rows of its table, in order, which SQLite's integrity_check looks up entry by entry,
 * for most of its time. `*yes` is false as well where that cannot be told. Needs row_sum. */
int row_sums_indexes_agree(struct db *db, bool *yes, struct error *e);
