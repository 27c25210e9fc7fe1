#include "run/commit_batch.h"

#include <stdlib.h>
#include <string.h>

#include "measures/learning.h"
#include "util/clock.h"
#include "util/fault.h"
#include "util/memory.h"

/* --- attempts that have ended --- */

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
    if (is_kept && place->keeps_sums && attempt_sums_keep(place->db, claim->attempt_id, e) < 0)
        return -1;
    if (is_kept && teaches && learning_note(place->space, place->db, &result, e) < 0)
        return -1;
    return notify_source(l, place->source, e) < 0 ? -1 : prune(l, place, pruned, e);
}

/* Writes the ends, and the starts that are not written yet; inside the caller's write transaction. `*pruned` is raised
 * by how many jobs were. */
static int ended_attempts_record(struct ended_attempts *l, const struct record_place *place, int64_t *pruned,
                                 struct error *e)
{
    for (size_t i = 0; i < l->count; i++)
        if (record_one(&l->items[i], place, pruned, e) < 0)
            return -1;
    return 0;
}

static void ended_attempts_clear(struct ended_attempts *l)
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

/* --- the batch --- */

#define CHECKPOINT_EVERY_MS 5000

void commit_batch_open(struct commit_batch *t, const struct record_place *place)
{
    t->place = *place;
    t->writer = worker_create();
    t->checkpointed_ms = clock_monotonic_ms();
}

void commit_batch_note_start(struct commit_batch *t, struct running_attempt *f)
{
    if (f->start_failed || (f->start_recorded && !f->reference_due))
        return;
    *array_add(t->starts, t->start_count) = (struct start_record){f->start, f->start_recorded};
    f->start_recorded = true;
    f->reference_due = false;
}

/* --- the writer --- */

static int record_starts(const struct commit_batch *t, struct error *e)
{
    for (size_t i = 0; i < t->start_count; i++) {
        const struct attempt_start *start = &t->starts[i].start;
        int rc = t->starts[i].is_known ? attempt_record_reference(t->place.store, start, e)
                                       : attempt_record_start(t->place.store, start, e);
        if (rc < 0)
            return -1;
    }
    FAULT(START_WRITTEN);
    return 0;
}

static int record(struct commit_batch *t, struct error *e)
{
    const struct place_target target = {t->place.db, t->place.naming, t->place.keeps_sums};
    memset(t->reopened, 0, sizeof t->reopened);
    if (record_starts(t, e) < 0 || ended_attempts_record(&t->ends, &t->place, &t->pruned, e) < 0 ||
        place_record_write(&target, &t->places, t->reopened, e) < 0)
        return -1;
    return t->wanted > 0 ? claims_fetch(t->place.claims, t->wanted, &t->claims, e) : 0;
}

/* Whoever copies the file alone while a run goes on is to miss little: SQLite by itself waits for a thousand pages. */
static void keep_up_to_date(struct commit_batch *t)
{
    int64_t now_ms = clock_monotonic_ms();
    if (now_ms - t->checkpointed_ms < CHECKPOINT_EVERY_MS)
        return;
    db_checkpoint(t->place.db);
    t->checkpointed_ms = now_ms;
}

static int write_all(struct commit_batch *t, struct error *e)
{
    bool ready = true, begun = false;
    if ((t->wanted > 0 && claims_prepare(t->place.claims, &ready, e) < 0) ||
        (ready && db_try_begin(t->place.db, &begun, e) < 0))
        return -1;
    if (!begun)
        return 1;
    if (record(t, e) < 0) {
        db_rollback(t->place.db);
        return -1;
    }
    FAULT(BATCH_WRITTEN);
    t->is_written = true;
    return 0;
}

/* Removes what [job] keep_files does not name, once it is recorded that it goes. */
static void drop_files(const struct commit_batch *t)
{
    const struct job_config *job = &t->place.space->sweep->job;
    struct keep_rules rules = recording_keep_rules(job);
    for (size_t i = 0; i < t->ends.count && (job->keep_files || job->keep_files_size); i++)
        if (t->ends.items[i].recording.end.files)
            left_files_remove(t->ends.items[i].attempt.job_dir, &rules);
    string_list_free(&rules.own);
}

static int commit(struct commit_batch *t, struct error *e)
{
    bool committed;
    int rc = t->is_written ? 0 : write_all(t, e);
    if (rc != 0)
        return rc;
    rc = db_try_commit(t->place.db, &committed, e);
    t->is_written = rc == 0 && !committed;
    if (rc < 0 || !committed)
        return rc < 0 ? -1 : 1;
    FAULT(BATCH_COMMITTED);
    drop_files(t);
    keep_up_to_date(t);
    return 0;
}

static void write_batch(void *context)
{
    struct commit_batch *t = context;
    t->rc = commit(t, &t->error);
}

/* --- its user --- */

void commit_batch_begin(struct commit_batch *t, struct ended_attempts *ends, size_t wanted)
{
    const struct ended_attempts emptied = t->ends;
    t->ends = *ends;
    *ends = emptied;
    t->wanted = wanted;
    commit_batch_again(t);
}

void commit_batch_again(struct commit_batch *t)
{
    t->is_under_way = true;
    worker_begin(t->writer, write_batch, t);
}

bool commit_batch_is_written(struct commit_batch *t)
{
    return worker_is_done(t->writer);
}

bool commit_batch_wait(struct commit_batch *t, int64_t timeout_ms)
{
    return worker_wait_within(t->writer, timeout_ms);
}

int commit_batch_finish(struct commit_batch *t, struct error *e)
{
    worker_wait(t->writer);
    t->is_under_way = false;
    if (t->rc < 0)
        *e = t->error;
    return t->rc;
}

void commit_batch_give_up(struct commit_batch *t)
{
    if (t->is_written)
        db_rollback(t->place.db);
    t->is_written = false;
}

void commit_batch_clear(struct commit_batch *t)
{
    ended_attempts_clear(&t->ends);
    place_changes_free(&t->places);
    claim_batch_free(&t->claims);
    t->start_count = 0;
    t->pruned = 0;
}

void commit_batch_free(struct commit_batch *t)
{
    worker_free(t->writer);
    commit_batch_clear(t);
    ended_attempts_free(&t->ends);
    free(t->starts);
}
