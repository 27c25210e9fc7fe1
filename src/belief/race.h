/* Whether a running job can still become the best of its group, from the steps that it has reported.
 *
 * Sign test: if its median beat the incumbent, each of n counted steps would do so with probability at least 1/2, so
 * that at most b of them do so with probability at most Σ_{i ≤ b} C(n, i) / 2^n. The job is beaten if this is no more
 * than its share of 1 - confidence. Look k at a job has the share 1 / (k·(k + 1)), so all looks together are wrong with
 * probability at most 1 - confidence, whatever the distribution of step values, as long as later steps are like the
 * counted ones. Pure. */
#ifndef MESHSWEEP_BELIEF_RACE_H
#define MESHSWEEP_BELIEF_RACE_H

#include <stdbool.h>
#include <stddef.h>

struct race {
    double incumbent; /* to beat */
    bool maximise;
    double confidence; /* 0.5 … 1 */
    size_t look;       /* at this job, from 1 */
};

/* `values`: counted steps, without warm-up. */
bool race_is_lost(const struct race *race, const double *values, size_t count);

#endif
