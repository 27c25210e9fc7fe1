/* The keys of a ds_config, and errors that can be found in it alone. */
#ifndef MESHSWEEP_DEEPSPEED_DS_CHECK_H
#define MESHSWEEP_DEEPSPEED_DS_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "config/problems.h"
#include "deepspeed/json_text.h"
#include "util/string_list.h"

/* Whether the first part of a dotted key is a section. */
bool ds_is_section_key(const char *key);

/* Whether DeepSpeed expects an integer at the dotted key: 2e8 of a sweep file is then written as 200000000. */
bool ds_wants_integer(const char *key);

/* Adds to `problems` what DeepSpeed refuses: keys of zero_optimization and of its offload sections that `release`
 * (parse_release; 0: the newest) does not know, and a batch that is not a positive number. */
void ds_check_base(const struct json *root, const char *path, int64_t release, struct problems *problems);

/* Adds to `warnings` a line for each section that DeepSpeed does not know, and so ignores, and that is not in
 * `users_own` (NULL-terminated; may be NULL), with a suggestion. */
void ds_check_sections(const struct json *root, const char *path, char *const *users_own, struct string_list *warnings);

/* What is wrong with a dotted key ("zero_optimization.stage") for that release; NULL: nothing. The caller frees it. */
char *ds_check_key(const char *key, int64_t release);

/* What is wrong with a key in autotuning.arg_mappings, which is a dotted path or a name found anywhere in `root`; NULL
 * if nothing. The caller frees it. */
char *ds_check_mapped_key(const struct json *root, const char *key);

#endif
