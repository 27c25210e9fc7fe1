/* What one transaction records, and brings: the starts and ends since the last one, and the next claims. A thread of its
 * own writes it, so that others end and are started meanwhile.
 *
 * Order of calls: turn_open; then turn_note_start, turn_begin, turn_finish and turn_clear, again and again; then turn_free.
 * Between turn_begin and turn_finish the database, the claim source and what `place` points to belong to the writer, save
 * that the queue of claims may be taken from unless one of the ends prunes. */
#ifndef MESHSWEEP_RUN_TURN_H
#define MESHSWEEP_RUN_TURN_H

#include "run/claims.h"
#include "run/landings.h"
#include "run/worker.h"

struct noted_start {
    struct attempt_start start; /* texts are those of its flight */
    bool is_known;              /* recorded before: only its reference is new */
};

struct turn {
    struct landing_place place;
    struct worker *writer;
    struct noted_start *starts;
    size_t start_count;
    struct landings ends;
    size_t wanted;             /* claims to fetch */
    struct claim_batch claims; /* fetched */
    int64_t pruned;            /* jobs, by these ends */
    bool is_under_way;
    int rc;
    struct error error;
};

void turn_open(struct turn *t, const struct landing_place *place);

/* Notes a start, or its reference, which came later, where that is due; and that it is noted. */
void turn_note_start(struct turn *t, struct flight *f);

/* Has the noted starts and `ends` written, and up to `wanted` jobs claimed. Takes the ends, which leaves none there. */
void turn_begin(struct turn *t, struct landings *ends, size_t wanted);

/* Whether turn_finish would not block. */
bool turn_is_written(struct turn *t);

/* Waits until it is durable. Then ends may be announced and claims admitted; after -1 nothing of it stands. 1: another
 * program is writing, nothing has been done, and turn_again is to be called. */
int turn_finish(struct turn *t, struct error *e);
void turn_again(struct turn *t);

void turn_clear(struct turn *t);
void turn_free(struct turn *t);

#endif
