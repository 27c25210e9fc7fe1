/* Reads the hosts, devices and DeepSpeed settings from a configuration file of `accelerate launch --config_file`: the
 * flat YAML with one level of sections that `accelerate config` writes (Accelerate 1.14 commands/config/config_args.py,
 * commands/launch.py), or the same as JSON if the file's name says so.
 *
 * If its deepspeed_config names no ds_config, Accelerate builds one from zero_stage, offload_optimizer_device and the
 * like and from mixed_precision (DeepSpeedPlugin in utils/dataclasses.py). It refuses these keys if a ds_config is
 * named. */
#pragma once

#include "files/json_text.h"
#include "util/buffer.h"
#include "util/error.h"

/* Texts are NULL and numbers 0 if the file does not give them. */
struct accelerate_config {
    char *distributed_type; /* "DEEPSPEED", "MULTI_GPU", "FSDP", … */
    long long num_machines, num_processes, main_process_port;
    char *main_process_ip;
    char *gpu_ids;                      /* "0,1"; NULL: all */
    char *ds_config;                    /* deepspeed_config_file of the section deepspeed_config */
    char *hostfile, *include, *exclude; /* deepspeed_hostfile, …_inclusion_filter, …_exclusion_filter of it */
    char *instead;                      /* the first key used instead of a ds_config ("zero_stage") */
    struct json plugin;                 /* the values of such keys, at their paths in a ds_config */
    struct buffer launch;               /* the configuration without these keys, as YAML */
};

/* ERROR_USAGE: the file cannot be read, a line is not such YAML, a value has the wrong type for its key, the kind of
 * training has no ds_config (FSDP, …), or the processes cannot be divided evenly among the machines. The caller frees
 * `out` in any case. */
int accelerate_config_read(const char *path, struct accelerate_config *out, struct error *e);

/* Returns whether Accelerate builds the ds_config itself. */
bool accelerate_config_is_plugin(const struct accelerate_config *a);

/* Creates `directory` and writes that ds_config into it, together with the configuration without the keys that the
 * ds_config now covers. The caller frees both paths in any case; `launch` is absolute. */
int accelerate_config_write_plugin(const struct accelerate_config *a, const char *directory, char **ds_config,
                                   char **launch, struct error *e);
void accelerate_config_free(struct accelerate_config *a);
