#include "trainer/random.h"

#include <math.h>

uint64_t random_bits(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

uint64_t random_below(uint64_t *state, uint64_t bound)
{
    return random_bits(state) % bound;
}

static double random_unit(uint64_t *state)
{
    return ((double)(random_bits(state) >> 11) + 0.5) / 9007199254740992.0;
}

double random_normal(uint64_t *state)
{
    const double two_pi = 6.283185307179586;
    double radius = sqrt(-2 * log(random_unit(state)));

    return radius * cos(two_pi * random_unit(state));
}
