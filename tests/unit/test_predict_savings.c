/* predict: what plans save in part: recompute of some layers, traffic behind computing, dispatchers of experts. */
#include "predict/flops.h"
#include "predict/memory.h"
#include "step_fixture.h"

#define assert_same(actual, expected) assert_close(actual, expected, 1e-9)

static struct architecture mixture(int64_t experts)
{
    struct architecture a = shaped(ARCHITECTURE_LLAMA, 8, 1024, 8, 32000);
    a.ffn = 4096;
    a.experts = experts;
    a.experts_per_token = experts > 0 ? 4 : 0;
    return a;
}

static const struct training_plan usual = {.micro_batch = 2,
                                           .micro_batches = 4,
                                           .sequence = 1024,
                                           .flash_attention = true,
                                           .recompute = RECOMPUTE_FULL};

static struct memory_stage memory_of(struct training_plan plan, int64_t experts)
{
    struct architecture a = mixture(experts);
    struct memory_prediction p;
    struct memory_coefficients c = framework_find("fsdp")->memory;
    const struct cluster cluster = {.devices_per_node = 8};
    c.fragmentation = 1;
    c.phases = 0; /* all terms at once */
    completed(&a, &plan);
    FAIL_IF(memory_predict(&a, &plan, &cluster, &c, &p, &e));
    return p.first;
}

static struct step_prediction time_of(struct training_plan plan, int64_t experts, int64_t devices_per_node)
{
    struct architecture a = mixture(experts);
    struct cluster cluster = {.device = device_find(NULL, "A100-80GB"), .devices_per_node = devices_per_node};
    struct step_prediction s = {0};
    completed(&a, &plan);
    FAIL_IF(cluster_complete(&cluster, &e) || step_predict(&a, &plan, &cluster, framework_find("torch-ddp"), &s, &e));
    return s;
}

static double kept_of(enum recompute recompute, int64_t every, int64_t layers, enum recompute_method method)
{
    struct training_plan plan = usual;
    plan.recompute = recompute;
    plan.recompute_every = every;
    plan.recompute_layers = layers;
    plan.recompute_method = method;
    return memory_of(plan, 0).terms[MEMORY_ACTIVATIONS];
}

TEST(memory_predict__some_layers_recompute__the_others_keep)
{
    const double none = kept_of(RECOMPUTE_NONE, 0, 0, RECOMPUTE_BLOCK);
    const double full = kept_of(RECOMPUTE_FULL, 0, 0, RECOMPUTE_BLOCK);
    const double inputs = 8 * 2 * 1024; /* token ids, whatever is recomputed */
    assert_same(kept_of(RECOMPUTE_FULL, 2, 0, RECOMPUTE_BLOCK), (none + full) / 2);
    assert_same(kept_of(RECOMPUTE_FULL, 3, 0, RECOMPUTE_BLOCK), full / 4 + none * 3 / 4);
    assert_same(kept_of(RECOMPUTE_FULL, 0, 6, RECOMPUTE_BLOCK), full * 3 / 4 + none / 4);
    assert_same(kept_of(RECOMPUTE_FULL, 0, 9, RECOMPUTE_BLOCK), full);
    assert_same(kept_of(RECOMPUTE_FULL, 0, 4, RECOMPUTE_UNIFORM) - inputs, (full - inputs) / 4);
}

/* As under a memory budget of torch.compile, which also fuses what the others do. */
TEST(memory_predict__some_layers_recompute__the_others_drop_modules)
{
    struct training_plan plan = usual;
    plan.modules = MODULE_LAYERNORM | MODULE_MLP_ACT;
    const double selective = memory_of(BUT(plan, it.recompute = RECOMPUTE_SELECTIVE), 0).terms[MEMORY_ACTIVATIONS];
    plan.recompute = RECOMPUTE_FULL;
    const double full = memory_of(plan, 0).terms[MEMORY_ACTIVATIONS];
    assert_same(memory_of(BUT(plan, it.recompute_layers = 4), 0).terms[MEMORY_ACTIVATIONS], (selective + full) / 2);
    assert_true(selective < kept_of(RECOMPUTE_NONE, 0, 0, RECOMPUTE_BLOCK));
}

