/* Part of a sweep as a separate sweep file. */
#pragma once

#include "results/query.h"
#include "util/buffer.h"

/* Appends the text of the current sweep's file with a rule added that keeps the jobs of the query (its `where` and
 * `state`) and no other: run, they are the same jobs. ERROR_NOTHING when there is none, ERROR_FAILED when the rule
 * would be longer than SQLite takes. */
int subset_add_toml(struct db *db, const struct result_query *q, struct buffer *out, struct error *e);
