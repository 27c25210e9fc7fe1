#include "search/replay.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "config/failure.h"
#include "measures/learning.h"
#include "measures/measures.h"
#include "predict/evidence.h"
#include "results/query.h"
#include "search/state.h"
#include "space/match.h"
#include "space/row_space.h"
#include "store/sweeps.h"
#include "store/trials.h"
#include "sweep_file/reader.h"
#include "util/embedded.h"
#include "util/linear.h"
#include "util/memory.h"
#include "util/quantile.h"
#include "util/rng.h"

#define SECONDS_PER_HOUR 3600.0

const size_t replay_marks[REPLAY_MARKS] = {1, 3, 5, 10};
const char *const replay_predictions_names[] =
    {[REPLAY_GIVEN] = "given", [REPLAY_INVERTED] = "inverted", [REPLAY_NONE] = "none", NULL};

/* --- groups --- */

static void note_outcome(struct replay_group *g, size_t candidate)
{
    const struct replay_outcome *o = &g->outcomes[candidate];
    bool is_ok = o->outcome.kind == OUTCOME_OK && !isnan(o->outcome.objective);
    g->ok += is_ok;
    g->failed += !is_ok;
    if (!is_ok)
        return;
    double value = o->outcome.objective;
    if (search_better(&g->space, value, g->best))
        g->best = value, g->winner = candidate;
    if (isnan(g->worst) || search_better(&g->space, g->worst, value))
        g->worst = value;
}

struct declared {
    const struct search_space *space;
    const struct replay_outcome *outcomes;
};

static int as_declared(const void *a, const void *b, void *context)
{
    const struct declared *of = context;
    const struct search_space *space = of->space;
    const size_t x = *(const size_t *)a, y = *(const size_t *)b;
    if (of->outcomes[x].place != of->outcomes[y].place)
        return of->outcomes[x].place < of->outcomes[y].place ? -1 : 1;
    for (size_t k = 0; k < space->key_count; k++) {
        double v = space->candidates[x].values[k], w = space->candidates[y].values[k];
        if (isnan(v) != isnan(w))
            return isnan(v) ? -1 : 1;
        if (v != w && !isnan(v))
            return v < w ? -1 : 1;
    }
    return (space->candidates[x].identity > space->candidates[y].identity) -
           (space->candidates[x].identity < space->candidates[y].identity);
}

static void fill_group(struct replay_group *g, const struct search_space *space, const struct replay_outcome *outcomes)
{
    size_t count = g->space.count;
    g->best = g->worst = NAN;
    if (count > 0)
        qsort_r(g->members, count, sizeof *g->members, as_declared, &(struct declared){space, outcomes});
    subspace_make(space, g->members, count, &g->space, &g->candidates);
    g->space.group_count = 1;
    g->outcomes = xcalloc(count + 1, sizeof *g->outcomes);
    for (size_t i = 0; i < count; i++) {
        g->candidates[i].group = 0;
        g->outcomes[i] = outcomes[g->members[i]];
        note_outcome(g, i);
    }
}

struct replay_group *replay_groups_make(const struct search_space *space, const struct replay_outcome *outcomes,
                                        const size_t *group_of, size_t group_count)
{
    struct replay_group *groups = xcalloc(group_count + 1, sizeof *groups);
    for (size_t i = 0; i < group_count; i++) {
        groups[i].space = *space;
        groups[i].space.count = 0;
    }
    for (size_t i = 0; i < space->count; i++) {
        struct replay_group *g = &groups[group_of[i]];
        *array_add(g->members, g->space.count) = i;
    }
    for (size_t i = 0; i < group_count; i++)
        fill_group(&groups[i], space, outcomes);
    return groups;
}

void replay_groups_free(struct replay_group *groups, size_t count)
{
    for (size_t i = 0; groups && i < count; i++)
        free_all(groups[i].candidates, groups[i].members, groups[i].outcomes, groups[i].places, groups[i].terms);
    free(groups);
}

/* --- wrong predictions --- */

/* Log-uniform in [1/most, most]. */
static double draw_factor(struct rng *r, double most)
{
    double u = (double)(rng_next(r) >> 11) * 0x1p-53;
    return exp((2 * u - 1) * log(most));
}