TEST(memory_predict__groups_of_layers_recompute__all_there_at_once)
{
    struct training_plan plan = usual;
    const double passing = (4 + 4 * 4) * 2 * 1024 * 1024.0; /* gradients of one layer at a time */
    double one = memory_of(plan, 0).terms[MEMORY_WORKING] - passing;
    plan.recompute_layers = 4;
    plan.recompute_method = RECOMPUTE_UNIFORM;
    assert_same(memory_of(plan, 0).terms[MEMORY_WORKING] - passing, 4 * one);
}

TEST(flops_per_step__some_layers_recompute__their_share)
{
    struct architecture a = mixture(0);
    struct training_plan plan = usual, some = usual;
    struct step_flops all, half;
    some.recompute_every = 2;
    completed(&a, &plan);
    completed(&a, &some);
    flops_per_step(&a, &plan, ATTENTION_FULL, &all);
    flops_per_step(&a, &some, ATTENTION_FULL, &half);
    assert_same(half.recompute, all.recompute / 2);
    assert_true(time_of(some, 0, 8).seconds < time_of(plan, 0, 8).seconds);
}

/* With adapters between nodes slow enough that nothing hides all of it, what is hidden is the time of what
 * computes; of what all of it hides counts what it slows the computing. */
TEST(step_predict__overlapped__only_what_is_longer)
{
    struct training_plan plan = usual;
    plan.data = 2;
    plan.recompute = RECOMPUTE_NONE;
    plan.zero_stage = 1;
    const double *weights = framework_find("torch-ddp")->time.nominal;
    struct step_prediction apart = time_of(plan, 0, 1);
    plan.overlap_gradients = true;
    struct step_prediction gradients = time_of(plan, 0, 1);
    plan.overlap_parameters = true;
    struct step_prediction both = time_of(plan, 0, 1);
    double hidden = weights[TIME_DATA_INTER] * (apart.terms[TIME_DATA_INTER] - gradients.terms[TIME_DATA_INTER]);
    double further = weights[TIME_DATA_INTER] * (gradients.terms[TIME_DATA_INTER] - both.terms[TIME_DATA_INTER]);
    assert_true(hidden > 0 && gradients.terms[TIME_DATA_INTER] > 0);
    assert_same(hidden, 2 * further);
    assert_same(apart.terms[TIME_MATRICES], both.terms[TIME_MATRICES]);
    plan.sequence = 65536;
    double all = time_of(plan, 0, 8).terms[TIME_DATA_INTRA];
    plan.overlap_gradients = plan.overlap_parameters = false;
    assert_same(all, 0.189 / 1.189 * time_of(plan, 0, 8).terms[TIME_DATA_INTRA]);
}

TEST(step_predict__layer_traffic_overlapped__hidden)
{
    struct training_plan plan = usual;
    plan.tensor = 2;
    double apart = time_of(plan, 0, 8).terms[TIME_TENSOR];
    assert_true(time_of(BUT(plan, it.overlap_tensor = true), 0, 8).terms[TIME_TENSOR] < apart);
    plan = usual;
    plan.data = plan.expert = 8;
    apart = time_of(plan, 8, 8).terms[TIME_EXPERT];
    assert_true(time_of(BUT(plan, it.overlap_expert = true), 8, 8).terms[TIME_EXPERT] < apart);
}

static double expert_traffic(enum expert_dispatcher dispatcher, int64_t devices_per_node)
{
    struct training_plan plan = usual;
    plan.data = plan.expert = 16;
    plan.dispatcher = dispatcher;
    return time_of(plan, 64, devices_per_node).terms[TIME_EXPERT];
}

