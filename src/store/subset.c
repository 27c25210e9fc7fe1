#include "store/subset.h"

#include <stdlib.h>
#include <string.h>

#include "util/memory.h"

#define RULE_BYTES_MOST 900000 /* SQLite takes a million in a statement */

struct conditions {
    char **items;
    size_t count;
    size_t bytes;
};

static void conditions_free(struct conditions *c)
{
    for (size_t i = 0; i < c->count; i++)
        free(c->items[i]);
    free(c->items);
}

/* A job's condition: each key that is not the same in all specs IS what it is. */
static const char condition_sql[] =
    "WITH key (kind, name, path) AS MATERIALIZED (SELECT s.kind, k.key, '$.\"' || k.key || '\"'"
    "  FROM spec AS s, json_each(s.json) AS k WHERE instr(k.key, '\"') = 0 AND instr(k.key, '\\') = 0"
    "  GROUP BY s.kind, k.key HAVING count(DISTINCT k.value) > 1"
    "   OR count(*) < (SELECT count(*) FROM spec AS n WHERE n.kind = s.kind))"
    " SELECT (SELECT group_concat(key.kind || '.\"' || key.name || '\" IS ' || quote(json_extract(s.json, key.path)),"
    " ' AND ') FROM key JOIN spec AS s ON s.kind = key.kind"
    " AND s.id IN (j.cluster_id, j.model_id, j.training_id, j.parallel_id)) FROM job AS j WHERE j.id = ?1";

static int read_conditions(struct db *db, struct stmt *jobs, struct conditions *out, struct error *e)
{
    struct stmt *s = NULL;
    int rc;
    if (db_prepare(db, condition_sql, &s, e) < 0)
        return -1;
    while ((rc = stmt_next(jobs, e)) > 0) {
        stmt_bind_int(s, 1, stmt_int(jobs, 0));
        if ((rc = stmt_next(s, e)) < 0)
            break;
        out->items = array_grow(out->items, out->count, sizeof *out->items);
        out->items[out->count] = xstrdup(stmt_is_null(s, 0) ? "true" : stmt_text(s, 0));
        out->bytes += strlen(out->items[out->count++]) + 8;
        stmt_reset(s);
    }
    stmt_free(s);
    return rc;
}

int subset_condition(struct db *db, int64_t job_id, char **out, struct error *e)
{
    struct stmt *s = NULL;
    if (db_prepare(db, condition_sql, &s, e) < 0)
        return -1;
    stmt_bind_int(s, 1, job_id);
    int rc = stmt_next(s, e);
    if (rc >= 0)
        *out = xstrdup(rc == 0 || stmt_is_null(s, 0) ? "true" : stmt_text(s, 0));
    stmt_free(s);
    return rc < 0 ? -1 : 0;
}

/* Halved again and again: SQLite takes no deeper expressions than 1,000. */
static void add_any(char *const *conditions, size_t count, struct buffer *out)
{
    if (count == 1) {
        buffer_printf(out, "(%s)", conditions[0]);
        return;
    }
    buffer_add_char(out, '(');
    add_any(conditions, count / 2, out);
    buffer_add_text(out, " OR ");
    add_any(conditions + count / 2, count - count / 2, out);
    buffer_add_char(out, ')');
}

static int add_file(struct db *db, const struct conditions *c, struct buffer *out, struct error *e)
{
    struct stmt *s = NULL;
    struct buffer require = BUFFER_INIT;
    if (db_prepare(db, "SELECT text FROM current_sweep", &s, e) < 0)
        return -1;
    int rc = stmt_next(s, e);
    if (rc > 0) {
        const char *text = stmt_text(s, 0);
        size_t length = strlen(text);
        add_any(c->items, c->count, &require);
        buffer_printf(out, "%s%s\n[[rule]]\nname = \"exported-subset\"\nwhy = \"only these jobs were exported\"\n"
                           "require = ", text, length && text[length - 1] != '\n' ? "\n" : "");
        buffer_add_json_string(out, buffer_text(&require), require.length);
        buffer_add_char(out, '\n');
    }
    buffer_free(&require);
    stmt_free(s);
    return rc < 0 ? -1 : 0;
}

int subset_add_toml(struct db *db, const struct result_query *q, struct buffer *out, struct error *e)
{
    struct result_query query = *q;
    struct conditions c = {NULL, 0, 0};
    struct stmt *jobs = NULL;
    query.columns = "job";
    query.every_sweep = false;
    if (result_query_open(db, &query, &jobs, e) < 0)
        return -1;
    int rc = read_conditions(db, jobs, &c, e);
    stmt_free(jobs);
    if (rc == 0 && c.count == 0)
        rc = error_set(e, ERROR_NOTHING, "no job matches");
    else if (rc == 0 && c.bytes > RULE_BYTES_MOST)
        rc = error_set(e, ERROR_FAILED, "%zu jobs make a rule of %zu bytes, more than SQLite takes; select fewer", c.count,
                       c.bytes);
    if (rc == 0)
        rc = add_file(db, &c, out, e);
    conditions_free(&c);
    return rc;
}
