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
    assert_true(memory_predict(&a, &plan, &cluster, &framework_find(framework)->memory, &p));
    return p;
}

static double trainable_of(struct training_plan plan)
{
    return predict(llama(), plan, "hf-trainer").trainable;
}

static double term(struct training_plan plan, const char *framework, enum memory_term t)
{
    return predict(llama(), plan, framework).most.terms[t];
}

TEST(memory_predict__lora__parameters_of_its_targets)
{
    const double q_o = 2 * (HIDDEN + HIDDEN), k_v = 2 * (HIDDEN + KV), mlp = 3 * (HIDDEN + FFN);
    assert_close(trainable_of(lora), LAYERS * 4 * (q_o + k_v), 0);
    assert_close(trainable_of(BUT(lora, it.lora_targets |= TARGETS_OF_MLP)), LAYERS * 4 * (q_o + k_v + mlp), 0);
    assert_close(trainable_of(BUT(lora, it.lora_targets = TARGET_QKV | TARGET_HEAD)),
                 LAYERS * 4 * (HIDDEN + HIDDEN + 2 * KV) + 4 * (HIDDEN + VOCAB), 0);
    assert_close(trainable_of(BUT(lora, it.lora_targets = TARGET_Q | TARGET_V, it.tuning = TUNING_DORA)),
                 LAYERS * (4 * (3 * HIDDEN + KV) + HIDDEN + KV), 0);
}

/* peft tuners: adalora has a singular value for each rank, ia3 a vector, oft blocks, vera two vectors. */
TEST_ROWS(memory_predict__other_adapters__parameters_of_their_targets, (enum tuning tuning; double want),
          {TUNING_ADALORA, 4 * (HIDDEN + KV + 1) + 4 * (FFN + HIDDEN + 1)}, {TUNING_IA3, KV + FFN},
          {TUNING_OFT, (HIDDEN + FFN) * 3 / 2}, {TUNING_VERA, 4 + KV + 4 + HIDDEN})
{
    assert_close(trainable_of(BUT(lora, it.lora_targets = TARGET_K | TARGET_DOWN, it.tuning = row->tuning)),
                 LAYERS * row->want, 0);
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
    for (int q = 0; q < QUANTIZATION_END; q++)
        assert_close(states_of(BUT(lora, it.quantization = (enum quantization)q)),
                     bytes[q] * blocks + 2 * rest + 16 * adapters, 1e-12);
    assert_close(states_of(BUT(lora, it.quantization = QUANTIZATION_INT8, it.kbit_preparation = true)),
                 blocks + 4 * rest + 16 * adapters, 1e-12);
    assert_close(states_of(BUT(lora, it.zero_stage = 3, it.data = 4)), (2 * blocks + 2 * rest + 16 * adapters) / 4,
                 1e-12);
}

/* A copy in the type of the weights, or in fp32 after the preparation, with its gradient and both moments. */
TEST(memory_predict__modules_trained_whole__a_copy_with_its_states)
{
    const struct training_plan saved = BUT(lora, it.saved_modules = SAVED_EMBEDDING | SAVED_HEAD);
#define PREPARED(plan) BUT(plan, it.quantization = QUANTIZATION_NF4, it.kbit_preparation = true)
    assert_close(states_of(saved) - states_of(lora), 2 * VOCAB * HIDDEN * 8, 1e-9);
    assert_close(trainable_of(saved), trainable_of(lora) + 2 * VOCAB * HIDDEN, 0);
    assert_close(states_of(PREPARED(saved)) - states_of(PREPARED(lora)), 2 * VOCAB * HIDDEN * 16, 1e-9);
}

