/* predict: layers that mix tokens by a recurrence, in memory and time; decoders of a length of their own. */
#include "predict/flops.h"
#include "predict/layer_memory.h"
#include "predict/mixer.h"
#include "predict/tuning.h"
#include "step_fixture.h"

static struct architecture stack(const char *pattern)
{
    struct architecture a = shaped(ARCHITECTURE_LLAMA, (int64_t)strlen(pattern), 1024, 8, 1000);
    a.hybrid_pattern = pattern;
    return a;
}

static double kept(const char *pattern, struct training_plan plan)
{
    const struct framework *f = framework_find("megatron");
    struct architecture a = stack(pattern);
    completed(&a, &plan);
    return layer_memory_kept(&a, &plan, &f->memory) / plan_tokens(&plan);
}

/* Megatron-LM's defaults at h = 1024: 32 heads of 64, 8 groups of 128. */
TEST(layer_memory_kept__mamba2__projection_and_gated_norm)
{
    const double h = 1024, u = 2048, x = u + 2 * 8 * 128, n = 32, layer = 2 * (u + x + n) + 4 * u;
    PLAN(plan, .sequence = 512, .flash_attention = true);
    assert_close(kept("MMMM", plan), 4 * h + layer, 1e-12);
    assert_close(kept("MMMM", BUT(plan, it.tensor = 2, it.sequence_parallel = true)), 2 * h + layer / 2, 1e-12);
    assert_close(kept("M*-M", plan), (2 * kept("MM", plan) + kept("**", plan) + kept("--", plan)) / 4, 1e-12);
    assert_close(kept("M*-M", BUT(plan, it.recompute = RECOMPUTE_FULL)), 2 * h, 1e-12);
}

/* The states of chunks are there in passing, and not kept. */
TEST(layer_memory_set__mamba2__states_of_chunks_in_passing)
{
    const struct framework *f = framework_find("megatron");
    struct training_plan plan = {.sequence = 512, .flash_attention = true};
    struct architecture a = stack("MM");
    completed(&a, &plan);
    double passing = (layer_memory_set(&a, &plan, &f->memory) - layer_memory_kept(&a, &plan, &f->memory)) / 512;
    assert_close(passing, 2 * 4096 + 8 * 2048 + 4 * 8 * 128, 1e-12);
}

TEST(mixer_bytes__other_mixers__by_hand)
{
    const double u = 32 * 128, x = u + 2 * 16 * 128, n = 32;
    const struct {
        const char *pattern;
        enum mixer mixer;
        double bytes;
    } cases[] = {{"GG", MIXER_GATED_DELTA, 2 * (x + u + 2 * n) + 4 * x + 4 * u + (128 + 6) * n + 4 * u},
                 {"MM", MIXER_MAMBA, 12 * 2048 + 2 * (64 + 32)},
                 {"MM", MIXER_LIGHTNING, 2 * (3 * 1024 + 1024) + 4 * 1024}};
    for (size_t i = 0; i < LENGTH(cases); i++) {
        PLAN(plan, .sequence = 512);
        struct architecture a = stack(cases[i].pattern);
        a.mixer = cases[i].mixer;
        completed(&a, &plan);
        assert_close(mixer_kept_bytes(&a), cases[i].bytes, 1e-12);
        assert_true(a.mixer != MIXER_LIGHTNING || mixer_passing_bytes(&a) == 0);
    }
}

/* Forward and backward at the rate of attention, but for the scan of Mamba-2, which takes half as long again. */
static double scan_seconds(struct architecture a, struct training_plan plan)
{
    struct token_flops token;
    completed(&a, &plan);
    flops_per_token(&a, &plan, ATTENTION_CAUSAL, &token);
    double flops = (a.mixer == MIXER_MAMBA2 ? 1.5 : 1) * token.scan + token.attention;
    return 3 * plan_tokens(&plan) * flops / device_find(NULL, "A100-80GB")->attention_flops;
}

/* It is bound by memory: GB200's is 3.9 times as fast as an A100's, its attention five times. */
TEST(step_predict__mixers__as_fast_as_memory)
{
    struct training_plan plan = {.sequence = 4096, .flash_attention = true};
    const struct cluster cluster = {.device = device_find(NULL, "GB200")};
    double seconds = predict(stack("M-M-"), plan, cluster, "megatron").terms[TIME_ATTENTION];
    assert_close(seconds, scan_seconds(stack("M-M-"), plan) * 16 / 3 * 2039 / 8000, 1e-9);
}

