/* Pruning of jobs by others that ran out of memory, kept in results.db: which pending jobs have a witness
 * (measures/knowledge.h, store/witnesses.h). */
#ifndef MESHSWEEP_MEASURES_PRUNING_H
#define MESHSWEEP_MEASURES_PRUNING_H

#include "measures/knowledge.h"

struct pruning;

/* Updates the pruned jobs of the sweep; there are none if the space has no order. Jobs of other sweeps are witnesses,
 * too, if this sweep would run their specs as the same jobs. Call inside a write transaction. `space` and `db` must
 * outlive the result. */
int pruning_open(struct space *space, struct db *db, int64_t sweep_id, struct pruning **out, struct error *e);
void pruning_close(struct pruning *p);

/* Whether the job is pruned. */
int pruning_covers(struct pruning *p, int64_t job_id, bool *yes, struct error *e);

/* Callbacks for whoever holds claims. */
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

#endif
