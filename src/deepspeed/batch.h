/* The three numbers of a batch: train_batch_size = train_micro_batch_size_per_gpu x gradient_accumulation_steps x
 * data-parallel size (DeepSpeed runtime/config.py, _set_batch_related_parameters and _batch_assertion). */
#ifndef MESHSWEEP_DEEPSPEED_BATCH_H
#define MESHSWEEP_DEEPSPEED_BATCH_H

#include <stdbool.h>

#include "config/problems.h"
#include "deepspeed/json_text.h"
#include "util/error.h"

/* Whether the key of a ds_config is one of the three. */
bool batch_is_key(const char *key);

/* Reports each of the three in `config` that is not a positive integer, "auto", null or a list (taken by a tuner). */
void batch_check(const struct json *config, const char *file, struct problems *problems);

/* Number of ranks that process different samples: derived.dp, a spec's dp, or all devices, divided by
 * sequence_parallel_size. */
long long batch_ranks(const struct json *specs);

/* Fills in missing numbers: the third from two, or, from the batch or micro-batch alone, with an accumulation of 1.
 * "auto" counts as unknown and is replaced only if `resolve`. ERROR_USAGE if the three do not agree or the third would
 * not be an integer. */
int batch_complete(struct json *config, long long ranks, bool resolve, struct error *e);

#endif
