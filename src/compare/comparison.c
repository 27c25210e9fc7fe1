#include "compare/comparison.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "compare/compared_jobs.h"
#include "compare/matched_pairs.h"
#include "database/db.h"
#include "results/metric_names.h"
#include "store/sweeps.h"
#include "sweep_file/reader.h"
#include "util/buffer.h"
#include "util/memory.h"
#include "util/string_list.h"
#include "util/suggest.h"

/* --- comparison subject --- */

/* The subject of a comparison: its metric, its key and the free keys, as requested. */

struct comparison_subject {
    bool has_direction, maximise; /* which of the jobs that differ in free keys alone represents them */
};

/* Reports an unknown key, with similar or existing names. */
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
        *array_add(names, count) = xstrdup(stmt_text(s, 0));
        if (count <= 20)
            buffer_printf(&all, "%s%s", count > 1 ? ", " : "", stmt_text(s, 0));
    }
    stmt_free(s);
    const char *near = suggest_nearest(key, (const char *const *)names, count);
    if (rc == 0 && near)
        error_set(e, ERROR_USAGE, "--by %s: no such key (did you mean %s?)", key, near);
    else if (rc == 0 && count > 0)
        error_set(e, ERROR_USAGE, "--by %s: no such key; the keys are %s", key, buffer_text(&all));
    else if (rc == 0)
        error_set(e, ERROR_NOTHING, "--by %s: the database has no jobs, so there is nothing to compare", key);
    for (size_t i = 0; i < count; i++)
        free(names[i]);
    free(names);
    buffer_free(&all);
    return -1;
}

static int refuse_derived(struct db *db, const char *key, struct error *e)
{
    struct stmt *s = NULL;
    int rc = db_next(db, "SELECT EXISTS (SELECT 1 FROM job AS j, json_each(j.derived) AS k WHERE k.key = ?1)",
                     VALUES(sql_text(key)), &s, e);
    bool derived = rc > 0 && stmt_int(s, 0);
    stmt_free(s);
    if (rc < 0)
        return -1;
    return derived ? error_set(e, ERROR_USAGE,
                               "--by %s: it is derived from other keys, so no two jobs differ only in it; compare by "
                               "one of those keys",
                               key)
                   : unknown_key(db, key, e);
}

/* Looks in all specs of the database if no job of the current sweep has the key. */
static int find_in_specs(struct db *db, const char *key, const char *section, struct comparison *out, struct error *e)
{
    struct stmt *s = NULL;
    int rc = db_next(db,
                     "SELECT s.kind FROM spec AS s, json_each(s.json) AS k"
                     " WHERE k.key = ?1 AND (?2 IS NULL OR s.kind = ?2) LIMIT 1",
                     VALUES(sql_text(key), sql_text(section)), &s, e);
    if (rc > 0) {
        out->section = xstrdup(stmt_text(s, 0));
        out->key = xstrdup(key);
    }
    stmt_free(s);
    return rc;
}

/* Of the sections that have the key, the one where it has the most values; if equal, the first by name. */
static enum compared_kind section_with(const struct compared_jobs *jobs, const char *key)
{
    enum compared_kind best = COMPARED_SECTIONS;
    size_t most = 0;
    for (enum compared_kind kind = 0; kind < COMPARED_SECTIONS; kind++) {
        const struct compared_key *k = compared_key_named(&jobs->sections[kind], key);
        if (k &&
            (k->distinct > most || (k->distinct == most && strcmp(compared_names[kind], compared_names[best]) < 0))) {
            best = kind;
            most = k->distinct;
        }
    }
    return best;
}

