#include "store/jobs.h"

#include <assert.h>
#include <string.h>

#include "store/states.h"
#include "util/buffer.h"
#include "util/clock.h"
#include "util/embedded.h"
#include "util/memory.h"

int jobs_let_go(struct db *db, int64_t sweep_id, int64_t losses_most, int64_t *count, struct error *e)
{
    assert(job_transition(JOB_PENDING, JOB_LET_GO).action == JOB_CLEAR_HELD);
    int rc = db_run(db, "UPDATE job SET held = NULL WHERE held IS NOT NULL AND sweep_id = ? AND losses <= ?",
                    VALUES(sql_int(sweep_id), sql_int(losses_most)), e);
    *count = db_changes(db);
    return rc;
}

int jobs_forget_losses(struct db *db, int64_t sweep_id, int64_t *count, struct error *e)
{
    int rc = db_run(db, "UPDATE job SET losses = 0, aside = 0 WHERE losses > 0 AND sweep_id = ?",
                    VALUES(sql_int(sweep_id)), e);
    *count = db_changes(db);
    return rc;
}

/* Ended jobs for which an SQL predicate with ?2, a text, and ?3, a number, holds; where they are forced, only those
 * that are among as many as will be started. */
struct condition {
    const char *sql, *text;
    int64_t number;
    bool is_forced;
};

/* ?4 and ?5: what is pending and due then stands beside them where jobs are started in order. */
static char *reopen_sql(const struct requeue_request *r, const struct condition *c)
{
    const char *selected = r->only_selected ? " AND id IN (SELECT job_id FROM temp.selected)" : "";
    struct buffer sql = BUFFER_INIT;
    buffer_printf(&sql, "UPDATE job SET state = ?6, failure = NULL, due = NULL WHERE sweep_id = ?1 AND (%s)%s", c->sql,
                  selected);
    if (r->most && c->is_forced)
        buffer_printf(&sql,
                      " AND id IN (SELECT id FROM job WHERE sweep_id = ?1%s AND (%s%s) ORDER BY aside, priority, rank "
                      "LIMIT ?7)",
                      selected, c->sql, r->in_order ? " OR " JOB_MAY_RUN("") " AND " RETRY_IS_DUE("?4", "?5") : "");
    return buffer_take(&sql);
}

static int reopen(struct db *db, const struct requeue_request *r, const struct condition *c, int64_t *count,
                  struct error *e)
{
    OWNED char *sql = reopen_sql(r, c);
    const struct job_transition of_ok = job_transition(JOB_OK, JOB_REOPEN), t = job_transition(JOB_FAILED, JOB_REOPEN);
    assert(t.next && of_ok.next == t.next && t.action == JOB_CLEAR_FAILURE && of_ok.action == t.action);
    const struct sql_values values =
        VALUES(sql_int(r->sweep_id), sql_text(c->text), sql_int(c->number), sql_int(clock_wall_ms()),
               sql_int(r->policy->backoff_max_ms), sql_text(job_state_names[t.next]), sql_int(r->most));
    int rc = db_run(db, sql, (struct sql_values){values.items, r->most && c->is_forced ? 7 : 6}, e);
    *count += db_changes(db);
    return rc;
}

