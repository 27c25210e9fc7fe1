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

/* Who learns: from attempts, whose weights are fitted immediately (`fits`) or later by learning_fit, and from stored
 * jobs; and who gets what is fitted. */
struct learner {
    struct space *space;
    struct db *db;
    bool fits;
    calibration_each each;
    void *context;
    struct match_cursor *cursor; /* of stored jobs */
};

/* The prediction for a stored job that the sweep would run as the same job, else NULL. */
static const struct prediction *predicted_of(const struct learner *s, const struct job_specs *job)
{
    const struct match *m = match_stored(s->cursor, job);
    return m ? m->prediction : NULL;
}

static int load_memory(void *context, const struct job_specs *job, double bytes, struct error *e)
{
    const struct learner *s = context;
    (void)e;
    if (predicted_of(s, job))
        predictor_note_memory(prediction_predictor(&s->space->prediction), bytes);
    return 0;
}

static int load_lines(struct space *space, struct db *db, struct error *e)
{
    struct learner s = {.space = space, .db = db};
    if (!space->prediction.asked)
        return 0;
    s.cursor = match_open_stored(space);
    int rc = measured_memory_read(db, OBSERVATIONS_MOST, load_memory, &s, e);
    match_close(s.cursor);
    return rc;
}

/* --- fitting --- */

struct calibration_data {
    struct observation *observations;
    struct timed_run *runs;
    size_t count, run_count;
};

static int take_observation(void *context, const struct observation_row *row, struct error *e)
{
    struct calibration_data *l = context;
    (void)e;
    struct observation *o = array_add(l->observations, l->count);
    *o = (struct observation){.y = row->measured,
                              .kind = strcmp(row->kind, "measured") == 0   ? OBSERVATION_MEASURED
                                      : strcmp(row->kind, "at-least") == 0 ? OBSERVATION_AT_LEAST
                                                                           : OBSERVATION_AT_MOST};
    read_numbers(row->terms_json, o->terms, CALIBRATION_TERMS);
    if (o->kind == OBSERVATION_MEASURED && row->peak > 0)
        *array_add(l->runs, l->run_count) = (struct timed_run){row->predicted, row->measured, row->peak};
    return 0;
}

