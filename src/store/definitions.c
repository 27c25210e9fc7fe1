#include "store/definitions.h"

#include <string.h>

#include "config/meaning.h"
#include "util/buffer.h"
#include "util/hash.h"
#include "util/memory.h"

static const char *const reader_names[] =
    {[READER_REGEX] = "regex", [READER_JSON] = "json",     [READER_JSONL] = "jsonl",
     [READER_CSV] = "csv",     [READER_FILE] = "reported", [READER_EXPRESSION] = "expression"};

static void add_member(struct buffer *b, const char *name, const char *text)
{
    if (!text)
        return;
    buffer_printf(b, ",\"%s\":", name);
    buffer_add_json_string(b, text, strlen(text));
}

/* How a number is found in what a job leaves: the reader's own keys, then under "else" those of its fallback. */
static void add_reading(struct buffer *b, const struct metric *m)
{
    buffer_printf(b, "{\"reader\":\"%s\"", reader_names[m->reader]);
    add_member(b, "pattern", m->pattern);
    add_member(b, "path", m->path);
    add_member(b, "file", m->file);
    add_member(b, "numerator", m->numerator);
    add_member(b, "per", m->per);
    buffer_add_text(b, m->written_unit || m->is_key ? ",\"written_unit\":true" : "");
    buffer_add_text(b, m->sum ? ",\"sum\":true" : "");
    if (m->fallback) {
        buffer_add_text(b, ",\"else\":");
        add_reading(b, m->fallback);
        b->length--;
        buffer_add_text(b, ",\"scale\":");
        buffer_add_double(b, m->fallback->scale > 0 ? m->fallback->scale : 1);
        buffer_add_char(b, '}');
    }
    buffer_add_char(b, '}');
}

static const char *imported_as(const struct sweep *s, const char *name)
{
    return FIND(i, s->import.column_count,
                s->import.columns[i].is_metric && strcmp(s->import.columns[i].name, name) == 0,
                s->import.columns[i].expression);
}

/* The columns of `definition` from `name` on. */
enum { NAME, READING, IMPORTED, EXPRESSION, SCALE, UNIT, BETTER, WARMUP, FIRST_STEP, LAST_STEP, TAKE, COLUMN_COUNT };

static void list_columns(const struct sweep *s, const struct metric *m, const char *reading,
                         struct sql_value out[COLUMN_COUNT])
{
    const bool counts_steps = m->reader != READER_EXPRESSION && !m->per;
    out[NAME] = sql_text(m->name);
    out[READING] = sql_text(reading);
    out[IMPORTED] = sql_text(imported_as(s, m->name));
    out[EXPRESSION] = sql_text(m->expression);
    out[SCALE] = sql_real(m->scale > 0 ? m->scale : 1);
    out[UNIT] = sql_text(m->unit ? m->unit : "");
    out[BETTER] = sql_text(m->better_given ? (m->maximise ? "max" : "min") : NULL);
    out[WARMUP] = sql_int(m->warmup);
    out[FIRST_STEP] = sql_int(counts_steps ? s->job.first_step : 0);
    out[LAST_STEP] = sql_int(counts_steps ? s->job.last_step : 0);
    out[TAKE] = sql_text(take_names[m->take]);
}

static void hash_column(const struct sql_value *v, struct buffer *b)
{
    buffer_add_char(b, '\n');
    if (v->type == COLUMN_TEXT)
        buffer_add_json_string(b, v->text, strlen(v->text));
    else if (v->type == COLUMN_INT)
        buffer_add_int(b, v->integer);
    else if (v->type == COLUMN_FLOAT)
        buffer_add_double(b, v->real);
}

static struct hash128 hash_columns(const struct sql_value columns[COLUMN_COUNT])
{
    OWNED_BUFFER all = BUFFER_INIT;
    for (int i = 0; i < COLUMN_COUNT; i++)
        hash_column(&columns[i], &all);
    return hash_bytes(all.data, all.length);
}

static int find_or_insert(struct db *db, const struct sql_value c[COLUMN_COUNT], int64_t *id, struct error *e)
{
    const struct hash128 hash = hash_columns(c);
    if (db_query_int(db, "SELECT id FROM definition WHERE hash = ?", VALUES(sql_hash(&hash)), 0, id, e) < 0)
        return -1;
    if (*id)
        return 0;
    return db_insert(db,
                     "INSERT INTO definition (hash, name, reading, imported, expression, scale, unit, better, warmup,"
                     " first_step, last_step, take) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                     VALUES(sql_hash(&hash), c[NAME], c[READING], c[IMPORTED], c[EXPRESSION], c[SCALE], c[UNIT],
                            c[BETTER], c[WARMUP], c[FIRST_STEP], c[LAST_STEP], c[TAKE]),
                     id, e);
}

