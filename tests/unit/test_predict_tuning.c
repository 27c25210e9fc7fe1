/* predict: fine-tuning with adapters, of frozen and of quantised weights; parts of layers that keep more or less. */
#include "frameworks.h"
#include "predict/flops.h"
#include "predict/inputs.h"
#include "predict/layer_memory.h"
#include "predict/memory.h"
#include "predict/step_time.h"
#include "predict/tuning.h"
#include "predict_fixture.h"

#define LAYERS 4
#define HIDDEN 256.0
#define FFN 512.0
#define KV 64.0
#define VOCAB 1000.0
#define BLOCK (2 * HIDDEN * HIDDEN + 2 * HIDDEN * KV + 3 * HIDDEN * FFN)

static struct architecture llama(void)
{
    struct architecture a = shaped(ARCHITECTURE_LLAMA, LAYERS, (int64_t)HIDDEN, 8, (int64_t)VOCAB);
    a.kv_heads = 2;
    a.ffn = (int64_t)FFN;
    return a;
}

static const struct training_plan lora = {.tuning = TUNING_LORA,
                                          .lora_rank = 4,
                                          .lora_targets = TARGETS_OF_ATTENTION,
                                          .sequence = 32,
                                          .flash_attention = true,
                                          .micro_batch = 2};

static struct memory_prediction predict(struct architecture a, struct training_plan plan, const char *framework)
{
    struct memory_prediction p;
    const struct cluster cluster = {.devices_per_node = 8};
    completed(&a, &plan);
    FAIL_IF(memory_predict(&a, &plan, &cluster, &framework_find(framework)->memory, &p, &e));
    return p;
}

TEST(memory_predict__lora__parameters_of_its_targets)
{
    struct training_plan plan = lora;
    const double q_o = 2 * (HIDDEN + HIDDEN), k_v = 2 * (HIDDEN + KV), mlp = 3 * (HIDDEN + FFN);
    assert_close(predict(llama(), plan, "hf-trainer").trainable, LAYERS * 4 * (q_o + k_v), 0);
    plan.lora_targets |= TARGETS_OF_MLP;
    assert_close(predict(llama(), plan, "hf-trainer").trainable, LAYERS * 4 * (q_o + k_v + mlp), 0);
    assert_close(predict(llama(), BUT(plan, it.lora_targets = TARGET_QKV | TARGET_HEAD), "hf-trainer").trainable,
                 LAYERS * 4 * (HIDDEN + HIDDEN + 2 * KV) + 4 * (HIDDEN + VOCAB), 0);
    plan.lora_targets = TARGET_Q | TARGET_V;
    plan.tuning = TUNING_DORA;
    assert_close(predict(llama(), plan, "hf-trainer").trainable, LAYERS * (4 * (3 * HIDDEN + KV) + HIDDEN + KV), 0);
}

/* peft tuners: adalora has a singular value for each rank, ia3 a vector, oft blocks, vera two vectors. */
TEST(memory_predict__other_adapters__parameters_of_their_targets)
{
    ROWS(cases, enum tuning tuning; double want) = {{TUNING_ADALORA, 4 * (HIDDEN + KV + 1) + 4 * (FFN + HIDDEN + 1)},
                                                    {TUNING_IA3, KV + FFN},
                                                    {TUNING_OFT, (HIDDEN + FFN) * 3 / 2},
                                                    {TUNING_VERA, 4 + KV + 4 + HIDDEN}};
    struct training_plan plan = lora;
    plan.lora_targets = TARGET_K | TARGET_DOWN;
    for (size_t i = 0; i < LENGTH(cases); i++) {
        plan.tuning = cases[i].tuning;
        assert_close(predict(llama(), plan, "hf-trainer").trainable, LAYERS * cases[i].want, 0);
    }
}

TEST(memory_predict__lora_on_experts__one_of_each)
{
    struct architecture a = llama();
    struct training_plan plan = lora;
    set_experts(&a, 8, 2, 0);
    plan.lora_targets = TARGET_UP;
    assert_close(predict(a, plan, "hf-trainer").trainable, LAYERS * 8 * 4 * (HIDDEN + FFN), 0);
}

