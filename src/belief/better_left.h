/* Whether something better than the best is left: the rule that ends a search, after Wilson, "Stopping Bayesian
 * Optimization with Probabilistic Regret Bounds" (NeurIPS 2024). Candidates are drawn jointly: similar ones are better
 * or worse together, and which of them run out of memory depends on a single limit. Pure. */
#ifndef MESHSWEEP_BELIEF_BETTER_LEFT_H
#define MESHSWEEP_BELIEF_BETTER_LEFT_H

#include <stddef.h>

/* A candidate's merit minus the merit to beat, in one view of the predictions. */
struct left_expectation {
    double mean, deviation; /* without measurement noise */
};

/* Probability that it is above 0. */
double left_above_alone(const struct left_expectation *x);

struct candidates_left {
    size_t count;
    const struct left_expectation *believed, *doubted;
    double trust;              /* probability of the first view */
    size_t freedom;            /* degrees of freedom of the spread that all candidates share (Student's distribution) */
    const double *failure;     /* probabilities */
    const double *correlation; /* count × count */
};

/* Probability that any of the candidates runs and is above 0, from draws that are the same each time; at 5 %, the
 * sampling error is 0.7 percentage points. Each draw is in one view, and a candidate runs only if all that are less
 * likely to fail run, too. */
double better_left(const struct candidates_left *c);

#endif
