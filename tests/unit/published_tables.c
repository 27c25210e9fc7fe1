#include "published_tables.h"

#include "unit_test.h"
#include "util/parse.h"

static const char golden[] =
    "family=model_family " SHAPE "kv_heads head_dim ffn gated_mlp biases qkv_bias rms_norm qk_norm tied_embeddings "
    "positions dropout=attention_dropout " /* hidden_dropout is the same in each row */
    "vocab vocab_multiple seq decoder_seq experts experts_per_token=topk expert_ffn=moe_ffn shared_ffn dense_layers "
    "micro_batch gradient_accumulation=micro_batches tp pp vpp cp ep etp dp sequence_parallel "
    "use_distributed_optimizer=distributed_optimizer recompute precision fp8_weights=fp8_param_gather device nodes "
    "devices_per_node q_lora_rank kv_lora_rank head_dim=qk_head_dim qk_rope_dim v_head_dim mtp_layers "
    "account_embedding account_loss recompute_modules gradient_bytes=grad_bytes first_stage_layers last_stage_layers "
    "pipeline_layout flash_attention=transformer_impl flash_attention=attention_backend "
    /* TransformerEngine attention/dot_product_attention/utils.py, get_attention_backend: deterministic kernels are
     * neither cuDNN's before compute capability 9.0 nor those of flash-attn before 2.4.1. The container of the older
     * release had no newer one until docker/.ngc_version.lts of Megatron-LM took another, on 6 November 2025. */
    "flash_attention:unfused@attention_backend=auto,deterministic=1,environment=lts,device=A100-80GB,"
    "golden_date<2025-11-06 optimizer loss_kernel=cross_entropy_impl expert_dispatcher=dispatcher hybrid_pattern "
    "mixer_heads=mamba_heads mixer_state=mamba_state mixer_head_dim=mamba_head_dim mixer_groups=mamba_groups "
    "expert_latent=moe_latent ";

static const char bridge[] =
    "family " SHAPE "kv_heads head_dim ffn gated_mlp rms_norm tied_embeddings vocab vocab_multiple seq experts "
    "experts_per_token=topk expert_ffn=moe_ffn shared_ffn dense_layers micro_batch "
    "gradient_accumulation=micro_batches tp pp vpp cp ep etp dp zero_stage sequence_parallel recompute precision "
    "device nodes devices_per_node q_lora_rank kv_lora_rank head_dim=qk_head_dim qk_rope_dim v_head_dim mtp_layers "
    "account_embedding account_loss recompute_modules gradient_bytes=grad_bytes moment_bytes "
    "offload_layers=cpu_offload_layers recompute_layers=recompute_num_layers recompute_method "
    "expert_dispatcher=dispatcher "
    /* training/flex_dispatcher_backend.py: a backend makes it flex, whatever a recipe had before */
    "expert_dispatcher:flex@dispatcher_backend=hybridep expert_dispatcher:flex@dispatcher_backend=deepep "
    "overlap_ep:1@ep_overlap=1 "
    "cuda_graphs:1@cuda_graph=full_iteration cuda_graphs:1@cuda_graph=transformer_engine "
    "cuda_graphs:1@cuda_graph=local "
    /* recipes of perf_recipes: moe_router_force_load_balancing; nemotron_3_super_bf16_with_nvfp4_mixed */
    "balanced_experts:1 bf16_layers:14@model=Nemotron-3-Super,precision_label=NVFP4 "
    /* training/comm_overlap.py: both, with more than one data-parallel rank; peft/lora.py: all linear layers */
    "overlap_gradients:1 overlap_parameters:1 peft:lora@task=lora lora_rank:32@task=lora "
    "lora_targets:linear_qkv+linear_proj+linear_fc1+linear_fc2@task=lora "
    /* perf_recipes/llama: offline_packing_specs; recipes/utils/finetune_utils.py: SQuAD, with paragraphs of 117 words
     * and questions of 10 */
    "packed_tokens:200@task=lora packed_tokens:200@task=sft "
    /* perf_recipes/llama: recipes of 70B overlap tensor parallelism, but those in NVFP4 */
    "overlap_tp:1@model=Llama-3-70B overlap_tp:0@precision_label=NVFP4 link_domain=nvlink_domain hybrid_pattern "
    "mixer_heads=mamba_heads mixer_state=mamba_state mixer_head_dim=mamba_head_dim mixer_groups=mamba_groups "
    "expert_latent=moe_latent ";