/* Returns what is held on every rank: frozen weights alone, and 16 bytes for each parameter of adapters in fp32. */
static double states_of(struct training_plan plan)
{
    const struct memory_prediction p = predict(llama(), plan, "hf-trainer");
    return p.most.terms[MEMORY_UNSHARDED] + p.most.terms[MEMORY_SHARDED];
}

TEST(memory_predict__quantised__bytes_of_states)
{
    const double adapters = LAYERS * 4 * (2 * (HIDDEN + HIDDEN) + 2 * (HIDDEN + KV));
    const double blocks = LAYERS * BLOCK, rest = 2 * VOCAB * HIDDEN + (2 * LAYERS + 1) * HIDDEN;
    static const double bytes[QUANTIZATION_END] = {[QUANTIZATION_NONE] = 2,
                                                   [QUANTIZATION_NF4] = 0.5625,
                                                   [QUANTIZATION_NF4_DOUBLE] = 0.515869140625,
                                                   [QUANTIZATION_GPTQ] = 0.51953125,
                                                   [QUANTIZATION_INT8] = 1,
                                                   [QUANTIZATION_FP8] = 1,
                                                   [QUANTIZATION_AQLM] = 0.25,
                                                   [QUANTIZATION_EETQ] = 1,
                                                   [QUANTIZATION_HQQ] = 0.5625,
                                                   [QUANTIZATION_TORCHAO_INT4] = 0.53125,
                                                   [QUANTIZATION_TORCHAO_INT8] = 1};
    struct training_plan plan = lora;
    for (int q = 0; q < QUANTIZATION_END; q++) {
        plan.quantization = (enum quantization)q;
        assert_close(states_of(plan), bytes[q] * blocks + 2 * rest + 16 * adapters, 1e-12);
    }
    plan.quantization = QUANTIZATION_INT8;
    assert_close(states_of(BUT(plan, it.kbit_preparation = true)), blocks + 4 * rest + 16 * adapters, 1e-12);
    assert_close(states_of(BUT(lora, it.zero_stage = 3, it.data = 4)), (2 * blocks + 2 * rest + 16 * adapters) / 4,
                 1e-12);
}

/* A copy in the type of the weights, or in fp32 after the preparation, with its gradient and both moments. */
TEST(memory_predict__modules_trained_whole__a_copy_with_its_states)
{
    struct training_plan plan = lora, saved = lora;
    saved.saved_modules = SAVED_EMBEDDING | SAVED_HEAD;
    assert_close(states_of(saved) - states_of(plan), 2 * VOCAB * HIDDEN * 8, 1e-9);
    assert_close(predict(llama(), saved, "hf-trainer").trainable,
                 predict(llama(), plan, "hf-trainer").trainable + 2 * VOCAB * HIDDEN, 0);
    plan.quantization = saved.quantization = QUANTIZATION_NF4;
    plan.kbit_preparation = saved.kbit_preparation = true;
    assert_close(states_of(saved) - states_of(plan), 2 * VOCAB * HIDDEN * 16, 1e-9);
}

/* tuning.h: with adapters in fp32 each target has a copy of its input; what is frozen keeps none. */
TEST(tuning_kept__llama__terms_of_the_header)
{
    struct architecture a = llama();
    struct training_plan plan = lora;
    struct memory_coefficients c = framework_find("hf-trainer")->memory;
    const double heads = 4 * (HIDDEN + KV), mlp = 6 * FFN;
    completed(&a, &plan);
    assert_close(tuning_kept(&a, &plan, &c), 8 * HIDDEN + 12 * HIDDEN + heads + 4 * HIDDEN + mlp, 1e-12);
    plan.norms = NORMS_FUSED;
    assert_close(tuning_kept(&a, &plan, &c), 4 * HIDDEN + 12 * HIDDEN + heads + 4 * HIDDEN + mlp, 1e-12);
    plan.quantization = QUANTIZATION_NF4;
    assert_close(tuning_kept(&a, &plan, &c), 4 * HIDDEN + 2 * HIDDEN + heads + mlp, 1e-12);
    plan.kbit_preparation = true; /* and so hidden states, in which 4-bit products answer, but not those in 8 */
    assert_close(tuning_kept(&a, &plan, &c), 4 * HIDDEN + 2 * HIDDEN + heads + 2 * mlp, 1e-12);
    assert_close(tuning_passing(&a, &plan, &c), 12 * FFN, 1e-12);
    plan.quantization = QUANTIZATION_INT8;
    assert_close(tuning_kept(&a, &plan, &c), 4 * HIDDEN + 2 * HIDDEN + heads + mlp, 1e-12);
    plan.quantization = QUANTIZATION_NF4;
    plan.kbit_preparation = false;
    plan.lora_dropout = true;
    assert_close(tuning_kept(&a, &plan, &c), 4 * HIDDEN + 9 * HIDDEN + heads + 3 * HIDDEN + mlp, 1e-12);
    assert_close(tuning_passing(&a, &plan, &c), 6 * FFN, 1e-12);
    assert_close(tuning_dense_matrices(&a, &plan, false), 2 * HIDDEN * FFN, 1e-12);
}

