/* predict: memory of a plan, against tables of papers, golden values of functional tests, and measured runs.
 */
#include "frameworks.h"
#include "predict/evidence.h"
#include "predict/memory.h"
#include "predict/stage_memory.h"
#include "predict_fixture.h"
#include "published_tables.h"

static struct memory_prediction predict(struct architecture a, struct training_plan plan, const char *framework)
{
    struct cluster cluster = {.device = device_find(NULL, "H100")};
    struct memory_prediction m = {0};
    FAIL_IF(architecture_complete(&a, &e) || plan_complete(&plan, &a, &e) || cluster_complete(&cluster, &e) ||
            !memory_predict(&a, &plan, &cluster, &framework_find(framework)->memory, &m));
    return m;
}

static double term(struct architecture a, struct training_plan plan, const char *framework, enum memory_term t)
{
    return predict(a, plan, framework).most.terms[t];
}

#define GPT gpt(24, 2048, 16)
#define FLASH .flash_attention = true
#define FULLY .recompute = RECOMPUTE_FULL
#define HOSTED .offload = OFFLOAD_PARAMETERS

/* arXiv 2205.05198, figure 1: weights and optimizer, 18 bytes for each of the layers' weights; tensor degree 8. */
TEST_ROWS(memory_predict__selective_recompute_paper__weights_and_optimizer,
          (int64_t layers, hidden, heads, pipeline; double gib), {48, 6144, 64, 1, 45.5625},
          {96, 12288, 96, 8, 45.5625}, {105, 20480, 128, 35, 31.640625}, {128, 25600, 160, 64, 32.958984375})
{
    struct architecture a = gpt(row->layers, row->hidden, row->heads);
    struct training_plan plan = {.tensor = 8, .pipeline = row->pipeline, .sequence = 2048};
    struct memory_prediction m = predict(a, plan, "megatron");
    double embedding = 51200.0 * (double)row->hidden / 8 * 18;
    assert_close((m.first.terms[MEMORY_UNSHARDED] - embedding) / GIB, row->gib, 2e-3);
}

/* Megatron-LM's functional tests gpt3_7b_tp4_pp1 and gpt3_7b_tp1_pp4 (memory_speed): golden values of
 * mem-max-allocated-bytes, 57.1 GB on H100 and 60.6 GB, and of the states alone, 20.7 and 24.6 GB. */
TEST(memory_predict__megatron_functional_tests__their_golden_values)
{
    struct architecture a = shaped(ARCHITECTURE_GPT, 32, 4096, 32, 131072);
    a.kv_heads = 8;
    a.vocab_multiple = 128;
    a.tied_embeddings = false;
    PLAN(wide, .tensor = 4, .data = 2, .micro_batch = 2, .micro_batches = 2, .sequence = 8192, .zero_stage = 1,
         .flash_attention = true);
    struct training_plan deep = wide;
    deep.tensor = 1;
    deep.pipeline = 4;
    deep.virtual_stages = 8;
    deep.schedule = SCHEDULE_INTERLEAVED;
    deep.micro_batch = 1;
    deep.micro_batches = 4;
    struct memory_prediction m = predict(a, wide, "megatron-distopt");
    print_message("tp4: %.1f GB of 57.1, states %.1f of 20.7\n", m.most.allocated_bytes / 1e9,
                  (m.most.terms[MEMORY_UNSHARDED] + m.most.terms[MEMORY_SHARDED]) / 1e9);
    assert_close(m.most.allocated_bytes, 57.1e9, 0.05);
    assert_close(m.most.terms[MEMORY_UNSHARDED] + m.most.terms[MEMORY_SHARDED], 20.7e9, 0.05);
    m = predict(a, deep, "megatron-distopt");
    print_message("pp4: %.1f GB of 60.6, states %.1f of 24.6\n", m.first.allocated_bytes / 1e9,
                  (m.first.terms[MEMORY_UNSHARDED] + m.first.terms[MEMORY_SHARDED]) / 1e9);
    assert_close(m.first.allocated_bytes, 60.6e9, 0.06);
    assert_close(m.first.terms[MEMORY_UNSHARDED] + m.first.terms[MEMORY_SHARDED], 24.6e9, 0.06);
}

/* Bytes per parameter: 18; 6 + 12/N; 8 + 12/N; DeepSpeed 2 + 18/N and 18/N; FSDP 16/N. In fp32 4 for the parameter, 4
 * for the gradient and 8 for Adam, and DeepSpeed's partitions are copies: never less than in mixed precision there. */
TEST_ROWS(memory_predict__states__bytes_per_parameter_of_each_framework,
          (const char *framework; int64_t zero; double unsharded, sharded; enum precision precision),
          {"megatron", 0, 18, 0, PRECISION_BF16}, {"megatron-distopt", 1, 6, 12, PRECISION_BF16},
          {"nanotron", 0, 20, 0, PRECISION_BF16}, {"nanotron", 1, 8, 12, PRECISION_BF16},
          {"deepspeed", 0, 16, 0, PRECISION_BF16}, {"deepspeed", 1, 4, 18, PRECISION_BF16},
          {"deepspeed", 2, 2, 18, PRECISION_BF16}, {"deepspeed", 3, 0, 18, PRECISION_BF16},
          {"fsdp", 3, 0, 16, PRECISION_BF16}, {"torch-ddp", 0, 20, 0, PRECISION_BF16},
          {"trainer", 0, 16, 0, PRECISION_BF16}, {"megatron", 0, 16, 0, PRECISION_FP32},
          {"nanotron", 1, 8, 8, PRECISION_FP32}, {"deepspeed", 0, 16, 0, PRECISION_FP32},
          {"deepspeed", 1, 8, 12, PRECISION_FP32}, {"deepspeed", 2, 4, 16, PRECISION_FP32},
          {"deepspeed", 3, 0, 20, PRECISION_FP32}, {"fsdp", 3, 0, 16, PRECISION_FP32},
          {"torch-ddp", 0, 20, 0, PRECISION_FP32}, {"trainer", 0, 16, 0, PRECISION_FP32})
{
    PLAN(plan, .data = 16, .sequence = 128, .micro_batches = 2, .zero_stage = row->zero, .precision = row->precision);
    struct memory_prediction m = predict(gpt(2, 256, 4), plan, row->framework);
    assert_close(m.most.terms[MEMORY_UNSHARDED] + m.most.parameters, (row->unsharded + 1) * m.most.parameters, 1e-12);
    assert_close(m.most.terms[MEMORY_SHARDED] * 16 + m.most.parameters, (row->sharded + 1) * m.most.parameters, 1e-12);
}

