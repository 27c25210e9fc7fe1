#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "sweep_file/hf_reading.h"
#include "util/buffer.h"

#define LAYERS_MOST 1024 /* of a stack of mixers only */

static int finish_falcon(struct hf_reading *r)
{
    int64_t is_new, one_head, kv_heads, norms;
    if (hf_whole(r, "new_decoder_architecture", 0, &is_new) < 0 || hf_whole(r, "multi_query", 1, &one_head) < 0 ||
        hf_whole(r, "num_kv_heads", hf_key_value(r, "heads"), &kv_heads) < 0 ||
        hf_whole(r, "num_ln_in_parallel_attn", 2, &norms) < 0)
        return -1;
    hf_set_whole(r, "kv_heads", is_new ? kv_heads : one_head ? 1 : hf_key_value(r, "heads"));
    if (is_new) {
        hf_set_whole(r, "parallel_blocks", 1);
        hf_set_whole(r, "norms_per_layer", norms);
    }
    return 0;
}

static int finish_bigcode(struct hf_reading *r)
{
    int64_t one_head;
    if (hf_whole(r, "multi_query", 1, &one_head) < 0)
        return -1;
    hf_set_whole(r, "kv_heads", one_head ? 1 : hf_key_value(r, "heads"));
    return 0;
}

/* Positions start after the padding token's, so the table has two more. */
static int finish_opt(struct hf_reading *r)
{
    int64_t embedding, hidden = hf_key_value(r, "hidden");
    if (hf_whole(r, "word_embed_proj_dim", hidden, &embedding) < 0)
        return -1;
    if (embedding != hidden)
        return error_set(r->e, ERROR_USAGE,
                         "%s: \"word_embed_proj_dim\" is %lld, but \"hidden_size\" is %lld; embeddings of another "
                         "width are not supported",
                         r->name, (long long)embedding, (long long)hidden);
    hf_set_whole(r, "positions", hf_key_value(r, "positions") + 2);
    return 0;
}

static int finish_deepseek(struct hf_reading *r)
{
    int64_t shared;
    if (hf_whole(r, "n_shared_experts", 0, &shared) < 0)
        return -1;
    if (hf_key_value(r, "experts") == 0)
        hf_set_whole(r, "dense_layers", 0);
    else if (shared > 0)
        hf_set_whole(r, "shared_ffn", shared * hf_key_value(r, "expert_ffn"));
    return 0;
}

/* Layers without experts: mlp_only_layers, and all but every decoder_sparse_step-th. */
static int finish_qwen_moe(struct hf_reading *r)
{
    int64_t step, layers = hf_key_value(r, "layers"), sparse = 0;
    const cJSON *only = hf_field_of(r->root, "mlp_only_layers"), *item;
    if (hf_whole(r, "decoder_sparse_step", 1, &step) < 0)
        return -1;
    for (int64_t i = 0; i < layers; i++) {
        bool listed = false;
        cJSON_ArrayForEach(item, only) listed |= cJSON_IsNumber(item) && item->valuedouble == (double)i;
        sparse += !listed && step > 0 && (i + 1) % step == 0;
    }
    hf_set_whole(r, "dense_layers", layers - sparse);
    return 0;
}

/* Attention within chunks in layers with rotary positions: those that no_rope_layers marks (with a 1), or all but every
 * no_rope_layer_interval-th (transformers configuration_llama4.py). */
static int finish_chunks(struct hf_reading *r)
{
    int64_t chunk, every, layers = hf_key_value(r, "layers"), count = 0;
    const cJSON *list = hf_field_of(r->root, "no_rope_layers"), *item;
    if (hf_whole(r, "attention_chunk_size", 8192, &chunk) < 0 || hf_whole(r, "no_rope_layer_interval", 4, &every) < 0)
        return -1;
    cJSON_ArrayForEach(item, list) count += cJSON_IsNumber(item) && item->valuedouble != 0;
    if (cJSON_GetArraySize(list) == 0)
        count = every > 0 ? layers - layers / every : layers;
    if (chunk > 0 && count > 0) {
        hf_set_whole(r, "attention_chunk", chunk);
        hf_set_whole(r, "window_layers", count);
    }
    return 0;
}

/* Experts in moe_layers, or in every interleave_moe_layer_step-th layer, each with a shared expert. */
static int finish_llama4(struct hf_reading *r)
{
    int64_t step, layers = hf_key_value(r, "layers");
    const cJSON *list = hf_field_of(r->root, "moe_layers");
    if (hf_whole(r, "interleave_moe_layer_step", 1, &step) < 0)
        return -1;
    int64_t sparse = cJSON_IsArray(list) ? cJSON_GetArraySize(list) : step > 0 ? layers / step : 0;
    hf_set_whole(r, "dense_layers", sparse < layers ? layers - sparse : 0);
    hf_set_whole(r, "shared_ffn", hf_key_value(r, "expert_ffn"));
    return finish_chunks(r);
}

