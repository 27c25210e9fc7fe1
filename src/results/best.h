/* The winner of the current sweep under its objective, and the jobs close to it. */
#pragma once

#include "results/json.h"

#define BEST_LISTED 6 /* the winner and at most five others, within 2 % of its value (sql/answers/ranked.sql) */

/* `document` is that of `meshsweep best --json` without what tells how to run the job, and beside it is what only the
 * text has (sql/answers/best.sql, which says what is missing); of groups the first one's. "job" is null: no job is ok
 * with a finite objective. */
struct best {
    cJSON *document, *beside;
};

/* `group` is the text of a group ("model.name=1B, num_hosts=1") or, where there is none such, a part of it
 * ("num_hosts=1"): the best as if there were no other groups; NULL: all. ERROR_USAGE where there are none, with those
 * that there are, and when the sweep declares no objective, with what to add; ERROR_NOTHING when no sweep has been
 * recorded. */
int best_read(struct db *db, const char *group, struct best *out, struct error *e);
void best_free(struct best *b);

/* The number of the winner; -1: none. */
int64_t best_job(const struct best *b);