/* Scales the prediction and its terms alike, so that they still add up under the place's weights. */
static const double *scaled(const double *terms, double factor, double *out)
{
    for (size_t t = 0; terms && t < CALIBRATION_TERMS; t++)
        out[t] = factor * terms[t];
    return terms ? out : NULL;
}

static void turn_over(struct replay_group *g)
{
    double seconds = 0, bytes = 0, timed = 0, sized = 0;
    g->terms = xreallocarray(g->terms, g->space.count + 1, 2 * CALIBRATION_TERMS * sizeof *g->terms);
    for (const struct candidate *c = g->candidates; c < g->candidates + g->space.count; c++) {
        seconds += c->seconds > 0 ? log(c->seconds / c->work) : 0;
        timed += c->seconds > 0;
        bytes += c->bytes > 0 ? log(c->bytes) : 0;
        sized += c->bytes > 0;
    }
    for (size_t i = 0; i < g->space.count; i++) {
        struct candidate *c = &g->candidates[i];
        double *terms = g->terms + i * 2 * CALIBRATION_TERMS;
        double of_time = exp(2 * (seconds / timed - log(c->seconds / c->work)));
        double of_memory = exp(2 * (bytes / sized - log(c->bytes)));
        c->time_terms = scaled(c->time_terms, of_time, terms);
        c->memory_terms = scaled(c->memory_terms, of_memory, terms + CALIBRATION_TERMS);
        c->seconds *= of_time;
        c->bytes *= of_memory;
        c->oom_probability = 1 - c->oom_probability;
    }
}

static void leave_out(struct replay_group *g)
{
    g->space.place_count = 0;
    for (struct candidate *c = g->candidates; c < g->candidates + g->space.count; c++) {
        c->bytes = c->oom_probability = c->seconds = NAN;
        c->memory_terms = c->time_terms = NULL;
    }
}

void replay_disturb(struct replay_group *g, const struct search_space *space, const struct replay_error *error)
{
    struct rng draws = rng_stream(error->seed, error->group);
    double memory = draw_factor(&draws, error->memory), time[CALIBRATION_TERMS];
    for (size_t t = 0; t < CALIBRATION_TERMS; t++)
        time[t] = draw_factor(&draws, error->time);
    g->places = xreallocarray(g->places, space->place_count + 1, sizeof *g->places);
    for (size_t p = 0; p < space->place_count; p++) {
        g->places[p] = space->places[p];
        for (size_t t = 0; t < CALIBRATION_TERMS; t++) {
            g->places[p].memory.weights[t] *= memory;
            g->places[p].time.weights[t] *= time[t];
        }
    }
    g->space.places = g->places;
    g->space.place_count = space->place_count;
    for (size_t i = 0; i < g->space.count; i++) {
        const struct candidate *whole = &space->candidates[g->members[i]];
        struct candidate *c = &g->candidates[i];
        c->bytes = whole->bytes;
        c->seconds = whole->seconds;
        c->oom_probability = whole->oom_probability;
        c->memory_terms = whole->memory_terms;
        c->time_terms = whole->time_terms;
        if (c->place < space->place_count)
            candidate_predict(c, &g->places[c->place]);
    }
    if (error->predictions == REPLAY_INVERTED)
        turn_over(g);
    if (error->predictions == REPLAY_NONE)
        leave_out(g);
}

/* --- one search --- */

struct replay {
    const struct replay_task *task;
    struct search *search;
    bool *tried;
    struct decision *round; /* requested and not yet told */
    size_t round_count;
    size_t made;
    bool arrived;
    double found;          /* best objective so far; NAN: none */
    double device_seconds; /* NAN once a cost is not known */
    struct replay_result result;
};

static double slowdown(const struct replay *r)
{
    const struct replay_group *g = r->task->group;
    double found = isnan(r->found) ? g->worst : r->found;
    if (!(fmin(g->best, g->worst) > 0))
        return NAN;
    return g->space.maximise ? g->best / found : found / g->best;
}

static bool has_arrived(const struct replay *r)
{
    double best = r->task->group->best, gap = r->task->target_gap * fabs(best);
    if (isnan(r->found))
        return false;
    return r->task->group->space.maximise ? r->found >= best - gap : r->found <= best + gap;
}