/* Experts in every moe_layer_interval-th layer from moe_layer_start_index to moe_layer_end_index (-1: the last). */
static int finish_ernie_moe(struct hf_reading *r)
{
    int64_t first, last, every, shared, sparse = 0, layers = hf_key_value(r, "layers");
    const cJSON *end = hf_field_of(r->root, "moe_layer_end_index");
    last = layers - 1;
    if (hf_whole(r, "moe_layer_start_index", 1, &first) < 0 || hf_whole(r, "moe_layer_interval", 1, &every) < 0 ||
        hf_whole(r, "moe_num_shared_experts", 2, &shared) < 0 ||
        (!(cJSON_IsNumber(end) && end->valuedouble == -1) && hf_whole(r, "moe_layer_end_index", last, &last) < 0))
        return -1;
    for (int64_t i = first; i < layers && i <= last; i++)
        sparse += every > 0 && (i + 1) % every == 0;
    hf_set_whole(r, "dense_layers", layers - sparse);
    hf_set_whole(r, "shared_ffn", shared * hf_key_value(r, "expert_ffn"));
    return 0;
}

static int finish_minicpm3(struct hf_reading *r)
{
    int64_t heads = hf_key_value(r, "heads");
    if (hf_key_value(r, "v_head_dim") == 0 && heads > 0)
        hf_set_whole(r, "v_head_dim", hf_key_value(r, "hidden") / heads);
    return 0;
}

/* The MLP is expansion_ratio times as wide as the layer. */
static int finish_mpt(struct hf_reading *r)
{
    int64_t times;
    if (hf_whole(r, "expansion_ratio", 4, &times) < 0)
        return -1;
    hf_set_whole(r, "ffn", times * hf_key_value(r, "hidden"));
    return 0;
}

/* "relu" or "gated-gelu". */
static int finish_t5(struct hf_reading *r)
{
    const cJSON *projection = hf_field_of(r->root, "feed_forward_proj");
    if (cJSON_IsString(projection) && strncmp(projection->valuestring, "gated-", strlen("gated-")) == 0)
        hf_set_whole(r, "gated_mlp", 1);
    return 0;
}

/* --- hybrid stacks --- */

/* Number of layers that a list calls `word`; -1 if there is no list with a text per layer. */
static int64_t listed(const struct hf_reading *r, const char *field, const char *word)
{
    const cJSON *list = hf_field_of(r->root, field), *item;
    int64_t count = 0;
    if (!cJSON_IsArray(list) || cJSON_GetArraySize(list) != (int)hf_key_value(r, "layers"))
        return -1;
    cJSON_ArrayForEach(item, list)
    {
        if (!cJSON_IsString(item))
            return -1;
        count += strcmp(item->valuestring, word) == 0;
    }
    return count;
}

/* Layers first, first + every, … */
static int64_t every_so_many(int64_t layers, int64_t first, int64_t every)
{
    return every > 0 && first < layers ? (layers - 1 - first) / every + 1 : 0;
}

static int need_list(const struct hf_reading *r, const char *field)
{
    return error_set(r->e, ERROR_USAGE,
                     "%s lacks \"%s\", a list of one string for each of %lld layers, which model_type %s needs",
                     r->name, field, (long long)hf_key_value(r, "layers"), r->type->name);
}

/* Without mixers, their widths are 0, too. */
static void set_mixers(struct hf_reading *r, int64_t mixers)
{
    static const char *const widths[] = {"mixer_heads", "mixer_head_dim", "mixer_groups", "mixer_state", "mixer_conv",
                                         "mixer_chunk", "mixer_rank",     "mixer_bias",   "mixer_norms", "mixer_plain"};
    hf_set_whole(r, "mixer_layers", mixers);
    for (size_t i = 0; mixers == 0 && i < sizeof widths / sizeof *widths; i++)
        hf_set_whole(r, widths[i], 0);
}

static int finish_mamba(struct hf_reading *r)
{
    OWNED_BUFFER pattern = BUFFER_INIT;
    for (int64_t i = 0; i < hf_key_value(r, "layers") && i < LAYERS_MOST; i++)
        buffer_add_text(&pattern, "M");
    hf_set_text(r, "hybrid_pattern", buffer_text(&pattern));
    return 0;
}

/* There are experts only if the pattern has them. */
static int finish_nemotron_h(struct hf_reading *r)
{
    static const char *const of_experts[] = {"experts", "experts_per_token", "expert_ffn", "shared_ffn",
                                             "expert_latent"};
    const cJSON *pattern = hf_field_of(r->root, "hybrid_override_pattern");
    if (!cJSON_IsString(pattern))
        return error_set(r->e, ERROR_USAGE, "%s lacks \"hybrid_override_pattern\", which model_type %s needs", r->name,
                         r->type->name);
    for (size_t i = 0; !strchr(pattern->valuestring, 'E') && i < sizeof of_experts / sizeof *of_experts; i++)
        hf_set_whole(r, of_experts[i], 0);
    hf_set_text(r, "hybrid_pattern", pattern->valuestring);
    return 0;
}

