/* The section "autotuning" of a ds_config, as DeepSpeed's tuner takes it (DeepSpeed 0.19 autotuning/config.py and
 * constants.py) and as its first description had it: start_step, end_step, num_nodes, num_gpus. */
#ifndef MESHSWEEP_DEEPSPEED_AUTOTUNING_H
#define MESHSWEEP_DEEPSPEED_AUTOTUNING_H

#include <stdbool.h>

#include "config/problems.h"
#include "deepspeed/json_text.h"

enum tuner { TUNER_GRID = 0, TUNER_RANDOM, TUNER_MODEL, TUNER_COUNT };

struct autotuning {
    bool fast;                      /* only the ZeRO stage, the micro-batch and lists of the user's own */
    long long start_step, end_step; /* of profiling: 3, and 5 after the first */
    long long most_step;            /* where steps are short: 50 after the first; 0: the end is given */
    const char *metric;             /* as the profile "deepspeed" names it; static */
    bool maximise;
    enum tuner tuner;
    long long early_stopping, num_trials;                 /* 0: not given */
    long long max_train_batch_size, min_train_batch_size; /* 0: not given */
    long long min_micro_batch, max_micro_batch;           /* 1 and 1024 */
    long long micro_batch_sizes;                          /* 0: not given */
    long long mp_size;                                    /* 1 */
    char *exps_dir, *results_dir;                         /* "autotuning_exps", "autotuning_results" */
    /* Borrowed from the ds_config; NULL: not given. */
    const struct json *num_nodes, *num_gpus; /* a number or a list of numbers */
    const struct json *arg_mappings, *model_info;
};

/* `section` may be NULL. Problems: an unknown knob (with what may have been meant) or fact of model_info, a value of
 * the wrong type or out of bounds, a metric or tuner that there is not. `out` is the caller's to free with them too. */
void autotuning_read(const char *file, const struct json *section, struct autotuning *out, struct problems *problems);
/* Whether the section may have a member of that name. */
bool autotuning_has(const char *name);
void autotuning_free(struct autotuning *a);

#endif
