#include "run/ended_attempts.h"

#include <stdlib.h>

#include "measures/learning.h"
#include "util/clock.h"
#include "util/fault.h"
#include "util/memory.h"

void ended_attempts_add(struct ended_attempts *l, const struct running_attempt *attempt, struct outcome *outcome,
                        const struct recording *recording)
{
    l->items = array_grow(l->items, l->count, sizeof *l->items);
    if (l->count == 0)
        l->oldest_ms = clock_monotonic_ms();
    struct ended_attempt *ended = &l->items[l->count++];
    ended->attempt = *attempt;
    ended->recording = *recording;
    FAULT(OUTCOME_READ);
    l->failure_due |= ended->recording.failure != NULL;
    l->witness_due |= ended->recording.failure && ended->recording.verdict.failure == FAILURE_OOM;
    outcome_free(outcome);
}

static int notify_source(const struct ended_attempt *l, const struct claim_source *source, struct error *e)
{
    const struct recording *r = &l->recording;
    /* One that an earlier runner started and this one took over. */
    if (l->attempt.claim.full && !source->full)
        return 0;
    /* A job that is held comes again, in this run or another. */
    const enum job_end job_end = r->job_end == JOB_END_HELD ? JOB_END_AGAIN : r->job_end;
    const struct claim_end end = {l->attempt.claim, r->failure,   job_end,
                                  r->has_objective, r->objective, r->duration_ms};
    if (r->hold && source->released && source->released(source->context, &l->attempt.claim, e) < 0)
        return -1;
    return source->ended ? source->ended(source->context, &end, e) : 0;
}

static int withdraw(void *context, int64_t job_id, struct error *e)
{
    return claims_withdraw(context, job_id, e);
}

static int notify_pruned(void *context, int64_t job_id, struct error *e)
{
    return claims_notify_pruned(context, job_id, e);
}

/* A job that stands as failed for want of device memory speaks for all that need no less. */
static int prune(const struct ended_attempt *l, const struct record_place *place, int64_t *pruned, struct error *e)
{
    const struct pruning_listener listener = {withdraw, notify_pruned, place->claims};
    int64_t count;
    if (l->attempt.neighbours > 0 || l->recording.job_end != JOB_END_FAILED ||
        l->recording.verdict.failure != FAILURE_OOM)
        return 0;
    if (pruning_note(place->claims->pruning, l->attempt.claim.job_id, &listener, &count, e) < 0)
        return -1;
    *pruned += count;
    return 0;
}

static int record_one(struct ended_attempt *l, const struct record_place *place, int64_t *pruned, struct error *e)
{
    const struct claim *claim = &l->attempt.claim;
    if (!l->attempt.start_recorded && !l->recording.hold &&
        attempt_record_start(place->store, &l->attempt.start, e) < 0)
        return -1;
    const struct recording_target target = {place->db, place->store, place->measures};
    if (recording_store(&target, claim, l->attempt.directory, &l->recording, e) < 0)
        return -1;
    const struct attempt_result result = {claim->attempt_id, claim->job_id, l->recording.failure};
    /* Memory that its neighbours took is not its own. */
    const bool teaches = !claim->full && l->attempt.neighbours == 0;
    bool is_kept = l->recording.job_end != JOB_END_GONE && !l->recording.hold;
    if (is_kept && place->sums && attempt_sums_keep(place->sums, claim->attempt_id, e) < 0)
        return -1;
    if (is_kept && teaches && learning_note(place->space, place->db, &result, e) < 0)
        return -1;
    return notify_source(l, place->source, e) < 0 ? -1 : prune(l, place, pruned, e);
}

int ended_attempts_record(struct ended_attempts *l, const struct record_place *place, int64_t *pruned, struct error *e)
{
    for (size_t i = 0; i < l->count; i++)
        if (record_one(&l->items[i], place, pruned, e) < 0)
            return -1;
    return 0;
}

void ended_attempts_clear(struct ended_attempts *l)
{
    for (size_t i = 0; i < l->count; i++) {
        recording_free(&l->items[i].recording);
        running_attempt_free(&l->items[i].attempt);
    }
    l->count = 0;
    l->failure_due = l->witness_due = false;
}

void ended_attempts_free(struct ended_attempts *l)
{
    ended_attempts_clear(l);
    free(l->items);
}
