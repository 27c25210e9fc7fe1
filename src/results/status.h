/* The progress of the current sweep, as sql/answers/status.sql tells it: a document with its parts. */
#pragma once

#include "results/json.h"

/* Failures are grouped of the newest failed jobs, so many at most. */
#define STATUS_FAILURES_MOST 10000

/* The document of `status --json` (docs/json.md), as of one moment, without what the statement leaves to the program;
 * `eta_ms` is known while a runner is alive. `*beside` (NULL: not wanted): the statement's second column. Both are the
 * caller's. ERROR_NOTHING when no sweep has been recorded. */
int status_read(struct db *db, bool runner_alive, int64_t now_ms, cJSON **out, cJSON **beside, struct error *e);

/* answer_open() of it. */
int status_part(struct db *db, const char *select, struct sql_values values, struct stmt **out, struct error *e);

/* Reads the search that chose what ran last: "search" of the document, with "lifting", the options that lift its
 * limits. trials_to_come may be more than wait, -1: not known. `*out` is NULL if there was none; the caller's. */
int status_search_read(struct db *db, int64_t sweep_id, cJSON **out, struct error *e);

/* Lists the full trainings of the job as a search's winner (`run --run-full-experiment`), which no result counts,
 * oldest first: "full_trainings" of the document. The caller's. */
int full_trainings_read(struct db *db, int64_t job_id, cJSON **out, struct error *e);

/* How long jobs will take, from attempts of jobs like them. Mean over the jobs that wait (`waiting` of them; none: over
 * the attempts that run, of any sweep), in milliseconds; NaN when nothing has ended. `*attempts`: runs of each. */
int status_expected_ms(struct db *db, int64_t waiting, double *mean_ms, double *attempts, struct error *e);
