#include "search/replay.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "evidence/oom.h"
#include "search/subspace.h"
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
    bool maximise = g->space.maximise;
    if (isnan(g->best) || (maximise ? value > g->best : value < g->best))
        g->best = value, g->winner = candidate;
    if (isnan(g->worst) || (maximise ? value < g->worst : value > g->worst))
        g->worst = value;
}

/* Sorts by key values: a table may be ordered by its results, which a sweep file never is. */
static int by_values(const void *a, const void *b, void *context)
{
    const struct search_space *space = context;
    const size_t x = *(const size_t *)a, y = *(const size_t *)b;
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
        qsort_r(g->members, count, sizeof *g->members, by_values, (struct search_space *)space);
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
        size_t n = g->space.count++;
        g->members = array_grow(g->members, n, sizeof *g->members);
        g->members[n] = i;
    }
    for (size_t i = 0; i < group_count; i++)
        fill_group(&groups[i], space, outcomes);
    return groups;
}

void replay_groups_free(struct replay_group *groups, size_t count)
{
    for (size_t i = 0; groups && i < count; i++) {
        free(groups[i].candidates);
        free(groups[i].members);
        free(groups[i].outcomes);
        free(groups[i].places);
        free(groups[i].terms);
    }
    free(groups);
}

/* --- wrong predictions --- */

/* Log-uniform in [1/most, most]. */
static double draw_factor(struct rng *r, double most)
{
    double u = (double)(rng_next(r) >> 11) * 0x1p-53;
    return exp((2 * u - 1) * log(most));
}

static void predict_again(struct candidate *c, const struct search_place *place)
{
    struct error ignored;
    if (c->memory_terms) {
        c->bytes = weighted_sum(place->memory.weights, c->memory_terms, place->memory.terms);
        if (oom_probability(c->bytes, place->memory.sigma, c->usable_bytes, 0, &c->oom_probability, &ignored) < 0)
            c->oom_probability = NAN;
    }
    if (c->time_terms) {
        double seconds = weighted_sum(place->time.weights, c->time_terms, place->time.terms);
        c->run_seconds *= seconds / c->seconds;
        c->seconds = seconds;
    }
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
        c->run_seconds *= of_time;
        c->bytes *= of_memory;
        c->oom_probability = 1 - c->oom_probability;
    }
}

static void leave_out(struct replay_group *g)
{
    g->space.place_count = 0;
    for (struct candidate *c = g->candidates; c < g->candidates + g->space.count; c++) {
        c->bytes = c->oom_probability = c->seconds = c->run_seconds = NAN;
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
        c->run_seconds = whole->run_seconds;
        c->oom_probability = whole->oom_probability;
        c->memory_terms = whole->memory_terms;
        c->time_terms = whole->time_terms;
        if (c->place < space->place_count)
            predict_again(c, &g->places[c->place]);
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
    size_t round_count, rounds;
    size_t made;
    bool arrived;
    double found;          /* best objective so far; NAN: none */
    double device_seconds; /* NAN once a cost is not known */
    struct replay_result result;
};

static bool is_better(const struct replay *r, double value)
{
    return isnan(r->found) || (r->task->group->space.maximise ? value > r->found : value < r->found);
}

static double slowdown(const struct replay *r)
{
    const struct replay_group *g = r->task->group;
    double found = isnan(r->found) ? g->worst : r->found;
    return g->space.maximise ? g->best / found : found / g->best;
}

static bool has_arrived(const struct replay *r)
{
    double best = r->task->group->best, gap = r->task->target_gap;
    if (isnan(r->found))
        return false;
    return r->task->group->space.maximise ? r->found >= (1 - gap) * best : r->found <= (1 + gap) * best;
}

/* Counts a trial that ended. After the target, it counts only for the marks. */
static void count_trial(struct replay *r, size_t candidate, const struct search_outcome *o)
{
    if (r->tried[candidate])
        return;
    r->tried[candidate] = true;
    r->made++;
    if (o->kind == OUTCOME_OK && is_better(r, o->objective))
        r->found = o->objective;
    for (size_t m = 0; m < REPLAY_MARKS; m++)
        if (r->made <= replay_marks[m])
            r->result.slowdown[m] = slowdown(r);
    if (r->arrived)
        return;
    r->result.trials++;
    r->result.failed += o->kind == OUTCOME_FAILED;
    r->device_seconds += r->task->group->outcomes[candidate].device_seconds;
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

/* Tells the round in a drawn order: concurrent trials may end in any order. */
static void tell_in_some_order(struct replay *r)
{
    struct rng draws = rng_stream(r->task->order_seed, r->rounds++);
    size_t *order = xcalloc(r->round_count, sizeof *order);
    for (size_t i = 0; i < r->round_count; i++)
        order[i] = i;
    for (size_t left = r->round_count; left > 0; left--) {
        size_t i = (size_t)rng_below(&draws, left);
        const struct decision *d = &r->round[order[i]];
        struct search_outcome o = outcome_of(r, d);
        search_tell(r->search, d->candidate, &o);
        order[i] = order[left - 1];
    }
    free(order);
}

/* Counts trials in the order of the requests. Reaching the target within a round costs the whole round. */
static void tell_round(struct replay *r)
{
    tell_in_some_order(r);
    for (size_t i = 0; i < r->round_count; i++) {
        const struct decision *d = &r->round[i];
        const struct replay_outcome *known = &r->task->group->outcomes[d->candidate];
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
    free(r.tried);
    free(r.round);
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
    free(all);
    free(means);
    return s;
}
