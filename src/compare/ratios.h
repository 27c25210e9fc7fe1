/* The median of ratios and its confidence interval. Pure.
 *
 * Intervals of comparisons that are shown together hold together: each of m errs in a share of at most 5 % / m
 * (Bonferroni), so that all of them contain their medians with 95 %, and no difference is shown by chance with 95 %. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* With fewer ratios no difference can be shown: the probability that all of n independent ratios lie on one side of a
 * median of 1 is 2^(1-n), which is below 5 % only from n = 6 on (the sign test). */
#define RATIOS_LEAST 6

/* With fewer there is no interval: two say next to nothing about how far ratios spread. */
#define RATIOS_INTERVAL_LEAST 3

enum ratio_interval {
    RATIO_INTERVAL_NONE = 1, /* fewer than RATIOS_INTERVAL_LEAST */
    RATIO_INTERVAL_RANKS,    /* order statistics, whatever the distribution of ratios */
    RATIO_INTERVAL_STUDENT,  /* Student's t over logarithms, for too few ratios for the former */
};

enum ratio_verdict {
    RATIO_TOO_FEW = 1, /* fewer than RATIOS_LEAST */
    RATIO_SAME,        /* the interval contains 1: no difference shown */
    RATIO_LOWER,       /* the interval is below 1 */
    RATIO_HIGHER,      /* the interval is above 1 */
};

struct ratio_summary {
    size_t count;
    double minimum, quarter, median, three_quarters, maximum; /* NaN if there is none */
    double low, high, confidence; /* the interval, and the share in which it alone holds; NaN without one */
    enum ratio_interval interval;
    enum ratio_verdict verdict;
};

/* Sorts `ratios` (finite, positive) and summarises them, without interval and verdict. */
struct ratio_summary ratios_summarise(double *ratios, size_t count);

/* Adds interval and verdict of one of `together` comparisons (at least 1). `ratios` are those summarised.
 *
 * Where they suffice, the interval has order statistics as its ends: from the d-th smallest to the d-th largest ratio
 * it contains the median with probability 1 - 2 P(B < d), B binomial with n and 1/2 (Thompson 1936). Interpolated
 * between two such intervals it has nearly the probability that is wanted (Hettmansperger and Sheather 1986). Fewer
 * ratios have Student's interval, which is exact where they are log-normal and wider than need be where long tails
 * are alike on both sides.
 *
 * `choosers` is on how many sides of a pair (0, 1, 2) one of several jobs was chosen by the other half of the pairs
 * (choices_make). The halves' results then go together: the choices agree by chance, and then both chose what was
 * lucky in the other. Their correlation is E(max of k)² / k on each side, at most 0.271 (k = 5), which widens the
 * interval. */
void ratios_judge(const double *ratios, struct ratio_summary *s, size_t together, unsigned choosers);

/* --- choices --- */

/* The choice of which of several jobs stands for its side of a pair, made by other jobs than those of the pair.
 *
 * The best of ten measurements is better than one of as many equal jobs, so the best of each side says nothing about
 * the sides. Hence the groups of jobs are split in halves, and each half uses the settings that were best in the other
 * (cross-fitting: Stone 1974, Cox 1975). Then no measurement is both what a job was chosen by and what it is judged by.
 * */

/* A job that may stand for its side of the pairs of its group. */
struct side_candidate {
    size_t group; /* of jobs that are paired with each other */
    size_t side;
    uint64_t setting; /* equal in two groups if the jobs have the same */
    double cost;      /* a logarithm; lower is better */
    bool one_of_several, chosen;
};

/* Sets `one_of_several` and `chosen`. `all` are in order of group, then side. A job that is the only one of its side in
 * its group is chosen; else the one whose setting has the lowest mean cost, relative to the others of its side and
 * group, in the other half of the groups; none if no setting occurs there. The seed decides on the halves. */
void choices_make(struct side_candidate *all, size_t count, uint64_t seed);
