#include "store/places.h"

#include <stdlib.h>

#include "util/memory.h"

void places_free(struct places *p)
{
    for (size_t i = 0; i < p->count; i++) {
        free(p->items[i].host);
        free(p->items[i].devices);
    }
    free(p->items);
    *p = (struct places)PLACES_INIT;
}

int places_of_failures(struct db *db, int64_t job_id, struct places *out, struct error *e)
{
    struct stmt *s = NULL;
    int rc;
    if (db_query(db,
                 "SELECT coalesce(a.host, r.host), a.devices, max(a.host IS NOT NULL), max(a.failure = 'lost')"
                 " FROM attempt AS a JOIN runner AS r ON r.id = a.runner_id"
                 " WHERE a.job_id = ? AND a.state = 'failed' AND a.failure <> 'cancelled' AND a.kind = 'trial'"
                 " GROUP BY 1, 2 ORDER BY max(a.number) DESC",
                 VALUES(sql_int(job_id)), &s, e) < 0)
        return -1;
    while ((rc = stmt_next(s, e)) > 0) {
        out->items = array_grow(out->items, out->count, sizeof *out->items);
        out->items[out->count++] =
            (struct place){xstrdup(stmt_text(s, 0)), stmt_copy_text(s, 1), stmt_int(s, 2) != 0, stmt_int(s, 3) != 0};
    }
    stmt_free(s);
    return rc;
}
