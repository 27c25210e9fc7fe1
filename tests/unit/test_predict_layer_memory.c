/* predict: what a layer keeps, against tables of papers and the terms of the header. */
#include "frameworks.h"
#include "predict/layer_memory.h"
#include "predict/tuning.h"
#include "predict_fixture.h"

#define GIB 1073741824.0

static double kept(struct architecture a, struct training_plan plan, const char *framework)
{
    completed(&a, &plan);
    return layer_memory_kept(&a, &plan, &framework_find(framework)->memory);
}

/* arXiv 2205.05198, figures 1 and 7: A100 with tensor degree 8. */
static const struct {
    int64_t layers, hidden, heads, pipeline, virtual_stages, micro_batch, micro_batches;
    double none_gib, sequence_selective_gib;                                /* figure 1 */
    double sequence_percent, selective_percent, both_percent, full_percent; /* figure 7, of none */
} paper[] = {
    {48, 6144, 64, 1, 1, 4, 1, 59.25, 9.5625, 66.84, 49.42, 16.18, 7.64},
    {96, 12288, 96, 8, 3, 1, 64, 66.84375, 12.3515625, 62.04, 56.53, 18.49, 8.71},
    {105, 20480, 128, 35, 3, 1, 280, 114.0234375, 23.076171875, 58.31, 62.04, 20.27, 9.42},
    {128, 25600, 160, 64, 1, 1, 512, 131.25, 26.5625, 58.31, 62.04, 20.27, 9.42},
};

/* Bytes of layers alone on the first stage, without fragmentation or inputs. */
static double paper_activations(size_t i, enum recompute recompute, bool sequence_parallel)
{
    struct architecture a = gpt(paper[i].layers, paper[i].hidden, paper[i].heads);
    PLAN(plan, .tensor = 8, .pipeline = paper[i].pipeline, .virtual_stages = paper[i].virtual_stages,
         .micro_batch = paper[i].micro_batch, .micro_batches = paper[i].micro_batches, .sequence = 2048,
         .recompute = recompute, .sequence_parallel = sequence_parallel);
    plan.schedule = plan.virtual_stages > 1 ? SCHEDULE_INTERLEAVED : SCHEDULE_1F1B;
    completed(&a, &plan);
    return plan_stage_layers(&plan, &a, 0) * plan_in_flight(&plan, 0) *
           layer_memory_kept(&a, &plan, &framework_find("megatron")->memory);
}

TEST(layer_memory_kept__selective_recompute_paper__its_figures)
{
    for (size_t i = 0; i < LENGTH(paper); i++) {
        double none = paper_activations(i, RECOMPUTE_NONE, false);
        assert_close(none / GIB, paper[i].none_gib, 1e-9);
        assert_close(paper_activations(i, RECOMPUTE_SELECTIVE, true) / GIB, paper[i].sequence_selective_gib, 1e-9);
        assert_close(paper_activations(i, RECOMPUTE_NONE, true) / none * 100, paper[i].sequence_percent, 0.05);
        assert_close(paper_activations(i, RECOMPUTE_SELECTIVE, false) / none * 100, paper[i].selective_percent, 5e-3);
        assert_close(paper_activations(i, RECOMPUTE_SELECTIVE, true) / none * 100, paper[i].both_percent, 5e-3);
        assert_close(paper_activations(i, RECOMPUTE_FULL, false) / none * 100, paper[i].full_percent, 0.15);
    }
}

/* h 1024, 8 heads of 128 + 64, values of 128, ranks 768 and 512; four experts of 512, two for a token; 64 tokens. */
static double kept_of_latent(struct training_plan plan)
{
    struct architecture a = shaped(ARCHITECTURE_LLAMA, 4, 1024, 8, 1000);
    set_experts(&a, 4, 2, 512);
    a.head_dim = 128;
    a.q_lora_rank = 768;
    a.kv_lora_rank = 512;
    a.qk_rope_dim = 64;
    plan.sequence = 64;
    plan.flash_attention = true;
    completed(&a, &plan);
    struct memory_coefficients c = framework_find("megatron")->memory;
    c.expert_imbalance = 1;
    return layer_memory_kept(&a, &plan, &c) / 64;
}

