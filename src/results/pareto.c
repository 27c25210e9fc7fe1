#include "results/pareto.h"

#include <stdlib.h>

#include "results/configurations.h"
#include "results/measured.h"
#include "util/memory.h"

#define OBJECTIVES_SQL                                                                                                 \
    "WITH o (position, metric, maximise) AS (SELECT 0, objective, maximise FROM current_sweep"                         \
    " UNION ALL SELECT position, metric, maximise FROM further_objective"                                              \
    " WHERE sweep_id = (SELECT id FROM current_sweep)) "

#define OK_SQL                                                                                                         \
    " JOIN attempt AS a ON a.id = j.attempt_id WHERE j.sweep_id = (SELECT id FROM current_sweep) AND j.state = 'ok'"   \
    " AND " MEASURED_AS_ASKED("a")

static int read_objectives(struct db *db, struct pareto *out, struct error *e)
{
    struct stmt *s = NULL;
    int rc;
    while ((rc = db_next(db,
                         OBJECTIVES_SQL "SELECT o.metric, coalesce(m.unit, ''), o.maximise FROM o"
                                        " LEFT JOIN metric_definition AS m ON m.name = o.metric ORDER BY o.position",
                         NO_VALUES, &s, e)) > 0) {
        *array_add(out->objectives, out->objective_count) =
            (struct pareto_objective){xstrdup(stmt_text(s, 0)), xstrdup(stmt_text(s, 1)), stmt_int(s, 2) != 0};
    }
    return rc;
}

/* --- values --- */

/* Jobs that differ in nothing but replicate keys are one, with the mean of each objective over those that have all; it
 * goes by the one that is in the middle under the first objective. */
#define SAME_SPEC(spec) "(SELECT same FROM same WHERE id = j." spec "_id)"
#define VALUES_SQL                                                                                                     \
    ", complete AS MATERIALIZED (SELECT j.id, v.value, min(j.id) OVER w AS first, count(*) OVER w AS"                  \
    " replicates, row_number() OVER (w ORDER BY v.value, j.id) AS place FROM job AS j"                                 \
    " JOIN job_metric AS v ON v.job_id = j.id AND v.name = (SELECT metric FROM o WHERE position = 0)" OK_SQL           \
    " AND (SELECT count(m.value) FROM o JOIN job_metric AS m ON m.job_id = j.id AND m.name = o.metric)"                \
    " = (SELECT count(*) FROM o) WINDOW w AS (PARTITION BY " SAME_SPEC("cluster") ", " SAME_SPEC(                      \
        "model") ", " SAME_SPEC("training") ", " SAME_SPEC("parallel") "))"                                            \
                                                                       " SELECT max(iif(c.place = (c.replicates + 1) " \
                                                                       "/ 2, c.id, NULL)), o.position, avg(m.value)"   \
                                                                       " FROM complete AS c CROSS JOIN o JOIN "        \
                                                                       "job_metric AS m ON m.job_id = c.id "           \
                                                                       "AND m.name = o.metric"                         \
                                                                       " GROUP BY c.first, o.position ORDER BY "       \
                                                                       "c.first, o.position"

/* A job's values come one after the other. */
static int read_values(struct db *db, struct pareto *out, struct error *e)
{
    OWNED_STMT *s = NULL;
    struct buffer sql = BUFFER_INIT;
    buffer_add_text(&sql, OBJECTIVES_SQL ", ");
    int rc = configurations_add_same(db, &sql, e);
    buffer_add_text(&sql, VALUES_SQL);
    if (rc == 0)
        rc = db_prepare(db, buffer_text(&sql), &s, e);
    buffer_free(&sql);
    if (rc < 0)
        return -1;
    while ((rc = stmt_next(s, e)) > 0) {
        if (out->count == 0 || out->jobs[out->count - 1].job_id != stmt_int(s, 0)) {
            out->jobs = array_grow(out->jobs, out->count, sizeof *out->jobs);
            out->jobs[out->count++] =
                (struct pareto_job){.job_id = stmt_int(s, 0),
                                    .values = xcalloc(out->objective_count, sizeof *out->jobs->values)};
        }
        out->jobs[out->count - 1].values[stmt_int(s, 1)] = stmt_double(s, 2);
    }
    return rc;
}

