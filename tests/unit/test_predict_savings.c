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
    assert_true(memory_predict(&a, &plan, &cluster, &c, &p));
    return p.first;
}

static struct step_prediction time_of(struct training_plan plan, int64_t experts, int64_t devices_per_node)
{
    struct architecture a = mixture(experts);
    struct cluster cluster = {.device = device_find(NULL, "A100-80GB"), .devices_per_node = devices_per_node};
    struct step_prediction s = {0};
    completed(&a, &plan);
    FAIL_IF(cluster_complete(&cluster, &e) || !step_predict(&a, &plan, &cluster, framework_find("torch-ddp"), &s));
    return s;
}

static double activations_of(struct training_plan plan)
{
    return memory_of(plan, 0).terms[MEMORY_ACTIVATIONS];
}

TEST(memory_predict__some_layers_recompute__the_others_keep)
{
    const double full = activations_of(usual), none = activations_of(BUT(usual, it.recompute = RECOMPUTE_NONE));
    const double inputs = 8 * 2 * 1024; /* token ids, whatever is recomputed */
#define SOME(layers, method) BUT(usual, it.recompute_layers = layers, it.recompute_method = RECOMPUTE_##method)
    assert_same(activations_of(BUT(usual, it.recompute_every = 2)), (none + full) / 2);
    assert_same(activations_of(BUT(usual, it.recompute_every = 3)), full / 4 + none * 3 / 4);
    assert_same(activations_of(SOME(6, BLOCK)), full * 3 / 4 + none / 4);
    assert_same(activations_of(SOME(9, BLOCK)), full);
    assert_same(activations_of(SOME(4, UNIFORM)) - inputs, (full - inputs) / 4);
}

/* As under a memory budget of torch.compile, which also fuses what the others do. */
TEST(memory_predict__some_layers_recompute__the_others_drop_modules)
{
    const struct training_plan plan = BUT(usual, it.modules = MODULE_LAYERNORM | MODULE_MLP_ACT);
    const double selective = activations_of(BUT(plan, it.recompute = RECOMPUTE_SELECTIVE));
    assert_same(activations_of(BUT(plan, it.recompute_layers = 4)), (selective + activations_of(plan)) / 2);
    assert_true(selective < activations_of(BUT(usual, it.recompute = RECOMPUTE_NONE)));
}

TEST(memory_predict__groups_of_layers_recompute__all_there_at_once)
{
    const double passing = (4 + 4 * 4) * 2 * 1024 * 1024.0; /* gradients of one layer at a time */
    assert_same(memory_of(SOME(4, UNIFORM), 0).terms[MEMORY_WORKING] - passing,
                4 * (memory_of(usual, 0).terms[MEMORY_WORKING] - passing));
}

TEST(step_predict__some_layers_recompute__less_time)
{
    const struct training_plan half = BUT(usual, it.recompute_every = 2);
    assert_same(plan_recompute_share(&half, 8), 0.5);
    assert_true(time_of(half, 0, 8).seconds < time_of(usual, 0, 8).seconds);
}

/* With adapters between nodes slow enough that nothing hides all of it, what is hidden is the time of what
 * computes; of what all of it hides counts what it slows the computing. */
TEST(step_predict__overlapped__only_what_is_longer)
{
    const double weight = framework_find("torch-ddp")->time.nominal[TIME_DATA_INTER];
    struct training_plan plan = BUT(usual, it.data = 2, it.recompute = RECOMPUTE_NONE, it.zero_stage = 1);
    const struct step_prediction apart = time_of(plan, 0, 1);
    double gradients = time_of(BUT(plan, it.overlap_gradients = true), 0, 1).terms[TIME_DATA_INTER];
    const struct training_plan hidden = BUT(plan, it.overlap_gradients = it.overlap_parameters = true);
    const struct step_prediction both = time_of(hidden, 0, 1);
    assert_true(apart.terms[TIME_DATA_INTER] > gradients && gradients > 0);
    assert_same(weight * (apart.terms[TIME_DATA_INTER] - gradients),
                2 * (weight * (gradients - both.terms[TIME_DATA_INTER])));
    assert_same(apart.terms[TIME_MATRICES], both.terms[TIME_MATRICES]);
    assert_same(time_of(BUT(hidden, it.sequence = 65536), 0, 8).terms[TIME_DATA_INTRA],
                0.189 / 1.189 * time_of(BUT(plan, it.sequence = 65536), 0, 8).terms[TIME_DATA_INTRA]);
}

