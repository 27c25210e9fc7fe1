#include "report/comparison.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/buffer.h"
#include "util/memory.h"
#include "util/parse.h"
#include "util/suggest.h"

static const struct {
    const char *name, *column;
} sections[] = {
    {"cluster_spec", "cluster_id"},
    {"model", "model_id"},
    {"training_spec", "training_id"},
    {"parallel_spec", "parallel_id"},
};
#define SECTION_COUNT (sizeof sections / sizeof *sections)

enum side_state { SIDE_OPEN = 1, SIDE_FAILED, SIDE_OK };

/* The jobs of one group with one value: more than one where only labels tell them apart. */
struct side {
    size_t value; /* index into the values */
    enum side_state state;
    int64_t job;
    double sum;
    size_t count; /* in the sum */
};

struct work {
    const struct comparison_request *request;
    struct comparison *out;
    char **values;
    size_t value_count;
    struct side *sides; /* of the group at hand */
    size_t side_count;
    size_t *ratio_counts;
};

/* --- what is asked for --- */

/* Names of keys, as far as they go. */
static int unknown_key(struct db *db, const char *key, struct error *e)
{
    struct stmt *s = NULL;
    struct buffer all = BUFFER_INIT;
    char **names = NULL;
    size_t count = 0;
    int rc;
    if (db_prepare(db, "SELECT DISTINCT k.key FROM spec AS s, json_each(s.json) AS k ORDER BY 1 LIMIT 1000", &s, e) < 0)
        return -1;
    while ((rc = stmt_next(s, e)) > 0) {
        names = array_grow(names, count, sizeof *names);
        names[count++] = xstrdup(stmt_text(s, 0));
        if (count <= 20)
            buffer_printf(&all, "%s%s", count > 1 ? ", " : "", stmt_text(s, 0));
    }
    stmt_free(s);
    const char *near = suggest_nearest(key, (const char *const *)names, count);
    if (rc == 0 && near)
        error_set(e, ERROR_USAGE, "--by %s: there is no such key (did you mean %s?)", key, near);
    else if (rc == 0 && count > 0)
        error_set(e, ERROR_USAGE, "--by %s: there is no such key; there are %s", key, buffer_text(&all));
    else if (rc == 0)
        error_set(e, ERROR_NOTHING, "--by %s: there is no job in this database: nothing to compare", key);
    for (size_t i = 0; i < count; i++)
        free(names[i]);
    free(names);
    buffer_free(&all);
    return -1;
}

static size_t section_of(const char *name, size_t length)
{
    for (size_t i = 0; i < SECTION_COUNT; i++)
        if (strncmp(sections[i].name, name, length) == 0 && !sections[i].name[length])
            return i;
    return SECTION_COUNT;
}

/* SQLite's JSON paths have no escape for a quote. */
static char *json_path(const char *key)
{
    return strpbrk(key, "\"\\") ? NULL : xasprintf("$.\"%s\"", key);
}

static int refuse_derived(struct db *db, const char *key, struct error *e)
{
    struct stmt *s = NULL;
    if (db_prepare(db, "SELECT EXISTS (SELECT 1 FROM job AS j, json_each(j.derived) AS k WHERE k.key = ?1)", &s, e) < 0)
        return -1;
    stmt_bind_text(s, 1, key);
    int rc = stmt_next(s, e);
    bool derived = rc > 0 && stmt_int(s, 0);
    stmt_free(s);
    if (rc < 0)
        return -1;
    return derived ? error_set(e, ERROR_USAGE, "--by %s: it is derived from other keys, so that no two jobs differ in it "
                                               "alone; compare by one of those", key)
                   : unknown_key(db, key, e);
}

/* Finds the section whose specs have the key. */
static int find_key(struct db *db, const char *name, struct comparison *out, struct error *e)
{
    const char *dot = strchr(name, '.');
    size_t section = dot ? section_of(name, (size_t)(dot - name)) : SECTION_COUNT;
    const char *key = section < SECTION_COUNT ? dot + 1 : name;
    if (section_of(name, strlen(name)) < SECTION_COUNT) {
        out->section = xstrdup(name);
        return 0;
    }
    struct stmt *s = NULL;
    if (db_prepare(db, "SELECT s.kind FROM spec AS s, json_each(s.json) AS k"
                       " WHERE k.key = ?1 AND (?2 IS NULL OR s.kind = ?2) GROUP BY s.kind"
                       " ORDER BY count(DISTINCT k.value) DESC, s.kind", &s, e) < 0)
        return -1;
    stmt_bind_text(s, 1, key);
    stmt_bind_text(s, 2, section < SECTION_COUNT ? sections[section].name : NULL);
    int rc = stmt_next(s, e);
    if (rc > 0) {
        out->section = xstrdup(stmt_text(s, 0));
        out->key = xstrdup(key);
    }
    stmt_free(s);
    return rc > 0 ? 0 : rc < 0 ? -1 : refuse_derived(db, name, e);
}