/* Finds the section whose specs have the key. */
static int find_key(struct db *db, const struct compared_jobs *jobs, const char *name, struct comparison *out,
                    struct error *e)
{
    const char *dot = strchr(name, '.');
    enum compared_kind section = dot ? compared_section_named(name, (size_t)(dot - name)) : COMPARED_SECTIONS, found;
    const char *key = section < COMPARED_SECTIONS ? dot + 1 : name;
    if (compared_section_named(name, strlen(name)) < COMPARED_SECTIONS) {
        out->section = xstrdup(name);
        return 0;
    }
    found = section == COMPARED_SECTIONS                        ? section_with(jobs, key)
            : compared_key_named(&jobs->sections[section], key) ? section
                                                                : COMPARED_SECTIONS;
    if (found < COMPARED_SECTIONS) {
        out->section = xstrdup(compared_names[found]);
        out->key = xstrdup(key);
        return 0;
    }
    int rc = find_in_specs(db, key, section < COMPARED_SECTIONS ? compared_names[section] : NULL, out, e);
    return rc > 0 ? 0 : rc < 0 ? -1 : refuse_derived(db, name, e);
}

/* Fills in the names of `out`, which the caller frees in any case; fails like comparison_read(). `metric` may be NULL
 * for the objective. */
static int comparison_subject_metric(struct db *db, const char *metric, struct comparison *out,
                                     struct comparison_subject *subject, struct error *e)
{
    struct stmt *s = NULL;
    int rc = db_next(db,
                     "SELECT s.objective, s.maximise, coalesce(?1, s.objective) AS metric,"
                     " (SELECT unit FROM metric_definition WHERE name = coalesce(?1, s.objective)),"
                     " ?1 IS NULL OR EXISTS (SELECT 1 FROM metric_definition WHERE name = ?1)"
                     " OR EXISTS (SELECT 1 FROM summary WHERE name = ?1),"
                     " CASE WHEN coalesce(?1, s.objective) IS s.objective THEN s.maximise ELSE"
                     " (SELECT better = 'max' FROM metric_definition WHERE name = ?1) END FROM current_sweep AS s",
                     VALUES(sql_text(metric)), &s, e);
    if (rc == 0)
        rc = error_set(e, ERROR_NOTHING, "this database has no sweep yet; `meshsweep run` records one");
    else if (rc > 0 && stmt_is_null(s, 2))
        rc = error_set(e, ERROR_USAGE, "the sweep has no objective; name the metric to compare with --metric");
    else if (rc > 0 && !stmt_int(s, 4))
        rc = metric_names_refuse(db, metric, e);
    if (rc > 0) {
        out->metric = xstrdup(stmt_text(s, 2));
        out->unit = xstrdup(stmt_is_null(s, 3) ? "" : stmt_text(s, 3));
        out->is_objective = !stmt_is_null(s, 0) && strcmp(stmt_text(s, 0), out->metric) == 0;
        out->maximise = out->is_objective && stmt_int(s, 1);
        subject->has_direction = !stmt_is_null(s, 5);
        subject->maximise = stmt_int(s, 5) != 0;
    }
    stmt_free(s);
    return rc < 0 ? -1 : 0;
}

static int check_free(struct db *db, const struct comparison_request *r, const struct comparison *c, const char *key,
                      struct error *e)
{
    static const char sql[] = "SELECT EXISTS (SELECT 1 FROM spec AS s, json_each(s.json) AS k"
                              " WHERE k.key = ?1 OR s.kind || '.' || k.key = ?1)"
                              " OR EXISTS (SELECT 1 FROM job AS j, json_each(j.derived) AS k WHERE k.key = ?1)";
    struct stmt *s = NULL;
    if (strcmp(key, r->key) == 0 || (c->key && strcmp(key, c->key) == 0))
        return error_set(e, ERROR_USAGE, "--free %s: it is the key to compare by", key);
    int rc = db_next(db, sql, VALUES(sql_text(key)), &s, e);
    bool known = rc > 0 && stmt_int(s, 0);
    stmt_free(s);
    if (rc < 0)
        return -1;
    return known ? 0 : error_set(e, ERROR_USAGE, "--free %s: no such key", key);
}

