/* Sweep files drawn from a seed: unions of blocks, tied groups, absent keys, texts, rules of all shapes. */
#pragma once

#include <stdint.h>

#include "util/buffer.h"
#include "util/rng.h"

/* An expression over these keys that is true, false or NULL, as SQL. */
void draw_predicate(struct rng *d, const char *const *keys, size_t key_count, int depth, struct buffer *out);

/* A sweep file: axes of up to `longest` values. */
char *draw_sweep(uint64_t seed, uint64_t longest);
