#include "results/configurations.h"

#include <string.h>

#include "results/measured.h"
#include "util/embedded.h"
#include "util/memory.h"
#include "util/quantile.h"

#define REPLICATES_MOST 30 /* with a quantile of their own */

/* The keys that the current sweep lists under `name`. */
static int read_listed(struct db *db, const char *name, struct string_list *out, struct error *e)
{
    return db_query_texts(db, "SELECT k.value FROM meta AS m, json_each(m.value) AS k WHERE m.name = ?1 ORDER BY k.id",
                          VALUES(sql_text(name)), out, e);
}

/* --- SQL --- */

static void add_paths(const struct string_list *replicates, const char *section, size_t length, struct buffer *out)
{
    for (size_t i = 0; i < replicates->count; i++) {
        const char *key = replicates->items[i];
        if (strncmp(key, section, length) == 0 && key[length] == '.')
            buffer_printf(out, ", '$.\"%s\"'", key + length + 1);
    }
}

/* A spec's JSON without replicate keys is what its replicates have in common. Names of keys hold no quotes. */
static void add_same(const struct string_list *replicates, struct buffer *out)
{
    if (!replicates->count) {
        buffer_add_text(out, "same (id, same) AS (SELECT id, id FROM spec)");
        return;
    }
    buffer_add_text(out, "same (id, same) AS MATERIALIZED (\n"
                         "    SELECT id, first_value(id) OVER (PARTITION BY kind, CASE kind");
    for (size_t i = 0; i < replicates->count; i++) {
        size_t length = strcspn(replicates->items[i], ".");
        buffer_printf(out, " WHEN '%.*s' THEN json_remove(json", (int)length, replicates->items[i]);
        add_paths(replicates, replicates->items[i], length, out);
        buffer_add_char(out, ')');
    }
    buffer_add_text(out, " ELSE json END ORDER BY id) FROM spec)");
}

int configurations_add_same(struct db *db, struct buffer *out, struct error *e)
{
    OWNED_LIST replicates = STRING_LIST_INIT;
    int rc = read_listed(db, "replicate", &replicates, e);
    if (rc == 0)
        add_same(&replicates, out);
    return rc;
}

/* A function of the value that job `j` has of a key: "section.key", or a derived one's name. */
static void add_key(const char *function, const char *name, struct buffer *out)
{
    const char *dot = strchr(name, '.');
    buffer_printf(out, ", %s(", function);
    if (dot)
        buffer_printf(out, "(SELECT json FROM spec WHERE id = j.%.*s_id)", (int)strcspn(name, "_."), name);
    else
        buffer_add_text(out, "j.derived");
    buffer_printf(out, ", '$.\"%s\"')", dot ? dot + 1 : name);
}

/* Adds the keys as columns g0, g1, …, and what they are in JSON as y0, y1, …. */
static void add_keys(const struct string_list *groups, struct buffer *out)
{
    for (size_t i = 0; i < groups->count; i++) {
        add_key("json_extract", groups->items[i], out);
        buffer_printf(out, " AS g%zu", i);
        add_key("json_type", groups->items[i], out);
        buffer_printf(out, " AS y%zu", i);
    }
}

/* What is no text as it is written, not 1.0e-05; a text, too, unless something else is written alike: "1" beside 1. */
#define WRITTEN_SQL                                                                                                    \
    "CASE ifnull(y%zu, 'null') WHEN 'null' THEN 'none' WHEN 'true' THEN 'true' WHEN 'false' THEN 'false'"              \
    " WHEN 'real' THEN replace(g%zu, '.0e', 'e')"

/* "model.name=1B, num_hosts=1", of the rows of keyed. */
static void add_group(const struct string_list *groups, struct buffer *out)
{
    buffer_add_text(out, groups->count ? "" : "''");
    for (size_t i = 0; i < groups->count; i++) {
        const char *name = groups->items[i], *dot = strchr(name, '.'), *key = dot ? dot + 1 : name;
        buffer_printf(out,
                      "%s'%s%s=' || " WRITTEN_SQL " WHEN 'text' THEN iif(g%zu IN (SELECT " WRITTEN_SQL
                      " ELSE CAST(g%zu AS TEXT) END FROM keyed WHERE y%zu IS NOT 'text'), json_quote(g%zu), g%zu)"
                      " ELSE g%zu END",
                      i ? " || " : "", i ? ", " : "", strcmp(key, "name") == 0 ? name : key, i, i, i, i, i, i, i, i, i,
                      i);
    }
}

