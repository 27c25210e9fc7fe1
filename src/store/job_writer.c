#include "store/job_writer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "database/computed_table.h"
#include "database/schema.h"
#include "util/buffer.h"
#include "util/memory.h"

/* Rows that are put in at once: SQLite takes them from a computed table in half of the time that binding them one by
 * one takes. The check of the key calls a function, which may fail: so each statement keeps a copy of all pages that it
 * changes, and of the index of keys few rows change most: without it fewer rows do. */
#define ROWS_AT_ONCE 32768
#define UNINDEXED_AT_ONCE 8192
#define NO_TEXT SIZE_MAX

/* Fewer are not worth two changes of the schema. */
#define INDEXED_AT_ONCE 20000

struct waiting_row {
    struct job_row row;
    size_t derived; /* where row.derived_json was copied to; NO_TEXT: there is none */
};

struct job_writer {
    struct db *db;
    int64_t sweep_id;
    struct spec_writer *specs;
    struct stmt *insert, *take_over;
    struct waiting_row *waiting;
    size_t count, room;
    struct buffer texts;
    int64_t new_jobs;
    char *key_index; /* what makes it; NULL: it is there */
};

/* --- rows that wait, as a table --- */

static const char table_name[] = "waiting_job";
static const char table_columns[] =
    "number INTEGER, key, rank, cluster_id, model_id, training_id, parallel_id, derived, devices, timeout_ms,"
    " idle_timeout_ms, startup_timeout_ms, predicted_memory, predicted_memory_of, predicted_time, risk, priority,"
    " audit, id, failure, attempt_id";
#define JOB_COLUMNS                                                                                                    \
    "key, rank, cluster_id, model_id, training_id, parallel_id, derived, devices, timeout_ms, idle_timeout_ms,"        \
    " startup_timeout_ms, predicted_memory, predicted_memory_of, predicted_time, risk, priority, audit"

enum {
    COLUMN_KEY = 1,
    COLUMN_RANK,
    COLUMN_SPECS,
    COLUMN_DERIVED = COLUMN_SPECS + SECTION_COUNT,
    COLUMN_DEVICES,
    COLUMN_TIMEOUT,
    COLUMN_IDLE_TIMEOUT,
    COLUMN_STARTUP_TIMEOUT,
    COLUMN_PREDICTED_MEMORY,
    COLUMN_PREDICTED_MEMORY_OF,
    COLUMN_PREDICTED_TIME,
    COLUMN_RISK,
    COLUMN_PRIORITY,
    COLUMN_AUDIT,
    COLUMN_ID,
    COLUMN_FAILURE,
    COLUMN_ATTEMPT
};

static struct sql_value derived_of(const struct job_writer *w, const struct waiting_row *row)
{
    return sql_text(row->derived == NO_TEXT ? NULL : w->texts.data + row->derived);
}

static struct sql_value cell(const struct job_writer *w, const struct waiting_row *waiting, int column)
{
    const struct job_row *row = &waiting->row;
    switch (column) {
    case COLUMN_KEY:
        return sql_hash(&row->key);
    case COLUMN_RANK:
        return sql_int(row->rank);
    case COLUMN_DERIVED:
        return derived_of(w, waiting);
    case COLUMN_DEVICES:
        return sql_int(row->devices);
    case COLUMN_TIMEOUT:
        return sql_positive(row->timeout_ms);
    case COLUMN_IDLE_TIMEOUT:
        return sql_positive(row->idle_timeout_ms);
    case COLUMN_STARTUP_TIMEOUT:
        return sql_positive(row->startup_timeout_ms);
    case COLUMN_PREDICTED_MEMORY:
        return sql_real(row->predicted_memory);
    case COLUMN_PREDICTED_MEMORY_OF:
        return sql_text(row->predicted_memory_of);
    case COLUMN_PREDICTED_TIME:
        return sql_real(row->predicted_time);
    case COLUMN_RISK:
        return sql_positive(row->risk);
    case COLUMN_PRIORITY:
        return sql_int(row->priority);
    case COLUMN_AUDIT:
        return sql_int(row->is_audit);
    case COLUMN_ID:
        return sql_positive(row->id);
    case COLUMN_FAILURE:
        return sql_text(row->failure);
    case COLUMN_ATTEMPT:
        return sql_positive(row->attempt_id);
    default:
        return sql_positive(row->spec_ids[column - COLUMN_SPECS]);
    }
}

