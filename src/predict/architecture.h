/* A transformer, in the numbers that its size and its cost follow from, and its parameter counts.
 *
 *   L    layers                h    hidden size              V    vocabulary
 *   a    query heads           g    key-value heads          d    head dimension (a·d need not be h)
 *   f    feed-forward width    f_e  width of an expert       f_s  width of the shared expert
 *   E    experts               K    experts per token        s_max  learned positions
 *   I    pixels of an image's side                           P    pixels of a patch's side
 *   q, c ranks of latent queries, and of keys and values     r    rotary part of a latent head   w    value head
 *
 *   per layer    parameters                                                               source
 *   attention    h·a·d + 2·h·g·d + a·d·h                                                  [1]
 *     biases     a·d + 2·g·d + h; qkv_bias: without the last h; latent: q + c + r + h     [1]
 *     latent     q·(h + 1) + q·a·(d + r), or h·a·(d + r) without q;                       [1] [3]
 *                h·(c + r) + c + c·a·(d + w) + a·w·h
 *     qk_norm    2·d; over all heads a·d + g·d                                            [2]
 *     sinks      a                                                                        [2]
 *   MLP          2·h·f; gated 3·h·f                                                       [1]
 *     biases     f + h; gated 2·f + h                                                     [1]
 *   experts      E times an MLP of width f_e                                              [1]
 *     router     h·E, and E of router_bias                                                [1] [2]
 *     shared     an MLP of width f_s, and h of its gate                                   [1] [2]
 *   norms        norms_per_layer of h, or of 2·h with LayerNorm's bias, none where they   [1] [2]
 *                have no parameters
 *   T5 decoder   a third norm and a second attention                                      [2]
 *   mixer        of layers that mix tokens otherwise: mixer.h
 *   gate         of attention's output: a·d·h                                             [2]
 *   latent MoE   experts read and write l in place of h, and 2·h·l to and from that       [1]
 *   MTP          a layer, 2·h² and three norms of h each                                  [3]
 *
 *   outside      parameters                                                               source
 *   embedding    V·h of tokens, s_max·h of learned positions, a norm where it has one     [2]
 *   head         V·h unless tied, and V of head_bias                                      [2]
 *   last norm    one norm                                                                 [2]
 *   BERT         2·h token types, norm of the embeddings; pooler h² + h;                  [2]
 *                masked-word head (where mlm_head) h² + h + 2·h + V;
 *                sentence head classes·(h + 1); no last norm, as norms come after each block
 *   T5           2 tables of 32 relative-position buckets per head;                       [2]
 *                a last norm in encoder and in decoder
 *   ViT          patch projection 3·P²·h + h; class token h; positions ((I/P)² + 1)·h;    [2]
 *                head classes·(h + 1); no vocabulary
 *
 * Sources: [1] Megatron-LM megatron/training/theoretical_memory_usage.py · [2] the module lists of the published models
 * · [3] DeepSeek-V3, arXiv 2412.19437, section 2
 *
 * Counts are whole numbers held exactly in doubles (below 2^53, which the bounds of architecture_complete keep to for
 * any model of 10^15 parameters). Pure. */
#pragma once

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

/* Norms of queries and keys: one of a head's width for each, or one over all heads (OLMo). */
enum qk_norm { QK_NORM_NONE = 0, QK_NORM_HEAD, QK_NORM_FULL };

/* How layers without attention mix tokens (mixer.h). */
enum mixer { MIXER_MAMBA2 = 0, MIXER_MAMBA, MIXER_GATED_DELTA, MIXER_LIGHTNING };

/* Zero stands for the default, where one is given. */
struct architecture {
    enum architecture_family family;
    int64_t layers;         /* T5: of the encoder */
    int64_t decoder_layers; /* T5 only; 0: same as layers */
    int64_t hidden;
    int64_t heads;
    int64_t kv_heads; /* 0: heads (multi-head attention) */
    int64_t head_dim; /* 0: hidden / heads, which must be whole */
    int64_t ffn;      /* 0: 4 · hidden */
    int64_t vocab;
    int64_t vocab_multiple; /* vocabulary is padded to a multiple of this times the tensor degree; 0: no padding */
    int64_t positions;      /* learned position embeddings; 0: none */

