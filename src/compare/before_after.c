#include "compare/before_after.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare/comparison.h"
#include "results/measured.h"
#include "results/query.h"
#include "util/memory.h"
#include "util/string_list.h"

#define KEY_BYTES 16

/* --- what is compared --- */

static int read_metric(struct db *now, const char *metric, struct before_after *out, struct error *e)
{
    OWNED_STMT *s = NULL;
    int rc = db_next(now,
                     "SELECT coalesce(?1, s.objective), coalesce(d.unit, ''),"
                     " CASE WHEN coalesce(?1, s.objective) IS s.objective THEN s.maximise ELSE d.better = 'max' END,"
                     " d.name IS NOT NULL OR EXISTS (SELECT 1 FROM summary WHERE name = ?1), d.expression IS NOT NULL"
                     " FROM current_sweep AS s LEFT JOIN metric_definition AS d ON d.name = coalesce(?1, s.objective)",
                     VALUES(sql_text(metric)), &s, e);
    if (rc == 0)
        rc = error_set(e, ERROR_NOTHING, "the second database has no sweep yet; `meshsweep run` records one");
    else if (rc > 0 && stmt_is_null(s, 0))
        rc = error_set(e, ERROR_USAGE, "the sweep has no objective; name the metric to compare with --metric");
    else if (rc > 0 && metric && !stmt_int(s, 3))
        rc = metric_names_refuse(now, metric, e);
    else if (rc > 0 && stmt_is_null(s, 2))
        rc = error_set(e, ERROR_USAGE,
                       "--metric %s: its direction is not known; set better = \"min\" or \"max\" under [%smetrics.%s]",
                       metric, stmt_int(s, 4) ? "" : "job.", metric);
    if (rc > 0) {
        out->metric = stmt_copy_text(s, 0);
        out->unit = stmt_copy_text(s, 1);
        out->maximise = stmt_int(s, 2) != 0;
    }
    return rc < 0 ? -1 : 0;
}

/* The parts that two numbers of the metric must have in common, a row each; from a time when it was not recorded, the
 * unit alone. */
static const char definition_sql[] =
    "SELECT k.key, k.value FROM metric_definition AS m LEFT JOIN definition AS d ON d.id = m.definition_id,"
    " json_each(json_object('unit', m.unit, 'reader', coalesce(d.expression, d.imported, d.reading), 'scale', d.scale,"
    " 'take', d.take, 'warm-up', d.warmup, 'first step', d.first_step, 'last step', d.last_step)) AS k"
    " WHERE m.name = ?1 AND (d.hash IS NOT NULL OR k.key = 'unit') ORDER BY k.id";

/* Both statements have a row. */
static int check_part(const struct stmt *before, const struct stmt *now, const char *metric, struct error *e)
{
    const char *was = stmt_is_null(before, 1) ? "" : stmt_text(before, 1),
               *is = stmt_is_null(now, 1) ? "" : stmt_text(now, 1);
    if (strcmp(was, is) == 0)
        return 0;
    return error_set(e, ERROR_USAGE,
                     "%s: its %s was \"%s\" and is now \"%s\", so the databases cannot be compared; run the newer "
                     "sweep "
                     "file on the earlier one, which makes its numbers anew",
                     metric, stmt_text(now, 0), was, is);
}

static int check_definition(struct db *before, struct db *now, const struct before_after *b, struct error *e)
{
    OWNED_STMT *was = NULL, *is = NULL;
    int rc = db_query(before, definition_sql, VALUES(sql_text(b->metric)), &was, e);
    if (rc == 0)
        rc = db_query(now, definition_sql, VALUES(sql_text(b->metric)), &is, e);
    while (rc == 0 && stmt_next(was, e) > 0 && stmt_next(is, e) > 0)
        rc = check_part(was, is, b->metric, e);
    return rc;
}

/* --- the groups --- */

/* The later jobs, with their groups. */
struct membership {
    int64_t *jobs; /* ascending */
    size_t *groups, count;
    struct string_list values; /* "" for none */
};

static const char *value_of(const struct stmt *s)
{
    return stmt_is_null(s, 1) ? "" : stmt_text(s, 1);
}

