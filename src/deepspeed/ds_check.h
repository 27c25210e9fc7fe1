/* Faults that can be seen in a ds_config alone. */
#ifndef MESHSWEEP_DEEPSPEED_DS_CHECK_H
#define MESHSWEEP_DEEPSPEED_DS_CHECK_H

#include <stdint.h>

#include "config/problems.h"
#include "deepspeed/json_text.h"
#include "util/string_list.h"

/* Adds to `problems` what DeepSpeed refuses: keys of zero_optimization and of its offloads that `release`
 * (parse_release; 0: the newest) does not know, and a batch that is not a number above 0. */
void ds_check_base(const struct json *root, const char *path, int64_t release, struct problems *problems);

/* Adds to `warnings` a line for each section that is none of DeepSpeed's, which it ignores, nor among `users_own`
 * (NULL-terminated; NULL: none), with what may have been meant. */
void ds_check_sections(const struct json *root, const char *path, char *const *users_own, struct string_list *warnings);

/* What is wrong with a dotted key ("zero_optimization.stage") for that release: the caller's. NULL: nothing. */
char *ds_check_key(const char *key, int64_t release);

/* What is wrong with a key that autotuning.arg_mappings names, dotted or a name to be found anywhere in `root`: the
 * caller's. NULL: nothing. */
char *ds_check_mapped_key(const struct json *root, const char *key);

#endif
