/* One transaction: it records the starts and ends since the last one, and brings the next claims. A thread of its own
 * writes it, so that others end and are started meanwhile.
 *
 * Order of calls: commit_batch_open; then commit_batch_note_start, commit_batch_begin, commit_batch_finish and
 * commit_batch_clear, again and again; then commit_batch_free. Between commit_batch_begin and commit_batch_finish the
 * database, the claim source and what `place` points to belong to the writer, except that the queue of claims may be
 * taken from unless one of the ends prunes. */
#pragma once

#include "database/attempt_sums.h"
#include "measures/place_watch.h"
#include "process/worker.h"
#include "run/claim_source.h"
#include "run/claims.h"
#include "run/recording.h"
#include "run/running_attempt.h"
#include "space/space.h"

/* --- attempts that have ended --- */

struct place_naming;

struct ended_attempt {
    struct running_attempt attempt;
    struct recording recording;
};

struct ended_attempts {
    struct ended_attempt *items;
    size_t count;
    int64_t oldest_ms; /* when the first of them came */
    bool failure_due;  /* one of them failed */
    bool witness_due;  /* one of them ran out of device memory */
};

/* Takes all three. */
void ended_attempts_add(struct ended_attempts *l, const struct running_attempt *attempt, struct outcome *outcome,
                        const struct recording *recording);

struct record_place {
    struct db *db;
    struct space *space;
    struct attempt_store *store;
    const struct claim_source *source; /* notified of each end */
    struct claims *claims;             /* what is pruned leaves it */
    bool keeps_sums;                   /* see database/attempt_sums.h */
    struct measures *measures;         /* NULL: none */
    const struct place_naming *naming;
};

void ended_attempts_free(struct ended_attempts *l);

/* --- the batch --- */

struct start_record {
    struct attempt_start start; /* texts are those of the attempt */
    bool is_known;              /* recorded before: only its reference is new */
};

struct commit_batch {
    struct record_place place;
    struct worker *writer;
    struct start_record *starts;
    size_t start_count;
    struct ended_attempts ends;
    struct place_changes places;     /* to be recorded with them */
    int64_t reopened[FAILURE_COUNT]; /* jobs that are pending again by these, by what they failed of */
    size_t wanted;                   /* claims to fetch */
    struct claim_batch claims;       /* fetched */
    int64_t pruned;                  /* jobs, by these ends */
    bool is_under_way;
    bool is_written;         /* and not committed yet */
    int64_t checkpointed_ms; /* when the database was last brought up to date from its log */
    int rc;
    struct error error;
};

void commit_batch_open(struct commit_batch *t, const struct record_place *place);

/* Notes a start, or its reference, which came later, where that is due; and that it is noted. */
void commit_batch_note_start(struct commit_batch *t, struct running_attempt *f);

/* Has the noted starts and `ends` written, and up to `wanted` jobs claimed. Takes the ends, which leaves none there. */
void commit_batch_begin(struct commit_batch *t, struct ended_attempts *ends, size_t wanted);

/* Returns whether commit_batch_finish would not block; the second waits at most so long until it would not. */
bool commit_batch_is_written(struct commit_batch *t);
bool commit_batch_wait(struct commit_batch *t, int64_t timeout_ms);

/* Waits until it is durable. Then ends may be announced and claims admitted; after -1 nothing of it stands. 1: another
 * program is writing, or reading where the journal is a rollback journal: nothing of it stands yet, and
 * commit_batch_again is to be called, or commit_batch_give_up. */
int commit_batch_finish(struct commit_batch *t, struct error *e);
void commit_batch_again(struct commit_batch *t);
void commit_batch_give_up(struct commit_batch *t);

void commit_batch_clear(struct commit_batch *t);
void commit_batch_free(struct commit_batch *t);
