#include "predict/inputs.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "predict/input_words.h"
#include "util/memory.h"

#define WHOLE_MOST 9e15
#define LENGTH(array) (sizeof(array) / sizeof *(array))

enum target { TO_ARCHITECTURE, TO_PLAN, TO_SUBJECT, TO_NOTHING };
enum member_kind { MEMBER_WHOLE, MEMBER_FLAG, MEMBER_WORD, MEMBER_REAL, MEMBER_TEXT, MEMBER_OWN };

struct input_member {
    enum target target;
    enum member_kind member;
    size_t offset;
    const struct input_word *words;
};

enum {
    AT_FAMILY,
    AT_LAYERS,
    AT_HIDDEN,
    AT_HEADS,
    AT_KV_HEADS,
    AT_VOCAB,
    AT_IMAGE,
    AT_PATCH,
    AT_GATED,
    AT_RMS_NORM,
    AT_SEQ,
    AT_MICRO_BATCH,
    AT_GRADIENT_ACCUMULATION,
    AT_GLOBAL_BATCH,
    AT_DP,
    AT_RECOMPUTE,
    AT_FLASH,
    AT_OFFLOAD_OPTIMIZER,
    AT_OFFLOAD_PARAMETERS,
    AT_PRECISION,
    AT_BF16,
    AT_FP16,
    AT_FP32,
    AT_FP8,
    AT_DISTRIBUTED_OPTIMIZER,
    AT_MODULES,
    AT_TARGETS,
    AT_PEFT,
    AT_QUANTIZATION
};

