#include "results/contenders.h"

#include "results/measured.h"
#include "util/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Half the width of the 95 % interval of a mean; NaN for fewer than two. */
static double half_width_of(double stddev, int64_t count)
{
    /* The 97.5 % quantile of t with 1, 2, … degrees of freedom. */
    static const double quantiles[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
                                       2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
                                       2.080,  2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042};
    static const int64_t listed = sizeof quantiles / sizeof *quantiles;
    if (count < 2)
        return NAN;
    int64_t freedom = count - 1;
    double t = freedom <= listed ? quantiles[freedom - 1] : 1.960 + 2.4 / (double)freedom;
    return t * stddev / sqrt((double)count);
}

struct contender {
    int64_t job_id;
    double value, half_width; /* NaN: no interval */
};

enum { COLUMN_JOB, COLUMN_VALUE, COLUMN_STDDEV, COLUMN_SAMPLES, COLUMN_ATTEMPTS, COLUMN_SQUARES, COLUMN_TAKE };

#define CONTENDER_COLUMNS                                                                                              \
    "SELECT j.id, m.value, m.stddev, m.count, count(v.value), sum((v.value - m.value) * (v.value - m.value)),"         \
    " coalesce((SELECT take FROM metric_definition WHERE name = ?1), 'median')"

#define AS_ASKED MEASURED_AS_ASKED("a")
#define OTHER_AS_ASKED MEASURED_AS_ASKED("o")

#define ATTEMPTS_OF_CONTENDER                                                                                          \
    " LEFT JOIN attempt AS o ON o.job_id = j.id AND o.state = 'ok' AND o.kind = 'trial' AND " OTHER_AS_ASKED           \
    " LEFT JOIN summary AS v ON v.attempt_id = o.id AND v.name = ?1 AND v.value IS NOT NULL"

#define CONTENDERS_SQL(order)                                                                                          \
    CONTENDER_COLUMNS                                                                                                  \
    " FROM summary AS m CROSS JOIN attempt AS a ON a.id = m.attempt_id"                                                \
    " CROSS JOIN job AS j ON j.id = a.job_id AND j.attempt_id = a.id" ATTEMPTS_OF_CONTENDER                            \
    " WHERE m.name = ?1 AND m.value IS NOT NULL AND j.state = 'ok' AND " AS_ASKED                                      \
    " AND j.sweep_id = (SELECT id FROM current_sweep) GROUP BY j.id ORDER BY " order ", j.id"

static const char contender_sql[] = CONTENDER_COLUMNS
    " FROM job AS j JOIN summary AS m ON m.attempt_id = j.attempt_id AND m.name = ?1" ATTEMPTS_OF_CONTENDER
    " WHERE j.id = ?2 GROUP BY j.id";

static struct contender read_contender(const struct stmt *s)
{
    struct contender c = {stmt_int(s, COLUMN_JOB), stmt_double(s, COLUMN_VALUE), NAN};
    const char *take = stmt_text(s, COLUMN_TAKE);
    int64_t attempts = stmt_int(s, COLUMN_ATTEMPTS);
    bool median = strcmp(take, "median") == 0;
    if (attempts > 1)
        c.half_width = half_width_of(sqrt(stmt_double(s, COLUMN_SQUARES) / (double)(attempts - 1)), attempts);
    else if ((median || strcmp(take, "mean") == 0) && !stmt_is_null(s, COLUMN_STDDEV))
        c.half_width =
            half_width_of(stmt_double(s, COLUMN_STDDEV), stmt_int(s, COLUMN_SAMPLES)) * (median ? sqrt(M_PI / 2) : 1);
    return c;
}

static bool contends(const struct contender *winner, const struct contender *c)
{
    double distance = fabs(c->value - winner->value), reach = winner->half_width + c->half_width;
    return distance <= (isnan(reach) ? BEST_TOLERANCE * fabs(winner->value) : reach);
}

static int open_contenders(struct db *db, const struct best *b, struct stmt **out, struct error *e)
{
    static const char *const sql[] = {CONTENDERS_SQL("m.value"), CONTENDERS_SQL("m.value DESC")};
    return db_query(db, sql[b->maximise], VALUES(sql_text(b->objective)), out, e);
}

