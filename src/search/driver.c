#include "search/driver.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "search/belief.h"
#include "util/clock.h"
#include "util/memory.h"

struct search_outcome search_outcome_of(const struct job_outcome *o)
{
    const bool failed = strcmp(o->state, "failed") == 0;
    const char *failure = failed && o->failure ? o->failure : "";
    return (struct search_outcome){
        .kind = failed                                           ? OUTCOME_FAILED
                : o->stopped || strcmp(o->state, "stopped") == 0 ? OUTCOME_STOPPED
                                                                 : OUTCOME_OK,
        .out_of_memory = strcmp(failure, "oom") == 0 || strcmp(failure, FAILURE_INFEASIBLE_MEMORY) == 0,
        .infeasible = strncmp(failure, FAILURE_INFEASIBLE, strlen(FAILURE_INFEASIBLE)) == 0,
        .pruned = failed && o->attempt_id == 0,
        .objective = failed ? NAN : o->objective,
        .steps = o->steps,
        .seconds = o->seconds,
        .bytes = o->bytes,
        .device_seconds = o->device_seconds,
    };
}

/* --- replicates --- */

int replicates_add(const struct replicates_query *q, size_t candidate, struct job_outcome *o, bool *waits,
                   struct error *e)
{
    double sum = o->objective, ok = 1;
    *waits = false;
    if (strcmp(o->state, "ok") != 0 || o->stopped)
        return 0;
    for (size_t i = 0; i < q->set->replicate_count; i++) {
        struct candidate_job *r = &q->set->replicates[i];
        const struct job_outcome_query query = {q->sweep_id, r->job_id, q->objective};
        OWNED_STMT *s = NULL;
        struct job_outcome other;
        if (r->candidate != candidate)
            continue;
        int rc = job_outcome_next(q->db, &query, &s, &other, e);
        if (rc < 0)
            return -1;
        const char *state = rc > 0 ? other.state : "failed";
        *waits |= strcmp(state, "ok") != 0 && strcmp(state, "failed") != 0;
        if (strcmp(state, "pending") == 0)
            q->is_due(q->context, r);
        if (strcmp(state, "ok") == 0 && isfinite(other.objective)) {
            sum += other.objective;
            ok++;
        }
    }
    o->objective = sum / ok;
    return 0;
}

/* --- repeating --- */

/* What the search to repeat asked for, or was told. */
struct past_event {
    int64_t sequence, trial_id;
    bool asks;
    size_t candidate;
    double resource;
    struct search_outcome outcome; /* that was told */
};

BY_NUMBER(compare_events, struct past_event, ->sequence)

/* The strategy decides again as it did. If it does not (rows were deleted, say), what was done counts. */
static void repeat_decision(struct search *search, const struct past_event *t)
{
    struct decision again;
    if (search_ask(search, &again) == SEARCH_RUN) {
        if (again.candidate == t->candidate)
            return;
        search_forget(search, again.candidate);
    }
    search_begin(search, t->candidate, t->resource);
}

int past_repeat(const struct past_request *request, struct past_candidate *out, int64_t *last, struct error *e)
{
    OWNED struct past_event *events = NULL;
    size_t count = 0;
    struct trial_row row;
    OWNED_STMT *s = NULL;
    int rc;
    *last = 0;
    while ((rc = trial_next(request->db, request->search_id, &s, &row, e)) > 0) {
        if (request->complete && request->complete(request->context, &row, e) < 0)
            return -1;
        for (int asks = 0; asks <= 1; asks++) {
            const struct past_event event = {asks ? row.asked : row.told,
                                             row.id,
                                             asks,
                                             candidate_set_find(request->set, row.outcome.job_id),
                                             isnan(row.resource) ? 0 : row.resource,
                                             row.told ? search_outcome_of(&row.outcome) : (struct search_outcome){0}};
            *last = event.sequence > *last ? event.sequence : *last;
            if (event.sequence && event.candidate != SIZE_MAX) /* else it is not selected this time */
                *array_add(events, count) = event;
        }
    }
    array_sort(events, count, compare_events);
    for (size_t i = 0; rc == 0 && i < count; i++) {
        const struct past_event *event = &events[i];
        struct past_candidate *c = &out[event->candidate];
        c->trial_id = event->asks ? event->trial_id : 0;
        if (event->asks) {
            repeat_decision(request->search, event);
            c->resource = event->resource;
        } else {
            search_tell(request->search, event->candidate, &event->outcome);
            c->done = true;
        }
    }
    return rc;
}