/* transformers' softmax of scores is in fp32, of which every layer keeps 6 bytes in place of 2 unless it recomputes. */
TEST(memory_predict__scores_of_a_llama__softmax_in_fp32)
{
    const double scores = 2 * 32 * 8 * 32;
    const struct cluster cluster = {.devices_per_node = 8};
    struct memory_coefficients c = framework_find("hf-trainer")->memory;
    struct architecture a = llama();
    assert_true(framework_find("deepspeed")->memory.wide_scores == c.wide_scores);
    c.phases = 0;
    for (int full = 0; full < 2; full++)
        for (int adapters = 0; adapters < 2; adapters++) {
            struct training_plan plan = adapters ? lora : (struct training_plan){.sequence = 32, .micro_batch = 2};
            struct memory_prediction eager, flash;
            plan.recompute = full ? RECOMPUTE_FULL : RECOMPUTE_NONE;
            plan.flash_attention = false;
            completed(&a, &plan);
            FAIL_IF(memory_predict(&a, &plan, &cluster, &c, &eager, &e));
            plan.flash_attention = true;
            FAIL_IF(memory_predict(&a, &plan, &cluster, &c, &flash, &e));
            const double *with = eager.most.terms, *without = flash.most.terms;
            assert_close(with[MEMORY_ACTIVATIONS] - without[MEMORY_ACTIVATIONS],
                         full ? 0 : c.fragmentation * LAYERS * 6 * scores, 1e-9);
            assert_close(with[MEMORY_WORKING] - without[MEMORY_WORKING], (full || !adapters ? 12 : 10) * scores, 1e-9);
        }
}

/* What torch's operations unpacked of GPTQ's weights is kept for the backward pass; a kernel unpacks again. */
TEST(memory_predict__gptq_unpacked__matrices_until_the_backward_pass)
{
    struct training_plan plan = lora;
    const double fragmentation = framework_find("deepspeed")->memory.fragmentation, passing = 2 * 32 * 6 * FFN;
    plan.quantization = QUANTIZATION_GPTQ;
    for (int full = 0; full < 2; full++) {
        plan.recompute = full ? RECOMPUTE_FULL : RECOMPUTE_NONE;
        plan.quantized_by = QUANTIZED_FUSED;
        const struct memory_prediction fused = predict(llama(), plan, "deepspeed");
        plan.quantized_by = QUANTIZED_UNPACKED;
        const struct memory_prediction kept = predict(llama(), plan, "deepspeed");
        const double bytes = predict(llama(), plan, "hf-trainer").most.bytes;
        plan.quantized_by = QUANTIZED_FRAMEWORK;
        assert_true(predict(llama(), plan, "hf-trainer").most.bytes == bytes);
        const double *with = kept.most.terms, *without = fused.most.terms;
        assert_close(with[MEMORY_ACTIVATIONS] - without[MEMORY_ACTIVATIONS],
                     full ? 0 : fragmentation * LAYERS * 2 * BLOCK, 1e-9);
        assert_close(with[MEMORY_WORKING] - without[MEMORY_WORKING],
                     (full ? 2 * BLOCK : 0) + 3 * HIDDEN * FFN - (passing + 2 * HIDDEN * FFN), 1e-9);
    }
}

