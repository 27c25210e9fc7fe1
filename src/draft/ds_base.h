/* The ds_config that a command names, `--deepspeed FILE` or `--deepspeed_config FILE`, and which keys belong to it. */
#ifndef MESHSWEEP_DRAFT_DS_BASE_H
#define MESHSWEEP_DRAFT_DS_BASE_H

#include <stdbool.h>

#include "draft/job_command.h"

struct ds_base;

/* NULL: the command names none, or it cannot be read. ds_base_free. */
struct ds_base *ds_base_open(const struct job_command *c);
void ds_base_free(struct ds_base *b);

/* Whether DeepSpeed takes the key, or what the profile `deepspeed` has it stand for, from the file. What the file
 * leaves "auto" it takes from the script's own options, except in zero_optimization. */
bool ds_base_has(const struct ds_base *b, const char *key);

/* Puts {ds_config} in place of the file's name in the command that it was opened with; the name is the caller's. */
char *ds_base_place(struct job_command *c);

#endif
