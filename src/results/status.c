#include "results/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "results/durations.h"
#include "results/json.h"
#include "results/measured.h"
#include "store/imports.h"
#include "store/places.h"
#include "store/retry.h"
#include "util/memory.h"

#define LITERAL_(x) #x
#define LITERAL(x) LITERAL_(x)
#define LISTED LITERAL(STATUS_LISTED)
#define WINDOW LITERAL(RATE_WINDOW)
#define HOURS_MOST LITERAL(DEVICE_HOURS_MOST)
/* Attempts whose time says something of the next one's. */
#define TIMED                                                                                                          \
    "duration_ms IS NOT NULL AND unwatched_ms IS NULL AND failure IS NOT 'cancelled' AND failure IS NOT 'lost'"        \
    " AND kind = 'trial'"

static int64_t int_or(const struct stmt *s, int column, int64_t absent)
{
    return stmt_is_null(s, column) ? absent : stmt_int(s, column);
}

/* --- one part each; every row of its query is handed to `row` --- */

struct status_part {
    const char *sql; /* ?1 is the sweep's id */
    void (*row)(const struct stmt *s, struct sweep_status *out);
};

static void read_state(const struct stmt *s, struct sweep_status *out)
{
    const struct {
        const char *name;
        int64_t *count;
    } states[] = {{"pending", &out->pending}, {"running", &out->running}, {"ok", &out->ok},
                  {"failed", &out->failed},   {"pruned", &out->pruned},   {"held", &out->held}};
    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        if (strcmp(states[i].name, stmt_text(s, 0)) == 0)
            *states[i].count += stmt_int(s, 2);
    if (stmt_is_null(s, 1))
        return;
    out->classes = array_grow(out->classes, out->class_count, sizeof *out->classes);
    out->classes[out->class_count++] = (struct status_class){stmt_copy_text_or(s, 1, ""), stmt_int(s, 2)};
}

/* What a runner has claimed ahead of time waits like the rest. */
static void read_claimed(const struct stmt *s, struct sweep_status *out)
{
    out->running -= stmt_int(s, 0);
    out->pending += stmt_int(s, 0);
}

static void read_witness(const struct stmt *s, struct sweep_status *out)
{
    if (out->witness_total++ >= STATUS_LISTED)
        return;
    out->witnesses = array_grow(out->witnesses, out->witness_count, sizeof *out->witnesses);
    out->witnesses[out->witness_count++] = (struct status_witness){stmt_int(s, 0), stmt_int(s, 1)};
}

static void read_hold(const struct stmt *s, struct sweep_status *out)
{
    if (out->hold_total++ >= STATUS_LISTED)
        return;
    out->holds = array_grow(out->holds, out->hold_count, sizeof *out->holds);
    out->holds[out->hold_count++] = (struct status_hold){stmt_copy_text_or(s, 0, ""), stmt_int(s, 1), stmt_int(s, 2)};
}

static void read_aside(const struct stmt *s, struct sweep_status *out)
{
    out->aside = stmt_int(s, 0);
}

static void read_open(const struct stmt *s, struct sweep_status *out)
{
    out->open = stmt_int(s, 0);
}

static void read_search(const struct stmt *s, struct sweep_status *out)
{
    out->search = (struct status_search){.strategy = stmt_copy_text_or(s, 0, ""),
                                         .ended = stmt_copy_text(s, 1),
                                         .lifting = stmt_copy_text_or(s, 7, ""),
                                         .trials = stmt_int(s, 2),
                                         .ok = stmt_int(s, 3),
                                         .stopped = stmt_int(s, 4),
                                         .failed = stmt_int(s, 5)};
    out->search.running = out->search.trials - out->search.ok - out->search.stopped - out->search.failed;
    int64_t most = int_or(s, 6, 0);
    bool tries_all = strcmp(out->search.strategy, "grid") == 0 || strcmp(out->search.strategy, "random") == 0;
    if (out->search.ended)
        out->to_come = 0;
    else if (most > 0)
        out->to_come = most > out->search.trials ? most - out->search.trials : 0;
    else
        out->to_come = tries_all ? INT64_MAX : -1; /* what is pending, then */
}