static int count_incomplete(struct db *db, struct pareto *out, struct error *e)
{
    int64_t lacking = 0;
    int rc = db_query_int(db,
                          OBJECTIVES_SQL "SELECT count(*) FROM job AS j" OK_SQL
                                         " AND EXISTS (SELECT 1 FROM o LEFT JOIN job_metric AS m ON m.job_id ="
                                         " j.id AND m.name = o.metric WHERE m.value IS NULL)",
                          NO_VALUES, 0, &lacking, e);
    out->incomplete = (size_t)lacking;
    return rc;
}

/* --- who beats whom --- */

/* Negative: `a` is the better one in objective `i`. */
static int compare_value(const struct pareto_objective *o, double a, double b)
{
    int order = (a > b) - (a < b);
    return o->maximise ? -order : order;
}

static int by_objectives(const void *a, const void *b, void *context)
{
    const struct pareto *p = context;
    const struct pareto_job *x = a, *y = b;
    for (size_t i = 0; i < p->objective_count; i++) {
        int order = compare_value(&p->objectives[i], x->values[i], y->values[i]);
        if (order)
            return order;
    }
    return (x->job_id > y->job_id) - (x->job_id < y->job_id);
}

static bool nowhere_worse(const struct pareto *p, const double *a, const double *b)
{
    for (size_t i = 0; i < p->objective_count; i++)
        if (compare_value(&p->objectives[i], a[i], b[i]) > 0)
            return false;
    return true;
}

static bool same_values(const struct pareto *p, const double *a, const double *b)
{
    return nowhere_worse(p, a, b) && nowhere_worse(p, b, a);
}

/* Returns whether one of the `count` kept so far beats the job; else notes its tie. Those that beat a job come before
 * it in the order of by_objectives, and jobs with the same values stand together. */
static bool is_beaten(const struct pareto *p, size_t count, struct pareto_job *job)
{
    if (count && same_values(p, p->jobs[count - 1].values, job->values)) {
        job->tie = p->jobs[count - 1].tie ? p->jobs[count - 1].tie : p->jobs[count - 1].job_id;
        return false;
    }
    for (size_t i = 0; i < count; i++)
        if (nowhere_worse(p, p->jobs[i].values, job->values))
            return true;
    return false;
}

static void keep_unbeaten(struct pareto *p)
{
    size_t kept = 0;
    if (p->count > 1)
        qsort_r(p->jobs, p->count, sizeof *p->jobs, by_objectives, p);
    for (size_t i = 0; i < p->count; i++) {
        if (is_beaten(p, kept, &p->jobs[i]))
            free(p->jobs[i].values);
        else
            p->jobs[kept++] = p->jobs[i];
    }
    p->count = kept;
}

static int read_keys(struct db *db, struct pareto *out, struct error *e)
{
    for (size_t i = 0; i < out->count; i++)
        if (job_keys_read(db, out->jobs[i].job_id, &out->jobs[i].keys, e) < 0)
            return -1;
    return 0;
}

int pareto_read(struct db *db, struct pareto *out, struct error *e)
{
    *out = (struct pareto){0};
    int rc = read_objectives(db, out, e);
    if (rc == 0 && out->objective_count > 1) {
        rc = read_values(db, out, e) < 0 ? -1 : count_incomplete(db, out, e);
        if (rc == 0) {
            keep_unbeaten(out);
            rc = read_keys(db, out, e);
        }
    }
    if (rc < 0)
        pareto_free(out);
    return rc < 0 ? -1 : 0;
}

void pareto_free(struct pareto *p)
{
    for (size_t i = 0; i < p->objective_count; i++)
        free_all(p->objectives[i].metric, p->objectives[i].unit);
    for (size_t i = 0; i < p->count; i++) {
        free(p->jobs[i].values);
        job_keys_free(&p->jobs[i].keys);
    }
    free_all(p->objectives, p->jobs);
    *p = (struct pareto){0};
}
