/* What is tuned where the ds_config leaves it open and "fast" is false: beside stage and micro-batch what saves memory
 * (offload, activation checkpointing), then what makes faster (overlap, bucket sizes, ZeRO++'s secondary partition,
 * sequence parallelism, compilation), for the strategy "staged" to go through a key at a time. The first value of each
 * is DeepSpeed's own default. What the ds_config gives stays.
 *
 * Only what is there: by the release of DeepSpeed; by the machine (host memory, an NVMe device that the ds_config
 * names, several hosts); by the script, which has to take a part in some (an optimizer in the ds_config for offload,
 * arguments of Hugging Face's Trainer, or the section of a ds_config that says it does). docs/deepspeed.md lists them.
 * */
#ifndef MESHSWEEP_DEEPSPEED_DEFAULT_SPACE_H
#define MESHSWEEP_DEEPSPEED_DEFAULT_SPACE_H

#include "deepspeed/autotuning.h"
#include "deepspeed/tuning_cluster.h"
#include "util/buffer.h"

/* Borrowed throughout. */
struct default_space {
    const struct json *root; /* of the ds_config */
    const struct autotuning *knobs;
    const struct tuning_cluster *cluster;
    char *const *program; /* the script and its arguments; NULL-terminated */
    bool is_trainers;     /* these are Hugging Face's */
    const char *version;  /* of DeepSpeed; NULL: the newest */
    long long host_bytes; /* memory of this machine; 0: not known */
};

/* Appends keys of a [[parallel_spec]] of that ZeRO stage. */
void default_space_add(const struct default_space *d, int stage, struct buffer *out);

/* Appends arguments of the command, as items of a TOML list after others: what the script is told of some keys. */
void default_space_add_arguments(const struct default_space *d, struct buffer *out);

/* Appends rules of what the machine has no room for. */
void default_space_add_rules(const struct default_space *d, struct buffer *out);

#endif
