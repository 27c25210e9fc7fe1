/* Shared by the parts of the strategy "staged": what is known and expected of a family (a configuration with all its
 * micro-batches), and the search for its largest micro-batch. Families and members are indices into struct families. */
#ifndef MESHSWEEP_SEARCH_STAGED_FLOW_H
#define MESHSWEEP_SEARCH_STAGED_FLOW_H

#include "search/memory_estimate.h"

#define NONE SIZE_MAX

struct staged {
    struct families families;
    bool *of_batch; /* by key of the space: differs within a configuration */
};

/* Missing results, without duplicates, in the order in which to ask for them. */
struct staged_needs {
    struct staged_need {
        size_t candidate;
        const char *why; /* static */
    } * items;
    size_t count;
};

/* One pass over one group. */
struct staged_flow {
    const struct search *s;
    const struct staged *d;
    size_t group;
    double usable;
    struct staged_needs *needs;
};

const struct candidate *staged_member(const struct staged_flow *f, size_t family, size_t at);
const struct trial *staged_trial(const struct staged_flow *f, size_t family, size_t at);
size_t staged_size(const struct staged_flow *f, size_t family);
bool staged_is_of_group(const struct staged_flow *f, size_t family);
double staged_stage(const struct staged_flow *f, size_t family); /* -1: no stage */

/* Whether the trial has an objective. */
bool staged_runs(const struct trial *t);

/* Whether the result is known; if not, it is added to `needs`. Results that do not depend on each other are requested
 * together: go on after a false, and return false at the end. */
bool staged_result(struct staged_flow *f, size_t family, size_t at, const char *why);
bool staged_candidate_result(struct staged_flow *f, size_t candidate, const char *why);

/* The family's best member, and its largest that ran; NONE: nothing ran. */
size_t staged_best_at(const struct staged_flow *f, size_t family);
size_t staged_largest_run(const struct staged_flow *f, size_t family);

/* Objective of the best member; NAN: nothing ran. */
double staged_objective(const struct staged_flow *f, size_t family);

/* The family with the best objective of all; NONE: nothing ran. */
size_t staged_best_family(const struct staged_flow *f);

/* How many members, counted from the first, are expected to fit; NONE: not known. */
size_t staged_count_fitting(const struct staged_flow *f, size_t family);

/* Expected relative gain in the objective from micro-batch `from` to `to`. The time of a step is a fixed part plus a
 * part per sample, so 1/rate is linear in 1/micro-batch. Both come from two runs of the family, or else of the best
 * family; if that has not two either, all time is taken to be fixed, the most that can be gained. */
double staged_gain(const struct staged_flow *f, size_t family, double from, double to);

/* What a search for the largest micro-batch is for. */
struct staged_purpose {
    double reach;    /* only larger micro-batches matter */
    double rival;    /* objective to beat; NAN: none */
    bool exact;      /* close the bracket completely, however little is left to gain */
    size_t patience; /* failures after which a family is given up if nothing ran; 0: no limit */
    bool blind; /* predictions say nothing about the difference in memory: until two of its runs show it, nothing is
                 * expected */
};

/* This and all functions below: false if a result is missing. */
bool staged_find_largest(struct staged_flow *f, size_t family, struct staged_purpose p);

/* Among the families that differ from this one only in keys that save memory, the one that is predicted to need the
 * most: jobs that are unlikely to fit are listed last. */
size_t staged_least_saving(const struct staged_flow *f, size_t family);

/* Improves on `base`, the family that the climb chose, key by key. In staged_keys.c. */
bool staged_descend(struct staged_flow *f, size_t base);

/* If nothing ran: finds the first family that runs, in declared order, among those that differ from the first of their
 * stage only in keys that save memory, or else among all. NONE: nothing runs. */
bool staged_rescue(struct staged_flow *f, size_t *found);

#endif
