#include "store/imports.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "database/function.h"
#include "database/schema.h"
#include "util/clock.h"
#include "util/embedded.h"
#include "util/hash.h"
#include "util/memory.h"

static const char touch_sql[] = "INSERT OR IGNORE INTO temp.imported_job VALUES (?)";

/* Rows that wait are put in at once, which takes a third of the time that binding them one by one takes. OR FAIL: else
 * SQLite copies every page before it is changed, to undo a statement that has put in several rows. A job's numbers are
 * put beside their attempt's where that is the only one. */
static const char *const put_waiting_sql[] = {
    "INSERT OR FAIL INTO attempt (id, job_id, number, runner_id, state, failure, message, executor, reference, "
    "log_tail,"
    " duration_ms, table_id, line) SELECT id, job_id, attempt, ?1, iif(failure IS NULL, 'ok', 'failed'), failure,"
    " message, '" IMPORT_EXECUTOR "', lower(hex(hash)), ?3 || iif(line IS NULL, '', ':' || line),"
    " iif(duration_ms < 0, NULL, duration_ms), ?2, line FROM waiting_attempt",
    "INSERT OR FAIL INTO metric (attempt_id, name, sequence, value) SELECT attempt_id, name, 0, value"
    " FROM waiting_metric",
    "INSERT OR FAIL INTO summary (attempt_id, name, value, count, mean, median, minimum, maximum, stddev, p90,"
    " not_finite, reported, definition_id) SELECT attempt_id, name, value, 1, value, value, value, value, 0, value, 0,"
    " 1, definition_id FROM waiting_metric",
    "INSERT OR IGNORE INTO job_metric (job_id, name, value, attempts) SELECT job_id, name, value, 1 FROM waiting_metric"
    " WHERE job_id",
};
enum { PUT_STATEMENTS = LENGTH(put_waiting_sql) };

/* A row of the table as it stands there. */
struct old_row {
    struct hash128 reference; /* of its text */
    int64_t id, line;
    bool is_kept;
};

struct waiting_attempt {
    int64_t id, job_id, number, line, duration_ms; /* -1: not known */
    const char *failure, *message;                 /* borrowed */
    struct hash128 row;
};

/* A metric by its name, which is the caller's. */
struct stored_metric {
    const char *name;
    int64_t definition_id;
};

struct waiting_metric {
    int64_t attempt_id, job_id; /* 0: it is not put beside the job */
    struct stored_metric of;
    double value;
};

#define ROWS_AT_ONCE 4096

struct import_store {
    struct db *db;
    int64_t runner_id, table_id, sweep_id;
    struct old_row *old; /* by reference */
    size_t old_count, moved;
    bool settles_all, states_again;
    struct hash_index new_lines; /* of rows that were put where there are old ones */
    struct stmt *put[PUT_STATEMENTS];
    int64_t last_id; /* of an attempt; 0: not looked up yet */
    struct waiting_attempt *attempts;
    size_t attempt_count;
    struct waiting_metric *metrics;
    size_t metric_count;
    struct stored_metric *names;
    size_t name_count;
    const char *file;
    struct array_source sources[2]; /* attempts and metrics */
    char *taken[2]; /* what makes the parts of the schema that are taken away meanwhile; NULL: there are none */
};

/* --- what waits, as tables --- */

#define OF_ATTEMPT(member) offsetof(struct waiting_attempt, member)
static const struct field attempt_columns[] = {
    {"id", FIELD_INT, OF_ATTEMPT(id)},
    {"job_id", FIELD_INT, OF_ATTEMPT(job_id)},
    {"attempt", FIELD_INT, OF_ATTEMPT(number)},
    {"failure", FIELD_TEXT, OF_ATTEMPT(failure)},
    {"message", FIELD_TEXT, OF_ATTEMPT(message)},
    {"hash", FIELD_HASH, OF_ATTEMPT(row)},
    {"duration_ms", FIELD_INT, OF_ATTEMPT(duration_ms)},
    {"line", FIELD_POSITIVE, OF_ATTEMPT(line)},
};

