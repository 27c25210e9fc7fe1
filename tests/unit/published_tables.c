#include "published_tables.h"

#include "unit_test.h"
#include "util/parse.h"

#define FROM(name, from)                                                                                               \
    {                                                                                                                  \
        .input = name, .column = from                                                                                  \
    }
#define COLUMN(name) FROM(name, name)
#define ALWAYS(name, value)                                                                                            \
    {                                                                                                                  \
        .input = name, .constant = value                                                                               \
    }
#define WHERE(name, value, ...)                                                                                        \
    {                                                                                                                  \
        .input = name, .constant = value, .when = { __VA_ARGS__ }                                                      \
    }
#define END                                                                                                            \
    {                                                                                                                  \
        .input = NULL                                                                                                  \
    }

/* The names that most tables share. */
#define SHAPE COLUMN("layers"), COLUMN("hidden"), COLUMN("heads")
#define BATCHES FROM("micro_batch", "mbs"), FROM("gradient_accumulation", "grad_acc")
#define DEGREES COLUMN("tp"), COLUMN("pp"), COLUMN("dp")

static const struct given golden[] =
    {FROM("family", "model_family"), SHAPE, COLUMN("kv_heads"), COLUMN("head_dim"), COLUMN("ffn"), COLUMN("gated_mlp"),
     COLUMN("biases"), COLUMN("qkv_bias"), COLUMN("rms_norm"), COLUMN("qk_norm"), COLUMN("tied_embeddings"),
     COLUMN("positions"), FROM("dropout", "attention_dropout"), /* hidden_dropout is the same in each row */
     COLUMN("vocab"), COLUMN("vocab_multiple"), COLUMN("seq"), COLUMN("decoder_seq"), COLUMN("experts"),
     FROM("experts_per_token", "topk"), FROM("expert_ffn", "moe_ffn"), COLUMN("shared_ffn"), COLUMN("dense_layers"),
     COLUMN("micro_batch"), FROM("gradient_accumulation", "micro_batches"), COLUMN("tp"), COLUMN("pp"), COLUMN("vpp"),
     COLUMN("cp"), COLUMN("ep"), COLUMN("etp"), COLUMN("dp"), COLUMN("sequence_parallel"),
     FROM("use_distributed_optimizer", "distributed_optimizer"), COLUMN("recompute"), COLUMN("precision"),
     FROM("fp8_weights", "fp8_param_gather"), COLUMN("device"), COLUMN("nodes"), COLUMN("devices_per_node"),
     COLUMN("q_lora_rank"), COLUMN("kv_lora_rank"), FROM("head_dim", "qk_head_dim"), COLUMN("qk_rope_dim"),
     COLUMN("v_head_dim"), COLUMN("mtp_layers"), COLUMN("account_embedding"), COLUMN("account_loss"),
     COLUMN("recompute_modules"), FROM("gradient_bytes", "grad_bytes"), COLUMN("first_stage_layers"),
     COLUMN("last_stage_layers"), COLUMN("pipeline_layout"), FROM("flash_attention", "transformer_impl"),
     FROM("flash_attention", "attention_backend"),
     /* TransformerEngine attention/dot_product_attention/utils.py, get_attention_backend: deterministic kernels are
     * neither cuDNN's before compute capability 9.0 nor those of flash-attn before 2.4.1. The container of the older
     * release had no newer one until docker/.ngc_version.lts of Megatron-LM took another, on 6 November 2025. */
     WHERE("flash_attention", "unfused", "attention_backend", "auto", "deterministic", "1", "environment", "lts",
           "device", "A100-80GB", "golden_date", "<2025-11-06"),
     COLUMN("optimizer"), FROM("loss_kernel", "cross_entropy_impl"), FROM("expert_dispatcher", "dispatcher"),
     COLUMN("hybrid_pattern"), FROM("mixer_heads", "mamba_heads"), FROM("mixer_state", "mamba_state"),
     FROM("mixer_head_dim", "mamba_head_dim"), FROM("mixer_groups", "mamba_groups"),
     FROM("expert_latent", "moe_latent"), END};

