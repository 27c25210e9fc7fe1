/* The script's own arguments: which of them names the ds_config, and keys of it mirrored into others
 * ([deepspeed.arg_mappings]), so that both sides agree. */
#ifndef MESHSWEEP_DEEPSPEED_DS_ARGUMENTS_H
#define MESHSWEEP_DEEPSPEED_DS_ARGUMENTS_H

#include "config/sweep.h"
#include "util/error.h"

/* The command with the configuration's values in it. A flag that is there, in whatever spelling ("--lr 1", "--lr=1",
 * "-" for "_", mapped with or without its dashes), gets the value wherever it stands; one that stands alone, as a
 * switch does, becomes "--flag=value" unless the value is true; one that does not exist is appended. A key without dots
 * is looked for at the top, then in the sections, as DeepSpeed's tuner does. Keys that are absent, "auto", or no single
 * value map to nothing. `command` is NULL-terminated; the result is the caller's, strings and array. */
char **ds_arguments_map(const struct deepspeed_settings *d, const char *config_json, char *const *command);

/* Whether the flag is among the words (NULL-terminated), in whatever spelling. */
bool ds_arguments_have(char *const *words, const char *flag);

/* Index of the word that names the ds_config: after --deepspeed_config or --deepspeed, or the same word with "=".
 * ERROR_USAGE where there is none. */
int ds_arguments_find_config(char *const *program, size_t *at, struct error *e);

/* The path in that word: the caller's. */
char *ds_arguments_config_path(const char *word);

#endif