static int finish_jamba(struct hf_reading *r)
{
    int64_t first, every, sparse_first, sparse_every, expand, layers = hf_key_value(r, "layers");
    if (hf_whole(r, "attn_layer_offset", 4, &first) < 0 || hf_whole(r, "attn_layer_period", 8, &every) < 0 ||
        hf_whole(r, "expert_layer_offset", 1, &sparse_first) < 0 ||
        hf_whole(r, "expert_layer_period", 2, &sparse_every) < 0 || hf_whole(r, "mamba_expand", 2, &expand) < 0)
        return -1;
    set_mixers(r, layers - every_so_many(layers, first, every));
    hf_set_whole(r, "mixer_heads", expand * hf_key_value(r, "hidden"));
    if (hf_key_value(r, "experts") > 1) {
        hf_set_whole(r, "dense_layers", layers - every_so_many(layers, sparse_first, sparse_every));
    } else {
        hf_set_whole(r, "experts", 0);
        hf_set_whole(r, "experts_per_token", 0);
    }
    return 0;
}

static int finish_bamba(struct hf_reading *r)
{
    const cJSON *list = hf_field_of(r->root, "attn_layer_indices");
    set_mixers(r, hf_key_value(r, "layers") - (cJSON_IsArray(list) ? cJSON_GetArraySize(list) : 0));
    return 0;
}

/* Without experts, the shared expert is the MLP. */
static int finish_granite(struct hf_reading *r)
{
    int64_t mixers = listed(r, "layer_types", "mamba");
    if (mixers < 0)
        return need_list(r, "layer_types");
    set_mixers(r, mixers);
    if (hf_key_value(r, "experts") == 0) {
        hf_set_whole(r, "ffn", hf_key_value(r, "shared_ffn"));
        hf_set_whole(r, "shared_ffn", 0);
        hf_set_whole(r, "experts_per_token", 0);
    }
    return 0;
}

/* Each layer has both a mixer and attention. */
static int finish_falcon_h1(struct hf_reading *r)
{
    set_mixers(r, hf_key_value(r, "layers"));
    hf_set_whole(r, "attention_layers", hf_key_value(r, "layers"));
    return 0;
}

static int finish_qwen3_next(struct hf_reading *r)
{
    int64_t every, layers = hf_key_value(r, "layers"), linear = listed(r, "layer_types", "linear_attention");
    if (hf_whole(r, "full_attention_interval", 4, &every) < 0)
        return -1;
    set_mixers(r, linear >= 0 ? linear : layers - (every > 0 ? layers / every : 0));
    return hf_key_value(r, "experts") > 0 ? finish_qwen_moe(r) : 0;
}

/* A list of 0 and 1 (attention), or of names, says which layers have attention. */
static int finish_minimax(struct hf_reading *r)
{
    const cJSON *list = hf_field_of(r->root, "attn_type_list"), *item;
    int64_t linear = listed(r, "layer_types", "linear_attention");
    if (linear < 0 && cJSON_GetArraySize(list) != (int)hf_key_value(r, "layers"))
        return need_list(r, "layer_types");
    if (linear < 0) {
        linear = 0;
        cJSON_ArrayForEach(item, list) linear += cJSON_IsNumber(item) && item->valuedouble == 0;
    }
    set_mixers(r, linear);
    int64_t head_dim = hf_key_value(r, "head_dim"), heads = hf_key_value(r, "heads");
    if (linear > 0)
        hf_set_whole(r, "mixer_head_dim", head_dim > 0 || heads == 0 ? head_dim : hf_key_value(r, "hidden") / heads);
    return 0;
}

hf_finisher *hf_finisher_of(const char *name)
{
    static const struct {
        const char *type;
        hf_finisher *finish;
    } types[] = {{"falcon", finish_falcon},
                 {"gpt_bigcode", finish_bigcode},
                 {"opt", finish_opt},
                 {"deepseek_v3", finish_deepseek},
                 {"glm4_moe", finish_deepseek},
                 {"glm4_moe_lite", finish_deepseek},
                 {"dots1", finish_deepseek},
                 {"llama4_text", finish_llama4},
                 {"ernie4_5_moe", finish_ernie_moe},
                 {"minicpm3", finish_minicpm3},
                 {"mpt", finish_mpt},
                 {"t5", finish_t5},
                 {"qwen2_moe", finish_qwen_moe},
                 {"qwen3_moe", finish_qwen_moe},
                 {"mamba", finish_mamba},
                 {"mamba2", finish_mamba},
                 {"nemotron_h", finish_nemotron_h},
                 {"jamba", finish_jamba},
                 {"bamba", finish_bamba},
                 {"granitemoehybrid", finish_granite},
                 {"falcon_h1", finish_falcon_h1},
                 {"qwen3_next", finish_qwen3_next},
                 {"qwen3_5_text", finish_qwen3_next},
                 {"qwen3_5_moe_text", finish_qwen3_next},
                 {"minimax", finish_minimax}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i].type, name) == 0)
            return types[i].finish;
    return NULL;
}