static const char bigscience[] =
    "vocab vocab_multiple:128 seq zero_stage " SHAPE BATCHES DEGREES
    /* DeepSpeed runtime/bf16_optimizer.py: fp32_groups_gradients, whole, beside those in bf16, which
     * runtime/pipe/engine.py does not clear (clear_lp_grads=False) */
    "gradient_bytes:6@precision=bf16-fp32-gradients recompute:full flash_attention:0 device:A100-80GB nodes "
    "devices_per_node:8 ";

static const char internevo[] =
    "family:llama " SHAPE "ffn vocab seq " BATCHES DEGREES "zero_stage recompute device:A100-80GB devices_per_node:8 ";

static const char internevo_time[] =
    "family:llama " SHAPE "ffn vocab seq " BATCHES DEGREES "zero_stage:1 shard_ranks recompute device:A100-80GB "
    "devices_per_node:8 ";

static const char torchtitan[] =
    "family:llama " SHAPE "kv_heads ffn vocab seq " BATCHES "tp pp cp dp zero_stage:3 recompute sequence_parallel:1 "
    "chunked_loss:0 " /* both of its benchmarks are older */
    "compiled=compile fp8 device devices_per_node:8 ";

/* The Trainer of its time steps by lists of tensors. Packing: scripts/benchmarks/benchmark.py, packing_matrix. */
#define FMS                                                                                                            \
    "family layers hidden heads kv_heads ffn vocab tied_embeddings=tied experts experts_per_token=topk seq "           \
    "micro_batch=mbs gradient_accumulation=grad_acc dp=gpus zero_stage:3 recompute:full device:A100-80GB "             \
    "devices_per_node=gpus optimizer_kernel:foreach packing:1 "
#define FUSED "loss_kernel:fused norm_kernel:fused "
static const char fms[] = FMS;
static const char fms_fused[] = FMS FUSED;

static const char ultrascale[] =
    "family:llama layers=n_layers hidden heads=n_heads kv_heads=n_kv_heads ffn vocab tied_embeddings=tied_emb "
    "seq=seq_len " BATCHES DEGREES "zero_stage=zero split:by-cost sequence_parallel:1 device:H100 devices_per_node:8 ";

static const char vtrain[] =
    "layers=n_layers hidden heads=n_heads vocab:50257 vocab_multiple:128 seq=seq_len " BATCHES DEGREES
    /* Megatron-DeepSpeed, with the fused softmax that vTrain's own model has (data/README.md, src/model) */
    "recompute:full flash_attention:0 device:A100-80GB devices_per_node:8 ";

static const char dlperf[] =
    "layers=n_layers hidden heads=n_heads vocab:50257 vocab_multiple:128 seq=seq_len " BATCHES DEGREES
    /* Megatron-LM/scripts: --checkpoint-activations --fp16, which adds up and reduces in fp16 */
    "precision:fp16 recompute:full gradient_bytes:2 flash_attention:0 device:V100-16GB devices_per_node:8 ";

/* llm-foundry models/mpt, scripts/train/yamls/pretrain: no biases, no dropout, flash-attn's loss. Composer's DEFAULT
 * reduces gradients in fp32. */
