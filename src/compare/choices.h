/* The choice of which of several jobs stands for its side of a pair, made by other jobs than those of the pair.
 *
 * The best of ten measurements is better than one of as many equal jobs, so the best of each side says nothing about
 * the sides. Hence the groups of jobs are split in halves, and each half uses the settings that were best in the other
 * (cross-fitting: Stone 1974, Cox 1975). Then no measurement is both what a job was chosen by and what it is judged by.
 * Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
