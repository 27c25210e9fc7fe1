/* The keys of a ds_config and the types of their values, by release: [ds_config.keys] and [ds_config.models] of
 * configs/knowledge/words.toml. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "config/problems.h"
#include "files/json_text.h"
#include "util/suggest.h"

/* Of the keys of that section ("": the whole file). */
struct suggestion ds_keys_suggest(const char *section, const char *name);
bool ds_keys_have(const char *section, const char *name);

/* Returns whether DeepSpeed expects an integer at the dotted key, or at one that ends in the name: 2e8 of a sweep file
 * is then written as 200000000. */
bool ds_wants_integer(const char *key);

/* Returns whether the value of the dotted key is a list itself, so that a list of values to try has lists in it. */
bool ds_wants_list(const char *key);

/* Returns whether the release (0: the newest) prints no line of a step by itself, and whether a key makes it. */
bool ds_is_quiet(int64_t release);
bool ds_has_log_level(int64_t release);

/* Returns whether the release (0: the newest) has what came with `since`, as written (NULL: whatever it is). */
bool ds_has_come(const char *since, int64_t release);

/* The first release with the dotted key, as written; NULL: all have it. Static. */
const char *ds_key_since(const char *key);

/* Returns the key that the release reads in its place; NULL: it reads the key, or nothing. Static. */
const char *ds_key_renamed(const char *key, int64_t release);

/* Returns whether a model reads the section in that release, and refuses keys that it does not have. */
bool ds_model_checks(const char *section, int64_t release);

/* Returns what is wrong with the dotted key beside those of `root`: a model refuses two names of one key in a section.
 * In `root` itself only the name to drop is at fault. NULL: nothing. The caller frees it. */
char *ds_twice_fault(const struct json *root, const char *key, bool in_root, int64_t release);

/* Adds what is wrong with the values of a ds_config for that release (0: the newest), and what the engine does with
 * them. The items of a list of values to try are judged one by one. */
void ds_values_check(const struct json *root, const char *file, int64_t release, struct problems *problems);

/* The same of one value that a spec gives to the dotted key, as JSON; a list stands for itself. NULL: nothing. The
 * caller frees it. */
char *ds_value_fault(const char *key, const char *json, int64_t release);
