#include "predict/input_words.h"

#include <stddef.h>

#include "predict/architecture.h"
#include "predict/plan.h"

const struct input_word family_words[] = {{"gpt", ARCHITECTURE_GPT},       {"gpt2", ARCHITECTURE_GPT},
                                          {"gpt3", ARCHITECTURE_GPT},      {"llama", ARCHITECTURE_LLAMA},
                                          {"mistral", ARCHITECTURE_LLAMA}, {"qwen", ARCHITECTURE_LLAMA},
                                          {"mixtral", ARCHITECTURE_LLAMA}, {"bert", ARCHITECTURE_BERT},
                                          {"t5", ARCHITECTURE_T5},         {"vit", ARCHITECTURE_VIT},
                                          {"hybrid", ARCHITECTURE_LLAMA},  {NULL, 0}};
const struct input_word schedule_words[] = {{"1f1b", SCHEDULE_1F1B},
                                            {"gpipe", SCHEDULE_GPIPE},
                                            {"afab", SCHEDULE_GPIPE},
                                            {"interleaved", SCHEDULE_INTERLEAVED},
                                            {"zb-h1", SCHEDULE_ZB_H1},
                                            {"zb-v", SCHEDULE_ZB_V},
                                            {"dualpipe-v", SCHEDULE_DUALPIPE_V},
                                            {NULL, 0}};
const struct input_word split_words[] = {{"uniform", SPLIT_UNIFORM}, {"by-cost", SPLIT_BY_COST}, {NULL, 0}};
const struct input_word recompute_words[] = {{"none", RECOMPUTE_NONE},
                                             {"selective", RECOMPUTE_SELECTIVE},
                                             {"selective-op", RECOMPUTE_OPERATIONS},
                                             {"full", RECOMPUTE_FULL},
                                             {NULL, 0}};
const struct input_word loss_words[] = {{"eager", LOSS_EAGER}, {"fused", LOSS_FUSED},   {"native", LOSS_FUSED},
                                        {"te", LOSS_TE},       {"linear", LOSS_LINEAR}, {NULL, 0}};
const struct input_word qk_norm_words[] = {{"none", QK_NORM_NONE},
                                           {"head", QK_NORM_HEAD},
                                           {"full", QK_NORM_FULL},
                                           {NULL, 0}};
const struct input_word mixer_words[] = {{"mamba2", MIXER_MAMBA2},
                                         {"mamba", MIXER_MAMBA},
                                         {"gated-delta", MIXER_GATED_DELTA},
                                         {"lightning", MIXER_LIGHTNING},
                                         {NULL, 0}};
const struct input_word module_words[] = {{"core_attn", MODULE_CORE_ATTN},
                                          {"layernorm", MODULE_LAYERNORM},
                                          {"mla_up_proj", MODULE_MLA_UP_PROJ},
                                          {"mlp", MODULE_MLP},
                                          {"moe_act", MODULE_MOE_ACT},
                                          {"moe", MODULE_MOE},
                                          {"shared_experts", MODULE_SHARED_EXPERTS},
                                          {NULL, 0}};
const struct input_word tuning_words[] = {{"none", TUNING_FULL}, {"full", TUNING_FULL},  {"lora", TUNING_LORA},
                                          {"dora", TUNING_DORA}, {"qlora", TUNING_LORA}, {NULL, 0}};
const struct input_word quantization_words[] = {{"none", QUANTIZATION_NONE},
                                                {"nf4", QUANTIZATION_NF4},
                                                {"bnb-nf4", QUANTIZATION_NF4},
                                                {"bnb.nf4", QUANTIZATION_NF4},
                                                {"nf4-dq", QUANTIZATION_NF4_DOUBLE},
                                                {"bnb.nf4-dq", QUANTIZATION_NF4_DOUBLE},
                                                {"gptq", QUANTIZATION_GPTQ},
                                                {"auto-gptq", QUANTIZATION_GPTQ},
                                                {"int8", QUANTIZATION_INT8},
                                                {"bnb.int8", QUANTIZATION_INT8},
                                                {NULL, 0}};
