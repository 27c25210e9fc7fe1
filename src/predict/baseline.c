#include "predict/baseline.h"

#include <math.h>

#include "util/memory.h"
#include "util/quantile.h"

static bool is_positive(double x)
{
    return x > 0 && isfinite(x);
}

/* The median of measured seconds over those of the peak, or over those predicted. */
static double median_ratio(const struct timed_run *runs, size_t count, bool of_peak)
{
    OWNED double *ratios = xcalloc(count, sizeof *ratios);
    for (size_t i = 0; i < count; i++)
        ratios[i] = runs[i].measured_s / (of_peak ? runs[i].peak_s : runs[i].predicted_s);
    double middle = median(ratios, count);
    return middle;
}

double baseline_slowness(const struct timed_run *runs, size_t count)
{
    return median_ratio(runs, count, true);
}

bool baseline_compare(const struct timed_run *runs, size_t count, size_t window, struct baseline_comparison *out)
{
    struct baseline_comparison c = {0};
    double scaled_error = 0;
    if (count < 2 || window == 0 ||
        ANY(i, count,
            !is_positive(runs[i].predicted_s) || !is_positive(runs[i].measured_s) || !is_positive(runs[i].peak_s)))
        return false;
    for (size_t i = count > window ? count - window : 1; i < count; i++) {
        double constant_mfu = baseline_slowness(runs, i) * runs[i].peak_s;
        c.model_error += fabs(runs[i].predicted_s / runs[i].measured_s - 1);
        scaled_error += fabs(median_ratio(runs, i, false) * runs[i].predicted_s / runs[i].measured_s - 1);
        c.baseline_error += fabs(constant_mfu / runs[i].measured_s - 1);
        c.compared++;
    }
    c.model_error = fmin(c.model_error, scaled_error) / (double)c.compared;
    c.baseline_error /= (double)c.compared;
    c.baseline_wins = c.baseline_error < c.model_error;
    *out = c;
    return true;
}