static const struct given bridge[] =
    {COLUMN("family"), SHAPE, COLUMN("kv_heads"), COLUMN("head_dim"), COLUMN("ffn"), COLUMN("gated_mlp"),
     COLUMN("rms_norm"), COLUMN("tied_embeddings"), COLUMN("vocab"), COLUMN("vocab_multiple"), COLUMN("seq"),
     COLUMN("experts"), FROM("experts_per_token", "topk"), FROM("expert_ffn", "moe_ffn"), COLUMN("shared_ffn"),
     COLUMN("dense_layers"), COLUMN("micro_batch"), FROM("gradient_accumulation", "micro_batches"), COLUMN("tp"),
     COLUMN("pp"), COLUMN("vpp"), COLUMN("cp"), COLUMN("ep"), COLUMN("etp"), COLUMN("dp"), COLUMN("zero_stage"),
     COLUMN("sequence_parallel"), COLUMN("recompute"), COLUMN("precision"), COLUMN("device"), COLUMN("nodes"),
     COLUMN("devices_per_node"), COLUMN("q_lora_rank"), COLUMN("kv_lora_rank"), FROM("head_dim", "qk_head_dim"),
     COLUMN("qk_rope_dim"), COLUMN("v_head_dim"), COLUMN("mtp_layers"), COLUMN("account_embedding"),
     COLUMN("account_loss"), COLUMN("recompute_modules"), FROM("gradient_bytes", "grad_bytes"), COLUMN("moment_bytes"),
     FROM("offload_layers", "cpu_offload_layers"), FROM("recompute_layers", "recompute_num_layers"),
     COLUMN("recompute_method"), FROM("expert_dispatcher", "dispatcher"),
     /* training/flex_dispatcher_backend.py: a backend makes it flex, whatever a recipe had before */
     WHERE("expert_dispatcher", "flex", "dispatcher_backend", "hybridep"),
     WHERE("expert_dispatcher", "flex", "dispatcher_backend", "deepep"), WHERE("overlap_ep", "1", "ep_overlap", "1"),
     /* recipes of perf_recipes: moe_router_force_load_balancing; nemotron_3_super_bf16_with_nvfp4_mixed */
     ALWAYS("balanced_experts", "1"),
     WHERE("bf16_layers", "14", "model", "Nemotron-3-Super", "precision_label", "NVFP4"),
     /* training/comm_overlap.py: both, with more than one data-parallel rank; peft/lora.py: all linear layers */
     ALWAYS("overlap_gradients", "1"), ALWAYS("overlap_parameters", "1"), WHERE("peft", "lora", "task", "lora"),
     WHERE("lora_rank", "32", "task", "lora"),
     WHERE("lora_targets", "linear_qkv linear_proj linear_fc1 linear_fc2", "task", "lora"),
     /* perf_recipes/llama: offline_packing_specs; recipes/utils/finetune_utils.py: SQuAD, with paragraphs of 117 words
     * and questions of 10 */
     WHERE("packed_tokens", "200", "task", "lora"), WHERE("packed_tokens", "200", "task", "sft"),
     /* perf_recipes/llama: recipes of 70B overlap tensor parallelism, but those in NVFP4 */
     WHERE("overlap_tp", "1", "model", "Llama-3-70B"), WHERE("overlap_tp", "0", "precision_label", "NVFP4"),
     FROM("link_domain", "nvlink_domain"), COLUMN("hybrid_pattern"), FROM("mixer_heads", "mamba_heads"),
     FROM("mixer_state", "mamba_state"), FROM("mixer_head_dim", "mamba_head_dim"), FROM("mixer_groups", "mamba_groups"),
     FROM("expert_latent", "moe_latent"), END};

static const struct given bigscience[] =
    {SHAPE, COLUMN("vocab"), ALWAYS("vocab_multiple", "128"), COLUMN("seq"), BATCHES, DEGREES, COLUMN("zero_stage"),
     /* DeepSpeed runtime/bf16_optimizer.py: fp32_groups_gradients, whole, beside those in bf16, which
     * runtime/pipe/engine.py does not clear (clear_lp_grads=False) */
     WHERE("gradient_bytes", "6", "precision", "bf16-fp32-gradients"), ALWAYS("recompute", "full"),
     ALWAYS("flash_attention", "0"), ALWAYS("device", "A100-80GB"), COLUMN("nodes"), ALWAYS("devices_per_node", "8"),
     END};

