/* The jobs that a run is narrowed to: the temporary table "selected", which lasts as long as the connection. */
#ifndef MESHSWEEP_STORE_SELECTION_H
#define MESHSWEEP_STORE_SELECTION_H

#include "database/db.h"
#include "util/hash.h"

struct selection;

/* Makes the table anew; outside a transaction. */
int selection_open(struct db *db, struct selection **out, struct error *e);
void selection_close(struct selection *s); /* what was added stays; NULL: nothing */

/* By its id, or by its key: where there is no such job nothing is added. */
int selection_add(struct selection *s, int64_t job_id, struct error *e);
int selection_add_key(struct selection *s, const struct hash128 *key, struct error *e);

#endif