static int read_members(struct stmt *s, struct membership *m, struct error *e)
{
    int rc;
    while ((rc = stmt_next(s, e)) > 0)
        if (string_list_find(&m->values, value_of(s)) == m->values.count)
            string_list_add(&m->values, xstrdup(value_of(s)));
    string_list_sort_values(&m->values);
    stmt_reset(s);
    while (rc == 0 && (rc = stmt_next(s, e)) > 0) {
        m->jobs = array_grow(m->jobs, m->count, sizeof *m->jobs);
        m->groups = array_grow(m->groups, m->count, sizeof *m->groups);
        m->jobs[m->count] = stmt_int(s, 0);
        m->groups[m->count++] = string_list_find(&m->values, value_of(s));
        rc = 0;
    }
    return rc;
}

static int read_membership(struct db *now, const char *by, struct membership *out, struct error *e)
{
    if (!by)
        return 0;
    OWNED_STMT *s = NULL;
    OWNED char *columns = xasprintf("job,%s", by);
    const struct result_query q = {.columns = columns, .columns_option = "--by"};
    int rc = result_query_open(now, &q, &s, e);
    if (rc == 0 && stmt_column_count(s) != 2)
        rc = error_set(e, ERROR_USAGE, "--by %s: give one key", by);
    if (rc == 0)
        rc = read_members(s, out, e);
    return rc;
}

