#include "results/best.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "results/job_record.h"
#include "results/json.h"
#include "results/measured.h"
#include "store/imports.h"
#include "util/buffer.h"
#include "util/memory.h"

/* --- the objective --- */

static int no_objective(struct db *db, const char *path, struct error *e)
{
    char *names = NULL;
    if (db_query_text(db,
                      "SELECT ' (metrics: ' || group_concat(name, ', ') || ')'"
                      " FROM (SELECT name FROM metric_definition ORDER BY name LIMIT 20)",
                      NO_VALUES, &names, e) < 0)
        return -1;
    error_set(e, ERROR_USAGE,
              "%s: the sweep has no objective, so there is no best job; add objective = \"max:METRIC\" or "
              "\"min:METRIC\" under [sweep] and run it again%s",
              path, names ? names : "");
    free(names);
    return -1;
}

static int read_objective(struct db *db, struct best *out, struct error *e)
{
    OWNED_STMT *s = NULL;
    int rc = db_next(db,
                     "SELECT s.objective, s.maximise, coalesce(m.unit, ''), s.name, s.path FROM current_sweep AS s"
                     " LEFT JOIN metric_definition AS m ON m.name = s.objective",
                     NO_VALUES, &s, e);
    if (rc == 0)
        rc = error_set(e, ERROR_NOTHING, "this database has no sweep yet; `meshsweep run` records one");
    else if (rc > 0 && stmt_is_null(s, 0))
        rc = no_objective(db, stmt_text(s, 4), e);
    if (rc > 0) {
        out->objective = xstrdup(stmt_text(s, 0));
        out->maximise = stmt_int(s, 1) != 0;
        out->unit = xstrdup(stmt_text(s, 2));
        out->sweep = xstrdup(stmt_text(s, 3));
    }
    return rc < 0 ? -1 : 0;
}

/* --- the jobs --- */

static bool is_close(const struct best *b, double value)
{
    return b->count == 0 || fabs(value - b->jobs[0].value) <= BEST_TOLERANCE * fabs(b->jobs[0].value);
}

static void add_ranked(struct best *out, int64_t job_id, double value, const struct configuration *configuration)
{
    if (out->count == BEST_LISTED) {
        out->more = true;
        return;
    }
    *array_add(out->jobs, out->count) =
        (struct best_job){.job_id = job_id, .value = value, .configuration = configuration};
}

/* Ranks the configurations of the first group. */
static void rank_configurations(struct best *out)
{
    const struct configurations *c = &out->configurations;
    const size_t count = configurations_in_group(c, 0);
    out->alike = configurations_alike(c->items, count);
    for (size_t i = 0; i < count; i++)
        if (is_close(out, c->items[i].value))
            add_ranked(out, c->items[i].job, c->items[i].value, &c->items[i]);
}

/* Returns whether the group's text ("model.name=1B, num_hosts=1") has each term of the part ("num_hosts=1",
 * "name=1B"). */
static bool has_part(const char *group, const char *part)
{
    for (const char *term = part; *term; term += strspn(term, ", ")) {
        const char *end = strstr(term, ", "), *at = group;
        const size_t length = end ? (size_t)(end - term) : strlen(term);
        for (; *at; at++)
            if (strncmp(at, term, length) == 0 && (at == group || strchr(" .", at[-1])) &&
                (!at[length] || strncmp(at + length, ", ", 2) == 0))
                break;
        if (!*at)
            return false;
        term += length;
    }
    return true;
}

static bool any_has_part(const char *text, const struct configurations *c)
{
    bool any = false;
    for (size_t i = 0; i < c->count && !any; i++)
        any = has_part(c->items[i].group, text);
    return any;
}

/* Keeps the group of that text or, where there is none, those that have it as a part. */
static void keep_groups(const char *text, struct configurations *c)
{
    size_t kept = 0;
    bool exact = false;
    for (size_t i = 0; i < c->count; i++)
        exact |= strcmp(c->items[i].group, text) == 0;
    for (size_t i = 0; i < c->count; i++) {
        if (exact ? strcmp(c->items[i].group, text) == 0 : has_part(c->items[i].group, text))
            c->items[kept++] = c->items[i];
        else
            free(c->items[i].group);
    }
    c->count = kept;
}

size_t best_group_count(const struct best *b)
{
    const struct configurations *c = &b->configurations;
    size_t groups = 0;
    for (size_t i = 0; c->has_groups && i < c->count; i++)
        groups += i == 0 || strcmp(c->items[i].group, c->items[i - 1].group) != 0;
    return groups;
}