static void read_attempt(const struct stmt *s, struct sweep_status *out)
{
    if (out->attempt_total++ >= STATUS_LISTED)
        return;
    out->attempts = array_grow(out->attempts, out->attempt_count, sizeof *out->attempts);
    out->attempts[out->attempt_count++] = (struct status_attempt){.job_id = stmt_int(s, 0),
                                                                  .number = stmt_int(s, 1),
                                                                  .started_ms = stmt_int(s, 2),
                                                                  .slot = int_or(s, 3, -1),
                                                                  .expected_ms = -1,
                                                                  .keys = stmt_copy_text_or(s, 4, ""),
                                                                  .keys_json = stmt_copy_text_or(s, 5, "{}")};
}

static void read_retry(const struct stmt *s, struct sweep_status *out)
{
    out->retry_total = (size_t)stmt_int(s, 3);
    out->retries = array_grow(out->retries, out->retry_count, sizeof *out->retries);
    out->retries[out->retry_count++] =
        (struct status_retry){.job_id = stmt_int(s, 0), .number = stmt_int(s, 1), .due_ms = stmt_int(s, 2)};
}

static void read_rule(const struct stmt *s, struct sweep_status *out)
{
    out->rules = array_grow(out->rules, out->rule_count, sizeof *out->rules);
    out->rules[out->rule_count++] = (struct status_rule){stmt_copy_text_or(s, 0, ""), stmt_copy_text_or(s, 1, ""),
                                                         stmt_int(s, 2) != 0, stmt_int(s, 3)};
}

static void read_mean(const struct stmt *s, struct sweep_status *out)
{
    out->mean_ms = stmt_is_null(s, 0) ? -1 : (int64_t)stmt_double(s, 0);
}

static void read_rate(const struct stmt *s, struct sweep_status *out)
{
    out->rate = stmt_double_or_nan(s, 0);
}

static void read_device_hours(const struct stmt *s, struct sweep_status *out)
{
    out->device_hours = stmt_double_or_nan(s, 0);
}

/* Of one attempt: times the jobs that are left, once those are known. */
static void read_device_hours_each(const struct stmt *s, struct sweep_status *out)
{
    out->device_hours_left = stmt_double_or_nan(s, 0);
}

static void read_slow_node(const struct stmt *s, struct sweep_status *out)
{
    out->slow_nodes = array_grow(out->slow_nodes, out->slow_node_count, sizeof *out->slow_nodes);
    out->slow_nodes[out->slow_node_count++] =
        (struct status_node){stmt_copy_text_or(s, 0, ""), stmt_double(s, 1), stmt_int(s, 2)};
}

static void read_objective(const struct stmt *s, struct sweep_status *out)
{
    out->objective = stmt_copy_text_or(s, 0, "");
    out->maximise = stmt_int(s, 1) != 0;
    out->unit = stmt_copy_text_or(s, 2, "");
}

static void read_best(const struct stmt *s, struct sweep_status *out)
{
    out->has_best = true;
    out->best_job = stmt_int(s, 0);
    out->best = stmt_double(s, 1);
}

#define BEST_SQL(order, never)                                                                                         \
    "SELECT j.id, m.value FROM job_metric AS m CROSS JOIN job AS j NOT INDEXED ON j.id = m.job_id"                     \
    " CROSS JOIN attempt AS a NOT INDEXED ON a.id = j.attempt_id"                                                      \
    " WHERE m.name = (SELECT objective FROM sweep WHERE id = ?1 AND " never                                            \
    "maximise) AND j.sweep_id = ?1 AND j.state = 'ok'"                                                                 \
    " AND " MEASURED_AS_ASKED("a") " AND m.value IS NOT NULL ORDER BY " order ", j.id LIMIT 1"

