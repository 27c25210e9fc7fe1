/* Jobs that wait for nothing because another one, their witness, ran out of device memory and they need no less: the
 * column job.witness_id. Inside the caller's write transaction. */
#pragma once

#include "store/jobs.h"

/* Restores every pruned job of the sweep. */
int witnesses_clear(struct db *db, int64_t sweep_id, struct error *e);

/* Finds whether a job of the sweep stands as failed for want of device memory. */
int witnesses_any(struct db *db, int64_t sweep_id, bool *yes, struct error *e);

/* Calls `each` for every job of the sweep that stands as failed for want of device memory (`is_witness`), is
 * pending or runs. -1 stops. */
typedef int (*witness_each)(void *context, int64_t job_id, int64_t rank, bool is_witness, struct error *e);
int witnesses_walk(struct db *db, int64_t sweep_id, witness_each each, void *context, struct error *e);

/* The same for jobs of other sweeps that stand as failed for want of device memory, the newest WITNESSES_MOST of
 * them. */
#define WITNESSES_MOST 1000
typedef int (*witness_elsewhere_each)(void *context, const struct job_specs *row, struct error *e);
int witnesses_walk_elsewhere(struct db *db, int64_t sweep_id, witness_elsewhere_each each, void *context,
                             struct error *e);

/* Finds whether the job has a witness. */
int witnesses_covers(struct db *db, int64_t job_id, bool *yes, struct error *e);

/* Prunes a pending job that has no witness yet; `*pruned` says whether it was one. */
int witnesses_set(struct db *db, int64_t job_id, int64_t witness_id, bool *pruned, struct error *e);
