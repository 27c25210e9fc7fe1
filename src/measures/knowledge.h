/* What actual outcomes say about jobs that have not run: a job that ran out of device memory is the witness that all
 * jobs which need at least as much (space/memory_order.h) would, too.
 *
 * Only jobs that really ran out of memory are witnesses, never jobs left out because of another job or a prediction. So
 * every exclusion rests on one outcome and the declared order only, however long the chain. */
#ifndef MESHSWEEP_MEASURES_KNOWLEDGE_H
#define MESHSWEEP_MEASURES_KNOWLEDGE_H

#include "space/memory_order.h"

struct knowledge;

/* space->order must not be NULL; the space must outlive the result. */
int knowledge_create(struct space *space, struct knowledge **out, struct error *e);
void knowledge_free(struct knowledge *k);

/* Adds a job at its rank under a number chosen by the caller. `is_witness`: it ran out of device memory. Ranks beyond
 * the space are ignored. */
int knowledge_add(struct knowledge *k, int64_t id, int64_t rank, bool is_witness, struct error *e);

/* Adds a job of a database that is no combination of the space and ran out of device memory. It is a witness only if
 * the sweep would run its specs as the same job; otherwise it says nothing about this sweep. `*added` says whether. */
int knowledge_add_stored(struct knowledge *k, int64_t id, const struct stored_job *job, bool *added, struct error *e);

/* Marks the job as having run out of device memory. */
int knowledge_witness(struct knowledge *k, int64_t id, struct error *e);

/* Sets `*witness` to the first that needs no more than the combination at that rank; 0: none. */
int knowledge_find(struct knowledge *k, int64_t rank, int64_t *witness, struct error *e);

/* Calls `each` for every job that is not a witness and needs at least as much as `witness` (0: as any witness, of which
 * the first is passed). -1 from `each` stops. */
typedef int (*knowledge_each)(void *context, int64_t id, int64_t witness, struct error *e);
int knowledge_dependents(struct knowledge *k, int64_t witness, knowledge_each each, void *context, struct error *e);

#endif
