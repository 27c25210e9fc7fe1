#include "belief/race.h"

#include <math.h>

/* P(Binomial(n, 1/2) <= b). */
static double at_most(size_t n, size_t b)
{
    double sum = 0, n_real = (double)n;
    for (size_t i = 0; i <= b; i++) {
        double k = (double)i;
        sum += exp(lgamma(n_real + 1) - lgamma(k + 1) - lgamma(n_real - k + 1) - n_real * M_LN2);
    }
    return sum;
}

bool race_is_lost(const struct race *race, const double *values, size_t count)
{
    size_t better = 0;
    double look = (double)race->look;
    for (size_t i = 0; i < count; i++) {
        if (isnan(values[i]))
            return false; /* cannot tell how it compares */
        better += race->maximise ? values[i] > race->incumbent : values[i] < race->incumbent;
    }
    return count > 0 && at_most(count, better) <= (1 - race->confidence) / (look * (look + 1));
}
