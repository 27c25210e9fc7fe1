#include "store/jobs.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "store/states.h"
#include "util/buffer.h"
#include "util/clock.h"
#include "util/memory.h"

struct job_writer {
    struct db *db;
    int64_t sweep_id;
    struct stmt *put_spec, *insert, *take_over;
};

int job_writer_create(struct db *db, int64_t sweep_id, struct job_writer **out, struct error *e)
{
    struct job_writer *w = xcalloc(1, sizeof *w);
    w->db = db;
    w->sweep_id = sweep_id;
    if (db_prepare(db,
                   "INSERT INTO spec (kind, hash, name, json, identity)"
                   " VALUES (?1, ?2, json_extract(?3, '$.name'), ?3, nullif(?4, ?2)) ON CONFLICT (kind, hash)"
                   " DO UPDATE SET name = excluded.name, json = excluded.json RETURNING id",
                   &w->put_spec, e) < 0 ||
        db_prepare(db,
                   "INSERT INTO job (key, sweep_id, rank, cluster_id, model_id, training_id, parallel_id, derived,"
                   " devices, timeout_ms, idle_timeout_ms, startup_timeout_ms, predicted_memory, predicted_time, risk,"
                   " priority, audit) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16,"
                   " ?17) ON CONFLICT (key) DO NOTHING",
                   &w->insert, e) < 0 ||
        db_prepare(db,
                   /* What has run keeps what was predicted before. */
                   /* Of combinations with one identity the first in rank stands for all. */
                   "UPDATE job SET sweep_id = ?2, rank = ?3, cluster_id = ?4, model_id = ?5, training_id = ?6,"
                   " parallel_id = ?7, derived = ?8, devices = ?9, timeout_ms = ?10, idle_timeout_ms = ?11,"
                   " startup_timeout_ms = ?12, predicted_memory = iif(state = 'pending', ?13, predicted_memory),"
                   " predicted_time = iif(state = 'pending', ?14, predicted_time),"
                   " risk = iif(state = 'pending', ?15, risk), audit = iif(state = 'pending', ?17, audit),"
                   " priority = ?16 WHERE key = ?1 AND (sweep_id <> ?2 OR rank >= ?3 OR rank < 0)",
                   &w->take_over, e) < 0) {
        job_writer_free(w);
        return -1;
    }
    *out = w;
    return 0;
}

void job_writer_free(struct job_writer *w)
{
    if (!w)
        return;
    stmt_free(w->put_spec);
    stmt_free(w->insert);
    stmt_free(w->take_over);
    free(w);
}

int job_writer_put_spec(struct job_writer *w, enum section_kind kind, const struct spec_row *row, int64_t *id,
                        struct error *e)
{
    stmt_bind_text(w->put_spec, 1, section_names[kind]);
    stmt_bind_blob(w->put_spec, 2, row->hash.bytes, sizeof row->hash.bytes);
    stmt_bind_text(w->put_spec, 3, row->json);
    stmt_bind_blob(w->put_spec, 4, row->identity.bytes, sizeof row->identity.bytes);
    int rc = stmt_next(w->put_spec, e);
    if (rc > 0)
        *id = stmt_int(w->put_spec, 0);
    stmt_reset(w->put_spec);
    return rc < 0 ? -1 : 0;
}

static void bind_or_null(struct stmt *s, int index, int64_t value)
{
    if (value)
        stmt_bind_int(s, index, value);
    else
        stmt_bind_null(s, index);
}

static void bind_number_or_null(struct stmt *s, int index, double value)
{
    if (isnan(value))
        stmt_bind_null(s, index);
    else
        stmt_bind_double(s, index, value);
}

static void bind_row(struct stmt *s, int64_t sweep_id, const struct job_row *row)
{
    stmt_bind_blob(s, 1, row->key.bytes, sizeof row->key.bytes);
    stmt_bind_int(s, 2, sweep_id);
    stmt_bind_int(s, 3, row->rank);
    for (int i = 0; i < SECTION_COUNT; i++)
        bind_or_null(s, 4 + i, row->spec_ids[i]);
    stmt_bind_text(s, 8, row->derived_json);
    stmt_bind_int(s, 9, row->devices);
    bind_or_null(s, 10, row->timeout_ms);
    bind_or_null(s, 11, row->idle_timeout_ms);
    bind_or_null(s, 12, row->startup_timeout_ms);
    bind_number_or_null(s, 13, row->predicted_memory);
    bind_number_or_null(s, 14, row->predicted_time);
    bind_or_null(s, 15, row->risk);
    stmt_bind_int(s, 16, row->priority);
    stmt_bind_int(s, 17, row->is_audit);
}

