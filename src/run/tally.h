/* The counts of a run, kept in step with what is committed. */
#ifndef MESHSWEEP_RUN_TALLY_H
#define MESHSWEEP_RUN_TALLY_H

#include "run/landings.h"
#include "run/runner.h"

/* The counts of the sweep's jobs and the best of them, as they stand in the database. */
int tally_load(struct run_counts *c, const struct runner_options *options, struct error *e);

/* Jobs of which it turned out that they need no less device memory than one that ran out of it. */
int tally_prune(struct run_counts *c, const struct runner_options *options, int64_t jobs, struct error *e);

void tally_start(struct run_counts *c);

/* Counts an end that has been committed, and tells `on_event` of it unless the job is gone. */
void tally_end(struct run_counts *c, const struct runner_options *options, const struct landing *l);

#endif
