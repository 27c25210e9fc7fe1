/* Walks the candidates of a model space in the order of models/index.h, holding one at a time. Pure. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "models/index.h"
#include "util/buffer.h"

/* One key's value. */
struct model_part {
    uint64_t position;        /* of a key that is no stack: of the value, counted in the whole space */
    struct layer_state stack; /* of a stack: see layers, sizes and counts */
};

/* A view, valid until its cursor moves. */
struct model_candidate {
    const struct model_space_table *space;
    const struct model_part *parts; /* one per key of the space */
    uint64_t rank;                  /* position in the cursor's index */
    int64_t parameters;             /* 0 when the space does not count them */
    int64_t flops;                  /* of one sample, forward and backward; 0 when the space does not count them */
};

/* Several cursors may walk one index, also in several threads. */
struct model_cursor;

/* Stands before the first candidate. The caller's: model_cursor_free. The index must outlive it. */
struct model_cursor *model_cursor_make(const struct model_index *index);
void model_cursor_free(struct model_cursor *cursor);

/* The next candidate; NULL after the last. */
const struct model_candidate *model_cursor_next(struct model_cursor *cursor);

/* The candidate at `rank`, after which model_cursor_next continues; NULL, and the end, when there is none. */
const struct model_candidate *model_cursor_seek(struct model_cursor *cursor, uint64_t rank);

/* Position of the candidate in `index`: the cursor's own, or another of the same space that holds it. */
uint64_t model_candidate_rank(const struct model_candidate *c, const struct model_index *index);

/* Candidates as TOML. Pure. */

/* Appends the value of the space's key number `key` as TOML: 512, "relu", [["DOT", "ATTENTION"], ["LINEAR"]].
 */
void model_candidate_add_literal(const struct model_candidate *c, size_t key, struct buffer *out);

/* Appends the value of a stack as canonical JSON, which is how a sweep holds it (config/value.h). */
void model_candidate_add_json(const struct model_candidate *c, size_t key, struct buffer *out);

/* Appends a [[model]] block with every key, a stack's layers_key right before the stack. */
void model_candidate_add_toml(const struct model_candidate *c, struct buffer *out);