/* Only where gradients are reduced, and only those of what is trained. */
TEST(memory_predict__buckets_of_ddp__hold_the_gradients_again)
{
#define UNSHARDED(framework, ...)                                                                                      \
    term(gpt(2, 256, 4), PLANNED(.sequence = 128, .micro_batches = 2, __VA_ARGS__), framework, MEMORY_UNSHARDED)
    PLAN(alone, .sequence = 128, .micro_batches = 2);
    const double parameters = predict(gpt(2, 256, 4), alone, "hf-trainer").most.parameters;
    assert_close(UNSHARDED("hf-trainer", .data = 2) - UNSHARDED("hf-trainer", .data = 1), 2 * parameters, 1e-9);
    assert_close(UNSHARDED("hf-trainer", .data = 2, .weights = WEIGHTS_FP32), 20 * parameters, 1e-9);
    assert_close(UNSHARDED("hf-trainer", .data = 2, .zero_stage = 3, .syncs_each_batch = true), 0, 0);
    /* gradients are reduced to their shards, not in DDP's buckets */
    assert_close(UNSHARDED("torch-ddp", .data = 2, .zero_stage = 2, .syncs_each_batch = true), 4 * parameters, 1e-9);
    PLAN(adapted, .sequence = 128, .micro_batches = 2, LORA(TARGET_Q));
    assert_close(UNSHARDED("hf-trainer", .data = 2, LORA(TARGET_Q)) - UNSHARDED("hf-trainer", LORA(TARGET_Q)),
                 4 * predict(gpt(2, 256, 4), adapted, "hf-trainer").trainable, 1e-6);
}

TEST(memory_predict__optimizers__their_moments)
{
    static const double bytes[OPTIMIZER_END] = {18, 12, 12, 11, 14, 14, 14, 10};
    for (int o = 0; o < OPTIMIZER_END; o++) {
        struct training_plan plan = {.sequence = 128, .optimizer = (enum optimizer)o};
        struct memory_prediction m = predict(gpt(2, 256, 4), plan, "megatron");
        assert_close(m.most.terms[MEMORY_UNSHARDED], bytes[o] * m.most.parameters, 1e-12);
    }
}

/* Quantised moments take their bytes whatever the width of the others. */
TEST(memory_predict__quantised_moments__their_bytes_at_any_width)
{
    assert_true(stage_moment_bytes(OPTIMIZER_ADAM, 2) == 4 && stage_moment_bytes(OPTIMIZER_ADAM, 4) == 8);
    assert_true(stage_moment_bytes(OPTIMIZER_ADAM_8BIT, 2) == 2 && stage_moment_bytes(OPTIMIZER_ADAM_8BIT, 4) == 2);
    assert_true(stage_moment_bytes(OPTIMIZER_ADAM_TORCH_4BIT, 2) == 1);
}

/* torchao's moments are fp32 while a tensor is stepped, of which the embedding is the largest. */
TEST_ROWS(memory_predict__moments_of_torch_operations__widened_for_one_tensor, (enum optimizer optimizer; double bytes),
          {OPTIMIZER_ADAM_TORCH_4BIT, 24}, {OPTIMIZER_ADAM_TORCH_8BIT, 8}, {OPTIMIZER_ADAM_8BIT, 0})
{
    struct architecture a = gpt(2, 256, 4);
    a.vocab = 65536;
    a.tied_embeddings = false;
    PLAN(plan, .sequence = 8, .optimizer = row->optimizer, .optimizer_kernel = OPTIMIZER_KERNEL_FUSED);
    assert_close(term(a, plan, "torch-ddp", MEMORY_BUFFERS), row->bytes * 65536 * 256, 1e-12);
}

/* With a large vocabulary the last stage is the one that must fit. */
TEST(memory_predict__large_vocabulary__last_stage_is_the_most_loaded)
{
    struct architecture a = gpt(4, 256, 4);
    struct training_plan plan = {.pipeline = 4, .micro_batch = 8, .micro_batches = 8, .sequence = 1024};
    struct memory_prediction m = predict(a, BUT(plan, it.flash_attention = true), "nanotron");
    assert_int_equal(m.most.stage, 3);
    assert_true(m.most.bytes > m.first.bytes);
    assert_true(m.most.terms[MEMORY_LOGITS] > 12.0 * 8 * 1024 * 51200);
    assert_true(m.first.terms[MEMORY_LOGITS] == 0);
}

/* DeepSpeed's memory page: 16 and 18 bytes per parameter on the host, times 1.5, over the nodes. */
TEST_ROWS(memory_predict__offload__host_bytes_of_a_node, (enum offload offload; double bytes), {OFFLOAD_OPTIMIZER, 16},
          {OFFLOAD_PARAMETERS, 18}, {OFFLOAD_NONE, 0})
{
    double parameters = predict(GPT, PLANNED(.sequence = 128), "deepspeed").most.parameters;
    PLAN(plan, .data = 16, .sequence = 128, .zero_stage = 3, .offload = row->offload);
    assert_close(predict(GPT, plan, "deepspeed").host_bytes, row->bytes * 1.5 * parameters / 2, 1e-12);
}