static const struct status_part parts[] = {
    /* All but ok from their partial indexes; ok is the rest, of a number that is known once all jobs stand in the table
     * (the table's triggers watch). Counting a million rows would take a second. */
    {"WITH open (state, failure, jobs) AS MATERIALIZED ("
     " SELECT 'pending', NULL, count(*) FROM job WHERE sweep_id = ?1 AND state = 'pending' AND witness_id IS NULL"
     "  AND held IS NULL UNION ALL SELECT 'held', NULL, count(*) FROM job WHERE sweep_id = ?1 AND held IS NOT NULL"
     "  AND witness_id IS NULL UNION ALL SELECT 'pruned', NULL, count(*) FROM job WHERE sweep_id = ?1 AND witness_id "
     "IS NOT NULL"
     " UNION ALL SELECT 'running', NULL, count(*) FROM job WHERE sweep_id = ?1 AND state = 'running'"
     " UNION ALL SELECT 'failed', failure, count(*) FROM job WHERE sweep_id = ?1 AND state = 'failed' GROUP BY failure)"
     " SELECT * FROM open WHERE jobs > 0 UNION ALL SELECT 'ok', NULL,"
     " coalesce((SELECT jobs FROM sweep WHERE id = ?1 AND enumerated), (SELECT count(*) FROM job WHERE sweep_id = ?1))"
     " - (SELECT sum(jobs) FROM open)",
     read_state},
    {"SELECT witness_id, count(*) FROM job WHERE witness_id IS NOT NULL AND sweep_id = ?1 GROUP BY 1"
     " ORDER BY 2 DESC, 1",
     read_witness},
    {"SELECT held, count(*), min(id) FROM job WHERE held IS NOT NULL AND witness_id IS NULL AND sweep_id = ?1"
     " GROUP BY 1 ORDER BY 2 DESC, 3",
     read_hold},
    {"SELECT count(*) FROM job WHERE losses > 0 AND aside AND state = 'pending' AND sweep_id = ?1", read_aside},
    {"SELECT count(*) FROM attempt AS a JOIN job AS j ON j.id = a.job_id"
     " WHERE a.state IN ('claimed', 'running') AND a.state = 'claimed' AND a.kind = 'trial' AND j.state = 'running' AND"
     " j.sweep_id = ?1",
     read_claimed},
    /* The newest one that a run made, unless the last attempt is of a runner that made none of its trials. */
    {"SELECT s.strategy, s.finished, count(t.asked), coalesce(sum(t.outcome = 'ok'), 0),"
     " coalesce(sum(t.outcome = 'stopped'), 0), coalesce(sum(t.outcome = 'failed'), 0), s.options ->> 'max_trials',"
     " (SELECT group_concat(' --' || replace(key, '_', '-') || ' 0', '') FROM json_each(s.options)"
     "  WHERE key IN ('max_trials', 'early_stopping', 'budget', 'deadline') AND value > 0)"
     " FROM search AS s LEFT JOIN trial AS t ON t.search_id = s.id AND t.asked IS NOT NULL"
     " WHERE s.id = (SELECT max(id) FROM search WHERE sweep_id = ?1 AND strategy <> 'ask') AND"
     "  (SELECT a.runner_id FROM attempt AS a JOIN job AS j ON j.id = a.job_id WHERE j.sweep_id = ?1 AND a.kind = "
     "'trial'"
     "   ORDER BY a.id DESC"
     "   LIMIT 1) IN (SELECT a.runner_id FROM trial JOIN attempt AS a ON a.id = attempt_id WHERE search_id = s.id)"
     " GROUP BY s.id",
     read_search},
    {"SELECT count(DISTINCT t.job_id) FROM search AS s JOIN trial AS t ON t.search_id = s.id JOIN job AS j ON j.id = "
     "t.job_id"
     " WHERE s.sweep_id = ?1 AND s.strategy = 'ask' AND t.told IS NULL AND j.state IN ('pending', 'running')",
     read_open},
    /* Of any sweep: a runner that was started with an older file still occupies the machine. */
    {"WITH same AS MATERIALIZED (SELECT s.kind, k.key FROM spec AS s, json_each(s.json) AS k GROUP BY s.kind, k.key"
     "  HAVING count(DISTINCT k.value) < 2 AND count(*) = (SELECT count(*) FROM spec AS n WHERE n.kind = s.kind))"
     " SELECT a.job_id, a.number, a.started, a.slot,"
     "  (SELECT group_concat(k.key || '=' || iif(k.type IN ('true', 'false'), k.type, k.value), ' ')"
     "   FROM spec AS s, json_each(s.json) AS k"
     "   WHERE s.id IN (j.cluster_id, j.model_id, j.training_id, j.parallel_id) AND k.type <> 'null'"
     "   AND NOT EXISTS (SELECT 1 FROM same WHERE same.kind = s.kind AND same.key = k.key)), " JSON_KEYS_SQL
     " FROM attempt AS a JOIN job AS j ON j.id = a.job_id"
     " WHERE a.state IN ('claimed', 'running') AND a.state = 'running' AND a.kind = 'trial' AND ?1 ORDER BY a.started, "
     "a.id",
     read_attempt},
    {"SELECT id, (SELECT coalesce(max(number), 0) + 1 FROM attempt WHERE job_id = job.id), due, count(*) OVER () FROM "
     "job"
     " WHERE sweep_id = ?1 AND " JOB_MAY_RUN("") " AND due IS NOT NULL"
                                                 " ORDER BY due, id LIMIT " LISTED,
     read_retry},
    {"SELECT name, coalesce(nullif(reason, ''), require), level = 'warn', excluded FROM rule WHERE sweep_id = ?1 AND "
     "excluded > 0 ORDER BY position",
     read_rule},
    {"SELECT avg(duration_ms) FROM (SELECT duration_ms FROM attempt WHERE " TIMED
     " AND ?1 ORDER BY id DESC LIMIT 1000)",
     read_mean},
    /* Of the newest runner: between it and those before it nothing ran. A clock may have been set back meanwhile. */
    {"SELECT iif(max(ended) > min(started), count(*) * 1000.0 / (max(ended) - min(started)), NULL)"
     " FROM (SELECT runner_id, started, ended FROM attempt WHERE ended IS NOT NULL AND kind = 'trial' AND ?1 ORDER BY "
     "id DESC"
     "  LIMIT " WINDOW ") WHERE runner_id = (SELECT max(id) FROM runner)",
     read_rate},
    {"SELECT CASE WHEN (SELECT max(id) FROM attempt) <= " HOURS_MOST " AND ?1 THEN"
     " (SELECT sum(1.0 * a.duration_ms * j.devices) / 3600000 FROM attempt AS a JOIN job AS j ON j.id = a.job_id"
     "  WHERE a.kind = 'trial') END",
     read_device_hours},
    {"SELECT avg(1.0 * a.duration_ms * j.devices) / 3600000 FROM (SELECT job_id, duration_ms FROM attempt"
     " WHERE " TIMED " AND ?1 ORDER BY id DESC LIMIT 1000) AS a JOIN job AS j ON j.id = a.job_id",
     read_device_hours_each},
    /* Each job's time on a node over that of the same job elsewhere, or else of jobs of the same specs but the plan;
     * the latter differ among themselves, so that it takes more of them. Slow is what is certain to some two
     * deviations. */
    {"WITH recent AS (SELECT a.job_id, coalesce(a.host, r.host) AS host, a.duration_ms FROM attempt AS a"
     " JOIN runner AS r ON r.id = a.runner_id WHERE a.state = 'ok' AND a.duration_ms > 0 AND a.unwatched_ms IS NULL "
     "AND a.kind = 'trial' AND ?1"
     " AND a.executor <> '" IMPORT_EXECUTOR "'"
     " ORDER BY a.id DESC LIMIT 10000),"
     " mean AS MATERIALIZED (SELECT job_id, host, avg(duration_ms) AS ms, coalesce(model_id, 0) AS m, "
     "coalesce(cluster_id, 0) AS c,"
     "  coalesce(training_id, 0) AS t FROM recent JOIN job ON job.id = job_id GROUP BY job_id, host),"
     " same AS MATERIALIZED (SELECT job_id, count(*) AS n, sum(ms) AS ms FROM mean GROUP BY 1),"
     " matched AS MATERIALIZED (SELECT m, c, t, count(*) AS n, sum(ms) AS ms FROM mean GROUP BY 1, 2, 3),"
     " here AS MATERIALIZED (SELECT m, c, t, host, count(*) AS n, sum(ms) AS ms FROM mean GROUP BY 1, 2, 3, 4),"
     " ratio AS (SELECT mean.host, same.n > 1 AS own, mean.ms / iif(same.n > 1, (same.ms - mean.ms) / (same.n - 1),"
     "   (matched.ms - here.ms) / (matched.n - here.n)) AS r"
     "  FROM mean JOIN same USING (job_id) JOIN matched USING (m, c, t) JOIN here USING (m, c, t, host)"
     "  WHERE same.n > 1 OR matched.n > here.n)"
     " SELECT host, avg(r), count(*) FROM ratio GROUP BY host HAVING (sum(own) >= 3 OR count(*) >= 8) AND avg(r) >= 1.2"
     " AND (avg(r) - 1.1) * (avg(r) - 1.1) * (count(*) - 1) >= 4 * (avg(r * r) - avg(r) * avg(r)) ORDER BY 2 DESC "
     "LIMIT 5",
     read_slow_node},
    {"SELECT s.objective, s.maximise, m.unit FROM sweep AS s LEFT JOIN metric_definition AS m ON m.name = s.objective"
     " WHERE s.id = ?1 AND s.objective IS NOT NULL",
     read_objective},
    /* Down or up the index of values, to the first job of the sweep: one of the two gives a row. */
    {BEST_SQL("m.value DESC", ""), read_best},
    {BEST_SQL("m.value", "NOT "), read_best},
};

