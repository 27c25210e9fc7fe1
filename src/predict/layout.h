/* Pipeline layouts as Megatron-LM writes them (--pipeline-model-parallel-layout): one letter per layer, one part
 * between bars per stage of the pipeline, in the order in which a micro-batch passes them.
 *
 *   E   the embedding     t   a transformer layer     m   a multi-token-prediction layer     L   the head with its loss
 *   |   the next stage    *N  the letter or the group before it, N times     (…)  a group     ,   nothing
 *
 * "Et*3|(tt|)*6tmL" is eight stages: E and three layers, six times two layers, a layer with m and L. With v virtual
 * stages a rank of a pipeline of p has the parts k, k + p, …: a layout has p·v parts.
 *
 * Source: Megatron-LM megatron/core/transformer/pipeline_parallel_layer_layout.py. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define LAYOUT_PARTS_MOST 1024

struct pipeline_layout {
    int64_t parts, layers, mtp, embeddings, heads;
    uint16_t layers_of[LAYOUT_PARTS_MOST];
};

/* False, with `out` undefined, if the text is not a layout: an unknown letter, an unbalanced bracket, no number after
 * *, or more than LAYOUT_PARTS_MOST parts or 65,535 layers. */
bool layout_read(const char *text, struct pipeline_layout *out);

/* Returns whether the embedding is first, the head last, and each occurs once. */
bool layout_is_whole(const char *text);
