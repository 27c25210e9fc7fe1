#include "results/views.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "database/open.h"
#include "database/schema.h"
#include "expression/expression.h"
#include "results/configurations.h"
#include "results/measured.h"
#include "util/buffer.h"
#include "util/embedded.h"
#include "util/fault.h"
#include "util/hash.h"
#include "util/memory.h"
#include "util/string_list.h"

#define KEYS_MOST 1500
#define METRICS_MOST 400

/* A column that is there because of the data. */
struct column {
    char *section; /* "model", …, "derived", "metric" */
    char *name;
    char *title; /* as the views call it */
};

struct columns {
    struct column *items;
    size_t count;
    size_t left_out;
};

/* The columns and facts that the views are made from. */
struct shape {
    struct columns keys, metrics;
    bool has_predicted_memory, has_predicted_time, has_device_note, has_notes;
    char *objective; /* NULL: none */
    char *further;   /* terms of an order of jobs `j` that have the same number of it: ", … DESC NULLS LAST" */
    bool maximise;
    bool has_configurations;
};

static const struct {
    const char *kind;   /* of table spec; the alias of its join as well */
    const char *column; /* of table job */
} sections[] = {
    {"cluster_spec", "cluster_id"},
    {"model", "model_id"},
    {"training_spec", "training_id"},
    {"parallel_spec", "parallel_id"},
};

static const char fixed_titles[] =
    "job key sweep in_sweep state failure attempts duration_ms error directory started ended rank objective"
    " predicted_memory predicted_memory_of predicted_time max_rss device_note notes tags excluded partial not_finite"
    " columns_left_out";

static const char *const configuration_titles[] = {CONFIGURATION_TITLES};

static void columns_free(struct columns *c)
{
    for (size_t i = 0; i < c->count; i++)
        free_all(c->items[i].section, c->items[i].name, c->items[i].title);
    free(c->items);
}

static void shape_free(struct shape *s)
{
    columns_free(&s->keys);
    columns_free(&s->metrics);
    free_all(s->objective, s->further);
}

/* --- keys of objects --- */

/* Most objects have the same keys, which are looked up only once. */

typedef void (*key_found)(void *context, const char *section, const char *key);

/* Behind the quotation mark that ends it, or where the text ends. */
static const char *skip_string(const char *text)
{
    for (text++; *text && *text != '"'; text++)
        if (*text == '\\' && text[1])
            text++;
    return *text ? text + 1 : text;
}

void key_sets_add_names(const char *json, struct buffer *out)
{
    int depth = 0;
    bool is_name = false;
    while (*json) {
        if (*json == '"') {
            const char *start = json;
            json = skip_string(json);
            if (is_name && depth == 1)
                buffer_add(out, start, (size_t)(json - start));
            is_name = false;
            continue;
        }
        depth += *json == '{' || *json == '[';
        depth -= *json == '}' || *json == ']';
        is_name = is_name || *json == '{' || *json == ',';
        json++;
    }
}

struct set_reader {
    struct stmt *objects, *keys;
    struct hash_set sets;     /* of section and names */
    struct hash_set keys_had; /* of section and key */
    struct buffer set, last;  /* the set of this object, and of the one before */
    key_found found;
    void *context;
};

static bool is_new(struct hash_set *seen, const char *section, const char *key, struct buffer *b)
{
    buffer_clear(b);
    buffer_add(b, section, strlen(section) + 1);
    buffer_add_text(b, key);
    const struct hash128 hash = hash_bytes(b->data, b->length);
    return hash_set_add(seen, &hash);
}

/* SQLite parses, and says what is no JSON. */
static int parse(struct set_reader *r, const char *section, const char *json, struct error *e)
{
    OWNED_BUFFER scratch = BUFFER_INIT;
    int rc;
    stmt_bind_text(r->keys, 1, json);
    while ((rc = stmt_next(r->keys, e)) > 0) {
        const char *key = stmt_text(r->keys, 0);
        if (is_new(&r->keys_had, section, key, &scratch))
            r->found(r->context, section, key);
    }
    return rc;
}

static int read_object(struct set_reader *r, struct error *e)
{
    const char *section = stmt_text(r->objects, 0), *json = stmt_text(r->objects, 1);
    buffer_clear(&r->set);
    buffer_add(&r->set, section, strlen(section) + 1);
    key_sets_add_names(json, &r->set);
    if (r->set.length == r->last.length && memcmp(r->set.data, r->last.data, r->set.length) == 0)
        return 0;
    const struct buffer other = r->last;
    r->last = r->set;
    r->set = other;
    const struct hash128 hash = hash_bytes(r->last.data, r->last.length);
    return hash_set_add(&r->sets, &hash) ? parse(r, section, json, e) : 0;
}

