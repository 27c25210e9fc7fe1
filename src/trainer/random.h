/* Random numbers that depend on their seed alone: SplitMix64 (Steele, Lea and Flood 2014). */
#ifndef TRAINER_RANDOM_H
#define TRAINER_RANDOM_H

#include <stdint.h>

/* The next 64 random bits; advances *state, which any value may seed. */
uint64_t random_bits(uint64_t *state);

/* Uniform in [0, bound); bound is at least 1. */
uint64_t random_below(uint64_t *state, uint64_t bound);

/* Normal with mean 0 and deviation 1. */
double random_normal(uint64_t *state);

#endif
