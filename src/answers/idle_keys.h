/* Finds keys that do not affect predictions, at all or in this sweep (recompute_modules if nothing recomputes,
 * lora_targets without adapters, an expert dispatcher without experts). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "space/space.h"
#include "util/buffer.h"

/* Appends the names, separated by ", ", of keys whose value changes no prediction of memory, time or FLOPs, nor whether
 * there is one. Tests up to 64 combinations at equal distances from the first to the last. Appends nothing if none of
 * them has a predicted time. */
void idle_keys_add(const struct space *space, struct buffer *out);

/* Returns whether predictions use that key, an index into space->names; false if there are no predictions. */
bool key_is_read(const struct space *space, size_t key);

/* Appends the names of keys that no prediction of the sweep uses, except labels, names and hf_config; "and 3 more"
 * after the first 64. Appends nothing if nothing is predicted. */
void unread_keys_add(const struct space *space, struct buffer *out);