/* tuning.h: with adapters in fp32 each target has a copy of its input; what is frozen keeps none. */
TEST(tuning_kept__llama__terms_of_the_header)
{
    struct architecture a = llama();
    struct training_plan plan = lora;
    struct memory_coefficients c = framework_find("hf-trainer")->memory;
    const double heads = 4 * (HIDDEN + KV), mlp = 6 * FFN;
    completed(&a, &plan);
#define KEPT(...) tuning_kept(&a, (struct training_plan[]){BUT(plan, __VA_ARGS__)}, &c)
#define PASSING(...) tuning_passing(&a, (struct training_plan[]){BUT(plan, __VA_ARGS__)}, &c)
#define NARROW it.norms = NORMS_FUSED, it.quantization
    assert_close(KEPT((void)0), 8 * HIDDEN + 12 * HIDDEN + heads + 4 * HIDDEN + mlp, 1e-12);
    assert_close(KEPT(it.norms = NORMS_FUSED), 4 * HIDDEN + 12 * HIDDEN + heads + 4 * HIDDEN + mlp, 1e-12);
    assert_close(KEPT(NARROW = QUANTIZATION_NF4), 4 * HIDDEN + 2 * HIDDEN + heads + mlp, 1e-12);
    /* prepared, and so hidden states, in which 4-bit products answer, but not those in 8 */
    assert_close(KEPT(NARROW = QUANTIZATION_NF4, it.kbit_preparation = true), 6 * HIDDEN + heads + 2 * mlp, 1e-12);
    assert_close(PASSING(NARROW = QUANTIZATION_NF4, it.kbit_preparation = true), 12 * FFN, 1e-12);
    assert_close(KEPT(NARROW = QUANTIZATION_INT8, it.kbit_preparation = true), 6 * HIDDEN + heads + mlp, 1e-12);
    assert_close(KEPT(NARROW = QUANTIZATION_NF4, it.lora_dropout = true),
                 4 * HIDDEN + 9 * HIDDEN + heads + 3 * HIDDEN + mlp, 1e-12);
    assert_close(PASSING(NARROW = QUANTIZATION_NF4, it.lora_dropout = true), 6 * FFN, 1e-12);
    assert_close(tuning_dense_matrices(&a, (struct training_plan[]){BUT(plan, NARROW = QUANTIZATION_NF4)}, false),
                 2 * HIDDEN * FFN, 1e-12);
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
            assert_true(memory_predict(&a, &plan, &cluster, &c, &eager));
            plan.flash_attention = true;
            assert_true(memory_predict(&a, &plan, &cluster, &c, &flash));
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
TEST_ROWS(memory_predict__layer_norms_before_4_bits__hidden_states_in_fp32,
          (const char *framework; enum quantization quantization; bool rms_norm, wide),
          {"hf-trainer", QUANTIZATION_NF4_DOUBLE, false, true}, {"hf-trainer", QUANTIZATION_NF4, false, true},
          {"hf-trainer", QUANTIZATION_NF4, true, false}, {"hf-trainer", QUANTIZATION_GPTQ, false, false},
          {"hf-trainer", QUANTIZATION_NONE, false, false}, {"deepspeed", QUANTIZATION_NF4, false, false})
{
    struct architecture a = gpt(LAYERS, (int64_t)HIDDEN, 8);
    struct training_plan plan = lora, prepared;
    const struct memory_coefficients *c = &framework_find(row->framework)->memory;
    a.rms_norm = row->rms_norm;
    plan.quantization = row->quantization;
    plan.recompute = RECOMPUTE_FULL;
    completed(&a, &plan);
    prepared = plan;
    prepared.kbit_preparation = true;
    assert_int_equal(tuning_is_wide(&a, &plan, c), row->wide);
    assert_true(tuning_is_wide(&a, &prepared, c));
    double kept = predict(a, plan, row->framework).most.terms[MEMORY_ACTIVATIONS];
    double twice = predict(a, prepared, row->framework).most.terms[MEMORY_ACTIVATIONS];
    const double checkpoints = c->fragmentation * 2 * 32 * LAYERS * 2 * HIDDEN;
    assert_close(twice - kept, row->wide ? 0 : checkpoints, 1e-9);
    double traffic = tuning_traffic(&a, &plan, c, 2), all = tuning_traffic(&a, &prepared, c, 2);
    assert_close(all / traffic, row->wide ? 1 : 2, 1e-12);
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
TEST_ROWS(memory_predict__gpt_bigcode__cache_and_a_loss_in_16_bits,
          (const char *framework; int64_t kv_heads; bool parallel; enum tuning tuning; enum recompute recompute;
           enum loss_kernel loss; double per_logit, cache, hidden),
          {"hf-trainer", 1, false, TUNING_FULL, RECOMPUTE_FULL, LOSS_EAGER, 6, 2, 2},
          {"hf-trainer", 1, false, TUNING_FULL, RECOMPUTE_FULL, LOSS_FUSED, 4, 2, 2},
          {"hf-trainer", 1, false, TUNING_FULL, RECOMPUTE_NONE, LOSS_EAGER, 6, 0, 2},
          {"hf-trainer", 1, false, TUNING_LORA, RECOMPUTE_FULL, LOSS_EAGER, 12, 4, 6},
          {"hf-trainer", 1, false, TUNING_LORA, RECOMPUTE_FULL, LOSS_FUSED, 8, 4, 6},
          {"hf-trainer", 1, false, TUNING_FULL, RECOMPUTE_FULL, LOSS_COMPILED, 4, 2, 2},
          {"hf-trainer", 1, false, TUNING_LORA, RECOMPUTE_FULL, LOSS_COMPILED, 4, 4, 6},
          {"hf-trainer", 1, true, TUNING_FULL, RECOMPUTE_FULL, LOSS_EAGER, 12, 0, 2},
          {"hf-trainer", 8, false, TUNING_FULL, RECOMPUTE_FULL, LOSS_EAGER, 12, 0, 2},
          {"torchtitan", 1, false, TUNING_FULL, RECOMPUTE_FULL, LOSS_EAGER, 0, 0, 2})
{
    struct architecture a = gpt(LAYERS, (int64_t)HIDDEN, 8);
    struct training_plan plan = {.sequence = 32, .micro_batch = 512, .flash_attention = true};
    const struct memory_coefficients *c = &framework_find(row->framework)->memory;
    double logit = row->per_logit > 0 ? row->per_logit : c->logit_bytes + c->logit_slack;
    if (row->tuning == TUNING_LORA)
        plan = lora;
    plan.quantization = row->tuning == TUNING_LORA ? QUANTIZATION_NF4 : QUANTIZATION_NONE;
    plan.recompute = row->recompute;
    plan.loss = row->loss;
    plan.micro_batch = 512;
    a.kv_heads = row->kv_heads;
    a.parallel_blocks = row->parallel;
    double queries_keys_and_values = HIDDEN + 2 * HIDDEN / 8;
    double of_token = logit * (double)a.vocab + row->hidden * HIDDEN + LAYERS * row->cache * queries_keys_and_values;
    assert_close(predict(a, plan, row->framework).most.terms[MEMORY_LOGITS], 512 * 32 * of_token, 1e-9);
}

/* What reads logits in 16 bits keeps half; those of a model prepared for k-bit training are in fp32. */
TEST(memory_predict__narrow_loss__half_of_the_logits)
{
    const double logits = 512 * 32 * VOCAB;
    for (int prepared = 0; prepared < 2; prepared++) {
        struct training_plan plan = BUT(lora, it.recompute = RECOMPUTE_FULL, it.quantization = QUANTIZATION_NF4,
                                        it.kbit_preparation = prepared, it.micro_batch = 512);
        const double wide = term(plan, "deepspeed", MEMORY_LOGITS);
        plan.narrow_loss = true;
        assert_close(wide - term(plan, "deepspeed", MEMORY_LOGITS), prepared ? 0 : 6 * logits, 1e-9);
        plan.loss = LOSS_FUSED;
        assert_close(wide - term(plan, "deepspeed", MEMORY_LOGITS), 4 * logits, 1e-9);
    }
}

/* FSDP gathers weights in fp32 in the 16 bits of its products. */
TEST(memory_predict__sharded_adapters_over_fp32_weights__gathered_in_16_bits)
{
    struct training_plan plan = BUT(lora, it.data = 8, it.zero_stage = 3);
    const double narrow = term(plan, "hf-trainer", MEMORY_BUFFERS);
    plan.weights = WEIGHTS_FP32;
    assert_close(term(plan, "hf-trainer", MEMORY_BUFFERS), narrow, 1e-12);
    plan.precision = PRECISION_FP32;
    assert_close(term(plan, "hf-trainer", MEMORY_BUFFERS), 2 * narrow, 1e-12);
}

/* A loop that has a pass's output until the next one's: its logits in fp32, and the keys and values of all layers. At
 * the loss there are those of two passes, but where what layers keep has the later ones anyway. */
TEST_ROWS(memory_predict__held_outputs__logits_and_cache_of_the_pass_before,
          (enum held_outputs held; enum recompute recompute; enum loss_kernel loss; double logits, caches; bool narrow),
          {HELD_LOGITS, RECOMPUTE_FULL, LOSS_EAGER, 4, 0, false}, {HELD_LOGITS, RECOMPUTE_FULL, LOSS_EAGER, 2, 0, true},
          {HELD_CACHE, RECOMPUTE_FULL, LOSS_EAGER, 4, 2, false}, {HELD_CACHE, RECOMPUTE_NONE, LOSS_EAGER, 4, 1, false},
          {HELD_LOGITS, RECOMPUTE_FULL, LOSS_COMPILED, 2, 0, false},
          {HELD_CACHE, RECOMPUTE_FULL, LOSS_LINEAR, 0, 2, false})
{
    const double cache = LAYERS * 2 * 2 * 2 * HIDDEN / 8; /* of a token, of two heads of eight */
    struct training_plan plan = BUT(lora, it.recompute = row->recompute, it.loss = row->loss,
                                    it.narrow_loss = row->narrow, it.micro_batch = 512);
    struct training_plan held = BUT(plan, it.held = row->held);
    assert_close(term(held, "deepspeed", MEMORY_LOGITS) - term(plan, "deepspeed", MEMORY_LOGITS),
                 512 * 32 * (row->logits * VOCAB + row->caches * cache), 1e-9);
    plan.pipeline = held.pipeline = 2;
    assert_close(predict(llama(), held, "deepspeed").most.bytes, predict(llama(), plan, "deepspeed").most.bytes, 1e-12);
}

TEST(plan_complete__adapters_without_what_they_need__refused)
{
    refused(BUT(lora, it.lora_targets = 0), "adapters need lora_targets, the modules to which they are added");
    refused(BUT(lora, it.lora_rank = 0), "adapters need lora_rank");
    refused(BUT(lora, it.frozen_layers = 1), "frozen_layers has no effect, because adapters freeze all layers");
    refused(BUT(lora, it.recompute = RECOMPUTE_OPERATIONS),
            "selective recomputation by operation or module is not known for adapters");
    refused(PLANNED(.sequence = 32, .quantization = QUANTIZATION_NF4), "quantization and kbit_preparation need peft");
    refused(PLANNED(.sequence = 32, .mean_tokens = 16),
            "mean_tokens, the average number of tokens in a sequence, needs padding_free");
}

static void assert_same_memory(struct training_plan plan, struct training_plan other)
{
    assert_close(predict(llama(), plan, "hf-trainer").most.bytes, predict(llama(), other, "hf-trainer").most.bytes, 0);
}

/* Without the mean, sequences count as full. */
TEST(plan_complete__padding_free_of_unknown_length__in_full)
{
    PLAN(full, .sequence = 32, .micro_batch = 2);
    assert_same_memory(BUT(full, it.padding_free = true), full);
}

/* Frozen matrices have no gradients of their own; a leading frozen layer has no backward pass at all. */
TEST(flops_per_step__frozen__passes_that_are_left)
{
    struct architecture a = llama();
    struct training_plan full = {.sequence = 32}, adapted = lora, frozen = {.sequence = 32, .frozen_layers = 2};
    struct token_flops token;
    adapted.micro_batch = 1;
    completed(&a, &full);
    completed(&a, &adapted);
    completed(&a, &frozen);
    flops_per_token(&a, &full, ATTENTION_FULL, &token);
    const double all = flops_per_step(&a, &full);
    assert_close(all - flops_per_step(&a, &adapted),
                 32 * (token.matrices + token.head - 6 * tuning_trainable(&a, &adapted, 0)), 1e-12);
    assert_close(all - flops_per_step(&a, &frozen), 32 * (token.matrices + token.attention), 1e-12);
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
    FAIL_IF(cluster_complete(&cluster, &e) || !step_predict(&a, &plan, &cluster, framework_find("hf-trainer"), &s));
    return s.seconds;
}

TEST(step_predict__adapters__between_a_forward_pass_and_all)
{
    const struct training_plan quantised = BUT(lora, it.quantization = QUANTIZATION_NF4);
    const double full = seconds_of(PLANNED(.flash_attention = true)), with = seconds_of(lora);
    const double frozen = seconds_of(PLANNED(.flash_attention = true, .frozen_layers = LAYERS));
    assert_true(with < full && frozen < with && frozen < seconds_of(quantised));
    assert_true(seconds_of(BUT(lora, it.lora_dropout = true)) > with);
    assert_true(seconds_of(BUT(quantised, it.kbit_preparation = true)) > seconds_of(quantised));
}

/* Bytes per number of an input and an output of peft's layers, forward and backward. */
TEST(tuning_traffic__of_one_target__bytes)
{
    struct architecture a = llama();
    struct training_plan plan = BUT(lora, it.lora_targets = TARGET_O);
    const struct memory_coefficients *c = &framework_find("hf-trainer")->memory;
    const struct memory_coefficients *narrow = &framework_find("megatron")->memory; /* adapters in 2 bytes: no copies */
    completed(&a, &plan);
    double h = (double)a.hidden;
#define TRAFFIC(c, passes, ...) (tuning_traffic(&a, (struct training_plan[]){BUT(plan, __VA_ARGS__)}, c, passes) / h)
#define DROPPED it.lora_dropout = true
#define CAST it.autocasts = true
#define IN_4_BITS it.autocasts = true, it.quantization = QUANTIZATION_NF4
    assert_close(TRAFFIC(c, 1, (void)0), 10 + 28 + 20 + 28, 1e-12);
    assert_close(TRAFFIC(c, 2, (void)0), 2 * (10 + 28) + 20 + 28, 1e-12);
    assert_close(TRAFFIC(c, 1, DROPPED), 19 + 28 + 29 + 28, 1e-12);
    assert_close(TRAFFIC(narrow, 1, DROPPED), 7 + 12 + 15 + 8, 1e-12);
    /* what is widened for adapters in fp32 is narrowed again */
    assert_close(TRAFFIC(c, 1, DROPPED, CAST), 23 + 12 + 31 + 8, 1e-12);
    assert_close(TRAFFIC(c, 1, DROPPED, IN_4_BITS), 7 + 16 + 15 + 8, 1e-12);
    assert_close(TRAFFIC(c, 2, IN_4_BITS, it.adapters = ADAPTERS_FUSED), 2 * (2 + 8) + 20 + 6, 1e-12);
    assert_close(TRAFFIC(c, 1, DROPPED, IN_4_BITS, it.kbit_preparation = true), 2 * (7 + 16 + 15 + 8), 1e-12);
    assert_true(TRAFFIC(c, 1, DROPPED, IN_4_BITS, it.tuning = TUNING_FULL) == 0);
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
    PLAN(plan, .sequence = 32, .flash_attention = true);
    completed(&a, &plan);
    return layer_memory_kept(&a, &plan, &framework_find("megatron")->memory) / 32;
}

TEST(layer_memory_kept__norms_and_parallel_blocks__what_they_read)
{
    const struct architecture usual = llama();
    struct architecture norms = usual, parallel = usual, of_heads = usual;
    norms.norms_per_layer = 4;
    parallel.parallel_blocks = true;
    of_heads.qk_norm = QK_NORM_HEAD;
    assert_close(kept_of(norms) - kept_of(usual), 4 * HIDDEN, 1e-9);
    assert_close(kept_of(usual) - kept_of(parallel), 4 * HIDDEN, 1e-9);
    assert_close(kept_of(of_heads) - kept_of(usual), 2 * (HIDDEN + KV), 1e-9);
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
