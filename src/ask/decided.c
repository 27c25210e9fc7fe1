/* Chooses the next jobs by the sweep's own strategy ([search]). Its trials belong to a search whose proposer is the
 * strategy, and the strategy is replayed from them on each call. It decides on configurations: the first replicate of
 * each is given out, then, if that is ok, the others, before anything new. The strategy is told their mean. */
#include <stdio.h>
#include <string.h>

#include "ask/proposals.h"
#include "search/driver.h"
#include "store/trials.h"
#include "util/memory.h"

struct deciding {
    const struct proposal_place *place;
    struct candidate_set set;
    struct search *search;
    int64_t search_id;
    bool *is_own;       /* by candidate: whether it is a trial of this search */
    int64_t *last_told; /* by candidate: the last sequence number at which it or a replicate was told */
    struct candidate_job **due;
    size_t due_count;
};

bool proposals_are_decided(const struct sweep *s)
{
    return s->search.given && !search_strategy_has(s->search.options.strategy, IN_ORDER) && s->objective_count > 0;
}

static int note_own(void *context, const struct trial_row *row, struct error *e)
{
    struct deciding *d = context;
    size_t candidate = candidate_set_find(&d->set, row->outcome.job_id);
    const struct candidate_job *r = candidate_set_replicate(&d->set, row->outcome.job_id);
    (void)e;
    if (candidate != SIZE_MAX)
        d->is_own[candidate] = true;
    else if (r)
        candidate = r->candidate;
    if (candidate != SIZE_MAX && row->told > d->last_told[candidate])
        d->last_told[candidate] = row->told;
    return 0;
}

/* --- replicates --- */

static void keep_due(void *context, struct candidate_job *r)
{
    struct deciding *d = context;
    *array_add(d->due, d->due_count) = r;
}

static int add_replicates(struct deciding *d, size_t candidate, struct job_outcome *o, bool *waits, struct error *e)
{
    const struct replicates_query query =
        {d->place->db, d->place->sweep_id, d->place->space->sweep->objectives[0].metric, &d->set, keep_due, d};
    return replicates_add(&query, candidate, o, waits, e);
}

/* The trial belongs to the first replicate, but the strategy is told when the last one is. */
static int complete(void *context, struct trial_row *row, struct error *e)
{
    struct deciding *d = context;
    size_t candidate = candidate_set_find(&d->set, row->outcome.job_id);
    bool waits;
    if (!row->told || candidate == SIZE_MAX)
        return 0;
    if (add_replicates(d, candidate, &row->outcome, &waits, e) < 0)
        return -1;
    row->told = waits ? 0 : d->last_told[candidate];
    return 0;
}

static int give_due(struct deciding *d, size_t wanted, cJSON *asked, size_t *given, struct error *e)
{
    const char *strategy = search_options(d->search)->strategy;
    for (size_t i = 0; i < d->due_count && *given < wanted; i++) {
        const struct candidate_job *r = d->due[i];
        char reason[64];
        int64_t trial_id;
        if (proposals_find_trial(d->place, r->job_id, &trial_id, e) < 0)
            return -1;
        if (trial_id)
            continue;
        snprintf(reason, sizeof reason, "replicate of job %lld", (long long)d->set.job_ids[r->candidate]);
        if (proposals_accept(d->place, &(struct acceptance){r->job_id, false, strategy, reason}, asked, e) < 0)
            return -1;
        ++*given;
    }
    return 0;
}

/* --- what the strategy knows --- */

/* Tells the strategy what has run without being asked for here. */
static int tell_known(void *context, const struct job_outcome *o, struct error *e)
{
    struct deciding *d = context;
    size_t candidate = candidate_set_find(&d->set, o->job_id);
    struct job_outcome all = *o;
    bool waits;
    if (candidate == SIZE_MAX || d->is_own[candidate])
        return 0;
    if (add_replicates(d, candidate, &all, &waits, e) < 0)
        return -1;
    const struct search_outcome outcome = search_outcome_of(&all);
    if (waits)
        search_begin(d->search, candidate, 0);
    else
        search_tell(d->search, candidate, &outcome);
    return 0;
}

/* Marks what is running or was given to other clients. */
static int begin_others(struct deciding *d, struct error *e)
{
    struct stmt *s = NULL;
    int rc;
    while (
        (rc = db_next(d->place->db,
                      "SELECT j.id FROM job AS j WHERE j.sweep_id = ?1 AND (j.state = 'running' OR j.state = 'pending'"
                      " AND EXISTS (SELECT 1 FROM trial AS t JOIN search AS s ON s.id = t.search_id"
                      "  WHERE t.job_id = j.id AND t.told IS NULL AND s.strategy = '" PROPOSALS_STRATEGY "'))",
                      VALUES(sql_int(d->place->sweep_id)), &s, e)) > 0) {
        size_t candidate = candidate_set_find(&d->set, stmt_int(s, 0));
        if (candidate != SIZE_MAX && !d->is_own[candidate])
            search_begin(d->search, candidate, 0);
    }
    return rc;
}

static int go_on(struct deciding *d, struct error *e)
{
    const struct sweep *sweep = d->place->space->sweep;
    const struct job_outcome_query every = {d->place->sweep_id, 0, sweep->objectives[0].metric};
    const struct past_request past = {d->place->db, d->search_id, &d->set, d->search, complete, d};
    OWNED struct past_candidate *candidates = xcalloc(d->set.space.count + 1, sizeof *candidates);
    int64_t last = 0;
    return trials_read(d->place->db, d->search_id, note_own, d, e) < 0 ||
                   job_outcomes_read(d->place->db, &every, tell_known, d, e) < 0 ||
                   past_repeat(&past, candidates, &last, e) < 0
               ? -1
               : begin_others(d, e);
}

static int say_nothing(const struct decision *decision, enum search_answer answer, const char *strategy,
                       struct error *e)
{
    if (answer == SEARCH_WAIT)
        return error_set(e, ERROR_NOTHING,
                         "%s waits for the results of jobs that were asked for: %s (meshsweep ask --open lists them)",
                         strategy, decision->reason);
    return error_set(e, ERROR_NOTHING, "%s has no more jobs to propose: %s", strategy, decision->reason);
}

static int decide(struct deciding *d, size_t wanted, cJSON *asked, struct error *e)
{
    const char *strategy = search_options(d->search)->strategy;
    struct decision decision;
    enum search_answer answer = SEARCH_RUN;
    size_t given = 0;
    if (give_due(d, wanted, asked, &given, e) < 0)
        return -1;
    while (given < wanted && (answer = search_ask(d->search, &decision)) == SEARCH_RUN) {
        const struct acceptance a = {d->set.job_ids[decision.candidate], false, strategy, decision.reason};
        if (proposals_accept(d->place, &a, asked, e) < 0)
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
    int rc = candidates_load(&request, &d.set, e) < 0 || search_create(&d.set.space, given, &d.search, e) < 0
                 ? -1
                 : proposals_open_search(place, given->strategy, &d.search_id, e);
    if (rc == 0) {
        d.is_own = xcalloc(d.set.space.count + 1, sizeof *d.is_own);
        d.last_told = xcalloc(d.set.space.count + 1, sizeof *d.last_told);
        rc = go_on(&d, e);
    }
    if (rc == 0)
        rc = decide(&d, wanted, asked, e);
    free_all(d.is_own, d.last_told, d.due);
    search_free(d.search);
    candidates_free(&d.set);
    return rc;
}