/* Gradients of an offloaded optimizer follow it once reduced; FSDP1 holds them until the backward pass ends. */
TEST_ROWS(memory_predict__offload__sharded_gradients_on_the_host,
          (const char *framework; int64_t zero; enum offload offload; double sharded),
          {"deepspeed", 3, OFFLOAD_OPTIMIZER, 2}, {"deepspeed", 3, OFFLOAD_PARAMETERS, 0},
          {"deepspeed", 2, OFFLOAD_OPTIMIZER, 0}, {"torchtune", 3, OFFLOAD_PARAMETERS, 0},
          {"fsdp2", 3, OFFLOAD_PARAMETERS, 0}, {"hf-trainer", 3, OFFLOAD_PARAMETERS, 2})
{
    PLAN(plan, .data = 16, .sequence = 128, .micro_batches = 2, .syncs_each_batch = true, .zero_stage = row->zero,
         .offload = row->offload);
    struct memory_stage most = predict(gpt(2, 256, 4), plan, row->framework).most;
    assert_close(16 * most.terms[MEMORY_SHARDED] + most.parameters, (row->sharded + 1) * most.parameters, 1e-9);
}

/* In the type in which they are reduced, even if weights are in bf16; DeepSpeed's stages have no such thing. */
TEST_ROWS(memory_predict__synchronized_at_the_last_micro_batch__whole_gradients,
          (const char *framework; enum weights_type weights; int64_t data, pipeline; double unsharded),
          {"fsdp2", WEIGHTS_FRAMEWORK, 16, 1, 4}, {"fsdp2", WEIGHTS_16, 16, 1, 4},
          {"fsdp", WEIGHTS_FRAMEWORK, 16, 1, 4}, {"fsdp2", WEIGHTS_16, 16, 2, 0}, {"fsdp2", WEIGHTS_16, 1, 1, 2},
          {"deepspeed", WEIGHTS_FRAMEWORK, 16, 1, 0})
{
    PLAN(plan, .data = row->data, .pipeline = row->pipeline, .sequence = 128, .micro_batches = 2,
         .syncs_last_batch = true, .zero_stage = 3, .weights = row->weights);
    struct memory_stage most = predict(gpt(2, 256, 4), plan, row->framework).first;
    assert_close(most.terms[MEMORY_UNSHARDED] + most.parameters, (row->unsharded + 1) * most.parameters, 1e-9);
}

TEST(memory_predict__encoder_with_classes__no_logits_of_the_vocabulary)
{
    struct architecture a = shaped(ARCHITECTURE_BERT, 2, 64, 4, 1024), classifier;
    struct training_plan plan = {.micro_batch = 8, .sequence = 128};
    a.classes = 2;
    classifier = a;
    classifier.mlm_head = false;
    double of_words = framework_find("megatron")->memory.logit_bytes * 8 * 128 * 1024;
    assert_true(predict(a, plan, "megatron").most.terms[MEMORY_LOGITS] >= of_words);
    assert_true(predict(classifier, plan, "megatron").most.terms[MEMORY_LOGITS] < of_words / 4);
}

TEST(memory_predict__gathered_logits__not_divided_by_tensor_ranks)
{
    PLAN(plan, .tensor = 4, .micro_batch = 8, .sequence = 1024);
    double passing = 2 * 8 * 1024 * 64; /* of hidden units */
    double divided = term(gpt(2, 64, 4), plan, "fsdp2", MEMORY_LOGITS) - passing;
    assert_close(term(gpt(2, 64, 4), BUT(plan, it.gathers_logits = true), "fsdp2", MEMORY_LOGITS) - passing,
                 4 * divided, 1e-9);
}

/* Frozen layers of FSDP1 hold the gradients of what they read, those of FSDP2 do not. */
TEST(memory_predict__sharded_adapters__gradients_of_hidden_states_under_fsdp1)
{
    static const char *const frameworks[] = {"fsdp", "fsdp2"};
    PLAN(plan, .data = 8, .sequence = 512, .zero_stage = 3, FULLY, LORA(TARGET_Q));
    for (size_t i = 0; i < 2; i++) { /* so small a vocabulary that the peak is not with the logits */
        double shallow = term(shaped(ARCHITECTURE_GPT, 2, 256, 4, 256), plan, frameworks[i], MEMORY_WORKING);
        double deep = term(shaped(ARCHITECTURE_GPT, 8, 256, 4, 256), plan, frameworks[i], MEMORY_WORKING);
        assert_true(i == 0 ? fabs((deep - shallow) / (6 * 2 * 512 * 256.0) - 1) < 1e-9 : deep == shallow);
    }
}

/* Experts are sharded over the ranks that replicate them, which are fewer than those of the rest. */
TEST(memory_predict__experts_over_ranks__states_by_their_own_group)
{
    struct architecture a = gpt(4, 256, 4);
    a.experts = 8;
    struct training_plan plan = {.data = 16, .expert = 8, .sequence = 128, .zero_stage = 1};
    struct memory_prediction m = predict(a, plan, "megatron-distopt");
    double experts = 4 * (2 * 256.0 * 1024 + 1024 + 256), dense = m.most.parameters - experts;
    assert_close(m.most.terms[MEMORY_SHARDED], 12 * (dense / 16 + experts / 2), 1e-9);
}

