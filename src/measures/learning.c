#include "measures/learning.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "config/meaning.h"
#include "config/own_metrics.h"
#include "predict/baseline.h"
#include "space/match.h"
#include "store/jobs.h"
#include "util/clock.h"
#include "util/memory.h"
#include "util/parse.h"

#define OBSERVATIONS_MOST 500
#define BASELINE_WINDOW 10

/* --- weights and terms as JSON --- */

static char *numbers_json(const double *numbers, size_t count)
{
    struct buffer b = BUFFER_INIT;
    for (size_t i = 0; i < count; i++) {
        buffer_add_char(&b, i ? ',' : '[');
        buffer_add_double(&b, numbers[i]);
    }
    buffer_add_char(&b, ']');
    return buffer_take(&b);
}

static void read_numbers(const char *json, double *out, size_t count)
{
    OWNED_JSON *list = cJSON_Parse(json);
    size_t i = 0;
    memset(out, 0, count * sizeof *out);
    for (const cJSON *n = list ? list->child : NULL; n && i < count; n = n->next)
        out[i++] = cJSON_IsNumber(n) ? n->valuedouble : 0;
}

/* --- stored jobs --- */

/* The prediction for the stored job of the row, if the sweep would run it as the same job, else NULL. */
static const struct prediction *predicted_of(struct match_cursor *stored, const struct stmt *row)
{
    struct job_specs job;
    job_specs_read(row, &job);
    const struct match *m = match_stored(stored, &job);
    return m ? m->prediction : NULL;
}

/* Lines of memory through what jobs were last measured to take, of the newest attempts, oldest first. */
static int load_lines(struct space *space, struct db *db, struct error *e)
{
    static const char sql[] =
        "SELECT " JOB_SPECS_COLUMNS ", o.measured FROM (SELECT * FROM observation WHERE quantity = 'memory'"
        " AND kind = 'measured' AND attempt_id NOT IN (SELECT attempt_id FROM excluded_attempt)"
        " ORDER BY attempt_id DESC LIMIT ?1) AS o JOIN job AS j ON j.attempt_id ="
        " o.attempt_id" JOB_SPECS_JOINS " ORDER BY o.attempt_id";
    struct stmt *s = NULL;
    int rc;
    if (!space->prediction.asked)
        return 0;
    struct match_cursor *stored = match_open_stored(space);
    while ((rc = db_next(db, sql, VALUES(sql_int(OBSERVATIONS_MOST)), &s, e)) > 0)
        if (predicted_of(stored, s))
            predictor_note_memory(prediction_predictor(&space->prediction), stmt_double(s, JOB_SPECS_END));
    match_close(stored);
    return rc;
}

/* --- fitting --- */

/* Who learns: from attempts, whose weights are fitted immediately (`fits`) or later by learning_fit; and who gets what
 * is fitted. */
struct learner {
    struct space *space;
    struct db *db;
    bool fits;
    calibration_each each;
    void *context;
};

struct calibration_data {
    struct observation *observations;
    struct timed_run *runs;
    size_t count, run_count;
};

#define OF_PLACE " WHERE quantity = ?1 AND framework = ?2 AND device = ?3 AND cluster = ?4"

/* The newest of the place and quantity, oldest first. */
static int read_observations(struct db *db, const struct calibration_row *place, struct calibration_data *out,
                             struct error *e)
{
    static const char sql[] =
        "SELECT measured, kind, terms, predicted, peak FROM (SELECT * FROM observation" OF_PLACE
        " AND attempt_id NOT IN (SELECT attempt_id FROM excluded_attempt) ORDER BY attempt_id DESC LIMIT ?5)"
        " ORDER BY attempt_id";
    struct stmt *s = NULL;
    int rc;
    while ((rc = db_next(db, sql,
                         VALUES(sql_text(place->quantity), sql_text(place->framework), sql_text(place->device),
                                sql_text(place->cluster), sql_int(OBSERVATIONS_MOST)),
                         &s, e)) > 0) {
        const char *kind = stmt_text(s, 1);
        struct observation *o = array_add(out->observations, out->count);
        *o = (struct observation){.y = stmt_double(s, 0),
                                  .kind = strcmp(kind, "measured") == 0   ? OBSERVATION_MEASURED
                                          : strcmp(kind, "at-least") == 0 ? OBSERVATION_AT_LEAST
                                                                          : OBSERVATION_AT_MOST};
        read_numbers(stmt_text(s, 2), o->terms, CALIBRATION_TERMS);
        if (o->kind == OBSERVATION_MEASURED && stmt_double(s, 4) > 0)
            *array_add(out->runs, out->run_count) = (struct timed_run){stmt_double(s, 3), o->y, stmt_double(s, 4)};
    }
    return rc;
}

