/* Who decides which pending job is claimed next, and is notified of what became of it. Part of the runner's options:
 * the default is the store's order, priority then rank (claim_source_in_order); a search strategy is another.
 *
 * `choose`, `claimed`, `released` and `ended` are called within the write transaction that records what they are
 * about, so that what a source writes to the database stands or falls with it. -1 ends the run. */
#pragma once

#include "metrics/readers.h"
#include "store/attempts.h"

/* A source's answer beside the jobs that it chose. */
enum claim_answer {
    CLAIM_MORE = 1, /* ask again as soon as there is room */
    CLAIM_WAIT,     /* nothing more now: ask again after the next end. When nothing is running or waits to be tried
                       again, the run is over */
    CLAIM_FINISHED, /* nothing more in this run, not even what waits to be tried again */
};

/* How an attempt ended, as it is recorded. Borrowed for the length of the call. */
struct claim_end {
    struct claim claim;
    const char *failure;  /* the attempt's class; NULL: ok */
    enum job_end job_end; /* JOB_END_AGAIN: the job is pending, and may be chosen again */
    bool has_objective;
    double objective;
    int64_t duration_ms;
};

struct claim_source {
    const char *kind; /* of the attempts (attempt.kind); NULL: trials, and else `full` is set */
    bool full; /* what it chooses are full trainings (store/attempts.h): of jobs in any state, which is left as it is */

    /* How many to claim before there is room to start them, which hides the commit behind running jobs. 0 for a source
     * whose decisions depend on what has ended. */
    size_t ahead;

    /* Called before a transaction in which `choose` is called. `*ready` false: nothing can be chosen now; ask again in
     * a moment. NULL: it always can. */
    int (*prepare)(void *context, bool *ready, struct error *e);

    /* Puts at most `room` different pending jobs into `job_ids`, in the order in which they are to be started. One that
     * is not due yet is claimed when it is; the source is not to choose it again. */
    int (*choose)(void *context, int64_t *job_ids, size_t room, size_t *count, enum claim_answer *answer,
                  struct error *e);

    /* A chosen job has an attempt now. NULL: need not be notified. */
    int (*claimed)(void *context, const struct claim *claim, struct error *e);

    /* The attempt was never started and is no more: the run ends early. NULL: need not be notified. */
    int (*released)(void *context, const struct claim *claim, struct error *e);

    /* NULL: need not be notified. A job that is pruned, because it needs no less device memory than one that ran out of
     * it, ends as if it had run out too, under the attempt 0: chosen or not, it is not claimed. */
    int (*ended)(void *context, const struct claim_end *end, struct error *e);

    /* How many more attempts it asks for at most; -1: not known. NULL: of all that are pending. */
    int64_t (*to_come)(void *context);

    /* Milliseconds after which it asks for nothing more; -1: it has no deadline. NULL: none. */
    int64_t (*left_ms)(void *context);

    /* Asked about each running attempt about once a second, outside of transactions, with what it has reported so far:
     * why it is to end now, as ENDING_STOPPED, in words (static); NULL: it goes on. NULL itself: none ever ends so. */
    const char *(*why_end)(void *context, const struct claim *claim, const struct sample_list *so_far);

    const int64_t *reopened; /* how many jobs that were ok it has made pending so far; NULL: it makes none */

    void *context;
};

/* Jobs that are not in the database yet while the first of a sweep run. */
struct job_listing {
    int64_t count;
    /* Puts them there, in its own transaction; `*done` false: another program writes just now. */
    int (*put)(void *context, bool *done, struct error *e);
    /* From any thread: `put` puts none of them there, and returns within milliseconds. */
    void (*stop)(void *context);
    void *context;
};

/* Pending jobs by priority, then rank; borrowed as long as the source is used. */
struct store_order {
    struct attempt_store *store;
    const struct job_listing *unlisted; /* put there when the first jobs have been claimed; NULL: all are there */
    bool is_begun;
};
struct claim_source claim_source_in_order(struct store_order *order);