/* The inputs that are looked at by themselves come first, in the order of the enumeration. */
const struct input inputs[] = {
    {"family", "architecture model_type arch"},
    {"layers", "num_layers n_layers n_layer num_hidden_layers"},
    {"hidden", "hidden_size d_model n_embd embed_dim dim"},
    {"heads", "num_heads n_heads n_head num_attention_heads"},
    {"kv_heads", "num_key_value_heads n_kv_heads num_kv_heads num_query_groups"},
    {"vocab", "vocab_size n_vocab padded_vocab_size"},
    {"image", "image_size"},
    {"patch", "patch_size"},
    {"gated_mlp", "swiglu gated"},
    {"rms_norm", "rmsnorm"},
    {"seq", "seq_len sequence_length seq_length max_seq_len sequence"},
    {"micro_batch", "mbs micro_batch_size train_micro_batch_size_per_gpu device_train_microbatch_size"},
    {"gradient_accumulation", "gradient_accumulation_steps grad_accum num_micro_batches accumulation_steps"},
    {"global_batch", "gbs global_batch_size train_batch_size global_train_batch_size"},
    {"dp", "data_parallel data_parallel_size dp_size"},
    {"recompute", "activation_checkpointing gradient_checkpointing recompute_granularity checkpointing remat"},
    {"flash_attention", "flash attention attn_implementation"},
    {"offload_optimizer", "offload_optimizer_device"},
    {"offload_parameters", "offload_param offload_params"},
    {"precision", "dtype"},
    {"bf16", ""},
    {"fp16", ""},
    {"fp32", ""},
    {"fp8", ""},
    {"use_distributed_optimizer", "distributed_optimizer"},
    {"recompute_modules", ""},
    {"lora_targets", "target_modules lora_target_modules"},
    {"peft", "peft_method"},
    {"quantization", "quantize"},
    {"lora_rank", "lora_r"},
    {"lora_dropout", ""},
    {"kbit_preparation", "prepare_model_for_kbit_training"},
    {"frozen_layers", ""},
    {"norm_kernel", ""},
    {"padding_free", ""},
    {"mean_tokens", ""},
    {"recompute_layers", "recompute_num_layers"},
    {"recompute_every", ""},
    {"recompute_method", ""},
    {"overlap_gradients", "overlap_grad_reduce"},
    {"overlap_parameters", "overlap_param_gather"},
    {"overlap_tp", "tp_comm_overlap"},
    {"overlap_ep", "overlap_moe_expert_parallel_comm"},
    {"expert_dispatcher", "moe_token_dispatcher_type"},
    {"pipeline_layout", "pipeline_model_parallel_layout"},
    {"first_stage_layers", "decoder_first_pipeline_num_layers num_layers_in_first_pipeline_stage"},
    {"last_stage_layers", "decoder_last_pipeline_num_layers num_layers_in_last_pipeline_stage"},
    {"account_embedding", "account_for_embedding_in_pipeline_split"},
    {"account_loss", "account_for_loss_in_pipeline_split"},
    {"loss_kernel", "cross_entropy cross_entropy_fusion_impl"},
    {"offload_layers", "cpu_offload_layers cpu_offloading_num_layers"},
    {"gradient_bytes", "grad_bytes"},
    {"moment_bytes", ""},
    {"q_lora_rank", ""},
    {"kv_lora_rank", ""},
    {"qk_rope_dim", "qk_rope_head_dim qk_pos_emb_head_dim"},
    {"v_head_dim", ""},
    {"mtp_layers", "mtp_num_layers num_nextn_predict_layers"},
    {"decoder_layers", "num_decoder_layers"},
    {"decoder_seq", "decoder_seq_length decoder_seq_len max_target_length"},
    {"head_dim", "qk_head_dim qk_nope_head_dim kv_channels head_size"},
    {"ffn", "ffn_hidden_size intermediate_size d_ff ffn_dim"},
    {"vocab_multiple", "make_vocab_size_divisible_by"},
    {"positions", "max_position_embeddings n_positions"},
    {"experts", "num_experts n_experts num_local_experts"},
    {"experts_per_token", "topk top_k num_experts_per_tok moe_router_topk"},
    {"expert_ffn", "moe_ffn_hidden_size moe_intermediate_size"},
    {"shared_ffn", "shared_expert_intermediate_size"},
    {"dense_layers", "first_k_dense_replace"},
    {"classes", "num_classes"},
    {"biases", "add_bias_linear"},
    {"qkv_bias", "add_qkv_bias"},
    {"attention_bias", ""},
    {"mlp_bias", ""},
    {"router_bias", ""},
    {"head_bias", "lm_head_bias"},
    {"shared_gate", ""},
    {"attention_sinks", ""},
    {"parallel_blocks", "parallel_attn parallel_residual use_parallel_residual"},
    {"norms_per_layer", ""},
    {"nonparametric_norms", ""},
    {"embedding_norm", ""},
    {"sliding_window", "window_size"},
    {"window_layers", ""},
    {"qk_norm", "qk_layernorm"},
    {"hybrid_pattern", "hybrid_override_pattern hybrid_layer_pattern"},
    {"mixer", ""},
    {"mixer_layers", "mamba_layers"},
    {"attention_layers", ""},
    {"mlp_layers", ""},
    {"mixer_heads", "mamba_heads mamba_num_heads mamba_n_heads linear_num_value_heads"},
    {"mixer_head_dim", "mamba_head_dim mamba_d_head linear_value_head_dim"},
    {"mixer_state", "mamba_state mamba_state_dim ssm_state_size mamba_d_state linear_key_head_dim"},
    {"mixer_groups", "mamba_groups mamba_num_groups mamba_n_groups linear_num_key_heads"},
    {"mixer_conv", "conv_kernel mamba_d_conv linear_conv_kernel_dim"},
    {"mixer_chunk", "mamba_chunk_size"},
    {"mixer_rank", "mamba_dt_rank time_step_rank"},
    {"mixer_bias", ""},
    {"mixer_norms", ""},
    {"mixer_plain", ""},
    {"attention_gate", ""},
    {"expert_latent", "moe_latent moe_latent_size"},
    {"tied_embeddings", "tie_word_embeddings"},
    {"mlm_head", ""},
    {"dropout", ""},
    {"tp", "op mp tensor_parallel tensor_parallel_size tensor_model_parallel_size tp_size"},
    {"pp", "pipeline_parallel pipeline_parallel_size pipeline_model_parallel_size pp_size"},
    {"vpp", "virtual_stages virtual_pipeline_parallel_size"},
    {"cp", "context_parallel context_parallel_size"},
    {"ep", "expert_parallel expert_parallel_size expert_model_parallel_size"},
    {"etp", "expert_tensor_parallel_size"},
    {"zero_stage", "zero zero.stage zero_optimization.stage"},
    {"shard_ranks", "hsdp_shard_size"},
    {"schedule", "pipeline_schedule pp_engine"},
    {"split", "pipeline_split"},
    {"offload", "cpu_offload"},
    {"optimizer", "optim"},
    {"sequence_parallel", "sp"},
    {"nodes", "num_hosts num_nodes"},
    {"devices_per_node", "num_devices_per_host gpus_per_node num_gpus"},
    {"link_domain", "nvlink_domain"},
    {"device_memory", "gpu_memory"},
    {"device", "gpu accelerator device_name gpu_type device_type"},
    {"framework", "backend"},
    {"cluster", "cluster_name"},
    {"steps", "train_steps max_steps num_steps train_iters iterations"},
    {"params", "num_params parameters num_parameters"},
    {"activation_memory", "activation_mem_per_gpu"},
    {"fwd_flops", ""},
};
_Static_assert(LENGTH(inputs) == INPUT_COUNT, "one entry per input");