TEST(memory_predict__frozen_layers__no_states_and_nothing_kept)
{
    PLAN(plan, .sequence = 32, .micro_batch = 2, .flash_attention = true, .recompute = RECOMPUTE_FULL);
    struct memory_prediction all = predict(llama(), plan, "megatron");
    plan.frozen_layers = 3;
    struct memory_prediction last = predict(llama(), plan, "megatron");
    const double frozen = 3 * (BLOCK + 2 * HIDDEN) + VOCAB * HIDDEN;
    assert_close(all.trainable - last.trainable, frozen, 0);
    assert_close(all.most.terms[MEMORY_UNSHARDED] - last.most.terms[MEMORY_UNSHARDED], frozen * 16, 1e-12);
    plan.frozen_layers = 5;
    struct architecture a = llama();
    FAIL_IF(architecture_complete(&a, &e));
    FAILS_WITH(plan_complete(&plan, &a, &e), "frozen_layers = 5 is more than layers = 4");
}

/* GPT-BigCode's LayerNorms give fp32 under autocast, and bitsandbytes' 4-bit products answer in it: checkpoints are
 * twice as large, and as many bytes pass through device memory as where the model is prepared for k-bit training. */
TEST(memory_predict__layer_norms_before_4_bits__hidden_states_in_fp32)
{
    ROWS(cases, const char *framework; enum quantization quantization; bool rms_norm, wide) = {
        {"hf-trainer", QUANTIZATION_NF4_DOUBLE, false, true}, {"hf-trainer", QUANTIZATION_NF4, false, true},
        {"hf-trainer", QUANTIZATION_NF4, true, false},        {"hf-trainer", QUANTIZATION_GPTQ, false, false},
        {"hf-trainer", QUANTIZATION_NONE, false, false},      {"deepspeed", QUANTIZATION_NF4, false, false},
    };
    for (size_t i = 0; i < LENGTH(cases); i++) {
        struct architecture a = gpt(LAYERS, (int64_t)HIDDEN, 8);
        struct training_plan plan = lora, prepared;
        const struct memory_coefficients *c = &framework_find(cases[i].framework)->memory;
        a.rms_norm = cases[i].rms_norm;
        plan.quantization = cases[i].quantization;
        plan.recompute = RECOMPUTE_FULL;
        completed(&a, &plan);
        prepared = plan;
        prepared.kbit_preparation = true;
        assert_int_equal(tuning_is_wide(&a, &plan, c), cases[i].wide);
        assert_true(tuning_is_wide(&a, &prepared, c));
        double kept = predict(a, plan, cases[i].framework).most.terms[MEMORY_ACTIVATIONS];
        double twice = predict(a, prepared, cases[i].framework).most.terms[MEMORY_ACTIVATIONS];
        const double checkpoints = c->fragmentation * 2 * 32 * LAYERS * 2 * HIDDEN;
        assert_close(twice - kept, cases[i].wide ? 0 : checkpoints, 1e-9);
        double traffic = tuning_traffic(&a, &plan, c, 2), all = tuning_traffic(&a, &prepared, c, 2);
        assert_close(all / traffic, cases[i].wide ? 1 : 2, 1e-12);
    }
}

static void refused(struct training_plan plan, const char *expected)
{
    struct architecture a = llama();
    struct error e = ERROR_INIT;
    assert_int_equal(architecture_complete(&a, &e), 0);
    assert_int_equal(plan_complete(&plan, &a, &e), -1);
    FAIL_WHERE(!strstr(e.text, expected), "\"%s\" lacks \"%s\"", e.text, expected);
}

/* Transformers' GPTBigCode: layers that recompute hand out a view of queries, keys and values, which is there with the
 * logits, and the loss widens nothing but what autocast does. */
