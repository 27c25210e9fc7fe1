#include "predict/baseline.h"

#include <math.h>

#include "util/memory.h"
#include "util/quantile.h"

static bool is_positive(double x)
{
    return x > 0 && isfinite(x);
}

int memory_line_fit(const double *micro_batch, const double *bytes, size_t count, struct memory_line *out,
                    struct error *e)
{
    double mean_x = 0, mean_y = 0, xx = 0, xy = 0, n = (double)count;
    for (size_t i = 0; i < count; i++) {
        if (!is_positive(micro_batch[i]) || !is_positive(bytes[i]))
            return error_set(e, ERROR_FAILED, "no line passes through %g bytes at micro-batch size %g", bytes[i],
                             micro_batch[i]);
        mean_x += micro_batch[i] / n;
        mean_y += bytes[i] / n;
    }
    for (size_t i = 0; i < count; i++) {
        xx += (micro_batch[i] - mean_x) * (micro_batch[i] - mean_x);
        xy += (micro_batch[i] - mean_x) * (bytes[i] - mean_y);
    }
    if (!is_positive(xx) || !is_positive(xy / xx))
        return error_set(e, ERROR_FAILED, "%zu runs do not determine a slope of memory over micro-batch size", count);
    *out = (struct memory_line){.base_bytes = mean_y - xy / xx * mean_x, .bytes_per_sample = xy / xx};
    return 0;
}

double memory_line_bytes(const struct memory_line *line, double micro_batch)
{
    return line->base_bytes + line->bytes_per_sample * micro_batch;
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

int baseline_compare(const struct timed_run *runs, size_t count, size_t window, struct baseline_comparison *out,
                     struct error *e)
{
    struct baseline_comparison c = {0};
    double scaled_error = 0;
    if (count < 2 || window == 0)
        return error_set(e, ERROR_USAGE, "nothing to compare over %zu runs and a window of %zu", count, window);
    for (size_t i = 0; i < count; i++)
        if (!is_positive(runs[i].predicted_s) || !is_positive(runs[i].measured_s) || !is_positive(runs[i].peak_s))
            return error_set(e, ERROR_USAGE, "run %zu has a time that is not a positive number", i);
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
    return 0;
}
