#include "util/rng.h"

#include <assert.h>

/* The odd number nearest 2^64 divided by the golden ratio. */
#define GAMMA UINT64_C(0x9e3779b97f4a7c15)

/* The scrambling of the paper's successors: David Stafford's variant 13 of the MurmurHash3 finaliser. */
static uint64_t scramble(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

uint64_t rng_at(uint64_t seed, uint64_t index)
{
    return scramble(seed + (index + 1) * GAMMA);
}

struct rng rng_stream(uint64_t seed, uint64_t stream)
{
    /* Scrambled twice: neighbouring seeds and streams must not yield shifted copies of one sequence. */
    return (struct rng){.seed = rng_at(rng_at(seed, 0), stream)};
}

uint64_t rng_next(struct rng *r)
{
    return rng_at(r->seed, r->drawn++);
}

/* All ones up to the highest bit of `n`. */
static uint64_t mask_over(uint64_t n)
{
    for (unsigned shift = 1; shift < 64; shift *= 2)
        n |= n >> shift;
    return n;
}

uint64_t rng_below(struct rng *r, uint64_t bound)
{
    assert(bound > 0);
    uint64_t mask = mask_over(bound - 1);
    uint64_t value;
    do
        value = rng_next(r) & mask;
    while (value >= bound);
    return value;
}
