#include "results/contenders.h"

#include "results/configurations.h"
#include "results/measured.h"
#include "util/memory.h"
#include "util/quantile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define OF_MEDIAN sqrt(M_PI / 2) /* its standard error as a multiple of the mean's; of two values they are one */

struct contender {
    int64_t job_id;
    double value;
    struct standard_error error;
    bool ran_once; /* the error is that of its samples */
};

enum { COLUMN_JOB, COLUMN_VALUE, COLUMN_STDDEV, COLUMN_SAMPLES, COLUMN_ATTEMPTS, COLUMN_SQUARES, COLUMN_TAKE };

#define AS_ASKED MEASURED_AS_ASKED("a")
#define OTHER_AS_ASKED MEASURED_AS_ASKED("o")

/* Most jobs have one attempt, which then is known: asking for all of a million jobs takes longer than the rest. */
#define OF_ATTEMPTS(of_one, of_all)                                                                                    \
    " iif(m.attempts = 1 AND s.value IS NOT NULL, " of_one ", (SELECT " of_all " FROM counted_attempt AS k"            \
    " JOIN attempt AS o ON o.id = k.id AND " OTHER_AS_ASKED                                                            \
    " JOIN summary AS v ON v.attempt_id = o.id AND v.name = ?1 AND v.value IS NOT NULL WHERE k.job_id = j.id))"

#define CONTENDER_COLUMNS                                                                                              \
    "SELECT j.id, m.value, s.stddev, s.count," OF_ATTEMPTS("1", "count(*)") "," OF_ATTEMPTS(                           \
        "0", "sum((v.value - m.value) * (v.value - m.value))") ","                                                     \
                                                               " coalesce((SELECT take FROM metric_definition WHERE "  \
                                                               "name = ?1), 'median')"

#define CONTENDERS_SQL(tables, order)                                                                                  \
    CONTENDER_COLUMNS                                                                                                  \
    " FROM " tables " CROSS JOIN attempt AS a ON a.id = j.attempt_id"                                                  \
    " LEFT JOIN summary AS s ON s.attempt_id = j.attempt_id AND s.name = ?1"                                           \
    " WHERE m.name = ?1 AND m.value IS NOT NULL AND j.state = 'ok' AND " AS_ASKED                                      \
    " AND j.sweep_id = (SELECT id FROM current_sweep) ORDER BY " order

/* By the index of values for who looks at the first; else as the rows lie there. */
#define FIRST_SQL(order) CONTENDERS_SQL("job_metric AS m CROSS JOIN job AS j ON j.id = m.job_id", order)
#define ALL_SQL(order) CONTENDERS_SQL("job AS j CROSS JOIN job_metric AS m ON m.job_id = j.id", order)

static const char contender_sql[] =
    CONTENDER_COLUMNS " FROM job AS j JOIN job_metric AS m ON m.job_id = j.id AND m.name = ?1"
                      " LEFT JOIN summary AS s ON s.attempt_id = j.attempt_id AND s.name = ?1 WHERE j.id = ?2";

static struct contender read_contender(const struct stmt *s)
{
    const char *take = stmt_text(s, COLUMN_TAKE);
    const int64_t attempts = stmt_int(s, COLUMN_ATTEMPTS), samples = stmt_int(s, COLUMN_SAMPLES);
    const bool median = strcmp(take, "median") == 0;
    struct contender c = {stmt_int(s, COLUMN_JOB), stmt_double(s, COLUMN_VALUE), {NAN, 0}, attempts == 1};
    if (attempts > 1) {
        const double freedom = (double)attempts - 1;
        const double error = sqrt(stmt_double(s, COLUMN_SQUARES) / freedom / (double)attempts);
        c.error = (struct standard_error){error * (attempts > 2 ? OF_MEDIAN : 1), freedom};
    } else if ((median || strcmp(take, "mean") == 0) && !stmt_is_null(s, COLUMN_STDDEV) && samples > 1) {
        const double error = stmt_double(s, COLUMN_STDDEV) / sqrt((double)samples);
        c.error = (struct standard_error){error * (median && samples > 2 ? OF_MEDIAN : 1), (double)samples - 1};
    }
    return c;
}

/* Half the width of its 95 % interval; NaN: none. */
static double half_width_of(const struct contender *c)
{
    return welch_half_width(c->error, (struct standard_error){0, c->error.freedom}, 0.025);
}

static bool contends(const struct contender *winner, const struct contender *c)
{
    double distance = fabs(c->value - winner->value), reach = half_width_of(winner) + half_width_of(c);
    return distance <= (isnan(reach) ? BEST_TOLERANCE * fabs(winner->value) : reach);
}