int job_writer_put(struct job_writer *w, const struct job_row *row, bool *is_new, struct error *e)
{
    bind_row(w->insert, w->sweep_id, row);
    if (stmt_run(w->insert, e) < 0)
        return -1;
    *is_new = db_changes(w->db) > 0;
    if (*is_new)
        return 0;
    bind_row(w->take_over, w->sweep_id, row);
    return stmt_run(w->take_over, e);
}

static int run_for_sweep(struct db *db, const char *sql, int64_t sweep_id, struct error *e)
{
    struct stmt *s = NULL;
    if (db_prepare(db, sql, &s, e) < 0)
        return -1;
    stmt_bind_int(s, 1, sweep_id);
    int rc = stmt_run(s, e);
    stmt_free(s);
    return rc;
}

int jobs_set_aside(struct db *db, int64_t sweep_id, struct error *e)
{
    return run_for_sweep(db,
                         "UPDATE job SET rank = -1 - rank WHERE sweep_id = ? AND state = 'pending' AND rank >= 0"
                         " AND NOT EXISTS (SELECT 1 FROM attempt WHERE job_id = job.id)",
                         sweep_id, e);
}

int jobs_drop_aside(struct db *db, int64_t sweep_id, struct error *e)
{
    return run_for_sweep(db, "DELETE FROM job WHERE sweep_id = ? AND rank < 0 AND state = 'pending'", sweep_id, e);
}

int job_find(struct db *db, const struct hash128 *key, int64_t *id, struct error *e)
{
    struct stmt *s = NULL;
    if (db_prepare(db, "SELECT id FROM job WHERE key = ?", &s, e) < 0)
        return -1;
    stmt_bind_blob(s, 1, key->bytes, sizeof key->bytes);
    int rc = stmt_next(s, e);
    *id = rc > 0 ? stmt_int(s, 0) : 0;
    stmt_free(s);
    return rc < 0 ? -1 : 0;
}

/* Which jobs: those in a state for which an SQL predicate with parameters ?2 and ?3 holds. */
struct condition {
    enum job_state state;
    const char *sql, *text;
    int64_t number;
};

static int requeue_where(struct db *db, const struct requeue_request *r, const struct condition *c, int64_t *count,
                         struct error *e)
{
    struct stmt *s = NULL;
    const struct job_transition t = job_transition(c->state, JOB_REOPEN);
    assert(t.next && t.action == JOB_CLEAR_FAILURE);
    char *sql = xasprintf("UPDATE job SET state = ?4, failure = NULL, due = NULL WHERE sweep_id = ?1 AND state = '%s' AND %s%s",
                          job_state_names[c->state], c->sql,
                          r->only_selected ? " AND id IN (SELECT job_id FROM temp.selected)" : "");
    int rc = db_prepare(db, sql, &s, e);
    free(sql);
    if (rc < 0)
        return -1;
    stmt_bind_int(s, 1, r->sweep_id);
    stmt_bind_text(s, 2, c->text);
    stmt_bind_int(s, 3, c->number);
    stmt_bind_text(s, 4, job_state_names[t.next]);
    rc = stmt_run(s, e);
    *count += db_changes(db);
    stmt_free(s);
    return rc;
}

static int requeue_failed(struct db *db, const struct requeue_request *r, int64_t *count, struct error *e)
{
    struct stmt *s = NULL;
    if (db_prepare(db, "SELECT DISTINCT failure FROM job WHERE sweep_id = ? AND state = 'failed'", &s, e) < 0)
        return -1;
    stmt_bind_int(s, 1, r->sweep_id);
    char *classes[16];
    size_t class_count = 0;
    int rc;
    while ((rc = stmt_next(s, e)) > 0 && class_count < sizeof classes / sizeof *classes)
        classes[class_count++] = xstrdup(stmt_text(s, 0));
    stmt_free(s);
    for (size_t i = 0; i < class_count; i++) {
        const struct condition has_attempts_left = {
            JOB_FAILED,
            "failure = ?2 AND (SELECT count(*) FROM attempt AS a WHERE a.job_id = job.id AND a.failure = ?2) < ?3",
            classes[i], retry_allowed(r->policy, classes[i])};
        if (rc >= 0)
            rc = requeue_where(db, r, &has_attempts_left, count, e);
        free(classes[i]);
    }
    return rc < 0 ? -1 : 0;
}

/* ",oom,timeout," */
static char *list_of(char *const *classes)
{
    struct buffer list = BUFFER_INIT;
    buffer_add_char(&list, ',');
    for (; *classes; classes++)
        buffer_printf(&list, "%s,", *classes);
    return buffer_take(&list);
}

/* Ended jobs for which the predicate `which` holds. With ?3 only those that are among as many as will be started, beside what
 * is pending and due at ?4 where jobs are started in order. */