static const struct given internevo[] = {
    ALWAYS("family", "llama"),
    SHAPE,
    COLUMN("ffn"),
    COLUMN("vocab"),
    COLUMN("seq"),
    BATCHES,
    DEGREES,
    COLUMN("zero_stage"),
    COLUMN("recompute"),
    ALWAYS("device", "A100-80GB"),
    ALWAYS("devices_per_node", "8"),
    END,
};

static const struct given internevo_time[] = {
    ALWAYS("family", "llama"),
    SHAPE,
    COLUMN("ffn"),
    COLUMN("vocab"),
    COLUMN("seq"),
    BATCHES,
    DEGREES,
    ALWAYS("zero_stage", "1"),
    COLUMN("shard_ranks"),
    COLUMN("recompute"),
    ALWAYS("device", "A100-80GB"),
    ALWAYS("devices_per_node", "8"),
    END,
};

static const struct given torchtitan[] = {
    ALWAYS("family", "llama"),
    SHAPE,
    COLUMN("kv_heads"),
    COLUMN("ffn"),
    COLUMN("vocab"),
    COLUMN("seq"),
    BATCHES,
    COLUMN("tp"),
    COLUMN("pp"),
    COLUMN("cp"),
    COLUMN("dp"),
    ALWAYS("zero_stage", "3"),
    COLUMN("recompute"),
    ALWAYS("sequence_parallel", "1"),
    ALWAYS("chunked_loss", "0"), /* both of its benchmarks are older */
    FROM("compiled", "compile"),
    COLUMN("fp8"),
    COLUMN("device"),
    ALWAYS("devices_per_node", "8"),
    END,
};

/* The Trainer of its time steps by lists of tensors. */
#define FMS                                                                                                            \
    COLUMN("family"), COLUMN("layers"), COLUMN("hidden"), COLUMN("heads"), COLUMN("kv_heads"), COLUMN("ffn"),          \
        COLUMN("vocab"), FROM("tied_embeddings", "tied"), COLUMN("experts"), FROM("experts_per_token", "topk"),        \
        COLUMN("seq"), FROM("micro_batch", "mbs"), FROM("gradient_accumulation", "grad_acc"), FROM("dp", "gpus"),      \
        ALWAYS("zero_stage", "3"), ALWAYS("recompute", "full"), ALWAYS("device", "A100-80GB"),                         \
        FROM("devices_per_node", "gpus"), ALWAYS("optimizer_kernel", "foreach"),                                       \
        ALWAYS("packing", "1") /* scripts/benchmarks/benchmark.py, packing_matrix */
#define FUSED ALWAYS("loss_kernel", "fused"), ALWAYS("norm_kernel", "fused")
static const struct given fms[] = {FMS, END};
static const struct given fms_fused[] = {FMS, FUSED, END};

static const struct given ultrascale[] = {
    ALWAYS("family", "llama"),
    FROM("layers", "n_layers"),
    COLUMN("hidden"),
    FROM("heads", "n_heads"),
    FROM("kv_heads", "n_kv_heads"),
    COLUMN("ffn"),
    COLUMN("vocab"),
    FROM("tied_embeddings", "tied_emb"),
    FROM("seq", "seq_len"),
    BATCHES,
    DEGREES,
    FROM("zero_stage", "zero"),
    ALWAYS("split", "by-cost"),
    ALWAYS("sequence_parallel", "1"),
    ALWAYS("device", "H100"),
    ALWAYS("devices_per_node", "8"),
    END,
};

static const struct given vtrain[] =
    {FROM("layers", "n_layers"), COLUMN("hidden"), FROM("heads", "n_heads"), ALWAYS("vocab", "50257"),
     ALWAYS("vocab_multiple", "128"), FROM("seq", "seq_len"), BATCHES, DEGREES,
     /* Megatron-DeepSpeed, with the fused softmax that vTrain's own model has (data/README.md, src/model) */
     ALWAYS("recompute", "full"), ALWAYS("flash_attention", "0"), ALWAYS("device", "A100-80GB"),
     ALWAYS("devices_per_node", "8"), END};

