#include "evidence/oom.h"

#include <math.h>

const char *const oom_verdict_names[] = {[OOM_FITS] = "fits", [OOM_RISK] = "risk", [OOM_CERTAIN] = "certain"};

static double normal_cumulative(double x)
{
    return 0.5 * erfc(-x / sqrt(2));
}

int oom_probability(double predicted_bytes, double sigma, double usable_bytes, double reserve_bytes, double *out,
                    struct error *e)
{
    double available = usable_bytes - reserve_bytes;
    double distance = log(predicted_bytes / available) / sigma;
    if (!(predicted_bytes > 0 && sigma > 0 && reserve_bytes >= 0 && available > 0 && isfinite(distance)))
        return error_set(e, ERROR_USAGE,
                         "no probability can be computed for %g bytes ± %g with %g less %g bytes of memory",
                         predicted_bytes, sigma, usable_bytes, reserve_bytes);
    *out = normal_cumulative(distance);
    return 0;
}
