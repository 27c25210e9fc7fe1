#include "store/spec_writer.h"

#include <stdlib.h>
#include <string.h>

#include "database/computed_table.h"
#include "database/schema.h"
#include "util/buffer.h"
#include "util/memory.h"

#define ROWS_AT_ONCE 8192

struct waiting_spec {
    enum section_kind kind;
    struct hash128 hash, identity;
    size_t json; /* where it was copied to */
};

struct spec_writer {
    struct db *db;
    struct stmt *put;
    struct stmt *insert; /* of what waits; NULL: they are put in one by one */
    struct waiting_spec *waiting;
    size_t count;
    struct buffer texts;
    int64_t last_id;
    bool is_alone; /* all specs that are there were put by it */
    char *index;   /* what makes it; NULL: it is there */
};

/* --- rows that wait, as a table --- */

static const char table_name[] = "waiting_spec";
static const char table_columns[] = "number INTEGER, kind, hash, json, identity, may_be_named";
enum { COLUMN_KIND = 1, COLUMN_HASH, COLUMN_JSON, COLUMN_IDENTITY, COLUMN_MAY_BE_NAMED };

static int64_t count_waiting(void *context)
{
    const struct spec_writer *w = context;
    return (int64_t)w->count;
}

static int read_cell(void *context, int64_t row, int column, struct sql_value *out, struct error *e)
{
    const struct spec_writer *w = context;
    const struct waiting_spec *spec = &w->waiting[row];
    (void)e;
    const char *json = w->texts.data + spec->json;
    switch (column) {
    case COLUMN_KIND:
        *out = sql_text(section_names[spec->kind]);
        break;
    case COLUMN_HASH:
        *out = sql_hash(&spec->hash);
        break;
    case COLUMN_JSON:
        *out = sql_text(json);
        break;
    case COLUMN_IDENTITY:
        *out = sql_hash(&spec->identity);
        break;
    default: /* no other has the key, so that it need not be parsed */
        *out = sql_int(strstr(json, "\"name\":") != NULL);
    }
    return 0;
}

/* --- making --- */

int spec_writer_create(struct db *db, struct spec_writer **out, struct error *e)
{
    struct spec_writer *w = xcalloc(1, sizeof *w);
    int64_t any;
    w->db = db;
    if (db_query_int(db, "SELECT 1 FROM spec LIMIT 1", NO_VALUES, 0, &any, e) < 0 ||
        db_prepare(db,
                   "INSERT INTO spec (kind, hash, name, json, identity)"
                   " VALUES (?1, ?2, json_extract(?3, '$.name'), ?3, nullif(?4, ?2)) ON CONFLICT (kind, hash)"
                   " DO UPDATE SET name = excluded.name, json = excluded.json RETURNING id",
                   &w->put, e) < 0) {
        spec_writer_free(w);
        return -1;
    }
    w->is_alone = !any;
    *out = w;
    return 0;
}

void spec_writer_free(struct spec_writer *w)
{
    if (!w)
        return;
    stmt_free(w->put);
    stmt_free(w->insert);
    db_drop_table(w->db, table_name);
    buffer_free(&w->texts);
    free_all(w->waiting, w->index, w);
}

int spec_writer_expect_distinct(struct spec_writer *w, struct error *e)
{
    const struct table_source source = {count_waiting, read_cell, w};
    if (!w->is_alone)
        return 0;
    if (schema_take_part(w->db, "index", "spec_hash", &w->index, e) < 0 ||
        db_add_table(w->db, table_name, table_columns, &source, e) < 0)
        return -1;
    w->waiting = xcalloc(ROWS_AT_ONCE, sizeof *w->waiting);
    return db_prepare(w->db,
                      "INSERT INTO spec (id, kind, hash, name, json, identity) SELECT ?1 + number, kind, hash,"
                      " iif(may_be_named, json_extract(json, '$.name'), NULL), json, nullif(identity, hash)"
                      " FROM waiting_spec",
                      &w->insert, e);
}

/* --- putting in --- */

static int put_waiting(struct spec_writer *w, struct error *e)
{
    if (w->count == 0)
        return 0;
    stmt_bind_int(w->insert, 1, w->last_id + 1 - (int64_t)w->count);
    if (stmt_run(w->insert, e) < 0)
        return -1;
    w->count = 0;
    buffer_clear(&w->texts);
    return 0;
}

static int let_wait(struct spec_writer *w, enum section_kind kind, const struct spec_row *row, int64_t *id,
                    struct error *e)
{
    w->waiting[w->count++] = (struct waiting_spec){kind, row->hash, row->identity, w->texts.length};
    buffer_add(&w->texts, row->json, strlen(row->json) + 1);
    *id = ++w->last_id;
    return w->count < ROWS_AT_ONCE ? 0 : put_waiting(w, e);
}

int spec_writer_put(struct spec_writer *w, enum section_kind kind, const struct spec_row *row, int64_t *id,
                    struct error *e)
{
    if (w->insert)
        return let_wait(w, kind, row, id, e);
    stmt_bind(w->put, VALUES(sql_text(section_names[kind]), sql_hash(&row->hash), sql_text(row->json),
                             sql_hash(&row->identity)));
    int rc = stmt_next(w->put, e);
    if (rc > 0)
        *id = w->last_id = stmt_int(w->put, 0);
    stmt_reset(w->put);
    return rc < 0 ? -1 : 0;
}

int spec_writer_finish(struct spec_writer *w, struct error *e)
{
    if (put_waiting(w, e) < 0 || (w->index && db_exec(w->db, w->index, e) < 0))
        return -1;
    stmt_free(w->insert);
    w->insert = NULL;
    free(w->index);
    w->index = NULL;
    return 0;
}