/* Reads the keys of --free. A derived key is free along with those that it comes from, so it need not be removed. */
static int read_free(struct db *db, const struct comparison_request *r, bool has_direction, struct comparison *out,
                     struct error *e)
{
    const char *list = r->free;
    int rc = 0;
    while (rc == 0 && list && *list) {
        size_t length = strcspn(list, ",");
        char *key = xstrndup(list, length);
        rc = check_free(db, r, out, key, e);
        string_list_add(&out->free, key);
        list += length + (list[length] == ',');
    }
    if (rc == 0 && out->free.count && !has_direction)
        rc = error_set(e, ERROR_USAGE,
                       "--free: the direction of %s is not known; set better = \"min\" or \"max\" in its table",
                       out->metric);
    return rc;
}

static int comparison_subject_keys(struct db *db, const struct compared_jobs *jobs,
                                   const struct comparison_request *request, const struct comparison_subject *subject,
                                   struct comparison *out, struct error *e)
{
    if (find_key(db, jobs, request->key, out, e) < 0)
        return -1;
    return read_free(db, request, subject->has_direction, out, e);
}

/* --- key ties --- */

/* Finds keys that cannot be changed alone, because the sweep file connects them with others. */

#define DERIVED_DEEPEST 20

static void add_new(struct string_list *l, char *text)
{
    if (string_list_find(l, text) == l->count)
        string_list_add(l, text);
    else
        free(text);
}

static bool begins_name(char c)
{
    return isalpha((unsigned char)c) || c == '_';
}

static const struct derived *find_derived(const struct sweep *s, const char *name)
{
    for (size_t i = 0; i < s->derived_count; i++)
        if (strcmp(s->derived[i].name, name) == 0)
            return &s->derived[i];
    return NULL;
}

/* Adds the words of an expression that may be keys, without their sections, and for a derived key also those of its own
 * expression. Quoted texts are values. */
static void add_words(const struct sweep *s, const char *expression, int depth, struct string_list *out)
{
    for (const char *p = expression; p && *p;) {
        size_t length = 1;
        if (*p == '\'') {
            length = strcspn(p + 1, "'") + 1;
            p += length + (p[length] == '\'');
            continue;
        }
        while (begins_name(*p) && (begins_name(p[length]) || isdigit((unsigned char)p[length]) || p[length] == '.'))
            length++;
        if (begins_name(*p)) {
            char *name = xstrndup(p, length), *dot = strrchr(name, '.');
            const struct derived *d = find_derived(s, name);
            if (d && depth < DERIVED_DEEPEST)
                add_words(s, d->expression, depth + 1, out);
            add_new(out, xstrdup(dot ? dot + 1 : name));
            free(name);
        }
        p += length;
    }
}

static const char *bare(const char *key)
{
    const char *dot = strchr(key, '.');
    return dot ? dot + 1 : key;
}

/* Adds all words of an expression that reads the key. */
static void add_expression(const struct sweep *s, const char *expression, const char *key, struct string_list *out)
{
    struct string_list words = STRING_LIST_INIT;
    add_words(s, expression, 0, &words);
    bool reads = string_list_find(&words, key) < words.count;
    for (size_t i = 0; reads && i < words.count; i++)
        add_new(out, xstrdup(words.items[i]));
    string_list_free(&words);
}

static void add_axis(const struct axis *axis, const char *key, struct string_list *out)
{
    bool has = false;
    for (size_t k = 0; k < axis->key_count; k++)
        has |= strcmp(axis->keys[k], key) == 0;
    for (size_t k = 0; has && k < axis->key_count; k++)
        add_new(out, xstrdup(axis->keys[k]));
}

static void add_tied(const struct sweep *s, const char *key, struct string_list *out)
{
    for (size_t i = 0; i < s->rule_count; i++) {
        add_expression(s, s->rules[i].require, key, out);
        add_expression(s, s->rules[i].when, key, out);
    }
    for (size_t i = 0; i < s->derived_count; i++)
        add_expression(s, s->derived[i].expression, key, out);
    for (int kind = 0; kind < SECTION_COUNT; kind++)
        for (size_t b = 0; b < s->sections[kind].block_count; b++)
            for (size_t a = 0; a < s->sections[kind].blocks[b].axis_count; a++)
                add_axis(&s->sections[kind].blocks[b].axes[a], key, out);
}

