/* A baseline to compare the model with: a constant MFU. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* A run; arrays of them are in the order in which they ran. */
struct timed_run {
    double predicted_s; /* by the model, before the run */
    double measured_s;
    double peak_s; /* flops_peak_seconds (flops.h) */
};

struct baseline_comparison {
    size_t compared;                    /* number of runs, at most `window` */
    double model_error, baseline_error; /* mean of |predicted / measured - 1|; the model's with the median of measured
                                           over predicted seconds of the runs before, or without, as is better */
    bool baseline_wins;
};

/* The median of measured over peak seconds, which is one over the MFU that the baseline takes as constant. Needs at
 * least one run. */
double baseline_slowness(const struct timed_run *runs, size_t count);

/* Compares the last `window` runs, each with a scale of the runs before it: where all were predicted before any had
 * been measured, as of an imported table, only that is like with like. The baseline's prediction for a run is peak_s
 * divided by the median MFU of all runs before it, so the first run is never compared. False, `out` untouched, if
 * there are fewer than two runs, the window is 0, or a number is not finite and positive. */
bool baseline_compare(const struct timed_run *runs, size_t count, size_t window, struct baseline_comparison *out);