/* Reads a query with the columns section and JSON object: calls `found` once for each key of each section, in the order
 * in which the objects come and have them. Objects that differ in values alone cost reading them, not parsing them. */
static int key_sets_read(struct db *db, const char *sql, key_found found, void *context, struct error *e)
{
    struct set_reader r = {.found = found, .context = context};
    int rc = db_prepare(db, sql, &r.objects, e) < 0 ? -1 : db_prepare(db, "SELECT key FROM json_each(?1)", &r.keys, e);
    while (rc == 0 && (rc = stmt_next(r.objects, e)) > 0)
        rc = read_object(&r, e);
    stmt_free(r.objects);
    stmt_free(r.keys);
    hash_set_free(&r.sets);
    hash_set_free(&r.keys_had);
    buffer_free(&r.set);
    buffer_free(&r.last);
    return rc;
}

/* --- reading what there is --- */

static void add_column(struct columns *c, size_t most, const char *section, const char *name)
{
    if (c->count >= most) {
        c->left_out++;
        return;
    }
    *array_add(c->items, c->count) = (struct column){xstrdup(section), xstrdup(name), NULL};
}

/* Adds a column for each row (section, name) of the query, `most` in all. */
static int read_columns(struct db *db, const char *sql, size_t most, struct columns *out, struct error *e)
{
    struct stmt *s = NULL;
    int rc;
    while ((rc = db_next(db, sql, NO_VALUES, &s, e)) > 0)
        add_column(out, most, stmt_text(s, 0), stmt_text(s, 1));
    return rc;
}

static int read_objective(struct db *db, struct shape *out, struct error *e)
{
    static const char sql[] =
        "SELECT objective, maximise, coalesce((SELECT group_concat("
        "printf(', (SELECT value FROM job_metric WHERE job_id = j.id AND name = %Q) %s NULLS LAST', metric,"
        " iif(maximise, 'DESC', 'ASC')), '') FROM (SELECT metric, maximise FROM further_objective"
        " WHERE sweep_id = s.id ORDER BY position)), '') FROM current_sweep AS s WHERE objective IS NOT NULL";
    OWNED_STMT *s = NULL;
    int rc = db_next(db, sql, NO_VALUES, &s, e);
    if (rc > 0) {
        out->objective = xstrdup(stmt_text(s, 0));
        out->maximise = stmt_int(s, 1) != 0;
        out->further = xstrdup(stmt_text(s, 2));
    }
    return rc < 0 ? -1 : 0;
}

static size_t count_named(const struct columns *c, const char *name)
{
    size_t n = 0;
    for (size_t i = 0; i < c->count; i++)
        n += strcasecmp(c->items[i].name, name) == 0;
    return n;
}

static void give_titles(const struct shape *s, struct columns *c)
{
    for (size_t i = 0; i < c->count; i++) {
        struct column *column = &c->items[i];
        bool bare = !words_have(fixed_titles, column->name) &&
                    !ANY(k, LENGTH(configuration_titles), strcasecmp(configuration_titles[k], column->name) == 0) &&
                    count_named(&s->keys, column->name) + count_named(&s->metrics, column->name) == 1;
        column->title = bare ? xstrdup(column->name) : xasprintf("%s.%s", column->section, column->name);
    }
}

static void collect(void *context, const char *section, const char *key)
{
    add_column(context, SIZE_MAX, section, key);
}

static int read_spec_keys(struct db *db, struct columns *out, struct error *e)
{
    struct columns found = {0};
    int rc = key_sets_read(db, "SELECT kind, json FROM spec ORDER BY id", collect, &found, e);
    for (size_t i = 0; i < LENGTH(sections); i++)
        for (size_t k = 0; k < found.count; k++)
            if (strcmp(found.items[k].section, sections[i].kind) == 0)
                add_column(out, KEYS_MOST, sections[i].kind, found.items[k].name);
    columns_free(&found);
    return rc;
}

static int by_name(const void *a, const void *b)
{
    const struct column *x = a, *y = b;
    return strcmp(x->name, y->name);
}

static int read_derived(struct db *db, struct columns *out, struct error *e)
{
    struct columns found = {0};
    int rc = key_sets_read(db, "SELECT 'derived', derived FROM job WHERE derived IS NOT NULL", collect, &found, e);
    if (found.count > 0)
        qsort(found.items, found.count, sizeof *found.items, by_name);
    for (size_t k = 0; k < found.count; k++)
        add_column(out, KEYS_MOST, found.items[k].section, found.items[k].name);
    columns_free(&found);
    return rc;
}

