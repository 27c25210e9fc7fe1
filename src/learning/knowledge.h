/* What real outcomes say about jobs that have not run: one that ran out of device memory is the witness that those
 * which need no less (space/memory_order.h) would too.
 *
 * Only jobs that did run out of memory are witnesses, never one that was left out because of another or of a
 * prediction: so nothing but the declared order and an outcome stands behind an exclusion, however long the chain. */
#ifndef MESHSWEEP_LEARNING_KNOWLEDGE_H
#define MESHSWEEP_LEARNING_KNOWLEDGE_H

#include "space/memory_order.h"

struct knowledge;

/* space->order must not be NULL, and the space outlives what is made. */
int knowledge_create(struct space *space, struct knowledge **out, struct error *e);
void knowledge_free(struct knowledge *k);

/* A job, under a number that the caller gives it, at its rank; `is_witness`: it ran out of device memory. Ranks beyond
 * the space are passed over. */
int knowledge_add(struct knowledge *k, int64_t id, int64_t rank, bool is_witness, struct error *e);

/* A job of a database that no combination of the space is, and that ran out of device memory: a witness where the sweep
 * would run its specs as the same job (else they say nothing of this sweep's jobs). `*added` says whether. */
int knowledge_add_stored(struct knowledge *k, int64_t id, const struct stored_job *job, bool *added, struct error *e);

/* It ran out of device memory. */
int knowledge_witness(struct knowledge *k, int64_t id, struct error *e);

/* `*witness` gets the first one that needs no more than the combination at that rank; 0: none. */
int knowledge_find(struct knowledge *k, int64_t rank, int64_t *witness, struct error *e);

/* Calls `each` for every job that is not a witness and needs no less than `witness` (0: than any one; then the first of
 * them is named). -1 stops. */
typedef int (*knowledge_each)(void *context, int64_t id, int64_t witness, struct error *e);
int knowledge_dependents(struct knowledge *k, int64_t witness, knowledge_each each, void *context, struct error *e);

#endif
