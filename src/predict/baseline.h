/* The models that need no model: a line through measured memory, and a constant MFU. Where they do as well,
 * say so. Pure. */
#ifndef MESHSWEEP_PREDICT_BASELINE_H
#define MESHSWEEP_PREDICT_BASELINE_H

#include <stdbool.h>
#include <stddef.h>

#include "util/error.h"

/* Bytes of a run as base + micro-batch size · slope: what two runs that differ in nothing else already tell.
 */
struct memory_line {
    double base_bytes, bytes_per_sample;
};

/* Least squares. -1 (ERROR_FAILED), `out` untouched, without two different sizes, when more samples do not
 * take more bytes, or with a number that is not finite and positive. */
int memory_line_fit(const double *micro_batch, const double *bytes, size_t count, struct memory_line *out,
                    struct error *e);

double memory_line_bytes(const struct memory_line *line, double micro_batch);

/* The largest whole micro-batch size that stays within `usable_bytes`: 0 when none does, at most 10^6. */
double memory_line_largest(const struct memory_line *line, double usable_bytes);

/* One run in the order they ran. */
struct timed_run {
    double predicted_s; /* by the model, before the run */
    double measured_s;
    double peak_s; /* of the step's FLOPs at the peak of all devices (step_time.h) */
};

struct baseline_comparison {
    size_t compared;                    /* runs, at most `window` */
    double model_error, baseline_error; /* mean of |predicted / measured - 1| */
    bool baseline_wins;
};

/* The median of measured over peak seconds, of at least one run: one over the utilisation that the baseline takes for
 * constant. */
double baseline_slowness(const struct timed_run *runs, size_t count);

/* Over the last `window` runs. The baseline predicts a run's peak_s over the median utilisation of the runs
 * before it, so that the first run is never compared. -1 (ERROR_USAGE), `out` untouched, with fewer than two
 * runs, a window of 0, or a number that is not finite and positive. */
int baseline_compare(const struct timed_run *runs, size_t count, size_t window, struct baseline_comparison *out,
                     struct error *e);

#endif