TEST(layer_memory_kept__latent_attention_and_experts__terms_of_the_header)
{
    const double norms = 8 * 1024, latent = 4 * 768 + 4 * 512 + 2 * 64, heads = 4 * 8 * 192 + 4 * 8 * 128;
    const double experts = 2 * (2 * 1024 + 6 * 512) + 2 * 1024 * 2;
#define DROPPED(what) PLANNED(.recompute = RECOMPUTE_SELECTIVE, .modules = (what))
    assert_close(kept_of_latent(PLANNED(.modules = 0)), norms + latent + heads + experts, 1e-12);
    assert_close(kept_of_latent(DROPPED(0)), norms + latent + heads + experts, 1e-12);
    assert_close(kept_of_latent(DROPPED(MODULE_MLA_UP_PROJ | MODULE_LAYERNORM)),
                 norms - 4 * 1024 + latent + 2 * 8 * 128 + experts, 1e-12);
    assert_close(kept_of_latent(DROPPED(MODULE_MOE_ACT)), norms + latent + heads + experts - 2 * 2 * 512, 1e-12);
    assert_close(kept_of_latent(DROPPED(MODULE_MOE)), norms + latent + heads + 2 * 1024, 1e-12);
    assert_close(kept_of_latent(PLANNED(.precision = PRECISION_FP8)),
                 6 * 1024 + latent + heads + 8 * 128 + 2 * (1024 + 5 * 512) + 2 * 1024 * 2, 1e-12);
}

/* What layers recompute from is divided among the ranks that would each have all of it. */
TEST(layer_memory_kept__divided_checkpoints__a_share_of_the_input)
{
    PLAN(plan, .sequence = 64, .tensor = 4, .recompute = RECOMPUTE_FULL);
    assert_close(kept(gpt(4, 1024, 8), plan, "megatron"), 2 * 64 * 1024.0, 1e-12);
    plan.divided_checkpoints = true;
    assert_close(kept(gpt(4, 1024, 8), plan, "megatron"), 2 * 64 * 1024.0 / 4, 1e-12);
}

TEST(layer_memory_kept__layers_in_bf16_and_balanced_experts__between)
{
    struct architecture a = gpt(4, 1024, 8);
    PLAN(plan, .sequence = 64, .flash_attention = true);
    set_experts(&a, 4, 2, 512);
    double bf16 = kept(a, plan, "megatron"), fp8 = kept(a, BUT(plan, it.precision = PRECISION_FP8), "megatron");
    assert_true(fp8 < bf16);
    assert_close(kept(a, BUT(plan, it.precision = PRECISION_FP8, it.bf16_layers = 1), "megatron"), (bf16 + 3 * fp8) / 4,
                 1e-12);
    plan.data = plan.expert = 2;
    assert_close(kept(a, plan, "megatron") - kept(a, BUT(plan, it.balanced_experts = true), "megatron"),
                 64 * 2 * (framework_find("megatron")->memory.expert_imbalance - 1) * (2 * 1024 + 4 * 512), 1e-9);
}

/* A compiler computes again what no product of the backward pass reads: the activation of a gated MLP, which it fuses,
 * and the wide input of a norm. */
TEST(layer_memory_kept__compiled__what_products_read)
{
    struct architecture llama = shaped(ARCHITECTURE_LLAMA, 4, 1024, 8, 1000);
    PLAN(plan, .sequence = 64, .flash_attention = true);
    const struct training_plan compiled = BUT(plan, it.compiled = true);
    const struct training_plan liger = BUT(plan, it.loss = LOSS_LINEAR, it.norms = NORMS_FUSED);
    FAIL_IF(architecture_complete(&llama, &e));
    double saved = kept(llama, plan, "torchtitan") - kept(llama, compiled, "torchtitan");
    assert_close(saved, 64 * (2 * (double)llama.ffn + framework_find("torchtitan")->memory.norm_bytes * 1024), 1e-12);
    assert_close(kept(gpt(4, 1024, 8), plan, "torchtitan"), kept(gpt(4, 1024, 8), compiled, "torchtitan"), 1e-12);
    assert_close(kept(llama, liger, "torchtitan"), kept(llama, compiled, "torchtitan"), 1e-12);
}