static bool is_batch(const char *key)
{
    return strcmp(key, "global_batch") == 0 || strcmp(key, "train_batch_size") == 0;
}

static int by_name(const void *a, const void *b)
{
    const char *x = *(char *const *)a, *y = *(char *const *)b;
    bool x_micro = strcasestr(x, "micro"), y_micro = strcasestr(y, "micro");
    return x_micro != y_micro ? y_micro - x_micro : strcmp(x, y);
}

/* The keys with several values. The micro-batch comes first: it affects a step most, so if either of two keys could
 * stay equal, it should. */
static void find_swept(const struct compared_jobs *jobs, const char *key, struct string_list *out)
{
    for (enum compared_kind kind = 0; kind < COMPARED_SECTIONS; kind++)
        for (size_t k = 0; k < jobs->sections[kind].key_count; k++) {
            const struct compared_key *one = &jobs->sections[kind].keys[k];
            if (one->distinct > 1 && !one->is_label && !one->is_replicate && !is_batch(one->name) &&
                strcmp(one->name, key) != 0)
                add_new(out, xstrdup(one->name));
        }
    if (out->count)
        qsort(out->items, out->count, sizeof *out->items, by_name);
}

/* Keys that follow `key` may have followers of their own. `found` marks which of `swept` are connected. */
static void find_followers(const struct sweep *s, const char *key, const struct string_list *swept, bool *found)
{
    struct string_list words = STRING_LIST_INIT;
    add_tied(s, key, &words);
    for (size_t i = 0; i < swept->count; i++)
        if (!found[i] && string_list_find(&words, swept->items[i]) < words.count) {
            found[i] = true;
            find_followers(s, swept->items[i], swept, found);
        }
    string_list_free(&words);
}

static void add_followers(const struct sweep *s, const char *key, const struct string_list *swept,
                          struct string_list *out)
{
    bool *found = xcalloc(swept->count + 1, sizeof *found);
    find_followers(s, key, swept, found);
    for (size_t i = 0; i < swept->count; i++)
        if (found[i])
            string_list_add(out, xstrdup(swept->items[i]));
    free(found);
}

/* Adds the keys with several values in the current sweep that are connected with `key`: a rule or derived key reads
 * both, directly or through derived keys, or they are tied ("(tp, dp)"). Keys connected with these are added in turn.
 * The global batch, which defines the work done, and replicate keys are never added. Adds nothing if the recorded file
 * can no longer be read. */
static int key_ties_read(struct db *db, const struct compared_jobs *jobs, const char *key, struct string_list *out,
                         struct error *e)
{
    struct string_list swept = STRING_LIST_INIT;
    struct sweep *sweep = NULL;
    struct error unreadable = ERROR_INIT;
    char *path = NULL, *text = NULL;
    int64_t id;
    if (sweep_read_current(db, &id, &path, &text, e) < 0)
        return -1;
    find_swept(jobs, bare(key), &swept);
    if (sweep_parse(path, text, strlen(text), &sweep, &unreadable) == 0)
        add_followers(sweep, bare(key), &swept, out);
    sweep_free(sweep);
    string_list_free(&swept);
    free_all(path, text);
    return 0;
}

/* --- comparison --- */

struct work {
    const struct compared_jobs *jobs;
    const struct comparison_request *request;
    struct comparison_subject subject;
    struct comparison *out;
};

static int measure(struct work *w, struct error *e)
{
    return matched_pairs_measure(w->jobs, w->request, w->subject.maximise, w->out, e);
}

/* --- free keys --- */