static int find_metric(struct db *db, const char *metric, struct comparison *out, struct error *e)
{
    struct stmt *s = NULL;
    if (db_prepare(db, "SELECT s.objective, s.maximise, coalesce(?1, s.objective) AS metric,"
                       " (SELECT unit FROM metric_definition WHERE name = coalesce(?1, s.objective)),"
                       " ?1 IS NULL OR EXISTS (SELECT 1 FROM metric_definition WHERE name = ?1)"
                       " OR EXISTS (SELECT 1 FROM summary WHERE name = ?1) FROM current_sweep AS s", &s, e) < 0)
        return -1;
    stmt_bind_text(s, 1, metric);
    int rc = stmt_next(s, e);
    if (rc == 0)
        rc = error_set(e, ERROR_NOTHING, "no sweep has been recorded in this database yet; `meshsweep run` does it");
    else if (rc > 0 && stmt_is_null(s, 2))
        rc = error_set(e, ERROR_USAGE, "the sweep has no objective; name the metric to compare with --metric");
    else if (rc > 0 && !stmt_int(s, 4))
        rc = error_set(e, ERROR_USAGE, "--metric %s: there is no such metric", metric);
    if (rc > 0) {
        out->metric = xstrdup(stmt_text(s, 2));
        out->unit = xstrdup(stmt_is_null(s, 3) ? "" : stmt_text(s, 3));
        out->is_objective = !stmt_is_null(s, 0) && strcmp(stmt_text(s, 0), out->metric) == 0;
        out->maximise = out->is_objective && stmt_int(s, 1);
    }
    stmt_free(s);
    return rc < 0 ? -1 : 0;
}

/* --- values --- */

/* Numbers in their order, before texts in theirs. */
static int by_value(const void *a, const void *b)
{
    const char *x = *(char *const *)a, *y = *(char *const *)b;
    double p, q;
    bool x_number = parse_double(x, &p), y_number = parse_double(y, &q);
    if (x_number && y_number)
        return (p > q) - (p < q);
    return x_number != y_number ? y_number - x_number : strcmp(x, y);
}

/* The rows: value, what else there is, job, state, metric. Specs are looked up job by job, by their ids: the other way
 * round every spec would look through all jobs. */
static char *rows_sql(const struct comparison *c)
{
    struct buffer b = BUFFER_INIT;
    size_t own = section_of(c->section, strlen(c->section));
    buffer_add_text(&b, "SELECT * FROM (SELECT ");
    buffer_add_text(&b, c->key ? "CASE json_type(s.json, ?1) WHEN 'true' THEN 'true' WHEN 'false' THEN 'false' WHEN 'null'"
                                 " THEN 'null' ELSE CAST(json_extract(s.json, ?1) AS TEXT) END AS value"
                               : "coalesce(s.name, s.json, ?1) AS value");
    buffer_add_text(&b, ", printf('");
    for (size_t i = 0; i < SECTION_COUNT; i++)
        buffer_add_text(&b, i == own ? "" : "%d ");
    buffer_add_text(&b, "%s %s'");
    for (size_t i = 0; i < SECTION_COUNT; i++)
        if (i != own)
            buffer_printf(&b, ", j.%s", sections[i].column);
    buffer_printf(&b, ", coalesce(json_extract(j.derived, '$.global_batch'), json_extract(j.derived,"
                      " '$.train_batch_size')), %s) AS rest, j.id, j.state, m.value"
                      " FROM job AS j CROSS JOIN spec AS s ON s.id = j.%s"
                      " LEFT JOIN summary AS m ON m.attempt_id = j.attempt_id AND m.name = ?2"
                      " WHERE j.sweep_id = (SELECT id FROM current_sweep)) WHERE value IS NOT NULL ORDER BY 2, 3",
                  c->key ? "json_remove(s.json, ?1, '$.name', '$.description')" : "''", sections[own].column);
    return buffer_take(&b);
}

