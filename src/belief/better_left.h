/* Whether something better than the best is left: the rule that ends a search, after Wilson, "Stopping Bayesian
 * Optimization with Probabilistic Regret Bounds" (NeurIPS 2024). What is believed of candidates is drawn jointly: near
 * ones are better or worse together, and which of them run out of memory depends on where one limit lies. Pure. */
#ifndef MESHSWEEP_BELIEF_BETTER_LEFT_H
#define MESHSWEEP_BELIEF_BETTER_LEFT_H

#include <stddef.h>

/* What is expected of a candidate over what has to be beaten, in one view of the predictions. */
struct left_expectation {
    double mean, deviation; /* without the noise of a measurement */
};

/* The probability that it lies above 0. */
double left_above_alone(const struct left_expectation *x);

struct candidates_left {
    size_t count;
    const struct left_expectation *believed, *doubted;
    double trust;              /* the probability of the first view */
    size_t freedom;            /* degrees of freedom of the spread, which all share: Student's distribution */
    const double *failure;     /* probabilities */
    const double *correlation; /* count × count */
};

/* The probability that one of them runs and lies above 0, by draws that are the same each time: of 5 % within 0.7. A
 * draw is in one view, and of two candidates the one that is likelier to fail does not run without the other. */
double better_left(const struct candidates_left *c);

#endif
