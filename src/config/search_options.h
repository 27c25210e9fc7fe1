/* The settings of a search: the keys of [search] and the options of the command line are this one table.
 *
 * Names, defaults and meaning follow DeepSpeed Autotune of Determined AI (dsat) where it has the option, and
 * DeepSpeed's own autotuning for the tuner's (Determined 0.37, DeepSpeed 0.16). A number that is not given is
 * SEARCH_NOT_GIVEN; search_options_complete then puts the default of the strategy in its place. Pure. */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#include "config/key_members.h"
#include "util/error.h"

#define SEARCH_NOT_GIVEN (-1.0)
#define SEARCH_UNLIMITED 0.0 /* of a limit */

#define SEARCH_ANY INFINITY
#define SEARCH_SEED_MOST 9007199254740992.0 /* 2^53: what a double counts exactly to */

/* The numbers are the rows of [search] in keys.toml that say `search`: SEARCH_NUMBERS(ROW), of each ROW(id, then as in
 * struct search_number_row). */
#define SEARCH_ID(id, ...) SEARCH_##id,
enum search_number { SEARCH_NUMBERS(SEARCH_ID) SEARCH_NUMBER_COUNT };
#undef SEARCH_ID

enum search_order { SEARCH_ORDER_DECLARED = 0, SEARCH_ORDER_PREDICTED, SEARCH_ORDER_SHUFFLED };
extern const char *const search_order_names[]; /* by order, NULL at the end: "declared", "predicted", "shuffled" */

#define SEARCH_ZERO_STAGES 4

/* The strategy of [[search.stage]]. */
#define SEARCH_STAGE_BY_STAGE "stage-by-stage"

/* Traits of strategies, as bits. */
enum search_trait {
    TRIES_ALL = 1,     /* asks for every candidate unless a limit stops it; never compares them */
    IN_ORDER = 2,      /* asks for them as they are listed */
    COUNTS_EACH = 4,   /* every number counts: nothing that runs is ended where it cannot win */
    OWN_PATIENCE = 8,  /* gives early_stopping a meaning of its own */
    NEEDS_TIMES = 16,  /* is worth little without predicted times */
    MEMORY_FIRST = 32, /* the largest micro-batch, then speed */
    IN_STAGES = 64,    /* [[search.stage]] */
    OF_DSAT = 128,
    OF_DEEPSPEED = 256,
};

/* The strategies in the order of help texts: STRATEGY_id, name, algorithm (src/search/state.h), traits. */
#define SEARCH_STRATEGIES(ROW)                                                                                         \
    ROW(GRID, "grid", listed, TRIES_ALL | IN_ORDER | COUNTS_EACH)                                                      \
    ROW(RANDOM, "random", listed, TRIES_ALL)                                                                           \
    ROW(BINARY, "binary", bisection, 0)                                                                                \
    ROW(ASHA, "asha", halving, 0)                                                                                      \
    ROW(MODEL, "model", model, NEEDS_TIMES)                                                                            \
    ROW(STAGED, "staged", staged, MEMORY_FIRST | COUNTS_EACH)                                                          \
    ROW(DSAT_RANDOM, "dsat-random", dsat, OF_DSAT | COUNTS_EACH)                                                       \
    ROW(DSAT_BINARY, "dsat-binary", dsat, OF_DSAT | COUNTS_EACH)                                                       \
    ROW(DSAT_ASHA, "dsat-asha", dsat, OF_DSAT | COUNTS_EACH)                                                           \
    ROW(DEEPSPEED_GRID, "deepspeed-grid", deepspeed, OF_DEEPSPEED | COUNTS_EACH | OWN_PATIENCE)                        \
    ROW(DEEPSPEED_RANDOM, "deepspeed-random", deepspeed, OF_DEEPSPEED | COUNTS_EACH | OWN_PATIENCE)                    \
    ROW(DEEPSPEED_MODEL, "deepspeed-model", deepspeed, OF_DEEPSPEED | COUNTS_EACH | OWN_PATIENCE)                      \
    ROW(STAGE_BY_STAGE, SEARCH_STAGE_BY_STAGE, stages, IN_STAGES | OWN_PATIENCE)

#define STRATEGY_ID(id, name, algorithm, traits) STRATEGY_##id,
enum search_strategy { SEARCH_STRATEGIES(STRATEGY_ID) STRATEGY_COUNT };
#undef STRATEGY_ID

/* If no last step to measure is given, as many more are measured as go into a few seconds, which is little beside the
 * half minute in which a job starts: a median of few samples says little. */
#define PROFILE_SECONDS 5.0
#define PROFILE_STEPS_MORE 50 /* after the first at most */

struct search_stage; /* config/sweep.h */

struct search_options {
    const char *strategy; /* one of search_strategy_names; NULL: grid */
    double numbers[SEARCH_NUMBER_COUNT];
    bool zero_stages[SEARCH_ZERO_STAGES]; /* none set: not given */
    int order;                            /* enum search_order; -1: not given. Of grid */
    int racing;                           /* -1: not given; 0, 1 */
    int equal_batch;                      /* -1: not given; 0, 1: compare only at equal global batch */
    const struct search_stage *stages;    /* [[search.stage]], borrowed; NULL: none */
    size_t stage_count;
};

/* Nothing given. */
struct search_options search_options_none(void);

struct search_number_row {
    const char *key;  /* in [search]; the option is the same with hyphens */
    const char *unit; /* of the value in help texts: "N", "SHARE" */
    const char *help;
    double least, most;
    bool whole;
    double fallback; /* of strategies that say nothing else; may be SEARCH_NOT_GIVEN */
};
extern const struct search_number_row search_numbers[SEARCH_NUMBER_COUNT];

extern const char *const search_strategy_names[]; /* by enum search_strategy, NULL at the end */

/* NULL: grid. STRATEGY_COUNT: there is none of that name. */
enum search_strategy search_strategy_named(const char *name);
bool search_strategy_has(const char *name, enum search_trait trait);

/* 0, or -1 (ERROR_USAGE): no such number, too small or large, not whole. */
int search_number_check(enum search_number which, double value, struct error *e);

/* Lays what `over` gives over `under`; both lend their stages. */
struct search_options search_options_overlay(const struct search_options *under, const struct search_options *over);

/* Fills what is not given with the strategy's defaults: grid has no limit of trials, dsat-* make 50 trials (as its
 * example says; 64 in its code), search the ZeRO stages 1 to 3 and measure the steps 3 to 5, after a later first step
 * two more (of others the steps stay not given), deepspeed-* stop after 5 trials without a better one and after 50 per
 * stage. */
void search_options_complete(struct search_options *o);