TEST(step_predict__layer_traffic_overlapped__hidden)
{
    const struct training_plan cut = BUT(usual, it.tensor = 2), sparse = BUT(usual, it.data = it.expert = 8);
    assert_true(time_of(BUT(cut, it.overlap_tensor = true), 0, 8).terms[TIME_TENSOR] <
                time_of(cut, 0, 8).terms[TIME_TENSOR]);
    assert_true(time_of(BUT(sparse, it.overlap_expert = true), 8, 8).terms[TIME_EXPERT] <
                time_of(sparse, 8, 8).terms[TIME_EXPERT]);
}

static double expert_traffic(enum expert_dispatcher dispatcher, int64_t devices_per_node)
{
    const struct training_plan plan = BUT(usual, it.data = it.expert = 16, it.dispatcher = dispatcher);
    return time_of(plan, 64, devices_per_node).terms[TIME_EXPERT];
}

TEST(step_predict__dispatchers__copies_of_a_token)
{
    const double each = expert_traffic(DISPATCH_ALL_TO_ALL, 8), within = expert_traffic(DISPATCH_ALL_TO_ALL, 16);
    assert_same(expert_traffic(DISPATCH_ALL_GATHER, 8) / each, 16.0 / 4);
    /* Of two nodes all-to-all counts the other alone, twice, and DeepEP all ranks but the own one. */
    assert_same(expert_traffic(DISPATCH_ONCE, 8) / each, 2 * (1 - 1.0 / 16) * (15.0 / 16) / (2 * 4 * 1.0 / 2));
    assert_same(expert_traffic(DISPATCH_ONCE, 16) / within, 16 * (1 - pow(15.0 / 16, 4)) / 4);
}

TEST(memory_predict__all_gathered_tokens__there_at_once)
{
    const struct training_plan each = BUT(usual, it.data = it.expert = 8);
    const struct training_plan all = BUT(each, it.dispatcher = DISPATCH_ALL_GATHER);
    assert_same(memory_of(all, 8).terms[MEMORY_WORKING] - memory_of(each, 8).terms[MEMORY_WORKING],
                2 * 2048 * 1024.0 * 7);
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
    set_experts(&a, 8, 2, 4096);
#define AGAIN(...)                                                                                                     \
    predict(a,                                                                                                         \
            PLANNED(.micro_batch = 4, .data = 8, .expert = 8, .sequence = 1024, .flash_attention = true,               \
                    .balanced_experts = true, __VA_ARGS__),                                                            \
            *a100(), "megatron")
    struct step_prediction none = AGAIN(.recompute = RECOMPUTE_NONE);
    struct step_prediction moe = AGAIN(.recompute = RECOMPUTE_SELECTIVE, .modules = MODULE_MOE);
    struct step_prediction norms = AGAIN(.recompute = RECOMPUTE_SELECTIVE, .modules = MODULE_LAYERNORM);
    struct step_prediction scores = AGAIN(.recompute = RECOMPUTE_SELECTIVE, .modules = MODULE_CORE_ATTN);
    assert_close(moe.terms[TIME_EXPERT], 1.5 * none.terms[TIME_EXPERT], 1e-12);
    assert_close(moe.terms[TIME_MATRICES] - none.terms[TIME_MATRICES],
                 4 * 1024.0 * 4 * 2 * (2 * 2 * 1024 * 4096.0 + 1024 * 8) / 312e12, 1e-9);
    assert_true(moe.terms[TIME_ATTENTION] == none.terms[TIME_ATTENTION]);
    assert_true(moe.terms[TIME_ELEMENTWISE] > none.terms[TIME_ELEMENTWISE] &&
                moe.terms[TIME_ELEMENTWISE] < 4.0 / 3 * none.terms[TIME_ELEMENTWISE]);
    assert_true(norms.terms[TIME_EXPERT] == none.terms[TIME_EXPERT]);
    assert_true(norms.terms[TIME_MATRICES] == none.terms[TIME_MATRICES]);
    assert_close(norms.terms[TIME_ELEMENTWISE] - none.terms[TIME_ELEMENTWISE], 4 * 4 * 1024 * 4 * 1024 / 3.0 / 2039e9,
                 1e-9);
    assert_close(scores.terms[TIME_ATTENTION], 4.0 / 3 * none.terms[TIME_ATTENTION], 1e-12);
}

/* Four GH200 are a mesh: two have a third of their links in common, and a ring of four uses all. */
TEST(step_predict__pair_of_a_mesh__the_links_between_them)
{
    const struct cluster mesh = {.device = device_find(NULL, "GH200"), .devices_per_node = 4};
    for (int64_t tensor = 2; tensor <= 4; tensor += 2) {
        const struct training_plan plan = {.tensor = tensor, .sequence = 2048};
        const double share = (double)(tensor - 1) / (double)tensor, volume = 2 * share * 2 * 2048 * 2048;
        assert_same(term_on(mesh, plan, "megatron", TIME_TENSOR),
                    (24 * 4 + 2) * volume / ((double)(tensor - 1) * 150e9));
    }
}
