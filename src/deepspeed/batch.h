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

/* Reports those of `config` that are neither a whole number above 0, "auto", null nor a list, which a tuner has
 * taken. */
void batch_check(const struct json *config, const char *file, struct problems *problems);

/* Ranks that work at different samples: derived.dp, a spec's dp, or all devices; per sequence_parallel_size. */
long long batch_ranks(const struct json *specs);

/* Puts in what is missing where it can be computed: from two the third, from the batch or the micro-batch alone with an
 * accumulation of 1. "auto" is unknown, and replaced only with `resolve`. Fails (ERROR_USAGE) when the three do not
 * agree, or the third would be no whole number. */
int batch_complete(struct json *config, long long ranks, bool resolve, struct error *e);

#endif