static int read_part(struct db *db, const struct status_part *p, struct sweep_status *out, struct error *e)
{
    struct stmt *s = NULL;
    int rc;
    if (db_query(db, p->sql, VALUES(sql_int(out->sweep_id)), &s, e) < 0)
        return -1;
    while ((rc = stmt_next(s, e)) > 0)
        p->row(s, out);
    stmt_free(s);
    return rc;
}

int status_best_read(struct db *db, int64_t sweep_id, struct sweep_status *out, struct error *e)
{
    struct sweep_status status = {.sweep_id = sweep_id};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i].row == read_best && read_part(db, &parts[i], &status, e) < 0)
            return -1;
    *out = status;
    return 0;
}

int status_search_read(struct db *db, int64_t sweep_id, struct sweep_status *out, struct error *e)
{
    struct sweep_status status = {.sweep_id = sweep_id};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i].row == read_search && read_part(db, &parts[i], &status, e) < 0) {
            status_free(&status);
            return -1;
        }
    *out = status;
    return 0;
}

static int read_sweep(struct db *db, struct sweep_status *out, struct error *e)
{
    struct stmt *s = NULL;
    if (db_prepare(db,
                   "SELECT id, name, path, combinations, combinations - matched, duplicates, model_info FROM"
                   " current_sweep",
                   &s, e) < 0)
        return -1;
    int rc = stmt_next(s, e);
    if (rc > 0)
        *out = (struct sweep_status){
            .sweep_id = stmt_int(s, 0),
            .name = stmt_copy_text_or(s, 1, ""),
            .path = stmt_copy_text_or(s, 2, ""),
            .combinations = int_or(s, 3, -1),
            .excluded = int_or(s, 4, -1),
            .duplicates = int_or(s, 5, -1),
            .model_info = stmt_copy_text(s, 6),
            .mean_ms = -1,
            .waiting_ms = -1,
        };
    else if (rc == 0)
        rc = error_set(e, ERROR_NOTHING, "this database has no sweep yet; `meshsweep run` records one");
    stmt_free(s);
    return rc < 0 ? -1 : 0;
}

