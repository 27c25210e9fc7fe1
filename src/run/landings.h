/* Attempts that have ended and are not recorded yet: read at once, recorded with the next commit, announced after it. */
#ifndef MESHSWEEP_RUN_LANDINGS_H
#define MESHSWEEP_RUN_LANDINGS_H

#include "run/claim_source.h"
#include "run/claims.h"
#include "run/flight.h"
#include "run/recording.h"
#include "space/space.h"

struct landing {
    struct flight flight;
    struct recording recording;
};

struct landings {
    struct landing *items;
    size_t count;
    int64_t oldest_ms; /* when the first of them came */
    bool failure_due;  /* one of them failed */
    bool witness_due;  /* one of them ran out of device memory */
};

/* Reads what the attempt left. Takes `flight` and the outcome. `context` without its job_dir. */
void landings_add(struct landings *l, struct flight flight, struct outcome *outcome,
                  const struct recording_context *context);

struct landing_place {
    struct db *db;
    struct space *space;
    struct attempt_store *store;
    const struct claim_source *source; /* told of each end */
    struct claims *claims;             /* what is pruned leaves it */
};

/* Writes the ends, and the starts that are not written yet; inside the caller's write transaction. `*pruned` is raised by
 * how many jobs were. */
int landings_record(struct landings *l, const struct landing_place *place, int64_t *pruned, struct error *e);

void landings_clear(struct landings *l);
void landings_free(struct landings *l);

#endif
