#include "results/pareto.h"

#include <math.h>
#include <stdlib.h>

#include "results/configurations.h"
#include "results/json.h"
#include "results/measured.h"
#include "util/memory.h"
#include "util/string_list.h"

#define OBJECTIVES_SQL                                                                                                 \
    "WITH o (position, metric, sign) AS (SELECT 0, objective, iif(maximise, -1.0, 1.0) FROM current_sweep"             \
    " UNION ALL SELECT position, metric, iif(maximise, -1.0, 1.0) FROM further_objective"                              \
    " WHERE sweep_id = (SELECT id FROM current_sweep)) "

/* Jobs that differ in nothing but replicate keys are one, with the mean of each objective over those that have all; it
 * goes by the one that is in the middle under the first objective. */
#define SAME_SPEC(spec) "(SELECT same FROM same WHERE id = j." spec "_id)"
#define VALUES_SQL                                                                                                     \
    ", complete AS MATERIALIZED (SELECT j.id, v.value, min(j.id) OVER w AS first, count(*) OVER w AS"                  \
    " replicates, row_number() OVER (w ORDER BY v.value, j.id) AS place FROM job AS j"                                 \
    " JOIN job_metric AS v ON v.job_id = j.id AND v.name = (SELECT metric FROM o WHERE position = 0)"                  \
    " JOIN attempt AS a ON a.id = j.attempt_id WHERE j.sweep_id = (SELECT id FROM current_sweep) AND j.state = 'ok'"   \
    " AND " MEASURED_AS_ASKED("a") " AND (SELECT count(m.value) FROM o JOIN job_metric AS m ON m.job_id = j.id"        \
                                   " AND m.name = o.metric) = (SELECT count(*) FROM o) WINDOW w AS (PARTITION "        \
                                   "BY " SAME_SPEC("cluster") ", " SAME_SPEC("model") ", " SAME_SPEC(                  \
                                       "training") ", " SAME_SPEC("parallel") "))"                                     \
                                                                              " SELECT max(iif(c.place = "             \
                                                                              "(c.replicates + 1) / 2, c.id, NULL)), " \
                                                                              "o.sign * avg(m.value)"                  \
                                                                              " FROM complete AS c CROSS JOIN o JOIN " \
                                                                              "job_metric AS m ON m.job_id = c.id "    \
                                                                              "AND m.name = o.metric"                  \
                                                                              " GROUP BY c.first, o.position ORDER "   \
                                                                              "BY c.first, o.position"

/* Rows of the values of a job, each the better the lower, and its number. */
struct points {
    struct string_list names;
    bool *negated;
    double *rows;
    size_t count, width;
};

static int by_values(const void *a, const void *b, void *context)
{
    const struct points *p = context;
    const double *x = a, *y = b;
    size_t i = 0;
    while (i + 1 < p->width && x[i] == y[i])
        i++;
    return (x[i] > y[i]) - (x[i] < y[i]);
}

static bool nowhere_worse(const struct points *p, const double *a, const double *b)
{
    for (size_t i = 0; i + 1 < p->width; i++)
        if (a[i] > b[i])
            return false;
    return true;
}

static cJSON *point_json(const struct points *p, const double *row, double tie)
{
    cJSON *point = cJSON_CreateObject(), *values;
    cJSON_AddNumberToObject(point, "job", row[p->width - 1]);
    json_add_real(point, "tie", tie);
    values = cJSON_AddObjectToObject(point, "values");
    for (size_t i = 0; i + 1 < p->width; i++)
        json_add_real(values, p->names.items[i], p->negated[i] ? -row[i] : row[i]);
    return point;
}

/* Those that beat a job come before it, and jobs with the same values stand together. */
static cJSON *unbeaten_json(const struct points *p)
{
    cJSON *list = cJSON_CreateArray();
    OWNED const double **kept = xcalloc(p->count + 1, sizeof *kept);
    size_t count = 0;
    double tie = NAN;
    for (const double *row = p->rows; row < p->rows + p->count * p->width; row += p->width) {
        size_t i = 0;
        const bool same = count && nowhere_worse(p, row, kept[count - 1]) && nowhere_worse(p, kept[count - 1], row);
        while (!same && i < count && !nowhere_worse(p, kept[i], row))
            i++;
        if (!same && i < count)
            continue;
        tie = !same ? (double)NAN : isnan(tie) ? kept[count - 1][p->width - 1] : tie;
        kept[count++] = row;
        cJSON_AddItemToArray(list, point_json(p, row, tie));
    }
    return list;
}

/* A job's values come one after the other. */
static int read_values(struct db *db, struct points *p, struct error *e)
{
    OWNED_STMT *s = NULL;
    OWNED_BUFFER sql = BUFFER_INIT;
    size_t column = 0;
    buffer_add_text(&sql, OBJECTIVES_SQL ", ");
    int rc = configurations_add_same(db, &sql, e);
    buffer_add_text(&sql, VALUES_SQL);
    if (rc == 0)
        rc = db_prepare(db, buffer_text(&sql), &s, e);
    while (rc == 0 && (rc = stmt_next(s, e)) > 0) {
        if (column == 0) {
            p->rows = array_grow(p->rows, p->count, p->width * sizeof *p->rows);
            p->rows[++p->count * p->width - 1] = stmt_double(s, 0);
        }
        p->rows[(p->count - 1) * p->width + column] = stmt_double(s, 1);
        column = column + 2 < p->width ? column + 1 : 0;
        rc = 0;
    }
    return rc;
}

static int read_objectives(struct db *db, struct points *p, struct error *e)
{
    OWNED_STMT *s = NULL;
    int rc = db_query(db, OBJECTIVES_SQL "SELECT metric, sign FROM o ORDER BY position", NO_VALUES, &s, e);
    while (rc == 0 && (rc = stmt_next(s, e)) > 0) {
        p->negated = array_grow(p->negated, p->names.count, sizeof *p->negated);
        p->negated[p->names.count] = stmt_double(s, 1) < 0;
        string_list_add(&p->names, xstrdup(stmt_text(s, 0)));
        rc = 0;
    }
    p->width = p->names.count + 1;
    return rc;
}

int pareto_read(struct db *db, cJSON **out, struct error *e)
{
    struct points p = {.names = STRING_LIST_INIT};
    int rc = read_objectives(db, &p, e);
    *out = NULL;
    if (rc == 0 && p.names.count > 1 && (rc = read_values(db, &p, e)) == 0) {
        if (p.count > 1)
            qsort_r(p.rows, p.count, p.width * sizeof *p.rows, by_values, &p);
        *out = unbeaten_json(&p);
    }
    string_list_free(&p.names);
    free_all(p.negated, p.rows);
    return rc;
}