static int open_rows(struct db *db, const struct comparison *c, struct stmt **out, struct error *e)
{
    char *path = c->key ? json_path(c->key) : NULL;
    if (c->key && !path)
        return error_set(e, ERROR_USAGE, "--by %s: keys with a quote or backslash cannot be compared by", c->key);
    char *sql = rows_sql(c);
    int rc = db_prepare(db, sql, out, e);
    if (rc == 0) {
        stmt_bind_text(*out, 1, path);
        stmt_bind_text(*out, 2, c->metric);
    }
    free(sql);
    free(path);
    return rc;
}

static size_t value_index(const struct work *w, const char *text)
{
    size_t i = 0;
    while (i < w->value_count && strcmp(w->values[i], text) != 0)
        i++;
    return i;
}

static int collect_values(struct work *w, struct stmt *rows, struct error *e)
{
    int rc;
    while ((rc = stmt_next(rows, e)) > 0) {
        const char *text = stmt_text(rows, 0);
        if (value_index(w, text) < w->value_count)
            continue;
        w->values = array_grow(w->values, w->value_count, sizeof *w->values);
        w->values[w->value_count++] = xstrdup(text);
    }
    if (w->value_count)
        qsort(w->values, w->value_count, sizeof *w->values, by_value);
    w->out->values = w->value_count;
    return rc;
}

static int unknown_value(const struct work *w, const char *text, struct error *e)
{
    struct buffer all = BUFFER_INIT;
    for (size_t i = 0; i < w->value_count && i < 20; i++)
        buffer_printf(&all, "%s%s", i ? ", " : "", w->values[i]);
    error_set(e, ERROR_USAGE, "--by %s: no job has the value %s; there are %s", w->request->key, text,
              w->value_count ? buffer_text(&all) : "none");
    buffer_free(&all);
    return -1;
}

/* --- pairs --- */

static void add_pair(struct comparison *c, const char *a, const char *b)
{
    c->pairs = array_grow(c->pairs, c->count, sizeof *c->pairs);
    c->pairs[c->count++] = (struct comparison_pair){.a = xstrdup(a), .b = xstrdup(b)};
}

static int choose_pairs(struct work *w, struct error *e)
{
    const struct comparison_request *r = w->request;
    bool neighbours = w->value_count > COMPARISON_VALUES;
    if (r->a && value_index(w, r->a) == w->value_count)
        return unknown_value(w, r->a, e);
    if (r->b && value_index(w, r->b) == w->value_count)
        return unknown_value(w, r->b, e);
    if (r->a && r->b && strcmp(r->a, r->b) == 0)
        return error_set(e, ERROR_USAGE, "--by %s=%s,%s: a value cannot be compared with itself", r->key, r->a, r->b);
    if (r->a) {
        add_pair(w->out, r->a, r->b);
        return 0;
    }
    for (size_t i = 0; i < w->value_count; i++)
        for (size_t j = i + 1; j < w->value_count && (!neighbours || j == i + 1); j++)
            add_pair(w->out, w->values[i], w->values[j]);
    return 0;
}

static void add_ratio(struct work *w, size_t pair, double ratio)
{
    struct comparison_pair *p = &w->out->pairs[pair];
    p->ratios = array_grow(p->ratios, w->ratio_counts[pair], sizeof *p->ratios);
    p->ratios[w->ratio_counts[pair]++] = ratio;
}

static double mean_of(const struct side *s)
{
    return s->count ? s->sum / (double)s->count : NAN;
}

static void count_pair(struct work *w, size_t pair, const struct side *a, const struct side *b)
{
    struct comparison_pair *p = &w->out->pairs[pair];
    double x = mean_of(a), y = mean_of(b);
    if (a->state == SIDE_OPEN || b->state == SIDE_OPEN) {
        p->open++;
    } else if (a->state == SIDE_OK && b->state == SIDE_OK) {
        if (x > 0 && y > 0 && isfinite(x) && isfinite(y) && isfinite(y / x))
            add_ratio(w, pair, y / x);
        else
            p->without_ratio++;
    } else if (a->state == SIDE_OK) {
        p->only_a++;
        p->example_only_a = p->example_only_a ? p->example_only_a : b->job;
    } else if (b->state == SIDE_OK) {
        p->only_b++;
        p->example_only_b = p->example_only_b ? p->example_only_b : a->job;
    } else {
        p->neither++;
    }
}

static const struct side *find_side(const struct work *w, const char *value)
{
    for (size_t i = 0; i < w->side_count; i++)
        if (strcmp(w->values[w->sides[i].value], value) == 0)
            return &w->sides[i];
    return NULL;
}

