#include "run/landings.h"

#include <stdlib.h>

#include "space/learning.h"
#include "util/clock.h"
#include "util/fault.h"
#include "util/memory.h"

void landings_add(struct landings *l, struct flight flight, struct outcome *outcome,
                  const struct recording_context *context)
{
    l->items = array_grow(l->items, l->count, sizeof *l->items);
    if (l->count == 0)
        l->oldest_ms = clock_monotonic_ms();
    struct landing *landing = &l->items[l->count++];
    landing->flight = flight;
    struct recording_context own = *context;
    own.job_dir = flight.job_dir;
    recording_make(&own, outcome, &landing->recording);
    FAULT(OUTCOME_READ);
    l->failure_due |= landing->recording.failure != NULL;
    l->witness_due |= landing->recording.failure && landing->recording.verdict.failure == FAILURE_OOM;
    outcome_free(outcome);
}

static int tell_source(const struct landing *l, const struct claim_source *source, struct error *e)
{
    const struct recording *r = &l->recording;
    const struct claim_end end = {l->flight.claim,  r->failure,   r->fate,
                                  r->has_objective, r->objective, r->duration_ms};
    return source->ended ? source->ended(source->context, &end, e) : 0;
}

static int withdraw(void *context, int64_t job_id, struct error *e)
{
    return claims_withdraw(context, job_id, e);
}

static int tell_pruned(void *context, int64_t job_id, struct error *e)
{
    return claims_tell_pruned(context, job_id, e);
}

/* A job that stands as failed for want of device memory speaks for all that need no less. */
static int prune(const struct landing *l, const struct landing_place *place, int64_t *pruned, struct error *e)
{
    const struct pruning_listener listener = {withdraw, tell_pruned, place->claims};
    int64_t count;
    if (l->recording.fate != FATE_FAILED || l->recording.verdict.failure != FAILURE_OOM)
        return 0;
    if (pruning_note(place->claims->pruning, l->flight.claim.job_id, &listener, &count, e) < 0)
        return -1;
    *pruned += count;
    return 0;
}

static int record_one(struct landing *l, const struct landing_place *place, int64_t *pruned, struct error *e)
{
    const struct claim *claim = &l->flight.claim;
    if (!l->flight.start_recorded && attempt_record_start(place->store, &l->flight.start, e) < 0)
        return -1;
    if (recording_store(place->store, claim, l->flight.directory, &l->recording, e) < 0)
        return -1;
    const struct lesson lesson = {claim->attempt_id, claim->job_id, l->recording.failure};
    if (l->recording.fate != FATE_GONE && learning_note(place->space, place->db, &lesson, e) < 0)
        return -1;
    return tell_source(l, place->source, e) < 0 ? -1 : prune(l, place, pruned, e);
}

int landings_record(struct landings *l, const struct landing_place *place, int64_t *pruned, struct error *e)
{
    for (size_t i = 0; i < l->count; i++)
        if (record_one(&l->items[i], place, pruned, e) < 0)
            return -1;
    return 0;
}

void landings_clear(struct landings *l)
{
    for (size_t i = 0; i < l->count; i++) {
        recording_free(&l->items[i].recording);
        flight_free(&l->items[i].flight);
    }
    l->count = 0;
    l->failure_due = l->witness_due = false;
}

void landings_free(struct landings *l)
{
    landings_clear(l);
    free(l->items);
}