/* --- the driver --- */

/* Progress of a candidate's job. */
struct candidate_progress {
    size_t looks, looked_at; /* racing: number of looks, and the number of steps at the last one */
    int64_t counting_ms;     /* when the first counted step of the current run was seen; 0: not yet */
    bool queued;             /* in `again` */
};

/* First in, first out. */
struct job_queue {
    int64_t *job_ids;
    size_t count;
};

struct search_driver {
    struct candidate_request request;
    const struct measures *measures; /* NULL: none */
    const char *objective;           /* NULL: none */
    char *steps; /* metric whose steps count: the first that a derived objective reads; NULL: none */
    struct candidate_set set;
    struct search *search;
    struct past_candidate *trials; /* by candidate, and so is this: */
    struct candidate_progress *progress;
    struct job_queue further; /* replicates that are due */
    struct job_queue again;   /* candidates with open trials and pending jobs */
    struct job_queue later;   /* the same, of which others are tried before: they are to be measured once more */
    int64_t search_id;        /* 0: not begun */
    int64_t sequence;         /* events so far */
    int64_t opened_ms;
    int64_t reopened; /* see struct claim_source */
    bool is_over;
    char reason[SEARCH_REASON_BYTES];
};

/* --- making --- */

static char *steps_metric(const struct measures *measures, const char *objective)
{
    const char *const *read = objective ? measures_inputs(measures, objective) : NULL;
    if (read)
        return read[0] ? xstrdup(read[0]) : NULL;
    return objective ? xstrdup(objective) : NULL;
}

int search_driver_create(const struct search_driver_options *options, struct search_driver **out, struct error *e)
{
    struct search_driver *d = xcalloc(1, sizeof *d);
    const struct sweep *sweep = options->candidates.space->sweep;
    d->request = options->candidates;
    d->objective = sweep->objective_count ? sweep->objectives[0].metric : NULL;
    d->measures = options->measures;
    d->steps = steps_metric(d->measures, d->objective);
    d->opened_ms = clock_monotonic_ms();
    if (candidates_load(&d->request, &d->set, e) < 0 ||
        search_create(&d->set.space, options->search, &d->search, e) < 0) {
        search_driver_free(d);
        return -1;
    }
    d->trials = xcalloc(d->set.space.count + 1, sizeof *d->trials);
    d->progress = xcalloc(d->set.space.count + 1, sizeof *d->progress);
    *out = d;
    return 0;
}

void search_driver_free(struct search_driver *d)
{
    if (!d)
        return;
    search_free(d->search);
    candidates_free(&d->set);
    free_all(d->steps, d->trials, d->progress, d->again.job_ids, d->later.job_ids, d->further.job_ids, d);
}

const char *search_driver_note(const struct search_driver *d)
{
    return search_strategy_has(search_options(d->search)->strategy, NEEDS_TIMES) ? d->set.unknown : NULL;
}

/* Returns whether what it tries next depends on what came of others. */
static bool compares(const struct search_driver *d)
{
    return !search_strategy_has(search_options(d->search)->strategy, TRIES_ALL);
}

char *search_driver_groups(const struct search_driver *d)
{
    return compares(d) && !d->request.space->sweep->groups_given ? candidate_set_groups(&d->set) : NULL;
}

const char *search_driver_reason(const struct search_driver *d, struct search_counts *counts)
{
    if (counts)
        *counts = search_counts(d->search);
    return d->reason;
}

