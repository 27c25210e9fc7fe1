#include "predict/input_table.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "predict/architecture.h"
#include "predict/input_words.h"
#include "predict/inputs.h"
#include "predict/plan.h"

#define PLACE(target, member_kind, structure, field, words)                                                            \
    {                                                                                                                  \
        target, member_kind, offsetof(struct structure, field), words                                                  \
    }
#define A(member_kind, field) PLACE(TO_ARCHITECTURE, member_kind, architecture, field, NULL)
#define P(member_kind, field) PLACE(TO_PLAN, member_kind, training_plan, field, NULL)
#define S(member_kind, field) PLACE(TO_SUBJECT, member_kind, subject, field, NULL)
#define A_WORD(field, words) PLACE(TO_ARCHITECTURE, MEMBER_WORD, architecture, field, words)
#define P_WORD(field, words) PLACE(TO_PLAN, MEMBER_WORD, training_plan, field, words)
#define OWN(words)                                                                                                     \
    {                                                                                                                  \
        TO_NOTHING, MEMBER_OWN, 0, words                                                                               \
    }

const struct input inputs[] = {
    {"family", "architecture model_type arch", OWN(family_words)},
    {"layers", "num_layers n_layers n_layer num_hidden_layers", A(MEMBER_WHOLE, layers)},
    {"hidden", "hidden_size d_model n_embd embed_dim dim", A(MEMBER_WHOLE, hidden)},
    {"heads", "num_heads n_heads n_head num_attention_heads", A(MEMBER_WHOLE, heads)},
    {"kv_heads", "num_key_value_heads n_kv_heads num_kv_heads num_query_groups", A(MEMBER_WHOLE, kv_heads)},
    {"vocab", "vocab_size n_vocab padded_vocab_size", A(MEMBER_WHOLE, vocab)},
    {"image", "image_size", A(MEMBER_WHOLE, image)},
    {"patch", "patch_size", A(MEMBER_WHOLE, patch)},
    {"gated_mlp", "swiglu gated", A(MEMBER_FLAG, gated_mlp)},
    {"rms_norm", "rmsnorm", A(MEMBER_FLAG, rms_norm)},
    {"seq",
     "seq_len sequence_length seq_length max_seq_len sequence max_seq_length sequence_len cutoff_len max_length "
     "block_size",
     P(MEMBER_WHOLE, sequence)},
    {"micro_batch",
     "mbs micro_batch_size train_micro_batch_size_per_gpu device_train_microbatch_size per_device_train_batch_size "
     "microbatch_size",
     P(MEMBER_WHOLE, micro_batch)},
    {"gradient_accumulation",
     "gradient_accumulation_steps grad_accum num_micro_batches num_microbatches accumulation_steps",
     P(MEMBER_WHOLE, micro_batches)},
    {"global_batch", "gbs global_batch_size train_batch_size global_train_batch_size", OWN(NULL)},
    {"dp", "data_parallel data_parallel_size dp_size", P(MEMBER_WHOLE, data)},
    {"recompute",
     "activation_checkpointing gradient_checkpointing recompute_granularity checkpointing remat grad_checkpoint",
     P_WORD(recompute, recompute_words)},
    {"flash_attention", "flash attention attn_implementation attn_impl attention_backend flash_attn",
     OWN(attention_words)},
    {"offload_optimizer", "offload_optimizer_device", OWN(NULL)},
    {"offload_parameters", "offload_param offload_params", OWN(NULL)},
    {"precision", "dtype", P_WORD(precision, precision_words)},
    {"weights_dtype", "torch_dtype model_dtype", P_WORD(weights, weights_words)},
    {"bf16", "", OWN(NULL)},
    {"fp16", "", OWN(NULL)},
    {"fp32", "", OWN(NULL)},
    {"tf32", "allow_tf32", OWN(NULL)},
    {"fp8", "fp8_format enable_fp8 use_fp8 enable_float8_linear", OWN(NULL)},
    {"use_distributed_optimizer", "distributed_optimizer", OWN(NULL)},
    {"recompute_modules", "", OWN(module_words)},
    {"lora_targets", "target_modules lora_target_modules lora_target", OWN(target_words)},
    {"modules_to_save", "lora_modules_to_save additional_target", OWN(saved_words)},
    {"peft", "peft_method finetuning_type adapter", P_WORD(tuning, tuning_words)},
    {"quantization", "quantize", P_WORD(quantization, quantization_words)},
    {"recompute_allgather", "tp_recompute_allgather", OWN(NULL)},
    {"chunked_loss", "", OWN(NULL)},
    {"backward_prefetch", "fsdp_backward_prefetch", OWN(NULL)},
    {"padding_mask", "", P(MEMBER_FLAG, padding_mask)},
    {"autocast", "", OWN(NULL)},
    {"packing", "pad_to_max_length pad_to_sequence_len sample_packing", OWN(NULL)},
    {"sync_each_batch", "", P(MEMBER_FLAG, syncs_each_batch)},
    {"deterministic", "deterministic_mode full_determinism use_deterministic_algorithms",
     P(MEMBER_FLAG, deterministic)},
    {"lora_rank", "lora_r init_r oft_block_size", P(MEMBER_WHOLE, lora_rank)},
    {"lora_dropout", "", P(MEMBER_FLAG, lora_dropout)},
    {"kbit_preparation", "prepare_model_for_kbit_training", P(MEMBER_FLAG, kbit_preparation)},
    {"frozen_layers", "", P(MEMBER_WHOLE, frozen_layers)},
    {"norm_kernel", "", P_WORD(norms, norm_words)},
    {"adapter_kernel", "", P_WORD(adapters, adapter_words)},
    {"expert_kernel", "experts_implementation", P_WORD(experts, expert_kernel_words)},
    {"quantization_kernel", "", P_WORD(quantized_by, quantization_kernel_words)},
    {"compiled", "torch_compile", P(MEMBER_FLAG, compiled)},
    {"cuda_graphs", "enable_cuda_graph external_cuda_graph use_cuda_graphs", P(MEMBER_FLAG, cuda_graphs)},
    {"padding_free", "", P(MEMBER_FLAG, padding_free)},
    {"narrow_loss", "", P(MEMBER_FLAG, narrow_loss)},
    {"gathered_logits", "", P(MEMBER_FLAG, gathers_logits)},
    {"held_outputs", "", P_WORD(held, held_words)},
    {"loaded_whole", "", P(MEMBER_FLAG, loaded_whole)},
    {"expandable_segments", "", P(MEMBER_FLAG, expandable_segments)},
    {"mean_tokens", "", P(MEMBER_WHOLE, mean_tokens)},
    {"packed_tokens", "", P(MEMBER_WHOLE, packed_tokens)},
    {"recompute_layers", "recompute_num_layers", P(MEMBER_WHOLE, recompute_layers)},
    {"divided_checkpoints", "distribute_saved_activations distribute_checkpointed_activations partition_activations",
     P(MEMBER_FLAG, divided_checkpoints)},
    {"recompute_every", "", P(MEMBER_WHOLE, recompute_every)},
    {"recompute_method", "", P_WORD(recompute_method, recompute_method_words)},
    {"overlap_gradients", "overlap_grad_reduce", P(MEMBER_FLAG, overlap_gradients)},
    {"overlap_parameters", "overlap_param_gather", P(MEMBER_FLAG, overlap_parameters)},
    {"overlap_tp", "tp_comm_overlap", P(MEMBER_FLAG, overlap_tensor)},
    {"overlap_ep", "overlap_moe_expert_parallel_comm", P(MEMBER_FLAG, overlap_expert)},
    {"expert_dispatcher", "moe_token_dispatcher_type", P_WORD(dispatcher, dispatcher_words)},
    {"balanced_experts", "moe_router_force_load_balancing", P(MEMBER_FLAG, balanced_experts)},
    {"bf16_layers", "", P(MEMBER_WHOLE, bf16_layers)},
    {"fp8_weights", "fp8_param_gather fp8_param fp4_param_gather", P(MEMBER_FLAG, narrow_weights)},
    {"pipeline_layout", "pipeline_model_parallel_layout", P(MEMBER_TEXT, layout)},
    {"first_stage_layers", "decoder_first_pipeline_num_layers num_layers_in_first_pipeline_stage",
     P(MEMBER_WHOLE, first_layers)},
    {"last_stage_layers", "decoder_last_pipeline_num_layers num_layers_in_last_pipeline_stage",
     P(MEMBER_WHOLE, last_layers)},
    {"account_embedding", "account_for_embedding_in_pipeline_split", P(MEMBER_FLAG, count_embedding)},
    {"account_loss", "account_for_loss_in_pipeline_split", P(MEMBER_FLAG, count_head)},
    {"loss_kernel", "cross_entropy cross_entropy_fusion_impl", P_WORD(loss, loss_words)},
    {"offload_layers", "cpu_offload_layers activation_offload_layers cpu_offloading_num_layers",
     P(MEMBER_WHOLE, offload_layers)},
    {"bucket_elements", "", P(MEMBER_WHOLE, bucket_elements)},
    {"gradient_bytes", "grad_bytes", P(MEMBER_WHOLE, gradient_bytes)},
    {"moment_bytes", "", P(MEMBER_WHOLE, moment_bytes)},
    {"q_lora_rank", "", A(MEMBER_WHOLE, q_lora_rank)},
    {"kv_lora_rank", "", A(MEMBER_WHOLE, kv_lora_rank)},
    {"qk_rope_dim", "qk_rope_head_dim qk_pos_emb_head_dim", A(MEMBER_WHOLE, qk_rope_dim)},
    {"v_head_dim", "", A(MEMBER_WHOLE, v_head_dim)},
    {"mtp_layers", "mtp_num_layers num_nextn_predict_layers", A(MEMBER_WHOLE, mtp_layers)},
    {"decoder_layers", "num_decoder_layers", A(MEMBER_WHOLE, decoder_layers)},
    {"decoder_seq", "decoder_seq_length decoder_seq_len max_target_length", P(MEMBER_WHOLE, decoder_sequence)},
    {"head_dim", "qk_head_dim qk_nope_head_dim kv_channels head_size", A(MEMBER_WHOLE, head_dim)},
    {"ffn", "ffn_hidden_size intermediate_size d_ff ffn_dim", A(MEMBER_WHOLE, ffn)},
    {"vocab_multiple", "make_vocab_size_divisible_by", A(MEMBER_WHOLE, vocab_multiple)},
    {"positions", "max_position_embeddings n_positions", A(MEMBER_WHOLE, positions)},
    {"experts", "num_experts n_experts num_local_experts num_moe_experts n_routed_experts", A(MEMBER_WHOLE, experts)},
    {"experts_per_token", "topk num_experts_per_tok moe_router_topk", A(MEMBER_WHOLE, experts_per_token)},
    {"expert_ffn", "moe_ffn_hidden_size moe_intermediate_size", A(MEMBER_WHOLE, expert_ffn)},
    {"shared_ffn", "shared_expert_intermediate_size moe_shared_expert_intermediate_size", A(MEMBER_WHOLE, shared_ffn)},
    {"dense_layers", "first_k_dense_replace", A(MEMBER_WHOLE, dense_layers)},
    {"classes", "num_classes", A(MEMBER_WHOLE, classes)},
    {"biases", "add_bias_linear", A(MEMBER_FLAG, biases)},
    {"qkv_bias", "add_qkv_bias", A(MEMBER_FLAG, qkv_bias)},
    {"attention_bias", "", A(MEMBER_FLAG, attention_bias)},
    {"mlp_bias", "", A(MEMBER_FLAG, mlp_bias)},
    {"router_bias", "", A(MEMBER_FLAG, router_bias)},
    {"head_bias", "lm_head_bias", A(MEMBER_FLAG, head_bias)},
    {"shared_gate", "", A(MEMBER_FLAG, shared_gate)},
    {"attention_sinks", "", A(MEMBER_FLAG, attention_sinks)},
    {"parallel_blocks", "parallel_attn parallel_residual use_parallel_residual", A(MEMBER_FLAG, parallel_blocks)},
    {"norms_per_layer", "", A(MEMBER_WHOLE, norms_per_layer)},
    {"nonparametric_norms", "", A(MEMBER_FLAG, nonparametric_norms)},
    {"embedding_norm", "", A(MEMBER_FLAG, embedding_norm)},
    {"sliding_window", "window_size", A(MEMBER_WHOLE, window)},
    {"attention_chunk", "attention_chunk_size", A(MEMBER_WHOLE, chunk)},
    {"window_layers", "", A(MEMBER_WHOLE, window_layers)},
    {"qk_norm", "qk_layernorm", A_WORD(qk_norm, qk_norm_words)},
    {"hybrid_pattern", "hybrid_override_pattern hybrid_layer_pattern", A(MEMBER_TEXT, hybrid_pattern)},
    {"mixer", "", A_WORD(mixer, mixer_words)},
    {"mixer_layers", "mamba_layers", A(MEMBER_WHOLE, mixer_layers)},
    {"attention_layers", "", A(MEMBER_WHOLE, attention_layers)},
    {"mlp_layers", "", A(MEMBER_WHOLE, mlp_layers)},
    {"mixer_heads", "mamba_heads mamba_num_heads mamba_n_heads linear_num_value_heads", A(MEMBER_WHOLE, mixer_heads)},
    {"mixer_head_dim", "mamba_head_dim mamba_d_head linear_value_head_dim", A(MEMBER_WHOLE, mixer_head_dim)},
    {"mixer_state", "mamba_state mamba_state_dim ssm_state_size mamba_d_state linear_key_head_dim",
     A(MEMBER_WHOLE, mixer_state)},
    {"mixer_groups", "mamba_groups mamba_num_groups mamba_n_groups linear_num_key_heads",
     A(MEMBER_WHOLE, mixer_groups)},
    {"mixer_conv", "conv_kernel mamba_d_conv linear_conv_kernel_dim", A(MEMBER_WHOLE, mixer_conv)},
    {"mixer_chunk", "mamba_chunk_size", A(MEMBER_WHOLE, mixer_chunk)},
    {"mixer_rank", "mamba_dt_rank time_step_rank", A(MEMBER_WHOLE, mixer_rank)},
    {"mixer_bias", "", A(MEMBER_FLAG, mixer_bias)},
    {"mixer_norms", "", A(MEMBER_FLAG, mixer_norms)},
    {"mixer_plain", "", A(MEMBER_FLAG, mixer_plain)},
    {"attention_gate", "", A(MEMBER_FLAG, attention_gate)},
    {"expert_latent", "moe_latent moe_latent_size", A(MEMBER_WHOLE, expert_latent)},
    {"tied_embeddings", "tie_word_embeddings", A(MEMBER_FLAG, tied_embeddings)},
    {"mlm_head", "", A(MEMBER_FLAG, mlm_head)},
    {"dropout", "", A(MEMBER_FLAG, dropout)},
    {"tp", "op mp tensor_parallel tensor_parallel_size tensor_model_parallel_size tp_size parallelism_config_tp_size",
     P(MEMBER_WHOLE, tensor)},
    {"pp", "pipeline_parallel pipeline_parallel_size pipeline_model_parallel_size pp_size", P(MEMBER_WHOLE, pipeline)},
    {"vpp",
     "virtual_stages vp_size virtual_pipeline_parallel_size virtual_pipeline_model_parallel_size num_model_chunks",
     P(MEMBER_WHOLE, virtual_stages)},
    {"cp",
     "context_parallel context_parallel_size cp_size ds_sequence_parallel_size sequence_parallel_degree "
     "parallelism_config_cp_size",
     P(MEMBER_WHOLE, context)},
    {"ep", "expert_parallel ep_size moe_expert_parallel_size expert_parallel_size expert_model_parallel_size",
     P(MEMBER_WHOLE, expert)},
    {"etp", "etp_size expert_tensor_parallel_size", P(MEMBER_WHOLE, expert_tensor)},
    {"zero_stage", "zero zero.stage zero_optimization.stage", P(MEMBER_WHOLE, zero_stage)},
    {"shard_ranks", "hsdp_shard_size", P(MEMBER_WHOLE, shard_ranks)},
    {"unit_parameters", "fsdp_min_num_params", P(MEMBER_WHOLE, unit_parameters)},
    {"unlimited_gathers", "", P(MEMBER_FLAG, unlimited_gathers)},
    {"vocab_units", "", P(MEMBER_FLAG, vocab_units)},
    {"schedule", "pipeline_schedule pp_engine pp_style pipeline_parallel_schedule", P_WORD(schedule, schedule_words)},
    {"split", "pipeline_split", P_WORD(split, split_words)},
    {"offload", "cpu_offload", P_WORD(offload, offload_words)},
    {"optimizer", "optim", P_WORD(optimizer, optimizer_words)},
    {"optimizer_kernel", "", P_WORD(optimizer_kernel, optimizer_kernel_words)},
    {"sequence_parallel", "sp enable_sequence_parallelism", P(MEMBER_FLAG, sequence_parallel)},
    {"nodes", "num_hosts num_nodes", S(MEMBER_REAL, nodes)},
    {"devices_per_node", "num_devices_per_host gpus_per_node num_gpus", S(MEMBER_REAL, devices_per_node)},
    {"link_domain", "nvlink_domain", S(MEMBER_REAL, link_domain)},
    {"device_memory", "gpu_memory", S(MEMBER_REAL, usable_bytes)},
    {"device_share", "", S(MEMBER_REAL, device_share)},
    {"server_memory", "", S(MEMBER_REAL, server_share)},
    {"power_limit", "gpu_power_limit", S(MEMBER_REAL, power_limit)},
    {"device", "gpu accelerator device_name gpu_type device_type", S(MEMBER_TEXT, device)},
    {"framework", "", S(MEMBER_TEXT, framework)},
    {"cluster", "cluster_name", S(MEMBER_TEXT, cluster)},
    {"steps", "train_steps max_steps num_steps train_iters iterations", S(MEMBER_REAL, steps)},
    {"params", "num_params parameters num_parameters", S(MEMBER_REAL, measured.parameters)},
    {"activation_memory", "activation_mem_per_gpu", S(MEMBER_REAL, measured.activation_bytes)},
    {"fwd_flops", "", S(MEMBER_REAL, measured.forward_flops)},
};
_Static_assert(sizeof inputs / sizeof *inputs == INPUT_COUNT, "one entry per input");

