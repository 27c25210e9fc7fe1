/* The keys of a ds_config, and errors that can be found in it alone. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "config/problems.h"
#include "files/json_text.h"
#include "util/error.h"
#include "util/string_list.h"

/* Returns whether the first part of a dotted key is a section. */
bool ds_is_section_key(const char *key);

/* Adds to `problems` what `release` (parse_release; 0: the newest) refuses or takes as something else: keys of sections
 * that refuse unknown ones, and values (ds_values_check). */
void ds_check_base(const struct json *root, const char *path, int64_t release, struct problems *problems);

/* Adds to `warnings` a line for each section that the release does not know, and so ignores, and that is not in
 * `users_own` (NULL-terminated; may be NULL), with a suggestion. */
void ds_check_sections(const struct json *root, const char *path, char *const *users_own, int64_t release,
                       struct string_list *warnings);

/* Returns what is wrong with a dotted key ("zero_optimization.stage") for that release; NULL: nothing. The caller frees
 * it. */
char *ds_check_key(const char *key, int64_t release);

/* Returns what is wrong with a key in autotuning.arg_mappings, which is a dotted path or a name found anywhere in
 * `root`; NULL if nothing. The caller frees it. */
char *ds_check_mapped_key(const struct json *root, const char *key);

/* Returns whether the key of a ds_config is one of the three of which a batch is made. */
bool batch_is_key(const char *key);

/* Number of ranks that process different samples: derived.dp, a spec's dp, or all devices, divided by
 * sequence_parallel_size. */
long long batch_ranks(const struct json *specs);

/* Fills in missing numbers: the third from two, or, from the batch or micro-batch alone, with an accumulation of 1.
 * "auto" counts as unknown and is replaced only if `resolve`. ERROR_USAGE if the three do not agree or the third would
 * not be an integer. */
int batch_complete(struct json *config, long long ranks, bool resolve, struct error *e);