/* --- outcomes --- */

static const char *const outcome_names[] =
    {[OUTCOME_OK] = "ok", [OUTCOME_STOPPED] = "stopped", [OUTCOME_FAILED] = "failed"};

/* Tells the strategy and writes the row: that of the open trial, or a new one for an outcome known before. */
static int take_outcome(struct search_driver *d, size_t candidate, const struct job_outcome *o, struct error *e)
{
    struct past_candidate *trial = &d->trials[candidate];
    struct search_outcome outcome = search_outcome_of(o);
    struct job_outcome row = *o;
    row.state = outcome_names[outcome.kind];
    int rc;
    if (trial->trial_id) {
        rc = trial_record_outcome(d->request.db, trial->trial_id, ++d->sequence, &row, e);
    } else {
        int64_t id;
        const struct trial_row known = {.told = ++d->sequence,
                                        .resource = NAN,
                                        .reason = "known without a trial",
                                        .outcome = row};
        rc = trial_record(d->request.db, d->search_id, &known, &id, e);
    }
    trial->trial_id = 0;
    trial->done = true;
    search_tell(d->search, candidate, &outcome);
    return rc;
}

/* --- replicates --- */

static void queue_job(struct job_queue *q, int64_t job_id, bool *queued)
{
    if (*queued)
        return;
    *queued = true;
    *array_add(q->job_ids, q->count) = job_id;
}

static void take_queued(struct search_driver *d, struct job_queue *q, int64_t *job_ids, size_t room, size_t *count)
{
    for (; q->count > 0 && *count < room; ++*count) {
        job_ids[*count] = q->job_ids[0];
        memmove(q->job_ids, q->job_ids + 1, --q->count * sizeof *q->job_ids);
        size_t candidate = candidate_set_find(&d->set, job_ids[*count]);
        if (candidate != SIZE_MAX) /* a replicate counts as queued until it has ended */
            d->progress[candidate].queued = false;
    }
}

static void queue_replicate(void *context, struct candidate_job *r)
{
    queue_job(&((struct search_driver *)context)->further, r->job_id, &r->queued);
}

/* Adds the replicates' outcomes if the trial was to run to its end, and queues replicates that are due. */
static int sum_replicates(struct search_driver *d, size_t candidate, struct job_outcome *o, bool *waits,
                          struct error *e)
{
    const struct replicates_query query = {d->request.db, d->request.sweep_id, d->objective,
                                           &d->set,       queue_replicate,     d};
    *waits = false;
    return d->trials[candidate].resource > 0 ? 0 : replicates_add(&query, candidate, o, waits, e);
}

/* Takes the job's outcome if it has one (`*done`). `*waits`: its replicates have not ended. */
static int take_job(struct search_driver *d, int64_t job_id, bool *done, bool *waits, struct error *e)
{
    const struct job_outcome_query query = {d->request.sweep_id, job_id, d->objective};
    size_t candidate = candidate_set_find(&d->set, job_id);
    struct job_outcome o;
    OWNED_STMT *s = NULL;
    int rc = job_outcome_next(d->request.db, &query, &s, &o, e);
    *waits = false;
    *done = rc > 0 && (strcmp(o.state, "ok") == 0 || strcmp(o.state, "failed") == 0);
    if (!*done || candidate == SIZE_MAX)
        return rc < 0 ? -1 : 0;
    if (sum_replicates(d, candidate, &o, waits, e) < 0)
        return -1;
    *done = !*waits;
    return *done ? take_outcome(d, candidate, &o, e) : 0;
}

/* --- the search's own rows --- */