static int64_t count_waiting(void *context)
{
    const struct job_writer *w = context;
    return (int64_t)w->count;
}

static int read_cell(void *context, int64_t row, int column, struct sql_value *out, struct error *e)
{
    const struct job_writer *w = context;
    (void)e;
    *out = cell(w, &w->waiting[row], column);
    return 0;
}

/* --- making --- */

static int prepare(struct job_writer *w, struct error *e)
{
    const struct table_source source = {count_waiting, read_cell, w};
    if (spec_writer_create(w->db, &w->specs, e) < 0 || db_add_table(w->db, table_name, table_columns, &source, e) < 0)
        return -1;
    if (db_prepare(w->db,
                   "INSERT INTO job (sweep_id, " JOB_COLUMNS ") SELECT ?1, " JOB_COLUMNS
                   " FROM waiting_job WHERE true ON CONFLICT (key) DO NOTHING",
                   &w->insert, e) < 0)
        return -1;
    /* A job that has run keeps what was predicted before. The first in rank stands for all combinations with one
     * identity. */
    return db_prepare(w->db,
                      "UPDATE job SET (sweep_id, rank, cluster_id, model_id, training_id, parallel_id, derived,"
                      " devices, timeout_ms, idle_timeout_ms, startup_timeout_ms, predicted_memory,"
                      " predicted_memory_of, predicted_time, risk, audit, priority) = (SELECT ?1, n.rank, "
                      "n.cluster_id, n.model_id, n.training_id,"
                      " n.parallel_id, n.derived, n.devices, n.timeout_ms, n.idle_timeout_ms, n.startup_timeout_ms,"
                      " iif(state = 'pending', n.predicted_memory, job.predicted_memory),"
                      " iif(state = 'pending', n.predicted_memory_of, job.predicted_memory_of),"
                      " iif(state = 'pending', n.predicted_time, job.predicted_time),"
                      " iif(state = 'pending', n.risk, job.risk), iif(state = 'pending', n.audit, job.audit),"
                      " n.priority FROM waiting_job AS n WHERE n.number = ?2)"
                      " WHERE key = ?3 AND (sweep_id <> ?1 OR rank >= ?4 OR rank < 0)",
                      &w->take_over, e);
}

int job_writer_create(struct db *db, int64_t sweep_id, struct job_writer **out, struct error *e)
{
    struct job_writer *w = xcalloc(1, sizeof *w);
    w->db = db;
    w->sweep_id = sweep_id;
    if (prepare(w, e) < 0) {
        job_writer_free(w);
        return -1;
    }
    *out = w;
    return 0;
}

static int insert_otherwise(struct job_writer *w, const char *sql, struct error *e)
{
    stmt_free(w->insert);
    w->insert = NULL;
    return db_prepare(w->db, sql, &w->insert, e);
}

static int take_key_index(struct job_writer *w, struct error *e)
{
    db_set_cache(w->db, DB_LOADING_CACHE_KIB);
    return schema_take_part(w->db, "index", "job_key", &w->key_index, e);
}

int job_writer_expect(struct job_writer *w, int64_t jobs, struct error *e)
{
    if (jobs < INDEXED_AT_ONCE)
        return 0;
    return spec_writer_expect_distinct(w->specs, e) < 0 || take_key_index(w, e) < 0
               ? -1
               : insert_otherwise(w,
                                  "INSERT OR ROLLBACK INTO job (sweep_id, " JOB_COLUMNS ") SELECT ?1, " JOB_COLUMNS
                                  " FROM waiting_job",
                                  e);
}