static size_t most_pairs(const struct comparison *c)
{
    size_t most = 0;
    for (size_t i = 0; i < c->count; i++) {
        const size_t pairs = c->pairs[i].summary.count + (size_t)c->pairs[i].without_choice;
        most = pairs > most ? pairs : most;
    }
    return most;
}

/* Fixes again each freed key that adds no pairs. */
static int fix_needless(struct work *w, struct error *e)
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
        rc = measure(w, e);
        fixed[i] = most_pairs(w->out) >= most;
        if (i < all.count)
            string_list_free(&w->out->free);
    }
    free(fixed);
    string_list_free(&all);
    return rc;
}

/* If a key cannot be changed alone, keys that must follow it are freed. */
static int find_free(struct db *db, struct work *w, struct error *e)
{
    size_t alone = most_pairs(w->out);
    if (!w->out->key || w->out->values < 2 || alone >= RATIOS_LEAST || !w->subject.has_direction)
        return 0;
    if (key_ties_read(db, w->jobs, w->out->key, &w->out->free, e) < 0)
        return -1;
    int rc = w->out->free.count ? measure(w, e) : 0;
    if (rc == 0 && most_pairs(w->out) > alone) {
        w->out->free_was_found = true;
        w->out->pairs_alone = alone;
        return fix_needless(w, e);
    }
    bool tried = w->out->free.count > 0;
    string_list_free(&w->out->free);
    return rc == 0 && tried ? measure(w, e) : rc;
}

/* Looks at one job, because all have the same keys, apart from those of blocks of one section. */
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
                     NO_VALUES, 0, &found, e) < 0)
        return -1;
    c->says_batch = found;
    return 0;
}

static int compare(struct db *db, struct compared_jobs *jobs, struct work *w, struct error *e)
{
    w->jobs = jobs;
    if (comparison_subject_keys(db, jobs, w->request, &w->subject, w->out, e) < 0)
        return -1;
    const enum compared_kind section = compared_section_named(w->out->section, strlen(w->out->section));
    if (!w->out->key && compared_jobs_read_labels(db, jobs, section, e) < 0)
        return -1;
    if (measure(w, e) < 0 || (!w->request->free && find_free(db, w, e) < 0))
        return -1;
    return read_batch(db, w->out, e);
}

/* Reads the jobs if the request brings none. */
static int read_and_compare(struct db *db, struct work *w, struct error *e)
{
    struct compared_jobs own = {0};
    if (comparison_subject_metric(db, w->request->metric, w->out, &w->subject, e) < 0)
        return -1;
    if (w->request->jobs)
        return compare(db, w->request->jobs, w, e);
    int rc = compared_jobs_read(db, w->out->metric, &own, e);
    rc = rc == 0 ? compare(db, &own, w, e) : rc;
    compared_jobs_free(&own);
    w->jobs = NULL;
    return rc;
}

int comparison_read(struct db *db, const struct comparison_request *request, struct comparison *out, struct error *e)
{
    struct comparison c = {0};
    struct work w = {.request = request, .out = &c};
    /* One transaction, because a runner may be at work. */
    if (db_read_begin(db, e) < 0)
        return -1;
    int rc = read_and_compare(db, &w, e);
    db_read_end(db);
    if (rc < 0) {
        comparison_free(&c);
        return -1;
    }
    *out = c;
    return 0;
}

size_t comparisons_judge(struct comparison *items, size_t count)
{
    size_t together = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < items[i].count; j++)
            together += items[i].pairs[j].summary.count >= RATIOS_INTERVAL_LEAST;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < items[i].count; j++) {
            struct comparison_pair *p = &items[i].pairs[j];
            ratios_judge(p->ratios, &p->summary, together, (unsigned)p->chosen_a + p->chosen_b);
        }
    return together;
}

void comparison_free(struct comparison *c)
{
    matched_pairs_clear(c);
    string_list_free(&c->free);
    free_all(c->section, c->key, c->metric, c->unit);
    *c = (struct comparison){0};
}
