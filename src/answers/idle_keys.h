/* Keys that do not affect predictions: never, or not in this sweep (recompute_modules where nothing recomputes,
 * lora_targets without adapters, an expert dispatcher without experts). */
#ifndef MESHSWEEP_ANSWERS_IDLE_KEYS_H
#define MESHSWEEP_ANSWERS_IDLE_KEYS_H

#include <stdbool.h>
#include <stddef.h>

#include "space/space.h"
#include "util/buffer.h"

/* Appends the names, ", " between them, of keys with which, whatever their value, no prediction changes: neither of
 * memory nor of time nor of FLOPs, nor whether there is one. Looked at are up to 64 combinations, from the first to the
 * last at equal distances. Nothing where none of these is predicted with its time. */
void idle_keys_add(const struct space *space, struct buffer *out);

/* Whether a prediction is made from that key, of space->names; without predictions from none. */
bool key_is_read(const struct space *space, size_t key);

/* Appends the names of keys that no prediction of the sweep is made from, labels and hf_config left out, "and 3 more"
 * behind the first 64. Nothing where nothing is predicted. */
void unread_keys_add(const struct space *space, struct buffer *out);

#endif
