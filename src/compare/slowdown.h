/* Tests whether later measurements are slower than earlier ones, by how much, and how certain that is. Pure.
 *
 * Ratios are later cost over earlier cost, so above 1 is slower; the cost is a time itself, or the inverse of a rate.
 * The geometric mean of the jobs' ratios is judged, with Student's interval over logarithms. Its spread comes from the
 * runs of each job if repeats give it more degrees of freedom than the jobs do, else from the jobs' ratios. With fewer
 * than three runs on a side it is no less than that of the jobs' ratios. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Error rates: the share of equal builds called slower (divided by the number of groups judged together), and the share
 * of builds slower by the limit that pass, each at most. */
#define SLOWDOWN_FALSE_ALARMS 0.005
#define SLOWDOWN_MISSED 0.05

/* One job's runs: their number, the mean of their costs' logarithms, and the sum of squared deviations from it. */
struct slowdown_runs {
    size_t count; /* at least 1 */
    double mean, squares;
};

struct slowdown_job {
    struct slowdown_runs before, now;
};

enum slowdown_verdict {
    SLOWDOWN_NONE = 1, /* the limit is ruled out: `most` is below it */
    SLOWDOWN_FOUND,    /* certainly slower (`least` is above 1), and the limit is not ruled out */
    SLOWDOWN_UNKNOWN,  /* the interval contains both 1 and the limit, or the spread is not known */
};

struct slowdown {
    size_t jobs;
    double ratio, least, most; /* NaN without jobs; `least` and `most` also if the spread is not known */
    double repeats;            /* of a job on each side: the harmonic mean; NaN without jobs */
    enum slowdown_verdict verdict;
    int64_t repeats_wanted; /* for SLOWDOWN_UNKNOWN: about how many on each side would decide; 0: not known */
};

/* Adds a cost (finite, positive). */
void slowdown_add_run(struct slowdown_runs *r, double cost);

/* `limit` is the ratio to detect, above 1; `groups` (at least 1) is the number of groups judged together. */
struct slowdown slowdown_judge(const struct slowdown_job *jobs, size_t count, double limit, size_t groups);
