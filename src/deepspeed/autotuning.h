/* The section "autotuning" of a ds_config, as DeepSpeed's tuner reads it (DeepSpeed 0.19 autotuning/config.py and
 * constants.py), and with the names of its first documentation: start_step, end_step, num_nodes, num_gpus. */
#pragma once

#include <stdbool.h>

#include "config/problems.h"
#include "files/json_text.h"

enum tuner { TUNER_GRID = 0, TUNER_RANDOM, TUNER_MODEL, TUNER_COUNT };

struct autotuning {
    bool fast;                      /* tune only the ZeRO stage, the micro-batch and the user's own lists */
    long long start_step, end_step; /* steps profiled; defaults: 3, and 5 later */
    long long most_step;            /* last step if steps are short: 50 after the first; 0: the end is given */
    const char *metric;             /* its name in the profile "deepspeed"; static */
    bool maximise;
    enum tuner tuner;
    long long early_stopping, num_trials;                 /* 0: not given */
    long long max_train_batch_size, min_train_batch_size; /* 0: not given */
    long long min_micro_batch, max_micro_batch;           /* defaults: 1 and 1024 */
    long long micro_batch_sizes;                          /* 0: not given */
    long long mp_size;                                    /* default: 1 */
    char *exps_dir, *results_dir;                         /* defaults: "autotuning_exps", "autotuning_results" */
    /* Borrowed from the ds_config; NULL: not given. */
    const struct json *num_nodes, *num_gpus; /* a number or a list of numbers */
    const struct json *arg_mappings, *model_info;
};

/* `section` may be NULL. Reports an unknown knob (with a suggestion) or fact of model_info, a value of the wrong type
 * or out of bounds, and an unknown metric or tuner. The caller frees `out` even if there are problems. */
void autotuning_read(const char *file, const struct json *section, struct autotuning *out, struct problems *problems);
/* Returns whether "autotuning" has a key of that name. */
bool autotuning_has(const char *name);
void autotuning_free(struct autotuning *a);
