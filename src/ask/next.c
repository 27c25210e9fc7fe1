/* The next jobs as the sweep's own strategy ([search]) decides. Its trials are those of a search whose proposer is the
 * strategy; it is repeated from them each time. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ask/proposals.h"
#include "search/past.h"
#include "store/trials.h"
#include "util/memory.h"

struct deciding {
    const struct proposal_place *place;
    struct candidate_set set;
    struct search *search;
    int64_t search_id;
    bool *is_own; /* by candidate: a trial of this search */
};

bool proposals_are_decided(const struct sweep *s)
{
    const char *strategy = s->search.options.strategy;
    return s->search.given && strategy && strcmp(strategy, "grid") != 0 && s->objective_count > 0 &&
           s->replicates.count == 0;
}

static int note_own(void *context, const struct trial_row *row, struct error *e)
{
    struct deciding *d = context;
    size_t candidate = candidate_set_find(&d->set, row->outcome.job_id);
    (void)e;
    if (candidate != SIZE_MAX)
        d->is_own[candidate] = true;
    return 0;
}

/* What has run without having been asked for here. */
static int tell_known(void *context, const struct job_outcome *o, struct error *e)
{
    struct deciding *d = context;
    size_t candidate = candidate_set_find(&d->set, o->job_id);
    const struct search_outcome outcome = search_outcome_of(o);
    (void)e;
    if (candidate != SIZE_MAX && !d->is_own[candidate])
        search_tell(d->search, candidate, &outcome);
    return 0;
}

/* What runs, or somebody else has been given. */
static int begin_others(struct deciding *d, struct error *e)
{
    struct stmt *s = NULL;
    int rc;
    if (db_prepare(d->place->db,
                   "SELECT j.id FROM job AS j WHERE j.sweep_id = ?1 AND (j.state = 'running' OR j.state = 'pending'"
                   " AND EXISTS (SELECT 1 FROM trial AS t JOIN search AS s ON s.id = t.search_id"
                   "  WHERE t.job_id = j.id AND t.told IS NULL AND s.strategy = '" PROPOSALS_STRATEGY "'))",
                   &s, e) < 0)
        return -1;
    stmt_bind_int(s, 1, d->place->sweep_id);
    while ((rc = stmt_next(s, e)) > 0) {
        size_t candidate = candidate_set_find(&d->set, stmt_int(s, 0));
        if (candidate != SIZE_MAX && !d->is_own[candidate])
            search_begin(d->search, candidate, 0);
    }
    stmt_free(s);
    return rc;
}

static int go_on(struct deciding *d, struct error *e)
{
    const struct sweep *sweep = d->place->space->sweep;
    const struct job_outcome_query every = {d->place->sweep_id, 0, sweep->objectives[0].metric};
    const struct past_request past = {d->place->db, d->search_id, &d->set, d->search};
    struct past_candidate *candidates = xcalloc(d->set.space.count + 1, sizeof *candidates);
    int64_t last = 0;
    int rc = trials_read(d->place->db, d->search_id, note_own, d, e);
    if (rc == 0)
        rc = job_outcomes_read(d->place->db, &every, tell_known, d, e);
    if (rc == 0)
        rc = past_repeat(&past, candidates, &last, e);
    if (rc == 0)
        rc = begin_others(d, e);
    free(candidates);
    return rc;
}

static int say_nothing(const struct decision *decision, enum search_answer answer, const char *strategy,
                       struct error *e)
{
    if (answer == SEARCH_WAIT)
        return error_set(e, ERROR_NOTHING,
                         "%s waits for what was asked for to be told: %s (meshsweep ask --open lists it)", strategy,
                         decision->reason);
    return error_set(e, ERROR_NOTHING, "%s has nothing more to ask for: %s", strategy, decision->reason);
}

static int decide(struct deciding *d, size_t wanted, cJSON *asked, struct error *e)
{
    const char *strategy = search_options(d->search)->strategy;
    struct decision decision;
    enum search_answer answer = SEARCH_RUN;
    size_t given = 0;
    while (given < wanted && (answer = search_ask(d->search, &decision)) == SEARCH_RUN) {
        if (proposals_accept(d->place, d->set.job_ids[decision.candidate], strategy, decision.reason, asked, e) < 0)
            return -1;
        given++;
    }
    return given > 0 || wanted == 0 ? 0 : say_nothing(&decision, answer, strategy, e);
}

int proposals_decide(const struct proposal_place *place, size_t wanted, cJSON *asked, struct error *e)
{
    const struct search_options *given = &place->space->sweep->search.options;
    const struct candidate_request request = {.space = place->space,
                                              .db = place->db,
                                              .sweep_id = place->sweep_id,
                                              .equal_batch = given->equal_batch != 0};
    struct deciding d = {.place = place};
    int64_t sequence;
    int rc = candidates_load(&request, &d.set, e);
    if (rc == 0)
        rc = search_create(&d.set.space, given, &d.search, e);
    if (rc == 0)
        rc = proposals_open_search(place, given->strategy, &d.search_id, &sequence, e);
    if (rc == 0) {
        d.is_own = xcalloc(d.set.space.count + 1, sizeof *d.is_own);
        rc = go_on(&d, e);
    }
    if (rc == 0)
        rc = decide(&d, wanted, asked, e);
    free(d.is_own);
    search_free(d.search);
    candidates_free(&d.set);
    return rc;
}