#define INSERT_ENDED                                                                                                   \
    " INTO job (id, state, failure, attempt_id, sweep_id, " JOB_COLUMNS ") SELECT id, iif(failure IS NULL, 'ok',"      \
    " 'failed'), failure, attempt_id, ?1, " JOB_COLUMNS " FROM waiting_job"

int job_writer_expect_ended(struct job_writer *w, int64_t jobs, bool are_alone, bool has_distinct_specs,
                            struct error *e)
{
    const bool are_many = jobs >= INDEXED_AT_ONCE;
    if (are_many && has_distinct_specs && spec_writer_expect_distinct(w->specs, e) < 0)
        return -1;
    if (!are_alone || !are_many)
        return insert_otherwise(w, "INSERT" INSERT_ENDED " WHERE true ON CONFLICT (key) DO NOTHING", e);
    return take_key_index(w, e) < 0 ? -1 : insert_otherwise(w, "INSERT OR ROLLBACK" INSERT_ENDED, e);
}

static int make_key_index(struct job_writer *w, struct error *e)
{
    if (!w->key_index)
        return 0;
    int rc = db_exec(w->db, w->key_index, e);
    db_set_cache(w->db, DB_CACHE_KIB);
    free(w->key_index);
    w->key_index = NULL;
    return rc;
}

void job_writer_free(struct job_writer *w)
{
    if (!w)
        return;
    db_set_cache(w->db, DB_CACHE_KIB);
    free(w->key_index);
    spec_writer_free(w->specs);
    stmt_free(w->insert);
    stmt_free(w->take_over);
    db_drop_table(w->db, table_name);
    buffer_free(&w->texts);
    free_all(w->waiting, w);
}

/* --- putting in --- */

int job_writer_put_spec(struct job_writer *w, enum section_kind kind, const struct spec_row *row, int64_t *id,
                        struct error *e)
{
    return spec_writer_put(w->specs, kind, row, id, e);
}

/* The jobs that were made a moment ago are among them: they become what they are. */
static int take_over(struct job_writer *w, struct error *e)
{
    int rc = 0;
    for (size_t i = 0; i < w->count && rc == 0; i++) {
        const struct job_row *row = &w->waiting[i].row;
        stmt_bind(w->take_over,
                  VALUES(sql_int(w->sweep_id), sql_int((int64_t)i), sql_hash(&row->key), sql_int(row->rank)));
        rc = stmt_run(w->take_over, e);
    }
    return rc;
}

static int put_waiting(struct job_writer *w, struct error *e)
{
    if (w->count == 0)
        return 0;
    stmt_bind_int(w->insert, 1, w->sweep_id);
    if (stmt_run(w->insert, e) < 0)
        return -1;
    int64_t made = db_changes(w->db);
    w->new_jobs += made;
    if (made < (int64_t)w->count && take_over(w, e) < 0)
        return -1;
    w->count = 0;
    buffer_clear(&w->texts);
    return 0;
}

int job_writer_put(struct job_writer *w, const struct job_row *row, struct error *e)
{
    if (w->count == w->room) {
        w->room = w->room ? 2 * w->room : 64;
        w->waiting = xreallocarray(w->waiting, w->room, sizeof *w->waiting);
    }
    struct waiting_row *waiting = &w->waiting[w->count++];
    *waiting = (struct waiting_row){*row, NO_TEXT};
    if (row->derived_json) {
        waiting->derived = w->texts.length;
        buffer_add(&w->texts, row->derived_json, strlen(row->derived_json) + 1);
    }
    return w->count < (w->key_index ? UNINDEXED_AT_ONCE : ROWS_AT_ONCE) ? 0 : put_waiting(w, e);
}

int job_writer_finish(struct job_writer *w, int64_t *new_jobs, struct error *e)
{
    if (put_waiting(w, e) < 0 || spec_writer_finish(w->specs, e) < 0 || make_key_index(w, e) < 0)
        return -1;
    *new_jobs = w->new_jobs;
    w->new_jobs = 0;
    return 0;
}
