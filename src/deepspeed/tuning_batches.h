/* The micro-batches and accumulations of a tuning if the ds_config does not list them, and the resulting global
 * batches.
 *
 * With train_batch_size there is one global batch, and accumulation follows from it. If the ranks of some cluster or
 * degree cannot share it out evenly, or not by a micro-batch that the ds_config lists, each micro-batch is tried at the
 * nearest batch that it can have there; those that are not listed, only where that is off by at most an eighth.
 *
 * Otherwise max_train_batch_size and min_train_batch_size limit the global batch. If the ds_config leaves accumulation
 * open ("auto" or absent), it takes values within these limits: every one, the largest first, if that makes at most
 * PAIRS_MOST pairs; else the largest and powers of two. With neither limit it is left as it is.
 *
 * Micro-batches: every one if a strategy searches for the best, else powers of two. If other keys are tuned too (not
 * "fast"), only multiples of 8 above 64 and of 32 above 256, and only the largest and the smallest accumulation, so
 * that the matching configurations stay within what a search lists. */
#pragma once

#include "deepspeed/autotuning.h"
#include "deepspeed/tuning_cluster.h"
#include "util/buffer.h"
#include "util/string_list.h"

#define PAIRS_MOST 16384
#define RANKS_MOST 64

/* Borrowed throughout. */
struct tuning_batches {
    const struct json *root; /* of the ds_config */
    const struct autotuning *knobs;
    long long ranks[RANKS_MOST]; /* numbers of ranks that share a batch, each once: of clusters and degrees */
    size_t rank_count;           /* at least 1 */
};

/* `most_sequence`: "auto" as sequence_parallel_size stands for the powers of two up to it; 1: for nothing. */
struct tuning_batches tuning_batches_of(const struct json *root, const struct autotuning *knobs,
                                        const struct tuning_cluster *cluster, long long most_sequence);

/* The single global batch; 0 if there is none. */
long long tuning_batches_fixed(const struct tuning_batches *b);

/* Returns whether the global batch has limits. Then accumulation may be a key of the sweep, and global batches
 * differ. */
bool tuning_batches_are_limited(const struct tuning_batches *b);

/* Returns whether accumulation is a key, paired with the micro-batch. */
bool tuning_batches_pair(const struct tuning_batches *b);

/* Appends the key of micro-batches from `first` up, with accumulations if they are paired. `every`: all sizes rather
 * than powers of two. */
void tuning_batches_add(const struct tuning_batches *b, long long first, bool every, struct buffer *out);

/* The same for the ds_config's own list of micro-batches. False, with nothing appended, if they are not paired with
 * accumulations or are not positive integers. */
bool tuning_batches_add_list(const struct tuning_batches *b, const struct json *list, struct buffer *out);

/* Appends train_batch_size to [training_spec]. */
void tuning_batches_add_fixed(const struct tuning_batches *b, struct buffer *out);

/* Appends [derive] and the rules. */
void tuning_batches_add_rules(const struct tuning_batches *b, struct buffer *out);

/* A sentence that says that batches near the given one are compared; NULL if only that one is. The caller frees it. */
char *tuning_batches_nearest(const struct tuning_batches *b);

/* Adds a sentence for each micro-batch, accumulation and global batch that the ds_config gives and that no combination
 * with the others can have. */
void tuning_batches_left_out(const struct tuning_batches *b, struct string_list *out);