#define OF_METRIC(member) offsetof(struct waiting_metric, member)
static const struct field metric_columns[] = {
    {"attempt_id", FIELD_INT, OF_METRIC(attempt_id)},
    {"job_id", FIELD_POSITIVE, OF_METRIC(job_id)},
    {"name", FIELD_TEXT, OF_METRIC(of.name)},
    {"value", FIELD_REAL, OF_METRIC(value)},
    {"definition_id", FIELD_POSITIVE, OF_METRIC(of.definition_id)},
};

static int add_tables(struct import_store *s, struct error *e)
{
    s->sources[0] = ARRAY_SOURCE(s->attempts, s->attempt_count, attempt_columns);
    s->sources[1] = ARRAY_SOURCE(s->metrics, s->metric_count, metric_columns);
    int rc = db_add_array(s->db, "waiting_attempt", &s->sources[0], e) < 0
                 ? -1
                 : db_add_array(s->db, "waiting_metric", &s->sources[1], e);
    for (int i = 0; rc == 0 && i < PUT_STATEMENTS; i++)
        rc = db_prepare(s->db, put_waiting_sql[i], &s->put[i], e);
    return rc;
}

int import_store_flush(struct import_store *s, struct error *e)
{
    stmt_bind(s->put[0], VALUES(sql_int(s->runner_id), sql_positive(s->table_id), sql_text(s->file)));
    for (int i = 0; i < PUT_STATEMENTS; i++)
        if (stmt_run(s->put[i], e) < 0)
            return -1;
    s->attempt_count = s->metric_count = 0;
    return 0;
}

/* --- making --- */

static int by_reference(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct hash128));
}

static int load_rows(struct import_store *s, struct error *e)
{
    OWNED_STMT *q = NULL;
    int rc = db_query(s->db,
                      s->table_id ? "SELECT reference, id, line FROM attempt WHERE table_id = ?1"
                                  : "SELECT reference, id, 0 FROM attempt WHERE executor = '" IMPORT_EXECUTOR "'"
                                    " AND table_id IS NULL AND ?1 = 0",
                      VALUES(sql_int(s->table_id)), &q, e);
    while (rc >= 0 && (rc = stmt_next(q, e)) > 0) {
        const char *reference = stmt_is_null(q, 0) ? "" : stmt_text(q, 0);
        *array_add(s->old, s->old_count) =
            (struct old_row){hash_bytes(reference, strlen(reference)), stmt_int(q, 1), stmt_int(q, 2), false};
    }
    array_sort(s->old, s->old_count, by_reference);
    return rc;
}

int import_store_create(struct db *db, const struct import_origin *origin, struct import_store **out, struct error *e)
{
    struct import_store *s = xcalloc(1, sizeof *s);
    s->db = db;
    s->runner_id = origin->runner_id;
    s->table_id = origin->table_id;
    s->sweep_id = origin->sweep_id;
    s->file = origin->file;
    int rc = db_exec(db, embedded_text("src/store/begin_imports.sql"), e);
    if (rc == 0)
        rc = db_run(db, "INSERT INTO temp.imported_sweep VALUES (?)", VALUES(sql_positive(origin->sweep_id)), e);
    if (rc == 0)
        rc = add_tables(s, e) < 0 ? -1 : load_rows(s, e);
    if (rc < 0)
        import_store_free(s);
    else
        *out = s;
    return rc;
}

void import_store_free(struct import_store *s)
{
    if (!s)
        return;
    for (int i = 0; i < PUT_STATEMENTS; i++)
        stmt_free(s->put[i]);
    db_drop_table(s->db, "waiting_attempt");
    db_drop_table(s->db, "waiting_metric");
    hash_index_free(&s->new_lines);
    free_all(s->old, s->taken[0], s->taken[1], s->attempts, s->metrics, s->names, s);
}

void import_store_settle_all(struct import_store *s)
{
    s->settles_all = true;
}

/* Fewer are not worth four changes of the schema. */
#define MANY_ROWS 20000

