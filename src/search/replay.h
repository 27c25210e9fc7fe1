/* Replay: runs a strategy against jobs whose outcomes are known, as if they were run now.
 *
 * Every group is a search of its own. The best of a group is its best ok outcome. A search arrives at the target when
 * it is told an objective that falls short of the best by at most the gap, a share of the best's size. Until then it
 * counts:
 *
 *   trials         candidates run, each once however often the strategy continues it
 *   failed         those that failed
 *   device_hours   their cost, if known for all of them
 *   slowdown[i]    after replay_marks[i] trials: the best objective of the group divided by the best found, or the
 *                  reciprocal if less is better; 1 is the best, NAN where not all are above zero. Until something
 *                  has run, the group's worst ok outcome stands for the best found
 *
 * Within a group, candidates are declared as in the sweep file; those of an imported table, which may be ordered by its
 * results, in the order of their key values, lowest first.
 *
 * If a strategy ends before the target, it continues without its stop rule (target_gap 0, no early stopping), as a
 * person would who wants the target. If it still ends early, all remaining candidates are tried in declared order.
 * Where it would have ended by itself is reported separately.
 *
 * Trials are requested in rounds of `concurrent`, told and counted in that order, always whole rounds. Pure but for
 * loading. */
#pragma once

#include "search/candidates.h"

#define REPLAY_MARKS 4
extern const size_t replay_marks[REPLAY_MARKS]; /* 1, 3, 5, 10 */

struct replay_outcome {
    struct search_outcome outcome;
    const char *failure; /* its class; NULL unless it failed. Static */
    size_t place;        /* in declared order; 0: of an imported table */
};

/* Candidates that compete only with each other. */
struct replay_group {
    struct search_space space; /* one group, everything numbered anew */
    struct candidate *candidates;
    struct search_place *places;
    double *terms;                   /* of inverted predictions; NULL: none are */
    struct replay_outcome *outcomes; /* one per candidate */
    size_t *members;                 /* indices of its candidates in the whole space */
    size_t ok, failed;
    double best, worst; /* of the ok candidates; NAN: there are none */
    size_t winner;      /* first candidate with the best objective */
};

/* `group_of` gives each candidate of `space` a number below `group_count`. Free with replay_groups_free. */
struct replay_group *replay_groups_make(const struct search_space *space, const struct replay_outcome *outcomes,
                                        const size_t *group_of, size_t group_count);
void replay_groups_free(struct replay_group *groups, size_t count);

enum replay_predictions {
    REPLAY_GIVEN = 0, /* unchanged but for the factors */
    REPLAY_INVERTED,  /* best and worst of a group swapped, in time and in memory */
    REPLAY_NONE,      /* left out */
};
extern const char *const replay_predictions_names[]; /* "given", "inverted", "none", NULL */

/* Makes predictions wrong, each time from those of the whole space. Predicted memory is multiplied by one factor and
 * predicted time by one factor per weight, drawn log-uniformly from [1/factor, factor] by (seed, group); 1 changes
 * nothing. Then `predictions` applies; inversion is around the group's geometric mean of merit (work / seconds) and of
 * memory. */
struct replay_error {
    double memory, time;
    uint64_t seed, group;
    enum replay_predictions predictions;
};
void replay_disturb(struct replay_group *g, const struct search_space *space, const struct replay_error *error);

struct replay_task {
    const struct replay_group *group;     /* must have a best */
    const struct search_options *options; /* must name a strategy */
    size_t concurrent;
    double target_gap;
    uint64_t seed;
    /* Called with every decision, and with NULL at the start of a search. May be NULL. */
    void (*watch)(void *context, const struct decision *decision, const struct replay_outcome *outcome);
    void *context;
};

struct replay_result {
    bool arrived;          /* at the target, before the strategy ended by itself */
    size_t trials, failed; /* until the target */
    size_t stop_trials;    /* when the strategy ended by itself */
    double stop_slowdown;  /* at that point */
    double slowdown[REPLAY_MARKS];
    double device_hours; /* NAN: not known */
};

/* -1 (ERROR_USAGE) if the strategy cannot search that space. */
int replay_run(const struct replay_task *task, struct replay_result *out, struct error *e);

/* --- statistics --- */

struct replay_statistics {
    double mean, low, high; /* 95 % interval of the mean: Student's over groups; NAN for fewer than three */
    double median, p90;
};

/* `values` holds `per_group` values for each of `groups`. NAN are left out; if all are NAN, so is every result. */
struct replay_statistics replay_summarise(const double *values, size_t groups, size_t per_group);

/* --- loading: the measured jobs of a database, as candidates with their predictions, outcomes and groups ---
 *
 * The specs come from the jobs themselves, so it makes no difference whether a sweep file or a table created them. */

struct replay_request {
    struct db *db;        /* read only */
    const char *config;   /* the sweep file; NULL: as stored in the database */
    const char *group_by; /* columns of the view `results`, separated by commas; NULL: [sweep] group_by, else the groups
                           * of the search (search/candidates.h) */
};

struct replay_source {
    struct candidate_set set;
    struct replay_outcome *outcomes; /* by candidate */
    size_t *group_of;                /* by candidate */
    char **group_names;              /* "layers=16 num_hosts=1", or "" */
    size_t group_count;
    bool has_listed_groups; /* the groups are those of [sweep] group_by */
    size_t replicates;      /* jobs that differ from a candidate only in replicate keys; outcomes are means over them */
    size_t infeasible;      /* jobs that [sweep] subject_to keeps from winning; they are candidates that fail */
    size_t excluded;        /* jobs that the current rules exclude; not candidates */
    size_t unmeasured;      /* jobs that have not ended; not candidates */
    char *objective;
    /* `set` points into these. */
    struct sweep *sweep;
    struct row_space *rows;
    struct space *space;
};

/* Loads the current sweep. ERROR_USAGE if it declares no objective, ERROR_NOTHING if no job has ended. Call
 * replay_source_free even after an error. */
int replay_load(const struct replay_request *request, struct replay_source *out, struct error *e);
void replay_source_free(struct replay_source *s);
