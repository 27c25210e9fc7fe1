/* Candidates as TOML. Pure. */
#pragma once

#include <stddef.h>

#include "models/cursor.h"
#include "util/buffer.h"

/* Appends the value of the space's key number `key` as TOML: 512, "relu", [["DOT", "ATTENTION"], ["LINEAR"]].
 */
void model_candidate_add_literal(const struct model_candidate *c, size_t key, struct buffer *out);

/* Appends the value of a stack as canonical JSON, which is how a sweep holds it (config/value.h). */
void model_candidate_add_json(const struct model_candidate *c, size_t key, struct buffer *out);

/* Appends a [[model]] block with every key, a stack's layers_name right before the stack. */
void model_candidate_add_toml(const struct model_candidate *c, struct buffer *out);