/* The trigger brings the value of a job to a new summary; here that is done when all jobs are settled. */
int import_store_expect(struct import_store *s, size_t rows, struct error *e)
{
    if (rows < MANY_ROWS)
        return 0;
    if (!s->states_again && schema_take_part(s->db, "trigger", "summary_added", &s->taken[0], e) < 0)
        return -1;
    return schema_take_part(s->db, "index", "job_metric_value", &s->taken[1], e);
}

static int make_taken(struct import_store *s, struct error *e)
{
    int rc = 0;
    db_set_cache(s->db, DB_LOADING_CACHE_KIB);
    for (size_t i = 0; i < LENGTH(s->taken); i++)
        if (rc == 0 && s->taken[i])
            rc = db_exec(s->db, s->taken[i], e);
    db_set_cache(s->db, DB_CACHE_KIB);
    return rc;
}

#define SAME_TEXT                                                                                                      \
    "(o.text, o.profile_text, o.maximise) = (s.text, s.profile_text, s.maximise) AND o.objective IS s.objective"

int import_store_claim(struct import_store *s, struct error *e)
{
    /* In this order. Other versions of the program may have had another hash for what the same text reads, and what a
     * run of the file measured is ranked with its tables until it runs again. */
    static const char *const sql[] = {
        "UPDATE imported_table SET sweep_id = ?1 WHERE sweep_id IN"
        " (SELECT o.id FROM sweep AS o JOIN sweep AS s ON " SAME_TEXT " WHERE s.id = ?1 AND o.id <> ?1)",
        "INSERT OR IGNORE INTO temp.imported_job SELECT a.job_id FROM imported_table AS t"
        " JOIN attempt AS a ON a.table_id = t.id JOIN job AS j ON j.id = a.job_id"
        " WHERE t.sweep_id = ?1 AND j.sweep_id <> ?1",
        "UPDATE job SET sweep_id = ?1 WHERE id IN temp.imported_job",
        "UPDATE job SET sweep_id = ?1 WHERE sweep_id = (SELECT o.id FROM sweep AS o JOIN sweep AS s ON " SAME_TEXT
        " WHERE s.id = ?1 AND o.id <> ?1 AND o.role IS NULL ORDER BY o.last_seen DESC LIMIT 1)",
    };
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < LENGTH(sql); i++)
        rc = db_run(s->db, sql[i], VALUES(sql_int(s->sweep_id)), e);
    return rc;
}

void import_store_state_again(struct import_store *s)
{
    s->states_again = s->old_count > 0;
}

static int keep_row(struct import_store *s, struct old_row *old, const struct imported_attempt *attempt, int64_t *id,
                    struct error *e)
{
    old->is_kept = true;
    if (s->states_again) {
        *id = old->id;
        if (db_run(s->db, "DELETE FROM metric WHERE attempt_id = ?", VALUES(sql_int(old->id)), e) < 0 ||
            db_run(s->db, "DELETE FROM summary WHERE attempt_id = ?", VALUES(sql_int(old->id)), e) < 0)
            return -1;
    }
    if (s->settles_all && db_run(s->db, touch_sql, VALUES(sql_int(attempt->job_id)), e) < 0)
        return -1;
    if (old->line == attempt->line)
        return 0;
    s->moved++;
    OWNED char *source = xasprintf("%s:%lld", s->file, (long long)attempt->line);
    return db_run(s->db, "UPDATE attempt SET line = ?2, log_tail = ?3 WHERE id = ?1",
                  VALUES(sql_int(old->id), sql_int(attempt->line), sql_text(source)), e);
}

int import_store_next(struct import_store *s, int64_t *id, struct error *e)
{
    if (s->last_id == 0 &&
        db_query_int(s->db, "SELECT coalesce(max(id), 0) FROM attempt", NO_VALUES, 0, &s->last_id, e) < 0)
        return -1;
    *id = s->last_id + 1;
    return 0;
}