size_t input_find(const char *name)
{
    size_t i = 0;
    while (i < INPUT_COUNT && strcmp(inputs[i].name, name) != 0)
        i++;
    return i;
}

bool input_takes_names(size_t input)
{
    return input == AT_MODULES || input == AT_TARGETS || input == AT_SAVED;
}

size_t input_words(size_t input, const char **out, size_t most)
{
    size_t count = 0;
    for (const struct input_word *w = inputs[input].place.words; w && w->text && count < most; w++)
        out[count++] = w->text;
    return count;
}

int input_word_value(const struct input_word *words, const char *text)
{
    for (; words->text; words++)
        if (strcasecmp(words->text, text) == 0)
            return words->value;
    return -1;
}

/* Up to where a class goes on with what it is for. */
static size_t class_length(const char *text)
{
    static const char *const ends[] = {"For", "LMHead", "Model"};
    size_t length = strlen(text);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        const char *end = strstr(text, ends[i]);
        if (end && end > text && (size_t)(end - text) < length)
            length = (size_t)(end - text);
    }
    return length;
}

/* "Qwen2Moe" is "qwen2_moe". */
static bool is_type(const char *word, const char *text, size_t length)
{
    const char *end = text + length;
    for (; *word && text < end; word++) {
        if (*word == '_' && *text != '_')
            continue;
        if (tolower((unsigned char)*word) != tolower((unsigned char)*text++))
            return false;
    }
    return !*word && text == end;
}

