#include "compare/comparison_subject.h"

#include <stdlib.h>
#include <string.h>

#include "compare/compared_jobs.h"
#include "results/metric_names.h"
#include "util/buffer.h"
#include "util/memory.h"
#include "util/suggest.h"

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
        names = array_grow(names, count, sizeof *names);
        names[count++] = xstrdup(stmt_text(s, 0));
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
    if (db_prepare(db, "SELECT EXISTS (SELECT 1 FROM job AS j, json_each(j.derived) AS k WHERE k.key = ?1)", &s, e) < 0)
        return -1;
    stmt_bind_text(s, 1, key);
    int rc = stmt_next(s, e);
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
    if (db_prepare(db,
                   "SELECT s.kind FROM spec AS s, json_each(s.json) AS k"
                   " WHERE k.key = ?1 AND (?2 IS NULL OR s.kind = ?2) LIMIT 1",
                   &s, e) < 0)
        return -1;
    stmt_bind_text(s, 1, key);
    stmt_bind_text(s, 2, section);
    int rc = stmt_next(s, e);
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

int comparison_subject_metric(struct db *db, const char *metric, struct comparison *out,
                              struct comparison_subject *subject, struct error *e)
{
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
    if (db_prepare(db, sql, &s, e) < 0)
        return -1;
    stmt_bind_text(s, 1, key);
    int rc = stmt_next(s, e);
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

int comparison_subject_keys(struct db *db, const struct compared_jobs *jobs, const struct comparison_request *request,
                            const struct comparison_subject *subject, struct comparison *out, struct error *e)
{
    if (find_key(db, jobs, request->key, out, e) < 0)
        return -1;
    return read_free(db, request, subject->has_direction, out, e);
}