/* Finds what jobs may have: each question is answered by the first job that has it, or by all. */
static int read_jobs(struct db *db, struct shape *out, struct error *e)
{
    bool any;
    if (db_query_bool(db,
                      "SELECT EXISTS (SELECT 1 FROM job"
                      " WHERE coalesce(derived, predicted_memory, predicted_time) IS NOT NULL)",
                      NO_VALUES, &any, e) < 0)
        return -1;
    if (!any)
        return 0;
    if (read_derived(db, &out->keys, e) < 0 ||
        db_query_bool(db, "SELECT EXISTS (SELECT 1 FROM job WHERE predicted_memory IS NOT NULL)", NO_VALUES,
                      &out->has_predicted_memory, e) < 0)
        return -1;
    return db_query_bool(db, "SELECT EXISTS (SELECT 1 FROM job WHERE predicted_time IS NOT NULL)", NO_VALUES,
                         &out->has_predicted_time, e);
}

static int read_shape(struct db *db, struct shape *out, struct error *e)
{
    const char *metrics = embedded_text("src/results/metric_names.sql");
    if (read_spec_keys(db, &out->keys, e) < 0 || read_jobs(db, out, e) < 0 ||
        read_columns(db, metrics, METRICS_MOST, &out->metrics, e) < 0 || read_objective(db, out, e) < 0 ||
        db_query_bool(db, "SELECT EXISTS (SELECT 1 FROM attempt WHERE device_note IS NOT NULL)", NO_VALUES,
                      &out->has_device_note, e) < 0 ||
        db_query_bool(db, "SELECT EXISTS (SELECT 1 FROM note)", NO_VALUES, &out->has_notes, e) < 0)
        return -1;
    give_titles(out, &out->keys);
    give_titles(out, &out->metrics);
    return 0;
}

/* --- writing SQL --- */

/* SQLite's JSON paths have no escapes that every version understands: such keys are searched for. */
static bool fits_json_path(const char *name)
{
    for (; *name; name++)
        if (*name == '"' || *name == '\\' || (unsigned char)*name < ' ')
            return false;
    return true;
}

static void add_key(struct buffer *b, const struct column *c)
{
    const char *json = strcmp(c->section, "derived") == 0 ? "j.derived" : NULL;
    char *spec_json = xasprintf("%s.json", c->section);
    json = json ? json : spec_json;
    if (fits_json_path(c->name)) {
        expression_add_member(b, json, c->name);
    } else {
        buffer_printf(b, "(SELECT value FROM json_each(%s) WHERE key = ", json);
        buffer_add_quoted(b, c->name, '\'');
        buffer_add_char(b, ')');
    }
    free(spec_json);
    buffer_add_text(b, " AS ");
    buffer_add_quoted(b, c->title, '"');
    buffer_add_text(b, ",\n       ");
}

static void add_metric(struct buffer *b, const struct column *c)
{
    buffer_add_text(b, "(SELECT value FROM job_metric WHERE job_id = j.id AND name = ");
    buffer_add_quoted(b, c->name, '\'');
    buffer_add_text(b, ") AS ");
    buffer_add_quoted(b, c->title, '"');
    buffer_add_text(b, ",\n       ");
}