static void add_stages(const struct search_options *o, struct buffer *json)
{
    OWNED_JSON *stages = cJSON_CreateArray();
    for (size_t i = 0; i < o->stage_count; i++) {
        cJSON *stage = cJSON_CreateObject(), *keys = cJSON_CreateArray();
        cJSON_AddStringToObject(stage, "name", o->stages[i].name);
        for (size_t k = 0; k < o->stages[i].free.count; k++)
            cJSON_AddItemToArray(keys, cJSON_CreateString(o->stages[i].free.items[k].text));
        cJSON_AddItemToObject(stage, "free", keys);
        cJSON_AddStringToObject(stage, "strategy", o->stages[i].strategy);
        cJSON_AddNumberToObject(stage, "max_trials", (double)o->stages[i].max_trials);
        cJSON_AddItemToArray(stages, stage);
    }
    OWNED char *text = cJSON_PrintUnformatted(stages);
    buffer_printf(json, ",\"stages\":%s", text);
}

static void add_options(const struct search_options *o, struct buffer *json)
{
    buffer_add_char(json, '{');
    for (size_t i = 0; i < SEARCH_NUMBER_COUNT; i++) {
        buffer_printf(json, "\"%s\":", search_numbers[i].key);
        buffer_add_double(json, o->numbers[i]);
        buffer_add_char(json, ',');
    }
    buffer_add_text(json, "\"zero_stages\":[");
    const char *between = "";
    for (int i = 0; i < SEARCH_ZERO_STAGES; i++)
        if (o->zero_stages[i]) {
            buffer_printf(json, "%s%d", between, i);
            between = ",";
        }
    buffer_printf(json, "],\"order\":\"%s\",\"racing\":%s,\"equal_batch\":%s", search_order_names[o->order],
                  o->racing ? "true" : "false", o->equal_batch ? "true" : "false");
    if (search_strategy_has(o->strategy, IN_STAGES))
        add_stages(o, json);
    buffer_add_char(json, '}');
}

int search_look_up(struct db *db, const struct hash128 *sweep, const struct search_options *o, int64_t *trials,
                   char **finished, struct error *e)
{
    static const char sql[] = "SELECT (SELECT count(*) FROM trial WHERE search_id = s.id AND asked IS NOT NULL"
                              " AND told IS NOT NULL), finished FROM search AS s WHERE strategy = ?2 AND options = ?3"
                              " AND sweep_id = (SELECT id FROM sweep WHERE hash = ?1) ORDER BY id DESC LIMIT 1";
    OWNED_BUFFER json = BUFFER_INIT;
    OWNED_STMT *s = NULL;
    add_options(o, &json);
    int rc = db_next(db, sql, VALUES(sql_hash(sweep), sql_text(o->strategy), sql_text(buffer_text(&json))), &s, e);
    *trials = rc > 0 ? stmt_int(s, 0) : 0;
    *finished = rc > 0 && !stmt_is_null(s, 1) ? xstrdup(stmt_text(s, 1)) : NULL;
    return rc < 0 ? -1 : 0;
}

/* --- beginning --- */

static int note_done(struct search_driver *d, struct job_outcome *o, struct error *e)
{
    size_t candidate = candidate_set_find(&d->set, o->job_id);
    if (candidate == SIZE_MAX)
        return 0;
    struct past_candidate *trial = &d->trials[candidate];
    bool known = trial->done && !trial->trial_id, waits = false;
    if (!known && sum_replicates(d, candidate, o, &waits, e) < 0)
        return -1;
    trial->done = !waits;
    d->progress[candidate].queued = true; /* temporarily: its job is not pending */
    return known || waits ? 0 : take_outcome(d, candidate, o, e);
}

static int note_all_done(struct search_driver *d, struct error *e)
{
    const struct job_outcome_query every = {d->request.sweep_id, 0, d->objective};
    struct job_outcome o;
    OWNED_STMT *s = NULL;
    int rc;
    while ((rc = job_outcome_next(d->request.db, &every, &s, &o, e)) > 0 && (rc = note_done(d, &o, e)) == 0)
        continue;
    return rc;
}

