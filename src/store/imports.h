/* Attempts that ran elsewhere: rows of measured tables, recorded as attempts that have ended. Inside the caller's
 * write transaction. */
#ifndef MESHSWEEP_STORE_IMPORTS_H
#define MESHSWEEP_STORE_IMPORTS_H

#include "database/db.h"
#include "util/hash.h"

#define IMPORT_EXECUTOR "import" /* attempt.executor of these; attempt.reference is the row's hash */

struct import_store;
/* `objective` (NULL: none) chooses the attempt that represents a job: of the ok ones that with the median. */
int import_store_create(struct db *db, int64_t runner_id, const char *objective, struct import_store **out,
                        struct error *e);
void import_store_free(struct import_store *s);

struct imported_attempt {
    int64_t job_id;
    const struct hash128 *row; /* what it is: equal hash, equal row */
    const char *failure;       /* NULL: ok */
    const char *message;       /* of a failed one; NULL: none */
    const char *source;        /* "table.csv:17" */
    double duration_s;         /* NAN: not known */
};

/* Records it unless that row of that job is there: then `*id` is 0. */
int import_store_put(struct import_store *s, const struct imported_attempt *attempt, int64_t *id, struct error *e);

/* A number that the attempt measured. */
int import_store_metric(struct import_store *s, int64_t attempt_id, const char *name, double value, struct error *e);

/* Brings the jobs of the attempts that were put to where those lead: ok where any attempt is, else failed as the last
 * one. */
int import_store_finish(struct import_store *s, struct error *e);

#endif