static const struct given dlperf[] =
    {FROM("layers", "n_layers"), COLUMN("hidden"), FROM("heads", "n_heads"), ALWAYS("vocab", "50257"),
     ALWAYS("vocab_multiple", "128"), FROM("seq", "seq_len"), BATCHES, DEGREES,
     /* Megatron-LM/scripts: --checkpoint-activations --fp16, which adds up and reduces in fp16 */
     ALWAYS("precision", "fp16"), ALWAYS("recompute", "full"), ALWAYS("gradient_bytes", "2"),
     ALWAYS("flash_attention", "0"), ALWAYS("device", "V100-16GB"), ALWAYS("devices_per_node", "8"), END};

/* llm-foundry models/mpt, scripts/train/yamls/pretrain: no biases, no dropout, flash-attn's loss. Composer's DEFAULT
 * reduces gradients in fp32. */
#define MPT(size, l, h, n)                                                                                             \
    WHERE("layers", l, "model", size), WHERE("hidden", h, "model", size), WHERE("heads", n, "model", size)
static const struct given mpt[] = {
    ALWAYS("family", "gpt"),
    MPT("125m", "12", "768", "12"),
    MPT("350m", "24", "1024", "16"),
    MPT("760m", "24", "1536", "12"),
    MPT("1b", "24", "2048", "16"),
    MPT("3b", "32", "2560", "20"),
    MPT("7b", "32", "4096", "32"),
    MPT("13b", "40", "5120", "40"),
    MPT("30b", "48", "7168", "56"),
    MPT("70b", "80", "8192", "64"),
    ALWAYS("biases", "0"),
    ALWAYS("dropout", "0"),
    ALWAYS("vocab", "50368"),
    FROM("seq", "seq_len"),
    BATCHES,
    FROM("dp", "gpus"),
    WHERE("zero_stage", "3", "sharding", "FULL_SHARD"),
    WHERE("zero_stage", "2", "sharding", "SHARD_GRAD_OP"),
    WHERE("recompute", "full", "act_ckpt", "True"),
    WHERE("precision", "fp8", "precision", "amp_fp8"),
    WHERE("gradient_bytes", "4", "mp_mode", "DEFAULT"),
    ALWAYS("loss_kernel", "fused"),
    ALWAYS("flash_attention", "triton"), /* scripts/train/benchmarking/submit_benchmarks.py, --attn_impl */
    WHERE("device", "A100-40GB", "gpu", "a100_40gb"),
    WHERE("device", "A100-80GB", "gpu", "a100_80gb"),
    WHERE("device", "H100", "gpu", "h100_80gb"),
    ALWAYS("devices_per_node", "8"),
    END,
};

/* Target modules, rank and dropout: fms-acceleration scripts/benchmarks/scenarios.yaml. Its fused kernels take no
 * dropout. Scales of nf4 are quantised, too. */
#define FMS_ADAPTERS                                                                                                   \
    FMS, COLUMN("peft"), FROM("lora_rank", "rank"), ALWAYS("lora_targets", "q_proj k_proj v_proj o_proj")
/* sample-configurations: fused_lora with quantised weights alone */
#define FUSED_ADAPTERS ALWAYS("adapter_kernel", "fused")
#define DROPOUT ALWAYS("lora_dropout", "0.1")
#define NF4 ALWAYS("quantization", "nf4-dq")
static const struct given fms_lora[] = {FMS_ADAPTERS, DROPOUT, END};
static const struct given fms_lora_fused[] = {FMS_ADAPTERS, FUSED, END};
static const struct given fms_nf4[] = {FMS_ADAPTERS, DROPOUT, NF4, END};
static const struct given fms_nf4_fused[] = {FMS_ADAPTERS, FUSED, FUSED_ADAPTERS, NF4, END};
/* framework_plugin_autogptq.py: triton_v2 */
#define GPTQ COLUMN("quantization"), ALWAYS("quantization_kernel", "triton")
static const struct given fms_gptq[] = {FMS_ADAPTERS, DROPOUT, GPTQ, END};
static const struct given fms_gptq_fused[] = {FMS_ADAPTERS, FUSED, FUSED_ADAPTERS, GPTQ, END};
/* Sharded weights of 4 bits are not prepared: trl trainer/sft_trainer.py, is_sharded_qlora. */
static const struct given fms_prepared[] = {FMS_ADAPTERS, DROPOUT, NF4, ALWAYS("kbit_preparation", "1"), END};

