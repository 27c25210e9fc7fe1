#include "results/stale.h"

#include <stdlib.h>
#include <string.h>

#include "util/memory.h"

void stale_free(struct stale_list *l)
{
    for (size_t i = 0; i < l->count; i++) {
        free(l->items[i].what);
        free(l->items[i].was);
        free(l->items[i].is);
    }
    free(l->items);
    *l = (struct stale_list){0};
}

static void add(struct stale_list *l, int64_t job, const char *what, const char *was, const char *is)
{
    l->items = array_grow(l->items, l->count, sizeof *l->items);
    l->items[l->count++] = (struct stale_job){job, xstrdup(what), xstrdup(was), xstrdup(is)};
}

/* --- the runner's surroundings --- */

/* Runners are few: what differs is found of them, then their jobs. */
static int read_surroundings(struct db *db, const char *provenance, struct stale_list *out, struct error *e)
{
    static const char sql[] =
        "WITH field (path, name) AS (VALUES ('$.git.commit', 'git commit'), ('$.cpu', 'processor'),"
        "  ('$.gpus.models', 'devices'), ('$.gpus.driver', 'driver')),"
        " other AS MATERIALIZED (SELECT r.id, f.name, json_extract(r.provenance, f.path) AS was,"
        "  json_extract(?1, f.path) AS is_now FROM runner AS r CROSS JOIN field AS f WHERE was <> is_now"
        "  UNION ALL SELECT r.id, 'version of ' || n.key, coalesce(w.value, ''), coalesce(n.value, '')"
        "  FROM json_each(?1, '$.versions') AS n"
        "  CROSS JOIN runner AS r JOIN json_each(r.provenance, '$.versions') AS w ON w.key = n.key AND w.value IS NOT "
        "n.value)"
        " SELECT j.id, o.name, o.was, o.is_now FROM other AS o CROSS JOIN attempt AS a ON a.runner_id = o.id"
        " CROSS JOIN job AS j ON j.id = a.job_id AND j.attempt_id = a.id"
        " WHERE j.sweep_id = (SELECT id FROM current_sweep) AND j.state IN ('ok', 'failed')";
    struct stmt *s = NULL;
    int rc;
    if (db_query(db, sql, VALUES(sql_text(provenance)), &s, e) < 0)
        return -1;
    while ((rc = stmt_next(s, e)) > 0)
        add(out, stmt_int(s, 0), stmt_text(s, 1), stmt_text(s, 2), stmt_text(s, 3));
    stmt_free(s);
    return rc;
}

/* --- the files that the command names --- */

static int read_files(struct db *db, const struct stale_today *today, struct stale_list *out, struct error *e)
{
    static const char sql[] = "SELECT j.id, k.key, k.value FROM job AS j CROSS JOIN attempt AS a ON a.id = "
                              "j.attempt_id, json_each(a.scripts) AS k"
                              " WHERE j.sweep_id = (SELECT id FROM current_sweep) AND j.state IN ('ok', 'failed')";
    struct stmt *s = NULL;
    int rc;
    if (db_prepare(db, sql, &s, e) < 0)
        return -1;
    while ((rc = stmt_next(s, e)) > 0) {
        const char *is = today->content(today->context, stmt_text(s, 1));
        if (strcmp(is, stmt_text(s, 2)) != 0)
            add(out, stmt_int(s, 0), stmt_text(s, 1), stmt_text(s, 2), is);
    }
    stmt_free(s);
    return rc;
}

/* --- all of it --- */

static int by_job(const void *a, const void *b)
{
    const struct stale_job *x = a, *y = b;
    if (x->job_id != y->job_id)
        return (x->job_id > y->job_id) - (x->job_id < y->job_id);
    return strcmp(x->what, y->what);
}

static void count_jobs(struct stale_list *l)
{
    if (l->count)
        qsort(l->items, l->count, sizeof *l->items, by_job);
    for (size_t i = 0; i < l->count; i++)
        l->jobs += i == 0 || l->items[i].job_id != l->items[i - 1].job_id;
}

int stale_read(struct db *db, const struct stale_today *today, struct stale_list *out, struct error *e)
{
    struct stale_list list = {0};
    if (db_query_int(db,
                     "SELECT count(*) FROM job WHERE sweep_id = (SELECT id FROM current_sweep)"
                     " AND state IN ('ok', 'failed')",
                     NO_VALUES, 0, &list.ended, e) < 0)
        return -1;
    if (read_surroundings(db, today->provenance, &list, e) < 0 || read_files(db, today, &list, e) < 0) {
        stale_free(&list);
        return -1;
    }
    count_jobs(&list);
    *out = list;
    return 0;
}

int stale_environment(struct db *db, const char *environment, struct stale_list *out, struct error *e)
{
    static const char sql[] =
        "WITH before (json) AS MATERIALIZED (SELECT json_extract(r.provenance, '$.environment') FROM attempt AS a"
        "  JOIN job AS j ON j.attempt_id = a.id JOIN runner AS r ON r.id = a.runner_id"
        "  WHERE j.sweep_id = (SELECT id FROM current_sweep) AND j.state IN ('ok', 'failed')"
        "  ORDER BY a.runner_id DESC LIMIT 1),"
        " w AS MATERIALIZED (SELECT k.key, k.value FROM before, json_each(before.json) AS k),"
        " n AS MATERIALIZED (SELECT k.key, k.value FROM before, json_each(?1) AS k)"
        " SELECT key, w.value, coalesce(n.value, '') FROM w LEFT JOIN n USING (key) WHERE n.value IS NOT w.value"
        " UNION ALL SELECT n.key, '', n.value FROM n LEFT JOIN w USING (key) WHERE w.key IS NULL ORDER BY 1";
    struct stale_list list = {0};
    struct stmt *s = NULL;
    int rc;
    if (db_query(db, sql, VALUES(sql_text(environment)), &s, e) < 0)
        return -1;
    while ((rc = stmt_next(s, e)) > 0)
        add(&list, 0, stmt_text(s, 0), stmt_text(s, 1), stmt_text(s, 2));
    stmt_free(s);
    *out = list;
    return rc;
}

static int list(struct db *db, const struct stale_list *l, struct error *e)
{
    struct stmt *s = NULL;
    if (db_exec(db, "CREATE TEMP TABLE stale (job_id INTEGER PRIMARY KEY)", e) < 0 ||
        db_prepare(db, "INSERT OR IGNORE INTO temp.stale VALUES (?)", &s, e) < 0)
        return -1;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < l->count; i++) {
        stmt_bind_int(s, 1, l->items[i].job_id);
        rc = stmt_run(s, e);
    }
    stmt_free(s);
    return rc;
}

int stale_reopen(struct db *db, const struct stale_list *l, const struct requeue_request *request, int64_t *count,
                 struct error *e)
{
    *count = 0;
    if (l->count == 0)
        return 0;
    if (db_begin(db, e) < 0)
        return -1;
    if (list(db, l, e) == 0 && jobs_requeue_listed(db, request, "temp.stale", count, e) == 0 &&
        db_exec(db,
                "UPDATE attempt SET superseded = 'made with another script, commit or device than a later one'"
                " WHERE state = 'ok' AND job_id IN (SELECT job_id FROM temp.stale) AND EXISTS"
                " (SELECT 1 FROM job WHERE id = attempt.job_id AND state = 'pending'); DROP TABLE temp.stale",
                e) == 0)
        return db_commit(db, e);
    db_rollback(db);
    return -1;
}
