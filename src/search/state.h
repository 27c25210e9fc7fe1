/* State that all strategies share, the interface of an algorithm, and what several algorithms use. Callers use
 * search/strategy.h. A new strategy is a row of SEARCH_STRATEGIES (config/search_options.h) and, if no algorithm here
 * can do it, a file that defines one. */
#pragma once

#include "search/strategy.h"
#include "util/memory.h"

enum trial_state { TRIAL_NONE = 0, TRIAL_RUNNING, TRIAL_OK, TRIAL_STOPPED, TRIAL_FAILED };

/* State of one candidate. */
struct trial {
    enum trial_state state;
    bool eligible;                 /* its ZeRO stage is searched */
    double resource;               /* requested steps; 0: the whole job */
    struct search_outcome outcome; /* the last that it was told; of a failure its objective is NAN */
    size_t told;                   /* number of outcomes it was told */
};

struct search;

struct algorithm {
    size_t own_size;     /* of the state that it is given, all zero at first */
    bool is_of_families; /* fills search.families before `create` */
    /* -1 (ERROR_USAGE) if there is nothing to do in this space. NULL: there always is. */
    int (*check)(const struct search *s, struct error *e);
    void (*create)(struct search *s, void *own); /* NULL: nothing to prepare */
    void (*free)(void *own);                     /* NULL: it holds nothing */
    /* Fills all of *out. It may name a candidate that already has an outcome: that outcome is told again, and `ask` is
     * called again. SEARCH_WAIT only while a trial runs. */
    enum search_answer (*ask)(struct search *s, void *own, struct decision *out);
    /* Instead of `ask`: goes through a procedure over known results from its beginning until results are missing
     * (search_knows). */
    void (*go_through)(struct search *s, void *own);
    /* Called after the shared state has the outcome. May be NULL. */
    void (*tell)(struct search *s, void *own, size_t candidate, const struct search_outcome *outcome);
};

#define DECLARE(id, name, kind, traits) extern const struct algorithm algorithm_##kind;
SEARCH_STRATEGIES(DECLARE)
#undef DECLARE

/* Families: candidates that differ only in the micro-batch, sorted by it. */
#define NONE SIZE_MAX
#define FAMILY_STAGES 5 /* ZeRO 0 to 3, and configurations that name no stage */

struct families {
    size_t *members; /* candidates, family by family, each by micro-batch */
    size_t *first;   /* family f has members[first[f]] … members[first[f + 1] - 1] */
    size_t count;
};

struct search {
    const struct search_space *space;
    struct search_options given;   /* as the caller passed them */
    struct search_options options; /* with defaults filled in */
    enum search_strategy strategy;
    const struct algorithm *algorithm;
    void *own;
    struct arena arena;   /* what it and the search keep */
    struct trial *trials; /* one per candidate */
    struct group_best {
        bool any;
        size_t candidate;
        double objective;
    } * best;                           /* one per group */
    struct families families;           /* of those that may be searched; empty unless the algorithm asks for them */
    double *largest_fit, *smallest_oom; /* micro-batches by memory class, from outcomes; NAN: not known */
    struct search_counts counts;
    double devices_running, devices_most; /* running now; the most that one candidate needs */
    /* Missing results of a procedure, without duplicates, in the order in which to ask for them. Those from
     * `next_missing` on are still to be requested. */
    struct missing_result {
        size_t candidate;
        const char *why;
    } * missing;
    size_t missing_count, next_missing;
};

/* Probabilities of failure. Above the first, a candidate waits until the others have nothing to offer (a prediction of
 * 90 % of the memory gives this, predict/evidence.h). Above the second, it waits until nothing else has run at all. */
#define SEARCH_RISKY 0.20
#define SEARCH_HOPELESS 0.95

/* Returns whether the candidate may be requested: eligible, and no trial or outcome yet. */
bool search_is_open(const struct search *s, size_t candidate);