static void compare_baseline(const struct calibration_data *l, struct calibration_row *row)
{
    struct baseline_comparison c;
    row->baseline = row->model_error = row->baseline_error = NAN;
    if (!baseline_compare(l->runs, l->run_count, BASELINE_WINDOW, &c))
        return;
    row->model_error = c.model_error;
    row->baseline_error = c.baseline_error;
    if (c.compared >= BASELINE_WINDOW && c.baseline_wins)
        row->baseline = baseline_slowness(l->runs, l->run_count);
}

static bool is_of_memory(const char *quantity)
{
    return strcmp(quantity, "memory") == 0;
}

/* Fits the weights of the place and quantity, of which nothing else is filled, and hands them on; not where there are
 * no measurements that a fit can use. */
static int fit(const struct learner *n, struct calibration_row row, struct error *e)
{
    const struct framework *prior = predictor_prior(prediction_predictor(&n->space->prediction), row.framework);
    const bool is_memory = is_of_memory(row.quantity);
    struct calibration_data l = {0};
    struct calibration c;
    if (!prior)
        return 0;
    const struct calibration_prior start =
        is_memory ? calibration_of_memory(&prior->memory) : calibration_of_time(&prior->time);
    int rc = read_observations(n->db, &row, &l, e);
    if (rc == 0 && calibrate(&start, l.observations, l.count, NULL, &c)) {
        OWNED char *weights = numbers_json(c.weights, start.terms);
        row.weights_json = weights;
        row.sigma = c.sigma;
        row.interval = c.interval;
        row.measured = (int64_t)c.measured;
        row.censored = (int64_t)c.censored;
        row.broken = (int64_t)c.broken;
        row.prior = c.from_prior;
        row.baseline = row.model_error = row.baseline_error = NAN;
        if (!is_memory)
            compare_baseline(&l, &row);
        rc = n->each(n->context, &row, e);
    }
    free_all(l.observations, l.runs);
    return rc;
}

/* All places and quantities that have observations and no calibration. */
static int fit_unfitted(const struct learner *n, struct error *e)
{
    OWNED_STMT *s = NULL;
    int rc;
    while ((rc = db_next(n->db,
                         "SELECT DISTINCT quantity, framework, device, cluster FROM observation AS o WHERE NOT EXISTS"
                         " (SELECT 1 FROM calibration AS c WHERE c.framework = o.framework AND c.device = o.device"
                         "  AND c.cluster = o.cluster AND c.quantity = o.quantity) ORDER BY 2, 3, 4, 1",
                         NO_VALUES, &s, e)) > 0) {
        const struct calibration_row place = {.quantity = stmt_text(s, 0),
                                              .framework = stmt_text(s, 1),
                                              .device = stmt_text(s, 2),
                                              .cluster = stmt_text(s, 3)};
        if (fit(n, place, e) < 0)
            return -1;
    }
    return rc;
}

