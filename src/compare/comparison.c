#include "compare/comparison.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare/key_ties.h"
#include "results/configurations.h"
#include "results/metric_names.h"
#include "util/buffer.h"
#include "util/memory.h"
#include "util/string_list.h"
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

/* The jobs of one group with one value, and with free keys one value of each of them: more than one where only labels
 * and replicate keys tell them apart. */
struct compared_side {
    size_t value; /* index into the values */
    char *free;   /* the values of the free keys; "" without any */
    enum side_state state;
    int64_t job;
    double sum;
    size_t count; /* in the sum */
};

struct work {
    const struct comparison_request *request;
    struct comparison *out;
    struct string_list values;
    struct compared_side *sides; /* of the group at hand */
    size_t side_count;
    size_t *ratio_counts;
    bool has_direction,
        maximise; /* of what differs in free keys alone the one with the most of the metric stands for all */
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
    return derived ? error_set(e, ERROR_USAGE,
                               "--by %s: it is derived from other keys, so that no two jobs differ in it "
                               "alone; compare by one of those",
                               key)
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
    if (db_prepare(db,
                   "SELECT s.kind FROM spec AS s, json_each(s.json) AS k"
                   " WHERE k.key = ?1 AND (?2 IS NULL OR s.kind = ?2) GROUP BY s.kind"
                   " ORDER BY count(DISTINCT k.value) DESC, s.kind",
                   &s, e) < 0)
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

static int find_metric(struct db *db, struct work *w, struct error *e)
{
    const char *metric = w->request->metric;
    struct comparison *out = w->out;
    struct stmt *s = NULL;
    if (db_prepare(db,
                   "SELECT s.objective, s.maximise, coalesce(?1, s.objective) AS metric,"
                   " (SELECT unit FROM metric_definition WHERE name = coalesce(?1, s.objective)),"
                   " ?1 IS NULL OR EXISTS (SELECT 1 FROM metric_definition WHERE name = ?1)"
                   " OR EXISTS (SELECT 1 FROM summary WHERE name = ?1),"
                   " CASE WHEN coalesce(?1, s.objective) IS s.objective THEN s.maximise ELSE"
                   " (SELECT better = 'max' FROM metric_definition WHERE name = ?1) END FROM current_sweep AS s",
                   &s, e) < 0)
        return -1;
    stmt_bind_text(s, 1, metric);
    int rc = stmt_next(s, e);
    if (rc == 0)
        rc = error_set(e, ERROR_NOTHING, "no sweep has been recorded in this database yet; `meshsweep run` does it");
    else if (rc > 0 && stmt_is_null(s, 2))
        rc = error_set(e, ERROR_USAGE, "the sweep has no objective; name the metric to compare with --metric");
    else if (rc > 0 && !stmt_int(s, 4))
        rc = metric_names_refuse(db, metric, e);
    if (rc > 0) {
        out->metric = xstrdup(stmt_text(s, 2));
        out->unit = xstrdup(stmt_is_null(s, 3) ? "" : stmt_text(s, 3));
        out->is_objective = !stmt_is_null(s, 0) && strcmp(stmt_text(s, 0), out->metric) == 0;
        out->maximise = out->is_objective && stmt_int(s, 1);
        w->has_direction = !stmt_is_null(s, 5);
        w->maximise = stmt_int(s, 5) != 0;
    }
    stmt_free(s);
    return rc < 0 ? -1 : 0;
}

/* --- values --- */

/* What json_remove() is to take away of a section: replicate keys, and with `free` the free ones. */
static int add_paths(struct db *db, const struct comparison *c, size_t section, bool without_free, struct buffer *out,
                     struct error *e)
{
    const char *name = sections[section].name;
    size_t length = strlen(name);
    for (size_t i = 0; without_free && i < c->free.count; i++) {
        const char *key = c->free.items[i];
        bool qualified = strncmp(key, name, length) == 0 && key[length] == '.';
        char *path = json_path(qualified ? key + length + 1 : key);
        if (path)
            buffer_printf(out, ", '%s'", path);
        free(path);
    }
    return configurations_add_paths(db, name, out, e);
}

/* Appends what identifies the spec of a section but for the keys of `paths` (", '$.\"tp\"'"). */
static void add_section(const struct comparison *c, size_t section, bool own, const char *paths, struct buffer *out)
{
    if (own)
        buffer_printf(out, ", %s%s%s", c->key ? "json_remove(s.json, ?1, '$.name', '$.description'" : "''",
                      c->key ? paths : "", c->key ? ")" : "");
    else if (*paths)
        buffer_printf(out, ", (SELECT json_remove(json%s) FROM spec WHERE id = j.%s)", paths, sections[section].column);
    else
        buffer_printf(out, ", j.%s", sections[section].column);
}

/* Appends ", printf(…)" of all sections. */
static int add_identity(struct db *db, const struct comparison *c, bool without_free, struct buffer *out,
                        struct error *e)
{
    size_t own = section_of(c->section, strlen(c->section));
    struct buffer paths = BUFFER_INIT;
    int rc = 0;
    buffer_add_text(out, ", printf('%s %s %s %s'");
    for (size_t i = 0; rc == 0 && i < SECTION_COUNT; i++) {
        paths.length = 0;
        rc = add_paths(db, c, i, without_free, &paths, e);
        add_section(c, i, i == own, buffer_text(&paths), out);
    }
    buffer_add_char(out, ')');
    buffer_free(&paths);
    return rc;
}

/* The rows: value, what else there is, job, state, metric, free keys. Specs are looked up job by job, by their ids: the
 * other way round every spec would look through all jobs. */
static int add_rows_sql(struct db *db, const struct comparison *c, struct buffer *out, struct error *e)
{
    size_t own = section_of(c->section, strlen(c->section));
    buffer_add_text(out, "SELECT * FROM (SELECT ");
    buffer_add_text(out,
                    c->key ? "CASE json_type(s.json, ?1) WHEN 'true' THEN 'true' WHEN 'false' THEN 'false' WHEN 'null'"
                             " THEN 'null' ELSE CAST(json_extract(s.json, ?1) AS TEXT) END AS value"
                           : "coalesce(s.name, s.json, ?1) AS value");
    int rc = add_identity(db, c, true, out, e);
    buffer_add_text(out, " || ' ' || coalesce(json_extract(j.derived, '$.global_batch'), json_extract(j.derived,"
                         " '$.train_batch_size'), '') AS rest, j.id, j.state, m.value");
    if (rc == 0 && c->free.count)
        rc = add_identity(db, c, false, out, e);
    buffer_printf(out,
                  "%s FROM job AS j CROSS JOIN spec AS s ON s.id = j.%s"
                  " LEFT JOIN summary AS m ON m.attempt_id = j.attempt_id AND m.name = ?2"
                  " WHERE j.sweep_id = (SELECT id FROM current_sweep)) WHERE value IS NOT NULL ORDER BY 2, 3",
                  c->free.count ? "" : ", ''", sections[own].column);
    return rc;
}

static int open_rows(struct db *db, const struct comparison *c, struct stmt **out, struct error *e)
{
    char *path = c->key ? json_path(c->key) : NULL;
    struct buffer sql = BUFFER_INIT;
    if (c->key && !path)
        return error_set(e, ERROR_USAGE, "--by %s: keys with a quote or backslash cannot be compared by", c->key);
    int rc = add_rows_sql(db, c, &sql, e);
    if (rc == 0)
        rc = db_prepare(db, buffer_text(&sql), out, e);
    if (rc == 0) {
        stmt_bind_text(*out, 1, path);
        stmt_bind_text(*out, 2, c->metric);
    }
    buffer_free(&sql);
    free(path);
    return rc;
}

static int collect_values(struct work *w, struct stmt *rows, struct error *e)
{
    int rc;
    while ((rc = stmt_next(rows, e)) > 0) {
        const char *text = stmt_text(rows, 0);
        if (!strings_have(w->values.items, text))
            string_list_add(&w->values, xstrdup(text));
    }
    string_list_sort_values(&w->values);
    w->out->values = w->values.count;
    return rc;
}

static int unknown_value(const struct work *w, const char *text, struct error *e)
{
    struct buffer all = BUFFER_INIT;
    for (size_t i = 0; i < w->values.count && i < 20; i++)
        buffer_printf(&all, "%s%s", i ? ", " : "", w->values.items[i]);
    error_set(e, ERROR_USAGE, "--by %s: no job has the value %s; there are %s", w->request->key, text,
              w->values.count ? buffer_text(&all) : "none");
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
    bool neighbours = w->values.count > COMPARISON_VALUES;
    if (r->a && string_list_find(&w->values, r->a) == w->values.count)
        return unknown_value(w, r->a, e);
    if (r->b && string_list_find(&w->values, r->b) == w->values.count)
        return unknown_value(w, r->b, e);
    if (r->a && r->b && strcmp(r->a, r->b) == 0)
        return error_set(e, ERROR_USAGE, "--by %s=%s,%s: a value cannot be compared with itself", r->key, r->a, r->b);
    if (r->a) {
        add_pair(w->out, r->a, r->b);
        return 0;
    }
    for (size_t i = 0; i < w->values.count; i++)
        for (size_t j = i + 1; j < w->values.count && (!neighbours || j == i + 1); j++)
            add_pair(w->out, w->values.items[i], w->values.items[j]);
    return 0;
}

static void add_ratio(struct work *w, size_t pair, double ratio)
{
    struct comparison_pair *p = &w->out->pairs[pair];
    p->ratios = array_grow(p->ratios, w->ratio_counts[pair], sizeof *p->ratios);
    p->ratios[w->ratio_counts[pair]++] = ratio;
}

static double mean_of(const struct compared_side *s)
{
    return s->count ? s->sum / (double)s->count : NAN;
}

static void count_pair(struct work *w, size_t pair, const struct compared_side *a, const struct compared_side *b)
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

/* Whether `a` stands for a value rather than `b`: what is ok before what is not, of those the better. */
static bool stands_before(const struct work *w, const struct compared_side *a, const struct compared_side *b)
{
    if (a->state != b->state || a->state != SIDE_OK)
        return a->state > b->state;
    double x = mean_of(a), y = mean_of(b);
    return isnan(y) || (w->maximise ? x > y : x < y);
}

static const struct compared_side *find_side(const struct work *w, const char *value)
{
    size_t wanted = string_list_find(&w->values, value);
    const struct compared_side *best = NULL;
    for (size_t i = 0; i < w->side_count; i++)
        if (w->sides[i].value == wanted && (!best || stands_before(w, &w->sides[i], best)))
            best = &w->sides[i];
    return best;
}

static void end_group(struct work *w)
{
    for (size_t i = 0; w->side_count > 1 && i < w->out->count; i++) {
        const struct compared_side *a = find_side(w, w->out->pairs[i].a), *b = find_side(w, w->out->pairs[i].b);
        if (a && b)
            count_pair(w, i, a, b);
    }
    for (size_t i = 0; i < w->side_count; i++)
        free(w->sides[i].free);
    w->side_count = 0;
}

static void add_side(struct work *w, const struct stmt *row)
{
    size_t value = string_list_find(&w->values, stmt_text(row, 0)), i = 0;
    const char *state = stmt_text(row, 3), *kept = stmt_text(row, 5);
    while (i < w->side_count && (w->sides[i].value != value || strcmp(w->sides[i].free, kept) != 0))
        i++;
    if (i == w->side_count) {
        w->sides = array_grow(w->sides, w->side_count, sizeof *w->sides);
        w->sides[w->side_count++] =
            (struct compared_side){.value = value, .free = xstrdup(kept), .job = stmt_int(row, 2)};
    }
    struct compared_side *s = &w->sides[i];
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

static void clear_pairs(struct comparison *c)
{
    for (size_t i = 0; i < c->count; i++) {
        free(c->pairs[i].a);
        free(c->pairs[i].b);
        free(c->pairs[i].ratios);
    }
    free(c->pairs);
    c->pairs = NULL;
    c->count = 0;
}

/* Sets all pairs side by side, with the free keys that `out` has. */
static int measure(struct db *db, struct work *w, struct error *e)
{
    struct stmt *rows = NULL;
    clear_pairs(w->out);
    string_list_free(&w->values);
    free(w->ratio_counts);
    w->ratio_counts = NULL;
    if (open_rows(db, w->out, &rows, e) < 0)
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

/* --- free keys --- */

static size_t most_pairs(const struct comparison *c)
{
    size_t most = 0;
    for (size_t i = 0; i < c->count; i++)
        most = c->pairs[i].summary.count > most ? c->pairs[i].summary.count : most;
    return most;
}

/* Of what was freed all that adds no pairs is not. */
static int fix_needless(struct db *db, struct work *w, struct error *e)
{
    struct string_list all = w->out->free;
    size_t most = most_pairs(w->out);
    bool *fixed = xcalloc(all.count + 1, sizeof *fixed);
    int rc = 0;
    for (size_t i = 0; rc == 0 && i <= all.count; i++) {
        fixed[i] = true;
        w->out->free = (struct string_list)STRING_LIST_INIT;
        for (size_t k = 0; k < all.count; k++)
            if (!fixed[k])
                string_list_add(&w->out->free, xstrdup(all.items[k]));
        rc = measure(db, w, e);
        fixed[i] = most_pairs(w->out) >= most;
        if (i < all.count)
            string_list_free(&w->out->free);
    }
    free(fixed);
    string_list_free(&all);
    return rc;
}

/* Where a key cannot be changed alone, keys that must follow it may. */
static int find_free(struct db *db, struct work *w, struct error *e)
{
    size_t alone = most_pairs(w->out);
    if (!w->out->key || w->out->values < 2 || alone >= RATIOS_LEAST || !w->has_direction)
        return 0;
    if (key_ties_read(db, w->out->key, &w->out->free, e) < 0)
        return -1;
    int rc = w->out->free.count ? measure(db, w, e) : 0;
    if (rc == 0 && most_pairs(w->out) > alone) {
        w->out->free_was_found = true;
        w->out->pairs_alone = alone;
        return fix_needless(db, w, e);
    }
    bool tried = w->out->free.count > 0;
    string_list_free(&w->out->free);
    return rc == 0 && tried ? measure(db, w, e) : rc;
}

static int check_free(struct db *db, const struct work *w, const char *key, struct error *e)
{
    static const char sql[] = "SELECT EXISTS (SELECT 1 FROM spec AS s, json_each(s.json) AS k"
                              " WHERE k.key = ?1 OR s.kind || '.' || k.key = ?1)"
                              " OR EXISTS (SELECT 1 FROM job AS j, json_each(j.derived) AS k WHERE k.key = ?1)";
    struct stmt *s = NULL;
    if (strcmp(key, w->request->key) == 0 || (w->out->key && strcmp(key, w->out->key) == 0))
        return error_set(e, ERROR_USAGE, "--free %s: it is compared by", key);
    if (db_prepare(db, sql, &s, e) < 0)
        return -1;
    stmt_bind_text(s, 1, key);
    int rc = stmt_next(s, e);
    bool known = rc > 0 && stmt_int(s, 0);
    stmt_free(s);
    if (rc < 0)
        return -1;
    return known ? 0 : error_set(e, ERROR_USAGE, "--free %s: there is no such key", key);
}

/* What --free names. A derived key is free with what it comes from: it need not be taken away. */
static int read_free(struct db *db, struct work *w, struct error *e)
{
    const char *list = w->request->free;
    int rc = 0;
    while (rc == 0 && list && *list) {
        size_t length = strcspn(list, ",");
        char *key = xstrndup(list, length);
        rc = check_free(db, w, key, e);
        string_list_add(&w->out->free, key);
        list += length + (list[length] == ',');
    }
    if (rc == 0 && w->out->free.count && !w->has_direction)
        rc = error_set(e, ERROR_USAGE, "--free: nothing says whether more or less of %s is better", w->out->metric);
    return rc;
}

static int compare(struct db *db, struct work *w, struct error *e)
{
    if (find_metric(db, w, e) < 0 || find_key(db, w->request->key, w->out, e) < 0 || read_free(db, w, e) < 0 ||
        measure(db, w, e) < 0)
        return -1;
    return w->request->free ? 0 : find_free(db, w, e);
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
                     "  json_extract(p.json, k.value)) IS NOT NULL)",
                     0, &found, e) < 0)
        return -1;
    c->says_batch = found;
    return 0;
}

int comparison_read(struct db *db, const struct comparison_request *request, struct comparison *out, struct error *e)
{
    struct comparison c = {0};
    struct work w = {.request = request, .out = &c};
    /* One transaction: a runner may be at work. */
    if (db_read_begin(db, e) < 0)
        return -1;
    int rc = compare(db, &w, e);
    rc = rc < 0 ? rc : read_batch(db, &c, e);
    db_read_end(db);
    string_list_free(&w.values);
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
    clear_pairs(c);
    string_list_free(&c->free);
    free(c->section);
    free(c->key);
    free(c->metric);
    free(c->unit);
    *c = (struct comparison){0};
}