/* 512 MiB of each, three of experts (predict.toml), and two of Megatron-LM's with tensor or pipeline parallelism. */
TEST_ROWS(memory_predict__reserve__of_each_group_of_ranks, (struct training_plan plan; double groups), {{.data = 2}, 1},
          {{.tensor = 2}, 3}, {{.context = 2}, 1}, {{.pipeline = 2, .micro_batches = 2}, 3}, {{.expert = 1}, 0},
          {{.tensor = 2, .data = 8, .expert = 8}, 7})
{
    struct architecture a = gpt(4, 256, 4);
    a.experts = 8;
    const struct training_plan alone = {.sequence = 128};
    const double none = predict(a, alone, "megatron").reserve_bytes;
    struct training_plan plan = row->plan;
    plan.sequence = 128;
    assert_close(predict(a, plan, "megatron").reserve_bytes, none + row->groups * 536870912, 1e-9);
}

/* With hardly any activations the step is the peak: the temporaries are over the shards, and no logits. */
TEST(memory_predict__phases__the_larger_alone)
{
    PLAN(plan, .sequence = 16, .data = 2, .zero_stage = 1, .gradient_bytes = 2);
    struct memory_stage step = predict(gpt(2, 256, 4), plan, "megatron").most;
    assert_true(step.terms[MEMORY_LOGITS] == 0 && step.terms[MEMORY_ACTIVATIONS] == 0);
    assert_close(step.terms[MEMORY_BUFFERS], 4 * step.parameters / 2, 1e-12);
    /* an optimizer that takes any width */
    assert_true(term(gpt(2, 256, 4), BUT(plan, it.moment_bytes = 8), "megatron", MEMORY_BUFFERS) == 0);
    struct memory_stage pass = predict(gpt(2, 256, 4), BUT(plan, it.micro_batch = 64), "megatron").most;
    assert_true(pass.terms[MEMORY_LOGITS] > 0 && pass.terms[MEMORY_WORKING] == 0);
    assert_true(pass.terms[MEMORY_BUFFERS] == 0 && pass.bytes > step.bytes);
}

/* A step that flattens gradients holds blocks that nothing else fits in: reserved, not allocated, and none of it where
 * each unit is stepped by itself. */
TEST(memory_predict__flat_step__slack_below_stage_3)
{
    PLAN(plan, .sequence = 16, .data = 2, .zero_stage = 1);
    struct memory_stage flat = predict(gpt(2, 256, 4), plan, "internevo").most;
    assert_close(flat.terms[MEMORY_BUFFERS], (12 + 6) * flat.parameters / 2, 1e-12);
    assert_close(flat.slack, 6 * flat.parameters / 2, 1e-12);
    assert_close(flat.bytes - flat.allocated_bytes, flat.slack, 1e-9);
    struct memory_stage units = predict(gpt(2, 256, 4), BUT(plan, it.zero_stage = 3), "internevo").most;
    assert_close(units.terms[MEMORY_BUFFERS], 12 * units.parameters / 2, 1e-12);
    assert_close(units.slack, units.bytes - units.allocated_bytes, 1e-9); /* pieces alone */
}

/* Logits in 16 bits that are freed before the loss goes back leave a block that no fp32 copy of them fits in. */
TEST(memory_predict__freed_logits__slack_of_an_eager_loss)
{
    struct training_plan plan = {.sequence = 4096, .micro_batch = 8, .data = 8, .zero_stage = 3};
    struct architecture a = gpt(2, 256, 4);
    struct memory_prediction eager = predict(a, plan, "torchtitan");
    assert_close(eager.most.slack, 2 * 8 * 4096 * 51200.0, 1e-12);
    assert_true(eager.most.bytes - eager.most.allocated_bytes > eager.most.slack);
    assert_true(predict(a, BUT(plan, it.loss = LOSS_FUSED), "torchtitan").most.slack == 0);
}

/* FSDP2 gathers with one rank, too. Its layers' backward pass has what the one before is reduced from, in fp32, and the
 * root's gradient of the head, unless that is a unit of its own. */
TEST(memory_predict__fsdp2__gradients_before_they_are_reduced)
{
    struct architecture a = gpt(4, 256, 4);
    const double layer = 12 * 256.0 * 256, head = 51200.0 * 256, units = 2 * 2 * layer + 2 * head + 4 * layer;
    a.tied_embeddings = false;
    for (int64_t data = 1; data <= 8; data += 7) {
        PLAN(plan, .data = data, .sequence = 4096, .micro_batch = 16, .micro_batches = 2, .zero_stage = 3, FLASH, FULLY,
             .loss = LOSS_LINEAR);
        assert_close(term(a, plan, "fsdp2", MEMORY_BUFFERS), units + 2 * head + 2 * head, 1e-2);
        plan.vocab_units = true;
        assert_close(term(a, plan, "fsdp2", MEMORY_BUFFERS), units, 1e-2);
        assert_true(data == 1 || term(a, plan, "fsdp", MEMORY_BUFFERS) < units);
    }
}

/* The last layer to go backward has not given its gradients when those of its MLP's factors pass. */
TEST(memory_predict__one_micro_batch_recomputed__gradients_but_the_last_layer_s)
{
    struct architecture a = gpt(4, 256, 4);
    PLAN(plan, .sequence = 4096, .micro_batch = 4, .recompute = RECOMPUTE_FULL, .flash_attention = true,
         .loss = LOSS_LINEAR);
    struct memory_prediction one = predict(a, plan, "hf-trainer");
    struct memory_prediction two = predict(a, BUT(plan, it.micro_batches = 2), "hf-trainer");
    double gradients = two.most.terms[MEMORY_UNSHARDED] - one.most.terms[MEMORY_UNSHARDED];
    assert_close(gradients, 2 * (two.most.parameters), 1e-9);
}