int configurations_add_groups(struct db *db, struct buffer *out, struct error *e)
{
    OWNED_LIST groups = STRING_LIST_INIT;
    int rc = read_listed(db, "group_by", &groups, e);
    if (rc == 0 && groups.count) {
        buffer_add_text(out, "WITH keyed AS MATERIALIZED (SELECT j.id");
        add_keys(&groups, out);
        buffer_add_text(out, " FROM job AS j WHERE j.sweep_id = (SELECT id FROM current_sweep))"
                             " SELECT id, dense_rank() OVER (ORDER BY ");
        add_group(&groups, out);
        buffer_add_text(out, ") - 1 FROM keyed ORDER BY id");
    }
    return rc;
}

/* Half the interval is so many standard errors. */
static void add_reach(struct buffer *out)
{
    buffer_add_text(out, "CASE replicates");
    for (int n = 2; n <= REPLICATES_MOST; n++)
        buffer_printf(out, " WHEN %d THEN %.4f", n, student_quantile(0.975, n - 1));
    buffer_printf(out, " ELSE %.4f END", student_quantile(0.975, REPLICATES_MOST));
}

static void add_jobs(const char *objective, const struct string_list *groups, struct buffer *out)
{
    buffer_add_text(out, ",\nkeyed AS MATERIALIZED (\n    SELECT j.id AS job, j.state, j.devices, v.value");
    add_keys(groups, out);
    buffer_add_text(out, ",\n"
                         "           c.same AS c, m.same AS m, t.same AS t, p.same AS p\n"
                         "    FROM job AS j LEFT JOIN same AS c ON c.id = j.cluster_id"
                         " LEFT JOIN same AS m ON m.id = j.model_id\n"
                         "    LEFT JOIN same AS t ON t.id = j.training_id LEFT JOIN same AS p ON p.id = j.parallel_id\n"
                         "    LEFT JOIN attempt AS a NOT INDEXED ON a.id = j.attempt_id AND j.state = 'ok' "
                         "AND " MEASURED_AS_ASKED("a") "\n    LEFT JOIN job_metric AS v"
                                                       " ON v.job_id = j.id AND a.id IS NOT NULL AND v.name = '");
    for (const char *p = objective; *p; p++)
        buffer_printf(out, "%s%c", *p == '\'' ? "'" : "", *p);
    buffer_add_text(out, "'\n    WHERE j.sweep_id = (SELECT id FROM current_sweep)),\nj AS (SELECT *, ");
    add_group(groups, out);
    buffer_add_text(out, " AS comparison_group FROM keyed)");
}

/* Replicates in the order of their values, each with what all of its configuration come to. */
#define PLACED_SQL                                                                                                     \
    ",\nk AS MATERIALIZED (\n"                                                                                         \
    "    SELECT *, min(job) OVER w AS configuration, count(value) OVER w AS replicates, avg(value) OVER w AS mean,\n"  \
    "           row_number() OVER (w ORDER BY value IS NULL, value, job) AS place\n"                                   \
    "    FROM j WINDOW w AS (PARTITION BY c, m, t, p)),\n"                                                             \
    "o AS MATERIALIZED (\n"                                                                                            \
    "    SELECT comparison_group, mean AS value, replicates, max(devices) AS devices,\n"                               \
    "           max(iif(place = (replicates + 1) / 2, job, NULL)) AS job,\n"                                           \
    "           sum(state = 'failed') AS failed, sum(state IN ('pending', 'running')) AS open,\n"                      \
    "           avg(iif(2 * place IN (replicates, replicates + 1, replicates + 2), value, NULL)) AS median,\n"         \
    "           sqrt(sum((value - mean) * (value - mean)) / (replicates - 1)) AS stddev,\n"                            \
    "           min(value) AS least, max(value) AS most, min(sum(state IN ('pending', 'running')))\n"                  \
    "             OVER (PARTITION BY comparison_group, replicates > 0) AS open_at_least"