static void compare_baseline(const struct calibration_data *l, struct calibration_row *row)
{
    struct baseline_comparison c;
    struct error ignored;
    row->baseline = row->model_error = row->baseline_error = NAN;
    if (baseline_compare(l->runs, l->run_count, BASELINE_WINDOW, &c, &ignored) < 0)
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

/* 0: there are no measurements that a fit can use. 1: `*row` is filled; the caller frees its weights_json. */
static int fit(const struct learner *n, const struct observation_row *place, struct calibration_row *row,
               struct error *e)
{
    const struct framework *prior = predictor_prior(prediction_predictor(&n->space->prediction), place->framework);
    bool is_memory = is_of_memory(place->quantity);
    struct calibration_data l = {0};
    struct calibration c;
    struct error unfit = ERROR_INIT;
    int rc = prior && observations_read(n->db, place, OBSERVATIONS_MOST, take_observation, &l, e) < 0 ? -1 : 0;
    if (prior && rc == 0) {
        const struct calibration_prior start =
            is_memory ? calibration_of_memory(&prior->memory) : calibration_of_time(&prior->time);
        rc = calibrate(&start, l.observations, l.count, NULL, &c, &unfit) == 0;
        if (rc == 1)
            *row = (struct calibration_row){place->quantity,
                                            place->framework,
                                            place->device,
                                            place->cluster,
                                            numbers_json(c.weights, start.terms),
                                            c.sigma,
                                            c.interval,
                                            (int64_t)c.measured,
                                            (int64_t)c.censored,
                                            (int64_t)c.broken,
                                            c.from_prior,
                                            NAN,
                                            NAN,
                                            NAN};
        if (rc == 1 && !is_memory)
            compare_baseline(&l, row);
    }
    free_all(l.observations, l.runs);
    return rc;
}

static int fit_place(void *context, const struct observation_row *place, struct error *e)
{
    const struct learner *f = context;
    struct calibration_row row = {0};
    int rc = fit(f, place, &row, e);
    if (rc > 0)
        rc = f->each(f->context, &row, e);
    free((char *)row.weights_json);
    return rc;
}

static int record_row(void *context, const struct calibration_row *row, struct error *e)
{
    return calibration_record(context, row, e);
}

/* A table was imported, or databases were merged. */
int learning_fit(struct space *space, struct db *db, struct error *e)
{
    struct learner f = {.space = space, .db = db, .each = record_row, .context = db};
    return space->prediction.asked ? unfitted_places_read(db, fit_place, &f, e) : 0;
}

int learning_calibrations(struct space *space, struct db *db, calibration_each each, void *context, struct error *e)
{
    struct learner f = {.space = space, .db = db, .each = each, .context = context};
    return calibrations_read(db, each, context, e) < 0 ? -1 : unfitted_places_read(db, fit_place, &f, e);
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

static int note_one(const struct learner *n, struct observation_row *row, const double *terms, size_t count,
                    struct error *e)
{
    if (!(row->measured > 0 && isfinite(row->measured)))
        return 0;
    OWNED char *json = numbers_json(terms, count);
    row->terms_json = json;
    int rc = observation_record(n->db, row, e);
    if (rc == 0)
        rc = n->fits ? fit_place((void *)n, row, e) : calibration_forget(n->db, row, e);
    return rc;
}

static int measure(const struct space *space, struct db *db, int64_t attempt_id, const struct prediction *p,
                   struct measurement *out, struct error *e)
{
    OWNED_STMT *summaries = NULL;
    return learning_summaries(db, &summaries, e) < 0 ? -1 : learning_measure(space, summaries, attempt_id, p, out, e);
}

/* Sets what the attempt says about memory: how much it used, that it ran out of it, or, if usage was not measured, that
 * it did not run out. */
static void fill_memory(struct observation_row *row, const struct attempt_result *result, const struct prediction *p,
                        double measured)
{
    row->quantity = "memory";
    row->predicted = p->measured_bytes;
    row->kind = result->failure ? "at-least" : measured > 0 ? "measured" : "at-most";
    row->measured = !result->failure && measured > 0 ? measured : p->usable_bytes;
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
    struct observation_row row = {.attempt_id = result->attempt_id,
                                  .framework = p.where.framework,
                                  .device = p.where.device,
                                  .cluster = p.where.cluster,
                                  .peak = NAN};
    if (!result->failure && measure(n->space, n->db, result->attempt_id, &p, &m, e) < 0)
        return -1;
    if (n->fits && !result->failure)
        predictor_note_memory(prediction_predictor(&n->space->prediction), m.bytes);
    fill_memory(&row, result, &p, m.bytes);
    if (p.has_memory && note_one(n, &row, p.memory.most.terms, MEMORY_TERM_COUNT, e) < 0)
        return -1;
    row.quantity = "time";
    row.kind = "measured";
    row.measured = m.seconds;
    row.predicted = p.step.seconds;
    row.peak = p.peak_seconds;
    if (!p.has_time || !(m.seconds > 0))
        return 0;
    if (note_mfu(n->db, result->attempt_id, &p, m.seconds, e) < 0)
        return -1;
    return is_held_back(&m, &p) ? 0 : note_one(n, &row, p.step.terms, TIME_TERM_COUNT, e);
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
    return note(&n, result, p, e) < 0 ? -1 : calibrations_read(db, load_row, space, e);
}

/* --- what ran before it was predicted --- */

static int note_unobserved(void *context, const struct job_specs *job, int64_t attempt_id, const char *failure,
                           struct error *e)
{
    const struct learner *s = context;
    const struct attempt_result result = {attempt_id, 0, failure};
    return learning_note_row(s->space, s->db, &result, predicted_of(s, job), e);
}

int learning_resume(struct space *space, struct db *db, struct error *e)
{
    struct learner r = {.space = space, .db = db};
    if (!space->prediction.asked)
        return learning_load(space, db, e);
    if (db_begin(db, e) < 0)
        return -1;
    r.cursor = match_open_stored(space);
    int rc = unobserved_read(db, OBSERVATIONS_MOST, note_unobserved, &r, e) < 0 ? -1 : learning_fit(space, db, e);
    match_close(r.cursor);
    return db_end(db, rc, e) < 0 ? -1 : learning_load(space, db, e);
}