/* Stages of a pipeline under FSDP2 are gathered once, in 2 bytes, and sum their fp32 gradients up whole. */
TEST(memory_predict__fsdp2_pipeline__whole_stages)
{
#define PIPED(ranks) PLANNED(.sequence = 512, .data = ranks, .zero_stage = 3, .pipeline = 4, .micro_batches = 8, FLASH)
    struct memory_stage piped = predict(gpt(8, 256, 4), PIPED(8), "torchtitan").most;
    assert_close(piped.terms[MEMORY_BUFFERS], 6 * piped.parameters, 1e-12);
    assert_true(term(gpt(8, 256, 4), PIPED(1), "torchtitan", MEMORY_BUFFERS) == 0);
    assert_true(term(gpt(8, 256, 4), PIPED(8), "fsdp", MEMORY_BUFFERS) < 0.6 * piped.terms[MEMORY_BUFFERS]);
}

/* FSDP's SHARD_GRAD_OP keeps no parameters whole but in 2 bytes, while it computes; DeepSpeed's stage 2 does. */
TEST(memory_predict__fsdp_stage_two__parameters_sharded_at_rest)
{
#define STAGE(stage, ...) PLANNED(.sequence = 512, .data = 8, .zero_stage = stage, FLASH, __VA_ARGS__)
    struct memory_stage three = predict(gpt(8, 256, 4), STAGE(3, ), "fsdp2").most;
    struct memory_stage two = predict(gpt(8, 256, 4), STAGE(2, ), "fsdp2").most;
    assert_close(two.terms[MEMORY_UNSHARDED], three.terms[MEMORY_UNSHARDED], 1e-12);
    assert_close(two.terms[MEMORY_SHARDED], three.terms[MEMORY_SHARDED], 1e-12);
    assert_close(two.terms[MEMORY_BUFFERS], 2 * two.parameters, 1e-12);
    assert_true(term(gpt(8, 256, 4), STAGE(2, ), "deepspeed", MEMORY_UNSHARDED) >= 2 * two.parameters);
    assert_close(term(gpt(8, 256, 4), STAGE(2, .precision = PRECISION_FP32), "fsdp2", MEMORY_BUFFERS),
                 4 * two.parameters, 1e-12);
    assert_close(predict(gpt(8, 256, 4), STAGE(2, .pipeline = 4), "fsdp2").most.bytes,
                 predict(gpt(8, 256, 4), STAGE(3, .pipeline = 4), "fsdp2").most.bytes, 1e-12);
}

TEST(memory_predict__gathered_logits__not_divided)
{
    struct training_plan plan = {.sequence = 512, .tensor = 4, .micro_batches = 8};
    struct memory_coefficients c = framework_find("megatron")->memory;
    struct cluster cluster = {.device = device_find(NULL, "H100")};
    struct architecture a = gpt(8, 256, 4);
    struct memory_prediction divided, whole;
    FAIL_IF(architecture_complete(&a, &e) | plan_complete(&plan, &a, &e) | cluster_complete(&cluster, &e));
    assert_true(memory_predict(&a, &plan, &cluster, &c, &divided));
    c.gathered_logits = 1;
    assert_true(memory_predict(&a, &plan, &cluster, &c, &whole));
    const double hidden = 2 * 512 * 256.0;
    assert_close(whole.last.terms[MEMORY_LOGITS] - hidden, 4 * (divided.last.terms[MEMORY_LOGITS] - hidden), 1e-12);
}

/* Free pieces of all that is reserved, not of activations alone. */
TEST(memory_predict__unusable_pieces__reserved_not_allocated)
{
    struct training_plan plan = {.sequence = 512, .data = 8, .zero_stage = 3, .flash_attention = true};
    struct memory_stage stage = predict(gpt(8, 256, 4), plan, "hf-trainer").most;
    assert_close(stage.allocated_bytes, 0.85 * stage.bytes, 1e-12);
    assert_close(stage.terms[MEMORY_BASE], 1e8 + stage.slack, 1e-9);
    assert_true(stage.slack > 0.1 * stage.bytes); /* given back where memory is tight */
    double sharded = predict(gpt(8, 256, 4), plan, "internevo").most.terms[MEMORY_BASE];
    plan.zero_stage = 2;
    double whole = predict(gpt(8, 256, 4), plan, "internevo").most.terms[MEMORY_BASE];
    assert_true(whole == 536870912 && sharded > whole / 0.85);
    plan.zero_stage = 3;
    static const char *const others[] = {"deepspeed", "megatron"};
    for (size_t i = 0; i < LENGTH(others); i++) {
        stage = predict(gpt(8, 256, 4), plan, others[i]).most;
        double late = i == 0 ? framework_find("deepspeed")->memory.accumulation[3] * stage.parameters / 8 : 0;
        assert_close(stage.allocated_bytes + late, 0.85 * stage.bytes, 1e-12);
    }
    plan.expandable_segments = true;
    for (size_t i = 0; i < LENGTH(others); i++) {
        stage = predict(gpt(8, 256, 4), plan, others[i]).most;
        assert_true(stage.allocated_bytes > 0.9 * stage.bytes && stage.slack == 0);
    }
}

/* TransformerEngine keeps weights of layers by rows and by columns in 8 bits, unless they are in 8 bits themselves. */
TEST(memory_predict__narrow_products__copies_of_weights)
{
#define IN(type) PLANNED(.sequence = 512, .micro_batches = 2, .tensor = 2, .precision = (type))
    const double matrices = 8 * (12 * 256.0 * 256 + 7 * 256 + 2 * 256) / 2;
    const double wide = term(gpt(8, 256, 4), IN(PRECISION_BF16), "megatron", MEMORY_UNSHARDED);
    const double both = term(gpt(8, 256, 4), IN(PRECISION_FP8), "megatron", MEMORY_UNSHARDED);
    const struct training_plan narrow = BUT(IN(PRECISION_FP4), it.narrow_weights = true);
    assert_true(both - wide > 2 * 8 * 12 * 256.0 * 256 / 2 && both - wide <= 2 * matrices);
    assert_close(2 * (term(gpt(8, 256, 4), IN(PRECISION_FP4), "megatron", MEMORY_UNSHARDED) - wide), both - wide, 1e-9);
    assert_true(term(gpt(8, 256, 4), narrow, "megatron", MEMORY_UNSHARDED) == wide);
}

