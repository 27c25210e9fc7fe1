/* Results made with other scripts, versions or devices than today's, for `stale`, `run --stale` and `deepspeed`. */
#ifndef MESHSWEEP_CLI_STALE_RESULTS_H
#define MESHSWEEP_CLI_STALE_RESULTS_H

#include "config/sweep.h"
#include "results/stale.h"

/* stale_read against this machine, directory and moment, and the versions that `job` (NULL: none) declares. */
int stale_results_read(struct db *db, const struct job_config *job, cJSON **out, cJSON **beside, struct error *e);

/* Says what of the results so far is of another script, other software or another environment than this run's, of which
 * `environment` is that of its runner. */
int stale_results_tell(struct db *db, const struct job_config *job, char *const *environment, struct error *e);

#endif