#define FINE_TUNING(called, values, largest, ...)                                                                      \
    {                                                                                                                  \
        .name = called, .file = "fms-acceleration.csv", .framework = "hf-trainer", .given = values,                    \
        .memory = "peak_bytes", .unit = 1, .ran = "outcome", .ran_value = "ok", .failed = "oom",                       \
        .counter = COUNTER_ALLOCATED, .rate = "tokens_per_s_gpu", .only = {__VA_ARGS__}, .most = largest               \
    }
/* A table with what nvidia-smi says. */
#define ON_THE_DEVICE(called, values, ...)                                                                             \
    {                                                                                                                  \
        .name = called, .file = "fms-acceleration.csv", .framework = "hf-trainer", .given = values,                    \
        .memory = "reserved_mib", .unit = 1048576, .ran = "outcome", .ran_value = "ok", .failed = "oom",               \
        .counter = COUNTER_DEVICE, .only = {__VA_ARGS__}, .most = 0.2, .aside = true                                   \
    }
/* The network as scripts/train/benchmarking/README.md says it for A100: 1,600 Gb/s a node; of H100 twice as much. */
#define MPT_TABLE(called, gpu, bytes_per_s)                                                                            \
    {                                                                                                                  \
        .name = called, .file = "llm-foundry-mpt.csv", .framework = "fsdp", .given = mpt, .left_out = "suspect",       \
        .rate = "tok_s_gpu", .network = bytes_per_s,                                                                   \
        .only =                                                                                                        \
        { "gpu",                                                                                                       \
          gpu }                                                                                                        \
    }
#define ADAPTERS(called, values, largest, ...) FINE_TUNING(called, values, largest, "peft", "lora", __VA_ARGS__)

/* A row: its name, its file, the framework, its columns, and further members as designators. */
#define TABLE(called, table_file, of, columns, ...)                                                                    \
    {                                                                                                                  \
        .name = called, .file = table_file, .framework = of, .given = columns, __VA_ARGS__                             \
    }

