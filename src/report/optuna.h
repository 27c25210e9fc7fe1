/* Exports results as an Optuna storage (https://optuna.org), in which its samplers can continue. */
#ifndef MESHSWEEP_REPORT_OPTUNA_H
#define MESHSWEEP_REPORT_OPTUNA_H

#include "results/query.h"

/* Writes the jobs of the query (its `where` and `state`) that were tried to an SQLite database at `path`, with the
 * schema of Optuna 3.1: a study per sweep, a trial per job; see docs/handover.md. It may be called while a run
 * continues; the file appears at `path` once complete. The caller must make sure that `path` may be overwritten, and
 * must not use `db` afterwards. ERROR_USAGE if no sweep of these jobs has an objective; ERROR_NOTHING if none of them
 * was tried. */
int optuna_write(struct db *db, const struct result_query *q, const char *path, struct error *e);

#endif
