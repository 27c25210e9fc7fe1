/* Results of other surroundings than today's, for `stale` and `run --stale`. */
#ifndef MESHSWEEP_CLI_STALE_RESULTS_H
#define MESHSWEEP_CLI_STALE_RESULTS_H

#include "config/sweep.h"
#include "store/stale.h"

/* stale_read against this machine, directory and moment, and the versions that `job` (NULL: none) declares. */
int stale_results_read(struct db *db, const struct job_config *job, struct stale_list *out, struct error *e);

#endif
