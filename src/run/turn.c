#include "run/turn.h"

#include <stdlib.h>

#include "util/fault.h"
#include "util/memory.h"

void turn_open(struct turn *t, const struct landing_place *place)
{
    t->place = *place;
    t->writer = worker_create();
}

void turn_note_start(struct turn *t, struct flight *f)
{
    if (f->start_recorded && !f->reference_due)
        return;
    t->starts = array_grow(t->starts, t->start_count, sizeof *t->starts);
    t->starts[t->start_count++] = (struct noted_start){f->start, f->start_recorded};
    f->start_recorded = true;
    f->reference_due = false;
}

/* --- the writer --- */

static int record_starts(const struct turn *t, struct error *e)
{
    for (size_t i = 0; i < t->start_count; i++) {
        const struct attempt_start *start = &t->starts[i].start;
        int rc = t->starts[i].is_known
                     ? attempt_record_reference(t->place.store, start->attempt_id, start->reference, e)
                     : attempt_record_start(t->place.store, start, e);
        if (rc < 0)
            return -1;
    }
    FAULT(START_WRITTEN);
    return 0;
}

static int record(struct turn *t, struct error *e)
{
    if (record_starts(t, e) < 0 || landings_record(&t->ends, &t->place, &t->pruned, e) < 0)
        return -1;
    return t->wanted > 0 ? claims_fetch(t->place.claims, t->wanted, &t->claims, e) : 0;
}

static int commit(struct turn *t, struct error *e)
{
    bool begun;
    if (db_try_begin(t->place.db, &begun, e) < 0)
        return -1;
    if (!begun)
        return 1;
    if (record(t, e) < 0) {
        db_rollback(t->place.db);
        return -1;
    }
    FAULT(TURN_WRITTEN);
    if (db_commit(t->place.db, e) < 0)
        return -1;
    FAULT(TURN_COMMITTED);
    return 0;
}

static void write_turn(void *context)
{
    struct turn *t = context;
    t->rc = commit(t, &t->error);
}

/* --- its user --- */

void turn_begin(struct turn *t, struct landings *ends, size_t wanted)
{
    const struct landings emptied = t->ends;
    t->ends = *ends;
    *ends = emptied;
    t->wanted = wanted;
    turn_again(t);
}

void turn_again(struct turn *t)
{
    t->is_under_way = true;
    worker_begin(t->writer, write_turn, t);
}

bool turn_is_written(struct turn *t)
{
    return worker_is_done(t->writer);
}

int turn_finish(struct turn *t, struct error *e)
{
    worker_wait(t->writer);
    t->is_under_way = false;
    if (t->rc < 0)
        *e = t->error;
    return t->rc;
}

void turn_clear(struct turn *t)
{
    landings_clear(&t->ends);
    claim_batch_free(&t->claims);
    t->start_count = 0;
    t->pruned = 0;
}

void turn_free(struct turn *t)
{
    worker_free(t->writer);
    turn_clear(t);
    landings_free(&t->ends);
    free(t->starts);
}
