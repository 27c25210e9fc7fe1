#include "answers/prediction_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "report/prediction_fields.h"
#include "util/memory.h"

struct prediction_table {
    struct space *space; /* borrowed */
    int end;             /* end of its fields: FIELD_PLACE or FIELD_DERIVED */
    struct db *db;
    struct stmt *insert, *json[SECTION_COUNT]; /* `json` belongs to the space's database */
    int64_t rows;
};

/* --- its columns --- */

static bool is_field(const struct prediction_table *t, const char *name)
{
    for (int i = 0; i < t->end; i++)
        if (strcasecmp(prediction_fields[i].name, name) == 0)
            return true;
    return false;
}

/* The key's name, qualified by its section if it is ambiguous. The caller frees it. */
static char *title_of(const struct prediction_table *t, const struct key *key)
{
    const struct names *n = &t->space->names;
    size_t index;
    bool is_bare = !is_field(t, key->name) && names_resolve(n, key->name, &index) == RESOLVED_KEY;
    return is_bare ? xstrdup(key->name) : xasprintf("%s.%s", section_names[key->section], key->name);
}

static void add_member(struct buffer *sql, const char *json, const char *key, const char *title)
{
    expression_add_member(sql, json, key);
    buffer_add_text(sql, " AS ");
    expression_add_name(sql, title);
    buffer_add_text(sql, ", ");
}

static void write_view(const struct prediction_table *t, struct buffer *sql)
{
    const struct names *n = &t->space->names;
    buffer_add_text(sql, "CREATE VIEW results AS SELECT number, job, key, ");
    for (size_t i = 0; i < n->key_count; i++) {
        char *title = title_of(t, &n->keys[i]);
        add_member(sql, section_names[n->keys[i].section], n->keys[i].name, title);
        free(title);
    }
    for (size_t i = 0; i < n->derived_count; i++)
        if (match_keeps_derived(t->space, i) && !is_field(t, n->derived[i].name))
            add_member(sql, "derived", n->derived[i].name, n->derived[i].name);
    for (int i = FIELD_STATE; i < t->end; i++)
        buffer_printf(sql, "%s%s", i > FIELD_STATE ? ", " : "", prediction_fields[i].name);
    buffer_add_text(sql, " FROM prediction; CREATE VIEW spec AS");
    for (int i = 0; i < SECTION_COUNT; i++)
        buffer_printf(sql, "%s SELECT '%s' AS kind, %s AS json FROM prediction", i ? " UNION" : "", section_names[i],
                      section_names[i]);
}

static int write_tables(struct prediction_table *t, struct error *e)
{
    struct buffer sql = BUFFER_INIT, insert = BUFFER_INIT;
    buffer_add_text(&sql, "CREATE TABLE metric_definition (name TEXT PRIMARY KEY, unit, counter, rank);"
                          " CREATE TABLE prediction (");
    buffer_add_text(&insert, "INSERT INTO prediction VALUES (?");
    for (int i = 0; i < FIELD_DERIVED; i++)
        buffer_printf(&sql, "%s, ", prediction_fields[i].name);
    buffer_add_text(&sql, "derived");
    for (int i = 0; i < SECTION_COUNT; i++)
        buffer_printf(&sql, ", %s", section_names[i]);
    for (int i = 1; i < FIELD_COUNT; i++)
        buffer_add_text(&insert, ", ?");
    buffer_add_text(&insert, ")");
    buffer_add_text(&sql, "); ");
    write_view(t, &sql);
    int rc = db_exec(t->db, buffer_text(&sql), e);
    if (rc == 0)
        rc = db_prepare(t->db, buffer_text(&insert), &t->insert, e);
    buffer_free(&sql);
    buffer_free(&insert);
    return rc;
}

static int prepare_sections(struct prediction_table *t, struct error *e)
{
    int rc = 0;
    for (int i = 0; rc == 0 && i < SECTION_COUNT; i++) {
        if (!t->space->counts[i])
            continue;
        char *sql = xasprintf("SELECT \"#json\" FROM \"%s\" WHERE \"#id\" = ?", section_names[i]);
        rc = db_prepare(t->space->db, sql, &t->json[i], e);
        free(sql);
    }
    return rc;
}