TEST(memory_predict__gpt_bigcode__cache_and_a_loss_in_16_bits)
{
    ROWS(cases, const char *framework; int64_t kv_heads; bool parallel; enum tuning tuning; enum recompute recompute;
         enum loss_kernel loss; double per_logit, cache, hidden) = {
        {"hf-trainer", 1, false, TUNING_FULL, RECOMPUTE_FULL, LOSS_EAGER, 6, 2, 2},
        {"hf-trainer", 1, false, TUNING_FULL, RECOMPUTE_FULL, LOSS_FUSED, 4, 2, 2},
        {"hf-trainer", 1, false, TUNING_FULL, RECOMPUTE_NONE, LOSS_EAGER, 6, 0, 2},
        {"hf-trainer", 1, false, TUNING_LORA, RECOMPUTE_FULL, LOSS_EAGER, 12, 4, 6},
        {"hf-trainer", 1, false, TUNING_LORA, RECOMPUTE_FULL, LOSS_FUSED, 8, 4, 6},
        {"hf-trainer", 1, true, TUNING_FULL, RECOMPUTE_FULL, LOSS_EAGER, 12, 0, 2},
        {"hf-trainer", 8, false, TUNING_FULL, RECOMPUTE_FULL, LOSS_EAGER, 12, 0, 2},
        {"torchtitan", 1, false, TUNING_FULL, RECOMPUTE_FULL, LOSS_EAGER, 0, 0, 2},
    };
    for (size_t i = 0; i < LENGTH(cases); i++) {
        struct architecture a = gpt(LAYERS, (int64_t)HIDDEN, 8);
        struct training_plan plan = {.sequence = 32, .micro_batch = 512, .flash_attention = true};
        const struct memory_coefficients *c = &framework_find(cases[i].framework)->memory;
        double logit = cases[i].per_logit > 0 ? cases[i].per_logit : c->logit_bytes + c->logit_slack;
        if (cases[i].tuning == TUNING_LORA)
            plan = lora;
        plan.quantization = cases[i].tuning == TUNING_LORA ? QUANTIZATION_NF4 : QUANTIZATION_NONE;
        plan.recompute = cases[i].recompute;
        plan.loss = cases[i].loss;
        plan.micro_batch = 512;
        a.kv_heads = cases[i].kv_heads;
        a.parallel_blocks = cases[i].parallel;
        double queries_keys_and_values = HIDDEN + 2 * HIDDEN / 8;
        double of_token =
            logit * (double)a.vocab + cases[i].hidden * HIDDEN + LAYERS * cases[i].cache * queries_keys_and_values;
        assert_close(predict(a, plan, cases[i].framework).most.terms[MEMORY_LOGITS], 512 * 32 * of_token, 1e-9);
    }
}

/* What reads logits in 16 bits keeps half; those of a model prepared for k-bit training are in fp32. */
TEST(memory_predict__narrow_loss__half_of_the_logits)
{
    const double logits = 512 * 32 * VOCAB;
    for (int prepared = 0; prepared < 2; prepared++) {
        struct training_plan plan = lora;
        plan.recompute = RECOMPUTE_FULL;
        plan.quantization = QUANTIZATION_NF4;
        plan.kbit_preparation = prepared;
        plan.micro_batch = 512;
        const double wide = predict(llama(), plan, "deepspeed").most.terms[MEMORY_LOGITS];
        plan.narrow_loss = true;
        const double narrow = predict(llama(), plan, "deepspeed").most.terms[MEMORY_LOGITS];
        assert_close(wide - narrow, prepared ? 0 : 6 * logits, 1e-9);
        plan.loss = LOSS_FUSED;
        const double fused = predict(llama(), plan, "deepspeed").most.terms[MEMORY_LOGITS];
        assert_close(wide - fused, 4 * logits, 1e-9);
    }
}

/* Under accelerate FSDP has all gradients of its weights until the last micro-batch. */
TEST(memory_predict__gradients_of_fsdp__whole_while_accumulated)
{
    PLAN(plan, .data = 8, .zero_stage = 3, .sequence = 32, .micro_batches = 2, .recompute = RECOMPUTE_FULL);
    const struct memory_prediction whole = predict(llama(), plan, "hf-trainer");
    assert_close(whole.most.terms[MEMORY_UNSHARDED], 2 * whole.most.parameters, 1e-9);
    plan.syncs_each_batch = true;
    assert_true(predict(llama(), plan, "hf-trainer").most.terms[MEMORY_UNSHARDED] == 0);
    plan.syncs_each_batch = false;
    assert_true(predict(llama(), plan, "fsdp").most.terms[MEMORY_UNSHARDED] == 0);
    assert_true(predict(llama(), BUT(plan, it.micro_batches = 1), "hf-trainer").most.terms[MEMORY_UNSHARDED] == 0);
}

