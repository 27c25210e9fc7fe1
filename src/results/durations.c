#include "results/durations.h"

#include <math.h>

#include "store/retry.h"

#define LITERAL_(x) #x
#define LITERAL(x) LITERAL_(x)
#define MOST LITERAL(DURATIONS_MOST)

/* Absent specs are 0, so that joins may use an index. */
#define SPECS "coalesce(j.cluster_id, 0) AS c, coalesce(j.model_id, 0) AS m, coalesce(j.training_id, 0) AS t"

#define MEANS                                                                                                          \
    "WITH RECURSIVE ended AS MATERIALIZED (SELECT " SPECS ", a.duration_ms AS ms FROM (SELECT job_id, duration_ms"     \
    "  FROM attempt NOT INDEXED WHERE duration_ms IS NOT NULL AND unwatched_ms IS NULL AND kind = 'trial'"             \
    "  AND failure IS NOT 'cancelled' AND failure IS NOT 'lost' ORDER BY id DESC LIMIT " MOST ") AS a"                 \
    "  CROSS JOIN job AS j ON j.id = a.job_id),"                                                                       \
    " near AS MATERIALIZED (SELECT c, m, t, avg(ms) AS ms FROM ended GROUP BY c, m, t),"                               \
    " far AS MATERIALIZED (SELECT c, m, avg(ms) AS ms FROM ended GROUP BY c, m),"                                      \
    " overall AS MATERIALIZED (SELECT avg(ms) AS ms FROM ended)"

#define EXPECTED "coalesce(near.ms, far.ms, overall.ms)"

#define JOIN_MEANS(jobs)                                                                                               \
    " FROM " jobs " AS w CROSS JOIN overall LEFT JOIN near ON near.c = w.c AND near.m = w.m AND near.t = w.t"          \
    " LEFT JOIN far ON far.c = w.c AND far.m = w.m"

#define WAITS "j.sweep_id = ?1 AND " JOB_MAY_RUN("j.")

#define WAITING_MEAN                                                                                                   \
    " waiting AS MATERIALIZED (SELECT c, m, t, count(*) AS jobs FROM picked GROUP BY c, m, t)"                         \
    " SELECT sum(w.jobs * " EXPECTED ") / sum(w.jobs)" JOIN_MEANS("waiting")

static const char mean_of_all[] = MEANS ", picked AS (SELECT " SPECS " FROM job AS j WHERE " WAITS ")," WAITING_MEAN;

/* Ids at even distances: reading a million jobs would take a second. NOT INDEXED, or SQLite prefers to sort a covering
 * index to reading the table from its end; a condition on both sides, or it makes a Bloom filter of the whole table. */
static const char mean_of_some[] = MEANS
    ", step (of, last) AS MATERIALIZED (SELECT 1 + id / " MOST ", id FROM job NOT INDEXED ORDER BY id DESC LIMIT 1),"
    " place (id) AS (SELECT 1 UNION ALL SELECT id + step.of FROM place, step WHERE id < step.last),"
    " picked AS (SELECT " SPECS " FROM place CROSS JOIN job AS j ON j.id = place.id"
    "  WHERE iif(place.id, " WAITS ", 0))," WAITING_MEAN;

static const char of_running[] =
    MEANS ", running AS (SELECT j.id, " SPECS " FROM attempt AS a CROSS JOIN job AS j ON j.id = a.job_id"
          " WHERE a.state IN ('claimed', 'running') AND a.state = 'running' AND a.kind = 'trial')"
          " SELECT w.id, " EXPECTED JOIN_MEANS("running") " WHERE overall.ms IS NOT NULL";

int durations_of_waiting(struct db *db, int64_t sweep_id, int64_t waiting, double *mean_ms, struct error *e)
{
    struct stmt *s = NULL;
    if (db_query(db, waiting > DURATIONS_MOST ? mean_of_some : mean_of_all, VALUES(sql_int(sweep_id)), &s, e) < 0)
        return -1;
    int rc = stmt_next(s, e);
    *mean_ms = rc > 0 && !stmt_is_null(s, 0) ? stmt_double(s, 0) : (double)NAN;
    stmt_free(s);
    return rc < 0 ? -1 : 0;
}

int durations_of_running(struct db *db, void (*each)(void *context, int64_t job_id, double ms), void *context,
                         struct error *e)
{
    struct stmt *s = NULL;
    int rc;
    if (db_prepare(db, of_running, &s, e) < 0)
        return -1;
    while ((rc = stmt_next(s, e)) > 0)
        each(context, stmt_int(s, 0), stmt_double(s, 1));
    stmt_free(s);
    return rc;
}
