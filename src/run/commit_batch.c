#include "run/commit_batch.h"

#include <stdlib.h>
#include <string.h>

#include "util/clock.h"
#include "util/fault.h"
#include "util/memory.h"

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
    const struct place_target target = {t->place.db, t->place.naming, t->place.sums};
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
    attempt_sums_free(t->place.sums);
    commit_batch_clear(t);
    ended_attempts_free(&t->ends);
    free(t->starts);
}
