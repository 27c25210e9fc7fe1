#include "sweep_file/hf_types.h"

#include <string.h>

#define END                                                                                                            \
    {                                                                                                                  \
        NULL, NULL, 0                                                                                                  \
    }

/* As Llama's configuration has it, and most since. */
static const struct hf_field llama_shape[] = {{"layers", "num_hidden_layers", HF_NEEDED},
                                              {"hidden", "hidden_size", HF_NEEDED},
                                              {"heads", "num_attention_heads", HF_NEEDED},
                                              {"kv_heads", "num_key_value_heads", HF_UNSET},
                                              {"head_dim", "head_dim", HF_UNSET},
                                              {"ffn", "intermediate_size", HF_NEEDED},
                                              {"vocab", "vocab_size", HF_NEEDED},
                                              END};

/* With latent attention there are as many key-value heads as heads, and head_dim is another thing. */
static const struct hf_field deepseek_shape[] = {{"layers", "num_hidden_layers", HF_NEEDED},
                                                 {"hidden", "hidden_size", HF_NEEDED},
                                                 {"heads", "num_attention_heads", HF_NEEDED},
                                                 {"ffn", "intermediate_size", HF_NEEDED},
                                                 {"vocab", "vocab_size", HF_NEEDED},
                                                 {"q_lora_rank", "q_lora_rank", HF_UNSET},
                                                 {"kv_lora_rank", "kv_lora_rank", HF_NEEDED},
                                                 {"head_dim", "qk_nope_head_dim", HF_NEEDED},
                                                 {"qk_rope_dim", "qk_rope_head_dim", HF_NEEDED},
                                                 {"v_head_dim", "v_head_dim", HF_NEEDED},
                                                 END};

static const struct hf_field gpt2_shape[] = {{"layers", "n_layer num_hidden_layers", HF_NEEDED},
                                             {"hidden", "n_embd hidden_size", HF_NEEDED},
                                             {"heads", "n_head num_attention_heads", HF_NEEDED},
                                             {"ffn", "n_inner", HF_UNSET},
                                             {"vocab", "vocab_size", HF_NEEDED},
                                             END};

static const struct hf_field llama[] = {{"tied_embeddings", "tie_word_embeddings", 0},
                                        {"attention_bias", "attention_bias", 0},
                                        {"mlp_bias", "mlp_bias", 0},
                                        END};
static const struct hf_field tied_0[] = {{"tied_embeddings", "tie_word_embeddings", 0}, END};
static const struct hf_field attention_bias_tied_0[] = {{"tied_embeddings", "tie_word_embeddings", 0},
                                                        {"attention_bias", "attention_bias", 0},
                                                        END};
static const struct hf_field attention_bias_tied_1[] = {{"tied_embeddings", "tie_word_embeddings", 1},
                                                        {"attention_bias", "attention_bias", 0},
                                                        END};

static const struct hf_field mixtral[] = {{"tied_embeddings", "tie_word_embeddings", 0},
                                          {"experts", "num_local_experts", 8},
                                          {"experts_per_token", "num_experts_per_tok", 2},
                                          END};
static const struct hf_field granitemoe[] = {{"tied_embeddings", "tie_word_embeddings", 0},
                                             {"attention_bias", "attention_bias", 0},
                                             {"experts", "num_local_experts", HF_NEEDED},
                                             {"experts_per_token", "num_experts_per_tok", HF_NEEDED},
                                             END};
static const struct hf_field qwen2_moe[] = {{"tied_embeddings", "tie_word_embeddings", 0},
                                            {"experts", "num_experts", HF_NEEDED},
                                            {"experts_per_token", "num_experts_per_tok", HF_NEEDED},
                                            {"expert_ffn", "moe_intermediate_size", HF_NEEDED},
                                            {"shared_ffn", "shared_expert_intermediate_size", HF_NEEDED},
                                            END};
