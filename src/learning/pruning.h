/* Pruning by what ran out of memory, kept in results.db: which pending jobs have a witness (learning/knowledge.h,
 * store/witnesses.h). */
#ifndef MESHSWEEP_LEARNING_PRUNING_H
#define MESHSWEEP_LEARNING_PRUNING_H

#include "learning/knowledge.h"

struct pruning;

/* Inside the caller's write transaction: brings the sweep's pruned jobs up to date, none where the space has no order.
 * Jobs of other sweeps are witnesses, too, where this one would run their specs as the same jobs.
 * Both must outlive what is made. */
int pruning_open(struct space *space, struct db *db, int64_t sweep_id, struct pruning **out, struct error *e);
void pruning_close(struct pruning *p);

/* Whether the job is pruned. */
int pruning_covers(struct pruning *p, int64_t job_id, bool *yes, struct error *e);

/* Who holds claims. */
struct pruning_listener {
    /* A job is to be pruned if it is pending: what is only claimed is to be given back now. */
    int (*withdraw)(void *context, int64_t job_id, struct error *e);
    /* It was pruned. */
    int (*pruned)(void *context, int64_t job_id, struct error *e);
    void *context;
};

/* A job ran out of device memory and stands as failed: what needs no less is pruned, `*count` jobs in all. Inside the
 * caller's write transaction. */
int pruning_note(struct pruning *p, int64_t job_id, const struct pruning_listener *l, int64_t *count, struct error *e);

#endif