/* SQLite keeps the text of a view as it is written here, which is how a change is noticed. */
static void add_results(const struct shape *s, struct buffer *b)
{
    buffer_add_text(b, "CREATE VIEW results AS\n"
                       "SELECT j.id AS job, lower(hex(j.key)) AS key, s.name AS sweep,\n"
                       "       j.sweep_id = (SELECT id FROM current_sweep) AS in_sweep,\n       ");
    for (size_t i = 0; i < s->keys.count; i++)
        add_key(b, &s->keys.items[i]);
    /* A job that a runner has claimed ahead of time does not run yet. */
    buffer_add_text(b, "CASE WHEN j.witness_id IS NOT NULL THEN 'pruned'\n"
                       "            WHEN j.held IS NOT NULL THEN 'held'\n"
                       "            WHEN j.state = 'running' AND NOT EXISTS\n"
                       "           (SELECT 1 FROM attempt AS r WHERE r.job_id = j.id AND r.state = 'running'\n"
                       "            AND r.kind = 'trial')\n"
                       "            THEN 'pending' ELSE j.state END AS state, j.failure,\n"
                       "       (SELECT count(*) FROM attempt AS n WHERE n.job_id = j.id AND n.state <> 'claimed'\n"
                       "        AND n.kind = 'trial') AS "
                       "attempts,\n       ");
    for (size_t i = 0; i < s->metrics.count; i++)
        add_metric(b, &s->metrics.items[i]);
    buffer_printf(b, "a.duration_ms, a.max_rss,%s%s%s\n", s->has_device_note ? " a.device_note," : "",
                  s->has_predicted_memory ? " j.predicted_memory, j.predicted_memory_of," : "",
                  s->has_predicted_time ? " j.predicted_time," : "");
    /* Metrics of what was ended or failed before it had reported all, or of which not all was read. */
    buffer_add_text(b, "       CASE WHEN EXISTS (SELECT 1 FROM summary WHERE attempt_id = a.id) THEN\n"
                       "           a.state <> 'ok' OR a.stopped_steps IS NOT NULL OR a.left_out IS NOT NULL END AS "
                       "partial,\n");
    if (s->has_notes)
        buffer_add_text(b, "       (SELECT notes FROM job_note WHERE job_id = j.id) AS notes,\n"
                           "       (SELECT tags FROM job_note WHERE job_id = j.id) AS tags,\n"
                           "       (SELECT excluded FROM job_note WHERE job_id = j.id) AS excluded,\n");
    /* A computed metric has no samples of its own: those that are not finite are counted where they were reported. */
    buffer_add_text(b, "       (SELECT sum(iif(reported IS NULL, 0, not_finite)) FROM summary WHERE attempt_id = a.id)"
                       " AS not_finite,\n");
    buffer_add_text(b, "       CASE WHEN j.state = 'failed' THEN\n"
                       "           (SELECT message FROM attempt AS f WHERE f.job_id = j.id AND f.state = 'failed'\n"
                       "            AND f.kind = 'trial'\n"
                       "            ORDER BY number DESC LIMIT 1)\n"
                       "            WHEN j.witness_id IS NOT NULL THEN\n"
                       "           'needs at least as much device memory as job ' || j.witness_id || ', which ran out "
                       "of it'\n"
                       "            ELSE j.held END AS error,\n"
                       "       a.directory,\n"
                       "       strftime('%Y-%m-%dT%H:%M:%SZ', a.started / 1000, 'unixepoch') AS started,\n"
                       "       strftime('%Y-%m-%dT%H:%M:%SZ', a.ended / 1000, 'unixepoch') AS ended");
    if (s->keys.left_out + s->metrics.left_out)
        buffer_printf(b, ",\n       %zu AS columns_left_out", s->keys.left_out + s->metrics.left_out);
    buffer_add_text(b, "\nFROM job AS j\nLEFT JOIN sweep AS s ON s.id = j.sweep_id\n");
    for (size_t i = 0; i < LENGTH(sections); i++)
        buffer_printf(b, "LEFT JOIN spec AS %s ON %s.id = j.%s\n", sections[i].kind, sections[i].kind,
                      sections[i].column);
    /* By its id: statistics of a time when there was one attempt make scanning another index look cheap. */
    buffer_add_text(b, "LEFT JOIN attempt AS a NOT INDEXED ON a.id = j.attempt_id\nWHERE s.role IS NULL");
}

static void add_title(struct buffer *b, const char *title)
{
    buffer_add_text(b, ", r.");
    buffer_add_quoted(b, title, '"');
}

/* The columns of `results` but the metric that ranks. */
static void add_titles(const struct shape *s, const struct column *objective, struct buffer *b)
{
    buffer_add_text(b, ", r.job, r.key, r.sweep, r.in_sweep");
    for (size_t i = 0; i < s->keys.count; i++)
        add_title(b, s->keys.items[i].title);
    buffer_add_text(b, ", r.state, r.failure, r.attempts");
    for (size_t i = 0; i < s->metrics.count; i++)
        if (&s->metrics.items[i] != objective)
            add_title(b, s->metrics.items[i].title);
    buffer_printf(b,
                  ", r.duration_ms, r.max_rss%s%s%s, r.partial%s, r.not_finite, r.error, r.directory, r.started, "
                  "r.ended%s\n",
                  s->has_device_note ? ", r.device_note" : "",
                  s->has_predicted_memory ? ", r.predicted_memory, r.predicted_memory_of" : "",
                  s->has_predicted_time ? ", r.predicted_time" : "",
                  s->has_notes ? ", r.notes, r.tags, r.excluded" : "",
                  s->keys.left_out + s->metrics.left_out ? ", r.columns_left_out" : "");
}

static const struct column *find_objective(const struct shape *s)
{
    for (size_t i = 0; s->objective && i < s->metrics.count; i++)
        if (strcmp(s->metrics.items[i].name, s->objective) == 0)
            return &s->metrics.items[i];
    return NULL;
}