int import_store_put(struct import_store *s, const struct imported_attempt *attempt, int64_t *id, bool *is_new,
                     struct error *e)
{
    char row[HASH_HEX_BYTES];
    struct old_row *old = NULL;
    if (s->old_count) {
        const struct hash128 reference = hash_bytes(hash_hex(attempt->row, row), HASH_HEX_BYTES - 1);
        old = bsearch(&reference, s->old, s->old_count, sizeof *s->old, by_reference);
    }
    *id = 0;
    *is_new = !old;
    if (old)
        return keep_row(s, old, attempt, id, e);
    if ((s->attempt_count == ROWS_AT_ONCE && import_store_flush(s, e) < 0) || import_store_next(s, id, e) < 0)
        return -1;
    s->last_id = *id;
    const double duration_s = attempt->duration_s;
    *array_add(s->attempts, s->attempt_count) =
        (struct waiting_attempt){*id,
                                 attempt->job_id,
                                 attempt->number,
                                 attempt->line,
                                 isnan(duration_s) ? -1 : llround(duration_s * 1000),
                                 attempt->failure,
                                 attempt->message,
                                 *attempt->row};
    if (s->old_count) {
        const struct hash128 line = hash_bytes(&attempt->line, sizeof attempt->line);
        hash_index_takes(&s->new_lines, &line);
    }
    return attempt->is_only ? 0 : db_run(s->db, touch_sql, VALUES(sql_int(attempt->job_id)), e);
}

static int find_name(struct import_store *s, const char *name, struct stored_metric *out, struct error *e)
{
    const struct stored_metric *known = FIND(i, s->name_count, s->names[i].name == name, &s->names[i]);
    *out = known ? *known : (struct stored_metric){name, 0};
    if (known)
        return 0;
    int rc =
        db_query_int(s->db, "SELECT definition_id FROM metric_definition WHERE name = ?1 AND definition_id IS NOT NULL",
                     VALUES(sql_text(name)), 0, &out->definition_id, e);
    *array_add(s->names, s->name_count) = *out;
    return rc;
}

int import_store_metric(struct import_store *s, const struct imported_attempt *attempt, int64_t id, const char *name,
                        double value, struct error *e)
{
    struct stored_metric of;
    if (find_name(s, name, &of, e) < 0)
        return -1;
    /* By name, as they stand in the tables: SQLite is fast at the end of one. */
    const struct waiting_metric metric = {id, attempt->is_only ? attempt->job_id : 0, of, value};
    struct waiting_metric *at = array_add(s->metrics, s->metric_count);
    while (at > s->metrics && at[-1].attempt_id == id && strcmp(at[-1].of.name, name) > 0) {
        *at = at[-1];
        at--;
    }
    *at = metric;
    return 0;
}

/* Takes out of a table what it had and has no longer. */
static int take_out_rest(struct import_store *s, struct import_removal *out, struct error *e)
{
    for (size_t i = 0; i < s->old_count; i++) {
        const struct old_row *old = &s->old[i];
        const struct hash128 line = hash_bytes(&old->line, sizeof old->line);
        if (old->is_kept)
            continue;
        if (db_run(s->db, "INSERT INTO temp.removed_attempt VALUES (?)", VALUES(sql_int(old->id)), e) < 0)
            return -1;
        *(hash_index_has(&s->new_lines, &line) ? &out->replaced : &out->taken_out) += 1;
    }
    return out->replaced + out->taken_out ? db_exec(s->db, embedded_text("src/store/remove_imported.sql"), e) : 0;
}

int import_store_finish(struct import_store *s, struct import_removal *out, struct error *e)
{
    *out = (struct import_removal){.moved = s->moved};
    if (import_store_flush(s, e) < 0 || (s->table_id && take_out_rest(s, out, e) < 0) ||
        db_exec(s->db, embedded_text("sql/settle_imports.sql"), e) < 0)
        return -1;
    return make_taken(s, e);
}

/* --- tables --- */

int imported_table_find(struct db *db, const char *host, const char *path, int64_t *id, struct error *e)
{
    /* One of another database is that of its host. */
    return db_query_int(db,
                        "SELECT id FROM imported_table WHERE path = ?2 AND (origin IS NULL OR host = ?1)"
                        " ORDER BY origin IS NOT NULL, changed DESC LIMIT 1",
                        VALUES(sql_text(host), sql_text(path)), 0, id, e);
}

