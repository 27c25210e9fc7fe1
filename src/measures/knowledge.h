/* Outcomes bear on jobs that have not run: a job that ran out of device memory is the witness that all
 * jobs which need at least as much (space/memory_order.h) would, too.
 *
 * Only jobs that really ran out of memory are witnesses, never jobs left out because of another job or a prediction. So
 * every exclusion rests on one outcome and the declared order only, however long the chain. */
#pragma once

#include "space/match.h"
#include "space/memory_order.h"

struct knowledge;

/* space->order must not be NULL; the space must outlive the result. */
int knowledge_create(struct space *space, struct knowledge **out, struct error *e);
void knowledge_free(struct knowledge *k);

/* Adds a job at its rank under a number chosen by the caller. `is_witness`: it ran out of device memory. Ranks beyond
 * the space are ignored. */
int knowledge_add(struct knowledge *k, int64_t id, int64_t rank, bool is_witness, struct error *e);

/* Adds a job of a database that is no combination of the space and ran out of device memory. It is a witness only if
 * the sweep would run its specs as the same job: 1; otherwise it says nothing about this sweep: 0. */
int knowledge_add_stored(struct knowledge *k, int64_t id, const struct job_specs *job, struct error *e);

/* The first or next (db_next) of the newest thousand jobs of other sweeps that stand as failed for want of device
 * memory. */
int witness_next_elsewhere(struct db *db, int64_t sweep_id, struct stmt **s, struct job_specs *out, struct error *e);

/* Sets `*witness` to the first that needs no more than the combination at that rank; 0: none. */
int knowledge_find(struct knowledge *k, int64_t rank, int64_t *witness, struct error *e);

/* Returns the rows of every job that is not a witness and needs at least as much as `witness` (0: as any witness, of
 * which the first is given): the job, the witness. Borrowed until the next call. */
struct stmt *knowledge_dependents(struct knowledge *k, int64_t witness);

/* --- pruning ---
 *
 * Pruning of jobs by others that ran out of memory, kept in results.db: which pending jobs have a witness. */

struct pruning;

/* Updates the pruned jobs of the sweep; there are none if the space has no order. Jobs of other sweeps are witnesses,
 * too, if this sweep would run their specs as the same jobs. Call inside a write transaction. `space` and `db` must
 * outlive the result. */
int pruning_open(struct space *space, struct db *db, int64_t sweep_id, struct pruning **out, struct error *e);
void pruning_close(struct pruning *p);

/* Finds whether the job is pruned. */
int pruning_covers(struct pruning *p, int64_t job_id, bool *yes, struct error *e);

/* Callbacks for the holder of claims. */
struct pruning_listener {
    /* The job will be pruned if it is pending: a claim on it that has not started must be given back now. */
    int (*withdraw)(void *context, int64_t job_id, struct error *e);
    /* The job was pruned. */
    int (*pruned)(void *context, int64_t job_id, struct error *e);
    void *context;
};

/* Call after a job ran out of device memory and is recorded as failed: prunes jobs that need at least as much and sets
 * `*count` to their number. Call inside a write transaction. */
int pruning_note(struct pruning *p, int64_t job_id, const struct pruning_listener *l, int64_t *count, struct error *e);
