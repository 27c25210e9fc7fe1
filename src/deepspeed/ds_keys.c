#include "deepspeed/ds_keys.h"

#include <string.h>

#include "util/suggest.h"

const char *const ds_sections[] = {
    "train_batch_size",
    "train_micro_batch_size_per_gpu",
    "gradient_accumulation_steps",
    "optimizer",
    "scheduler",
    "communication_data_type",
    "seq_parallel_communication_data_type",
    "prescale_gradients",
    "gradient_predivide_factor",
    "gradient_allreduce_op",
    "managed_gradient_accumulation",
    "sparse_gradients",
    "disable_allgather",
    "fp32_allreduce",
    "fp16",
    "bf16",
    "bfloat16",
    "amp",
    "torch_autocast",
    "data_types",
    "gradient_clipping",
    "graph_harvesting",
    "zero_optimization",
    "zero_allow_untested_optimizer",
    "zero_force_ds_cpu_optimizer",
    "use_data_before_expert_parallelism",
    "expert_parallel",
    "tensor_parallel",
    "sequence_parallel_size",
    "pipeline",
    "compile",
    "aio",
    "steps_per_print",
    "wall_clock_breakdown",
    "dump_state",
    "memory_breakdown",
    "timers",
    "flops_profiler",
    "comms_logger",
    "tensorboard",
    "wandb",
    "csv_monitor",
    "comet",
    "activation_checkpointing",
    "sparse_attention",
    "data_efficiency",
    "data_sampling",
    "curriculum_learning",
    "progressive_layer_drop",
    "eigenvalue",
    "quantize_training",
    "compression_training",
    "weight_quantization",
    "hybrid_engine",
    "checkpoint",
    "load_universal_checkpoint",
    "nebula",
    "datastates_ckpt",
    "elasticity",
    "autotuning",
    "dataloader_drop_last",
    "log_level",
    "vocabulary_size",
    "zenflow",
    NULL,
};

const char *const ds_zero_keys[] = {
    "stage",
    "contiguous_gradients",
    "reduce_scatter",
    "reduce_bucket_size",
    "use_multi_rank_bucket_allreduce",
    "allgather_partitions",
    "allgather_bucket_size",
    "overlap_comm",
    "load_from_fp32_weights",
    "elastic_checkpoint",
    "offload_param",
    "offload_optimizer",
    "zenflow",
    "sub_group_size",
    "cpu_offload_param",
    "cpu_offload_use_pin_memory",
    "cpu_offload",
    "prefetch_bucket_size",
    "stage3_prefetch_bucket_size",
    "param_persistence_threshold",
    "stage3_param_persistence_threshold",
    "model_persistence_threshold",
    "stage3_model_persistence_threshold",
    "max_live_parameters",
    "stage3_max_live_parameters",
    "max_reuse_distance",
    "stage3_max_reuse_distance",
    "gather_16bit_weights_on_model_save",
    "stage3_gather_16bit_weights_on_model_save",
    "stage3_gather_fp16_weights_on_model_save",
    "module_granularity_threshold",
    "stage3_module_granularity_threshold",
    "use_all_reduce_for_fetch_params",
    "stage3_use_all_reduce_for_fetch_params",
    "ignore_unused_parameters",
    "legacy_stage1",
    "round_robin_gradients",
    "zero_hpz_partition_size",
    "zero_quantized_weights",
    "zero_quantized_nontrainable_weights",
    "zero_quantized_gradients",
    "zeropp_loco_param",
    "mics_shard_size",
    "mics_hierarchical_params_gather",
    "memory_efficient_linear",
    "pipeline_loading_checkpoint",
    "override_module_apply",
    "leaf_module",
    "allgather_sequential",
    "stage3_allgather_sequential",
    "log_trace_cache_warnings",
    "enable_sanity_checks",
    "save_muon_momentum_buffer_in_memory",
    NULL,
};

const char *const ds_offload_param_keys[] = {"device",     "nvme_path", "buffer_count", "buffer_size", "max_in_cpu",
                                             "pin_memory", NULL};

const char *const ds_offload_optimizer_keys[] = {
    "device", "nvme_path",     "buffer_count",       "pin_memory", "pipeline_read", "pipeline_write", "fast_init",
    "ratio",  "super_offload", "cpuadam_cores_perc", NULL,
};

static const struct {
    const char *key, *release;
} came_later[] = {
    {"mics_hierarchical_params_gather", "0.9.2"},
    {"mics_shard_size", "0.9.2"},
    {"zero_hpz_partition_size", "0.10.0"},
    {"zero_quantized_gradients", "0.10.0"},
    {"zero_quantized_weights", "0.10.0"},
    {"override_module_apply", "0.10.1"},
    {"pipeline_loading_checkpoint", "0.10.1"},
    {"zero_quantized_nontrainable_weights", "0.10.2"},
    {"ratio", "0.12.3"},
    {"use_multi_rank_bucket_allreduce", "0.12.4"},
    {"use_all_reduce_for_fetch_params", "0.14.3"},
    {"stage3_use_all_reduce_for_fetch_params", "0.14.3"},
    {"module_granularity_threshold", "0.16.0"},
    {"stage3_module_granularity_threshold", "0.16.0"},
    {"zeropp_loco_param", "0.16.2"},
    {"log_trace_cache_warnings", "0.16.4"},
    {"zenflow", "0.17.5"},
    {"enable_sanity_checks", "0.17.6"},
    {"cpuadam_cores_perc", "0.18.0"},
    {"leaf_module", "0.18.0"},
    {"super_offload", "0.18.0"},
    {"allgather_sequential", "0.18.5"},
    {"stage3_allgather_sequential", "0.18.5"},
    {"save_muon_momentum_buffer_in_memory", "0.18.9"},
};

const char *ds_key_came_with(const char *key)
{
    for (size_t i = 0; i < sizeof came_later / sizeof *came_later; i++)
        if (strcmp(came_later[i].key, key) == 0)
            return came_later[i].release;
    return NULL;
}

const char *ds_nearest_key(const char *name, const char *const *known)
{
    size_t count = 0;
    while (known[count])
        count++;
    return suggest_nearest(name, known, count);
}

bool ds_is_section_key(const char *key)
{
    size_t length = strcspn(key, ".");
    for (const char *const *s = ds_sections; *s; s++)
        if (strlen(*s) == length && strncmp(*s, key, length) == 0)
            return true;
    return false;
}

bool ds_is_list_of_rules(const char *key)
{
    return strcmp(key, "elasticity.micro_batch_sizes") == 0 || strcmp(key, "compile.passes") == 0;
}

bool ds_wants_integer(const char *key)
{
    static const char *const endings[] = {
        "_size",      "_size_per_gpu",   "_steps",          "_threshold",      "_parameters",
        "_distance",  "_count",          "_interval",       "_window",         "_power",
        "hysteresis", "steps_per_print", "stage",           "num_checkpoints", "max_in_cpu",
        "block_size", "queue_depth",     "num_checkpoints", "_gpus",           "_step",
    };
    size_t length = strlen(key);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        size_t n = strlen(endings[i]);
        if (length >= n && strcmp(key + length - n, endings[i]) == 0)
            return true;
    }
    return false;
}
