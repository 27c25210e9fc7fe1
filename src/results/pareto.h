/* The jobs of the current sweep that no other beats when it has several objectives. One beats another that is nowhere
 * worse and somewhere better. Jobs that differ in replicate keys only are one, with the mean of each objective. */
#pragma once

#include <cjson/cJSON.h>

#include "database/db.h"

/* Lists them by the first objective, the best first; equal ones by the next, then by job: {"job": of replicates the one
 * in the middle, "tie": the first job with the same values or null, "values": {"throughput": …}}. NULL: the sweep has
 * one objective. Reads within the caller's transaction; there must be a current sweep. The list is the caller's. */
int pareto_read(struct db *db, cJSON **out, struct error *e);
