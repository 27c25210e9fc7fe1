/* The metrics that a database has, by name. */
#ifndef MESHSWEEP_RESULTS_METRIC_NAMES_H
#define MESHSWEEP_RESULTS_METRIC_NAMES_H

#include "database/db.h"

/* ERROR_USAGE for the value of --metric that is none of them: with what may have been meant, how one that every attempt
 * has is made a metric, or those that there are. Returns -1. */
int metric_names_refuse(struct db *db, const char *name, struct error *e);

#endif
