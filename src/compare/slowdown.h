/* Whether what was measured now is slower than what was measured before, by how much, and how sure that is. Pure.
 *
 * Ratios are of costs, now over before, so that above 1 is slower: of times as they are, of rates the other way round.
 * What is judged is the geometric mean of the jobs' ratios. Its interval is Student's, over logarithms: from how much
 * the runs of one job differ where repeats say that with more degrees of freedom than the jobs, else from how much the
 * jobs' ratios do. */
#ifndef MESHSWEEP_COMPARE_SLOWDOWN_H
#define MESHSWEEP_COMPARE_SLOWDOWN_H

#include <stddef.h>
#include <stdint.h>

/* Of equal builds as many at most are called slower (divided by the number of groups that are judged); of those that
 * are slower by the limit as many at most pass. */
#define SLOWDOWN_FALSE_ALARMS 0.005
#define SLOWDOWN_MISSED 0.05

/* One job's runs: how many, the mean of the logarithms of their costs, and the sum of the squares of the distances from
 * that mean. */
struct slowdown_runs {
    size_t count; /* at least 1 */
    double mean, squares;
};

struct slowdown_job {
    struct slowdown_runs before, now;
};

enum slowdown_verdict {
    SLOWDOWN_NONE = 1, /* the limit is ruled out: `most` is below it */
    SLOWDOWN_FOUND,    /* slower for certain (`least` is above 1), and the limit is not ruled out */
    SLOWDOWN_UNKNOWN,  /* the interval holds both 1 and the limit, or nothing says how much runs differ */
};

struct slowdown {
    size_t jobs;
    double ratio, least,
        most;       /* NaN without jobs; `least` and `most` are NaN where nothing says how much runs differ */
    double repeats; /* of a job on each side, the harmonic mean; NaN without jobs */
    enum slowdown_verdict verdict;
    int64_t repeats_wanted; /* of SLOWDOWN_UNKNOWN, about so many on each side would tell; 0: nothing says how many */
};

/* Adds a cost (finite, positive). */
void slowdown_add_run(struct slowdown_runs *r, double cost);

/* `limit` is the ratio that is to be found, above 1; `groups` (at least 1) how many are judged together. */
struct slowdown slowdown_judge(const struct slowdown_job *jobs, size_t count, double limit, size_t groups);

#endif