static char *reopen_sql(const struct requeue_request *r, const char *which)
{
    const char *selected = r->only_selected ? " AND id IN (SELECT job_id FROM temp.selected)" : "";
    struct buffer sql = BUFFER_INIT;
    buffer_printf(&sql, "UPDATE job SET state = ?6, failure = NULL, due = NULL WHERE sweep_id = ?1 AND (%s)%s", which, selected);
    if (r->most)
        buffer_printf(&sql, " AND id IN (SELECT id FROM job WHERE sweep_id = ?1%s AND (%s%s) ORDER BY priority, rank LIMIT ?3)",
                      selected, which,
                      r->in_order ? " OR state = 'pending' AND witness_id IS NULL AND " RETRY_IS_DUE("?4", "?5") : "");
    return buffer_take(&sql);
}

/* `text`: what `which` calls ?2. */
static int reopen(struct db *db, const struct requeue_request *r, const char *which, const char *text, int64_t *count,
                  struct error *e)
{
    struct stmt *s = NULL;
    char *sql = reopen_sql(r, which);
    int rc = db_prepare(db, sql, &s, e);
    free(sql);
    if (rc < 0)
        return -1;
    stmt_bind_int(s, 1, r->sweep_id);
    stmt_bind_text(s, 2, text);
    stmt_bind_text(s, 6, job_state_names[job_transition(JOB_FAILED, JOB_REOPEN).next]);
    stmt_bind_int(s, 3, r->most);
    stmt_bind_int(s, 4, clock_wall_ms());
    stmt_bind_int(s, 5, r->policy->backoff_max_ms);
    rc = stmt_run(s, e);
    *count += db_changes(db);
    stmt_free(s);
    return rc;
}

static int requeue_forced(struct db *db, const struct requeue_request *r, int64_t *count, struct error *e)
{
    char *classes = list_of(r->forced);
    int rc = reopen(db, r, "state = 'failed' AND (instr(?2, ',all,') OR instr(?2, ',' || failure || ','))", classes, count, e);
    free(classes);
    return rc;
}

int jobs_requeue_listed(struct db *db, const struct requeue_request *r, const char *table, int64_t *count, struct error *e)
{
    char *which = xasprintf("state IN ('ok', 'failed') AND id IN (SELECT job_id FROM %s)", table);
    *count = 0;
    int rc = reopen(db, r, which, NULL, count, e);
    free(which);
    return rc;
}

int jobs_requeue(struct db *db, const struct requeue_request *r, int64_t *count, struct error *e)
{
    const struct condition wants_repeats = {
        JOB_OK, "(SELECT count(*) FROM attempt AS a WHERE a.job_id = job.id AND a.state = ?2) < ?3",
        attempt_state_names[ATTEMPT_OK], r->repeat};
    *count = 0;
    if (requeue_failed(db, r, count, e) < 0 || (r->forced && requeue_forced(db, r, count, e) < 0))
        return -1;
    return r->repeat > 1 ? requeue_where(db, r, &wants_repeats, count, e) : 0;
}

/* All, pending, running, failed, pruned. Each is answered by a partial index: a million jobs that are done need not be read. */
static const char count_all[] =
    "SELECT jobs, (SELECT count(*) FROM job WHERE sweep_id = ?1 AND state = 'pending' AND witness_id IS NULL),"
    " (SELECT count(*) FROM job WHERE sweep_id = ?1 AND state = 'running'),"
    " (SELECT count(*) FROM job WHERE sweep_id = ?1 AND state = 'failed'),"
    " (SELECT count(*) FROM job WHERE witness_id IS NOT NULL AND sweep_id = ?1) FROM sweep WHERE id = ?1";

static const char count_selected[] =
    "SELECT count(*), total(state = 'pending' AND witness_id IS NULL), total(state = 'running'),"
    " total(state = 'failed'), total(witness_id IS NOT NULL)"
    " FROM temp.selected JOIN job ON id = job_id WHERE sweep_id = ?1";

int jobs_count(struct db *db, int64_t sweep_id, bool only_selected, struct job_state_counts *out, struct error *e)
{
    struct stmt *s = NULL;
    if (db_prepare(db, only_selected ? count_selected : count_all, &s, e) < 0)
        return -1;
    stmt_bind_int(s, 1, sweep_id);
    int rc = stmt_next(s, e);
    if (rc > 0) {
        int64_t all = stmt_int(s, 0);
        *out = (struct job_state_counts){stmt_int(s, 1), stmt_int(s, 2), 0, stmt_int(s, 3), stmt_int(s, 4)};
        out->ok = all - out->pending - out->running - out->failed - out->pruned;
    }
    stmt_free(s);
    return rc < 0 ? -1 : 0;
}