/* DeepSpeed has its bucket however few parameters there are, and holds no more than it may. */
TEST(memory_predict__zero_of_deepspeed__its_bucket_and_limit)
{
#define BUCKET(...) term(gpt(8, 256, 4), PLANNED(.sequence = 512, __VA_ARGS__), "deepspeed", MEMORY_BUFFERS)
    assert_close(BUCKET(.data = 8, .zero_stage = 3) - BUCKET(.data = 8, .zero_stage = 3, .bucket_elements = 1000),
                 2 * (5e8 - 1000), 1e-9);
    /* also where there is nothing to reduce, and more than there are parameters */
    assert_close(BUCKET(.zero_stage = 3, .bucket_elements = 1000), 2 * 1000, 0);
    assert_close(BUCKET(.zero_stage = 2, .bucket_elements = 1000), 2 * 1000, 0);
    assert_close(BUCKET(.zero_stage = 2, .bucket_elements = 1000000000), 2e9, 0);
    assert_close(BUCKET(.zero_stage = 2, .bucket_elements = 1000000000, .overlap_gradients = true), 4e9, 0);
    PLAN(plan, .sequence = 512, .data = 8, .zero_stage = 3, .bucket_elements = 1000);
    double layer = 12 * 16384.0 * 16384; /* more than 1e9 in one; the largest module besides */
    double buffers = term(gpt(80, 16384, 128), plan, "deepspeed", MEMORY_BUFFERS);
    assert_true(buffers > 2e9 + 2 * layer && buffers < 2e9 + 2.01 * layer);
}

/* Weights that are on the device before they are divided need as much as they are, and leave their blocks where they go
 * to the host. */
TEST(memory_predict__loaded_whole__weights_before_they_are_divided)
{
    struct training_plan plan = {.sequence = 32, .data = 64, .zero_stage = 3, .bucket_elements = 1};
    plan.recompute = RECOMPUTE_FULL;
    const struct architecture a = gpt(24, 2048, 16);
    const struct memory_stage divided = predict(a, plan, "deepspeed").most;
    const double whole = 2 * divided.parameters;
    assert_true(divided.bytes < whole);
    plan.loaded_whole = true;
    const struct memory_stage loaded = predict(a, plan, "deepspeed").most;
    assert_true(loaded.bytes == whole && loaded.allocated_bytes == whole && loaded.slack == 0);
    plan.offload = OFFLOAD_PARAMETERS;
    plan.micro_batch = 64;
    const struct memory_stage hosted = predict(a, plan, "deepspeed").most;
    const double smaller = hosted.terms[MEMORY_ACTIVATIONS] + hosted.terms[MEMORY_WORKING];
    assert_true(smaller > 0.1 * whole && smaller < 0.9 * whole);
    const double fragments = hosted.terms[MEMORY_ACTIVATIONS] * (1 - 1 / 1.15);
    assert_close(hosted.terms[MEMORY_BASE], 536870912 + whole - smaller - fragments, 1e-9);
    assert_true(predict(a, BUT(plan, it.zero_stage = 2), "deepspeed").most.terms[MEMORY_BASE] == 536870912);
}

/* torch's linear, which DeepSpeed replaces under zero.Init, saves what was gathered, also by one rank from the host. */
TEST(memory_predict__loaded_whole__gathered_weights_are_saved)
{
#define GATHERED(...) term(GPT, PLANNED(.sequence = 32, .zero_stage = 3, __VA_ARGS__), "deepspeed", MEMORY_BUFFERS)
    const double layers = 24 * 12 * 2048.0 * 2048, divided = GATHERED(.data = 64);
    assert_close(GATHERED(.data = 64, .loaded_whole = true) - divided, 2 * layers, 2e-3);
    assert_close(GATHERED(.loaded_whole = true), 1e9, 0);
    assert_close(GATHERED(.loaded_whole = true, HOSTED), divided + 2 * layers, 2e-3);
    assert_close(GATHERED(.loaded_whole = true, HOSTED, FULLY), divided, 1e-9);
}

/* DeepSpeed casts all weights, adapters too, and has a copy in fp32 of what it trains; peft's are in fp32. */
TEST(memory_predict__adapters__in_the_type_of_the_framework)
{
    static const char *const frameworks[] = {"deepspeed", "torch-ddp"};
    for (size_t i = 0; i < LENGTH(frameworks); i++) {
        struct training_plan plan = {.sequence = 32, .tuning = TUNING_LORA, .lora_rank = 8};
        plan.lora_targets = TARGETS_OF_ATTENTION;
        const struct memory_prediction few = predict(gpt(24, 2048, 16), plan, frameworks[i]);
        plan.lora_rank = 16;
        const struct memory_prediction many = predict(gpt(24, 2048, 16), plan, frameworks[i]);
        const double more = many.most.terms[MEMORY_UNSHARDED] - few.most.terms[MEMORY_UNSHARDED];
        assert_close(more, (2 + 2 + 4 + 8) * (many.trainable - few.trainable), 1e-9);
        assert_close(many.most.terms[MEMORY_UNSHARDED] - 16 * many.trainable, (i == 0 ? 2 : 4) * many.parameters, 1e-3);
    }
}

/* Modules of a Llama are q, k, v and o of 4 M parameters each, and three of 11.3 M in an MLP; its vocabulary has 105 M.
 * What is too small for a unit stays gathered with the root. */
