/* What the methods of Determined's DeepSpeed Autotune share (dsat; Determined 0.37, harness/determined/pytorch/dsat):
 * configurations drawn at random, lineages that each bisect the micro-batch of one configuration, a queue of trials,
 * and the number of lineages that run at once. It decides as dsat does, good or not. Left out are what made dsat crash
 * or hang, its profile trial (predictions estimate the largest micro-batch of a stage; without them it is the largest
 * in the space), and repeats of a trial that has already run, which are answered from the record.
 *
 * dsat queues follow-up trials as soon as an outcome arrives. Here an outcome is processed in the order in which trials
 * were requested, once as many further trials have been requested as lineages run at once. Decisions therefore do not
 * depend on how many trials run at a time, or on the order in which they end. A question that is not answered with a
 * trial changes no state, because a repeated search does not know of it.
 *
 * A micro-batch that is not in the space becomes the next smaller one of the bracket, or else the next larger. */
#ifndef MESHSWEEP_SEARCH_DSAT_H
#define MESHSWEEP_SEARCH_DSAT_H

#include "search/families.h"

#define DSAT_STAGES 5 /* ZeRO 0 to 3, and configurations that name no stage */

struct dsat_trial {
    size_t family, candidate;
    uint64_t lineage, index; /* lineage: from 0, in order of creation; index: earlier trials of the lineage */
    uint64_t stream;         /* seeds the lineage's draws; derived from the trial after which it began, whenever that
                              * was */
    size_t parent;           /* index into dsat.trials; SIZE_MAX: first of its lineage */
    double low, high, micro_batch;
    int rung; /* used by dsat-asha */
    bool started, told, failed;
    double objective; /* NAN until an outcome was told, and for failures */
    size_t sequence;  /* among started trials, from 0 */
    struct {
        bool any, failed;
        double objective;
    } outcome; /* known, but told only in its turn */
};

struct dsat {
    struct families families;
    double estimate[DSAT_STAGES]; /* largest micro-batch that runs, at least 1; 0: no such stage */
    struct dsat_trial *trials;    /* in the order in which they were queued */
    size_t count;
    size_t started, followed; /* counts; outcomes were processed for the first `followed` by sequence */
    uint64_t lineages;
    /* The method's functions. `next` queues whatever follows a trial whose outcome was told; that may be nothing.
     * `pick` chooses among trials that are queued but not started; NULL: the first. */
    void (*next)(struct search *s, struct dsat *d, size_t trial);
    size_t (*pick)(const struct dsat *d);
    void (*begin)(struct search *s, struct dsat *d, uint64_t stream); /* queues the first trial of a new lineage */
};

int dsat_create(struct search *s, struct dsat *d, struct error *e);
void dsat_destroy(void *own);
enum search_answer dsat_ask(struct search *s, void *own, struct decision *out);
void dsat_tell(struct search *s, void *own, size_t candidate, const struct search_outcome *outcome);

size_t dsat_stage(const struct search *s, const struct dsat *d, size_t family);

/* Draws a family of that stage from the stream. `stage` SIZE_MAX: draws the stage, too. Returns SIZE_MAX if there is
 * none. */
size_t dsat_draw_family(const struct search *s, const struct dsat *d, uint64_t stream, size_t stage);

/* Seed of the lineage that begins after that trial. */
uint64_t dsat_stream_after(const struct dsat_trial *trial);

/* Queues a trial. False if no micro-batch of the family lies in [low, high]. */
bool dsat_queue(struct search *s, struct dsat *d, const struct dsat_trial *trial);

/* Begins a lineage whose bisection starts in the middle of [1, search_range_factor × estimate]. */
void dsat_begin_bisection(struct search *s, struct dsat *d, uint64_t stream);

/* Number of the lineage's trials that have ended. */
size_t dsat_completed(const struct dsat *d, uint64_t lineage);

#endif