#define A(member_kind, field)                                                                                          \
    {                                                                                                                  \
        TO_ARCHITECTURE, member_kind, offsetof(struct architecture, field), NULL                                       \
    }
#define P(member_kind, field)                                                                                          \
    {                                                                                                                  \
        TO_PLAN, member_kind, offsetof(struct training_plan, field), NULL                                              \
    }
#define S(member_kind, field)                                                                                          \
    {                                                                                                                  \
        TO_SUBJECT, member_kind, offsetof(struct subject, field), NULL                                                 \
    }
#define OWN                                                                                                            \
    {                                                                                                                  \
        TO_NOTHING, MEMBER_OWN, 0, NULL                                                                                \
    }

/* Where each goes; OWN: set_own() knows. */
static const struct input_member places[INPUT_COUNT] =
    {OWN,
     A(MEMBER_WHOLE, layers),
     A(MEMBER_WHOLE, hidden),
     A(MEMBER_WHOLE, heads),
     A(MEMBER_WHOLE, kv_heads),
     A(MEMBER_WHOLE, vocab),
     A(MEMBER_WHOLE, image),
     A(MEMBER_WHOLE, patch),
     A(MEMBER_FLAG, gated_mlp),
     A(MEMBER_FLAG, rms_norm),
     P(MEMBER_WHOLE, sequence),
     P(MEMBER_WHOLE, micro_batch),
     P(MEMBER_WHOLE, micro_batches),
     OWN,
     P(MEMBER_WHOLE, data),
     {TO_PLAN, MEMBER_WORD, offsetof(struct training_plan, recompute), recompute_words},
     OWN,
     OWN,
     OWN,
     {TO_PLAN, MEMBER_WORD, offsetof(struct training_plan, precision), precision_words},
     OWN,
     OWN,
     OWN,
     OWN,
     OWN,
     OWN,
     OWN,
     {TO_PLAN, MEMBER_WORD, offsetof(struct training_plan, tuning), tuning_words},
     {TO_PLAN, MEMBER_WORD, offsetof(struct training_plan, quantization), quantization_words},
     P(MEMBER_WHOLE, lora_rank),
     P(MEMBER_FLAG, lora_dropout),
     P(MEMBER_FLAG, kbit_preparation),
     P(MEMBER_WHOLE, frozen_layers),
     {TO_PLAN, MEMBER_WORD, offsetof(struct training_plan, norms), norm_words},
     P(MEMBER_FLAG, padding_free),
     P(MEMBER_WHOLE, mean_tokens),
     P(MEMBER_WHOLE, recompute_layers),
     P(MEMBER_WHOLE, recompute_every),
     {TO_PLAN, MEMBER_WORD, offsetof(struct training_plan, recompute_method), recompute_method_words},
     P(MEMBER_FLAG, overlap_gradients),
     P(MEMBER_FLAG, overlap_parameters),
     P(MEMBER_FLAG, overlap_tensor),
     P(MEMBER_FLAG, overlap_expert),
     {TO_PLAN, MEMBER_WORD, offsetof(struct training_plan, dispatcher), dispatcher_words},
     {TO_PLAN, MEMBER_TEXT, offsetof(struct training_plan, layout), NULL},
     P(MEMBER_WHOLE, first_layers),
     P(MEMBER_WHOLE, last_layers),
     P(MEMBER_FLAG, count_embedding),
     P(MEMBER_FLAG, count_head),
     {TO_PLAN, MEMBER_WORD, offsetof(struct training_plan, loss), loss_words},
     P(MEMBER_WHOLE, offload_layers),
     P(MEMBER_WHOLE, gradient_bytes),
     P(MEMBER_WHOLE, moment_bytes),
     A(MEMBER_WHOLE, q_lora_rank),
     A(MEMBER_WHOLE, kv_lora_rank),
     A(MEMBER_WHOLE, qk_rope_dim),
     A(MEMBER_WHOLE, v_head_dim),
     A(MEMBER_WHOLE, mtp_layers),
     A(MEMBER_WHOLE, decoder_layers),
     P(MEMBER_WHOLE, decoder_sequence),
     A(MEMBER_WHOLE, head_dim),
     A(MEMBER_WHOLE, ffn),
     A(MEMBER_WHOLE, vocab_multiple),
     A(MEMBER_WHOLE, positions),
     A(MEMBER_WHOLE, experts),
     A(MEMBER_WHOLE, experts_per_token),
     A(MEMBER_WHOLE, expert_ffn),
     A(MEMBER_WHOLE, shared_ffn),
     A(MEMBER_WHOLE, dense_layers),
     A(MEMBER_WHOLE, classes),
     A(MEMBER_FLAG, biases),
     A(MEMBER_FLAG, qkv_bias),
     A(MEMBER_FLAG, attention_bias),
     A(MEMBER_FLAG, mlp_bias),
     A(MEMBER_FLAG, router_bias),
     A(MEMBER_FLAG, head_bias),
     A(MEMBER_FLAG, shared_gate),
     A(MEMBER_FLAG, attention_sinks),
     A(MEMBER_FLAG, parallel_blocks),
     A(MEMBER_WHOLE, norms_per_layer),
     A(MEMBER_FLAG, nonparametric_norms),
     A(MEMBER_FLAG, embedding_norm),
     A(MEMBER_WHOLE, window),
     A(MEMBER_WHOLE, window_layers),
     {TO_ARCHITECTURE, MEMBER_WORD, offsetof(struct architecture, qk_norm), qk_norm_words},
     {TO_ARCHITECTURE, MEMBER_TEXT, offsetof(struct architecture, hybrid_pattern), NULL},
     {TO_ARCHITECTURE, MEMBER_WORD, offsetof(struct architecture, mixer), mixer_words},
     A(MEMBER_WHOLE, mixer_layers),
     A(MEMBER_WHOLE, attention_layers),
     A(MEMBER_WHOLE, mlp_layers),
     A(MEMBER_WHOLE, mixer_heads),
     A(MEMBER_WHOLE, mixer_head_dim),
     A(MEMBER_WHOLE, mixer_state),
     A(MEMBER_WHOLE, mixer_groups),
     A(MEMBER_WHOLE, mixer_conv),
     A(MEMBER_WHOLE, mixer_chunk),
     A(MEMBER_WHOLE, mixer_rank),
     A(MEMBER_FLAG, mixer_bias),
     A(MEMBER_FLAG, mixer_norms),
     A(MEMBER_FLAG, mixer_plain),
     A(MEMBER_FLAG, attention_gate),
     A(MEMBER_WHOLE, expert_latent),
     A(MEMBER_FLAG, tied_embeddings),
     A(MEMBER_FLAG, mlm_head),
     A(MEMBER_FLAG, dropout),
     P(MEMBER_WHOLE, tensor),
     P(MEMBER_WHOLE, pipeline),
     P(MEMBER_WHOLE, virtual_stages),
     P(MEMBER_WHOLE, context),
     P(MEMBER_WHOLE, expert),
     P(MEMBER_WHOLE, expert_tensor),
     P(MEMBER_WHOLE, zero_stage),
     P(MEMBER_WHOLE, shard_ranks),
     {TO_PLAN, MEMBER_WORD, offsetof(struct training_plan, schedule), schedule_words},
     {TO_PLAN, MEMBER_WORD, offsetof(struct training_plan, split), split_words},
     {TO_PLAN, MEMBER_WORD, offsetof(struct training_plan, offload), offload_words},
     {TO_PLAN, MEMBER_WORD, offsetof(struct training_plan, optimizer), optimizer_words},
     P(MEMBER_FLAG, sequence_parallel),
     S(MEMBER_REAL, nodes),
     S(MEMBER_REAL, devices_per_node),
     S(MEMBER_REAL, link_domain),
     S(MEMBER_REAL, usable_bytes),
     S(MEMBER_TEXT, device),
     S(MEMBER_TEXT, framework),
     S(MEMBER_TEXT, cluster),
     S(MEMBER_REAL, steps),
     S(MEMBER_REAL, measured.parameters),
     S(MEMBER_REAL, measured.activation_bytes),
     S(MEMBER_REAL, measured.forward_flops)};

