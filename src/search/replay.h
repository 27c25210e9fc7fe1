/* Replay: a strategy against jobs whose outcomes are known, as if they were run now.
 *
 * Every group is its own search. The best of a group is its best ok outcome; a search has arrived when it was told
 * of one whose objective is within the target gap of that: at least (1 - gap) of it where more is better, at most
 * (1 + gap) times it where less is. Counted until then:
 *
 *   trials         candidates run, each once however often a strategy continues with it
 *   failed         those of them that failed
 *   device_hours   what they cost, where that is known of all of them
 *   slowdown[i]    after replay_marks[i] trials: the best objective of the group over the best found, or its reciprocal
 *                  where less is better: 1 is the best. Until something ran that is the group's worst ok outcome
 *
 * Within a group the declared order is that of the candidates' key values, lowest first.
 *
 * A strategy that ends without having arrived continues without its stop rule (target_gap 0, no early stopping), as a
 * person would who wants the target; where it ends all the same, all that is left is tried in the declared order. Where
 * it would have ended by itself is told apart.
 *
 * Trials are asked for in rounds of `concurrent` and count in that order, a round as a whole; its outcomes are told in
 * an order drawn from `order_seed`, which makes no difference. Pure. */
#ifndef MESHSWEEP_SEARCH_REPLAY_H
#define MESHSWEEP_SEARCH_REPLAY_H

#include "search/strategy.h"

#define REPLAY_MARKS 4
extern const size_t replay_marks[REPLAY_MARKS]; /* 1, 3, 5, 10 */

struct replay_outcome {
    struct search_outcome outcome; /* `failure` borrowed */
    double device_seconds;         /* NAN: not known */
};

/* Candidates that compete, apart from all others. */
struct replay_group {
    struct search_space space; /* of its own: one group, everything numbered anew */
    struct candidate *candidates;
    struct search_place *places;
    double *terms;                   /* of predictions that were turned over; NULL: none were */
    struct replay_outcome *outcomes; /* one per candidate; `failure` borrowed */
    size_t *members;                 /* its candidates' places in the whole space */
    size_t ok, failed;
    double best, worst; /* of the ok ones; NAN: none is */
    size_t winner;      /* the first candidate with the best */
};

/* `group_of` has a number below `group_count` for every candidate of `space`. The caller's: replay_groups_free. */
struct replay_group *replay_groups_make(const struct search_space *space, const struct replay_outcome *outcomes,
                                        const size_t *group_of, size_t group_count);
void replay_groups_free(struct replay_group *groups, size_t count);

enum replay_predictions {
    REPLAY_GIVEN = 0, /* as they are, but for the factors */
    REPLAY_INVERTED,  /* turned over: what is predicted best of a group is its worst, what fits best does not */
    REPLAY_NONE,      /* left out */
};
extern const char *const replay_predictions_names[]; /* "given", "inverted", "none", NULL */

/* Makes predictions wrong, afresh from the whole space's each time: those of memory by one factor, those of time by one
 * for each weight, drawn log-uniformly from [1/factor, factor] by (seed, group), 1 leaving them as they are; then as
 * `predictions` says, around the geometric mean of the group, in merit (work / seconds) and in memory. */
struct replay_error {
    double memory, time;
    uint64_t seed, group;
    enum replay_predictions predictions;
};
void replay_disturb(struct replay_group *g, const struct search_space *space, const struct replay_error *error);

struct replay_task {
    const struct replay_group *group;     /* with a best */
    const struct search_options *options; /* with a strategy */
    size_t concurrent;
    double target_gap;
    uint64_t seed, order_seed;
    /* Called with every decision, and with NULL when a search begins; NULL: nobody is. */
    void (*watch)(void *context, const struct decision *decision, const struct replay_outcome *outcome);
    void *context;
};

struct replay_result {
    bool arrived;          /* before the strategy ended by itself */
    size_t trials, failed; /* until the target */
    size_t stop_trials;    /* when the strategy ended by itself */
    double stop_slowdown;  /* then */
    double slowdown[REPLAY_MARKS];
    double device_hours; /* NAN: not known */
};

/* -1 (ERROR_USAGE) when the strategy cannot search that space. */
int replay_run(const struct replay_task *task, struct replay_result *out, struct error *e);

/* --- statistics --- */

struct replay_statistics {
    double mean, low, high; /* 95 % interval of the mean, by resampling groups (percentile bootstrap, seeded) */
    double median, p90;
};

/* `values` has `per_group` for each of `groups`; NAN are left out. All NAN: all NAN. */
struct replay_statistics replay_summarise(const double *values, size_t groups, size_t per_group);

#endif
