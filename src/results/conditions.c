#include "results/conditions.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "results/measured.h"
#include "util/memory.h"

#define OK_JOBS                                                                                                        \
    " FROM job AS j JOIN attempt AS a ON a.id = j.attempt_id JOIN breach AS b ON b.attempt_id = a.id"                  \
    " LEFT JOIN job_metric AS m ON m.job_id = j.id AND m.name = ?1"                                                    \
    " WHERE j.state = 'ok' AND j.sweep_id = (SELECT id FROM current_sweep) AND " MEASURED_TO_ITS_END("a")

static int read_texts(struct db *db, struct conditions *out, struct error *e)
{
    struct stmt *s = NULL;
    int rc;
    if (db_prepare(db, "SELECT condition FROM subject_to ORDER BY position", &s, e) < 0)
        return -1;
    while ((rc = stmt_next(s, e)) > 0) {
        out->items = array_grow(out->items, out->count, sizeof *out->items);
        out->items[out->count++] = (struct win_condition){.text = stmt_copy_text(s, 0)};
    }
    stmt_free(s);
    return rc;
}

static struct kept_out read_job(const struct stmt *s)
{
    return (struct kept_out){stmt_int(s, 1),           stmt_double_or_nan(s, 2), stmt_double_or_nan(s, 3),
                             stmt_double_or_nan(s, 4), stmt_double_or_nan(s, 5), stmt_copy_text(s, 6)};
}

#define BINDING(order, better)                                                                                         \
    "SELECT b.position, j.id, m.value, b.value, b.bound, b.excess, b.note, m.value " better " ?2" OK_JOBS              \
    " ORDER BY m.value " order ", j.id, b.position"

/* The jobs that do not meet something, the best first. */
static int read_binding(struct db *db, const struct conditions_request *request, struct conditions *out,
                        struct error *e)
{
    static const char *const sql[] = {BINDING("", "<"), BINDING("DESC", ">")};
    struct stmt *s = NULL;
    int rc;
    if (db_query(db, sql[request->maximise], VALUES(sql_text(request->objective), sql_real(request->winner)), &s, e) <
        0)
        return -1;
    while ((rc = stmt_next(s, e)) > 0) {
        if (stmt_int(s, 0) >= (int64_t)out->count)
            continue;
        struct win_condition *c = &out->items[stmt_int(s, 0)];
        c->broken++;
        if (stmt_is_null(s, 7) || stmt_int(s, 7) == 0)
            continue;
        if (c->better++ == 0)
            c->first = read_job(s);
    }
    stmt_free(s);
    return rc;
}

/* What is missed by an unknown share is farther than what is known. Where a job meets all and none wins nevertheless,
 * it is for want of an objective. */
static int read_nearest(struct db *db, const struct conditions_request *request, struct conditions *out,
                        struct error *e)
{
    struct stmt *s = NULL;
    if (db_query(db,
                 "SELECT b.position, j.id, m.value, b.value, b.bound, b.excess, b.note, max(coalesce(b.excess, 9e99))"
                 " AS worst" OK_JOBS " AND NOT EXISTS (SELECT 1 FROM job AS good JOIN attempt AS o"
                 " ON o.id = good.attempt_id WHERE good.state = 'ok' AND good.sweep_id = (SELECT id FROM "
                 "current_sweep) "
                 "AND " MEASURED_AS_ASKED("o") ") GROUP BY j.id ORDER BY worst, j.id LIMIT 1",
                 VALUES(sql_text(request->objective)), &s, e) < 0)
        return -1;
    int rc = stmt_next(s, e);
    if (rc > 0 && stmt_int(s, 0) < (int64_t)out->count) {
        out->none_meets = true;
        out->missed = (size_t)stmt_int(s, 0);
        out->nearest = read_job(s);
    }
    stmt_free(s);
    return rc < 0 ? -1 : 0;
}

/* Along the index of values, where those without one come first. */
static int read_unranked(struct db *db, const struct conditions_request *request, struct conditions *out,
                         struct error *e)
{
    struct stmt *s = NULL;
    if (db_query(db,
                 "SELECT sum(count(*)) OVER (), m.note FROM job_metric AS m CROSS JOIN job AS j ON j.id = m.job_id"
                 " WHERE m.name = ?1 AND m.value IS NULL AND m.note IS NOT NULL AND j.state = 'ok'"
                 " AND j.sweep_id = (SELECT id FROM current_sweep) GROUP BY m.note ORDER BY count(*) DESC, m.note"
                 " LIMIT 1",
                 VALUES(sql_text(request->objective)), &s, e) < 0)
        return -1;
    int rc = stmt_next(s, e);
    if (rc > 0) {
        out->unranked = stmt_int(s, 0);
        out->why_unranked = stmt_copy_text(s, 1);
    }
    stmt_free(s);
    return rc < 0 ? -1 : 0;
}

int conditions_read(struct db *db, const struct conditions_request *request, struct conditions *out, struct error *e)
{
    struct conditions c = {0};
    int rc = read_texts(db, &c, e);
    if (rc == 0 && c.count > 0)
        rc = read_binding(db, request, &c, e);
    if (rc == 0 && c.count > 0 && isnan(request->winner))
        rc = read_nearest(db, request, &c, e);
    if (rc == 0)
        rc = read_unranked(db, request, &c, e);
    if (rc == 0)
        *out = c;
    else
        conditions_free(&c);
    return rc;
}

void conditions_free(struct conditions *c)
{
    for (size_t i = 0; i < c->count; i++) {
        free(c->items[i].text);
        free(c->items[i].first.note);
    }
    free(c->items);
    free(c->nearest.note);
    free(c->why_unranked);
    *c = (struct conditions){0};
}

/* 9,800: to two digits, with a comma every three. */
static void add_times(double times, struct buffer *out)
{
    double digit = pow(10, floor(log10(times)) - 1);
    char text[400];
    snprintf(text, sizeof text, "%.*f", digit < 1 ? 1 : 0, digit * round(times / digit));
    const size_t whole = strcspn(text, ".");
    for (size_t i = 0; text[i]; i++)
        buffer_printf(out, "%s%c", i > 0 && i < whole && (whole - i) % 3 == 0 ? "," : "", text[i]);
}

/* By a share where it is missed by less than as much again, else in times. */
static void add_excess(const struct kept_out *job, struct buffer *out)
{
    const bool is_over = job->value > job->bound;
    if (isnan(job->excess))
        return;
    if (job->excess < 1) {
        buffer_printf(out, job->excess < 0.1 ? " by %.2g %%" : " by %.0f %%", 100 * job->excess);
        return;
    }
    buffer_add_text(out, is_over ? ": " : ": the bound is ");
    add_times(1 + job->excess, out);
    buffer_add_text(out, is_over ? " times the bound" : " times as much");
}

void conditions_add_miss(const struct win_condition *c, const struct kept_out *job, struct buffer *out)
{
    buffer_add_text(out, c->text);
    if (job->note) {
        buffer_printf(out, " unknown: %s", job->note);
        return;
    }
    buffer_add_text(out, " is missed");
    add_excess(job, out);
    if (!isnan(job->value) && !isnan(job->bound))
        buffer_printf(out, " (%.6g, the bound is %.6g)", job->value, job->bound);
}

void conditions_add_unranked(const struct conditions *c, struct buffer *out)
{
    if (c->unranked == 0)
        return;
    buffer_add_text(out, "not compared: ");
    buffer_add_count(out, c->unranked, "ok job");
    buffer_printf(out, " without a number: %s\n", c->why_unranked);
}
