/* What a call of DeepSpeed's autotuning amounts to, as a sweep file.
 *
 * Axes: ZeRO stages (one, a list, "all"; all where nothing is said), micro-batches (a list; else each from the
 * smallest, or from the number given, to the largest, which the strategy "staged" searches; of times of a step, of
 * which the smallest micro-batch has the best, powers of two), numbers of nodes and devices, and every list in
 * zero_optimization, fp16, bf16, optimizer, scheduler, activation_checkpointing, aio, tensor_parallel, compile, … and
 * at the top, but for those whose value is a list (betas). Not "fast": DeepSpeed's default tuning space of each stage
 * besides (constants.py, DEFAULT_TUNING_SPACE_ZERO_1 to 3), for keys that the ds_config does not give. What it does
 * give stays.
 *
 * Global batch: train_batch_size, with the accumulation derived, so that the same work is compared; else what lies
 * between min_train_batch_size and max_train_batch_size (deepspeed/tuning_batches.h), compared per sample.
 *
 * Scripts with an argument --per_device_train_batch_size have the profile "huggingface" too, over which arg_mappings
 * go. */
#ifndef MESHSWEEP_DEEPSPEED_TUNING_SPACE_H
#define MESHSWEEP_DEEPSPEED_TUNING_SPACE_H

#include "deepspeed/autotuning.h"
#include "deepspeed/tuning_cluster.h"
#include "util/buffer.h"

struct tuning_request {
    const char *ds_file;     /* the ds_config, as a path from anywhere */
    const struct json *root; /* its content */
    const struct autotuning *knobs;
    char *const *launcher; /* words of the sweep file's command, with placeholders; NULL-terminated */
    char *const *program;  /* the script and its arguments; NULL-terminated */
    size_t config_at;      /* index of the word of `program` that names the ds_config ("FLAG=FILE" or "FILE"); past its
                              end: `launcher` does */
    const struct tuning_cluster *cluster;
    const char *timeout;
    const char *version;  /* of DeepSpeed; NULL: not known */
    const char *asked;    /* the Python that was asked for it; NULL: the user said it */
    bool base64;          /* the ds_config goes into the command, not its path */
    long long host_bytes; /* memory of this machine; 0: not known */
    bool from_smallest;   /* micro-batches from the smallest on, not from the one that is given to begin at */
    bool clean; /* jobs get little of the caller's environment; else all, as the training with the winner does */
};

/* What is to be told of it. */
struct tuning_notes {
    bool equal_batch; /* all jobs have one global batch */
    char *nearest;    /* where that is not the one given, a sentence: the caller's; NULL: it is everywhere */
};

/* Appends the sweep file. `notes` is filled in any case. ERROR_USAGE: values that cannot be an
 * axis, each with its place. */
int tuning_space_write(const struct tuning_request *r, struct buffer *out, struct tuning_notes *notes, struct error *e);

#endif