/* Counts a trial that ended. After the target, it counts only for the marks. */
static void count_trial(struct replay *r, size_t candidate, const struct search_outcome *o)
{
    if (r->tried[candidate])
        return;
    r->tried[candidate] = true;
    r->made++;
    if (o->kind == OUTCOME_OK && search_better(&r->task->group->space, o->objective, r->found))
        r->found = o->objective;
    for (size_t m = 0; m < REPLAY_MARKS; m++)
        if (r->made <= replay_marks[m])
            r->result.slowdown[m] = slowdown(r);
    if (r->arrived)
        return;
    r->result.trials++;
    r->result.failed += o->kind == OUTCOME_FAILED;
    r->device_seconds += r->task->group->outcomes[candidate].outcome.device_seconds;
}

/* The known outcome is that of the whole job; a shorter run gives the same objective, marked as shorter. */
static struct search_outcome outcome_of(const struct replay *r, const struct decision *d)
{
    struct search_outcome o = r->task->group->outcomes[d->candidate].outcome;
    if (o.kind == OUTCOME_OK && d->resource > 0) {
        o.kind = OUTCOME_STOPPED;
        o.steps = d->resource;
    }
    return o;
}

/* Reaching the target within a round costs the whole round. */
static void tell_round(struct replay *r)
{
    for (size_t i = 0; i < r->round_count; i++) {
        const struct decision *d = &r->round[i];
        const struct replay_outcome *known = &r->task->group->outcomes[d->candidate];
        const struct search_outcome o = outcome_of(r, d);
        search_tell(r->search, d->candidate, &o);
        if (r->task->watch)
            r->task->watch(r->task->context, d, known);
        count_trial(r, d->candidate, &known->outcome);
    }
    r->arrived = has_arrived(r);
    r->round_count = 0;
}

/* Fills a round. False: the strategy has ended. */
static bool ask_round(struct replay *r)
{
    enum search_answer answer = SEARCH_RUN;
    while (r->round_count < r->task->concurrent) {
        answer = search_ask(r->search, &r->round[r->round_count]);
        if (answer != SEARCH_RUN)
            break;
        r->round_count++;
    }
    assert(answer != SEARCH_WAIT || r->round_count > 0); /* a strategy waits only for what runs */
    return answer != SEARCH_FINISHED || r->round_count > 0;
}

static bool is_done(const struct replay *r)
{
    return r->arrived && r->made >= replay_marks[REPLAY_MARKS - 1];
}

/* Asks and tells until the strategy ends or, with `enough`, until all that is reported is known. */
static int run_search(struct replay *r, const struct search_options *options, bool enough, struct error *e)
{
    const struct replay_group *g = r->task->group;
    if (search_create(&g->space, options, &r->search, e) < 0)
        return -1;
    for (size_t i = 0; i < g->space.count; i++)
        if (r->tried[i])
            search_tell(r->search, i, &g->outcomes[i].outcome);
    if (r->task->watch)
        r->task->watch(r->task->context, NULL, NULL);
    while (!(enough && is_done(r)) && ask_round(r))
        tell_round(r);
    search_free(r->search);
    r->search = NULL;
    return 0;
}

/* Tries the remaining candidates in declared order. */
static void try_rest(struct replay *r)
{
    const struct replay_group *g = r->task->group;
    for (size_t i = 0; i < g->space.count && !is_done(r); i++) {
        count_trial(r, i, &g->outcomes[i].outcome);
        r->arrived = has_arrived(r);
    }
}

int replay_run(const struct replay_task *task, struct replay_result *out, struct error *e)
{
    struct replay r = {.task = task, .found = NAN};
    struct search_options options = *task->options;
    assert(!isnan(task->group->best) && task->concurrent > 0);
    options.numbers[SEARCH_RANDOM_SEED] = (double)(rng_at(task->seed, 0) >> 11); /* 53 bits */
    options.numbers[SEARCH_MAX_CONCURRENT_TRIALS] = (double)task->concurrent;
    r.tried = xcalloc(task->group->space.count, sizeof *r.tried);
    r.round = xcalloc(task->concurrent, sizeof *r.round);
    int rc = run_search(&r, &options, false, e);
    if (rc == 0) {
        r.result.arrived = r.arrived;
        r.result.stop_trials = r.made;
        r.result.stop_slowdown = slowdown(&r);
        options.numbers[SEARCH_TARGET_GAP] = 0;
        options.numbers[SEARCH_EARLY_STOPPING] = SEARCH_UNLIMITED;
        rc = is_done(&r) ? 0 : run_search(&r, &options, true, e);
    }
    if (rc == 0) {
        try_rest(&r);
        r.result.device_hours = r.device_seconds / SECONDS_PER_HOUR;
        *out = r.result;
    }
    free_all(r.tried, r.round);
    return rc;
}