/* Opens a trial for a job that a person requested again. */
static int reopen(struct search_driver *d, size_t candidate, struct error *e)
{
    const struct trial_row row = {.asked = ++d->sequence,
                                  .resource = NAN,
                                  .reason = "requested again",
                                  .outcome = {.job_id = d->set.job_ids[candidate]}};
    search_begin(d->search, candidate, 0);
    d->trials[candidate].done = false;
    return trial_record(d->request.db, d->search_id, &row, &d->trials[candidate].trial_id, e);
}

/* Queues open trials whose jobs are pending, and jobs that became pending again after their trials ended. */
static int queue_open(struct search_driver *d, struct error *e)
{
    for (size_t i = 0; i < d->set.space.count; i++) {
        bool *queued = &d->progress[i].queued, job_done = *queued;
        *queued = false;
        if (job_done)
            continue;
        if (d->trials[i].done && !d->trials[i].trial_id && reopen(d, i, e) < 0)
            return -1;
        if (d->trials[i].trial_id)
            queue_job(&d->again, d->set.job_ids[i], queued);
    }
    return 0;
}

/* Runs in the transaction of the first claims, after the leftovers of a dead runner were repaired. */
static int begin_search(struct search_driver *d, struct error *e)
{
    const struct search_options *o = search_options(d->search);
    OWNED_BUFFER json = BUFFER_INIT;
    add_options(o, &json);
    if (search_open(d->request.db, d->request.sweep_id, o->strategy, buffer_text(&json), &d->search_id, e) < 0)
        return -1;
    const struct past_request past = {d->request.db, d->search_id, &d->set, d->search, NULL, NULL};
    return past_repeat(&past, d->trials, &d->sequence, e) < 0 || note_all_done(d, e) < 0 ? -1 : queue_open(d, e);
}

/* --- claims --- */

static int64_t left_ms(void *context)
{
    const struct search_driver *d = context;
    double deadline = search_options(d->search)->numbers[SEARCH_DEADLINE];
    double left = 1000 * deadline - (double)(clock_monotonic_ms() - d->opened_ms);
    return deadline > 0 ? (int64_t)fmax(0, left) : -1;
}

static bool is_late(struct search_driver *d)
{
    if (left_ms(d) != 0)
        return false;
    snprintf(d->reason, sizeof d->reason, "deadline: %g s have passed",
             search_options(d->search)->numbers[SEARCH_DEADLINE]);
    return true;
}

/* Finds one more job to start: SEARCH_RUN with *job_id. */
static int next_job(struct search_driver *d, int64_t *job_id, enum search_answer *answer, struct error *e)
{
    struct decision decision;
    bool waits = false;
    for (bool done = true; done;) {
        *answer = search_ask(d->search, &decision);
        snprintf(d->reason, sizeof d->reason, "%s", decision.reason);
        if (*answer != SEARCH_RUN)
            return 0;
        *job_id = d->set.job_ids[decision.candidate];
        if (trial_reopen_job(d->request.db, *job_id, &d->reopened, e) < 0 || take_job(d, *job_id, &done, &waits, e) < 0)
            return -1;
    }
    d->trials[decision.candidate].resource = decision.resource;
    char lineage[24];
    snprintf(lineage, sizeof lineage, "%" PRIu64, decision.lineage);
    const struct trial_row row = {.asked = ++d->sequence,
                                  .resource = decision.resource > 0 ? decision.resource : NAN,
                                  .lineage = lineage,
                                  .draw = (int64_t)decision.index,
                                  .reason = decision.reason,
                                  .outcome = {.job_id = *job_id}};
    if (waits) {
        size_t taken = 0;
        *job_id = 0;
        take_queued(d, &d->further, job_id, 1, &taken);
    }
    return trial_record(d->request.db, d->search_id, &row, &d->trials[decision.candidate].trial_id, e);
}