static int record_row(void *context, const struct calibration_row *row, struct error *e)
{
    return db_run(context,
                  "INSERT OR REPLACE INTO calibration (framework, device, cluster, quantity, weights, sigma, interval,"
                  " measured, censored, broken, prior, baseline, model_error, baseline_error, updated)"
                  " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                  VALUES(sql_text(row->framework), sql_text(row->device), sql_text(row->cluster),
                         sql_text(row->quantity), sql_text(row->weights_json), sql_real(row->sigma),
                         sql_real(row->interval), sql_int(row->measured), sql_int(row->censored), sql_int(row->broken),
                         sql_int(row->prior), sql_real(row->baseline), sql_real(row->model_error),
                         sql_real(row->baseline_error), sql_int(clock_wall_ms())),
                  e);
}

static int read_calibrations(struct db *db, calibration_each each, void *context, struct error *e)
{
    OWNED_STMT *s = NULL;
    int rc;
    while ((rc = db_next(
                db,
                "SELECT quantity, framework, device, cluster, weights, sigma, interval, measured, censored, broken,"
                " prior, baseline, model_error, baseline_error FROM calibration ORDER BY framework, device, cluster,"
                " quantity",
                NO_VALUES, &s, e)) > 0) {
        const struct calibration_row row = {stmt_text(s, 0),
                                            stmt_text(s, 1),
                                            stmt_text(s, 2),
                                            stmt_text(s, 3),
                                            stmt_text(s, 4),
                                            stmt_double(s, 5),
                                            stmt_double(s, 6),
                                            stmt_int(s, 7),
                                            stmt_int(s, 8),
                                            stmt_int(s, 9),
                                            stmt_int(s, 10) != 0,
                                            stmt_double_or_nan(s, 11),
                                            stmt_double_or_nan(s, 12),
                                            stmt_double_or_nan(s, 13)};
        if (each(context, &row, e) < 0)
            return -1;
    }
    return rc;
}

/* A table was imported, or databases were merged. */
int learning_fit(struct space *space, struct db *db, struct error *e)
{
    const struct learner n = {.space = space, .db = db, .each = record_row, .context = db};
    return space->prediction.asked ? fit_unfitted(&n, e) : 0;
}

int learning_calibrations(struct space *space, struct db *db, calibration_each each, void *context, struct error *e)
{
    const struct learner n = {.space = space, .db = db, .each = each, .context = context};
    return read_calibrations(db, each, context, e) < 0 ? -1 : fit_unfitted(&n, e);
}

/* --- loading --- */

static int load_row(void *context, const struct calibration_row *row, struct error *e)
{
    struct space *space = context;
    struct calibration c = {.sigma = row->sigma, .interval = row->interval, .from_prior = row->prior};
    const struct place_of_measurement where = {row->framework, row->device, row->cluster};
    bool is_memory = is_of_memory(row->quantity);
    read_numbers(row->weights_json, c.weights, CALIBRATION_TERMS);
    if (!predictor_prior(prediction_predictor(&space->prediction), row->framework))
        return 0;
    return predictor_calibrate(prediction_predictor(&space->prediction), &where, is_memory ? &c : NULL,
                               is_memory ? NULL : &c, is_memory || isnan(row->baseline) ? 0 : row->baseline, e);
}

int learning_load(struct space *space, struct db *db, struct error *e)
{
    return learning_calibrations(space, db, load_row, space, e) < 0 ? -1 : load_lines(space, db, e);
}

/* --- what was measured --- */

static const char *const time_metrics[] = {"step_time", "iteration_time", "time_per_step", "latency", NULL};

#define SUMMARIES_MOST 64 /* per attempt; attempts report only a few */

struct summaries {
    struct summary_value {
        char name[64];
        double value;
    } list[SUMMARIES_MOST];
    size_t count;
};

int learning_summaries(struct db *db, struct stmt **out, struct error *e)
{
    return db_prepare(db,
                      "SELECT name, value FROM summary WHERE attempt_id = ? AND value > 0 AND value < 9e99"
                      " AND typeof(value) <> 'text' AND length(name) < 64",
                      out, e);
}

