/* Writes a call of DeepSpeed's autotuning as a sweep file.
 *
 * Axes: ZeRO stages (one, a list, or "all", which is the default); micro-batches (a list; else every one from the
 * smallest, or from the number given, to the largest, searched by the strategy "staged"; or powers of two if the metric
 * is a step time, because the smallest micro-batch always has the shortest step); numbers of nodes and devices; and
 * every list at the top level and in zero_optimization, fp16, bf16, optimizer, scheduler, activation_checkpointing,
 * aio, tensor_parallel, compile, …, except keys whose value is a list (betas). Unless "fast", also DeepSpeed's default
 * tuning space of each stage (constants.py, DEFAULT_TUNING_SPACE_ZERO_1 to 3), for keys that the ds_config does not
 * give. Values in the ds_config are kept.
 *
 * Global batch: train_batch_size, with accumulation derived, so that equal work is compared; else batches between
 * min_train_batch_size and max_train_batch_size (tuning_batches.sql), compared per sample.
 *
 * Scripts with an argument --per_device_train_batch_size also get the profile "huggingface", below arg_mappings. */
#pragma once

#include "deepspeed/autotuning.h"
#include "deepspeed/tuning_cluster.h"
#include "util/buffer.h"
#include "util/string_list.h"

struct tuning_request {
    const char *ds_file;     /* the ds_config, a path valid from anywhere */
    const struct json *root; /* its content */
    const struct autotuning *knobs;
    char *const *launcher; /* words of the sweep file's command, with placeholders; NULL-terminated */
    char *const *program;  /* the script and its arguments; NULL-terminated */
    size_t config_at;      /* index of the word of `program` that names the ds_config ("FLAG=FILE" or "FILE"); past its
                              end if `launcher` names it */
    const struct tuning_cluster *cluster;
    const char *timeout;
    const char *version;  /* of DeepSpeed; NULL: not known */
    const char *asked;    /* the Python that was asked for the version; NULL: the user gave it */
    bool base64;          /* the command contains the ds_config itself, not its path */
    long long host_bytes; /* memory of this machine; 0: not known */
    bool from_smallest;   /* micro-batches start at the smallest, not at the given one */
    char *const *secrets; /* names of the caller's variables that only their names pass on; NULL: none */
    bool trainers;        /* the script is known to be one of Hugging Face's Trainer */
    bool clean; /* jobs get little of the caller's environment; else all of it, as the training with the winner does */
};

/* Notes for the user. */
struct tuning_notes {
    bool batches_differ;          /* jobs have several global batches, and no sentence says so */
    struct string_list sentences; /* of batches of the ds_config that are not tried, or not alone. Owned */
};

/* Appends the sweep file. `notes` is filled in any case; the caller frees its list. ERROR_USAGE: values that cannot
 * be an axis, with positions. */
int tuning_space_write(const struct tuning_request *r, struct buffer *out, struct tuning_notes *notes, struct error *e);