size_t input_find(const char *name)
{
    size_t i = 0;
    while (i < INPUT_COUNT && strcmp(inputs[i].name, name) != 0)
        i++;
    return i;
}

static const struct input_word *words_of(size_t input)
{
    if (input == AT_FAMILY)
        return family_words;
    const struct input_word *lists[] =
        {[AT_FLASH] = attention_words, [AT_MODULES] = module_words, [AT_TARGETS] = target_words};
    return input < LENGTH(lists) && lists[input] ? lists[input] : places[input].words;
}

bool input_takes_names(size_t input)
{
    return input == AT_MODULES || input == AT_TARGETS;
}

size_t input_words(size_t input, const char **out, size_t most)
{
    size_t count = 0;
    for (const struct input_word *w = words_of(input); w && w->text && count < most; w++)
        out[count++] = w->text;
    return count;
}

/* The last inputs. */
enum { AT_PARAMS = INPUT_COUNT - 3, AT_ACTIVATION_MEMORY };

void inputs_add_missing(const bool *present, struct buffer *out)
{
    static const size_t needed[] = {AT_LAYERS, AT_HIDDEN, AT_HEADS, AT_VOCAB, AT_SEQ};
    static const size_t image[] = {AT_LAYERS, AT_HIDDEN, AT_HEADS, AT_IMAGE, AT_PATCH};
    const size_t *list = present[AT_IMAGE] ? image : needed;
    size_t before = out->length;
    bool is_measured = present[AT_PARAMS] && present[AT_ACTIVATION_MEMORY];
    for (size_t i = 0; !is_measured && i < LENGTH(needed); i++)
        if (!present[list[i]])
            buffer_printf(out, "%s%s", out->length > before ? ", " : "", inputs[list[i]].name);
    if (!present[AT_MICRO_BATCH] && !present[AT_GLOBAL_BATCH])
        buffer_printf(out, "%smicro_batch", out->length > before ? ", " : "");
}

