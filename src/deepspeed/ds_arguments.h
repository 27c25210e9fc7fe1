/* The script's own arguments: the one that names the ds_config, and those that repeat keys of the ds_config
 * ([deepspeed.arg_mappings]), so that both agree. */
#ifndef MESHSWEEP_DEEPSPEED_DS_ARGUMENTS_H
#define MESHSWEEP_DEEPSPEED_DS_ARGUMENTS_H

#include "config/sweep.h"
#include "util/error.h"

/* Returns the command with the configuration's values. A flag that is present, in any spelling ("--lr 1", "--lr=1", "-"
 * for "_", mapped with or without its dashes), gets the value wherever it occurs. One without a value, such as a
 * switch, becomes "--flag=value" unless the value is true. A missing flag is appended. A key without dots is looked up
 * at the top level, then in the sections, as DeepSpeed's tuner does. Keys that are absent, "auto" or not scalar are
 * skipped. `command` is NULL-terminated. The caller frees the array and its strings. */
char **ds_arguments_map(const struct deepspeed_settings *d, const char *config_json, char *const *command);

/* Whether the flag is among the words (NULL-terminated), in any spelling. */
bool ds_arguments_have(char *const *words, const char *flag);

/* Finds the index of the word that names the ds_config: the one after --deepspeed_config or --deepspeed, or
 * "FLAG=FILE". ERROR_USAGE if there is none. */
int ds_arguments_find_config(char *const *program, size_t *at, struct error *e);

/* The path in that word; the caller frees it. */
char *ds_arguments_config_path(const char *word);

#endif
