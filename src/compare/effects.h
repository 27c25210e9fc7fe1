/* The effect of each key on the objective: one computation for the page, `compare --rank` and its JSON. */
#pragma once

#include "compare/compared_jobs.h"
#include "compare/comparison.h"
#include "util/buffer.h"

#define EFFECTS_KEYS_MOST 16

struct key_effects {
    struct compared_jobs jobs;
    struct comparison items[EFFECTS_KEYS_MOST]; /* by how much the objective surely changes, the most first */
    size_t count;
    struct buffer freed;   /* sentences about keys that may differ too */
    struct buffer apart;   /* keys without any pair of jobs that differ only in them */
    size_t rows, together; /* all; those with an interval, which hold together */
};

/* Reads those of the keys, at most EFFECTS_KEYS_MOST. Free `*out` with key_effects_free. */
int key_effects_read(struct db *db, const char *objective, const char *const *keys, size_t count,
                     struct key_effects *out, struct error *e);
void key_effects_free(struct key_effects *x);

/* The two values of the key whose ratio is surely the farthest from 1 or, where none is told apart, seems to be. */
const struct comparison_pair *key_effect_most(const struct comparison *c);
