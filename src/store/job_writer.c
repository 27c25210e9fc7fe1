#include "store/job_writer.h"

#include <stdlib.h>
#include <string.h>

#include "database/function.h"
#include "database/schema.h"
#include "util/buffer.h"
#include "util/embedded.h"
#include "util/memory.h"

/* --- specs --- */

#define SPECS_AT_ONCE 8192

struct waiting_spec {
    const char *kind, *json;
    struct hash128 hash, identity;
    size_t copied;     /* where the JSON was copied to */
    bool may_be_named; /* no other has the key, so that it need not be parsed */
};

struct spec_writer {
    struct stmt *put;
    struct stmt *insert; /* of what waits; NULL: they are put in one by one */
    struct waiting_spec *waiting;
    size_t count;
    struct array_source source; /* of these */
    struct buffer texts;
    int64_t last_id;
    bool is_alone; /* all specs that are there were put by it */
    char *index;   /* what makes it; NULL: it is there */
};

static const char spec_table[] = "waiting_spec";

#define OF_SPEC(member) offsetof(struct waiting_spec, member)
static const struct field spec_columns[] = {
    {"kind", FIELD_TEXT, OF_SPEC(kind)},
    {"hash", FIELD_HASH, OF_SPEC(hash)},
    {"json", FIELD_TEXT, OF_SPEC(json)},
    {"identity", FIELD_HASH, OF_SPEC(identity)},
    {"may_be_named", FIELD_BOOL, OF_SPEC(may_be_named)},
};

static int prepare_specs(struct db *db, struct spec_writer *w, struct error *e)
{
    bool any = false;
    int rc = db_query_bool(db, "SELECT 1 FROM spec LIMIT 1", NO_VALUES, &any, e);
    w->is_alone = !any;
    return rc < 0
               ? -1
               : db_prepare(db,
                            "INSERT INTO spec (kind, hash, name, json, identity)"
                            " VALUES (?1, ?2, json_extract(?3, '$.name'), ?3, nullif(?4, ?2)) ON CONFLICT (kind, hash)"
                            " DO UPDATE SET name = excluded.name, json = excluded.json RETURNING id",
                            &w->put, e);
}

/* From now on each spec is put once, and none that was put before. Where there are none but this writer's they are put
 * in together with others, and indexed by finish_specs all at once. */
static int expect_distinct_specs(struct db *db, struct spec_writer *w, struct error *e)
{
    if (!w->is_alone)
        return 0;
    w->source = ARRAY_SOURCE(w->waiting, w->count, spec_columns);
    if (schema_take_part(db, "index", "spec_hash", &w->index, e) < 0 || db_add_array(db, spec_table, &w->source, e) < 0)
        return -1;
    w->waiting = xcalloc(SPECS_AT_ONCE, sizeof *w->waiting);
    return db_prepare(db,
                      "INSERT INTO spec (id, kind, hash, name, json, identity) SELECT ?1 + number, kind, hash,"
                      " iif(may_be_named, json_extract(json, '$.name'), NULL), json, nullif(identity, hash)"
                      " FROM waiting_spec",
                      &w->insert, e);
}

static int put_waiting_specs(struct spec_writer *w, struct error *e)
{
    if (w->count == 0)
        return 0;
    for (size_t i = 0; i < w->count; i++)
        w->waiting[i].json = w->texts.data + w->waiting[i].copied;
    stmt_bind_at(w->insert, 1, sql_int(w->last_id + 1 - (int64_t)w->count));
    if (stmt_run(w->insert, e) < 0)
        return -1;
    w->count = 0;
    buffer_clear(&w->texts);
    return 0;
}

static int let_wait(struct spec_writer *w, enum section_kind kind, const struct spec_row *row, int64_t *id,
                    struct error *e)
{
    w->waiting[w->count++] = (struct waiting_spec){.kind = section_names[kind],
                                                   .hash = row->hash,
                                                   .identity = row->identity,
                                                   .copied = w->texts.length,
                                                   .may_be_named = strstr(row->json, "\"name\":")};
    buffer_add(&w->texts, row->json, strlen(row->json) + 1);
    *id = ++w->last_id;
    return w->count < SPECS_AT_ONCE ? 0 : put_waiting_specs(w, e);
}

/* Puts in what was not put in yet. */
static int finish_specs(struct db *db, struct spec_writer *w, struct error *e)
{
    if (put_waiting_specs(w, e) < 0 || (w->index && db_exec(db, w->index, e) < 0))
        return -1;
    stmt_free(w->insert);
    w->insert = NULL;
    text_replace(&w->index, NULL);
    return 0;
}

/* --- jobs --- */

/* Rows that are put in at once: SQLite takes them from a computed table in half of the time that binding them one by
 * one takes. The check of the key calls a function, which may fail: so each statement keeps a copy of all pages that it
 * changes, and of the index of keys few rows change most: without it fewer rows do. */
#define ROWS_AT_ONCE 32768
#define UNINDEXED_AT_ONCE 8192

/* Fewer are not worth two changes of the schema. */
#define INDEXED_AT_ONCE 20000

struct waiting_row {
    struct job_row row;
    size_t derived; /* where row.derived_json was copied to, if there is one */
};

struct job_writer {
    struct db *db;
    int64_t sweep_id;
    struct spec_writer specs;
    struct stmt *insert, *take_over;
    struct waiting_row *waiting;
    size_t count, room;
    struct array_source source; /* of these */
    struct buffer texts;
    int64_t new_jobs;
    char *key_index; /* what makes it; NULL: it is there */
};