static int requeue_failed(struct db *db, const struct requeue_request *r, int64_t *count, struct error *e)
{
    OWNED_LIST classes = STRING_LIST_INIT;
    int rc = db_query_texts(db, "SELECT DISTINCT failure FROM job WHERE sweep_id = ? AND state = 'failed'",
                            VALUES(sql_int(r->sweep_id)), &classes, e);
    for (size_t i = 0; rc == 0 && i < classes.count; i++) {
        const struct condition has_attempts_left =
            {"state = 'failed' AND failure = ?2 AND (SELECT count(*) FROM attempt AS a WHERE a.job_id = job.id"
             " AND a.failure = ?2 AND a.blame IS NULL AND a.kind = 'trial') < ?3",
             classes.items[i], retry_allowed(r->policy, classes.items[i]), false};
        rc = reopen(db, r, &has_attempts_left, count, e);
    }
    return rc;
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

static int requeue_forced(struct db *db, const struct requeue_request *r, int64_t *count, struct error *e)
{
    OWNED char *classes = list_of(r->forced);
    const struct condition is_forced = {"state = 'failed' AND (instr(?2, ',all,') OR instr(?2, ',' || failure || ','))",
                                        classes, 0, true};
    return reopen(db, r, &is_forced, count, e);
}

int jobs_requeue_listed(struct db *db, const struct requeue_request *r, const char *table, int64_t *count,
                        struct error *e)
{
    OWNED char *which = xasprintf("state IN ('ok', 'failed') AND id IN (SELECT job_id FROM %s)", table);
    *count = 0;
    return reopen(db, r, &(struct condition){which, NULL, 0, true}, count, e);
}

int jobs_requeue(struct db *db, const struct requeue_request *r, int64_t *count, struct error *e)
{
    const struct condition wants_repeats =
        {"state = 'ok' AND (SELECT count(*) FROM attempt AS a WHERE a.job_id = job.id AND a.state = ?2"
         " AND superseded IS NULL AND kind = 'trial') < ?3",
         attempt_state_names[ATTEMPT_OK], r->repeat, false};
    *count = 0;
    if (requeue_failed(db, r, count, e) < 0 || (r->forced && requeue_forced(db, r, count, e) < 0) ||
        db_run(db,
               "INSERT OR REPLACE INTO meta VALUES ('repeat', json_object('sweep', ?1, 'of', ?2, 'most', ?3, 'after',"
               " (SELECT max(id) FROM attempt)))",
               VALUES(sql_int(r->sweep_id), sql_int(r->repeat), sql_int(r->most)), e) < 0)
        return -1;
    return r->repeat > 1 ? reopen(db, r, &wants_repeats, count, e) : 0;
}

static const char count_selected[] = "SELECT count(*), total(" JOB_MAY_RUN(
    "") "), total(state = 'running'),"
        " total(state = 'failed'), total(witness_id IS NOT NULL), total(held IS NOT NULL AND witness_id IS NULL)"
        " FROM temp.selected JOIN job ON id = job_id WHERE sweep_id = ?1";

int jobs_count(struct db *db, int64_t sweep_id, bool only_selected, struct job_state_counts *out, struct error *e)
{
    OWNED_STMT *s = NULL;
    int rc = db_next(db, only_selected ? count_selected : embedded_text("src/store/job_counts.sql"),
                     VALUES(sql_int(sweep_id)), &s, e);
    if (rc > 0) {
        int64_t all = stmt_int(s, 0);
        *out = (struct job_state_counts){.pending = stmt_int(s, 1),
                                         .running = stmt_int(s, 2),
                                         .failed = stmt_int(s, 3),
                                         .pruned = stmt_int(s, 4),
                                         .held = stmt_int(s, 5)};
        out->ok = all - out->pending - out->running - out->failed - out->pruned - out->held;
    }
    return rc < 0 ? -1 : 0;
}

int jobs_choose_representatives(struct db *db, const char *table, struct error *e)
{
    OWNED char *sql =
        xasprintf("UPDATE job SET attempt_id = CASE WHEN state = 'ok' AND (SELECT count(*) FROM attempt"
                  " WHERE job_id = job.id) > 1 THEN coalesce(" REPRESENTATIVE_SQL(
                      "job.id", "(SELECT objective FROM sweep WHERE id = job.sweep_id)") ", attempt_id)"
                                                                                         " ELSE attempt_id END WHERE "
                                                                                         "id IN (SELECT id FROM %s)",
                  table);
    return db_exec(db, sql, e);
}

/* --- a job with its specs --- */

const char *const job_spec_columns[JOB_SPECS] = {"c.json", "m.json", "t.json", "p.json"};

void job_specs_read(const struct stmt *s, struct job_specs *out)
{
    *out = (struct job_specs){.job_id = stmt_int(s, 0), .key = stmt_hash(s, 1)};
    for (int i = 0; i < JOB_SPECS; i++) {
        out->json[i] = stmt_text(s, 2 + i);
        out->hash[i] = stmt_is_null(s, 2 + JOB_SPECS + i) ? NULL : stmt_hash(s, 2 + JOB_SPECS + i);
    }
}

/* --- selection --- */

int selection_begin(struct db *db, struct error *e)
{
    return db_exec(db, "DROP TABLE IF EXISTS temp.selected; CREATE TEMP TABLE selected (job_id INTEGER PRIMARY KEY)",
                   e);
}

/* --- shards --- */

/* Every shard draws a number for the job, the same on every machine; the highest has it. */
bool shard_has(const struct shard *s, const struct hash128 *key)
{
    unsigned char drawn[sizeof key->bytes + 4];
    struct hash128 highest = {0};
    int64_t owner = 0;
    memcpy(drawn, key->bytes, sizeof key->bytes);
    for (int64_t i = 1; i <= s->of; i++) {
        for (int k = 0; k < 4; k++)
            drawn[sizeof key->bytes + (size_t)k] = (unsigned char)(i >> (8 * k));
        const struct hash128 hash = hash_bytes(drawn, sizeof drawn);
        if (owner == 0 || memcmp(hash.bytes, highest.bytes, sizeof hash.bytes) > 0) {
            highest = hash;
            owner = i;
        }
    }
    return s->of == 0 || owner == s->number;
}

/* The jobs that are looked at, and what is done with one that is others', or else with one's own. */
struct narrowing {
    const char *jobs, *change;
    bool changes_own;
};

static const struct narrowing of_sweep = {"SELECT id, key FROM job WHERE sweep_id = ?1",
                                          "INSERT OR IGNORE INTO temp.selected VALUES (?)", true};
static const struct narrowing of_selection =
    {"SELECT id, key FROM temp.selected JOIN job ON id = job_id WHERE ?1 IS NOT NULL",
     "DELETE FROM temp.selected WHERE job_id = ?", false};

static int narrow(struct db *db, int64_t sweep_id, const struct narrowing *n, const struct shard *s, int64_t *others,
                  struct error *e)
{
    OWNED_STMT *jobs = NULL;
    int rc;
    *others = 0;
    while ((rc = db_next(db, n->jobs, VALUES(sql_int(sweep_id)), &jobs, e)) > 0) {
        struct hash128 key;
        memcpy(key.bytes, stmt_hash(jobs, 1), sizeof key.bytes);
        const bool has = shard_has(s, &key);
        *others += !has;
        if (has == n->changes_own && db_run(db, n->change, VALUES(sql_int(stmt_int(jobs, 0))), e) < 0)
            return -1;
    }
    if (rc < 0)
        return -1;
    return db_run(db,
                  "INSERT OR REPLACE INTO meta VALUES ('shard', json_object('sweep', ?1, 'shard', ?2 || '/' || ?3,"
                  " 'others', ?4))",
                  VALUES(sql_int(sweep_id), sql_int(s->number), sql_int(s->of), sql_int(*others)), e);
}

int selection_take_shard(struct db *db, int64_t sweep_id, bool of_selected, const struct shard *s, int64_t *others,
                         struct error *e)
{
    if ((!of_selected && selection_begin(db, e) < 0) || db_begin(db, e) < 0)
        return -1;
    return db_end(db, narrow(db, sweep_id, of_selected ? &of_selection : &of_sweep, s, others, e), e);
}
