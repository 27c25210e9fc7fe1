/* What a transformer is, in the numbers that its size and its cost follow from, and its parameter counts.
 *
 * Symbols: L layers, h hidden size, a query heads, g key-value heads, d head dimension (a·d need not be h),
 * f feed-forward width, V vocabulary, E experts, K experts per token, f_e width of an expert.
 *
 * Per layer
 *   attention   h·a·d + 2·h·g·d + a·d·h; biases a·d + 2·g·d + h (qkv_bias: without the last h)
 *   MLP         2·h·f, gated 3·h·f; biases f + h (gated 2·f + h)
 *   experts     E times an MLP of width f_e; router h·E; shared expert an MLP of width f_s
 *   norms       two of h, or of 2·h with LayerNorm's bias; a T5 decoder layer has a third, and a second
 * attention Outside     token embedding V·h, learned positions s_max·h, output head V·h unless tied, last
 * norm BERT        2·h for token types, norm of the embeddings, pooler h² + h, masked-word head h² + h + 2·h
 * + V (where mlm_head), sentence head classes·(h + 1); no last norm, as norms come after each block T5 2
 * tables of 32 relative-position buckets per head; a last norm in encoder and in decoder ViT         patch
 * projection 3·P²·h + h, class token h, positions ((I/P)² + 1)·h, head classes·(h + 1); no vocabulary
 *
 * Sources: Megatron-LM megatron/training/theoretical_memory_usage.py (attention, MLP, experts, norms); the
 * module lists of the published models for what surrounds the layers. Counts are whole numbers held exactly
 * in doubles (below 2^53, which the bounds of architecture_complete keep to for any model of 10^15
 * parameters). Pure. */
#ifndef MESHSWEEP_PREDICT_ARCHITECTURE_H
#define MESHSWEEP_PREDICT_ARCHITECTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "util/error.h"

enum architecture_family {
    ARCHITECTURE_NONE = 0,
    ARCHITECTURE_GPT,
    ARCHITECTURE_LLAMA,
    ARCHITECTURE_BERT,
    ARCHITECTURE_T5,
    ARCHITECTURE_VIT,
    ARCHITECTURE_FAMILY_END,
};

/* Zero means "as usual" where a default is given. */
struct architecture {
    enum architecture_family family;
    int64_t layers;         /* T5: of the encoder */
    int64_t decoder_layers; /* T5 alone; 0: as many as layers */
    int64_t hidden;
    int64_t heads;
    int64_t kv_heads; /* 0: heads (multi-head attention) */
    int64_t head_dim; /* 0: hidden / heads, which must then divide */
    int64_t ffn;      /* 0: 4 · hidden */
    int64_t vocab;
    int64_t
        vocab_multiple; /* the vocabulary is padded to a multiple of this times the tensor degree; 0: not */
    int64_t positions;  /* learned position embeddings; 0: none */

    int64_t experts;           /* 0: dense */
    int64_t experts_per_token; /* 0: 1 */
    int64_t expert_ffn;        /* 0: ffn */
    int64_t shared_ffn;        /* width of experts that every token passes; 0: none */
    int64_t dense_layers;      /* leading layers with an MLP of width ffn in place of experts */

    int64_t image, patch,
        classes; /* ViT: pixels per side, of the image and of a patch; classes also BERT's */

    bool gated_mlp;
    bool biases;   /* on every matrix of attention and MLP */
    bool qkv_bias; /* on queries, keys and values alone */
    bool rms_norm; /* norms without a bias */
    bool qk_norm;  /* a norm of d each on queries and keys */
    bool tied_embeddings;
    bool mlm_head; /* BERT */
    bool dropout;  /* masks are kept for the backward pass */
};

struct architecture_parameters {
    double attention, mlp, experts, router, norms; /* of all layers; mlp includes shared experts */
    double embedding;                              /* tokens, positions, token types, patches, class token */
    double head;                                   /* output matrix where not tied; pooler and other heads */
    double total;
    double active; /* what one token passes: K of E experts */
};

/* One layer on average over the model (T5 mixes two kinds, an MoE model may too). */
struct layer_parameters {
    double attention, mlp, experts, router, norms;
    double expert_layers;    /* share of layers that have experts, 0 to 1 */
    double attention_blocks; /* 1; T5: (encoder + 2 · decoder) / all */
};

/* "gpt", "llama", "bert", "t5", "vit". */
extern const char *const architecture_family_names[ARCHITECTURE_FAMILY_END];

/* ARCHITECTURE_NONE for any other name. */
enum architecture_family architecture_family_from_name(const char *name);

/* All zero but the family and what goes without saying in it: gpt tied, biases, dropout · llama RMS norm,
 * gated · bert tied, biases, dropout, mlm_head · t5 tied, RMS norm, dropout · vit biases, dropout. */
struct architecture architecture_of(enum architecture_family family);

/* Fills in the defaults above. -1 (ERROR_USAGE), with every fault named and `a` as it was, when a number is
 * negative, zero where it may not be, or absurdly large, or when heads, patches and experts do not fit
 * together. */
int architecture_complete(struct architecture *a, struct error *e);

/* The rest wants an architecture that went through architecture_complete. */

/* With tensor degree `tensor` (1 or more), which only matters for the padding of the vocabulary. */
double architecture_padded_vocab(const struct architecture *a, int64_t tensor);

/* All layers, encoder and decoder. */
double architecture_layers(const struct architecture *a);

/* Tokens of an image, (I/P)² + 1. */
double architecture_image_tokens(const struct architecture *a);

void architecture_layer(const struct architecture *a, struct layer_parameters *out);

/* -1 when the total exceeds 10^15. */
int architecture_count(const struct architecture *a, int64_t tensor, struct architecture_parameters *out,
                       struct error *e);

#endif