/* --- statistics --- */

#define INTERVAL_LEAST 3 /* two groups say next to nothing about how far groups differ */

static void interval_of_mean(const double *means, size_t count, struct replay_statistics *out)
{
    double mean = 0, squares = 0;
    for (size_t i = 0; i < count; i++)
        mean += means[i] / (double)count;
    for (size_t i = 0; i < count; i++)
        squares += (means[i] - mean) * (means[i] - mean);
    if (count < INTERVAL_LEAST)
        return;
    double freedom = (double)count - 1, error = sqrt(squares / freedom / (double)count);
    out->low = out->mean - student_quantile(0.975, freedom) * error;
    out->high = out->mean + student_quantile(0.975, freedom) * error;
}

struct replay_statistics replay_summarise(const double *values, size_t groups, size_t per_group)
{
    struct replay_statistics s = {NAN, NAN, NAN, NAN, NAN};
    double *all = xcalloc(groups * per_group + 1, sizeof *all), *means = xcalloc(groups + 1, sizeof *means), sum = 0;
    size_t count = 0, mean_count = 0;
    for (size_t g = 0; g < groups; g++) {
        double group_sum = 0;
        size_t before = count;
        for (size_t i = 0; i < per_group; i++) {
            double value = values[g * per_group + i];
            if (isnan(value))
                continue;
            all[count++] = value;
            group_sum += value;
        }
        sum += group_sum;
        if (count > before)
            means[mean_count++] = group_sum / (double)(count - before);
    }
    if (count > 0) {
        sort_doubles(all, count);
        s.mean = sum / (double)count;
        s.median = quantile(all, count, 0.5);
        s.p90 = quantile(all, count, 0.9);
        interval_of_mean(means, mean_count, &s);
    }
    free_all(all, means);
    return s;
}

/* --- loading --- */

/* A job that has ended. */
struct measured_job {
    int64_t id, attempt_id;
    int64_t specs[SECTION_COUNT]; /* rows of the row space; -1: none */
    unsigned char key[16];
    struct replay_outcome outcome;
};

struct replay_loading {
    const struct replay_request *request;
    struct replay_source *out;
    int64_t sweep_id;
    struct measured_job *jobs;
    size_t count;
};

/* --- the sweep --- */

static int read_sweep(struct replay_loading *l, struct error *e)
{
    const char *config = l->request->config;
    char *path = NULL, *text = NULL;
    if (sweep_read_current(l->request->db, &l->sweep_id, &path, &text, e) < 0)
        return -1;
    int rc = config ? sweep_load(config, &l->out->sweep, e) : sweep_parse(path, text, strlen(text), &l->out->sweep, e);
    if (rc < 0 && !config)
        error_context(e, "the sweep file recorded in the database (to use another, give -c FILE)");
    free_all(path, text);
    if (rc == 0 && l->out->sweep->objective_count == 0)
        rc = error_set(e, ERROR_USAGE,
                       "%s declares no objective, so there is nothing to search for; add [sweep] objective = "
                       "\"max:METRIC\"",
                       l->out->sweep->path);
    if (rc == 0)
        l->out->objective = xstrdup(l->out->sweep->objectives[0].metric);
    return rc;
}

/* --- jobs --- */

/* The columns of src/search/replayed_jobs.sql. */
enum job_column { JOB_ID, JOB_KEY, JOB_FAILURE, JOB_ATTEMPT, JOB_COST, JOB_OBJECTIVE, JOB_PLACE, JOB_OPEN, JOB_SPEC };

