#include "compare/before_after.h"

#include <math.h>
#include <string.h>

#include "compare/comparison.h"
#include "compare/slowdown.h"
#include "results/query.h"
#include "util/embedded.h"
#include "util/memory.h"
#include "util/string_list.h"

#define KEY_BYTES 16

/* --- what is compared --- */

static int read_metric(struct db *now, const char *metric, struct compared_metric *out, struct error *e)
{
    if (compared_metric_read(now, "the second database", metric, out, e) < 0)
        return -1;
    return out->has_direction
               ? 0
               : error_set(e, ERROR_USAGE,
                           "--metric %s: its direction is not known; set better = \"min\" or \"max\" under "
                           "[%smetrics.%s]",
                           metric, out->is_derived ? "" : "job.", metric);
}

/* Both statements have a row. */
static int check_part(const struct stmt *before, const struct stmt *now, const char *metric, struct error *e)
{
    const char *was = stmt_is_null(before, 1) ? "" : stmt_text(before, 1),
               *is = stmt_is_null(now, 1) ? "" : stmt_text(now, 1);
    if (strcmp(was, is) == 0)
        return 0;
    return error_set(e, ERROR_USAGE,
                     "%s: its %s was \"%s\" and is now \"%s\", so the databases cannot be compared; run the newer "
                     "sweep file on the earlier one, which makes its numbers anew",
                     metric, stmt_text(now, 0), was, is);
}

static int check_definition(struct db *before, struct db *now, const char *metric, struct error *e)
{
    OWNED_STMT *was = NULL, *is = NULL;
    const char *parts = embedded_text("src/compare/definition_parts.sql");
    int rc = db_query(before, parts, VALUES(sql_text(metric)), &was, e);
    if (rc == 0)
        rc = db_query(now, parts, VALUES(sql_text(metric)), &is, e);
    while (rc == 0 && stmt_next(was, e) > 0 && stmt_next(is, e) > 0)
        rc = check_part(was, is, metric, e);
    return rc;
}

/* --- the groups --- */

static int place_groups(struct db *out, struct error *e)
{
    OWNED_LIST values = STRING_LIST_INIT;
    int rc = db_query_texts(out, "SELECT DISTINCT value FROM member", NO_VALUES, &values, e);
    string_list_sort_values(&values);
    for (size_t i = 0; rc == 0 && i < values.count; i++)
        rc = db_run(out, "INSERT INTO group_place (value) VALUES (?)", VALUES(sql_text(values.items[i])), e);
    return rc;
}

static int read_members(struct db *now, const char *by, struct db *out, struct error *e)
{
    if (!by)
        return 0;
    OWNED_STMT *s = NULL;
    OWNED char *columns = xasprintf("job,%s", by);
    const struct result_query q = {.columns = columns, .columns_option = "--by"};
    int rc = result_query_open(now, &q, &s, e);
    if (rc == 0 && stmt_column_count(s) != 2)
        rc = error_set(e, ERROR_USAGE, "--by %s: give one key", by);
    while (rc == 0 && (rc = stmt_next(s, e)) > 0)
        rc = db_run(out, "INSERT INTO member VALUES (?, ?, ?)",
                    VALUES(sql_int(stmt_int(s, 0)), sql_text(stmt_is_null(s, 1) ? "" : stmt_text(s, 1)),
                           sql_int(stmt_type(s, 1) == COLUMN_TEXT)),
                    e);
    if (rc == 0)
        rc = db_exec(out,
                     "UPDATE member SET value = json_quote(value) WHERE is_text"
                     " AND value IN (SELECT value FROM member WHERE NOT is_text)",
                     e);
    return rc < 0 ? -1 : place_groups(out, e);
}

/* --- the jobs --- */

/* Adds the job whose first row `s` is at, and goes to the next job's. A row per successful attempt. */
static int add_side(struct stmt *s, const struct compared_metric *m, bool is_now, struct db *out, struct error *e)
{
    unsigned char key[KEY_BYTES];
    struct slowdown_runs runs = {0};
    const int64_t id = stmt_int(s, 1), ok = stmt_int(s, 2), breaches = stmt_int(s, 4);
    int rc = 1;
    memcpy(key, stmt_hash(s, 0), KEY_BYTES);
    for (; rc > 0 && memcmp(key, stmt_hash(s, 0), KEY_BYTES) == 0; rc = stmt_next(s, e)) {
        double value = stmt_double_or_nan(s, 3), cost = m->maximise ? 1 / value : value;
        if (ok && cost > 0 && isfinite(cost))
            slowdown_add_run(&runs, cost);
    }
    if (rc >= 0 && db_run(out, "INSERT INTO side VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                          VALUES(sql_blob(key, KEY_BYTES), sql_int(is_now), sql_int(id), sql_int(ok), sql_int(breaches),
                                 sql_int((int64_t)runs.count), sql_real(runs.mean), sql_real(runs.squares)),
                          e) < 0)
        return -1;
    return rc;
}