static int choose(void *context, int64_t *job_ids, size_t room, size_t *count, enum claim_answer *answer,
                  struct error *e)
{
    struct search_driver *d = context;
    enum search_answer said = SEARCH_RUN;
    *count = 0;
    if (!d->search_id && begin_search(d, e) < 0)
        return -1;
    take_queued(d, &d->again, job_ids, room, count);
    take_queued(d, &d->further, job_ids, room, count);
    bool late = is_late(d);
    while (!late && *count < room && said == SEARCH_RUN) {
        if (next_job(d, &job_ids[*count], &said, e) < 0)
            return -1;
        *count += said == SEARCH_RUN && job_ids[*count];
    }
    take_queued(d, &d->later, job_ids, room, count);
    /* A trial that has not ended: its job runs, or waits for another try. */
    d->is_over = late || (said == SEARCH_FINISHED && !ANY(i, d->set.space.count, d->trials[i].trial_id));
    *answer = d->is_over ? CLAIM_FINISHED : said == SEARCH_RUN ? CLAIM_MORE : CLAIM_WAIT;
    return db_run(d->request.db, "UPDATE search SET finished = ?2 WHERE id = ?1 AND finished IS NOT ?2",
                  VALUES(sql_int(d->search_id), sql_text(d->is_over ? d->reason : NULL)), e);
}

/* `attempt_id` 0: it has none any more. */
static int attach_trial(struct search_driver *d, size_t candidate, int64_t attempt_id, struct error *e)
{
    return db_run(d->request.db, "UPDATE trial SET attempt_id = ?2 WHERE id = ?1",
                  VALUES(sql_int(d->trials[candidate].trial_id), sql_positive(attempt_id)), e);
}

static int claimed(void *context, const struct claim *claim, struct error *e)
{
    struct search_driver *d = context;
    size_t candidate = candidate_set_find(&d->set, claim->job_id);
    if (candidate == SIZE_MAX)
        return 0;
    struct candidate_progress *s = &d->progress[candidate];
    s->looks = s->looked_at = 0;
    s->counting_ms = 0;
    return attach_trial(d, candidate, claim->attempt_id, e);
}

static int released(void *context, const struct claim *claim, struct error *e)
{
    struct search_driver *d = context;
    struct candidate_job *r = candidate_set_replicate(&d->set, claim->job_id);
    if (r) {
        r->queued = false;
        return 0;
    }
    return attach_trial(d, candidate_set_find(&d->set, claim->job_id), 0, e);
}

static int ended(void *context, const struct claim_end *end, struct error *e)
{
    struct search_driver *d = context;
    size_t candidate = candidate_set_find(&d->set, end->claim.job_id);
    struct candidate_job *r = d->search_id ? candidate_set_replicate(&d->set, end->claim.job_id) : NULL;
    bool done, waits;
    if (r) {
        /* A job that is to run again is pending, and is found as such. */
        r->queued = false;
        return d->trials[r->candidate].trial_id ? take_job(d, d->set.job_ids[r->candidate], &done, &waits, e) : 0;
    }
    if (candidate == SIZE_MAX || !d->search_id)
        return 0;
    if (end->job_end == JOB_END_AGAIN) {
        /* A machine's change over time is not to be taken for a job's: its repeats are apart. */
        queue_job(end->failure || compares(d) ? &d->again : &d->later, end->claim.job_id,
                  &d->progress[candidate].queued);
        return 0;
    }
    if (end->job_end == JOB_END_GONE) {
        search_forget(d->search, candidate);
        d->trials[candidate].trial_id = 0;
        return 0;
    }
    return take_job(d, end->claim.job_id, &done, &waits, e);
}

/* --- ending early --- */

/* The objective's counted steps that are finite and kept. The caller frees them. *all: the number before dropping any;
 * *last: the last step that was reported. */
static double *counted_steps(const struct search_driver *d, const struct sample_list *l, size_t *count, int64_t *all,
                             int64_t *last)
{
    const size_t i = d->steps ? sample_list_find(l, d->steps) : l->name_count;
    *count = 0;
    *all = 0;
    *last = -1;
    if (i == l->name_count)
        return NULL;
    *all = l->series[i].tally.counted + l->series[i].tally.not_finite;
    *last = l->series[i].tally.last_step;
    return sample_list_counted(l, i, count);
}