static int read_summaries(struct stmt *s, int64_t attempt_id, struct summaries *out, struct error *e)
{
    int rc;
    out->count = 0;
    stmt_bind_at(s, 1, sql_int(attempt_id));
    while ((rc = stmt_next(s, e)) > 0 && out->count < SUMMARIES_MOST) {
        struct summary_value *m = &out->list[out->count++];
        snprintf(m->name, sizeof m->name, "%s", stmt_text(s, 0));
        m->value = stmt_double(s, 1);
    }
    stmt_reset(s);
    return rc < 0 ? -1 : 0;
}

/* The value of the first of the NULL-terminated `names` that was measured (NAN: none), and that name. */
static double find_metric(const struct summaries *summaries, const char *const *names, const char **found)
{
    for (; *names; names++)
        for (size_t i = 0; i < summaries->count; i++)
            if (strcmp(summaries->list[i].name, *names) == 0) {
                *found = *names;
                return summaries->list[i].value;
            }
    return NAN;
}

/* The metric that the file declares as this quantity, if it was measured; else the first measured one of the usual
 * names. */
static double find_quantity(const struct summaries *summaries, const struct sweep *s, enum metric_quantity quantity,
                            const char *const *usual, const char **found)
{
    for (size_t i = 0; i < s->job.metric_count; i++) {
        const struct metric *m = &s->job.metrics[i];
        const char *const name[] = {m->name, NULL};
        double value = NAN;
        if (m->means && metric_meaning(s, m->name)->quantity == quantity)
            value = find_metric(summaries, name, found);
        if (!isnan(value))
            return value;
    }
    return find_metric(summaries, usual, found);
}

static double bytes_of(double value, const char *unit)
{
    int64_t one = 1;
    OWNED char *text = xasprintf("1%s", unit);
    if (!parse_size_bytes(text, &one) || one < 1)
        one = 1;
    return value * (double)one;
}

static double seconds_of(double value, const char *unit)
{
    int64_t ms;
    OWNED char *text = xasprintf("1%s", unit);
    double factor = unit[0] && parse_duration_ms(text, &ms) && ms > 0 ? (double)ms / 1000 : 1;
    return value * factor;
}

/* Step time from the rate of samples or tokens, of the whole job or per device. `only`: from this metric; NULL: from
 * the first. */
static double seconds_by_rate(const struct summaries *all, const struct sweep *s, const struct prediction *p,
                              const char *only)
{
    for (size_t i = 0; i < all->count; i++) {
        if (only && strcmp(all->list[i].name, only) != 0)
            continue;
        const struct metric_meaning *m = metric_meaning(s, all->list[i].name);
        const double work[] =
            {[WORK_STEPS] = 1, [WORK_SAMPLES] = p->samples, [WORK_TOKENS] = p->tokens, [WORK_FLOPS] = NAN};
        double devices = m->per_device ? (double)p->devices : 1;
        if (m->quantity == QUANTITY_RATE && m->work != WORK_FLOPS && devices > 0 && work[m->work] > 0)
            return work[m->work] / (all->list[i].value * devices);
    }
    return NAN;
}

int learning_measure(const struct space *space, struct stmt *summaries, int64_t attempt_id, const struct prediction *p,
                     struct measurement *out, struct error *e)
{
    const struct predict_config *c = &space->sweep->predict;
    const char *const memory_given[] = {c->memory_metric, NULL}, *const time_given[] = {c->time_metric, NULL};
    const char *name = "";
    struct summaries all;
    if (read_summaries(summaries, attempt_id, &all, e) < 0)
        return -1;
    out->bytes = c->memory_metric ? find_metric(&all, memory_given, &name)
                                  : find_quantity(&all, space->sweep, QUANTITY_MEMORY, memory_metrics, &name);
    out->bytes = bytes_of(out->bytes, sweep_metric_unit(space->sweep, name));
    name = "";
    out->seconds = c->time_metric ? find_metric(&all, time_given, &name)
                                  : find_quantity(&all, space->sweep, QUANTITY_STEP_TIME, time_metrics, &name);
    out->seconds = seconds_of(out->seconds, sweep_metric_unit(space->sweep, name));
    const char *const limit[] = {own_metrics[OWN_DEVICE_POWER_LIMIT].name, NULL};
    out->watts = find_metric(&all, limit, &name);
    bool is_rate = c->time_metric && metric_meaning(space->sweep, c->time_metric)->quantity == QUANTITY_RATE;
    if (is_rate || (isnan(out->seconds) && !c->time_metric))
        out->seconds = p ? seconds_by_rate(&all, space->sweep, p, c->time_metric) : NAN;
    return 0;
}