static struct replay_outcome read_outcome(const struct stmt *s)
{
    struct replay_outcome o = {.outcome = {.kind = OUTCOME_OK,
                                           .objective = stmt_double_or_nan(s, JOB_OBJECTIVE),
                                           .steps = NAN,
                                           .seconds = NAN,
                                           .bytes = NAN,
                                           .device_seconds = stmt_double_or_nan(s, JOB_COST)},
                               .place = (size_t)stmt_int(s, JOB_PLACE)};
    /* Classes of later versions become a generic failure. */
    const enum failure known = stmt_is_null(s, JOB_FAILURE) ? FAILURE_NONE : failure_by_name(stmt_text(s, JOB_FAILURE));
    if (!stmt_is_null(s, JOB_FAILURE))
        o.failure = failure_names[known ? known : FAILURE_EXIT];
    else if (isnan(o.outcome.objective))
        o.failure = failure_names[FAILURE_NO_METRIC];
    if (o.failure) {
        o.outcome.kind = OUTCOME_FAILED;
        o.outcome.out_of_memory = o.failure == failure_names[FAILURE_OOM];
        o.outcome.objective = NAN;
    }
    return o;
}

static int read_job(struct replay_loading *l, const struct stmt *s, struct recorded_specs *specs, struct error *e)
{
    struct measured_job job = {.id = stmt_int(s, JOB_ID),
                               .attempt_id = stmt_int(s, JOB_ATTEMPT),
                               .outcome = read_outcome(s)};
    memcpy(job.key, stmt_hash(s, JOB_KEY), sizeof job.key);
    for (int i = 0; i < SECTION_COUNT; i++)
        if (recorded_specs_find(specs, (enum section_kind)i, stmt_int(s, JOB_SPEC + i), &job.specs[i], e) < 0)
            return -1;
    *array_add(l->jobs, l->count) = job;
    l->out->unmeasured = (size_t)stmt_int(s, JOB_OPEN);
    return 0;
}

static int read_jobs(struct replay_loading *l, struct error *e)
{
    OWNED_STMT *s = NULL;
    struct recorded_specs *specs = NULL;
    const struct sql_values values = VALUES(sql_int(l->sweep_id), sql_text(l->out->objective));
    int rc = recorded_specs_open(l->request->db, l->out->rows, &specs, e);
    while (rc == 0 && (rc = db_next(l->request->db, embedded_text("src/search/replayed_jobs.sql"), values, &s, e)) > 0)
        rc = read_job(l, s, specs, e);
    recorded_specs_close(specs);
    return rc;
}

/* --- what the sweep file says of what was measured --- */

/* Applies the sweep file's metrics, which may differ from those that the job ran under. */
static int measure_job(const struct replay_loading *l, struct measures *measures, struct measured_job *job,
                       struct error *e)
{
    struct search_outcome *o = &job->outcome.outcome;
    struct measured measured;
    const bool ran_well = o->kind == OUTCOME_OK || job->outcome.failure == failure_names[FAILURE_NO_METRIC];
    if (!ran_well || job->attempt_id == 0)
        return 0;
    if (measures_look(measures, l->request->db, job->attempt_id, &measured, e) < 0)
        return -1;
    if (measured.is_derived) {
        const bool is_there = !isnan(measured.objective);
        o->kind = is_there ? OUTCOME_OK : OUTCOME_FAILED;
        job->outcome.failure = is_there ? NULL : failure_names[FAILURE_NO_METRIC];
        o->objective = measured.objective;
    }
    if (measured.is_feasible || o->kind != OUTCOME_OK)
        return 0;
    l->out->infeasible++;
    o->kind = OUTCOME_FAILED;
    o->objective = NAN;
    job->outcome.failure = FAILURE_INFEASIBLE;
    o->infeasible = true;
    o->out_of_memory = measured.is_over_memory;
    return 0;
}

/* --- candidates --- */

/* Finds whether the rules keep the job, what it measured, and its rank in the space. */
static int place_job(struct replay_loading *l, struct match_cursor *cursor, struct stmt *summaries,
                     struct measured_job *job, struct error *e)
{
    const struct match *m;
    struct measurement measured = {NAN, NAN, NAN};
    int64_t specs[SECTION_COUNT];
    for (int i = 0; i < SECTION_COUNT; i++)
        specs[i] = row_space_find(l->out->rows, (enum section_kind)i, job->specs[i]);
    match_seek(cursor, specs);
    int rc = match_next(cursor, &m, e);
    l->out->excluded += rc == 0;
    if (rc <= 0)
        return rc;
    if (job->outcome.outcome.kind == OUTCOME_OK &&
        learning_measure(l->out->space, summaries, job->attempt_id, m->prediction, &measured, e) < 0)
        return -1;
    job->outcome.outcome.bytes = measured.bytes;
    job->outcome.outcome.seconds = measured.seconds;
    return db_run(l->out->space->db, "INSERT INTO job VALUES (?, ?, ?, 1, 0)",
                  VALUES(sql_int(job->id), sql_blob(job->key, sizeof job->key), sql_int(m->rank)), e);
}