static void add_ranking(const struct shape *s, struct buffer *b)
{
    const struct column *objective = find_objective(s);
    const char *order = s->maximise ? "DESC" : "ASC";
    if (!s->objective) {
        buffer_add_text(b, "CREATE VIEW ranking AS\nSELECT NULL AS rank, NULL AS objective");
        add_titles(s, NULL, b);
        buffer_add_text(b, "FROM results AS r WHERE 0");
        return;
    }
    if (s->has_configurations) {
        buffer_add_text(b, "CREATE VIEW ranking AS\nSELECT o.rank AS rank, o.value AS ");
        buffer_add_quoted(b, objective ? objective->title : s->objective, '"');
        for (size_t i = 0; i < LENGTH(configuration_titles); i++)
            buffer_printf(b, ", o.%s", configuration_titles[i]);
        add_titles(s, objective, b);
        buffer_add_text(b, "FROM configurations AS o CROSS JOIN results AS r ON r.job = o.job");
        return;
    }
    /* Ranks come from narrow rows; wide ones are looked up as they are asked for. The outer SELECT keeps the order of
     * the inner one: it is materialised, and CROSS JOIN does not let the loops change places. SQLite sorts for the
     * ranks, and for further objectives only where a LIMIT depends on that. */
    buffer_printf(b,
                  "CREATE VIEW ranking AS\n"
                  "WITH o AS MATERIALIZED (\n"
                  "    SELECT j.id AS job, m.value AS value, rank() OVER (ORDER BY m.value %s) AS place\n"
                  "    FROM job AS j CROSS JOIN job_metric AS m ON m.job_id = j.id AND m.name = ",
                  order);
    buffer_add_quoted(b, s->objective, '\'');
    buffer_printf(b,
                  "\n    WHERE j.sweep_id = (SELECT id FROM current_sweep) AND j.state = 'ok'\n"
                  "          AND m.value IS NOT NULL\n"
                  "          AND EXISTS (SELECT 1 FROM attempt AS a WHERE a.id = j.attempt_id AND " MEASURED_AS_ASKED(
                      "a") ")\n"
                           "    ORDER BY m.value %s%s, j.id%s)\n"
                           "SELECT o.place AS rank, o.value AS ",
                  order, s->further, s->further[0] ? " LIMIT -1" : "");
    buffer_add_quoted(b, objective ? objective->title : s->objective, '"');
    add_titles(s, objective, b);
    buffer_add_text(b, "FROM o CROSS JOIN results AS r ON r.job = o.job");
}

/* --- putting them in place --- */

static int replace(struct db *db, const char *const *views, struct error *e)
{
    /* A savepoint works within a transaction and without one. */
    if (db_exec(db, "SAVEPOINT result_views", e) < 0)
        return -1;
    if (db_exec(db, "DROP VIEW IF EXISTS ranking; DROP VIEW IF EXISTS configurations; DROP VIEW IF EXISTS results",
                e) == 0 &&
        db_exec(db, views[0], e) == 0 && db_exec(db, views[1], e) == 0 && db_exec(db, views[2], e) == 0) {
        FAULT(VIEWS_REPLACED);
        if (schema_note_views(db, e) == 0 && db_exec(db, "RELEASE result_views", e) == 0)
            return 0;
    }
    error_context(e, "views results and ranking");
    db_exec(db, "ROLLBACK TO result_views; RELEASE result_views", NULL);
    return -1;
}

int (*const store_make_views)(struct db *db, struct error *e) = result_views_refresh;

int result_views_refresh(struct db *db, struct error *e)
{
    __attribute__((cleanup(shape_free))) struct shape shape = {0};
    OWNED_BUFFER results = BUFFER_INIT, configurations = BUFFER_INIT, ranking = BUFFER_INIT;
    static const char *const names[] = {"results", "configurations", "ranking"};
    bool are_same = true;
    if (read_shape(db, &shape, e) < 0 ||
        configurations_add_view(db, shape.objective, shape.maximise, &configurations, e) < 0)
        return -1;
    shape.has_configurations = configurations.length > 0;
    add_results(&shape, &results);
    add_ranking(&shape, &ranking);
    const char *const views[] = {buffer_text(&results), buffer_text(&configurations), buffer_text(&ranking)};
    for (size_t i = 0; i < LENGTH(names); i++) {
        bool is_same = true;
        if (views[i][0] && db_query_bool(db, "SELECT 1 FROM sqlite_schema WHERE type = 'view' AND name = ? AND sql = ?",
                                         VALUES(sql_text(names[i]), sql_text(views[i])), &is_same, e) < 0)
            return -1;
        are_same &= is_same;
    }
    return are_same ? 0 : replace(db, views, e);
}