/* --- noting --- */

static int note_mfu(struct db *db, int64_t attempt_id, const struct prediction *p, double seconds, struct error *e)
{
    if (db_exec(db,
                "INSERT OR IGNORE INTO metric_definition (name, unit, better) VALUES"
                " ('mfu', 'of the peak, attention in full', 'max')",
                e) < 0)
        return -1;
    return db_run(db, "INSERT OR IGNORE INTO summary (attempt_id, name, value, count) VALUES (?, 'mfu', ?, 1)",
                  VALUES(sql_int(attempt_id), sql_real(p->flops / (seconds * p->peak_flops))), e);
}

/* What an attempt tells of one quantity. */
struct seen_quantity {
    const char *quantity, *kind;      /* "memory", "time"; "measured", "at-least", "at-most" */
    double measured, predicted, peak; /* NAN: there is none */
    const double *terms;
    size_t term_count;
};

static int note_one(const struct learner *n, int64_t attempt_id, const struct place_of_measurement *where,
                    const struct seen_quantity *seen, struct error *e)
{
    const struct calibration_row place = {.quantity = seen->quantity,
                                          .framework = where->framework,
                                          .device = where->device,
                                          .cluster = where->cluster};
    if (!(seen->measured > 0 && isfinite(seen->measured)))
        return 0;
    OWNED char *terms = numbers_json(seen->terms, seen->term_count);
    if (db_run(n->db, "INSERT OR REPLACE INTO observation VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
               VALUES(sql_int(attempt_id), sql_text(place.quantity), sql_text(place.framework), sql_text(place.device),
                      sql_text(place.cluster), sql_text(seen->kind), sql_real(seen->measured),
                      sql_real(seen->predicted), sql_real(seen->peak), sql_text(terms)),
               e) < 0)
        return -1;
    return n->fits ? fit(n, place, e)
                   : db_run(n->db, "DELETE FROM calibration" OF_PLACE,
                            VALUES(sql_text(place.quantity), sql_text(place.framework), sql_text(place.device),
                                   sql_text(place.cluster)),
                            e);
}

static int measure(const struct space *space, struct db *db, int64_t attempt_id, const struct prediction *p,
                   struct measurement *out, struct error *e)
{
    OWNED_STMT *summaries = NULL;
    return learning_summaries(db, &summaries, e) < 0 ? -1 : learning_measure(space, summaries, attempt_id, p, out, e);
}

#define NOT_HELD_BACK 0.98 /* of its watts, as drivers round */

/* Returns whether a device had a lower limit of power than is predicted with, so that its time is no other's. */
static bool is_held_back(const struct measurement *m, const struct prediction *p)
{
    return m->watts < NOT_HELD_BACK * p->watts;
}