static int compare_ids(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static size_t group_of(const struct membership *m, int64_t job)
{
    const int64_t *found = m->count ? bsearch(&job, m->jobs, m->count, sizeof *m->jobs, compare_ids) : NULL;
    return found ? m->groups[found - m->jobs] : 0;
}

/* --- the jobs --- */

/* One database's jobs in key order, a row per successful attempt. */
struct side {
    struct stmt *rows;
    bool has_row;
    /* the current job */
    bool has_job, ok, breaches;
    unsigned char key[KEY_BYTES];
    int64_t id;
    struct slowdown_runs runs;
};

static int open_side(struct db *db, const struct before_after *b, struct side *out, struct error *e)
{
    static const char sql[] = "SELECT j.key, j.id, j.state = 'ok', v.value,"
                              " EXISTS (SELECT 1 FROM breach WHERE breach.attempt_id = j.attempt_id) FROM job AS j"
                              " LEFT JOIN counted_attempt AS c ON c.job_id = j.id"
                              " LEFT JOIN attempt AS a ON a.id = c.id AND " MEASURED_TO_ITS_END(
                                  "a") " LEFT JOIN summary AS v ON v.attempt_id = a.id AND v.name = ?1"
                                       " WHERE j.sweep_id = (SELECT id FROM current_sweep) ORDER BY j.key, a.number";
    int rc = db_query(db, sql, VALUES(sql_text(b->metric)), &out->rows, e) < 0 ? -1 : stmt_next(out->rows, e);
    out->has_row = rc > 0;
    return rc < 0 ? -1 : 0;
}

static int next_job(struct side *side, bool maximise, struct error *e)
{
    int rc = side->has_row;
    side->has_job = side->has_row;
    if (!side->has_job)
        return 0;
    memcpy(side->key, stmt_blob(side->rows, 0), KEY_BYTES);
    side->id = stmt_int(side->rows, 1);
    side->ok = stmt_int(side->rows, 2) != 0;
    side->breaches = stmt_int(side->rows, 4) != 0;
    side->runs = (struct slowdown_runs){0};
    for (; rc > 0 && memcmp(side->key, stmt_blob(side->rows, 0), KEY_BYTES) == 0; rc = stmt_next(side->rows, e)) {
        double value = stmt_double_or_nan(side->rows, 3), cost = maximise ? 1 / value : value;
        if (side->ok && cost > 0 && isfinite(cost))
            slowdown_add_run(&side->runs, cost);
    }
    side->has_row = rc > 0;
    return rc < 0 ? -1 : 0;
}

static void add_common(struct before_after *b, const struct side *before, const struct side *now,
                       const struct membership *m)
{
    if (before->ok && !now->ok) {
        b->failed_now++;
        b->example_failed_now = b->example_failed_now ? b->example_failed_now : now->id;
    } else if (!before->ok && now->ok) {
        b->failed_before++;
    } else if (!before->runs.count || !now->runs.count) {
        b->not_measured++;
    } else {
        if (!before->breaches && now->breaches) {
            b->breached_now++;
            b->example_breached_now = b->example_breached_now ? b->example_breached_now : now->id;
        }
        *array_add(b->jobs, b->job_count) =
            (struct before_after_job){before->id, now->id, group_of(m, now->id), {before->runs, now->runs}};
    }
}

/* Both are in key order. */
static int join_sides(struct side *before, struct side *now, const struct membership *m, struct before_after *b,
                      struct error *e)
{
    int rc = next_job(before, b->maximise, e) < 0 || next_job(now, b->maximise, e) < 0 ? -1 : 0;
    while (rc == 0 && (before->has_job || now->has_job)) {
        int order = !before->has_job ? 1 : !now->has_job ? -1 : memcmp(before->key, now->key, KEY_BYTES);
        if (order == 0)
            add_common(b, before, now, m);
        b->before_only += order < 0;
        b->now_only += order > 0;
        if (order <= 0)
            rc = next_job(before, b->maximise, e);
        if (rc == 0 && order >= 0)
            rc = next_job(now, b->maximise, e);
    }
    return rc;
}

static int read_jobs(struct db *before, struct db *now, const struct membership *m, struct before_after *b,
                     struct error *e)
{
    struct side sides[2] = {{0}};
    int rc = open_side(before, b, &sides[0], e) < 0 || open_side(now, b, &sides[1], e) < 0
                 ? -1
                 : join_sides(&sides[0], &sides[1], m, b, e);
    stmt_free(sides[0].rows);
    stmt_free(sides[1].rows);
    return rc;
}

static int check_common(const struct before_after *b, struct error *e)
{
    int64_t ended = b->failed_before + b->failed_now + b->not_measured;
    if (b->job_count)
        return 0;
    if (ended)
        return error_set(e, ERROR_NOTHING,
                         "no job has a value of %s in both databases; of %lld jobs in common, %lld are ok only in the "
                         "first and %lld only in the second",
                         b->metric, (long long)ended, (long long)b->failed_now, (long long)b->failed_before);
    return error_set(e, ERROR_NOTHING,
                     "the databases have no job in common (%lld in the first, %lld in the second); jobs are matched by "
                     "key, so use the same sweep file with the same command",
                     (long long)b->before_only, (long long)b->now_only);
}

/* --- all --- */

static int by_group(const void *a, const void *b)
{
    const struct before_after_job *x = a, *y = b;
    return x->group != y->group ? (x->group > y->group) - (x->group < y->group)
                                : (x->now_id > y->now_id) - (x->now_id < y->now_id);
}

static void judge_groups(struct before_after *b, const struct membership *m, double limit)
{
    OWNED struct slowdown_job *runs = xcalloc(b->job_count, sizeof *runs);
    size_t groups = 0;
    if (b->job_count > 0)
        qsort(b->jobs, b->job_count, sizeof *b->jobs, by_group);
    for (size_t i = 0; i < b->job_count; i++) {
        runs[i] = b->jobs[i].runs;
        groups += i == 0 || b->jobs[i].group != b->jobs[i - 1].group;
    }
    for (size_t i = 0, end; i < b->job_count; i = end) {
        const char *value = m->values.count ? m->values.items[b->jobs[i].group] : "";
        for (end = i; end < b->job_count && b->jobs[end].group == b->jobs[i].group; end++)
            continue;
        *array_add(b->groups, b->group_count) =
            (struct before_after_group){value[0] ? xstrdup(value) : NULL,
                                        slowdown_judge(runs + i, end - i, limit, groups)};
    }
}

static int compare(struct db *before, struct db *now, const struct before_after_request *r, struct before_after *b,
                   struct error *e)
{
    struct membership m = {0};
    int rc = read_metric(now, r->metric, b, e) < 0 || check_definition(before, now, b, e) < 0 ||
                     read_membership(now, r->by, &m, e) < 0 || read_jobs(before, now, &m, b, e) < 0
                 ? -1
                 : check_common(b, e);
    if (rc == 0)
        judge_groups(b, &m, r->limit);
    free_all(m.jobs, m.groups);
    string_list_free(&m.values);
    return rc;
}

int before_after_read(struct db *before, struct db *now, const struct before_after_request *request,
                      struct before_after *out, struct error *e)
{
    struct before_after b = {0};
    /* One transaction per database, because runners may be at work. */
    if (db_read_begin(before, e) < 0)
        return -1;
    int rc = db_read_begin(now, e);
    if (rc == 0) {
        rc = compare(before, now, request, &b, e);
        db_read_end(now);
    }
    db_read_end(before);
    if (rc < 0) {
        before_after_free(&b);
        return -1;
    }
    *out = b;
    return 0;
}

void before_after_free(struct before_after *b)
{
    for (size_t i = 0; i < b->group_count; i++)
        free(b->groups[i].value);
    free_all(b->groups, b->jobs, b->metric, b->unit);
    *b = (struct before_after){0};
}
