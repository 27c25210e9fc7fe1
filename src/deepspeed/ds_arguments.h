/* [deepspeed.arg_mappings]: keys of a ds_config mirrored into the script's own arguments, so that both sides agree. */
#ifndef MESHSWEEP_DEEPSPEED_DS_ARGUMENTS_H
#define MESHSWEEP_DEEPSPEED_DS_ARGUMENTS_H

#include "config/sweep.h"

/* The command with the configuration's values in it. A flag that is there, in whatever spelling ("--lr 1", "--lr=1",
 * "-" for "_", mapped with or without its dashes), gets the value wherever it stands; one that stands alone, as a
 * switch does, becomes "--flag=value" unless the value is true; one that is not there is appended. A key without dots
 * is looked for at the top, then in the sections, as DeepSpeed's tuner does. Keys that are absent, "auto", or no single
 * value map to nothing. `command` is NULL-terminated; the result is the caller's, strings and array. */
char **ds_arguments_map(const struct deepspeed_settings *d, const char *config_json, char *const *command);

#endif
