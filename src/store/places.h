/* Where attempts ran. */
#ifndef MESHSWEEP_STORE_PLACES_H
#define MESHSWEEP_STORE_PLACES_H

#include <stdbool.h>

#include "database/db.h"

struct place {
    char *host;
    char *devices; /* "0,2", as CUDA_VISIBLE_DEVICES has them; NULL: none were given */
    bool is_named; /* the host is the attempt's own, not its runner's */
    bool lost;     /* some attempt was lost there */
};

struct places {
    struct place *items;
    size_t count;
};

#define PLACES_INIT                                                                                                    \
    {                                                                                                                  \
        NULL, 0                                                                                                        \
    }
void places_free(struct places *p);

/* Where attempts of the job failed otherwise than by a person's will, each place once, the last first: what another
 * attempt is to avoid where there is a choice. `out` is appended to. */
int places_of_failures(struct db *db, int64_t job_id, struct places *out, struct error *e);

#endif