/* FSDP gathers weights in fp32 in the 16 bits of its products. */
TEST(memory_predict__sharded_adapters_over_fp32_weights__gathered_in_16_bits)
{
    struct training_plan plan = lora;
    plan.data = 8;
    plan.zero_stage = 3;
    const double narrow = predict(llama(), plan, "hf-trainer").most.terms[MEMORY_BUFFERS];
    plan.weights = WEIGHTS_FP32;
    assert_close(predict(llama(), plan, "hf-trainer").most.terms[MEMORY_BUFFERS], narrow, 1e-12);
    plan.precision = PRECISION_FP32;
    assert_close(predict(llama(), plan, "hf-trainer").most.terms[MEMORY_BUFFERS], 2 * narrow, 1e-12);
}

/* A loop that has a pass's output until the next one's: its logits in fp32, and the keys and values of all layers. At
 * the loss there are those of two passes, but where what layers keep has the later ones anyway. */
TEST(memory_predict__held_outputs__logits_and_cache_of_the_pass_before)
{
    ROWS(cases, enum held_outputs held; enum recompute recompute; enum loss_kernel loss; double logits, caches;
         bool narrow) = {
        {HELD_LOGITS, RECOMPUTE_FULL, LOSS_EAGER, 4, 0, false}, {HELD_LOGITS, RECOMPUTE_FULL, LOSS_EAGER, 2, 0, true},
        {HELD_CACHE, RECOMPUTE_FULL, LOSS_EAGER, 4, 2, false},  {HELD_CACHE, RECOMPUTE_NONE, LOSS_EAGER, 4, 1, false},
        {HELD_CACHE, RECOMPUTE_FULL, LOSS_LINEAR, 0, 2, false},
    };
    const double cache = LAYERS * 2 * 2 * 2 * HIDDEN / 8; /* of a token, of two heads of eight */
    for (size_t i = 0; i < LENGTH(cases); i++) {
        struct training_plan plan = lora;
        plan.recompute = cases[i].recompute;
        plan.loss = cases[i].loss;
        plan.narrow_loss = cases[i].narrow;
        plan.micro_batch = 512;
        const double none = predict(llama(), plan, "deepspeed").most.terms[MEMORY_LOGITS];
        plan.held = cases[i].held;
        const double held = predict(llama(), plan, "deepspeed").most.terms[MEMORY_LOGITS];
        assert_close(held - none, 512 * 32 * (cases[i].logits * VOCAB + cases[i].caches * cache), 1e-9);
        plan.pipeline = 2;
        const double stages = predict(llama(), BUT(plan, it.held = HELD_NONE), "deepspeed").most.bytes;
        plan.held = cases[i].held;
        assert_close(predict(llama(), plan, "deepspeed").most.bytes, stages, 1e-12);
    }
}

TEST(plan_complete__adapters_without_what_they_need__refused)
{
    refused(BUT(lora, it.lora_targets = 0), "adapters need lora_targets, the modules to which they are added");
    refused(BUT(lora, it.lora_rank = 0), "adapters need lora_rank");
    refused(BUT(lora, it.frozen_layers = 1), "frozen_layers has no effect, because adapters freeze all layers");
    struct training_plan plan = lora;
    plan.recompute = RECOMPUTE_OPERATIONS;
    refused(plan, "selective recomputation by operation or module is not known for adapters");
    plan = (struct training_plan){.sequence = 32, .quantization = QUANTIZATION_NF4};
    refused(plan, "quantization and kbit_preparation need peft");
    plan = (struct training_plan){.sequence = 32, .mean_tokens = 16};
    refused(plan, "mean_tokens, the average number of tokens in a sequence, needs padding_free");
}

/* Without the mean, sequences count as full. */
TEST(plan_complete__padding_free_of_unknown_length__in_full)
{
    struct training_plan full = {.sequence = 32, .micro_batch = 2}, free_of = full;
    free_of.padding_free = true;
    assert_close(predict(llama(), free_of, "hf-trainer").most.bytes, predict(llama(), full, "hf-trainer").most.bytes,
                 0);
}

/* A sweep over peft has the keys of adapters beside peft = "full", too. */
TEST(plan_complete__keys_of_adapters_without_any__not_read)
{
    struct architecture a = llama();
    struct training_plan plan = lora, without = {.sequence = lora.sequence, .micro_batch = lora.micro_batch};
    plan.tuning = TUNING_FULL;
    plan.lora_dropout = true;
    without.flash_attention = lora.flash_attention;
    assert_close(predict(a, plan, "hf-trainer").most.bytes, predict(a, without, "hf-trainer").most.bytes, 0);
}

