#include "search/past.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/memory.h"

struct search_outcome search_outcome_of(const struct job_outcome *o)
{
    bool failed = strcmp(o->state, "failed") == 0;
    return (struct search_outcome){
        .kind = failed                                           ? OUTCOME_FAILED
                : o->stopped || strcmp(o->state, "stopped") == 0 ? OUTCOME_STOPPED
                                                                 : OUTCOME_OK,
        .failure = failed ? o->failure : NULL,
        .infeasible = failed && o->failure && strncmp(o->failure, FAILURE_INFEASIBLE, strlen(FAILURE_INFEASIBLE)) == 0,
        .over_memory = failed && o->failure && strcmp(o->failure, FAILURE_INFEASIBLE_MEMORY) == 0,
        .pruned = failed && o->attempt_id == 0,
        .objective = failed ? NAN : o->objective,
        .steps = o->steps,
        .seconds = o->seconds,
        .bytes = o->bytes,
        .device_seconds = o->device_seconds,
    };
}

/* --- replicates --- */

struct replicate_sum {
    double sum;
    size_t ok, open;
    bool pending; /* the last one */
};

static int add_replicate(void *context, const struct job_outcome *o, struct error *e)
{
    struct replicate_sum *sum = context;
    (void)e;
    bool ok = strcmp(o->state, "ok") == 0;
    sum->pending = strcmp(o->state, "pending") == 0;
    sum->open += !ok && strcmp(o->state, "failed") != 0;
    if (ok && isfinite(o->objective)) {
        sum->sum += o->objective;
        sum->ok++;
    }
    return 0;
}

int replicates_add(const struct replicates_query *q, size_t candidate, struct job_outcome *o, bool *waits,
                   struct error *e)
{
    struct replicate_sum sum = {.sum = o->objective, .ok = 1};
    *waits = false;
    if (strcmp(o->state, "ok") != 0 || o->stopped)
        return 0;
    for (size_t i = 0; i < q->set->replicate_count; i++) {
        struct candidate_replicate *r = &q->set->replicates[i];
        const struct job_outcome_query query = {q->sweep_id, r->job_id, q->objective};
        if (r->candidate != candidate)
            continue;
        sum.pending = false;
        if (job_outcomes_read(q->db, &query, add_replicate, &sum, e) < 0)
            return -1;
        if (sum.pending)
            q->is_due(q->context, r);
    }
    o->objective = sum.sum / (double)sum.ok;
    *waits = sum.open > 0;
    return 0;
}

/* --- repeating --- */

/* An event of the search to repeat. */
struct event {
    int64_t sequence;
    bool asks;
    size_t row;
};

struct past_trial {
    int64_t id, asked, told;
    size_t candidate;
    double resource;
    struct search_outcome outcome;
    char failure[32];
};

struct past {
    const struct past_request *request;
    struct past_candidate *candidates;
    int64_t last; /* last sequence number */
    struct past_trial *trials;
    struct event *events;
    size_t trial_count, event_count;
};

static void add_event(struct past *p, int64_t sequence, bool asks)
{
    if (!sequence)
        return;
    p->events = array_grow(p->events, p->event_count, sizeof *p->events);
    p->events[p->event_count++] = (struct event){sequence, asks, p->trial_count};
}

static int keep_trial(void *context, const struct trial_row *given, struct error *e)
{
    struct past *p = context;
    struct trial_row own = *given;
    const struct trial_row *row = &own;
    if (p->request->complete && p->request->complete(p->request->context, &own, e) < 0)
        return -1;
    struct past_trial t = {row->id,
                           row->asked,
                           row->told,
                           candidate_set_find(p->request->set, row->outcome.job_id),
                           isnan(row->resource) ? 0 : row->resource,
                           {0},
                           ""};
    if (row->told) {
        t.outcome = search_outcome_of(&row->outcome);
        snprintf(t.failure, sizeof t.failure, "%s", row->outcome.failure ? row->outcome.failure : "");
        t.outcome.failure = NULL;
    }
    if (row->asked > p->last)
        p->last = row->asked;
    if (row->told > p->last)
        p->last = row->told;
    if (t.candidate == SIZE_MAX)
        return 0; /* not selected this time */
    add_event(p, row->asked, true);
    add_event(p, row->told, false);
    p->trials = array_grow(p->trials, p->trial_count, sizeof *p->trials);
    p->trials[p->trial_count++] = t;
    return 0;
}

static int compare_events(const void *a, const void *b)
{
    const struct event *x = a, *y = b;
    return (x->sequence > y->sequence) - (x->sequence < y->sequence);
}

/* The strategy decides again as it did. If it does not (rows were deleted, say), what was done counts. */
static void repeat_decision(struct search *search, const struct past_trial *t)
{
    struct decision again;
    if (search_ask(search, &again) == SEARCH_RUN) {
        if (again.candidate == t->candidate)
            return;
        search_forget(search, again.candidate);
    }
    search_begin(search, t->candidate, t->resource);
}

static void repeat_events(struct past *p)
{
    if (p->event_count > 0)
        qsort(p->events, p->event_count, sizeof *p->events, compare_events);
    for (size_t i = 0; i < p->event_count; i++) {
        struct past_trial *t = &p->trials[p->events[i].row];
        struct past_candidate *c = &p->candidates[t->candidate];
        if (p->events[i].asks) {
            repeat_decision(p->request->search, t);
            c->trial_id = t->id;
            c->resource = t->resource;
            continue;
        }
        t->outcome.failure = t->failure[0] ? t->failure : NULL;
        search_tell(p->request->search, t->candidate, &t->outcome);
        c->trial_id = 0;
        c->done = true;
    }
}

int past_repeat(const struct past_request *request, struct past_candidate *out, int64_t *last, struct error *e)
{
    struct past past = {.request = request, .candidates = out};
    int rc = trials_read(request->db, request->search_id, keep_trial, &past, e);
    if (rc == 0) {
        repeat_events(&past);
        *last = past.last;
    }
    free(past.trials);
    free(past.events);
    return rc;
}