/* Groups are in the order of their values: the number 2 is before 10. */
static void add_view(const char *objective, bool maximise, const struct string_list *groups, struct buffer *out)
{
    const char *order = maximise ? "DESC" : "ASC";
    add_jobs(objective, groups, out);
    buffer_add_text(out, PLACED_SQL);
    for (size_t i = 0; i < groups->count; i++)
        buffer_printf(out, ",\n           min(min(g%zu)) OVER (PARTITION BY comparison_group) AS g%zu", i, i);
    buffer_printf(out,
                  "\n    FROM k GROUP BY configuration)\nSELECT comparison_group, rank() OVER (PARTITION BY "
                  "comparison_group ORDER BY value %s) AS rank, job,\n"
                  "       value, replicates, failed AS replicates_failed, open AS replicates_open,\n"
                  "       median AS replicates_median, value - reach AS replicates_low, value + reach AS "
                  "replicates_high,\n"
                  "       stddev AS replicates_stddev, least AS replicates_min, most AS replicates_max,\n"
                  "       value / devices AS per_device\n"
                  "FROM (SELECT *, stddev / sqrt(replicates) * ",
                  order);
    add_reach(out);
    buffer_add_text(out, " AS reach FROM o)\nWHERE replicates > 0 AND (open = 0 OR open_at_least > 0)\nORDER BY ");
    for (size_t i = 0; i < groups->count; i++)
        buffer_printf(out, "g%zu, ", i);
    buffer_printf(out, "comparison_group, value %s, job", order);
}

int configurations_add_view(struct db *db, struct buffer *out, struct error *e)
{
    OWNED_LIST replicates = STRING_LIST_INIT, groups = STRING_LIST_INIT;
    OWNED_STMT *s = NULL;
    int rc = read_listed(db, "replicate", &replicates, e) < 0 ? -1 : read_listed(db, "group_by", &groups, e);
    if (rc == 0 && replicates.count + groups.count > 0)
        rc = db_next(db, "SELECT objective, maximise FROM current_sweep WHERE objective IS NOT NULL", NO_VALUES, &s, e);
    if (rc > 0) {
        buffer_add_text(out, "CREATE VIEW configurations AS\nWITH ");
        add_same(&replicates, out);
        add_view(stmt_text(s, 0), stmt_int(s, 1) != 0, &groups, out);
    }
    return rc < 0 ? -1 : 0;
}

/* --- asking --- */

int configurations_suppose(struct db *db, const char *keys_json, struct error *e)
{
    OWNED_BUFFER view = BUFFER_INIT;
    if (keys_json &&
        (db_exec(db, "CREATE TEMP TABLE meta AS SELECT * FROM main.meta WHERE name <> 'group_by'", e) < 0 ||
         db_run(db, "INSERT INTO meta VALUES ('group_by', ?)", VALUES(sql_text(keys_json)), e) < 0))
        return -1;
    if (configurations_add_view(db, &view, e) < 0)
        return -1;
    if (!view.length)
        return 0;
    OWNED char *temporary = xasprintf("CREATE TEMP VIEW%s", buffer_text(&view) + strlen("CREATE VIEW"));
    return db_exec(db, temporary, e);
}

int configurations_ask(struct db *db, const char *name, const struct competition *c, struct sql_values values,
                       struct stmt **out, struct error *e)
{
    static const char begin[] = "\nWITH\n";
    OWNED_BUFFER sql = BUFFER_INIT;
    buffer_printf(&sql, "%smeasured AS NOT MATERIALIZED (SELECT a.id FROM attempt AS a WHERE %s),\n%s%s", begin,
                  MEASURED_AS_ASKED("a"),
                  c->replicates || c->groups ? "" : "configurations AS (SELECT * FROM ranked_job),\n",
                  strstr(embedded_text(name), begin) + strlen(begin));
    return db_query(db, buffer_text(&sql), values, out, e);
}

int configurations_compete(struct db *db, struct competition *out, struct error *e)
{
    OWNED_STMT *s = NULL;
    int rc = db_next(db,
                     "SELECT EXISTS (SELECT 1 FROM meta WHERE name = 'replicate'),"
                     " EXISTS (SELECT 1 FROM meta WHERE name = 'group_by')"
                     " FROM (SELECT * FROM sqlite_schema UNION ALL SELECT * FROM sqlite_temp_schema)"
                     " WHERE type = 'view' AND name = 'configurations' LIMIT 1",
                     NO_VALUES, &s, e);
    *out = (struct competition){rc > 0 && stmt_int(s, 0), rc > 0 && stmt_int(s, 1)};
    return rc < 0 ? -1 : 0;
}