const struct table published_tables[] = {
    TABLE("nanotron, ultra-scale", "ultrascale-1B-8B.csv", "nanotron", ultrascale, .memory = "gpu_mem_gb", .unit = GIB,
          .ran = "oom_label", .ran_value = "fits", .failed = "likely_oom", .whose = WHOSE_FIRST),
    /* With a pipeline half of the runs are 2 to 30 times slower for reasons that no configuration shows.
     * The latency is that of aws-ofi-nccl src/platform-aws.cpp: p5. */
    TABLE("nanotron, ultra-scale, no pipeline", "ultrascale-1B-8B.csv", "nanotron", ultrascale, .ran = "oom_label",
          .ran_value = "fits", .rate = "tok_s_gpu", .network = 50e9, .latency = 75e-6, .only = {"pp", "1"}),
    TABLE("Megatron-LM tests", "megatron-golden.csv", "megatron", golden, .memory = "peak_bytes", .unit = 1,
          .ran = "kind", .ran_value = "train", .counter = COUNTER_ALLOCATED, .whose = WHOSE_LAST, .most = 0.05),
    TABLE("Megatron-LM tests, no toys", "megatron-golden.csv", "megatron", golden, .ran = "kind", .ran_value = "train",
          .time = "step_s", .seconds = 1, .only = {"toy", "0"}),
    TABLE("Megatron-Bridge", "megatron-bridge.csv", "megatron", bridge, .left_out = "suspect", .time = "step_s",
          .seconds = 1),
    TABLE("vTrain", "vtrain-single-node.csv", "megatron", vtrain, .time = "iter_ms", .seconds = 1e-3),
    TABLE("DLPerf, Megatron-LM on V100", "dlperf-gpt-v100.csv", "megatron", dlperf, .memory = "mem_mib",
          .unit = 1048576, .counter = COUNTER_DEVICE, .time = "latency_ms", .seconds = 1e-3, .network = 12.5e9 / 8,
          .only = {"framework", "Megatron-LM"}),
    TABLE("BigScience", "bigscience-tr11.csv", "deepspeed", bigscience, .memory = "mem_gb", .unit = SMI_GB,
          .ran = "outcome", .ran_value = "ok", .failed = "oom", .left_out = "suspect", .counter = COUNTER_DEVICE,
          .time = "step_s", .seconds = 1, .network = 6.25e9, .only = {"precision", "fp16"}),
    TABLE("BigScience, fp32 gradients", "bigscience-tr11.csv", "deepspeed", bigscience, .memory = "mem_gb",
          .unit = SMI_GB, .ran = "outcome", .ran_value = "ok", .failed = "oom", .left_out = "suspect",
          .counter = COUNTER_DEVICE, .time = "step_s", .seconds = 1, .network = 6.25e9,
          .only = {"precision", "bf16-fp32-gradients"}, .most = 0.1),
    TABLE("InternEvo", "internevo-memory.csv", "internevo", internevo, .memory = "memory_gb", .unit = GIB,
          .counter = COUNTER_DEVICE),
    TABLE("InternEvo, time", "internevo.csv", "internevo", internevo_time, .time = "step_s", .seconds = 1),
    TABLE("torchtitan", "torchtitan.csv", "torchtitan", torchtitan, .memory = "memory_gib", .unit = GIB,
          .time = "step_s", .seconds = 1),
    MPT_TABLE("MPT, FSDP on A100-40GB", "a100_40gb", 25e9),
    MPT_TABLE("MPT, FSDP on A100-80GB", "a100_80gb", 25e9),
    MPT_TABLE("MPT, FSDP on H100", "h100_80gb", 50e9),
    FINE_TUNING("full fine-tuning", fms, 0.1, "peft", "none", "kernels", "none"),
    FINE_TUNING("full fine-tuning, fused kernels", fms_fused, 0.08, "peft", "none", "kernels", "foak-fast-kernels"),
    ADAPTERS("LoRA", fms_lora, 0.08, "kernels", "none"),
    ADAPTERS("LoRA, fused kernels", fms_lora_fused, 0.08, "kernels", "foak-fast-kernels"),
    ADAPTERS("QLoRA in nf4, prepared", fms_prepared, 0.08, "kernels", "baseline-peft-bnb", "gpus", "1"),
    ADAPTERS("QLoRA in nf4, sharded", fms_nf4, 0.08, "kernels", "baseline-peft-bnb", "gpus", "2"),
    ADAPTERS("QLoRA in nf4, accelerated", fms_nf4, 0.08, "kernels", "accelerated-peft-bnb", "family", "llama"),
    ADAPTERS("QLoRA in nf4, fused kernels", fms_nf4_fused, 0.08, "kernels", "accelerated-peft-bnb-foak", "family",
             "llama"),
    ADAPTERS("QLoRA in nf4, GPT-BigCode", fms_nf4, 0, "kernels", "accelerated-peft-bnb", "family", "gpt"),
    ADAPTERS("QLoRA in nf4, GPT-BigCode, fused kernels", fms_nf4_fused, 0, "kernels", "accelerated-peft-bnb-foak",
             "family", "gpt"),
    ADAPTERS("QLoRA in GPTQ", fms_gptq, 0.08, "kernels", "accelerated-peft-autogptq"),
    ADAPTERS("QLoRA in GPTQ, fused kernels", fms_gptq_fused, 0.08, "kernels", "accelerated-peft-autogptq-foak"),
    ON_THE_DEVICE("full fine-tuning, on the device", fms, "peft", "none", "kernels", "none", "family", "llama"),
    ON_THE_DEVICE("LoRA, on the device", fms_lora, "peft", "lora", "kernels", "none"),
    ON_THE_DEVICE("QLoRA in nf4, on the device", fms_nf4, "kernels", "accelerated-peft-bnb", "family", "llama"),
    ON_THE_DEVICE("QLoRA in GPTQ, on the device", fms_gptq, "kernels", "accelerated-peft-autogptq"),
};

const size_t published_table_count = LENGTH(published_tables);

bool published_failed(const struct shared_table *t, size_t row, const struct table *spec)
{
    return spec->failed && strcmp(shared_text(t, row, spec->ran), spec->failed) == 0;
}