int prediction_table_create(struct space *space, bool is_scaled, struct prediction_table **out, struct error *e)
{
    struct prediction_table *t = xcalloc(1, sizeof *t);
    t->space = space;
    t->end = is_scaled ? FIELD_DERIVED : FIELD_PLACE;
    if (db_open(NULL, DB_TEMPORARY, &t->db, e) < 0 || write_tables(t, e) < 0 || prepare_sections(t, e) < 0) {
        prediction_table_free(t);
        return -1;
    }
    *out = t;
    return 0;
}

void prediction_table_free(struct prediction_table *t)
{
    if (!t)
        return;
    for (int i = 0; i < SECTION_COUNT; i++)
        stmt_free(t->json[i]);
    stmt_free(t->insert);
    db_close(t->db);
    free(t);
}

struct db *prediction_table_db(struct prediction_table *t)
{
    return t->db;
}

static void add_title(struct buffer *b, const char *title)
{
    buffer_printf(b, "%s%s", b->length ? "," : "", title);
}

/* Scaled plans have no measurements. */
static bool is_measured(int field)
{
    return field == FIELD_STATE || field == FIELD_MEASURED_MEMORY || field == FIELD_MEASURED_TIME;
}

char *prediction_table_brief(const struct prediction_table *t)
{
    const struct names *n = &t->space->names;
    struct buffer b = BUFFER_INIT;
    for (size_t i = 0; i < n->key_count; i++) {
        char *title = title_of(t, &n->keys[i]);
        if (specs_differ(t->space->specs[n->keys[i].section], i))
            add_title(&b, title);
        free(title);
    }
    for (int i = 0; i < t->end; i++)
        if (prediction_fields[i].is_brief && (t->end == FIELD_PLACE || !is_measured(i)))
            add_title(&b, prediction_fields[i].name);
    return buffer_take(&b);
}

/* --- its rows --- */

static void bind_number(struct stmt *s, enum prediction_column field, double value)
{
    stmt_bind_double(s, (int)field + 1, value);
}

static void bind_text(struct stmt *s, enum prediction_column field, const char *text)
{
    stmt_bind_text(s, (int)field + 1, text && *text ? text : NULL);
}

static void bind_prediction(struct stmt *s, const struct prediction *p)
{
    bool has_memory = p && p->has_memory, has_time = p && p->has_time;
    bind_number(s, FIELD_MEMORY, has_memory ? p->measured_bytes : NAN);
    bind_number(s, FIELD_MEMORY_LOW, has_memory ? p->measured_low : NAN);
    bind_number(s, FIELD_MEMORY_HIGH, has_memory ? p->measured_high : NAN);
    bind_text(s, FIELD_VERDICT, p && p->has_probability ? oom_verdict_names[p->verdict] : NULL);
    bind_number(s, FIELD_OOM, p && p->has_probability ? p->oom_probability : NAN);
    bind_number(s, FIELD_TIME, has_time ? p->seconds : NAN);
    bind_number(s, FIELD_TIME_LOW, has_time ? p->low_s : NAN);
    bind_number(s, FIELD_TIME_HIGH, has_time ? p->high_s : NAN);
    bind_number(s, FIELD_MFU, has_time ? p->peak_seconds / p->seconds : NAN);
}

static void bind_figure(struct stmt *s, enum prediction_column first, const struct scaled_figure *x)
{
    bind_number(s, first, x->value);
    bind_number(s, first + 1, x->low);
    bind_number(s, first + 2, x->high);
}

/* 0 and NaN mean none. */
static void bind_count(struct stmt *s, enum prediction_column field, double count)
{
    if (count > 0)
        stmt_bind_int(s, (int)field + 1, (int64_t)count);
    else
        stmt_bind_null(s, (int)field + 1);
}

/* `plan` is NULL if the columns are not requested or nothing is predicted. Intervals of scaled plans replace those of
 * the prediction. */