static void take_place(void *context, const struct place_row *row)
{
    struct sweep_status *s = context;
    s->places = array_grow(s->places, s->place_count, sizeof *s->places);
    s->places[s->place_count++] =
        (struct status_place){xstrdup(row->host), row->device ? xstrdup(row->device) : NULL,
                              row->message ? xstrdup(row->message) : NULL, row->jobs, row->until_ms};
}

static void take_expected(void *context, int64_t job_id, double ms)
{
    struct sweep_status *s = context;
    for (size_t i = 0; i < s->attempt_count; i++)
        if (s->attempts[i].job_id == job_id)
            s->attempts[i].expected_ms = (int64_t)ms;
}

static int read_durations(struct db *db, struct sweep_status *out, struct error *e)
{
    double mean_ms;
    if (durations_of_waiting(db, out->sweep_id, out->pending, &mean_ms, e) < 0 ||
        (out->attempt_count > 0 && durations_of_running(db, take_expected, out, e) < 0))
        return -1;
    out->waiting_ms = isfinite(mean_ms) ? (int64_t)mean_ms : -1;
    return 0;
}

int status_read(struct db *db, struct sweep_status *out, struct error *e)
{
    struct sweep_status status = {0};
    /* One transaction: a runner may be at work. */
    if (db_read_begin(db, e) < 0)
        return -1;
    int rc = read_sweep(db, &status, e);
    for (size_t i = 0; rc == 0 && i < sizeof parts / sizeof *parts; i++)
        rc = read_part(db, &parts[i], &status, e);
    if (rc == 0)
        rc = failure_causes_read(db, status.sweep_id, STATUS_FAILURES_MOST, &status.causes, e);
    if (rc == 0)
        rc = read_durations(db, &status, e);
    if (rc == 0)
        rc = places_aside_read(db, take_place, &status, e);
    db_read_end(db);
    if (rc < 0) {
        status_free(&status);
        return -1;
    }
    if (!status.search.strategy || status.to_come > status.pending)
        status.to_come = status.pending;
    int64_t left = status.to_come < 0 ? 0 : status.to_come + status.running;
    status.device_hours_left = left > 0 ? status.device_hours_left * (double)left : NAN;
    *out = status;
    return 0;
}