bool published_left_out(const struct shared_table *t, size_t row, const struct table *spec)
{
    if (spec->ran && strcmp(shared_text(t, row, spec->ran), spec->ran_value) != 0 && !published_failed(t, row, spec))
        return true;
    for (size_t i = 0; i < LENGTH(spec->only) && spec->only[i]; i += 2)
        if (strcmp(shared_text(t, row, spec->only[i]), spec->only[i + 1]) != 0)
            return true;
    const char *mark = spec->left_out ? shared_text(t, row, spec->left_out) : "";
    return mark[0] && strcmp(mark, "0") != 0;
}

static bool holds(const struct shared_table *t, size_t row, const struct given *g)
{
    for (size_t i = 0; i < CONDITIONS && g->when[i]; i += 2) {
        const char *text = shared_text(t, row, g->when[i]), *wanted = g->when[i + 1];
        if (wanted[0] == '<' ? strcmp(text, wanted + 1) >= 0 : strcmp(text, wanted) != 0)
            return false;
    }
    return true;
}

static struct input_value value_of(const struct shared_table *t, size_t row, const struct given *g)
{
    struct input_value v = {INPUT_ABSENT, 0, NULL};
    const char *text = g->column ? shared_text(t, row, g->column) : g->constant;
    if (!text[0] || strcmp(text, "auto") == 0 || !holds(t, row, g))
        return v;
    v.kind = parse_double(text, &v.number) ? INPUT_NUMBER : INPUT_TEXT;
    v.text = v.kind == INPUT_TEXT ? text : NULL;
    return v;
}

void published_values(const struct shared_table *t, size_t row, const struct table *spec, struct input_value *values)
{
    memset(values, 0, INPUT_COUNT * sizeof *values);
    for (const struct given *g = spec->given; g->input; g++) {
        size_t input = input_find(g->input);
        if (input == INPUT_COUNT)
            fail_msg("no input %s", g->input);
        struct input_value v = value_of(t, row, g);
        if (v.kind)
            values[input] = v; /* a column that is given goes before one of its name that is listed earlier */
    }
}

const char *const mpt_clusters[MPT_CLUSTERS] = {"MPT, FSDP on A100-40GB", "MPT, FSDP on A100-80GB",
                                                "MPT, FSDP on H100"};

const struct table *published_table(const char *name)
{
    for (size_t i = 0; i < published_table_count; i++)
        if (strcmp(published_tables[i].name, name) == 0)
            return &published_tables[i];
    fail_msg("no table %s", name);
    return NULL;
}

bool published_read(const struct shared_table *t, size_t row, const struct table *spec, struct published_run *out)
{
    struct input_value values[INPUT_COUNT];
    struct subject s;
    struct error refused = ERROR_INIT;
    if (published_left_out(t, row, spec))
        return false;
    published_values(t, row, spec, values);
    if (inputs_decode(values, &s, &refused) < 0)
        return false;
    *out =
        (struct published_run){.architecture = s.architecture,
                               .plan = s.plan,
                               .cluster = {.device = device_find(NULL, s.device), .inter_bytes_per_s = spec->network},
                               .failed = published_failed(t, row, spec)};
    FAIL_IF(cluster_complete(&out->cluster, &e));
    if (spec->memory)
        out->memory_bytes = shared_number(t, row, spec->memory) * spec->unit;
    double devices = (double)(s.plan.tensor * s.plan.pipeline * s.plan.data);
    if (spec->time)
        out->step_s = shared_number(t, row, spec->time) * spec->seconds;
    else if (spec->rate && shared_number(t, row, spec->rate) > 0)
        out->step_s =
            plan_global_batch(&s.plan) * (double)s.plan.sequence / (shared_number(t, row, spec->rate) * devices);
    return true;
}

bool ultrascale_read(const struct shared_table *t, size_t row, int64_t tensor_most, struct published_run *out)
{
    return published_read(t, row, published_table("nanotron, ultra-scale"), out) && out->plan.tensor <= tensor_most;
}

struct memory_prediction published_memory(const struct published_run *run, const struct memory_coefficients *c)
{
    struct memory_prediction m = {0};
    FAIL_IF(memory_predict(&run->architecture, &run->plan, &run->cluster, c, &m, &e));
    return m;
}