static int place_jobs(struct replay_loading *l, struct error *e)
{
    OWNED_STMT *summaries = NULL;
    struct measures *measures = NULL;
    struct match_cursor *cursor = match_open_single(l->out->space, RULES_EXCLUDE);
    int rc = db_exec(l->out->space->db,
                     "CREATE TABLE job (id INTEGER PRIMARY KEY, key BLOB, rank INTEGER, sweep_id INTEGER,"
                     " priority INTEGER NOT NULL DEFAULT 0)",
                     e) < 0 ||
                     learning_summaries(l->request->db, &summaries, e) < 0
                 ? -1
                 : measures_create(l->out->space, &measures, e);
    for (size_t i = 0; rc == 0 && i < l->count; i++)
        rc = measures && measure_job(l, measures, &l->jobs[i], e) < 0 ? -1
                                                                      : place_job(l, cursor, summaries, &l->jobs[i], e);
    measures_free(measures);
    match_close(cursor);
    return rc;
}

BY_NUMBER(by_id, struct measured_job, ->id)

static struct measured_job *find_job(const struct replay_loading *l, int64_t id)
{
    return &l->jobs[FIRST_SORTED(i, l->count, l->jobs[i].id >= id)];
}

/* As in a run: if the first replicate is ok, the others run too, and the trial's outcome is the mean. */
static void add_replicates(const struct replay_loading *l)
{
    const struct candidate_set *set = &l->out->set;
    OWNED size_t *ok = xcalloc(set->space.count + 1, sizeof *ok);
    for (size_t i = 0; i < set->replicate_count; i++) {
        const struct candidate_job *r = &set->replicates[i];
        const struct replay_outcome *own = &find_job(l, r->job_id)->outcome;
        struct replay_outcome *all = &l->out->outcomes[r->candidate];
        if (all->outcome.kind != OUTCOME_OK)
            continue;
        all->outcome.device_seconds += own->outcome.device_seconds;
        if (own->outcome.kind != OUTCOME_OK)
            continue;
        const double before = (double)++ok[r->candidate];
        all->outcome.objective += (own->outcome.objective - all->outcome.objective) / (before + 1);
    }
    l->out->replicates = set->replicate_count;
}

/* The space's own database lists the jobs with their ranks. */
static int load_candidates(struct replay_loading *l, struct error *e)
{
    struct replay_source *out = l->out;
    const struct candidate_request request = {.space = out->space,
                                              .db = out->space->db,
                                              .sweep_id = 1,
                                              .equal_batch = true};
    if (candidates_load(&request, &out->set, e) < 0)
        return -1;
    array_sort(l->jobs, l->count, by_id);
    out->outcomes = xcalloc(out->set.space.count + 1, sizeof *out->outcomes);
    for (size_t i = 0; i < out->set.space.count; i++)
        out->outcomes[i] = find_job(l, out->set.job_ids[i])->outcome;
    add_replicates(l);
    if (out->set.space.count == 0)
        return error_set(e, ERROR_NOTHING,
                         "no measured job is left to search: %zu have not ended, %zu are excluded by rules",
                         out->unmeasured, out->excluded);
    return 0;
}

/* --- groups --- */

/* Groups are named by their first job; what the members share is up to the search. */
static void group_as_the_search_does(struct replay_source *out)
{
    out->group_count = out->set.space.group_count;
    out->group_names = xcalloc(out->group_count + 1, sizeof *out->group_names);
    for (size_t i = 0; i < out->set.space.count; i++) {
        size_t group = out->group_of[i] = out->set.space.candidates[i].group;
        if (!out->group_names[group])
            out->group_names[group] = xasprintf("with job %lld", (long long)out->set.job_ids[i]);
    }
}

static size_t group_named(struct replay_source *out, const char *name)
{
    size_t g = FIRST(k, out->group_count, strcmp(out->group_names[k], name) == 0);
    if (g == out->group_count)
        *array_add(out->group_names, out->group_count) = xstrdup(name);
    return g;
}

