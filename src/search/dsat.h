/* What the methods of Determined's DeepSpeed Autotune (dsat, Determined 0.37, harness/determined/pytorch/dsat) share:
 * configurations drawn at random, lineages that bisect the micro-batch of one, a queue of trials, and the number of
 * lineages begun at once. Kept: what dsat decides, good or not. Left out: what made it crash or hang, its profile trial
 * (the estimated largest micro-batch of a stage comes from predictions, or is the largest there is) and trials of
 * exactly what has been run, which are answered from the record.
 *
 * dsat queues what follows from an outcome when it comes in. Here outcomes are heard of in the order in which the
 * trials were asked for, each when as many further trials were as there are lineages at once: what is decided is the
 * same however many run at a time, and in whichever order they end. A question that is not answered by a trial changes
 * nothing, since a search that is repeated does not know of it.
 *
 * A micro-batch that the space does not have becomes the next smaller one of the bracket, else the next larger. */
#ifndef MESHSWEEP_SEARCH_DSAT_H
#define MESHSWEEP_SEARCH_DSAT_H

#include "search/families.h"

#define DSAT_STAGES 5 /* ZeRO 0 to 3, and what says none */

struct dsat_trial {
    size_t family, candidate;
    uint64_t lineage, index; /* lineage: from 0, as they were begun; index: how many of the lineage came before */
    uint64_t stream;         /* of the lineage's draws: of the trial after which it began, whenever that was */
    size_t parent;           /* in dsat.trials; SIZE_MAX: the first of its lineage */
    double low, high, micro_batch;
    int rung; /* dsat-asha */
    bool started, told, failed;
    double objective; /* NAN unless it was told of and ran */
    size_t sequence;  /* of those that were started, from 0 */
    struct {
        bool any, failed;
        double objective;
    } outcome; /* that it will be told of in its turn */
};

struct dsat {
    struct families families;
    double estimate[DSAT_STAGES]; /* of the largest micro-batch that runs, at least 1; 0: no such stage */
    struct dsat_trial *trials;    /* in the order in which they were queued */
    size_t count;
    size_t started, followed; /* how many; those whose outcomes were told of are the first by sequence */
    uint64_t lineages;
    /* Of a method. `next` queues what follows a trial that was told; it may queue nothing. `pick` chooses among those
     * that are queued and not started: NULL: the first. */
    void (*next)(struct search *s, struct dsat *d, size_t trial);
    size_t (*pick)(const struct dsat *d);
    void (*begin)(struct search *s, struct dsat *d, uint64_t stream); /* queues a trial of a new lineage */
};

int dsat_create(struct search *s, struct dsat *d, struct error *e);
void dsat_destroy(void *own);
enum search_answer dsat_ask(struct search *s, void *own, struct decision *out);
void dsat_tell(struct search *s, void *own, size_t candidate, const struct search_outcome *outcome);

size_t dsat_stage(const struct search *s, const struct dsat *d, size_t family);

/* A family of that stage, drawn from the stream; SIZE_MAX: none. SIZE_MAX as stage: of a stage that is drawn too. */
size_t dsat_draw_family(const struct search *s, const struct dsat *d, uint64_t stream, size_t stage);

/* The stream of the lineage that begins after that trial. */
uint64_t dsat_stream_after(const struct dsat_trial *trial);

/* Queues a trial; false when no micro-batch of the family lies in [low, high]. */
bool dsat_queue(struct search *s, struct dsat *d, const struct dsat_trial *trial);

/* Begins a lineage that bisects from the middle of 1 to search_range_factor times the estimate. */
void dsat_begin_bisection(struct search *s, struct dsat *d, uint64_t stream);

/* Trials of the lineage that are over. */
size_t dsat_completed(const struct dsat *d, uint64_t lineage);

#endif