static const struct hf_field qwen3_moe[] = {{"tied_embeddings", "tie_word_embeddings", 0},
                                            {"attention_bias", "attention_bias", 0},
                                            {"experts", "num_experts", HF_NEEDED},
                                            {"experts_per_token", "num_experts_per_tok", HF_NEEDED},
                                            {"expert_ffn", "moe_intermediate_size", HF_NEEDED},
                                            END};
static const struct hf_field olmoe[] = {{"tied_embeddings", "tie_word_embeddings", 0},
                                        {"attention_bias", "attention_bias", 0},
                                        {"experts", "num_experts", HF_NEEDED},
                                        {"experts_per_token", "num_experts_per_tok", HF_NEEDED},
                                        END};
static const struct hf_field gpt_oss[] = {{"tied_embeddings", "tie_word_embeddings", 0},
                                          {"attention_bias", "attention_bias", 1},
                                          {"experts", "num_local_experts", HF_NEEDED},
                                          {"experts_per_token", "num_experts_per_tok experts_per_token", HF_NEEDED},
                                          END};
static const struct hf_field deepseek[] = {{"tied_embeddings", "tie_word_embeddings", 0},
                                           {"attention_bias", "attention_bias", 0},
                                           {"experts", "n_routed_experts", HF_UNSET},
                                           {"experts_per_token", "num_experts_per_tok", HF_UNSET},
                                           {"expert_ffn", "moe_intermediate_size", HF_UNSET},
                                           {"dense_layers", "first_k_dense_replace", 0},
                                           {"mtp_layers", "num_nextn_predict_layers", 0},
                                           END};
static const struct hf_field gpt2[] = {{"tied_embeddings", "tie_word_embeddings", 1},
                                       {"positions", "n_positions max_position_embeddings", HF_NEEDED},
                                       {"dropout", "resid_pdrop", 1},
                                       END};
static const struct hf_field gptj[] = {{"tied_embeddings", "tie_word_embeddings", 0},
                                       {"dropout", "resid_pdrop", 0},
                                       END};
static const struct hf_field phi[] = {{"tied_embeddings", "tie_word_embeddings", 0},
                                      {"dropout", "resid_pdrop", 0},
                                      END};
static const struct hf_field gpt_neox[] = {{"tied_embeddings", "tie_word_embeddings", 0},
                                           {"attention_bias", "attention_bias", 1},
                                           {"parallel_blocks", "use_parallel_residual", 1},
                                           {"dropout", "hidden_dropout", 0},
                                           END};
static const struct hf_field bloom_shape[] = {{"layers", "n_layer num_hidden_layers", HF_NEEDED},
                                              {"hidden", "hidden_size n_embed", HF_NEEDED},
                                              {"heads", "n_head num_attention_heads", HF_NEEDED},
                                              {"vocab", "vocab_size", HF_NEEDED},
                                              END};
static const struct hf_field bloom[] = {{"tied_embeddings", "tie_word_embeddings", 1},
                                        {"dropout", "hidden_dropout", 0},
                                        END};
static const struct hf_field opt_shape[] = {{"layers", "num_hidden_layers", HF_NEEDED},
                                            {"hidden", "hidden_size", HF_NEEDED},
                                            {"heads", "num_attention_heads", HF_NEEDED},
                                            {"ffn", "ffn_dim", HF_NEEDED},
                                            {"vocab", "vocab_size", HF_NEEDED},
                                            {"positions", "max_position_embeddings", HF_NEEDED},
                                            END};
static const struct hf_field opt[] = {{"tied_embeddings", "tie_word_embeddings", 1},
                                      {"biases", "enable_bias", 1},
                                      {"dropout", "dropout", 1},
                                      END};
static const struct hf_field falcon_shape[] = {{"layers", "num_hidden_layers n_layer", HF_NEEDED},
                                               {"hidden", "hidden_size", HF_NEEDED},
                                               {"heads", "num_attention_heads n_head", HF_NEEDED},
                                               {"ffn", "ffn_hidden_size", HF_UNSET},
                                               {"vocab", "vocab_size", HF_NEEDED},
                                               END};
