/* Results of other surroundings than today's, for `stale` and `run --stale`. */
#ifndef MESHSWEEP_CLI_STALE_RESULTS_H
#define MESHSWEEP_CLI_STALE_RESULTS_H

#include "store/stale.h"

/* stale_read against this machine, directory and moment. */
int stale_results_read(struct db *db, struct stale_list *out, struct error *e);

#endif
