/* Reading again what attempts left, through the code that records a running one: their samples, what these come to, and
 * what became of them. */
#pragma once

#include "measures/definitions.h"
#include "space/space.h"

struct cJSON;

struct reread_request {
    struct db *db;
    const struct space *space;
    struct measures *measures; /* NULL: none */
    int64_t sweep_id;
    const char *directory;    /* of the files of attempts (store_directory) */
    char *const *environment; /* whose secrets no message may show */
};

/* measures_renew, which also reads again the jobs of the sweep that failed as no-metric under other readers than those
 * of now. */
int reread_renew(const struct reread_request *request, struct renewal *out, struct error *e);

/* The same for all attempts of the jobs in the table "selected" (store/jobs.h), in the caller's transaction, which
 * is rolled back where it is only a `trial`. What was replaced is kept (store/changes.h), `detail` (JSON) being
 * what the user asked for. `*document`, sql/answers/reread.sql, is the caller's. */
int reread_selected(const struct reread_request *request, const char *detail, bool trial, struct cJSON **document,
                    struct error *e);