static void bind_scaled(struct stmt *s, const struct scaled_plan *plan)
{
    static const struct scaled_figure unknown = {NAN, NAN, NAN};
    const struct plan_figures none = {.devices = NAN, .memory = unknown, .seconds = unknown, .throughput = unknown};
    const struct plan_figures *there = plan ? &plan->there : &none;
    const struct plan_figures *here = plan && plan->here.found ? &plan->here : &none;
    bind_count(s, FIELD_PLACE, (double)there->place);
    bind_count(s, FIELD_PLACE_HERE, (double)here->place);
    bind_count(s, FIELD_DEVICES, there->devices);
    bind_count(s, FIELD_DEVICES_HERE, here->devices);
    bind_number(s, FIELD_TIME_HERE, here->seconds.value);
    bind_number(s, FIELD_MEMORY_HERE, here->memory.value);
    bind_figure(s, FIELD_THROUGHPUT, &there->throughput);
    bind_figure(s, FIELD_EFFICIENCY, plan ? &plan->efficiency : &unknown);
    if (!plan)
        return;
    bind_figure(s, FIELD_MEMORY, &there->memory);
    bind_figure(s, FIELD_TIME, &there->seconds);
}

static int bind_sections(struct prediction_table *t, const struct match *m, struct error *e)
{
    for (int i = 0; i < SECTION_COUNT; i++) {
        struct stmt *json = t->json[i];
        bind_text(t->insert, (enum prediction_column)(FIELD_SECTION + i), NULL);
        if (!json)
            continue;
        stmt_bind_int(json, 1, m->spec[i]);
        int rc = stmt_next(json, e);
        if (rc > 0)
            bind_text(t->insert, (enum prediction_column)(FIELD_SECTION + i), stmt_text(json, 0));
        stmt_reset(json);
        if (rc < 0)
            return -1;
    }
    return 0;
}

/* Units say whose memory it is; for predictions, that of the first row. */
static int define_units(struct prediction_table *t, const struct predicted_row *row, struct error *e)
{
    const char *predicted_of = row->predicted_memory_of;
    const char *rate = row->scaled && row->scaled->counts_tokens ? "tokens/s" : "samples/s";
    const char *measured_of = t->space->prediction.memory_words;
    struct stmt *s = NULL;
    int rc = db_prepare(t->db, "INSERT INTO metric_definition (name, unit) VALUES (?, ?)", &s, e);
    for (int i = 0; rc == 0 && i < FIELD_DERIVED; i++) {
        if (!prediction_fields[i].unit)
            continue;
        const char *words = strcmp(prediction_fields[i].unit, "B") != 0 ? ""
                            : i == (int)FIELD_MEASURED_MEMORY           ? measured_of
                            : predicted_of                              ? predicted_of
                                                                        : measured_of;
        char *unit = xasprintf("%s%s%s", prediction_fields[i].unit[0] ? prediction_fields[i].unit : rate,
                               *words ? " " : "", words);
        stmt_bind_text(s, 1, prediction_fields[i].name);
        stmt_bind_text(s, 2, unit);
        rc = stmt_run(s, e);
        free(unit);
    }
    stmt_free(s);
    return rc;
}

int prediction_table_add(struct prediction_table *t, const struct match *m, const struct predicted_row *row,
                         struct error *e)
{
    struct stmt *s = t->insert;
    struct buffer derived = BUFFER_INIT;
    char hex[HASH_HEX_BYTES];
    if (t->rows == 0 && define_units(t, row, e) < 0)
        return -1;
    stmt_bind_int(s, FIELD_NUMBER + 1, ++t->rows);
    if (row->job)
        stmt_bind_int(s, FIELD_JOB + 1, row->job);
    else
        stmt_bind_null(s, FIELD_JOB + 1);
    bind_text(s, FIELD_KEY, hash_hex(&m->key, hex));
    bind_text(s, FIELD_STATE, row->state[0] ? row->state : "new");
    bind_text(s, FIELD_FAILURE, row->failure);
    bind_prediction(s, row->prediction);
    bind_number(s, FIELD_MEASURED_MEMORY, row->measured_bytes);
    bind_number(s, FIELD_MEASURED_TIME, row->measured_s);
    bind_text(s, FIELD_WHY, row->prediction ? NULL : row->why);
    match_add_derived_json(t->space, m, &derived);
    bind_scaled(s, row->scaled);
    bind_text(s, FIELD_DERIVED, buffer_text(&derived));
    int rc = bind_sections(t, m, e);
    if (rc == 0)
        rc = stmt_run(s, e);
    buffer_free(&derived);
    return rc;
}
