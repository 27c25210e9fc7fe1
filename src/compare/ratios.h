/* The median of ratios and its confidence interval. Pure. */
#ifndef MESHSWEEP_COMPARE_RATIOS_H
#define MESHSWEEP_COMPARE_RATIOS_H

#include <stddef.h>
#include <stdint.h>

/* With fewer ratios no difference can be shown: the probability that all of n independent ratios lie on one side of a
 * median of 1 is 2^(1-n), which is below 5 % only from n = 6 on (the sign test). */
#define RATIOS_LEAST 6

enum ratio_verdict {
    RATIO_TOO_FEW = 1, /* fewer than RATIOS_LEAST */
    RATIO_SAME,        /* the interval contains 1: no difference shown */
    RATIO_LOWER,       /* the interval is below 1 */
    RATIO_HIGHER,      /* the interval is above 1 */
};

struct ratio_summary {
    size_t count;
    double minimum, quarter, median, three_quarters, maximum; /* NaN if there is none */
    double low, high; /* 95 % percentile bootstrap interval of the median; NaN for fewer than two */
    enum ratio_verdict verdict;
};

/* Sorts `ratios` (finite, positive) and summarises them. The interval is the percentile bootstrap of Efron, "Bootstrap
 * Methods: Another Look at the Jackknife", 1979: the middle 95 % of the medians of samples drawn with replacement. For
 * more than 400 ratios its limit is used. Equal ratios and seeds give equal intervals on every machine. */
struct ratio_summary ratios_summarise(double *ratios, size_t count, uint64_t seed);

#endif
