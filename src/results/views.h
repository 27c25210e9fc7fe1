/* The views that people read, `results` and `ranking`: made by the program, for they have a column for every swept key
 * and every metric, whatever these are.
 *
 * results  one row per job: job, key (32 hexadecimal digits), sweep (its name), in_sweep (1 in the current sweep, 0
 *          else); a column per key of any spec in the database, in the order cluster_spec, model, training_spec,
 *          parallel_spec, and per derived key; state, failure, attempts (how many); a column per metric (the summary of
 *          the attempt that represents the job); duration_ms, max_rss (bytes), device_note (how its
 *          devices were slower than others' of their model) where any attempt has one, predicted_memory with
 *          predicted_memory_of (whose: "reserved, largest rank") and predicted_time where any job has one;
 *          partial (1: the metrics are of an attempt that failed, was ended early or of whose output not all was read,
 *          0: of one that was ok; NULL: there are none), error (the last failed attempt's message, of a failed job),
 *          directory (of its files), started and ended (UTC).
 * ranking  the jobs of the current sweep that are ok and have a finite objective, best first: rank (equal values, equal
 *          rank), the objective under its name, then the other columns of `results`. Without an objective it has no
 *          rows, and the second column is called objective.
 *
 * A key, derived key or metric has its bare name where no other column has it, else it is "section.key", "derived.key"
 * or "metric.name". A row costs look-ups by primary key only. SQLite allows 2,000 columns: past 1,500 keys and 400
 * metrics columns are left out, and the column columns_left_out says how many. */
#pragma once

#include "database/db.h"
#include "util/buffer.h"

/* Makes both, or makes them anew when the keys, the metrics or the objective are others than before; else writes
 * nothing. Reads every spec and the derived keys of every job once. Within the caller's write transaction or without
 * one. */
int result_views_refresh(struct db *db, struct error *e);

/* Appends the names of an object's members as they are written, each in quotation marks: equal bytes, equal keys in
 * equal order. Anything, if it is not an object. */
void key_sets_add_names(const char *json, struct buffer *out);
