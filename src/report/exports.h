/* The exports besides rows: an Optuna storage, a summary in Markdown. */
#pragma once

#include "results/query.h"
#include "results/status.h"
#include "util/buffer.h"

/* Writes the jobs of the query (its `where` and `state`) that were tried to an SQLite database at `path`, in which
 * samplers of Optuna (https://optuna.org) can continue, with the schema of Optuna 3.1: a study per sweep, a trial per
 * job; see docs/handover.md. It may be called while a run continues; the file appears at `path` once complete. The
 * caller must make sure that `path` may be overwritten, and must not use `db` afterwards. ERROR_USAGE if no sweep of
 * these jobs has an objective; ERROR_NOTHING if none of them was tried. */
int optuna_write(struct db *db, const struct result_query *q, const char *path, struct error *e);

/* Appends the current sweep on one page of GitHub Markdown, for an issue, a pull request or a job's summary: the winner
 * with its command, the number of jobs by state, the ten best, and failures by cause. Texts of the sweep are escaped.
 * ERROR_NOTHING if no sweep has been recorded. */
int summary_add(struct db *db, struct buffer *out, struct error *e);