static int word_value(const struct input_word *words, const char *text)
{
    for (; words->text; words++)
        if (strcasecmp(words->text, text) == 0)
            return words->value;
    return -1;
}

static int refuse(size_t i, const struct input_value *v, struct error *e)
{
    if (v->kind == INPUT_TEXT)
        return error_set(e, ERROR_USAGE, "%s = '%s' says nothing to the predictor", inputs[i].name, v->text);
    return error_set(e, ERROR_USAGE, "%s = %g says nothing to the predictor", inputs[i].name, v->number);
}

static bool is_whole(const struct input_value *v)
{
    return v->kind == INPUT_NUMBER && v->number == floor(v->number) && fabs(v->number) < WHOLE_MOST;
}

/* true and "true" are the strongest of the words for recomputing, the plain one for others. */
static int enumerator_of(size_t i, const struct input_value *v)
{
    if (v->kind == INPUT_TEXT)
        return word_value(places[i].words, v->text);
    if (v->number == 0)
        return 0;
    return v->number == 1 ? (i == AT_RECOMPUTE ? (int)RECOMPUTE_FULL : 1) : -1;
}

static int set(size_t i, const struct input_value *v, struct subject *s, struct error *e)
{
    const struct input_member *p = &places[i];
    char *bases[] =
        {[TO_ARCHITECTURE] = (char *)&s->architecture, [TO_PLAN] = (char *)&s->plan, [TO_SUBJECT] = (char *)s};
    if (p->member == MEMBER_OWN)
        return 0;
    char *at = bases[p->target] + p->offset;
    int enumerator = p->member == MEMBER_WORD ? enumerator_of(i, v) : 0;
    bool wrong = (p->member == MEMBER_WHOLE && !is_whole(v)) || enumerator < 0 ||
                 (p->member == MEMBER_TEXT) != (v->kind == INPUT_TEXT && p->member != MEMBER_WORD) ||
                 (p->member == MEMBER_REAL && !(v->number > 0 && isfinite(v->number)));
    if (wrong)
        return refuse(i, v, e);
    int64_t whole = p->member == MEMBER_WHOLE ? (int64_t)v->number : 0;
    bool flag = v->number != 0;
    switch (p->member) {
    case MEMBER_WHOLE:
        memcpy(at, &whole, sizeof whole);
        break;
    case MEMBER_FLAG:
        memcpy(at, &flag, sizeof flag);
        break;
    case MEMBER_WORD:
        memcpy(at, &enumerator, sizeof enumerator);
        break;
    case MEMBER_REAL:
        memcpy(at, &v->number, sizeof v->number);
        break;
    case MEMBER_TEXT:
        memcpy(at, &v->text, sizeof v->text);
        break;
    case MEMBER_OWN:
        break;
    }
    return 0;
}