/* Frozen matrices have no gradients of their own; a leading frozen layer has no backward pass at all. */
TEST(flops_per_step__frozen__passes_that_are_left)
{
    struct architecture a = llama();
    struct training_plan full = {.sequence = 32}, adapted = lora, frozen = {.sequence = 32, .frozen_layers = 2};
    struct step_flops all, of_adapters, of_rest;
    struct token_flops token;
    adapted.micro_batch = 1;
    completed(&a, &full);
    completed(&a, &adapted);
    completed(&a, &frozen);
    flops_per_token(&a, &full, ATTENTION_FULL, &token);
    flops_per_step(&a, &full, ATTENTION_FULL, &all);
    flops_per_step(&a, &adapted, ATTENTION_FULL, &of_adapters);
    flops_per_step(&a, &frozen, ATTENTION_FULL, &of_rest);
    assert_close(all.model - of_adapters.model,
                 32 * (token.matrices + token.head - 6 * tuning_trainable(&a, &adapted, 0)), 1e-12);
    assert_close(all.model - of_rest.model, 32 * (token.matrices + token.attention), 1e-12);
}

static double seconds_of(struct training_plan plan)
{
    struct architecture a = llama();
    struct cluster cluster = {.device = device_find(NULL, "A100-80GB"), .devices_per_node = 8};
    struct step_prediction s = {.seconds = 0};
    a.hidden = 4096;
    a.ffn = 16384;
    plan.micro_batch = 16;
    plan.sequence = 2048;
    completed(&a, &plan);
    FAIL_IF(cluster_complete(&cluster, &e) || step_predict(&a, &plan, &cluster, framework_find("hf-trainer"), &s, &e));
    return s.seconds;
}

TEST(step_predict__adapters__between_a_forward_pass_and_all)
{
    struct training_plan full = {.flash_attention = true}, frozen = full, quantised = lora, prepared, dropped = lora;
    frozen.frozen_layers = LAYERS;
    quantised.quantization = QUANTIZATION_NF4;
    prepared = quantised;
    prepared.kbit_preparation = dropped.lora_dropout = true;
    assert_true(seconds_of(lora) < seconds_of(full));
    assert_true(seconds_of(frozen) < seconds_of(lora));
    assert_true(seconds_of(frozen) < seconds_of(quantised));
    assert_true(seconds_of(dropped) > seconds_of(lora));
    assert_true(seconds_of(prepared) > seconds_of(quantised));
}

/* Bytes per number of an input and an output of peft's layers, forward and backward. */
TEST(tuning_traffic__of_one_target__bytes)
{
    struct architecture a = llama();
    struct training_plan plan = lora;
    const struct memory_coefficients *c = &framework_find("hf-trainer")->memory;
    plan.lora_targets = TARGET_O;
    completed(&a, &plan);
    double h = (double)a.hidden;
    assert_close(tuning_traffic(&a, &plan, c, 1), h * (10 + 28 + 20 + 28), 1e-12);
    assert_close(tuning_traffic(&a, &plan, c, 2), h * (2 * (10 + 28) + 20 + 28), 1e-12);
    plan.lora_dropout = true;
    assert_close(tuning_traffic(&a, &plan, c, 1), h * (19 + 28 + 29 + 28), 1e-12);
    const struct memory_coefficients *narrow = &framework_find("megatron")->memory; /* adapters in 2 bytes: no copies */
    assert_close(tuning_traffic(&a, &plan, narrow, 1), h * (7 + 12 + 15 + 8), 1e-12);
    plan.autocasts = true; /* what is widened for adapters in fp32 is narrowed again */
    assert_close(tuning_traffic(&a, &plan, c, 1), h * (23 + 12 + 31 + 8), 1e-12);
    plan.quantization = QUANTIZATION_NF4;
    assert_close(tuning_traffic(&a, &plan, c, 1), h * (7 + 16 + 15 + 8), 1e-12);
    plan.adapters = ADAPTERS_FUSED;
    plan.lora_dropout = false;
    assert_close(tuning_traffic(&a, &plan, c, 2), h * (2 * (2 + 8) + 20 + 6), 1e-12);
    plan.adapters = ADAPTERS_FRAMEWORK;
    plan.lora_dropout = plan.kbit_preparation = true;
    assert_close(tuning_traffic(&a, &plan, c, 1), 2 * h * (7 + 16 + 15 + 8), 1e-12);
    plan.tuning = TUNING_FULL;
    assert_true(tuning_traffic(&a, &plan, c, 1) == 0);
}

