/* Random numbers that are the same on every machine: SplitMix64 (Steele, Lea, Flood, "Fast splittable
 * pseudorandom number generators", OOPSLA 2014). It is counter-based: output i is a fixed scrambling of seed
 * + (i + 1) * γ, so any output can be had without those before it. Not for secrets. Pure. */
#pragma once

#include <stdint.h>

struct rng {
    uint64_t seed;
    uint64_t drawn; /* outputs taken so far */
};

/* Output number `index`, from 0, of the generator seeded with `seed`. */
uint64_t rng_at(uint64_t seed, uint64_t index);

/* A generator of its own for each (seed, stream): equal arguments, equal sequence. */
struct rng rng_stream(uint64_t seed, uint64_t stream);

/* The next output: uniform over all 64-bit numbers. */
uint64_t rng_next(struct rng *r);

/* Uniform over 0 … bound - 1, exactly: outputs that would favour small results are rejected. Takes less than
 * two outputs on average. `bound` is at least 1. */
uint64_t rng_below(struct rng *r, uint64_t bound);
