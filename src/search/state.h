/* What all strategies share: the state of every candidate, and how a strategy is plugged in. Only strategies include
 * this; callers use search/strategy.h. */
#ifndef MESHSWEEP_SEARCH_STATE_H
#define MESHSWEEP_SEARCH_STATE_H

#include "search/strategy.h"

enum trial_state { TRIAL_NONE = 0, TRIAL_RUNNING, TRIAL_OK, TRIAL_STOPPED, TRIAL_FAILED };

/* Of one candidate. */
struct trial {
    enum trial_state state;
    bool eligible;                           /* of a ZeRO stage that is searched */
    bool out_of_memory;                      /* TRIAL_FAILED: that is how */
    double resource;                         /* asked for; 0: all */
    double objective, steps, seconds, bytes; /* NAN as in struct search_outcome */
    size_t told;                             /* how many outcomes it had */
};

struct search;

/* One row per strategy, in strategies.c. */
struct strategy {
    const char *name;
    bool has_own_patience; /* early_stopping means something else to it */
    bool tries_all;        /* asks for every candidate that no limit keeps it from */
    /* -1 (ERROR_USAGE) where the space has nothing for it. `*own` may stay NULL. */
    int (*create)(struct search *s, void **own, struct error *e);
    void (*free)(void *own); /* NULL: nothing to free */
    /* Fills all of *out. It may name a candidate that has an outcome already: then that is told again, and it is asked
     * again. SEARCH_WAIT only while a trial runs. */
    enum search_answer (*ask)(struct search *s, void *own, struct decision *out);
    /* After the shared state has taken the outcome. NULL: nothing to do. */
    void (*tell)(struct search *s, void *own, size_t candidate, const struct search_outcome *outcome);
};

extern const struct strategy strategy_grid, strategy_random, strategy_model, strategy_binary, strategy_asha;
extern const struct strategy strategy_staged, strategy_stage_by_stage;
extern const struct strategy strategy_dsat_random, strategy_dsat_binary, strategy_dsat_asha;
extern const struct strategy strategy_deepspeed_grid, strategy_deepspeed_random, strategy_deepspeed_model;

struct search {
    const struct search_space *space;
    struct search_options given;   /* by the caller */
    struct search_options options; /* complete */
    const struct strategy *strategy;
    void *own;
    struct trial *trials; /* one per candidate */
    struct group_best {
        bool any;
        size_t candidate;
        double objective;
    } * best; /* one per group */
    struct search_counts counts;
    double devices_running, devices_most; /* most: that one candidate needs */
};

/* Probabilities of failure: beyond the first a candidate waits until others have nothing to offer (what a prediction of
 * 90 % of the memory comes to, evidence/oom.h), beyond the second until nothing has run at all. */
#define SEARCH_RISKY 0.20
#define SEARCH_HOPELESS 0.95

/* Whether it may be asked for: eligible, and nothing known of it. */
bool search_is_open(const struct search *s, size_t candidate);

/* Whether one candidate is. */
bool search_any_open(const struct search *s);

/* Whether objective `a` is better than `b`; a NAN is worse than anything. */
bool search_better(const struct search_space *space, double a, double b);

/* ln of how much better the predicted objective is than that of a candidate with work and seconds 1: larger is better.
 * NAN where nothing is predicted. */
double search_predicted_log(const struct search_space *space, const struct candidate *c);

/* Uniform draw below `bound` for (seed, lineage, index). */
uint64_t search_draw(const struct search *s, uint64_t lineage, uint64_t index, uint64_t bound);

/* What a trial that has an outcome came to. */
struct search_outcome search_known(const struct trial *t);

/* One of the option's numbers. */
double search_number(const struct search *s, enum search_number which);

#endif