/* --- rows that wait, as a table --- */

static const char table_name[] = "waiting_job";
#define JOB_COLUMNS                                                                                                    \
    "key, rank, cluster_id, model_id, training_id, parallel_id, derived, devices, timeout_ms, idle_timeout_ms,"        \
    " startup_timeout_ms, predicted_memory, predicted_memory_of, predicted_time, risk, priority, audit"

#define AT(member) offsetof(struct waiting_row, row.member)
static const struct field columns[] = {
    {"key", FIELD_HASH, AT(key)},
    {"rank", FIELD_INT, AT(rank)},
    {"cluster_id", FIELD_POSITIVE, AT(spec_ids[SECTION_CLUSTER])},
    {"model_id", FIELD_POSITIVE, AT(spec_ids[SECTION_MODEL])},
    {"training_id", FIELD_POSITIVE, AT(spec_ids[SECTION_TRAINING])},
    {"parallel_id", FIELD_POSITIVE, AT(spec_ids[SECTION_PARALLEL])},
    {"derived", FIELD_TEXT, AT(derived_json)},
    {"devices", FIELD_INT, AT(devices)},
    {"timeout_ms", FIELD_POSITIVE, AT(timeout_ms)},
    {"idle_timeout_ms", FIELD_POSITIVE, AT(idle_timeout_ms)},
    {"startup_timeout_ms", FIELD_POSITIVE, AT(startup_timeout_ms)},
    {"predicted_memory", FIELD_REAL, AT(predicted_memory)},
    {"predicted_memory_of", FIELD_TEXT, AT(predicted_memory_of)},
    {"predicted_time", FIELD_REAL, AT(predicted_time)},
    {"risk", FIELD_POSITIVE, AT(risk)},
    {"priority", FIELD_INT, AT(priority)},
    {"audit", FIELD_BOOL, AT(is_audit)},
    {"id", FIELD_POSITIVE, AT(id)},
    {"failure", FIELD_TEXT, AT(failure)},
    {"attempt_id", FIELD_POSITIVE, AT(attempt_id)},
};

/* --- making --- */

static int prepare(struct job_writer *w, struct error *e)
{
    w->source = ARRAY_SOURCE(w->waiting, w->count, columns);
    if (prepare_specs(w->db, &w->specs, e) < 0 || db_add_array(w->db, table_name, &w->source, e) < 0)
        return -1;
    if (db_prepare(w->db,
                   "INSERT INTO job (sweep_id, " JOB_COLUMNS ") SELECT ?1, " JOB_COLUMNS
                   " FROM waiting_job WHERE true ON CONFLICT (key) DO NOTHING",
                   &w->insert, e) < 0)
        return -1;
    return db_prepare(w->db, embedded_text("src/store/take_over_job.sql"), &w->take_over, e);
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
    return expect_distinct_specs(w->db, &w->specs, e) < 0 || take_key_index(w, e) < 0
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
    if (are_many && has_distinct_specs && expect_distinct_specs(w->db, &w->specs, e) < 0)
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
    text_replace(&w->key_index, NULL);
    return rc;
}

void job_writer_free(struct job_writer *w)
{
    if (!w)
        return;
    db_set_cache(w->db, DB_CACHE_KIB);
    struct stmt *const statements[] = {w->specs.put, w->specs.insert, w->insert, w->take_over};
    for (size_t i = 0; i < LENGTH(statements); i++)
        stmt_free(statements[i]);
    db_drop_table(w->db, spec_table);
    db_drop_table(w->db, table_name);
    buffer_free(&w->specs.texts);
    buffer_free(&w->texts);
    free_all(w->key_index, w->specs.waiting, w->specs.index, w->waiting, w);
}

/* --- putting in --- */

int job_writer_put_spec(struct job_writer *w, enum section_kind kind, const struct spec_row *row, int64_t *id,
                        struct error *e)
{
    struct spec_writer *specs = &w->specs;
    if (specs->insert)
        return let_wait(specs, kind, row, id, e);
    stmt_bind(specs->put, VALUES(sql_text(section_names[kind]), sql_hash(&row->hash), sql_text(row->json),
                                 sql_hash(&row->identity)));
    int rc = stmt_next(specs->put, e);
    if (rc > 0)
        *id = specs->last_id = stmt_int(specs->put, 0);
    stmt_reset(specs->put);
    return rc < 0 ? -1 : 0;
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
    for (size_t i = 0; i < w->count; i++)
        if (w->waiting[i].row.derived_json)
            w->waiting[i].row.derived_json = w->texts.data + w->waiting[i].derived;
    stmt_bind_at(w->insert, 1, sql_int(w->sweep_id));
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
    *waiting = (struct waiting_row){*row, w->texts.length};
    if (row->derived_json)
        buffer_add(&w->texts, row->derived_json, strlen(row->derived_json) + 1);
    return w->count < (w->key_index ? UNINDEXED_AT_ONCE : ROWS_AT_ONCE) ? 0 : put_waiting(w, e);
}

int job_writer_finish(struct job_writer *w, int64_t *new_jobs, struct error *e)
{
    if (put_waiting(w, e) < 0 || finish_specs(w->db, &w->specs, e) < 0 || make_key_index(w, e) < 0)
        return -1;
    *new_jobs = w->new_jobs;
    w->new_jobs = 0;
    return 0;
}
