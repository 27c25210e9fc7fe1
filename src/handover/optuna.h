/* Results as a storage of Optuna (https://optuna.org), in which its samplers can continue. */
#ifndef MESHSWEEP_HANDOVER_OPTUNA_H
#define MESHSWEEP_HANDOVER_OPTUNA_H

#include "results/query.h"

/* Writes the jobs of the query (its `where` and `state`) that were tried, also while a run continues, to an SQLite
 * database at `path` of the schema of Optuna 3.1, which stands there once it is whole: a study per sweep, a trial per
 * job; see docs/handover.md. That `path` may be written over is the caller's to see to. `db` is to be used for nothing
 * else afterwards. ERROR_USAGE when no sweep of these jobs has an objective; ERROR_NOTHING when none of them was
 * tried. */
int optuna_write(struct db *db, const struct result_query *q, const char *path, struct error *e);

#endif