    int64_t experts;           /* 0: dense */
    int64_t experts_per_token; /* 0: 1 */
    int64_t expert_ffn;        /* 0: ffn */
    int64_t shared_ffn;        /* width of the shared experts, which every token passes; 0: none */
    int64_t dense_layers;      /* leading layers with an MLP of width ffn instead of experts */

    int64_t image, patch, classes; /* ViT: pixels per side, of the image and of a patch; classes also BERT's */

    /* Multi-head latent attention if kv_lora_rank is given; head_dim is then the part of a key without rotation. */
    int64_t q_lora_rank; /* 0: queries are not compressed */
    int64_t kv_lora_rank, qk_rope_dim;
    int64_t v_head_dim; /* 0: head_dim */
    int64_t mtp_layers; /* multi-token-prediction layers after the last one */

    /* Layers whose tokens see at most `window` tokens, or only those in their own chunk of `chunk` tokens. */
    int64_t window, chunk; /* 0: none; not both */
    int64_t window_layers; /* 0: all, if window or chunk is given */

    int64_t norms_per_layer; /* 0: two, or one with parallel_blocks; T5's decoder has one more */

    /* Hybrid stacks. A layer may have both a mixer and attention (Falcon-H1). */
    const char
        *hybrid_pattern; /* mixer.h, borrowed: the kind of each layer, one block each; NULL: every layer has an MLP */
    enum mixer mixer;
    int64_t mixer_layers;
    int64_t attention_layers; /* 0: layers without a mixer */
    int64_t mlp_layers;       /* layers with an MLP of width ffn; 0: layers without experts */
    int64_t mixer_heads, mixer_head_dim, mixer_state, mixer_groups, mixer_conv, mixer_chunk; /* 0: default from
                                                                                              * mixer_fill */
    int64_t mixer_rank;    /* of Mamba's step size; 0: hidden / 16 */
    int64_t expert_latent; /* width that routed experts read and write; 0: hidden */

    bool gated_mlp;
    bool biases;              /* on every matrix of attention and MLP */
    bool qkv_bias;            /* on queries, keys and values only */
    bool attention_bias;      /* on all four matrices of attention */
    bool mlp_bias;            /* on those of MLP and experts */
    bool router_bias;         /* one per expert */
    bool head_bias;           /* on the output matrix */
    bool shared_gate;         /* gate of the shared expert, one number per token */
    bool attention_sinks;     /* one per head */
    bool attention_gate;      /* attention's output is multiplied by a projection of its input */
    bool mixer_bias;          /* on the projections of mamba2 and mamba */
    bool mixer_norms;         /* norms of mamba's step size and states */
    bool mixer_plain;         /* mamba2 without its gated norm */
    bool parallel_blocks;     /* attention and MLP read the same input, and their outputs are added */
    bool rms_norm;            /* norms without a bias */
    bool nonparametric_norms; /* norms without parameters */
    bool embedding_norm;      /* a norm after the embedding */
    enum qk_norm qk_norm;     /* latent attention has norms of its ranks instead */
    bool tied_embeddings;
    bool mlm_head; /* BERT */
    bool dropout;  /* dropout is used; its masks are kept for the backward pass */
};

/* An average layer of the model (T5 has two kinds; so may an MoE model). */
struct layer_parameters {
    double attention; /* and mixers */
    double mlp, experts, router, norms;
    double expert_layers;    /* share of layers with experts, 0 to 1 */
    double mlp_layers;       /* share of layers with an MLP of width ffn */
    double attention_blocks; /* 1; T5: (encoder + 2 · decoder) / all; less if there are mixers */
    double mixer_layers;
};