int imported_table_sweep(struct db *db, int64_t id, int64_t *sweep_id, struct error *e)
{
    return db_query_int(db, "SELECT sweep_id FROM imported_table WHERE id = ?1 AND sweep_id IS NOT NULL",
                        VALUES(sql_int(id)), 0, sweep_id, e);
}

int imported_table_record(struct db *db, const struct imported_table *t, int64_t sweep_id, int64_t *id, struct error *e)
{
    int rc =
        db_run(db,
               "INSERT INTO imported_table (id, host, path, hash, sweep_file, sweep_id, changed)"
               " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (id) DO UPDATE SET host = ?2, path = ?3, hash = ?4,"
               " sweep_file = ?5, sweep_id = ?6, changed = max(?7, changed + 1)",
               VALUES(sql_positive(*id), sql_text(t->host), sql_text(t->path), sql_text(t->hash),
                      sql_text(t->sweep_file), sql_int(sweep_id), sql_int(clock_wall_ms())),
               e);
    if (rc == 0 && *id == 0)
        *id = db_last_id(db);
    return rc;
}

int imported_table_rename(struct db *db, int64_t id, const char *name, struct error *e)
{
    return db_run(db, "UPDATE attempt SET log_tail = ?2 || ':' || line WHERE table_id = ?1",
                  VALUES(sql_int(id), sql_text(name)), e);
}

int imported_sweep_count(struct db *db, int64_t sweep_id, struct sweep_counts *out, int64_t *rows, struct error *e)
{
    if (db_query_int(db,
                     "SELECT count(*) FROM imported_table AS t JOIN attempt AS a ON a.table_id = t.id"
                     " WHERE t.sweep_id = ?1",
                     VALUES(sql_int(sweep_id)), 0, rows, e) < 0 ||
        db_query_int(db, "SELECT count(*) FROM job WHERE sweep_id = ?1", VALUES(sql_int(sweep_id)), 0, &out->jobs, e) <
            0)
        return -1;
    out->matched = *rows > out->jobs ? *rows : out->jobs;
    out->combinations = out->matched;
    return 0;
}

/* Gives back the jobs of a sweep that has no row left. Those that it still has were run; their place in the sweep that
 * gets them is not known until that is asked for again. */
static int give_jobs_back(struct db *db, int64_t sweep_id, struct error *e)
{
    return db_run(db,
                  "UPDATE job SET sweep_id = o.id, rank = -1 - rank FROM (SELECT id FROM sweep WHERE id <> ?1"
                  " AND role IS NULL ORDER BY last_seen DESC, id DESC LIMIT 1) AS o WHERE job.sweep_id = ?1"
                  " AND (job.id NOT IN temp.imported_job OR EXISTS (SELECT 1 FROM attempt WHERE job_id = job.id))",
                  VALUES(sql_int(sweep_id)), e);
}

int imported_table_undo(struct db *db, int64_t id, struct import_removal *out, struct error *e)
{
    int64_t sweep_id, rows;
    struct sweep_counts counts;
    *out = (struct import_removal){0};
    if (imported_table_sweep(db, id, &sweep_id, e) < 0 ||
        db_exec(db, embedded_text("src/store/begin_imports.sql"), e) < 0 ||
        db_run(db, "INSERT INTO temp.removed_attempt SELECT id FROM attempt WHERE table_id = ?1", VALUES(sql_int(id)),
               e) < 0)
        return -1;
    out->taken_out = (size_t)db_changes(db);
    if (db_run(db, "UPDATE imported_table SET changed = max(?2, changed + 1) WHERE id = ?1",
               VALUES(sql_int(id), sql_int(clock_wall_ms())), e) < 0 ||
        db_exec(db, embedded_text("src/store/remove_imported.sql"), e) < 0 ||
        imported_sweep_count(db, sweep_id, &counts, &rows, e) < 0 ||
        (rows == 0 && give_jobs_back(db, sweep_id, e) < 0) ||
        db_exec(db, embedded_text("sql/settle_imports.sql"), e) < 0)
        return -1;
    if (rows == 0)
        return 0;
    return imported_sweep_count(db, sweep_id, &counts, &rows, e) < 0 ? -1
                                                                     : sweep_set_counts(db, sweep_id, &counts, true, e);
}