static int decode(const char *peft, const char *targets, struct subject *s, struct error *e)
{
    const struct input_value of_targets = {targets ? INPUT_TEXT : INPUT_ABSENT, 0, targets};
    struct input_value values[INPUT_COUNT] = {[AT_PEFT] = {INPUT_TEXT, 0, peft}, [AT_LORA_TARGETS] = of_targets};
    static const size_t at[] = {AT_LAYERS, AT_HIDDEN, AT_HEADS, AT_VOCAB, AT_SEQ, AT_MICRO_BATCH, AT_LORA_RANK};
    static const double numbers[] = {2, 64, 4, 100, 32, 1, 8};
    for (size_t i = 0; i < LENGTH(at); i++)
        values[at[i]] = (struct input_value){INPUT_NUMBER, numbers[i], NULL};
    return inputs_decode(values, s, e);
}

TEST(inputs_decode__adapters__targets_by_their_names)
{
    struct subject s;
    struct error e = ERROR_INIT;
    assert_int_equal(decode("lora", "[\"q_proj\",\"v_proj\"]", &s, &e), 0);
    assert_int_equal(s.plan.lora_targets, TARGET_Q | TARGET_V);
    assert_int_equal(decode("qlora", "all-linear", &s, &e), 0);
    assert_int_equal(s.plan.lora_targets, TARGETS_OF_ATTENTION | TARGETS_OF_MLP);
    assert_int_equal(s.plan.quantization, QUANTIZATION_NF4);
    assert_int_equal(decode("lora", "linear_qkv linear_proj linear_fc1 linear_fc2", &s, &e), 0);
    assert_int_equal(s.plan.lora_targets, TARGET_QKV | TARGET_O | TARGET_GATE_UP | TARGET_DOWN);
    assert_int_equal(decode("lora", "q_proj z_proj", &s, &e), -1);
    assert_string_equal(e.text, "the predictor does not know lora_targets = 'q_proj z_proj'");
    e = ERROR_INIT;
    assert_int_equal(decode("lora", NULL, &s, &e), -1);
    assert_string_equal(e.text, "adapters need lora_targets, the modules to which they are added");
}

static double kept_of(struct architecture a)
{
    struct training_plan plan = {.sequence = 32, .flash_attention = true};
    completed(&a, &plan);
    return layer_memory_kept(&a, &plan, &framework_find("megatron")->memory) / 32;
}

TEST(layer_memory_kept__norms_and_parallel_blocks__what_they_read)
{
    const double usual = kept_of(llama());
    struct architecture a = llama();
    a.norms_per_layer = 4;
    assert_close(kept_of(a) - usual, 4 * HIDDEN, 1e-9);
    a = llama();
    a.parallel_blocks = true;
    assert_close(usual - kept_of(a), 4 * HIDDEN, 1e-9);
    a = llama();
    a.qk_norm = QK_NORM_HEAD;
    assert_close(kept_of(a) - usual, 2 * (HIDDEN + KV), 1e-9);
}

/* The inputs of attention's adapters are there already; the MLP's two are not. */
TEST(tuning_kept__products_that_keep_what_they_read__their_inputs)
{
    struct memory_coefficients c = framework_find("hf-trainer")->memory;
    struct architecture a = llama();
    struct training_plan plan = lora;
    plan.quantization = QUANTIZATION_NF4;
    completed(&a, &plan);
    double before = tuning_kept(&a, &plan, &c);
    c.quantised_inputs = 2;
    assert_close(tuning_kept(&a, &plan, &c) - before, 2 * (HIDDEN + FFN), 1e-12);
    plan.quantization = QUANTIZATION_NONE;
    before = tuning_kept(&a, &plan, &c);
    c.quantised_inputs = 0;
    assert_true(tuning_kept(&a, &plan, &c) == before);
}