static void end_group(struct work *w)
{
    for (size_t i = 0; w->side_count > 1 && i < w->out->count; i++) {
        const struct side *a = find_side(w, w->out->pairs[i].a), *b = find_side(w, w->out->pairs[i].b);
        if (a && b)
            count_pair(w, i, a, b);
    }
    w->side_count = 0;
}

static void add_side(struct work *w, const struct stmt *row)
{
    size_t value = value_index(w, stmt_text(row, 0)), i = 0;
    const char *state = stmt_text(row, 3);
    while (i < w->side_count && w->sides[i].value != value)
        i++;
    if (i == w->side_count) {
        w->sides = array_grow(w->sides, w->side_count, sizeof *w->sides);
        w->sides[w->side_count++] = (struct side){.value = value, .job = stmt_int(row, 2)};
    }
    struct side *s = &w->sides[i];
    enum side_state now = strcmp(state, "ok") == 0 ? SIDE_OK : strcmp(state, "failed") == 0 ? SIDE_FAILED : SIDE_OPEN;
    s->state = now > s->state ? now : s->state;
    enum column_type type = stmt_type(row, 4);
    if (now == SIDE_OK && (type == COLUMN_FLOAT || type == COLUMN_INT)) {
        s->sum += stmt_double(row, 4);
        s->count++;
    }
}

static int pair_rows(struct work *w, struct stmt *rows, struct error *e)
{
    char *group = NULL;
    int rc;
    w->ratio_counts = xcalloc(w->out->count + 1, sizeof *w->ratio_counts);
    while ((rc = stmt_next(rows, e)) > 0) {
        if (!group || strcmp(group, stmt_text(rows, 1)) != 0) {
            end_group(w);
            free(group);
            group = xstrdup(stmt_text(rows, 1));
        }
        add_side(w, rows);
    }
    end_group(w);
    free(group);
    for (size_t i = 0; i < w->out->count; i++)
        w->out->pairs[i].summary = ratios_summarise(w->out->pairs[i].ratios, w->ratio_counts[i], w->request->seed);
    return rc;
}

static int compare(struct db *db, struct work *w, struct error *e)
{
    struct stmt *rows = NULL;
    if (find_metric(db, w->request->metric, w->out, e) < 0 || find_key(db, w->request->key, w->out, e) < 0 ||
        open_rows(db, w->out, &rows, e) < 0)
        return -1;
    int rc = collect_values(w, rows, e);
    stmt_reset(rows);
    if (rc == 0)
        rc = choose_pairs(w, e);
    if (rc == 0)
        rc = pair_rows(w, rows, e);
    stmt_free(rows);
    return rc;
}

/* By one job: all have the same keys, but for those of blocks of one section. */
static int read_batch(struct db *db, struct comparison *c, struct error *e)
{
    int64_t found;
    if (db_query_int(db,
                     "SELECT EXISTS (SELECT 1 FROM (SELECT derived, training_id, parallel_id FROM job"
                     "  WHERE sweep_id = (SELECT id FROM current_sweep) LIMIT 1) AS j"
                     " LEFT JOIN spec AS t ON t.id = j.training_id LEFT JOIN spec AS p ON p.id = j.parallel_id"
                     " JOIN json_each(json_array('$.global_batch', '$.train_batch_size')) AS k"
                     " WHERE coalesce(json_extract(j.derived, k.value), json_extract(t.json, k.value),"
                     "  json_extract(p.json, k.value)) IS NOT NULL)", 0, &found, e) < 0)
        return -1;
    c->says_batch = found;
    return 0;
}

int comparison_read(struct db *db, const struct comparison_request *request, struct comparison *out, struct error *e)
{
    struct comparison c = {0};
    struct work w = {.request = request, .out = &c};
    /* One transaction: a runner may be at work. */
    if (db_exec(db, "BEGIN", e) < 0)
        return -1;
    int rc = compare(db, &w, e);
    rc = rc < 0 ? rc : read_batch(db, &c, e);
    db_rollback(db);
    for (size_t i = 0; i < w.value_count; i++)
        free(w.values[i]);
    free(w.values);
    free(w.sides);
    free(w.ratio_counts);
    if (rc < 0) {
        comparison_free(&c);
        return -1;
    }
    *out = c;
    return 0;
}

void comparison_free(struct comparison *c)
{
    for (size_t i = 0; i < c->count; i++) {
        free(c->pairs[i].a);
        free(c->pairs[i].b);
        free(c->pairs[i].ratios);
    }
    free(c->pairs);
    free(c->section);
    free(c->key);
    free(c->metric);
    free(c->unit);
    *c = (struct comparison){0};
}