static int open_contenders(struct db *db, const char *objective, bool maximise, bool all, struct stmt **out,
                           struct error *e)
{
    static const char *const sql[][2] = {
        {FIRST_SQL("m.value, m.job_id"), FIRST_SQL("m.value DESC, m.job_id")},
        {ALL_SQL("m.value, m.job_id"), ALL_SQL("m.value DESC, m.job_id")},
    };
    return db_query(db, sql[all][maximise], VALUES(sql_text(objective)), out, e);
}

static bool is_max(const struct best *b)
{
    return strcmp(json_text_of(b->document, "better"), "max") == 0;
}

/* The winner is among the first, but of equal ones it need not be the very first. */
static int find_winner(struct db *db, const struct best *b, struct contender *out, struct error *e)
{
    OWNED_STMT *s = NULL;
    int rc = open_contenders(db, json_text_of(b->document, "objective"), is_max(b), false, &s, e);
    *out = (struct contender){best_job(b), json_real_of(b->document, "value"), {NAN, 0}, false};
    while (rc == 0 && (rc = stmt_next(s, e)) > 0) {
        rc = 0;
        if (stmt_int(s, COLUMN_JOB) != out->job_id)
            continue;
        *out = read_contender(s);
        break;
    }
    return rc;
}

int contenders_read(struct db *db, const struct best *b, int64_t ids[BEST_LISTED], size_t *count, struct error *e)
{
    struct contender winner;
    struct stmt *s = NULL;
    *count = 0;
    if (best_job(b) < 0)
        return 0;
    if (find_winner(db, b, &winner, e) < 0 ||
        open_contenders(db, json_text_of(b->document, "objective"), is_max(b), false, &s, e) < 0)
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

void lead_note(double winner, double other, int64_t job, double reach, struct lead *out)
{
    const double distance = fabs(winner - other), size = fabs(other);
    if (out->second == 0) {
        out->second = job;
        out->ahead = distance / size;
        out->low = (distance - reach) / size;
        out->high = (distance + reach) / size;
    }
    if (!(distance <= reach))
        return;
    if (out->alike_count < BEST_LISTED)
        out->alike[out->alike_count] = job;
    out->alike_count++;
}

static int read_winners(struct db *db, const struct competition *c, struct contender *out, struct error *e)
{
    OWNED_STMT *s = NULL;
    int rc = db_prepare(db, contender_sql, &s, e);
    for (size_t i = 0; rc == 0 && i < c->winner_count; i++) {
        out[i] = (struct contender){c->winners[i], NAN, {NAN, 0}, false};
        stmt_reset(s);
        stmt_bind(s, VALUES(sql_text(c->objective), sql_int(c->winners[i])));
        int next = stmt_next(s, e);
        if (next > 0)
            out[i] = read_contender(s);
        rc = next < 0 ? -1 : 0;
    }
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

/* Another job that competes. */
struct rival {
    struct contender contender;
    size_t group;
};

/* The others, in order of value, and how many compete in each group, with its winner. */
static int read_rivals(struct db *db, const struct competition *c, struct rival **rivals, size_t *count,
                       size_t *competing, struct error *e)
{
    struct stmt *s = NULL;
    int rc;
    if (open_contenders(db, c->objective, c->maximise, true, &s, e) < 0)
        return -1;
    while ((rc = stmt_next(s, e)) > 0) {
        const struct contender other = read_contender(s);
        const long group = group_of(c, other.job_id);
        if (group < 0)
            continue;
        competing[group]++;
        if (other.job_id == c->winners[group])
            continue;
        *rivals = array_grow(*rivals, *count, sizeof **rivals);
        (*rivals)[(*count)++] = (struct rival){other, (size_t)group};
    }
    stmt_free(s);
    return rc;
}

static int read_others(struct db *db, const struct competition *c, const struct contender *winners, struct lead *out,
                       struct error *e)
{
    OWNED struct rival *rivals = NULL;
    size_t *competing = xcalloc(c->winner_count, sizeof *competing), count = 0;
    int rc = read_rivals(db, c, &rivals, &count, competing, e);
    for (size_t i = 0; rc == 0 && i < count; i++) {
        const struct contender *winner = &winners[rivals[i].group], *other = &rivals[i].contender;
        const double reach = welch_half_width(winner->error, other->error, LEAD_MISSED(competing[rivals[i].group]));
        struct lead *lead = &out[rivals[i].group];
        lead->ran_once |= lead->second == 0 && (winner->ran_once || other->ran_once);
        lead_note(winner->value, other->value, other->job_id, reach, lead);
    }
    free(competing);
    return rc;
}

int leads_read(struct db *db, const struct competition *c, struct lead *out, struct error *e)
{
    OWNED struct contender *winners = xcalloc(c->winner_count, sizeof *winners);
    for (size_t i = 0; i < c->winner_count; i++)
        out[i] = (struct lead){.ahead = NAN, .low = NAN, .high = NAN};
    return read_winners(db, c, winners, e) < 0 ? -1 : read_others(db, c, winners, out, e);
}
