/* How the winner is launched: with profile_steps an attempt's own ds_config has DeepSpeed measure a few steps, write
 * into the attempt's directory and end, so that beside it stands the one to train with. */
#ifndef MESHSWEEP_DEEPSPEED_TRAINING_COMMAND_H
#define MESHSWEEP_DEEPSPEED_TRAINING_COMMAND_H

#include <stdbool.h>

/* In the directory of an attempt; the second only where the first is profiled. */
#define DS_CONFIG_FILE "ds_config.json"
#define DS_TRAINING_FILE "ds_config_train.json"

/* The ds_config to train with of the attempt in `job_dir`: its text, the caller's. NULL: it has no other than its own.
 * */
char *training_config(const char *job_dir);

/* Changes the words (NULL-terminated, each the caller's) of the attempt's command so that they name `file` in place of
 * its profiled ds_config, as a path or in base 64. Nothing where training_config has none. */
void training_command(char **words, const char *job_dir, const char *file);

#endif