static int note(const struct learner *n, const struct attempt_result *result, const struct prediction *found,
                struct error *e)
{
    const struct prediction p = *found; /* a copy, because fitting changes the original */
    struct measurement m = {NAN, NAN, NAN};
    if (!result->failure && measure(n->space, n->db, result->attempt_id, &p, &m, e) < 0)
        return -1;
    if (n->fits && !result->failure)
        predictor_note_memory(prediction_predictor(&n->space->prediction), m.bytes);
    /* How much memory it used, that it ran out of it, or, if usage was not measured, that it did not run out. */
    const bool has_bytes = !result->failure && m.bytes > 0;
    const struct seen_quantity memory = {"memory",
                                         result->failure ? "at-least"
                                         : has_bytes     ? "measured"
                                                         : "at-most",
                                         has_bytes ? m.bytes : p.usable_bytes,
                                         p.measured_bytes,
                                         NAN,
                                         p.memory.most.terms,
                                         MEMORY_TERM_COUNT};
    const struct seen_quantity time = {"time",         "measured",   m.seconds,      p.step.seconds,
                                       p.peak_seconds, p.step.terms, TIME_TERM_COUNT};
    if (p.has_memory && note_one(n, result->attempt_id, &p.where, &memory, e) < 0)
        return -1;
    if (!p.has_time || !(m.seconds > 0))
        return 0;
    if (note_mfu(n->db, result->attempt_id, &p, m.seconds, e) < 0)
        return -1;
    return is_held_back(&m, &p) ? 0 : note_one(n, result->attempt_id, &p.where, &time, e);
}

static bool is_teaching(const struct space *space, const struct attempt_result *result)
{
    return space->prediction.asked && (!result->failure || strcmp(result->failure, "oom") == 0);
}

int learning_note_row(struct space *space, struct db *db, const struct attempt_result *result,
                      const struct prediction *p, struct error *e)
{
    const struct learner n = {.space = space, .db = db};
    return p && is_teaching(space, result) ? note(&n, result, p, e) : 0;
}

int learning_note(struct space *space, struct db *db, const struct attempt_result *result, struct error *e)
{
    struct input_value values[INPUT_COUNT];
    int64_t rank;
    const char *why;
    const struct learner n = {.space = space, .db = db, .fits = true, .each = record_row, .context = db};
    if (!is_teaching(space, result))
        return 0;
    if (db_query_int(db, "SELECT rank FROM job WHERE id = ?", VALUES(sql_int(result->job_id)), -1, &rank, e) < 0)
        return -1;
    if (rank < 0 || rank >= space_combinations(space))
        return 0;
    if (prediction_inputs_at(space, rank, values, e) < 0)
        return -1;
    const struct prediction *p = prediction_of_values(space, values, &why);
    if (!p)
        return 0;
    return note(&n, result, p, e) < 0 ? -1 : read_calibrations(db, load_row, space, e);
}

/* --- what ran before it was predicted --- */

/* Jobs of the newest attempts that are ok or ran out of device memory, and of which nothing was observed, oldest
 * first. */
static int note_unobserved(struct space *space, struct db *db, struct error *e)
{
    static const char sql[] =
        "SELECT " JOB_SPECS_COLUMNS ", x.id, j.failure FROM (SELECT id, job_id FROM attempt ORDER BY id DESC"
        " LIMIT ?1) AS x JOIN job AS j ON j.id = x.job_id AND j.attempt_id = x.id" JOB_SPECS_JOINS
        " WHERE (j.state = 'ok' OR j.failure = 'oom')"
        " AND (SELECT device_condition ->> '$.shared_with' FROM attempt WHERE id = x.id) IS NULL"
        " AND NOT EXISTS (SELECT 1 FROM observation WHERE attempt_id = x.id) ORDER BY x.id";
    OWNED_STMT *s = NULL;
    struct match_cursor *stored = match_open_stored(space);
    int rc = 0;
    while (rc >= 0 && (rc = db_next(db, sql, VALUES(sql_int(OBSERVATIONS_MOST)), &s, e)) > 0) {
        const struct attempt_result result = {stmt_int(s, JOB_SPECS_END), 0, stmt_text(s, JOB_SPECS_END + 1)};
        rc = learning_note_row(space, db, &result, predicted_of(stored, s), e);
    }
    match_close(stored);
    return rc;
}

int learning_resume(struct space *space, struct db *db, struct error *e)
{
    if (!space->prediction.asked)
        return learning_load(space, db, e);
    if (db_begin(db, e) < 0)
        return -1;
    int rc = note_unobserved(space, db, e) < 0 ? -1 : learning_fit(space, db, e);
    return db_end(db, rc, e) < 0 ? -1 : learning_load(space, db, e);
}