static int unknown_group(const char *group, const struct configurations *c, struct error *e)
{
    OWNED_BUFFER all = BUFFER_INIT;
    for (size_t i = 0; i < c->count; i++)
        if (i == 0 || strcmp(c->items[i].group, c->items[i - 1].group) != 0)
            buffer_printf(&all, "%s%s", i ? "; " : "", c->items[i].group);
    if (c->has_groups)
        error_set(e, ERROR_USAGE, "--group %s: no such group; the groups are: %s", group,
                  all.length ? buffer_text(&all) : "none yet");
    else
        error_set(e, ERROR_USAGE, "--group %s: the sweep has no groups; they come from [sweep] group_by", group);
    return -1;
}

#define AS_ASKED MEASURED_AS_ASKED("a")

#define RANKED_SQL(order)                                                                                              \
    "SELECT j.id, m.value FROM job_metric AS m CROSS JOIN job AS j ON j.id = m.job_id"                                 \
    " CROSS JOIN attempt AS a ON a.id = j.attempt_id"                                                                  \
    " WHERE m.name = ?1 AND m.value IS NOT NULL AND j.state = 'ok' AND " AS_ASKED                                      \
    " AND j.sweep_id = (SELECT id FROM current_sweep) ORDER BY " order ", j.id LIMIT ?2"

static int read_ranked(struct db *db, struct best *out, struct error *e)
{
    /* Down or up the index of values, as far as is wanted. */
    static const char *const sql[] = {RANKED_SQL("m.value"), RANKED_SQL("m.value DESC")};
    OWNED_STMT *s = NULL;
    int rc;
    while ((rc = db_next(db, sql[out->maximise], VALUES(sql_text(out->objective), sql_int(BEST_LISTED + 1)), &s, e)) >
               0 &&
           is_close(out, stmt_double(s, 1)))
        add_ranked(out, stmt_int(s, 0), stmt_double(s, 1), NULL);
    return rc < 0 ? -1 : 0;
}

/* Puts first, of jobs that are equal under the first objective, the one that the other objectives choose. */
static void prefer_unbeaten(struct best *out)
{
    const struct pareto *p = &out->pareto;
    if (p->count == 0 || p->jobs[0].values[0] != out->jobs[0].value)
        return;
    size_t i = 0;
    while (i + 1 < out->count && out->jobs[i].job_id != p->jobs[0].job_id)
        i++;
    out->jobs[i].job_id = out->jobs[0].job_id;
    out->jobs[0].job_id = p->jobs[0].job_id;
}

#define BATCH_OF(json) "json_extract(" json ", '$.global_batch'), json_extract(" json ", '$.train_batch_size')"
#define BATCH_OF_SPEC BATCH_OF("json")
#define BATCH_DERIVED BATCH_OF("derived")
#define BATCHES_OF_JOB BATCH_OF("j.derived") ", " BATCH_OF("t.json") ", " BATCH_OF("p.json")
#define BATCH_SQL                                                                                                      \
    "(SELECT CAST(coalesce(" BATCHES_OF_JOB ") AS INTEGER) FROM (SELECT 1)"                                            \
    " LEFT JOIN spec AS t ON t.id = j.training_id LEFT JOIN spec AS p ON p.id = j.parallel_id)"

/* Finds whether there can be several batches, from the few specs: a million jobs need not be looked at. */
static int batches_may_differ(struct db *db, int64_t winner, bool *yes, struct error *e)
{
    static const char sql[] =
        "SELECT (SELECT count(DISTINCT coalesce(" BATCH_OF_SPEC ")) FROM spec) > 1"
        " OR EXISTS (SELECT 1 FROM job WHERE id = ?1 AND coalesce(" BATCH_DERIVED ") IS NOT NULL)";
    return db_query_bool(db, sql, VALUES(sql_int(winner)), yes, e);
}

static int read_batches(struct db *db, struct best *out, struct error *e)
{
    static const char sql[] =
        "WITH b (batch) AS MATERIALIZED (SELECT DISTINCT " BATCH_SQL " FROM job_metric AS m"
        " JOIN job AS j ON j.id = m.job_id JOIN attempt AS a ON a.id = j.attempt_id"
        " WHERE m.name = ?1 AND m.value IS NOT NULL AND j.state = 'ok' AND " AS_ASKED
        " AND j.sweep_id = (SELECT id FROM current_sweep)),"
        " w (batch) AS (SELECT " BATCH_SQL " FROM job AS j WHERE j.id = ?2)"
        " SELECT w.batch, count(b.batch), min(b.batch), max(b.batch) FROM w LEFT JOIN b ON b.batch <> w.batch";
    OWNED_STMT *s = NULL;
    bool may_differ = false;
    int rc = batches_may_differ(db, out->jobs[0].job_id, &may_differ, e);
    if (rc < 0 || !may_differ)
        return rc;
    if (db_query(db, sql, VALUES(sql_text(out->objective), sql_int(out->jobs[0].job_id)), &s, e) < 0)
        return -1;
    rc = stmt_next(s, e);
    if (rc > 0 && !stmt_is_null(s, 0))
        out->batches = (struct batch_spread){stmt_int(s, 0), stmt_int(s, 1), stmt_int(s, 2), stmt_int(s, 3)};
    return rc < 0 ? -1 : 0;
}

