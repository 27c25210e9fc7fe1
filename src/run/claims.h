/* The queue of attempts that are claimed but not yet started. */
#pragma once

#include "measures/knowledge.h"
#include "run/claim_source.h"
#include "run/starter.h"

struct claims {
    struct attempt_store *store; /* borrowed, like the two that follow */
    const struct claim_source *source;
    struct starter *starter;
    struct pruning *pruning;       /* what it covers is not claimed */
    struct running_attempt *items; /* first … first + count */
    size_t first, count;
    int64_t *deferred; /* jobs that the source chose and that are not due yet: each is claimed when it is */
    size_t deferred_count;
    bool is_urgent;           /* some of these are to be claimed whatever else is */
    enum claim_answer answer; /* the source's last; CLAIM_MORE at the beginning */
    int64_t wake_ms;          /* when to ask again because a job that failed is due; monotonic; 0: none waits */
    int64_t due_ms;           /* with wake_ms: when it is due, wall-clock */
};

/* How many the next commit should bring: `room` attempts could start now, at most `limit` (-1: any number) more may
 * ever. Nothing while more than half of what is claimed ahead is still there. */
size_t claims_wanted(const struct claims *c, size_t room, int64_t limit);

/* The job is claimed with the next commit, before others, once it is pending. Not while a commit is under way. */
void claims_put_first(struct claims *c, int64_t job_id);

/* Claims that are not durable yet, and what was learned in making them. */
struct claim_batch {
    struct running_attempt *items;
    size_t count;
    int64_t *deferred; /* all that are now */
    size_t deferred_count;
    enum claim_answer answer;
    int64_t wake_ms, due_ms; /* as in struct claims */
};
void claim_batch_free(struct claim_batch *b);

/* Before the transaction in which claims_fetch is called. `*ready` false: not now. */
int claims_prepare(const struct claims *c, bool *ready, struct error *e);

/* Claims up to `wanted` jobs, those first that were deferred and are due now; inside the caller's write transaction.
 * The queue stays as it is, so that another thread may take from it meanwhile. */
int claims_fetch(const struct claims *c, size_t wanted, struct claim_batch *out, struct error *e);

/* Puts into the queue what was fetched, once it is durable; leaves the batch empty. */
void claims_admit(struct claims *c, struct claim_batch *b);

/* How long from now until the source is to be asked again because a job that failed is due; -1: none waits. 0 sets
 * `answer` accordingly. */
int64_t claims_wait_ms(struct claims *c);

/* Moves to `out` the first one that `fits`, which leaves the others in their order; `out` becomes the caller's. False
 * when there is none. */
bool claims_take(struct claims *c, bool (*fits)(void *context, const struct running_attempt *f), void *context,
                 struct running_attempt *out);

/* Gives a job's claim back where it is still in the queue; inside the caller's write transaction. */
int claims_withdraw(struct claims *c, int64_t job_id, struct error *e);

/* Gives back the claim at that place of the queue, whose job is held from now on; inside the caller's write
 * transaction. */
int claims_hold(struct claims *c, size_t place, const char *why, struct error *e);

/* Notifies the source of a job that will not be tried. */
int claims_notify_pruned(const struct claims *c, int64_t job_id, struct error *e);

/* Gives back as if they had never been what is still in the queue; inside the caller's write transaction. */
int claims_release(struct claims *c, struct db *db, struct error *e);
void claims_free(struct claims *c);
