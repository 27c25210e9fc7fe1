/* Whether a running job can still become the best of its group, by the steps that it has reported.
 *
 * Sign test: were its median to beat the incumbent, each of n counted steps would do so with probability at least 1/2,
 * so that at most b of them do with probability Σ_{i ≤ b} C(n, i) / 2^n at most. It is beaten when that is no more than
 * its share of 1 - confidence. Look k of a job gets the share 1 / (k·(k + 1)); all looks together are wrong with
 * probability 1 - confidence at most, whatever the distribution of a step's value, as long as later steps are like
 * those counted. Pure. */
#ifndef MESHSWEEP_BELIEF_RACE_H
#define MESHSWEEP_BELIEF_RACE_H

#include <stdbool.h>
#include <stddef.h>

struct race {
    double incumbent; /* to beat */
    bool maximise;
    double confidence; /* 0.5 … 1 */
    size_t look;       /* of this job, from 1 */
};

/* `values`: counted steps, warm-up dropped. */
bool race_is_lost(const struct race *race, const double *values, size_t count);

#endif