static int read_side(struct db *db, const struct compared_metric *m, bool is_now, struct db *out, struct error *e)
{
    OWNED_STMT *s = NULL;
    int rc = db_query(db, embedded_text("src/compare/counted_values.sql"), VALUES(sql_text(m->name)), &s, e) < 0
                 ? -1
                 : stmt_next(s, e);
    while (rc > 0)
        rc = add_side(s, m, is_now, out, e);
    return rc;
}

static int check_common(struct db *out, struct error *e)
{
    OWNED char *why = NULL;
    if (db_query_text(out, "SELECT why FROM nothing_common", NO_VALUES, &why, e) < 0)
        return -1;
    return why ? error_set(e, ERROR_NOTHING, "%s", why) : 0;
}

/* --- all --- */

static int add_judged(struct db *out, const struct stmt *s, const struct slowdown *x, struct error *e)
{
    static const char *const names[] =
        {[SLOWDOWN_NONE] = "not slower", [SLOWDOWN_FOUND] = "slower", [SLOWDOWN_UNKNOWN] = "too few repeats"};
    return db_run(out, "INSERT INTO judged VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                  VALUES(sql_int(stmt_int(s, 0)), sql_text(stmt_is_null(s, 1) ? NULL : stmt_text(s, 1)),
                         sql_int((int64_t)x->jobs), sql_real(x->ratio), sql_finite(x->least), sql_finite(x->most),
                         sql_real(x->repeats), sql_text(names[x->verdict]), sql_positive(x->repeats_wanted)),
                  e);
}

static struct slowdown_runs runs_at(const struct stmt *s, int column)
{
    return (struct slowdown_runs){(size_t)stmt_int(s, column), stmt_double(s, column + 1), stmt_double(s, column + 2)};
}

static int judge_groups(struct db *out, double limit, struct error *e)
{
    static const char sql[] =
        "SELECT place, nullif(value, ''), lead(place) OVER (ORDER BY place, job), runs_before, mean_before,"
        " squares_before, runs, mean, squares FROM measured ORDER BY place, job";
    OWNED struct slowdown_job *jobs = NULL;
    OWNED_STMT *s = NULL;
    size_t count = 0;
    int64_t groups;
    int rc = db_query_int(out, "SELECT count(DISTINCT place) FROM measured", NO_VALUES, 0, &groups, e);
    if (rc == 0)
        rc = db_query(out, sql, NO_VALUES, &s, e);
    while (rc == 0 && (rc = stmt_next(s, e)) > 0) {
        rc = 0;
        *array_add(jobs, count) = (struct slowdown_job){runs_at(s, 3), runs_at(s, 6)};
        if (!stmt_is_null(s, 2) && stmt_int(s, 2) == stmt_int(s, 0))
            continue;
        const struct slowdown judged = slowdown_judge(jobs, count, limit, (size_t)groups);
        rc = add_judged(out, s, &judged, e);
        count = 0;
    }
    return rc;
}

static int add_change(const struct before_after_request *r, const struct compared_metric *m, struct db *out,
                      struct error *e)
{
    return db_run(out, "INSERT INTO change VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                  VALUES(sql_text(m->name), sql_text(m->unit), sql_int(m->maximise), sql_text(r->by),
                         sql_text(r->before), sql_text(r->now), sql_real(r->limit), sql_int(r->decides),
                         sql_real(SLOWDOWN_FALSE_ALARMS), sql_real(SLOWDOWN_MISSED)),
                  e);
}

static int compare_databases(struct db *before, struct db *now, const struct before_after_request *r, struct db *out,
                             struct error *e)
{
    struct compared_metric m = {0};
    int rc = read_metric(now, r->metric, &m, e) < 0 || check_definition(before, now, m.name, e) < 0 ||
                     read_members(now, r->by, out, e) < 0 || read_side(before, &m, false, out, e) < 0 ||
                     read_side(now, &m, true, out, e) < 0 || add_change(r, &m, out, e) < 0 || check_common(out, e) < 0
                 ? -1
                 : judge_groups(out, r->limit, e);
    free_all(m.name, m.unit);
    return rc;
}

int before_after_read(struct db *before, struct db *now, const struct before_after_request *request, struct db *out,
                      struct error *e)
{
    /* One transaction per database, because runners may be at work. */
    if (db_read_begin(before, e) < 0)
        return -1;
    int rc = db_read_begin(now, e);
    if (rc == 0) {
        rc = compare_databases(before, now, request, out, e);
        db_read_end(now);
    }
    db_read_end(before);
    return rc;
}