/* A unit that a file does not give any more stays what it was, as long as the same numbers are read. The caller's. */
static int keep_unit(struct db *db, const struct metric *m, struct sql_value c[COLUMN_COUNT], char **unit,
                     struct error *e)
{
    *unit = NULL;
    if (*c[UNIT].text || m->reader == READER_EXPRESSION || m->written_unit || m->is_key)
        return 0;
    if (db_query_text(db,
                      "SELECT d.unit FROM metric_definition AS m JOIN definition AS d ON d.id = m.definition_id"
                      " WHERE m.name = ? AND d.expression IS NULL AND (d.hash IS NULL OR"
                      " (d.reading IS ? AND d.imported IS ? AND d.scale = ?))",
                      VALUES(c[NAME], c[READING], c[IMPORTED], c[SCALE]), unit, e) < 0)
        return -1;
    if (*unit)
        c[UNIT] = sql_text(*unit);
    return 0;
}

/* Adds to `readers` what says what is found in an output. */
static int record(struct db *db, const struct sweep *s, const struct metric *m, struct buffer *readers,
                  struct string_list *changed, struct error *e)
{
    static const char sql[] =
        "INSERT INTO metric_definition (name, unit, better, warmup, take, counter, rank, expression, definition_id,"
        " declared) SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, max(last_seen) FROM sweep WHERE true"
        " ON CONFLICT (name) DO UPDATE SET unit = ?2, better = ?3, warmup = ?4, take = ?5, counter = ?6, rank = ?7,"
        " expression = ?8, definition_id = ?9, declared = excluded.declared";
    OWNED_BUFFER reading = BUFFER_INIT;
    struct sql_value c[COLUMN_COUNT];
    int64_t id, before;
    if (m->reader != READER_EXPRESSION)
        add_reading(&reading, m);
    if (m->reader != READER_EXPRESSION)
        buffer_printf(readers, "%s %s %s\n", m->name, m->unit ? m->unit : "", buffer_text(&reading));
    list_columns(s, m, reading.length ? buffer_text(&reading) : NULL, c);
    OWNED char *unit = NULL;
    int rc = keep_unit(db, m, c, &unit, e);
    if (rc == 0)
        rc = find_or_insert(db, c, &id, e);
    if (rc == 0)
        rc = db_query_int(db, "SELECT definition_id FROM metric_definition WHERE name = ?", VALUES(sql_text(m->name)),
                          0, &before, e);
    if (rc == 0)
        rc =
            db_run(db, sql,
                   VALUES(c[NAME], c[UNIT], c[BETTER], c[WARMUP], c[TAKE],
                          sql_text(metric_meaning(s, m->name)->counter), sql_text(m->rank), c[EXPRESSION], sql_int(id)),
                   e);
    if (rc == 0 && before != id)
        string_list_add(changed, xstrdup(m->name));
    return rc;
}

static int record_all(struct db *db, const struct sweep *sweep, struct buffer *readers, struct string_list *changed,
                      struct error *e)
{
    for (size_t i = 0; i < sweep->job.metric_count; i++)
        if (record(db, sweep, &sweep->job.metrics[i], readers, changed, e) < 0)
            return -1;
    for (size_t i = 0; i < sweep->import.column_count; i++) {
        const struct import_column *c = &sweep->import.columns[i];
        const struct metric undeclared = {.name = c->name, .reader = READER_FILE, .take = TAKE_MEDIAN};
        if (c->is_metric && !job_find_metric(&sweep->job, c->name) &&
            record(db, sweep, &undeclared, readers, changed, e) < 0)
            return -1;
    }
    return 0;
}

int definitions_record(struct db *db, const struct sweep *sweep, struct string_list *changed, struct error *e)
{
    OWNED_BUFFER readers = BUFFER_INIT;
    char hex[HASH_HEX_BYTES];
    int rc = record_all(db, sweep, &readers, changed, e);
    for (size_t i = 0; i < sweep->failure_count; i++)
        buffer_printf(&readers, "%s %s\n", sweep->failures[i].class_name, sweep->failures[i].pattern);
    const struct hash128 hash = hash_bytes(buffer_text(&readers), readers.length);
    return rc < 0 ? rc
                  : db_run(db, "INSERT OR REPLACE INTO meta VALUES ('readers', ?)",
                           VALUES(sql_text(hash_hex(&hash, hex))), e);
}