const struct input_word adapter_words[] = {{"framework", ADAPTERS_FRAMEWORK}, {"fused", ADAPTERS_FUSED}, {NULL, 0}};
const struct input_word norm_words[] = {{"framework", NORMS_FRAMEWORK}, {"fused", NORMS_FUSED}, {NULL, 0}};
/* As the models of transformers name their modules; GPT-2's two c_proj have one name. */
const struct input_word target_words[] = {{"q_proj", TARGET_Q},
                                          {"k_proj", TARGET_K},
                                          {"v_proj", TARGET_V},
                                          {"o_proj", TARGET_O},
                                          {"gate_proj", TARGET_GATE},
                                          {"up_proj", TARGET_UP},
                                          {"down_proj", TARGET_DOWN},
                                          {"lm_head", TARGET_HEAD},
                                          {"all-linear", TARGETS_OF_ATTENTION | TARGETS_OF_MLP},
                                          {"attention", TARGETS_OF_ATTENTION},
                                          {"mlp", TARGETS_OF_MLP},
                                          {"qkv_proj", TARGET_QKV},
                                          {"query_key_value", TARGET_QKV},
                                          {"c_attn", TARGET_QKV},
                                          {"Wqkv", TARGET_QKV},
                                          {"linear_qkv", TARGET_QKV},
                                          {"linear_proj", TARGET_O},
                                          {"linear_fc1", TARGET_GATE_UP},
                                          {"linear_fc2", TARGET_DOWN},
                                          {"out_proj", TARGET_O},
                                          {"dense", TARGET_O},
                                          {"c_proj", TARGET_O | TARGET_DOWN},
                                          {"c_fc", TARGET_UP},
                                          {"fc1", TARGET_UP},
                                          {"fc2", TARGET_DOWN},
                                          {"dense_h_to_4h", TARGET_UP},
                                          {"dense_4h_to_h", TARGET_DOWN},
                                          {"gate_up_proj", TARGET_GATE_UP},
                                          {"w1", TARGET_GATE},
                                          {"w2", TARGET_DOWN},
                                          {"w3", TARGET_UP},
                                          {NULL, 0}};
const struct input_word offload_words[] = {{"none", OFFLOAD_NONE},         {"optimizer", OFFLOAD_OPTIMIZER},
                                           {"cpu", OFFLOAD_OPTIMIZER},     {"parameters", OFFLOAD_PARAMETERS},
                                           {"params", OFFLOAD_PARAMETERS}, {NULL, 0}};
/* The recipes of fp8 and fp4 differ in their scales, not in the rate of their products. */
const struct input_word precision_words[] = {{"bf16", PRECISION_BF16},
                                             {"bfloat16", PRECISION_BF16},
                                             {"fp16", PRECISION_BF16},
                                             {"float16", PRECISION_BF16},
                                             {"half", PRECISION_BF16},
                                             {"amp", PRECISION_BF16},
                                             {"mixed", PRECISION_BF16},
                                             {"fp8", PRECISION_FP8},
                                             {"fp8-tensorwise", PRECISION_FP8},
                                             {"fp8-rowwise", PRECISION_FP8},
                                             {"fp8-blockwise", PRECISION_FP8},
                                             {"mxfp8", PRECISION_FP8},
                                             {"fp4", PRECISION_FP4},
                                             {"mxfp4", PRECISION_FP4},
                                             {"nvfp4", PRECISION_FP4},
                                             {"fp32", PRECISION_FP32},
                                             {"float32", PRECISION_FP32},
                                             {"tf32", PRECISION_FP32},
                                             {NULL, 0}};
const struct input_word optimizer_words[] = {{"adam", OPTIMIZER_ADAM},
                                             {"adamw", OPTIMIZER_ADAM},
                                             {"adam-8bit", OPTIMIZER_ADAM_8BIT},
                                             {"adam8bit", OPTIMIZER_ADAM_8BIT},
                                             {"lion", OPTIMIZER_LION},
                                             {"muon", OPTIMIZER_MUON},
                                             {"sgd-momentum", OPTIMIZER_SGD_MOMENTUM},
                                             {"sgd", OPTIMIZER_SGD},
                                             {NULL, 0}};
const struct input_word attention_words[] =
    {{"flash", 1}, {"flash2", 1}, {"flash_attention", 1},    {"sdpa", 1},  {"triton", 1},  {"eager", 0}, {"torch", 0},
     {"math", 0},  {"none", 0},   {"transformer_engine", 1}, {"fused", 1}, {"unfused", 0}, {"local", 0}, {NULL, 0}};
const struct input_word recompute_method_words[] = {{"block", RECOMPUTE_BLOCK},
                                                    {"uniform", RECOMPUTE_UNIFORM},
                                                    {NULL, 0}};
const struct input_word dispatcher_words[] = {{"alltoall", DISPATCH_ALL_TO_ALL}, {"allgather", DISPATCH_ALL_GATHER},
                                              {"flex", DISPATCH_ONCE},           {"deepep", DISPATCH_ONCE},
                                              {"hybridep", DISPATCH_ONCE},       {NULL, 0}};
