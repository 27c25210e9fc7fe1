/* How the winner is launched. With profile_steps, an attempt's own ds_config makes DeepSpeed measure a few steps, write
 * into the attempt's directory and exit; a second ds_config next to it is the one to train with. */
#pragma once

#include <stdbool.h>

/* In the directory of an attempt; the second exists only if the first is profiled. */
#define DS_CONFIG_FILE "ds_config.json"
#define DS_TRAINING_FILE "ds_config_train.json"

/* The text of the ds_config to train with, of the attempt in `job_dir`; NULL if it is the attempt's own. The caller
 * frees it. */
char *training_config(const char *job_dir);

/* Changes the words (NULL-terminated, each owned by the caller) of the attempt's command so that they name `file`
 * instead of its profiled ds_config, as a path or in base 64. No change if training_config returns NULL. */
void training_command(char **words, const char *job_dir, const char *file);