static const struct hf_field falcon[] = {{"tied_embeddings", "tie_word_embeddings", 1},
                                         {"biases", "bias", 0},
                                         {"parallel_blocks", "parallel_attn", 1},
                                         {"dropout", "hidden_dropout", 0},
                                         END};
static const struct hf_field starcoder2[] = {{"tied_embeddings", "tie_word_embeddings", 1},
                                             {"biases", "use_bias", 1},
                                             {"dropout", "residual_dropout", 0},
                                             END};
static const struct hf_field stablelm[] = {{"tied_embeddings", "tie_word_embeddings", 0},
                                           {"qkv_bias", "use_qkv_bias", 0},
                                           {"parallel_blocks", "use_parallel_residual", 0},
                                           {"dropout", "hidden_dropout", 0},
                                           END};

/* Transformers' modules, src/transformers/models/NAME. Falcon's and gpt_bigcode's key-value heads, OPT's two further
 * positions and DeepSeek's shared experts are worked out in hf_config.c. */
static const struct hf_type types[] = {
    {"bloom",
     "gpt",
     bloom_shape,
     bloom,
     {{"biases", 1, NULL}, {"embedding_norm", 1, NULL}},
     {{NULL, 0}},
     HF_WINDOWS_NONE},
    {"cohere",
     "llama",
     llama_shape,
     attention_bias_tied_1,
     {{"parallel_blocks", 1, NULL}},
     {{"use_qk_norm", 0}},
     HF_WINDOWS_NONE},
    {"deepseek_v2", "llama", deepseek_shape, deepseek, {{NULL, 0, NULL}}, {{"moe_layer_freq", 1}}, HF_WINDOWS_NONE},
    {"deepseek_v3", "llama", deepseek_shape, deepseek, {{NULL, 0, NULL}}, {{"moe_layer_freq", 1}}, HF_WINDOWS_NONE},
    {"falcon", "gpt", falcon_shape, falcon, {{NULL, 0, NULL}}, {{NULL, 0}}, HF_WINDOWS_NONE},
    {"gemma", "llama", llama_shape, attention_bias_tied_1, {{NULL, 0, NULL}}, {{NULL, 0}}, HF_WINDOWS_NONE},
    {"gemma2",
     "llama",
     llama_shape,
     attention_bias_tied_1,
     {{"norms_per_layer", 4, NULL}},
     {{NULL, 0}},
     HF_WINDOWS_HALF},
    {"gemma3_text",
     "llama",
     llama_shape,
     attention_bias_tied_1,
     {{"norms_per_layer", 4, NULL}, {"qk_norm", 0, "head"}},
     {{NULL, 0}},
     HF_WINDOWS_PATTERN},
    {"gpt2", "gpt", gpt2_shape, gpt2, {{"biases", 1, NULL}}, {{"add_cross_attention", 0}}, HF_WINDOWS_NONE},
    {"gpt_bigcode", "gpt", gpt2_shape, gpt2, {{"biases", 1, NULL}}, {{NULL, 0}}, HF_WINDOWS_NONE},
    {"gpt_neox",
     "gpt",
     llama_shape,
     gpt_neox,
     {{"mlp_bias", 1, NULL}, {"norms_per_layer", 2, NULL}},
     {{NULL, 0}},
     HF_WINDOWS_NONE},
    {"gpt_oss",
     "llama",
     llama_shape,
     gpt_oss,
     {{"mlp_bias", 1, NULL}, {"router_bias", 1, NULL}, {"attention_sinks", 1, NULL}},
     {{NULL, 0}},
     HF_WINDOWS_HALF},
    {"gptj",
     "gpt",
     gpt2_shape,
     gptj,
     {{"biases", 0, NULL}, {"mlp_bias", 1, NULL}, {"head_bias", 1, NULL}, {"parallel_blocks", 1, NULL}},
     {{NULL, 0}},
     HF_WINDOWS_NONE},
    {"granite", "llama", llama_shape, llama, {{NULL, 0, NULL}}, {{NULL, 0}}, HF_WINDOWS_NONE},
    {"granitemoe", "llama", llama_shape, granitemoe, {{NULL, 0, NULL}}, {{NULL, 0}}, HF_WINDOWS_NONE},
    {"kimi_k2", "llama", deepseek_shape, deepseek, {{NULL, 0, NULL}}, {{"moe_layer_freq", 1}}, HF_WINDOWS_NONE},
    {"llama", "llama", llama_shape, llama, {{NULL, 0, NULL}}, {{NULL, 0}}, HF_WINDOWS_NONE},
    {"mistral", "llama", llama_shape, tied_0, {{NULL, 0, NULL}}, {{NULL, 0}}, HF_WINDOWS_ALL},
    {"mixtral", "llama", llama_shape, mixtral, {{NULL, 0, NULL}}, {{NULL, 0}}, HF_WINDOWS_ALL},
    {"olmo",
     "llama",
     llama_shape,
     attention_bias_tied_0,
     {{"nonparametric_norms", 1, NULL}},
     {{NULL, 0}},
     HF_WINDOWS_NONE},
    {"olmo2", "llama", llama_shape, attention_bias_tied_0, {{"qk_norm", 0, "full"}}, {{NULL, 0}}, HF_WINDOWS_NONE},
    {"olmoe", "llama", llama_shape, olmoe, {{"qk_norm", 0, "full"}}, {{NULL, 0}}, HF_WINDOWS_NONE},
    {"opt",
     "gpt",
     opt_shape,
     opt,
     {{NULL, 0, NULL}},
     {{"do_layer_norm_before", 1}, {"_remove_final_layer_norm", 0}, {"layer_norm_elementwise_affine", 1}},
     HF_WINDOWS_NONE},
    {"phi",
     "gpt",
     llama_shape,
     phi,
     {{"biases", 1, NULL}, {"head_bias", 1, NULL}, {"parallel_blocks", 1, NULL}},
     {{"qk_layernorm", 0}},
     HF_WINDOWS_NONE},
    {"phi3", "llama", llama_shape, tied_0, {{NULL, 0, NULL}}, {{NULL, 0}}, HF_WINDOWS_ALL},
    {"qwen2", "llama", llama_shape, tied_0, {{"qkv_bias", 1, NULL}}, {{NULL, 0}}, HF_WINDOWS_WHERE_ASKED},
    {"qwen2_moe",
     "llama",
     llama_shape,
     qwen2_moe,
     {{"qkv_bias", 1, NULL}, {"shared_gate", 1, NULL}},
     {{NULL, 0}},
     HF_WINDOWS_WHERE_ASKED},
    {"qwen3",
     "llama",
     llama_shape,
     attention_bias_tied_0,
     {{"qk_norm", 0, "head"}},
     {{NULL, 0}},
     HF_WINDOWS_WHERE_ASKED},
    {"qwen3_moe", "llama", llama_shape, qwen3_moe, {{"qk_norm", 0, "head"}}, {{NULL, 0}}, HF_WINDOWS_WHERE_ASKED},
    {"stablelm",
     "gpt",
     llama_shape,
     stablelm,
     {{"biases", 0, NULL}, {"gated_mlp", 1, NULL}},
     {{"qk_layernorm", 0}},
     HF_WINDOWS_NONE},
    {"starcoder2", "gpt", llama_shape, starcoder2, {{NULL, 0, NULL}}, {{NULL, 0}}, HF_WINDOWS_ALL},
};

const struct hf_type *hf_types(size_t *count)
{
    *count = sizeof types / sizeof *types;
    return types;
}

const struct hf_type *hf_type_find(const char *name)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i].name, name) == 0)
            return &types[i];
    return NULL;
}