TEST(step_predict__dispatchers__copies_of_a_token)
{
    const double each = expert_traffic(DISPATCH_ALL_TO_ALL, 8), within = expert_traffic(DISPATCH_ALL_TO_ALL, 16);
    assert_same(expert_traffic(DISPATCH_ALL_GATHER, 8) / each, 16.0 / 4);
    /* Of two nodes all-to-all counts the other alone, and DeepEP all ranks but the own one. */
    assert_same(expert_traffic(DISPATCH_ONCE, 8) / each, 2 * (1 - 1.0 / 16) * (15.0 / 16) / (4 * 1.0 / 2));
    assert_same(expert_traffic(DISPATCH_ONCE, 16) / within, 16 * (1 - pow(15.0 / 16, 4)) / 4);
}

TEST(memory_predict__all_gathered_tokens__there_at_once)
{
    struct training_plan plan = usual;
    plan.data = plan.expert = 8;
    double each = memory_of(plan, 8).terms[MEMORY_WORKING];
    plan.dispatcher = DISPATCH_ALL_GATHER;
    assert_same(memory_of(plan, 8).terms[MEMORY_WORKING] - each, 2 * 2048 * 1024.0 * 7);
}

static void refused(struct training_plan plan, const char *expected)
{
    struct architecture a = mixture(0);
    FAIL_IF(architecture_complete(&a, &e));
    FAILS_WITH(plan_complete(&plan, &a, &e), expected);
}

TEST(plan_complete__savings_that_save_nothing__refused)
{
    refused(BUT(usual, it.recompute = RECOMPUTE_NONE, it.recompute_every = 2),
            "recompute_layers and recompute_every need recompute");
    refused(BUT(usual, it.recompute = RECOMPUTE_SELECTIVE, it.recompute_layers = 2),
            "recompute_layers needs recompute = full");
    refused(BUT(usual, it.recompute_layers = it.recompute_every = 2),
            "recompute_layers and recompute_every cannot be combined");
    refused(BUT(usual, it.overlap_expert = true), "overlap_ep needs ep above 1");
}

/* torchtitan saves every second product: k, o and up (here down) are computed again, and all that is no product. */
TEST(step_predict__operations_recomputed__every_second_product)
{
    struct training_plan plan = {.sequence = 2048, .flash_attention = true}, again = plan;
    struct architecture a = shaped(ARCHITECTURE_GPT, 24, 2048, 16, 128);
    again.recompute = RECOMPUTE_OPERATIONS;
    struct step_prediction none = predict(a, plan, *a100(), "torchtitan");
    struct step_prediction some = predict(a, again, *a100(), "torchtitan");
    assert_close(some.terms[TIME_MATRICES], none.terms[TIME_MATRICES] * (3 + 6 / 12.0) / 3, 2e-3);
    assert_close(some.terms[TIME_ELEMENTWISE], none.terms[TIME_ELEMENTWISE] * 4 / 3, 1e-9);
    assert_close(some.terms[TIME_ATTENTION], none.terms[TIME_ATTENTION], 1e-12);
    const double reduced = 2 * 2048 * 2048.0 / 300e9; /* an all-reduce of two ranks; gathering is half of that */
    plan.tensor = again.tensor = 2;
    for (int i = 0; i < 2; i++, plan.sequence_parallel = again.sequence_parallel = true)
        assert_close(term_of(a, again, "torchtitan", TIME_TENSOR) - term_of(a, plan, "torchtitan", TIME_TENSOR),
                     24 * 2 * (i ? 0.5 : 1) * reduced, 1e-9);
}