struct architecture_parameters {
    double attention, mlp, experts, router, norms; /* over all layers; mlp includes shared experts */
    double mtp;                                    /* layers of multi-token prediction, not in the others */
    double embedding;                              /* tokens, positions, token types, patches, class token */
    double head;                                   /* output matrix if not tied; pooler and other heads */
    double total;
    struct layer_parameters layer;
};

/* The family's usual flags, all else zero: gpt tied, biases, dropout · llama RMS norm, gated · bert tied, biases,
 * dropout, mlm_head · t5 tied, RMS norm, dropout · vit biases, dropout. */
struct architecture architecture_of(enum architecture_family family);

/* Fills in the defaults above. -1 (ERROR_USAGE), with every fault named and `a` unchanged, if a number is negative,
 * zero where it may not be, or absurdly large, or if heads, patches and experts are inconsistent. */
int architecture_complete(struct architecture *a, struct error *e);

/* Gives a number its default where it is 0, so not given. */
static inline void fill_integer(int64_t *number, int64_t value)
{
    *number = *number ? *number : value;
}

/* The functions below take an architecture completed by architecture_complete. */

/* Returns whether the head has logits of the vocabulary, rather than of `classes` once per sequence. */
bool architecture_predicts_words(const struct architecture *a);

/* `tensor`: tensor degree, 1 or more; it matters only for the padding of the vocabulary. */
double architecture_padded_vocab(const struct architecture *a, int64_t tensor);

/* Returns whether attention is latent. */
static inline bool architecture_is_latent(const struct architecture *a)
{
    return a->kv_lora_rank > 0;
}

/* Widths of all heads' queries, and of all heads' values: both a·d; latent a·(d + r) and a·w. */
static inline double architecture_query_width(const struct architecture *a)
{
    return (double)a->heads * (double)(a->head_dim + (architecture_is_latent(a) ? a->qk_rope_dim : 0));
}
static inline double architecture_value_width(const struct architecture *a)
{
    return (double)a->heads * (double)(architecture_is_latent(a) ? a->v_head_dim : a->head_dim);
}

/* All layers, encoder and decoder, without those of MTP. */
static inline double architecture_layers(const struct architecture *a)
{
    return (double)(a->layers + a->decoder_layers);
}

/* Returns whether some layers have no attention, or no MLP. */
static inline bool architecture_is_hybrid(const struct architecture *a)
{
    return a->mixer_layers > 0 || a->hybrid_pattern;
}

/* Shares of all layers, 0 to 1: with experts, with attention, with an MLP of width ffn, with a mixer. */
static inline double architecture_sparse_share(const struct architecture *a)
{
    return a->experts > 0 ? 1 - (double)a->dense_layers / architecture_layers(a) : 0;
}
static inline double architecture_attention_share(const struct architecture *a)
{
    return (double)a->attention_layers / architecture_layers(a);
}
static inline double architecture_mlp_share(const struct architecture *a)
{
    return (double)a->mlp_layers / architecture_layers(a);
}
static inline double architecture_mixer_share(const struct architecture *a)
{
    return (double)a->mixer_layers / architecture_layers(a);
}

/* Width that routed experts read and write. */
static inline double architecture_expert_input(const struct architecture *a)
{
    return (double)(a->expert_latent > 0 ? a->expert_latent : a->hidden);
}

/* Tokens of an image, (I/P)² + 1. */
double architecture_image_tokens(const struct architecture *a);

void architecture_layer(const struct architecture *a, struct layer_parameters *out);

/* The layers of one depth of MTP, as a separate stack: as a pattern says, else one of attention and, where the model
 * has them, experts. */
void architecture_mtp_stack(const struct architecture *a, struct architecture *out);

/* All layers of one depth of MTP, with its norms; its projection is returned. */
double architecture_mtp_layer(const struct architecture *a, struct layer_parameters *out);

/* False, `out` untouched, when the total exceeds 10^15. */
bool architecture_count(const struct architecture *a, int64_t tensor, struct architecture_parameters *out);