/* Returns whether any candidate is open. */
bool search_any_open(const struct search *s);

/* Returns whether a trial has an objective. */
bool trial_runs(const struct trial *t);

/* Returns whether the candidate is known not to fit, from its memory class. */
bool search_is_too_large(const struct search *s, size_t candidate);

/* Returns whether objective `a` is better than `b`. NAN is worse than anything. */
bool search_better(const struct search_space *space, double a, double b);

/* Returns whether two values of a key are equal. Missing equals missing. */
bool same_value(double a, double b);

/* By key, whether it differs between candidates of one group, or of one configuration: the micro-batch and what follows
 * from it. The caller frees it. */
enum search_class { CLASS_GROUP, CLASS_CONFIGURATION };
bool *search_keys_within(const struct search_space *space, enum search_class class);

/* ln of the predicted objective relative to a candidate with work and seconds of 1; larger is better. NAN without a
 * prediction. */
double search_predicted_log(const struct search_space *space, const struct candidate *c);

/* Returns whether any candidate has one. */
bool search_any_predicted(const struct search_space *space);

/* Uniform draw below `bound` for (seed, lineage, index). */
uint64_t search_draw(const struct search *s, uint64_t lineage, uint64_t index, uint64_t bound);

/* The outcome of a trial that has one. */
struct search_outcome search_known(const struct trial *t);

/* Value of a numeric option. */
double search_number(const struct search *s, enum search_number which);

/* Sets the reason, behind what it says already. */
__attribute__((format(printf, 2, 3))) void explain(struct decision *d, const char *format, ...);

/* Returns whether the result is known; if not, it is missing and will be asked for. `why`: static, the step. */
bool search_knows(struct search *s, size_t candidate, const char *why);

/* --- orders --- */

struct rank {
    size_t item;
    double merit;  /* NAN: less than any */
    uint64_t draw; /* orders equal merits */
};

/* Returns the items by descending merit, then by draw, then by number; sorts and frees `ranks`. The caller frees them.
 */
size_t *ranked(struct rank *ranks, size_t count);

/* Candidates in that order. The caller frees them. Predicted: best predicted objective first, candidates without a
 * prediction last. Shuffled: by hash(seed, identity), so that the relative order of two candidates does not depend on
 * the others. */
size_t *search_order(const struct search *s, enum search_order order);

/* --- families --- */

/* Keeps only the first declared of members with equal micro-batch (but other accumulations). */
void families_keep_first(struct search *s);

/* Draws a family of that stage. NONE: there is none. */
size_t families_draw(const struct search *s, size_t stage, uint64_t lineage, uint64_t index);

static inline size_t family_size(const struct search *s, size_t family)
{
    return s->families.first[family + 1] - s->families.first[family];
}

/* A candidate. */
static inline size_t family_member(const struct search *s, size_t family, size_t at)
{
    return s->families.members[s->families.first[family] + at];
}

static inline const struct candidate *family_candidate(const struct search *s, size_t family, size_t at)
{
    return &s->space->candidates[family_member(s, family, at)];
}

static inline const struct trial *family_trial(const struct search *s, size_t family, size_t at)
{
    return &s->trials[family_member(s, family, at)];
}

static inline double family_micro_batch(const struct search *s, size_t family, size_t at)
{
    return family_candidate(s, family, at)->micro_batch;
}

size_t family_stage(const struct search *s, size_t family); /* below FAMILY_STAGES */

/* The best of the first `count` members; NONE: none of them ran. */
size_t family_best(const struct search *s, size_t family, size_t count);

/* The largest member that is predicted to fit with at least even chances, its micro-batch multiplied by `factor`;
 * without predictions, the largest member. */
size_t family_estimate(const struct search *s, size_t family, double factor);

/* The last member with at most that micro-batch; NONE: none. */
size_t family_at_most(const struct search *s, size_t family, double micro_batch);