/* "layers=16 num_hosts=1" from a row whose first column is the job. */
static void describe_row(const struct stmt *s, struct buffer *out)
{
    buffer_clear(out);
    for (int c = 1; c < stmt_column_count(s); c++)
        buffer_printf(out, "%s%s=%s", c > 1 ? " " : "", stmt_column_name(s, c),
                      stmt_is_null(s, c) ? "" : stmt_text(s, c));
}

/* `s` returns a job and the columns that name its group. */
static int take_groups(struct replay_source *out, struct stmt *s, struct error *e)
{
    OWNED_BUFFER name = BUFFER_INIT;
    int rc;
    while ((rc = stmt_next(s, e)) > 0) {
        const size_t candidate = candidate_set_find(&out->set, stmt_int(s, 0));
        if (candidate == SIZE_MAX)
            continue;
        describe_row(s, &name);
        out->group_of[candidate] = group_named(out, buffer_text(&name));
    }
    return rc;
}

static int group_by_columns(struct replay_loading *l, struct error *e)
{
    OWNED_STMT *s = NULL;
    OWNED char *columns = xasprintf("job,%s", l->request->group_by);
    const struct result_query query = {.columns = columns, .columns_option = "--group-by"};
    return result_query_open(l->request->db, &query, &s, e) < 0 ? -1 : take_groups(l->out, s, e);
}

/* As in the view configurations (results/configurations.h): "section.key", or the name of a derived key. */
static int group_as_listed(struct replay_loading *l, struct error *e)
{
    const struct word_list *groups = &l->out->sweep->groups;
    struct buffer sql = BUFFER_INIT;
    OWNED_STMT *s = NULL;
    buffer_add_text(&sql, "SELECT j.id");
    for (size_t i = 0; i < groups->count; i++) {
        const char *name = groups->items[i].text, *dot = strchr(name, '.'), *key = dot ? dot + 1 : name;
        buffer_add_text(&sql, ", json_extract(");
        if (dot)
            buffer_printf(&sql, "(SELECT json FROM spec WHERE id = j.%.*s_id)", (int)strcspn(name, "_."), name);
        else
            buffer_add_text(&sql, "j.derived");
        buffer_printf(&sql, ", '$.\"%s\"') AS \"%s\"", key, strcmp(key, "name") == 0 ? name : key);
    }
    buffer_add_text(&sql, " FROM job AS j WHERE j.sweep_id = ?1 ORDER BY j.rank, j.id");
    int rc = db_prepare_built(l->request->db, &sql, &s, e);
    if (rc == 0) {
        stmt_bind_at(s, 1, sql_int(l->sweep_id));
        rc = take_groups(l->out, s, e);
    }
    l->out->has_listed_groups = true;
    return rc;
}

static int load_source(struct replay_loading *l, struct error *e)
{
    static const struct space_options options = {0};
    struct replay_source *out = l->out;
    if (read_sweep(l, e) < 0)
        return -1;
    out->rows = row_space_create(out->sweep);
    if (read_jobs(l, e) < 0)
        return -1;
    if (l->count == 0)
        return error_set(e, ERROR_NOTHING, "no job of the current sweep has ended, so there is nothing to replay");
    if (row_space_build(out->rows, &options, &out->space, e) < 0 || place_jobs(l, e) < 0 || load_candidates(l, e) < 0)
        return -1;
    out->group_of = xcalloc(out->set.space.count + 1, sizeof *out->group_of);
    if (l->request->group_by)
        return group_by_columns(l, e);
    if (out->sweep->groups.count > 0)
        return group_as_listed(l, e);
    group_as_the_search_does(out);
    return 0;
}

int replay_load(const struct replay_request *request, struct replay_source *out, struct error *e)
{
    struct replay_loading l = {.request = request, .out = out};
    *out = (struct replay_source){0};
    /* One snapshot, since the database may be written to, and one lock for a hundred thousand queries. */
    int rc = db_exec(request->db, "BEGIN", e);
    if (rc == 0) {
        rc = load_source(&l, e);
        db_rollback(request->db);
    }
    free(l.jobs);
    return rc;
}

void replay_source_free(struct replay_source *s)
{
    for (size_t i = 0; i < s->group_count; i++)
        free(s->group_names[i]);
    free_all(s->group_names, s->group_of, s->outcomes, s->objective);
    candidates_free(&s->set);
    space_free(s->space);
    row_space_free(s->rows);
    sweep_free(s->sweep);
    *s = (struct replay_source){0};
}