TEST(memory_predict__units_by_size__what_is_too_small_with_the_root)
{
    ROWS(cases, int64_t least; double unit, root /* in M of 2^20 */) = {
        {0, 50, 200},       /* a layer; both matrices of the vocabulary */
        {4000000, 100, 0},  /* each matrix: the largest is that of the vocabulary */
        {12000000, 100, 0}, /* attention, and MLPs */
        {20000000, 100, 24 * 16},
        {40000000, 100, 0}, /* layers */
        {60000000, 100, 24 * 50},
        {120000000, 0, 24 * 50 + 200},
    };
    struct architecture a = shaped(ARCHITECTURE_LLAMA, 24, 2048, 16, 51200);
    struct training_plan plan = {.sequence = 2048, .data = 8, .zero_stage = 3};
    a.ffn = 17 * 1024 / 3;
    for (size_t i = 0; i < LENGTH(cases); i++) {
        plan.unit_parameters = cases[i].least;
        const double buffers = predict(a, plan, "fsdp").most.terms[MEMORY_BUFFERS];
        const double expected = 2 * 2 * cases[i].unit + 2 * fmax(cases[i].unit, cases[i].root);
        assert_close(buffers, expected * 1048576, 2e-3);
    }
    plan.unit_parameters = 0;
    plan.unlimited_gathers = true;
    const struct memory_stage all = predict(a, plan, "fsdp").most;
    assert_close(all.terms[MEMORY_BUFFERS], (2 * 24 * 50 + 2 * 200) * 1048576.0, 2e-3);
    plan.unlimited_gathers = false; /* the host has freed all but two: reserved, not allocated */
    assert_close(predict(a, plan, "fsdp").most.allocated_bytes, all.allocated_bytes, 1e-9);
}

/* torchtitan's norms are of torch's operations, which keep what a layer does not compute again. */
TEST(memory_predict__llama_under_torchtitan__norms_not_fused)
{
    struct architecture a = shaped(ARCHITECTURE_LLAMA, 24, 2048, 16, 32000);
    PLAN(plan, .sequence = 4096, .data = 8, .zero_stage = 3, FLASH);
    struct training_plan fused = BUT(plan, it.norms = NORMS_FUSED);
    a.ffn = 5632;
    assert_close(term(a, plan, "torchtitan", MEMORY_ACTIVATIONS) - term(a, fused, "torchtitan", MEMORY_ACTIVATIONS),
                 1.04 * 24 * 2 * (4 + 4 + 2 - 4) * 4096.0 * 2048, 1e-9);
    plan.recompute = fused.recompute = RECOMPUTE_SELECTIVE;
    plan.modules = fused.modules = MODULE_LAYERNORM;
    assert_close(term(a, plan, "torchtitan", MEMORY_ACTIVATIONS), term(a, fused, "torchtitan", MEMORY_ACTIVATIONS), 0);
}

/* A Llama of transformers has norms of torch's operations, whoever shards it. */
TEST_ROWS(memory_predict__llama_under_deepspeed__norms_not_fused,
          (const char *framework; enum norm_kernel norms; int64_t of_layer; double factor),
          {"deepspeed", NORMS_FRAMEWORK, 0, 1.15}, {"deepspeed", NORMS_FRAMEWORK, 4, 1.15 * 2},
          {"megatron", NORMS_EAGER, 0, 1.04})
{
    struct architecture a = shaped(ARCHITECTURE_LLAMA, 8, 256, 4, 51200);
    PLAN(plan, .sequence = 512, .data = 8, .zero_stage = 3, FLASH, .norms = row->norms);
    a.norms_per_layer = row->of_layer;
    double eager = term(a, plan, row->framework, MEMORY_ACTIVATIONS);
    double fused = term(a, BUT(plan, it.norms = NORMS_FUSED), row->framework, MEMORY_ACTIVATIONS);
    assert_close(eager - fused, row->factor * 8 * 8 * 512 * 256.0, 1e-9);
}

TEST(memory_predict__absurd_batch__refused)
{
    struct architecture a = gpt(24, 2048, 16);
    struct training_plan plan = {.micro_batch = 1000000, .sequence = 1000000000};
    struct cluster cluster = {.device = device_find(NULL, "H100")};
    struct memory_prediction m = {.sigma = 42};
    struct error e = ERROR_INIT;
    assert_int_equal(architecture_complete(&a, &e) | plan_complete(&plan, &a, &e) | cluster_complete(&cluster, &e), 0);
    assert_false(memory_predict(&a, &plan, &cluster, &framework_find("megatron")->memory, &m));
    assert_true(m.sigma == 42);
}

TEST(frameworks__uncalibrated_ones__wider_interval)
{
    ROWS(want, const char *name; bool memory, time /* compared with measurements */) = {
        {"deepspeed", false, false}, {"fsdp", false, false},
        {"fsdp2", false, false},     {"gpt-neox", false, false},
        {"hf-trainer", true, false}, {"internevo", false, false},
        {"maxtext", false, false},   {"megatron-distopt", true, false},
        {"megatron", true, false},   {"nanotron", true, false},
        {"picotron", false, false},  {"torch-ddp", true, false},
        {"torchtitan", true, false}, {"torchtune", false, false},
        {"trainer", true, false},
    };
    const struct framework_set *set = frameworks();
    assert_int_equal(set->count, LENGTH(want));
    assert_null(framework_find("jax"));
    for (size_t i = 0; i < set->count; i++) {
        assert_string_equal(set->items[i].name, want[i].name);
        assert_ptr_equal(framework_find(want[i].name), &set->items[i]);
        assert_true(set->items[i].memory.calibrated == want[i].memory && set->items[i].time.calibrated == want[i].time);
        assert_true(want[i].memory == (set->items[i].memory.sigma < 0.25) &&
                    want[i].time == (set->items[i].time.sigma < 0.25));
    }
    struct memory_prediction sure = predict(gpt(4, 256, 4), (struct training_plan){.sequence = 128}, "megatron");
    struct memory_prediction unsure = predict(gpt(4, 256, 4), (struct training_plan){.sequence = 128}, "deepspeed");
    assert_true(unsure.high_bytes / unsure.most.bytes > sure.high_bytes / sure.most.bytes);
    assert_close(sure.high_bytes * sure.low_bytes, sure.most.bytes * sure.most.bytes, 1e-12);
}