/* The scan does not grow with the square of the sequence, and a layer without attention has no ring. */
TEST(step_predict__mixers__linear_in_the_sequence)
{
    struct training_plan plan = {.sequence = 4096, .flash_attention = true};
    double one = term_of(stack("M-M-"), plan, "megatron", TIME_ATTENTION);
    assert_close(one, scan_seconds(stack("M-M-"), plan) * 16 / 3, 1e-9);
    plan.sequence = 8192;
    assert_close(term_of(stack("M-M-"), plan, "megatron", TIME_ATTENTION), 2 * one, 1e-12);
    struct architecture delta = stack("G-G-");
    delta.mixer = MIXER_GATED_DELTA;
    assert_close(term_of(delta, plan, "megatron", TIME_ATTENTION), scan_seconds(delta, plan) * 16 / 3, 1e-9);
    plan.context = 2;
    assert_true(term_of(stack("M-M-"), plan, "megatron", TIME_CONTEXT) == 0);
    double half = term_of(stack("M-*-"), plan, "megatron", TIME_CONTEXT);
    assert_close(term_of(stack("*-*-"), plan, "megatron", TIME_CONTEXT), 2 * half, 1e-12);
}

/* One all-reduce a block, as each layer of a pattern is one. */
TEST(step_predict__mixers_under_tensor_parallelism__one_collective_a_block)
{
    struct training_plan plan = {.sequence = 512, .tensor = 2};
    double pairs = term_of(stack("*-*-"), plan, "megatron", TIME_TENSOR_STEPS);
    assert_close(term_of(stack("M-*-"), plan, "megatron", TIME_TENSOR_STEPS), pairs, 1e-12);
    struct architecture whole = stack("M-*-");
    whole.hybrid_pattern = NULL;
    whole.layers = 2;
    assert_close(term_of(whole, plan, "megatron", TIME_TENSOR_STEPS), pairs, 1e-12);
}

/* --- T5 --- */

static struct architecture t5(void)
{
    struct architecture a = shaped(ARCHITECTURE_T5, 4, 256, 4, 1000);
    return a;
}

/* Half of the layers have a decoder's tokens, and all logits are theirs. */
TEST(step_predict__t5_decoder__its_own_tokens)
{
    struct training_plan plan = {.sequence = 1024, .flash_attention = true, .tensor = 2};
    struct step_prediction equal = predict(t5(), plan, *a100(), "megatron");
    struct step_prediction quarter = predict(t5(), BUT(plan, it.decoder_sequence = 256), *a100(), "megatron");
    assert_close(quarter.terms[TIME_LOGITS], equal.terms[TIME_LOGITS] / 4, 1e-12);
    assert_close(quarter.terms[TIME_TENSOR], equal.terms[TIME_TENSOR] * 5 / 8, 1e-12);
    assert_true(quarter.terms[TIME_ELEMENTWISE] < equal.terms[TIME_ELEMENTWISE] * 0.75);
}

TEST(memory_predict__t5_decoder_recomputing__checkpoints_of_its_tokens)
{
    const struct framework *f = framework_find("megatron");
    struct architecture a = t5();
    struct training_plan plan = {.sequence = 1024, .recompute = RECOMPUTE_FULL, .decoder_sequence = 256};
    completed(&a, &plan);
    assert_close(layer_memory_kept(&a, &plan, &f->memory), 2 * 1024 * 256 * 5.0 / 8, 1e-12);
}

/* A decoder block's own adapters, and half of those on what it reads of the encoder. */
TEST(tuning_passed__t5_decoder__its_own_tokens)
{
    struct architecture a = t5();
    PLAN(plan, .sequence = 1024, .tuning = TUNING_LORA, .lora_rank = 4,
         .lora_targets = TARGETS_OF_ATTENTION | TARGETS_OF_MLP | TARGET_HEAD);
    completed(&a, &plan);
    assert_close(tuning_passed(&a, &plan), tuning_trainable(&a, &plan, 0), 1e-12);
    plan.decoder_sequence = 256;
    const double block = 4 * 4 * 512, mlp = 2 * 4 * (256 + 1024), head = 4 * 1256;
    assert_close(tuning_passed(&a, &plan), 4 * (block + mlp) + 4 * (0.25 + 0.625) * block + mlp + head / 4, 1e-12);
    const struct framework *f = framework_find("hf-trainer");
    double less = tuning_kept(&a, &plan, &f->memory);
    plan.decoder_sequence = 1024;
    assert_true(less < 0.75 * tuning_kept(&a, &plan, &f->memory));
}
