/* What a configuration of `accelerate launch --config_file` says of hosts, devices and DeepSpeed: the flat YAML with
 * one level of sections that `accelerate config` writes (Accelerate 1.14 commands/config/config_args.py,
 * commands/launch.py), or the same as JSON where the file's name says so.
 *
 * Where its deepspeed_config names no ds_config, Accelerate makes one of zero_stage, offload_optimizer_device and the
 * like and of mixed_precision (DeepSpeedPlugin in utils/dataclasses.py); beside one that is named it refuses them. */
#ifndef MESHSWEEP_DEEPSPEED_ACCELERATE_CONFIG_H
#define MESHSWEEP_DEEPSPEED_ACCELERATE_CONFIG_H

#include "deepspeed/json_text.h"
#include "util/buffer.h"
#include "util/error.h"

/* Texts are NULL, numbers 0 where it says nothing. */
struct accelerate_config {
    char *distributed_type; /* "DEEPSPEED", "MULTI_GPU", "FSDP", … */
    long long num_machines, num_processes, main_process_port;
    char *main_process_ip;
    char *gpu_ids;                      /* "0,1"; NULL: all */
    char *ds_config;                    /* deepspeed_config_file of its section deepspeed_config */
    char *hostfile, *include, *exclude; /* deepspeed_hostfile and …_inclusion_filter, …_exclusion_filter of it */
    char *instead;                      /* the first key that stands for a ds_config ("zero_stage") */
    struct json plugin;                 /* what such keys say, at their places in a ds_config */
    struct buffer launch;               /* the configuration without them, as YAML */
};

/* ERROR_USAGE: a file that cannot be read, a line that is no such YAML, a value that is not of its key's kind, a kind
 * of training that has no ds_config (FSDP, …), processes that cannot be shared out evenly among the machines. `out` is
 * the caller's in any case. */
int accelerate_config_read(const char *path, struct accelerate_config *out, struct error *e);

/* Whether Accelerate makes the ds_config itself. */
bool accelerate_config_is_plugin(const struct accelerate_config *a);

/* Writes that ds_config into `directory`, which is made, and beside it the configuration without what the ds_config now
 * says; their paths, the second an absolute one, are the caller's in any case. */
int accelerate_config_write_plugin(const struct accelerate_config *a, const char *directory, char **ds_config,
                                   char **launch, struct error *e);
void accelerate_config_free(struct accelerate_config *a);

#endif