int input_family(const char *text)
{
    size_t length = class_length(text);
    if (length == 4 && strncmp(text, "Auto", 4) == 0)
        return ARCHITECTURE_NONE;
    for (const struct input_word *w = family_words; w->text; w++)
        if (is_type(w->text, text, length))
            return w->value;
    return -1;
}

static void keep_name(char name[INPUT_NAME_MOST], const char *text, size_t length)
{
    size_t kept = length < INPUT_NAME_MOST ? length : INPUT_NAME_MOST - 1;
    memcpy(name, text, kept);
    name[kept] = '\0';
}

/* Returns where the last group of a regular expression begins behind which nothing but a suffix comes, and before which
 * others say where modules are but do not choose among layers; NULL where it is none such. */
static const char *last_group(const char *text)
{
    const char *group = NULL;
    for (; *text; text++) {
        bool is_inside = group && !memchr(group, ')', (size_t)(text - group));
        if ((*text == '(' && (is_inside || isdigit((unsigned char)text[1]))) || (*text == '|' && !is_inside))
            return NULL;
        if (*text == '(')
            group = text;
    }
    const char *end = group ? strchr(group, ')') : NULL;
    return end && end[1 + strspn(end + 1, "abcdefghijklmnopqrstuvwxyz_")] == '\0' ? group : NULL;
}