/* --- the winner's attempt --- */

static int read_documents(struct db *db, struct best *out, struct error *e)
{
    static const char sql[] =
        "SELECT a.directory, j.id AS job, lower(hex(j.key)) AS key, w.name AS sweep, " JSON_KEYS_SQL " AS keys,"
        " j.devices, a.number AS attempt, coalesce(a.command, '[]') AS command,"
        " coalesce(a.environment, '{}') AS environment,"
        " iif(a.executor = '" IMPORT_EXECUTOR "', NULL, coalesce(a.host, r.host)) AS host,"
        " strftime('%Y-%m-%dT%H:%M:%SZ', a.started / 1000, 'unixepoch') AS started, a.duration_ms,"
        " a.max_rss AS max_rss_bytes"
        " FROM job AS j JOIN attempt AS a ON a.id = j.attempt_id JOIN sweep AS w ON w.id = j.sweep_id"
        " LEFT JOIN runner AS r ON r.id = a.runner_id WHERE j.id = ?1";
    struct stmt *s = NULL;
    int rc = db_next(db, sql, VALUES(sql_int(out->jobs[0].job_id)), &s, e);
    if (rc > 0) {
        out->directory = stmt_copy_text(s, 0);
        out->job = json_document();
        json_add_columns(out->job, s, 1);
    }
    stmt_free(s);
    if (rc <= 0)
        return rc;
    return job_part_add_json(out->job, db, JOB_PART_METRICS, out->jobs[0].job_id, e);
}

static int read_winner(struct db *db, struct best *out, struct error *e)
{
    for (size_t i = 0; i < out->count; i++)
        if (job_keys_read(db, out->jobs[i].job_id, &out->jobs[i].keys, e) < 0)
            return -1;
    if (job_launch_read(db, out->jobs[0].job_id, &out->launch, e) < 0)
        return -1;
    return read_documents(db, out, e);
}

/* Groups say themselves what is not compared: several objectives have no Pareto set over them. */
static int read_competitors(struct db *db, const char *group, struct best *out, struct error *e)
{
    const struct configurations *c = &out->configurations;
    if (configurations_read(db, &out->configurations, e) < 0)
        return -1;
    if (c->has_replicates || c->has_groups) {
        if (group && !(any_has_part(group, c)))
            return unknown_group(group, c, e);
        if (group)
            keep_groups(group, &out->configurations);
        rank_configurations(out);
        return c->has_groups || out->count == 0 ? 0 : pareto_read(db, &out->pareto, e);
    }
    if (group)
        return unknown_group(group, c, e);
    int rc = read_ranked(db, out, e);
    if (rc == 0 && out->count && (rc = pareto_read(db, &out->pareto, e)) == 0) {
        prefer_unbeaten(out);
        rc = read_batches(db, out, e);
    }
    return rc;
}

static int read_conditions(struct db *db, struct best *out, struct error *e)
{
    const struct conditions_request request = {out->objective, out->maximise, out->count ? out->jobs[0].value : NAN};
    return conditions_read(db, &request, &out->conditions, e);
}

int best_read(struct db *db, struct best *out, struct error *e)
{
    return best_read_group(db, NULL, out, e);
}

int best_read_group(struct db *db, const char *group, struct best *out, struct error *e)
{
    struct best best = {0};
    /* One transaction: a runner may be at work. */
    if (db_read_begin(db, e) < 0)
        return -1;
    int rc = read_objective(db, &best, e) < 0 || read_competitors(db, group, &best, e) < 0
                 ? -1
                 : read_conditions(db, &best, e);
    if (rc == 0 && best.count)
        rc = read_winner(db, &best, e);
    db_read_end(db);
    if (rc < 0) {
        best_free(&best);
        return -1;
    }
    *out = best;
    return 0;
}

void best_free(struct best *b)
{
    for (size_t i = 0; i < b->count; i++)
        job_keys_free(&b->jobs[i].keys);
    free_all(b->jobs, b->objective, b->unit, b->sweep);
    configurations_free(&b->configurations);
    conditions_free(&b->conditions);
    pareto_free(&b->pareto);
    job_launch_free(&b->launch);
    free(b->directory);
    cJSON_Delete(b->job);
    *b = (struct best){0};
}
