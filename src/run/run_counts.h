/* The counts of a run, updated with every commit. */
#pragma once

#include "run/commit_batch.h"
#include "run/runner.h"

/* The counts of the sweep's jobs and the best of them, as they are in the database. */
int run_counts_load(struct run_counts *c, const struct runner_options *options, struct error *e);

/* Jobs of which it turned out that they need no less device memory than one that ran out of it. */
int run_counts_prune(struct run_counts *c, const struct runner_options *options, int64_t jobs, struct error *e);

/* Jobs that had failed are pending again, by what they failed of, and `*were_ok` so far that were ok (NULL: none).
 * Returns how many had failed. */
int64_t run_counts_reopen(struct run_counts *c, const int64_t jobs[FAILURE_COUNT], const int64_t *were_ok);

/* Counts an end that has been committed, and reports it to `on_event` unless the job is gone. */
void run_counts_end(struct run_counts *c, const struct runner_options *options, const struct ended_attempt *l);
