/* The keys of a ds_config: its sections, and the keys of zero_optimization and of its offload sections, where DeepSpeed
 * itself refuses any other. After DeepSpeed 0.19, docs/_pages/config-json.md, runtime/zero/config.py and
 * offload_config.py. */
#ifndef MESHSWEEP_DEEPSPEED_DS_KEYS_H
#define MESHSWEEP_DEEPSPEED_DS_KEYS_H

#include <stdbool.h>
#include <stddef.h>

/* NULL-terminated. */
extern const char *const ds_sections[], *const ds_zero_keys[], *const ds_offload_param_keys[];
extern const char *const ds_offload_optimizer_keys[];

/* The known key that is most similar; NULL if none is. */
const char *ds_nearest_key(const char *name, const char *const *known);

/* The first release with this key of zero_optimization or of its offload sections; earlier ones refuse it. NULL: all
 * since 0.9.0 have it. */
const char *ds_key_came_with(const char *key);

/* Whether the first part of a dotted key is a section. */
bool ds_is_section_key(const char *key);

/* Whether the value of the dotted key is a list that rules inspect (sql/deepspeed_rules.sql). */
bool ds_is_list_of_rules(const char *key);

/* Whether DeepSpeed expects an integer at the dotted key: 2e8 of a sweep file is then written as 200000000. */
bool ds_wants_integer(const char *key);

#endif
