/* What the parts of the strategy "staged" share: what is known and expected of a family (a configuration with all its
 * micro-batches), and its largest micro-batch. Families and members are places in struct families. */
#ifndef MESHSWEEP_SEARCH_STAGED_FLOW_H
#define MESHSWEEP_SEARCH_STAGED_FLOW_H

#include "search/memory_estimate.h"

#define NONE SIZE_MAX

struct staged {
    struct families families;
    bool *of_batch; /* by key of the space: differs within a configuration */
};

/* Results that are missing, each once, in the order in which they are to be asked for. */
struct staged_needs {
    struct staged_need {
        size_t candidate;
        const char *why; /* static */
    } * items;
    size_t count;
};

/* One going through of one group. */
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
double staged_stage(const struct staged_flow *f, size_t family); /* -1: it has none */

/* Whether it has a number. */
bool staged_runs(const struct trial *t);

/* Whether the result is there; where it is not, it is needed. What follows from none of several results is asked for in
 * one go: continue after false, and return it in the end. */
bool staged_result(struct staged_flow *f, size_t family, size_t at, const char *why);
bool staged_candidate_result(struct staged_flow *f, size_t candidate, const char *why);

/* The best member of the family, and the largest that ran; NONE: nothing ran. */
size_t staged_best_at(const struct staged_flow *f, size_t family);
size_t staged_largest_run(const struct staged_flow *f, size_t family);

/* Of the best member; NAN: nothing ran. */
double staged_objective(const struct staged_flow *f, size_t family);

/* The family with the best of all; NONE: nothing ran. */
size_t staged_best_family(const struct staged_flow *f);

/* How many members, from the first, are said to have room; NONE: it is not known. */
size_t staged_count_fitting(const struct staged_flow *f, size_t family);

/* Share by which the objective at the micro-batch `to` is expected to be better than at `from`, by the time of a step
 * in the family: fixed and per sample, so 1/rate is linear in 1/micro-batch. The best family's time where one run is
 * all that is known of this one, as good as can be where it is all that there is. */
double staged_gain(const struct staged_flow *f, size_t family, double from, double to);

/* What a search for the largest micro-batch is for. */
struct staged_purpose {
    double reach;    /* only above that */
    double rival;    /* the objective to be better than; NAN: none */
    bool exact;      /* whatever is left to gain */
    size_t patience; /* failures after which it is given up where nothing ran; 0: none is too many */
    bool blind; /* what is predicted says nothing of what makes the difference in memory: until two of its runs show it,
                        nothing is expected */
};

/* False, as of all that follows: a result is missing. */
bool staged_find_largest(struct staged_flow *f, size_t family, struct staged_purpose p);

/* Of the families that differ from this one in what memory hangs on alone, the one that is predicted to need most: jobs
 * that are not likely to fit are listed last. */
size_t staged_least_saving(const struct staged_flow *f, size_t family);

/* From that family of the climb on, key by key (staged_keys.c). */
bool staged_descend(struct staged_flow *f, size_t base);

/* Where nothing ran: the first, in declared order, of what needs less memory than the first of its stage, then of all;
 * NONE: nothing runs. */
bool staged_rescue(struct staged_flow *f, size_t *found);

#endif