/* Gradients that pass a layer's MLP: of a gated one's two factors or of what it read, whichever is wider. */
TEST(layer_memory_passing__mlp_and_experts__gradients_of_the_widest)
{
    const struct memory_coefficients *c = &framework_find("megatron")->memory;
    struct architecture plain = gpt(4, 1024, 8), llama = shaped(ARCHITECTURE_LLAMA, 4, 1024, 8, 1000), sparse = llama;
    struct training_plan plan = {.tensor = 2, .sequence = 64};
    set_experts(&sparse, 4, 2, 512);
    completed(&plain, &plan);
    completed(&llama, &plan);
    completed(&sparse, &plan);
    assert_close(layer_memory_passing(&plain, &plan, c), 64 * 2 * (double)plain.ffn / 2, 1e-12);
    assert_close(layer_memory_passing(&llama, &plan, c), 64 * 4 * (double)llama.ffn / 2, 1e-12);
    assert_close(layer_memory_passing(&sparse, &plan, c), 64.0 * 2 * (2 * 512 + 2 * 1024), 1e-12);
    c = &framework_find("fsdp2")->memory; /* weights in fp32 what experts give */
    assert_close(layer_memory_passing(&sparse, &plan, c), 64.0 * 2 * 16 * 1024, 1e-12);
    plan.tuning = TUNING_LORA;
    assert_close(tuning_passing(&sparse, &plan, c), 2 * 16 * 1024 / 2.0, 1e-12);
}

static double cast_bytes(struct architecture a, struct training_plan plan)
{
    completed(&a, &plan);
    return layer_cast_bytes(&a, &plan);
}

/* The inputs of queries, keys and values and of an MLP's first product come cast from a norm; those of others, and all
 * gradients, are read in 2 bytes and written twice. */
TEST(layer_cast_bytes__dense_latent_and_experts__what_products_read_and_gradients)
{
    struct architecture a = gpt(4, 1024, 8);
    struct training_plan plan = {.tensor = 2, .micro_batch = 2, .sequence = 64, .precision = PRECISION_FP8};
    a.kv_heads = 2;
    a.gated_mlp = true;
    double qkv = 1024 + 2 * 256, attention = qkv + 1024 + 1024, mlp = 2 * 4096 + 4096 + 1024;
    assert_close(cast_bytes(a, plan), 2 * 64 * (2 + 2 * 1) * (attention + mlp) / 2, 1e-12);
    plan.precision = PRECISION_FP4;
    assert_close(cast_bytes(a, plan), 2 * 64 * (2 + 2 * 0.5) * (attention + mlp) / 2, 1e-12);
    plan.bf16_layers = 1;
    assert_close(cast_bytes(a, plan), 0.75 * 2 * 64 * (2 + 2 * 0.5) * (attention + mlp) / 2, 1e-12);
    assert_true(cast_bytes(a, BUT(plan, it.precision = PRECISION_BF16)) == 0);

    plan = (struct training_plan){.sequence = 64, .precision = PRECISION_FP8};
    set_experts(&a, 8, 2, 512);
    a.shared_ffn = 256;
    double routed = 2 * (1024 + 2 * 512 + 512 + 1024), shared = 2 * 256 + 256 + 1024;
    assert_close(cast_bytes(a, plan), 64 * 4 * (attention + routed + shared), 1e-12);
    a.kv_heads = 0;
    a.q_lora_rank = 384;
    a.kv_lora_rank = 128;
    a.qk_rope_dim = 32;
    a.v_head_dim = 64;
    double down = 384 + 128 + 32, up = 8 * (128 + 32) + 8 * (128 + 64), output = 8 * 64 + 1024;
    assert_close(cast_bytes(a, plan), 64 * 4 * (down + up + output + routed + shared), 1e-12);
}

/* Each number that a product reads or gives a gradient of, and each weight, for two of three passes. */
TEST(layer_eager_cast_bytes__dense__all_numbers_twice)
{
    struct architecture a = gpt(4, 1024, 8);
    struct training_plan plan = {.tensor = 2, .micro_batch = 2, .sequence = 64, .precision = PRECISION_FP8};
    a.gated_mlp = true;
    completed(&a, &plan);
    struct layer_parameters layer;
    architecture_layer(&a, &layer);
    double inputs = (4 + 2) * 1024 + 4096, gradients = (4 + 1) * 1024 + 2 * 4096, tokens = 2 * 64;
    assert_close(layer_eager_cast_bytes(&a, &plan),
                 35 * 2 * (tokens * (inputs + gradients) + layer.attention + layer.mlp) / 2, 1e-12);
}
