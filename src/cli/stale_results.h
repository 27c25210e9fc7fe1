/* Results made with other scripts, versions or devices than today's, for `stale`, `run --stale` and `deepspeed`. */
#pragma once

#include "config/sweep.h"
#include "results/json.h"
#include "store/jobs.h"

/* sql/answers/stale.sql of this machine, directory and moment, and the versions that `job` (NULL: none) declares: the
 * document of `stale --json`, and what its text has beside it: "alike", the differences of like jobs with how many, and
 * "causes", what differs in words (NULL: nothing). Both are the caller's. */
int stale_results_read(struct db *db, const struct job_config *job, cJSON **out, cJSON **beside, struct error *e);

/* Says what of the results so far is of another script, other software or another environment than this run's, of which
 * `environment` is that of its runner. */
int stale_results_tell(struct db *db, const struct job_config *job, char *const *environment, struct error *e);

/* Says whether the oldest and the newest of the results that count are of different scripts: those of a sweep that was
 * resumed after an edit are compared as if they were of one. */
int stale_results_tell_mixed(struct db *db, struct error *e);

/* Makes the jobs of the document pending again, as far as the request lets them be started, in its own transaction.
 * `*count` gets how many. */
int stale_results_reopen(struct db *db, const cJSON *stale, const struct requeue_request *request, int64_t *count,
                         struct error *e);