static enum architecture_family family_of(const struct input_value *values)
{
    const struct input_value *v = &values[AT_FAMILY];
    if (v->kind == INPUT_TEXT) {
        int family = word_value(family_words, v->text);
        return family < 0 ? ARCHITECTURE_NONE : (enum architecture_family)family;
    }
    if (values[AT_IMAGE].kind)
        return ARCHITECTURE_VIT;
    bool llama = values[AT_KV_HEADS].kind || (values[AT_GATED].kind && values[AT_GATED].number != 0) ||
                 (values[AT_RMS_NORM].kind && values[AT_RMS_NORM].number != 0);
    return llama ? ARCHITECTURE_LLAMA : ARCHITECTURE_GPT;
}

/* "hybrid" says that there are mixers, but not which layers they are. */
static int check_hybrid(const struct input_value *values, const struct subject *s, struct error *e)
{
    const struct input_value *v = &values[AT_FAMILY];
    bool says = v->kind == INPUT_TEXT && strcasecmp(v->text, "hybrid") == 0;
    if (says && !architecture_is_hybrid(&s->architecture))
        return error_set(e, ERROR_USAGE, "family = 'hybrid' wants hybrid_pattern or mixer_layers");
    return 0;
}

static bool is_on(const struct input_value *v)
{
    if (v->kind == INPUT_TEXT)
        return strcasecmp(v->text, "none") != 0 && strcasecmp(v->text, "false") != 0;
    return v->kind == INPUT_NUMBER && v->number != 0;
}

bool input_next_name(const char **text, char name[INPUT_NAME_MOST])
{
    static const char between[] = " ,+[]\"'";
    *text += strspn(*text, between);
    size_t length = strcspn(*text, between), kept = length < INPUT_NAME_MOST ? length : INPUT_NAME_MOST - 1;
    memcpy(name, *text, kept);
    name[kept] = '\0';
    *text += length;
    return length > 0;
}

/* "core_attn mlp" as bits of what `words` has. */
static int set_names(const struct input_value *values, size_t input, const struct input_word *words, unsigned *out,
                     struct error *e)
{
    const struct input_value *v = &values[input];
    const char *at = v->kind == INPUT_TEXT ? v->text : "";
    char name[INPUT_NAME_MOST];
    while (input_next_name(&at, name)) {
        int bits = word_value(words, name);
        if (bits < 0)
            return refuse(input, v, e);
        *out |= (unsigned)bits;
    }
    return 0;
}

bool input_means_adapters(const char *text)
{
    return word_value(tuning_words, text) > (int)TUNING_FULL;
}

/* QLoRA is LoRA over weights in nf4, unless it is said what else they are in. */
static int set_adapters(const struct input_value *values, struct subject *s, struct error *e)
{
    const struct input_value *peft = &values[AT_PEFT];
    if (peft->kind == INPUT_TEXT && strcasecmp(peft->text, "qlora") == 0 && !values[AT_QUANTIZATION].kind)
        s->plan.quantization = QUANTIZATION_NF4;
    return set_names(values, AT_TARGETS, target_words, &s->plan.lora_targets, e);
}

/* Inputs that several names say in different ways. */
static int set_own(const struct input_value *values, struct subject *s, struct error *e)
{
    const struct input_value *flash = &values[AT_FLASH];
    int attention = flash->kind == INPUT_TEXT ? word_value(attention_words, flash->text) : 1;
    if (attention < 0)
        return refuse(AT_FLASH, flash, e);
    s->plan.flash_attention = flash->kind == INPUT_NUMBER ? flash->number != 0 : attention > 0;
    if (set_names(values, AT_MODULES, module_words, &s->plan.modules, e) < 0 || set_adapters(values, s, e) < 0)
        return -1;
    if (is_on(&values[AT_OFFLOAD_OPTIMIZER]))
        s->plan.offload = OFFLOAD_OPTIMIZER;
    if (is_on(&values[AT_OFFLOAD_PARAMETERS]))
        s->plan.offload = OFFLOAD_PARAMETERS;
    bool says_half = values[AT_BF16].kind || values[AT_FP16].kind;
    if (says_half && !values[AT_PRECISION].kind && !is_on(&values[AT_BF16]) && !is_on(&values[AT_FP16]))
        s->plan.precision = PRECISION_FP32;
    if (is_on(&values[AT_FP32]))
        s->plan.precision = PRECISION_FP32;
    if (is_on(&values[AT_FP8]))
        s->plan.precision = PRECISION_FP8;
    if (is_on(&values[AT_DISTRIBUTED_OPTIMIZER]) && s->plan.zero_stage == 0)
        s->plan.zero_stage = 1;
    if (s->plan.virtual_stages > 1)
        s->plan.schedule = SCHEDULE_INTERLEAVED;
    return 0;
}