/* nanotron's runs (tables beside the project), with the row of the coefficients as it stands: constants from
 * nanotron's and torch's source, none fitted to these rows. Measured is rank 0, so stage 0 is what is
 * compared. Reached: 692 runs with tp <= 8, mean error 7.8 %; repeats of one configuration differ by 8 to 20
 * %. What was chosen among several documented forms with these rows in view, and what the others would give,
 * is printed: a base of 0.5 GiB, and 1.15 of the range of fragmentation. A stage that ends where costs divide
 * evenly ends there. */
static double ultrascale_error(const struct shared_table *t, const struct memory_coefficients *c, double *count)
{
    double error = 0;
    *count = 0;
    for (size_t row = 0; row < t->row_count; row++) {
        struct published_run run;
        if (!ultrascale_read(t, row, 8, &run) || run.failed)
            continue;
        error += fabs(published_memory(&run, c).first.bytes / run.memory_bytes - 1);
        ++*count;
    }
    return error / *count;
}

TEST(memory_predict__ultrascale_runs__within_a_tenth)
{
    static const double base_gib[] = {0.5, 0.25, 1.0, 0.5, 0.5};
    static const double fragmentation[] = {1.15, 1.15, 1.15, 1.02, 1.08};
    struct memory_coefficients c = framework_find("nanotron")->memory;
    HELD(shared_table) t;
    double count;
    NEEDS(shared_table_load("ultrascale-1B-8B.csv", &t));
    double as_it_stands = ultrascale_error(&t, &c, &count);
    for (size_t i = 0; i < LENGTH(base_gib); i++) {
        c.base_bytes = base_gib[i] * GIB;
        c.fragmentation = fragmentation[i];
        print_message("memory, base %.2f GiB, fragmentation %.2f: mean error %.2f %%\n", base_gib[i], fragmentation[i],
                      100 * ultrascale_error(&t, &c, &count));
    }
    assert_true(count == 692);
    assert_true(as_it_stands <= 0.10);
}

/* MPT under FSDP: no memory was published, but every run fitted, and many micro-batches were the largest that did. So
 * nothing may be predicted to need more than there is, and the largest have to come close to it. With the loss counted
 * as eager, 147 of 349 layouts were predicted beyond the device, by up to 43 %; MPT's is flash-attn's, fused. */
TEST(memory_predict__mpt_rows__fit_as_they_did)
{
    static const double gib[MPT_CLUSTERS] = {39.4, 79.1, 79.1};
    HELD(shared_table) t;
    size_t runs = 0, beyond = 0, near = 0;
    double most = 0;
    NEEDS(shared_table_load("llm-foundry-mpt.csv", &t));
    for (int c = 0; c < MPT_CLUSTERS; c++)
        for (size_t row = 0; row < t.row_count; row++) {
            struct published_run run;
            if (!published_read(&t, row, published_table(mpt_clusters[c]), &run) || run.step_s <= 0)
                continue;
            const struct memory_stage needed = published_memory(&run, &framework_find("fsdp")->memory).most;
            double share = (needed.bytes - needed.slack) / (gib[c] * GIB);
            most = fmax(most, share);
            runs++;
            beyond += share > 1;
            near += share > 0.8;
        }
    print_message("MPT: %zu runs, at most %.3f of the device predicted, %zu beyond it, %zu above 0.8\n", runs, most,
                  beyond, near);
    assert_true(runs == 455 && most <= 1.02 && near > runs / 4);
}

/* GPT by Megatron-LM and OneFlow on up to 32 V100 of 16 GB, activations checkpointed (DLPerf): all of them ran.
 * OneFlow's memory is that of another framework; it is said, not asserted. */
TEST(memory_predict__dlperf_rows__fit_as_they_did)
{
    HELD(shared_table) t;
    double most = 0, error = 0;
    size_t measured = 0;
    NEEDS(shared_table_load("dlperf-gpt-v100.csv", &t));
    for (size_t row = 0; row < t.row_count; row++) {
        struct architecture a =
            gpt((int64_t)shared_number(&t, row, "n_layers"), (int64_t)shared_number(&t, row, "hidden"),
                (int64_t)shared_number(&t, row, "n_heads"));
        PLAN(plan, .data = (int64_t)shared_number(&t, row, "dp"), .tensor = (int64_t)shared_number(&t, row, "tp"),
             .pipeline = (int64_t)shared_number(&t, row, "pp"), .micro_batch = (int64_t)shared_number(&t, row, "mbs"),
             .micro_batches = (int64_t)shared_number(&t, row, "grad_acc"),
             .sequence = (int64_t)shared_number(&t, row, "seq_len"), .recompute = RECOMPUTE_FULL);
        double bytes = predict(a, plan, "megatron").most.bytes, mib = shared_number(&t, row, "mem_mib");
        most = fmax(most, bytes);
        if (mib > 0) {
            error += fabs(bytes / (mib * 1048576) - 1);
            measured++;
        }
    }
    print_message("DLPerf: at most %.2f GiB predicted of %zu rows; OneFlow's %zu off by %.1f %%\n", most / GIB,
                  t.row_count, measured, 100 * error / (double)measured);
    assert_true(t.row_count == 36 && most <= OOM_CERTAIN_SHARE * 16 * GIB);
}