/* The next of "q|k)_proj". */
static bool next_alternative(const char **text, char name[INPUT_NAME_MOST])
{
    const char *end = strchr(*text, ')');
    size_t length = strcspn(*text, "|)"), suffix = strlen(end + 1);
    char all[2 * INPUT_NAME_MOST];
    if (length + suffix >= sizeof all)
        length = suffix = 0;
    memcpy(all, *text, length);
    memcpy(all + length, end + 1, suffix);
    keep_name(name, all, length + suffix);
    *text = (*text)[length] == '|' ? *text + length + 1 : end + 1 + suffix;
    return true;
}

/* "self_attn.q_proj" is q_proj. Other paths count, because experts have modules of the same names. */
static void drop_place(char name[INPUT_NAME_MOST])
{
    static const char *const places[] = {"self_attn.", "attn.", "attention.", "mlp."};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (strncmp(name, places[i], strlen(places[i])) == 0) {
            memmove(name, name + strlen(places[i]), strlen(name + strlen(places[i])) + 1);
            return;
        }
}

bool input_next_name(const char **text, char name[INPUT_NAME_MOST])
{
    static const char between[] = " ,+/[]\"'";
    const char *group = last_group(*text);
    if (group)
        *text = group + 1;
    if (!strchr(*text, '(') && strchr(*text, ')'))
        return next_alternative(text, name);
    *text += strspn(*text, between);
    size_t length = strcspn(*text, between);
    keep_name(name, *text, length);
    drop_place(name);
    *text += length;
    return length > 0;
}

bool input_is_of_model(size_t input)
{
    return input == AT_FAMILY || inputs[input].place.target == TO_ARCHITECTURE;
}

bool input_means_adapters(const char *text)
{
    return input_word_value(tuning_words, text) > (int)TUNING_FULL;
}