static double at_least_one(int64_t n)
{
    return n > 0 ? (double)n : 1;
}

static int divide(double all, double by, const char *what, int64_t *out, struct error *e)
{
    if (!(all >= by && fmod(all, by) == 0 && all / by < WHOLE_MOST))
        return error_set(e, ERROR_USAGE, "%s: %g does not divide into %g", what, by, all);
    *out = (int64_t)(all / by);
    return 0;
}

static int set_batch(const struct input_value *values, struct subject *s, struct error *e)
{
    struct training_plan *p = &s->plan;
    double model = at_least_one(p->tensor) * at_least_one(p->pipeline) * at_least_one(p->context);
    if (!values[AT_DP].kind && divide(s->nodes * s->devices_per_node, model, "dp", &p->data, e) < 0)
        return -1;
    const struct input_value *global = &values[AT_GLOBAL_BATCH];
    if (!global->kind)
        return 0;
    if (!is_whole(global))
        return refuse(AT_GLOBAL_BATCH, global, e);
    double data = at_least_one(p->data);
    if (!p->micro_batches && p->micro_batch)
        return divide(global->number, (double)p->micro_batch * data, "gradient_accumulation", &p->micro_batches, e);
    if (!p->micro_batch)
        return divide(global->number, data * at_least_one(p->micro_batches), "micro_batch", &p->micro_batch, e);
    return 0;
}

static bool has_architecture(const bool *present)
{
    bool is_image = present[AT_IMAGE] && present[AT_PATCH];
    return present[AT_LAYERS] && present[AT_HIDDEN] && present[AT_HEADS] &&
           (is_image || (present[AT_VOCAB] && present[AT_SEQ]));
}

/* The least architecture that the plan's stages can be cut from. */
static void stand_in(struct subject *s)
{
    int64_t stages = s->plan.pipeline > 1 ? s->plan.pipeline : 1;
    s->architecture = architecture_of(ARCHITECTURE_GPT);
    s->architecture.layers = stages * (s->plan.virtual_stages > 1 ? s->plan.virtual_stages : 1);
    s->architecture.hidden = s->architecture.heads = s->architecture.vocab = 1;
    s->plan.sequence = 1;
}

int inputs_decode(const struct input_value *values, struct subject *out, struct error *e)
{
    struct subject s;
    struct buffer missing = BUFFER_INIT;
    bool present[INPUT_COUNT];
    memset(&s, 0, sizeof s);
    s.nodes = s.devices_per_node = 1;
    for (size_t i = 0; i < INPUT_COUNT; i++)
        present[i] = values[i].kind != INPUT_ABSENT;
    inputs_add_missing(present, &missing);
    int rc = missing.length ? error_set(e, ERROR_USAGE, "missing: %s", buffer_text(&missing)) : 0;
    buffer_free(&missing);
    if (rc < 0)
        return -1;
    s.says_recompute = present[AT_RECOMPUTE];
    s.architecture = architecture_of(family_of(values));
    s.is_measured = !has_architecture(present);
    for (size_t i = 0; i < (s.is_measured ? INPUT_COUNT : AT_PARAMS); i++)
        if (present[i] && set(i, &values[i], &s, e) < 0)
            return -1;
    if (s.is_measured)
        stand_in(&s);
    if (check_hybrid(values, &s, e) < 0 || set_own(values, &s, e) < 0 || set_batch(values, &s, e) < 0 ||
        architecture_complete(&s.architecture, e) < 0 || plan_complete(&s.plan, &s.architecture, e) < 0)
        return -1;
    *out = s;
    return 0;
}