static const char mpt[] =
    "family:gpt biases:0 dropout:0 vocab:50368 seq=seq_len dp=gpus "
    "layers:12;hidden:768;heads:12@model=125m "
    "layers:24;hidden:1024;heads:16@model=350m "
    "layers:24;hidden:1536;heads:12@model=760m "
    "layers:24;hidden:2048;heads:16@model=1b "
    "layers:32;hidden:2560;heads:20@model=3b "
    "layers:32;hidden:4096;heads:32@model=7b "
    "layers:40;hidden:5120;heads:40@model=13b "
    "layers:48;hidden:7168;heads:56@model=30b "
    "layers:80;hidden:8192;heads:64@model=70b "
    "zero_stage:3@sharding=FULL_SHARD zero_stage:2@sharding=SHARD_GRAD_OP recompute:full@act_ckpt=True "
    "precision:fp8@precision=amp_fp8 gradient_bytes:4@mp_mode=DEFAULT loss_kernel:fused "
    "flash_attention:triton " /* scripts/train/benchmarking/submit_benchmarks.py, --attn_impl */
    "device:A100-40GB@gpu=a100_40gb device:A100-80GB@gpu=a100_80gb device:H100@gpu=h100_80gb "
    "devices_per_node:8 " BATCHES;

/* Target modules, rank and dropout: fms-acceleration scripts/benchmarks/scenarios.yaml. Its fused kernels take no
 * dropout. Scales of nf4 are quantised, too. */
#define FMS_ADAPTERS FMS "peft lora_rank=rank lora_targets:q_proj+k_proj+v_proj+o_proj "
/* sample-configurations: fused_lora with quantised weights alone */
#define FUSED_ADAPTERS "adapter_kernel:fused "
#define DROPOUT "lora_dropout:0.1 "
#define NF4 "quantization:nf4-dq "
static const char fms_lora[] = FMS_ADAPTERS DROPOUT;
static const char fms_lora_fused[] = FMS_ADAPTERS FUSED;
static const char fms_nf4[] = FMS_ADAPTERS DROPOUT NF4;
static const char fms_nf4_fused[] = FMS_ADAPTERS FUSED FUSED_ADAPTERS NF4;
/* framework_plugin_autogptq.py: triton_v2 */
#define GPTQ "quantization quantization_kernel:triton "
static const char fms_gptq[] = FMS_ADAPTERS DROPOUT GPTQ;
static const char fms_gptq_fused[] = FMS_ADAPTERS FUSED FUSED_ADAPTERS GPTQ;
/* Sharded weights of 4 bits are not prepared: trl trainer/sft_trainer.py, is_sharded_qlora. */
static const char fms_prepared[] = FMS_ADAPTERS DROPOUT NF4 "kbit_preparation:1 ";

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

/* Conditions are cut. */
static bool holds(const struct shared_table *t, size_t row, char *conditions)
{
    for (char *one; (one = strsep(&conditions, ","));) {
        char *wanted = one + strcspn(one, "=<"), sign = *wanted;
        *wanted++ = '\0';
        int order = strcmp(shared_text(t, row, one), wanted);
        if (sign == '<' ? order >= 0 : order != 0)
            return false;
    }
    return true;
}

/* "input", "input=column" or "input:value", which is cut; what is given later goes before. */
static void take(const struct shared_table *t, size_t row, char *one, struct input_value *values)
{
    char *end = one + strcspn(one, "=:"), sign = *end;
    const char *from = sign ? end + 1 : one;
    *end = '\0';
    const char *text = sign == ':' || !*one ? from : shared_text(t, row, from);
    if (!*text || strcmp(text, "auto") == 0)
        return;
    FAIL_WHERE(input_find(one) == INPUT_COUNT, "no input %s", one);
    struct input_value *v = &values[input_find(one)];
    v->kind = parse_double(text, &v->number) ? INPUT_NUMBER : INPUT_TEXT;
    v->text = v->kind == INPUT_TEXT ? text : NULL;
}

void published_values(const struct shared_table *t, size_t row, const struct table *spec, struct input_value *values)
{
    static char words[4096];
    char *rest = words, *word;
    assert_true(strlen(spec->given) < sizeof words);
    memcpy(words, spec->given, strlen(spec->given) + 1);
    memset(values, 0, INPUT_COUNT * sizeof *values);
    while ((word = strsep(&rest, " "))) {
        char *conditions = word, *given = strsep(&conditions, "@");
        bool counts = !conditions || holds(t, row, conditions);
        for (char *one; counts && (one = strsep(&given, ";"));)
            take(t, row, one, values);
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
    assert_true(memory_predict(&run->architecture, &run->plan, &run->cluster, c, &m));
    return m;
}
