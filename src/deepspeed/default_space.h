/* The keys tuned by default if "fast" is false and the ds_config does not set them. Besides stage and micro-batch,
 * these are keys that save memory (offload, activation checkpointing), then keys that save time (overlap, bucket sizes,
 * ZeRO++'s secondary partition, sequence parallelism, compilation). The strategy "staged" goes through them one at a
 * time. The first value of each is DeepSpeed's own default. Values in the ds_config are kept.
 *
 * A key is included only if the release of DeepSpeed has it, the machine supports it (host memory, an NVMe device named
 * in the ds_config, several hosts), and the script cooperates where it must (an optimizer in the ds_config for offload,
 * arguments of Hugging Face's Trainer, or a section of the ds_config that implies it). docs/deepspeed.md lists them. */
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
    bool is_trainers;     /* the script takes arguments of Hugging Face's Trainer */
    const char *version;  /* of DeepSpeed; NULL: the newest */
    long long host_bytes; /* memory of this machine; 0: not known */
};

/* Appends the keys of a [[parallel_spec]] of that ZeRO stage. */
void default_space_add(const struct default_space *d, int stage, struct buffer *out);

/* Appends command arguments that pass some of the keys to the script, as further items of a TOML list. */
void default_space_add_arguments(const struct default_space *d, struct buffer *out);

/* Appends rules that exclude what the machine has no room for. */
void default_space_add_rules(const struct default_space *d, struct buffer *out);

#endif
