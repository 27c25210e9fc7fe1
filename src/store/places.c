#include "store/places.h"

#include <stdlib.h>

#include "store/states.h"
#include "util/memory.h"

void places_free(struct places *p)
{
    for (size_t i = 0; i < p->count; i++) {
        free_all(p->items[i].host, p->items[i].devices);
    }
    free(p->items);
    *p = PLACES_INIT;
}

int places_of_failures(struct db *db, int64_t job_id, struct places *out, struct error *e)
{
    static const char sql[] =
        "SELECT coalesce(a.host, r.host), a.devices, max(a.host IS NOT NULL), max(a.failure IS 'lost')"
        " FROM attempt AS a JOIN runner AS r ON r.id = a.runner_id"
        " WHERE a.job_id = ? AND a.kind = 'trial' AND iif(a.state = 'failed', a.failure <> 'cancelled', "
        "a.device_note IS NOT NULL) GROUP BY 1, 2 ORDER BY max(a.number) DESC";
    struct stmt *s = NULL;
    int rc;
    while ((rc = db_next(db, sql, VALUES(sql_int(job_id)), &s, e)) > 0) {
        *array_add(out->items, out->count) =
            (struct place){xstrdup(stmt_text(s, 0)), stmt_copy_text(s, 1), stmt_int(s, 2) != 0, stmt_int(s, 3) != 0};
    }
    return rc;
}

char *place_name(const char *host, const char *device)
{
    return device ? xasprintf("device %s of %s", device, host) : xasprintf("node %s", host);
}

int place_set_aside(struct db *db, const struct place_row *row, struct error *e)
{
    return db_run(db,
                  "INSERT INTO place (host, device, message, jobs, since, until, rest_ms)"
                  " VALUES (?1, coalesce(?2, ''), ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO UPDATE SET jobs = jobs + "
                  "excluded.jobs,"
                  " message = coalesce(excluded.message, message), until = excluded.until, rest_ms = excluded.rest_ms",
                  VALUES(sql_text(row->host), sql_text(row->device), sql_text(row->message), sql_int(row->jobs),
                         sql_int(row->since_ms), sql_int(row->until_ms), sql_int(row->rest_ms)),
                  e);
}

int place_restore(struct db *db, const char *host, const char *device, struct error *e)
{
    return db_run(db, "DELETE FROM place WHERE host = ?1 AND device = coalesce(?2, '')",
                  VALUES(sql_text(host), sql_text(device)), e);
}

int place_blame(struct db *db, int64_t attempt_id, enum failure *reopened, struct error *e)
{
    const struct sql_value id = sql_int(attempt_id);
    const char *pending = job_state_names[job_transition(JOB_FAILED, JOB_REOPEN).next];
    OWNED char *failure = NULL;
    int rc = db_run(db, "UPDATE attempt SET blame = ?2 WHERE id = ?1 AND state = 'failed' AND blame IS NULL",
                    VALUES(id, sql_text(blame_names[BLAME_HOST])), e);
    if (rc == 0)
        rc = db_query_text(db, "SELECT failure FROM job WHERE attempt_id = ? AND state = 'failed'", VALUES(id),
                           &failure, e);
    *reopened = failure ? failure_by_name(failure) : FAILURE_NONE;
    if (rc == 0 && failure)
        rc = db_run(db,
                    "UPDATE job SET state = ?2, failure = NULL, due = NULL WHERE attempt_id = ?1 AND state = 'failed'",
                    VALUES(id, sql_text(pending)), e);
    return rc;
}

int places_aside_read(struct db *db, void (*found)(void *context, const struct place_row *row), void *context,
                      struct error *e)
{
    static const char sql[] =
        "SELECT host, nullif(device, ''), message, jobs, since, until, rest_ms FROM place ORDER BY host, device";
    struct stmt *s = NULL;
    int rc;
    while ((rc = db_next(db, sql, NO_VALUES, &s, e)) > 0) {
        OWNED char *host = stmt_copy_text(s, 0), *device = stmt_copy_text(s, 1), *message = stmt_copy_text(s, 2);
        found(context, &(struct place_row){host, device, message, stmt_int(s, 3), stmt_int(s, 4), stmt_int(s, 5),
                                           stmt_int(s, 6)});
    }
    return rc;
}