/* Experts again: their products and two of four exchanges; what only has no products passes through memory. */
TEST(step_predict__modules_recomputed__what_they_have_once_more)
{
    struct architecture a = gpt(4, 1024, 16);
    struct training_plan plan = {.micro_batch = 4, .data = 8, .expert = 8, .sequence = 1024, .flash_attention = true};
    plan.balanced_experts = true;
    set_experts(&a, 8, 2, 4096);
    struct step_prediction none = predict(a, plan, *a100(), "megatron");
    plan.recompute = RECOMPUTE_SELECTIVE;
    plan.modules = MODULE_MOE;
    struct step_prediction moe = predict(a, plan, *a100(), "megatron");
    assert_close(moe.terms[TIME_EXPERT], 1.5 * none.terms[TIME_EXPERT], 1e-12);
    assert_close(moe.terms[TIME_MATRICES] - none.terms[TIME_MATRICES],
                 4 * 1024.0 * 4 * 2 * (2 * 2 * 1024 * 4096.0 + 1024 * 8) / 312e12, 1e-9);
    assert_true(moe.terms[TIME_ATTENTION] == none.terms[TIME_ATTENTION]);
    assert_true(moe.terms[TIME_ELEMENTWISE] > none.terms[TIME_ELEMENTWISE] &&
                moe.terms[TIME_ELEMENTWISE] < 4.0 / 3 * none.terms[TIME_ELEMENTWISE]);
    plan.modules = MODULE_LAYERNORM;
    struct step_prediction norms = predict(a, plan, *a100(), "megatron");
    assert_true(norms.terms[TIME_EXPERT] == none.terms[TIME_EXPERT]);
    assert_true(norms.terms[TIME_MATRICES] == none.terms[TIME_MATRICES]);
    assert_close(norms.terms[TIME_ELEMENTWISE] - none.terms[TIME_ELEMENTWISE], 4 * 4 * 1024 * 4 * 1024 / 3.0 / 2039e9,
                 1e-9);
    plan.modules = MODULE_CORE_ATTN;
    assert_close(term_of(a, plan, "megatron", TIME_ATTENTION), 4.0 / 3 * none.terms[TIME_ATTENTION], 1e-12);
}

/* Between the products of attention, torch's operations are more kernels than Megatron's one. A fused kernel is
 * TransformerEngine's, with modules that take longer, as Grace does for all. */
TEST(step_predict__scores_of_operations__launched)
{
    struct training_plan plan = {.sequence = 1};
    double fused = term(plan, "megatron", TIME_LAUNCH);
    plan.attention_kernel = ATTENTION_KERNEL_EAGER;
    assert_close(term(plan, "megatron", TIME_LAUNCH) - fused, 24 * 0.13, 1e-2);
    plan.flash_attention = true;
    assert_close(term(plan, "megatron", TIME_LAUNCH) - fused, 24 * 0.38, 1e-2);
    assert_close(predict(gpt(24, 512, 8), plan, on("GH200"), "megatron").terms[TIME_LAUNCH], 1.66 * 24 * 1.38, 1e-2);
}

/* Four GH200 are a mesh: two have a third of their links in common, and a ring of four uses all. */
TEST(step_predict__pair_of_a_mesh__the_links_between_them)
{
    const struct cluster mesh = {.device = device_find(NULL, "GH200"), .devices_per_node = 4};
    for (int64_t tensor = 2; tensor <= 4; tensor += 2) {
        const struct training_plan plan = {.tensor = tensor, .sequence = 2048};
        const double share = (double)(tensor - 1) / (double)tensor, volume = 2 * share * 2 * 2048 * 2048;
        assert_same(predict(gpt(24, 2048, 16), plan, mesh, "megatron").terms[TIME_TENSOR],
                    (24 * 4 + 2) * volume / ((double)(tensor - 1) * 150e9));
    }
}

/* Megatron-LM's kernel for scores takes 16 bits alone: in fp32 torch's operations compute them, as they do if told. */
TEST(step_predict__scores_in_fp32__without_a_kernel)
{
    for (int wide = 0; wide <= 1; wide++) {
        struct training_plan plan = {.sequence = 2048, .micro_batch = 8};
        plan.precision = wide ? PRECISION_TF32 : PRECISION_BF16;
        const double own = predict(gpt(24, 2048, 16), plan, *a100(), "megatron").seconds;
        plan.attention_kernel = ATTENTION_KERNEL_EAGER;
        const double told = predict(gpt(24, 2048, 16), plan, *a100(), "megatron").seconds;
        assert_true(wide ? own == told : own < told);
    }
}