void status_free(struct sweep_status *s)
{
    for (size_t i = 0; i < s->class_count; i++)
        free(s->classes[i].name);
    failure_causes_free(&s->causes);
    for (size_t i = 0; i < s->attempt_count; i++) {
        free(s->attempts[i].keys);
        free(s->attempts[i].keys_json);
    }
    for (size_t i = 0; i < s->rule_count; i++) {
        free(s->rules[i].name);
        free(s->rules[i].reason);
    }
    for (size_t i = 0; i < s->slow_node_count; i++)
        free(s->slow_nodes[i].host);
    free(s->slow_nodes);
    for (size_t i = 0; i < s->place_count; i++) {
        free(s->places[i].host);
        free(s->places[i].device);
        free(s->places[i].message);
    }
    free(s->places);
    free(s->classes);
    free(s->attempts);
    free(s->retries);
    free(s->witnesses);
    for (size_t i = 0; i < s->hold_count; i++)
        free(s->holds[i].why);
    free(s->holds);
    free(s->rules);
    free(s->search.strategy);
    free(s->search.ended);
    free(s->search.lifting);
    free(s->name);
    free(s->path);
    free(s->model_info);
    free(s->objective);
    free(s->unit);
    *s = (struct sweep_status){0};
}

int64_t status_eta_ms(const struct sweep_status *s, int64_t now_ms)
{
    if (s->to_come == 0 && s->running == 0)
        return 0;
    if (s->mean_ms < 0 || s->to_come < 0 || s->attempt_total == 0)
        return -1;
    double waiting_ms = (double)(s->waiting_ms >= 0 ? s->waiting_ms : s->mean_ms);
    double work = waiting_ms * (double)(s->to_come + (int64_t)(s->attempt_total - s->attempt_count));
    for (size_t i = 0; i < s->attempt_count; i++) {
        const struct status_attempt *a = &s->attempts[i];
        int64_t expected_ms = a->expected_ms >= 0 ? a->expected_ms : s->mean_ms;
        int64_t elapsed_ms = now_ms > a->started_ms ? now_ms - a->started_ms : 0;
        if (elapsed_ms < expected_ms)
            work += (double)(expected_ms - elapsed_ms);
    }
    return (int64_t)(work / (double)s->attempt_total);
}
