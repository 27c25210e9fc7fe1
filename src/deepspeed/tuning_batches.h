/* The micro-batches and accumulations of a tuning, where the ds_config does not list them, and the global batches that
 * they come to.
 *
 * train_batch_size: one global batch, from which accumulation follows. Where some cluster cannot share it out evenly,
 * those near it: within 1 %, or as far as the nearest that each cluster can share out.
 * Else max_train_batch_size is the most and min_train_batch_size the least of a global batch. Accumulation, where the
 * ds_config leaves it open ("auto" or nothing), is then one of those within them: every one, the largest first, as far
 * as they are PAIRS_MOST pairs in all; else the largest and powers of two. With neither it is left as it is.
 * Micro-batches: every one, where a strategy is to find the best of them; else powers of two.
 * With other keys to be tuned besides (not "fast"): above 64 multiples of 8, above 256 of 32, and of accumulations the
 * largest and the smallest, so that what matches stays within what a search lists. */
#ifndef MESHSWEEP_DEEPSPEED_TUNING_BATCHES_H
#define MESHSWEEP_DEEPSPEED_TUNING_BATCHES_H

#include "deepspeed/autotuning.h"
#include "deepspeed/tuning_cluster.h"
#include "util/buffer.h"

#define PAIRS_MOST 16384

/* Borrowed throughout. */
struct tuning_batches {
    const struct json *root; /* of the ds_config */
    const struct autotuning *knobs;
    const struct tuning_cluster *cluster;
};

/* The one global batch; 0: there is none. */
long long tuning_batches_fixed(const struct tuning_batches *b);

/* Whether limits hold: then accumulation may be a key of the sweep, and global batches differ. */
bool tuning_batches_are_limited(const struct tuning_batches *b);

/* Whether accumulation is a key beside the micro-batch. */
bool tuning_batches_pair(const struct tuning_batches *b);

/* Appends the key of micro-batches from `first` on, with accumulations where they pair. `every`: not powers of two
 * alone. */
void tuning_batches_add(const struct tuning_batches *b, long long first, bool every, struct buffer *out);

/* The same of the ds_config's own list of micro-batches, where they pair with accumulations; false: they do not, or are
 * no numbers, and nothing was appended. */
bool tuning_batches_add_list(const struct tuning_batches *b, const struct json *list, struct buffer *out);

/* Appends train_batch_size to [training_spec]. */
void tuning_batches_add_fixed(const struct tuning_batches *b, struct buffer *out);

/* Appends [derive] and the rules. */
void tuning_batches_add_rules(const struct tuning_batches *b, struct buffer *out);

/* Where others than the global batch given are compared: a sentence, the caller's; NULL: nowhere. */
char *tuning_batches_nearest(const struct tuning_batches *b);

#endif
