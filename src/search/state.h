/* State that all strategies share, and the interface of a strategy. Only strategies include this; callers use
 * search/strategy.h. */
#ifndef MESHSWEEP_SEARCH_STATE_H
#define MESHSWEEP_SEARCH_STATE_H

#include "search/strategy.h"

enum trial_state { TRIAL_NONE = 0, TRIAL_RUNNING, TRIAL_OK, TRIAL_STOPPED, TRIAL_FAILED };

/* State of one candidate. */
struct trial {
    enum trial_state state;
    bool eligible;                           /* its ZeRO stage is searched */
    bool out_of_memory;                      /* why it failed (TRIAL_FAILED) */
    double resource;                         /* requested steps; 0: the whole job */
    double objective, steps, seconds, bytes; /* NAN as in struct search_outcome */
    size_t told;                             /* number of outcomes it was told */
};

struct search;

/* Each strategy defines one; strategy.c lists them. */
struct strategy {
    const char *name;
    bool has_own_patience; /* gives early_stopping a meaning of its own */
    bool tries_all;        /* asks for every candidate unless a limit stops it */
    /* -1 (ERROR_USAGE) if the strategy has nothing to do in this space. `*own` may stay NULL. */
    int (*create)(struct search *s, void **own, struct error *e);
    void (*free)(void *own); /* NULL: nothing to free */
    /* Fills all of *out. It may name a candidate that already has an outcome: that outcome is told again, and `ask` is
     * called again. SEARCH_WAIT only while a trial runs. */
    enum search_answer (*ask)(struct search *s, void *own, struct decision *out);
    /* Called after the shared state has the outcome. May be NULL. */
    void (*tell)(struct search *s, void *own, size_t candidate, const struct search_outcome *outcome);
};

extern const struct strategy strategy_grid, strategy_random, strategy_model, strategy_binary, strategy_asha;
extern const struct strategy strategy_staged, strategy_stage_by_stage;
extern const struct strategy strategy_dsat_random, strategy_dsat_binary, strategy_dsat_asha;
extern const struct strategy strategy_deepspeed_grid, strategy_deepspeed_random, strategy_deepspeed_model;

struct search {
    const struct search_space *space;
    struct search_options given;   /* as the caller passed them */
    struct search_options options; /* with defaults filled in */
    const struct strategy *strategy;
    void *own;
    struct trial *trials; /* one per candidate */
    struct group_best {
        bool any;
        size_t candidate;
        double objective;
    } * best; /* one per group */
    struct search_counts counts;
    double devices_running, devices_most; /* running now; the most that one candidate needs */
};

/* Probabilities of failure. Above the first, a candidate waits until the others have nothing to offer (a prediction of
 * 90 % of the memory gives this, evidence/oom.h). Above the second, it waits until nothing else has run at all. */
#define SEARCH_RISKY 0.20
#define SEARCH_HOPELESS 0.95

/* Whether the candidate may be requested: eligible, and no trial or outcome yet. */
bool search_is_open(const struct search *s, size_t candidate);

/* Whether any candidate is open. */
bool search_any_open(const struct search *s);

/* Whether objective `a` is better than `b`. NAN is worse than anything. */
bool search_better(const struct search_space *space, double a, double b);

/* ln of the predicted objective relative to a candidate with work and seconds of 1; larger is better. NAN without a
 * prediction. */
double search_predicted_log(const struct search_space *space, const struct candidate *c);

/* Uniform draw below `bound` for (seed, lineage, index). */
uint64_t search_draw(const struct search *s, uint64_t lineage, uint64_t index, uint64_t bound);

/* The outcome of a trial that has one. */
struct search_outcome search_known(const struct trial *t);

/* Value of a numeric option. */
double search_number(const struct search *s, enum search_number which);

#endif
