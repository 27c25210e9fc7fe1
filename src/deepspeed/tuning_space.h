/* What a call of DeepSpeed's autotuning amounts to, as a sweep file.
 *
 * Axes: ZeRO stages (one, a list, "all"; all where nothing is said), micro-batches (a list; else powers of two from the
 * smallest, or from the number given, to the largest), numbers of nodes and devices, and every list in
 * zero_optimization, fp16, bf16, optimizer, scheduler, activation_checkpointing, aio, tensor_parallel, compile, … and at
 * the top, but for those whose value is a list (betas). Not "fast": DeepSpeed's default tuning space of each stage
 * besides (constants.py, DEFAULT_TUNING_SPACE_ZERO_1 to 3), for keys that the ds_config does not give. What it does give
 * stays.
 *
 * Global batch: train_batch_size, else max_train_batch_size, with the accumulation derived, so that the same work is
 * compared; only without both do micro-batch and number of devices change it.
 *
 * Scripts with an argument --per_device_train_batch_size have the profile "huggingface" too, where no arg_mappings are
 * given.
 *
 * While it is tuned every step prints its line (steps_per_print, wall_clock_breakdown), whatever the ds_config says. */
#ifndef MESHSWEEP_DEEPSPEED_TUNING_SPACE_H
#define MESHSWEEP_DEEPSPEED_TUNING_SPACE_H

#include "deepspeed/autotuning.h"
#include "deepspeed/tuning_cluster.h"
#include "util/buffer.h"

struct tuning_request {
    const char *ds_file;      /* the ds_config, as a path from anywhere */
    const struct json *root;  /* its content */
    const struct autotuning *knobs;
    char *const *launcher;    /* words of the sweep file's command, with placeholders; NULL-terminated */
    char *const *program;     /* the script and its arguments; NULL-terminated */
    size_t config_at;         /* index of the word of `program` that names the ds_config ("FLAG=FILE" or "FILE") */
    const struct tuning_cluster *cluster;
    const char *timeout;
};

/* Index of the word that names the ds_config: after --deepspeed_config or --deepspeed, or the same word with "=".
 * ERROR_USAGE where there is none. */
int tuning_find_config(char *const *program, size_t *at, struct error *e);

/* The path in that word: the caller's. */
char *tuning_config_path(const char *word);

/* Appends the sweep file. *equal_batch: whether all jobs have one global batch. ERROR_USAGE: values that cannot be an axis,
 * each with its place. */
int tuning_space_write(const struct tuning_request *r, struct buffer *out, bool *equal_batch, struct error *e);

#endif