/* The winner is among the first, but of equal ones it need not be the very first. */
static int find_winner(struct db *db, const struct best *b, struct contender *out, struct error *e)
{
    struct stmt *s = NULL;
    int rc = open_contenders(db, b, &s, e);
    *out = (struct contender){b->jobs[0].job_id, b->jobs[0].value, NAN};
    while (rc == 0 && (rc = stmt_next(s, e)) > 0) {
        rc = 0;
        if (stmt_int(s, COLUMN_JOB) != out->job_id)
            continue;
        *out = read_contender(s);
        break;
    }
    stmt_free(s);
    return rc;
}

int contenders_read(struct db *db, const struct best *b, int64_t ids[BEST_LISTED], size_t *count, struct error *e)
{
    struct contender winner;
    struct stmt *s = NULL;
    *count = 0;
    if (b->count == 0)
        return 0;
    if (find_winner(db, b, &winner, e) < 0 || open_contenders(db, b, &s, e) < 0)
        return -1;
    ids[(*count)++] = winner.job_id;
    int rc = 0;
    while (*count < BEST_LISTED && (rc = stmt_next(s, e)) > 0) {
        const struct contender c = read_contender(s);
        if (c.job_id != winner.job_id && contends(&winner, &c))
            ids[(*count)++] = c.job_id;
    }
    stmt_free(s);
    return rc < 0 ? -1 : 0;
}

static void note_second(const struct contender *winner, const struct contender *c, struct lead *out)
{
    double half_width = hypot(winner->half_width, c->half_width), size = fabs(c->value);
    double distance = fabs(winner->value - c->value);
    out->second = c->job_id;
    out->ahead = distance / size;
    out->low = (distance - half_width) / size;
    out->high = (distance + half_width) / size;
}

static void note_alike(const struct contender *winner, const struct contender *c, struct lead *out)
{
    double reach = hypot(winner->half_width, c->half_width);
    if (isnan(reach) || fabs(winner->value - c->value) > reach)
        return;
    if (out->alike_count < BEST_LISTED)
        out->alike[out->alike_count] = c->job_id;
    out->alike_count++;
}

static int read_winners(struct db *db, const struct competition *c, struct contender *out, struct error *e)
{
    struct stmt *s = NULL;
    int rc = db_prepare(db, contender_sql, &s, e);
    for (size_t i = 0; rc == 0 && i < c->winner_count; i++) {
        out[i] = (struct contender){c->winners[i], NAN, NAN};
        stmt_reset(s);
        stmt_bind(s, VALUES(sql_text(c->objective), sql_int(c->winners[i])));
        int next = stmt_next(s, e);
        if (next > 0)
            out[i] = read_contender(s);
        rc = next < 0 ? -1 : 0;
    }
    stmt_free(s);
    return rc;
}

static int by_job(const void *a, const void *b)
{
    int64_t x = ((const struct competitor *)a)->job, y = ((const struct competitor *)b)->job;
    return (x > y) - (x < y);
}

/* The group in which a job competes; -1: in none. */
static long group_of(const struct competition *c, int64_t job)
{
    const struct competitor key = {.job = job}, *found;
    if (!c->competitors)
        return 0;
    found = bsearch(&key, c->competitors, c->competitor_count, sizeof key, by_job);
    return found ? (long)found->group : -1;
}

static int read_others(struct db *db, const struct competition *c, const struct contender *winners, struct lead *out,
                       struct error *e)
{
    const struct best b = {.objective = (char *)c->objective, .maximise = c->maximise};
    struct stmt *s = NULL;
    int rc;
    if (open_contenders(db, &b, &s, e) < 0)
        return -1;
    while ((rc = stmt_next(s, e)) > 0) {
        const struct contender other = read_contender(s);
        const long group = group_of(c, other.job_id);
        if (group < 0 || other.job_id == winners[group].job_id)
            continue;
        if (out[group].second == 0)
            note_second(&winners[group], &other, &out[group]);
        note_alike(&winners[group], &other, &out[group]);
    }
    stmt_free(s);
    return rc;
}

int leads_read(struct db *db, const struct competition *c, struct lead *out, struct error *e)
{
    struct contender *winners = xcalloc(c->winner_count, sizeof *winners);
    for (size_t i = 0; i < c->winner_count; i++)
        out[i] = (struct lead){.ahead = NAN, .low = NAN, .high = NAN};
    int rc = read_winners(db, c, winners, e) < 0 ? -1 : read_others(db, c, winners, out, e);
    free(winners);
    return rc;
}