/* Only with a median or a mean can a run's result be bounded before its end. */
static bool can_race(const struct search_driver *d)
{
    const struct metric *m = d->objective ? job_find_metric(&d->request.space->sweep->job, d->objective) : NULL;
    return d->steps && search_options(d->search)->racing && (!m || m->take == TAKE_MEDIAN || m->take == TAKE_MEAN);
}

/* For a derived objective, replaces `*values` by its value at each step so far; they may become empty. */
static void derive_values(const struct search_driver *d, const struct claim *claim, const struct sample_list *so_far,
                          double **values, size_t *count)
{
    const struct running_measure running = {claim->attempt_id, d->objective, so_far};
    struct error ignored = ERROR_INIT;
    if (!measures_inputs(d->measures, d->objective))
        return;
    free(*values);
    if (measures_count_so_far(d->measures, d->request.db, &running, values, count, &ignored) < 0)
        *count = 0;
}

/* `*values` are those of the metric whose steps count. */
static bool is_lost(struct search_driver *d, const struct claim *claim, const struct sample_list *so_far,
                    double **values, size_t count)
{
    const size_t candidate = candidate_set_find(&d->set, claim->job_id);
    struct candidate_progress *s = &d->progress[candidate];
    struct race race = {.maximise = d->set.space.maximise,
                        .confidence = search_options(d->search)->numbers[SEARCH_CONFIDENCE]};
    size_t best;
    if (!can_race(d) || count <= s->looked_at ||
        !search_best(d->search, d->set.space.candidates[candidate].group, &best, &race.incumbent))
        return false;
    s->looked_at = count;
    derive_values(d, claim, so_far, values, &count);
    race.look = ++s->looks;
    return race_is_lost(&race, *values, count);
}

/* Returns whether the last step to measure was reported, or reaching the minimum and the remaining steps would take too
 * long.
 */
static bool all_steps_are_in(const struct search_driver *d, struct candidate_progress *s, int64_t counted, int64_t last)
{
    const struct job_config *job = &d->request.space->sweep->job;
    const int64_t now_ms = clock_monotonic_ms();
    if (job->last_step == 0 || counted == 0)
        return false;
    if (!s->counting_ms)
        s->counting_ms = now_ms;
    return last >= job->last_step ||
           (last >= job->least_step && (double)(now_ms - s->counting_ms) >= PROFILE_SECONDS * 1000);
}

static const char *why_end(void *context, const struct claim *claim, const struct sample_list *so_far)
{
    struct search_driver *d = context;
    size_t candidate = candidate_set_find(&d->set, claim->job_id), count;
    int64_t all, last;
    if (candidate == SIZE_MAX || !d->trials[candidate].trial_id)
        return NULL;
    struct candidate_progress *s = &d->progress[candidate];
    OWNED double *values = counted_steps(d, so_far, &count, &all, &last);
    const char *why = NULL;
    if (all_steps_are_in(d, s, all, last))
        why = "ended as planned: it has measured all steps up to end_profile_step";
    else if (d->trials[candidate].resource > 0 && (double)all >= d->trials[candidate].resource)
        why = "ended as planned: it has measured the steps of its trial";
    else if (is_lost(d, claim, so_far, &values, count))
        why = "stopped early: it could no longer become the best";
    return why;
}

/* Replicates that are due run in addition to the trials. */
static int64_t to_come(void *context)
{
    const struct search_driver *d = context;
    int64_t trials = d->is_over ? 0 : search_trials_to_come(d->search);
    return trials < 0 ? -1 : trials + (int64_t)d->further.count;
}

struct claim_source search_driver_source(struct search_driver *d)
{
    return (struct claim_source){.ahead = 0,
                                 .choose = choose,
                                 .claimed = claimed,
                                 .released = released,
                                 .ended = ended,
                                 .to_come = to_come,
                                 .left_ms = left_ms,
                                 .why_end = why_end,
                                 .reopened = &d->reopened,
                                 .context = d};
}
