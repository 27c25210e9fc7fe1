/* predict: step time, against its own arithmetic. */
#include "predict/flops.h"
#include "predict/memory.h"
#include "step_fixture.h"

#define CONTENTION (0.189 / 1.189) /* of what is hidden, what counts */

TEST(step_predict__one_device__sum_of_weighted_terms)
{
    struct architecture a = GPT;
    struct training_plan plan = {.micro_batch = 4, .micro_batches = 2, .sequence = 2048, .flash_attention = true};
    struct step_prediction s = predict(a, plan, *a100(), "megatron");
    double sum = 0, tokens = 4 * 2048;
    for (int i = 0; i < TIME_TERM_COUNT; i++)
        sum += s.terms[i] * framework_find("megatron")->time.weights[i];
    assert_close(s.seconds, sum, 1e-12);
    assert_close(s.terms[TIME_MATRICES], 2 * 3 * tokens * (2 * 24 * 12 * 2048.0 * 2048 + 2 * 2048 * 51200.0) / 312e12,
                 1e-12);
    assert_close(s.terms[TIME_ATTENTION], 2 * 3 * tokens * 24 * 2 * 2048 * 2048.0 / 201e12, 1e-12);
    assert_close(s.terms[TIME_STEP], (4 + 24 * 16) / 500.0, 1e-12);
    assert_true(s.terms[TIME_TENSOR] == 0 && s.terms[TIME_DATA_INTRA] == 0 && s.terms[TIME_PIPELINE] == 0);
}

/* A stage has its own tensors, and adapters are pairs. */
STEPS(step_predict__optimizer__by_tensors_of_a_rank, 1e-12,
      STEP("megatron", TIME_STEP, (4 + 6 * 16) / 500.0, .pipeline = 4, .sequence = 256),
      STEP("hf-trainer", TIME_STEP, (4 + 24 * 2 * 2) / 500.0, .sequence = 256, LORA(3)))

/* A layer takes ∛(device³ + host³): of a large micro-batch hardly any launches are waited for, of a small one most. */
TEST(step_predict__launches__hidden_behind_the_device)
{
    struct architecture a = shaped(ARCHITECTURE_GPT, 24, 1024, 16, 1);
    const struct time_coefficients *c = &framework_find("megatron")->time;
    double before = 24 * (1 + c->module_launches);
    for (int64_t micro_batch = 1; micro_batch <= 256; micro_batch *= 4) {
        struct training_plan plan = {.micro_batch = micro_batch, .sequence = 256, .flash_attention = true};
        struct step_prediction s = predict(a, plan, *a100(), "megatron");
        double device =
            (c->nominal[TIME_MATRICES] * s.terms[TIME_MATRICES] + c->nominal[TIME_ATTENTION] * s.terms[TIME_ATTENTION] +
             c->nominal[TIME_ELEMENTWISE] * s.terms[TIME_ELEMENTWISE]) /
                24 +
            c->nominal[TIME_OPTIMIZER] * 8 * 12 * 1024.0 * 1024 / 2039e9;
        double layer = c->nominal[TIME_LAUNCH], host = (1 + c->module_launches) * layer;
        assert_close(s.terms[TIME_LAUNCH], 24 * (cbrt(pow(device, 3) + pow(host, 3)) - device) / layer, 1e-3);
        assert_true(s.terms[TIME_LAUNCH] < before);
        before = s.terms[TIME_LAUNCH];
    }
    assert_true(before < 24 / 4.0);
}

/* Around a collective nanotron calls more of torch than others, and it adds each gradient to one in fp32. */
TEST(step_predict__collectives__launched)
{
    const struct time_coefficients *c = &framework_find("nanotron")->time;
    struct training_plan plan = {.tensor = 8, .sequence = 256, .sequence_parallel = true};
    struct step_prediction s = predict(gpt(24, 1024, 16), plan, *a100(), "nanotron");
    assert_true(c->collective_launches > framework_find("megatron")->time.collective_launches);
    assert_true(s.terms[TIME_LAUNCH] > 24 * 1.6 && s.terms[TIME_LAUNCH] < 24 * (1.1 + 10 * c->collective_launches));
    assert_true(s.terms[TIME_LAUNCH] > predict(gpt(24, 1024, 16), plan, *a100(), "megatron").terms[TIME_LAUNCH]);
}

/* DeepSpeed's hooks run around each module under stage 3, and at each gradient from stage 2 on; bitsandbytes
 * dequantises each matrix before its product. Long sequences hide most of it. */
TEST(step_predict__hooks_and_quantised_products__launched)
{
    struct architecture llama = shaped(ARCHITECTURE_LLAMA, 24, 2048, 16, 32000);
    double of_stage[4];
    for (int64_t stage = 1; stage <= 3; stage++) {
        PLAN(plan, .data = 2, .sequence = 256, .zero_stage = stage, .flash_attention = true);
        of_stage[stage] = term_of(llama, plan, "deepspeed", TIME_LAUNCH);
    }
    PLAN(hidden, .data = 2, .sequence = 8192, .zero_stage = 3, .flash_attention = true);
    assert_true(of_stage[1] > 0 && of_stage[2] > of_stage[1] + 1 && of_stage[3] > of_stage[2] + 24 * 0.3);
    assert_true(term_of(llama, hidden, "deepspeed", TIME_LAUNCH) < of_stage[3] / 4);
    PLAN(single, .sequence = 256, LORA(3), .quantization = QUANTIZATION_NF4);
    struct training_plan nested = BUT(single, it.quantization = QUANTIZATION_NF4_DOUBLE);
    assert_true(term_of(llama, nested, "hf-trainer", TIME_LAUNCH) >
                term_of(llama, single, "hf-trainer", TIME_LAUNCH) + 1);
}

/* Unpacking by torch's operations takes nine launches and 18 bytes a weight in each forward pass. */
TEST(step_predict__gptq__unpacked_by_the_host)
{
    struct architecture llama = shaped(ARCHITECTURE_LLAMA, 24, 2048, 16, 32000);
    PLAN(plan, .sequence = 256, LORA(3), .recompute = RECOMPUTE_FULL, .quantization = QUANTIZATION_GPTQ,
         .quantized_by = QUANTIZED_FUSED);
    struct training_plan own = BUT(plan, it.quantized_by = QUANTIZED_FRAMEWORK);
    struct training_plan unpacked = BUT(plan, it.quantized_by = QUANTIZED_UNPACKED);
    const struct step_prediction with = predict(llama, own, *a100(), "hf-trainer");
    const struct step_prediction fused = predict(llama, plan, *a100(), "hf-trainer");
    assert_true(with.terms[TIME_LAUNCH] > fused.terms[TIME_LAUNCH] + 24 * 0.5);
    assert_true(with.terms[TIME_ELEMENTWISE] > 2 * fused.terms[TIME_ELEMENTWISE]);
    assert_true(term_of(llama, own, "fsdp", TIME_LAUNCH) < term_of(llama, unpacked, "fsdp", TIME_LAUNCH));
}

/* FSDP's views of each tensor, its gathers of each layer, and of each adapter that is a unit of its own. */
TEST(step_predict__units_of_fsdp__launched)
{
    struct training_plan plan = {.data = 2, .sequence = 1, .zero_stage = 3}, single = {.sequence = 1, .zero_stage = 3};
    double whole = term(plan, "fsdp", TIME_LAUNCH);
    assert_true(whole > term(single, "fsdp", TIME_LAUNCH) + 24 * 0.4);
    assert_true(term(BUT(plan, it.zero_stage = 2), "fsdp", TIME_LAUNCH) < whole - 24 * 0.1);
    struct training_plan tuned = {.data = 2, .sequence = 1, .zero_stage = 3, .tuning = TUNING_LORA, .lora_rank = 8};
    tuned.lora_targets = TARGETS_OF_ATTENTION;
    double apart = term(tuned, "hf-trainer", TIME_LAUNCH);
    tuned.adapters = ADAPTERS_FUSED;
    assert_true(apart > term(tuned, "hf-trainer", TIME_LAUNCH) + 24 * 8 * 0.1);
}

/* PyTorch has no flash kernel for a mask. Mistral 7B with LoRA took 1.31 times as long with one of 4,096 tokens, and
 * 1.61 with 8,192 (huggingface/transformers, issue 30461). */
TEST(step_predict__padding_mask__whole_square_by_the_slower_kernel)
{
    struct architecture mistral = shaped(ARCHITECTURE_LLAMA, 32, 4096, 32, 32000);
    mistral.kv_heads = 8;
    mistral.ffn = 14336;
    static const double measured[] = {3247.0 / 2483, 3083.0 / 1918};
    for (int i = 0; i < 2; i++) {
        PLAN(plan, .sequence = 4096 << i, .flash_attention = true, .tuning = TUNING_LORA, .lora_rank = 8,
             .lora_targets = TARGETS_OF_ATTENTION, .attention_kernel = ATTENTION_KERNEL_SDPA);
        double bare = predict(mistral, plan, *a100(), "hf-trainer").seconds;
        plan.padding_mask = true;
        double masked = predict(mistral, plan, *a100(), "hf-trainer").seconds;
        assert_close(masked / bare, measured[i], 0.1);
        plan.attention_kernel = ATTENTION_KERNEL_FLASH_2;
        struct step_prediction flash = predict(mistral, plan, *a100(), "hf-trainer");
        assert_close(flash.seconds, bare, 1e-9);
        plan.deterministic = true;
        double slower = term_of(mistral, plan, "hf-trainer", TIME_ATTENTION) - flash.terms[TIME_ATTENTION];
        double kernel = flash.terms[TIME_ATTENTION] / (1 + 3.0 / 7 * fmin(1, 4096.0 / (double)plan.sequence));
        assert_close(slower, 0.2 * 2.5 / 3.5 * kernel, 1e-9);
    }
}

/* Calibration must not change what the weights multiply. */
TEST(step_predict__weight_of_launches__same_terms)
{
    struct architecture a = gpt(24, 1024, 16);
    PLAN(plan, .micro_batch = 2, .sequence = 256);
    struct cluster cluster = *a100();
    struct framework other = *framework_find("megatron");
    struct step_prediction s = predict(a, plan, cluster, "megatron"), t;
    all_completed(&a, &plan, &cluster);
    for (int i = 0; i < TIME_TERM_COUNT; i++)
        other.time.weights[i] *= 3;
    assert_true(step_predict(&a, &plan, &cluster, &other, &t));
    assert_memory_equal(s.terms, t.terms, sizeof s.terms);
    assert_close(t.seconds, 3 * s.seconds, 1e-12);
}

#define SENT (2 * 0.75 * 2 * 4 * 2048 * 2048.0)
#define TP .tensor = 4, .micro_batch = 4, .sequence = 2048
#define TP_OF_16 .tensor = 16, .micro_batch = 4, .sequence = 2048, .recompute = RECOMPUTE_FULL

/* 4 all-reduces a layer, 6 with full recompute, each 2·(t - 1)/t of 2·T·h over the node's link. In sequence parallelism
 * two gathers and two reduce-scatters, as many backward, and the inputs again. Over two nodes, with all eight adapters
 * of each. In stages the embedding's all-reduce is the first one's, the head's and the loss's the last one's. */
STEPS(step_predict__tensor_parallel__volume_and_steps, 1e-12,
      STEP("megatron", TIME_TENSOR, (24 * 4 + 2) * SENT / 300e9, TP),
      STEP("megatron", TIME_TENSOR_STEPS, (24 * 4 + 2 + 3) * 2, TP),
      STEP("megatron", TIME_TENSOR, (24 * 4 + 2) * SENT / 300e9, TP, .sequence_parallel = true),
      STEP("megatron", TIME_TENSOR_STEPS, (24 * 5 + 2.5 + 3) * 2, TP, .sequence_parallel = true),
      STEP("megatron", TIME_TENSOR, (24 * 6 + 2) * SENT / 300e9, TP, .recompute = RECOMPUTE_FULL),
      STEP("megatron", TIME_TENSOR, (24 * 6 + 2) * SENT / 0.75 * 15 / 16 / (8 * 25e9), TP_OF_16),
      STEP("megatron", TIME_TENSOR_STEPS, (24 * 6 + 2 + 3) * 2 * 15, TP_OF_16),
      STEP("megatron", TIME_TENSOR, (7 * 12 * 4 + 6) * SENT / 300e9, TP, .pipeline = 2, .micro_batches = 6),
      STEP("megatron", TIME_TENSOR_STEPS, (7 * 12 * 4 + 6 * (1 + 3)) * 2, TP, .pipeline = 2, .micro_batches = 6))

/* FSDP costs what is longer than the computing that it hides behind, what nothing hides (the first gathers and the last
 * reductions, of the embedding and a layer), and 0.159 of the rest, which slows the computing, but not where
 * collectives have engines of their own. Each unit has the latency of a ring, thrice. */
TEST(step_predict__sharded_parameters__hidden_behind_computing)
{
    PLAN(plan, .data = 16, .zero_stage = 3, .micro_batch = 8, .sequence = 2048);
    struct device engines = *device_find(NULL, "A100-80GB");
    engines.collective_engines = true;
    const double sent = 8 * (15 / 16.0) * GPT_PARAMETERS / (8 * 25e9);
    const double weight = framework_find("torchtitan")->time.nominal[TIME_DATA_INTER];
    const double all = sent + 3 * 24 * (14 * 3.4e-6 + 14e-6) / weight;
    const double bare = 0.75 * (GPT_LAYER + GPT_HEAD) / GPT_PARAMETERS;
    const double hidden = term(plan, "torchtitan", TIME_DATA_INTER);
    assert_close(hidden, (CONTENTION + (1 - CONTENTION) * bare) * all, 1e-4);
    assert_true(term_on(A100_WITH(.inter_bytes_per_s = 1e9), plan, "torchtitan", TIME_DATA_INTER) > hidden * 15);
    assert_close(term_on((struct cluster){.device = &engines}, plan, "torchtitan", TIME_DATA_INTER), bare * all, 1e-4);
    plan.gathers_in_turn = true;
    assert_true(term(plan, "torchtitan", TIME_DATA_INTER) > 0.6 * all);
    assert_close(term(BUT(plan, it.zero_stage = 1), "torchtitan", TIME_DATA_INTER), sent * 6 / 8, 1e-4);
}

/* A ring that crosses nodes passes their own links, too: those of an H100 deliver less than eight adapters of 400 Gb/s,
 * those of a B200 more. Nothing gets faster by crossing. */
TEST_ROWS(step_predict__ring_over_nodes__waits_for_the_slower_links, (const char *text), {"H100"}, {"B200"}, {"GB200"},
          {"GB300"}, {"A100-80GB"}, {"MI355X"}, {"TPU-v5e"})
{
    PLAN(plan, .data = 64, .sequence = 512);
    assert_true(term_on(on("H100"), plan, "megatron", TIME_DATA_INTER) == 0);
    assert_true(term_on(on("B200"), plan, "megatron", TIME_DATA_INTRA) == 0);
    struct cluster cluster = on(row->text);
    double ranks = cluster.device->pair_bytes_per_s > 0 ? 8 : 2; /* fewer have fewer links of a mesh */
    for (double before = 0; ranks <= 1024; ranks *= 2) {
        plan.data = (int64_t)ranks;
        double s = predict(GPT, plan, cluster, "megatron").seconds;
        assert_true(s >= before);
        before = s;
    }
}

/* Launches wait less where the device is slower, but never so much less that a faster device takes longer, and
 * neither do products in 8 bits. */
TEST(step_predict__faster_device_or_product__never_slower)
{
    static const char *const frameworks_of[] = {"fsdp", "fsdp2", "megatron", "nanotron", "deepspeed"};
    static const char *const devices[] = {"V100-32GB", "A100-80GB", "H100", "H200", "B200"};
    for (size_t f = 0; f < 5; f++)
        for (int64_t hidden = 512; hidden <= 8192; hidden *= 2)
            for (int64_t zero = 0; zero <= 3; zero++) {
                struct training_plan plan = {.data = 64, .sequence = 2048, .zero_stage = zero, .flash_attention = true};
                double before = INFINITY;
                for (size_t i = 0; i < 5; i++) {
                    const struct cluster c = {.device = device_find(NULL, devices[i]), .inter_bytes_per_s = 25e9};
                    double s = predict(gpt(24, hidden, 8), plan, c, frameworks_of[f]).seconds;
                    assert_true(s <= before * (1 + 1e-9));
                    before = s;
                    plan.precision = PRECISION_FP8;
                    double narrow = predict(gpt(24, hidden, 8), plan, c, frameworks_of[f]).seconds;
                    plan.precision = PRECISION_BF16;
                    assert_true(c.device->fp8_factor < 2 || narrow <= s * 1.02);
                }
            }
}

/* FSDP2 gathers a stage of a pipeline once for all micro-batches, and reduces its gradients once, after them. */
TEST(step_predict__fsdp2_pipeline__sends_a_stage_once)
{
    PLAN(plan, .data = 16, .zero_stage = 3, .pipeline = 4, .micro_batches = 8, .sequence = 512);
    const double stage = 24 / 4 * GPT_LAYER + GPT_HEAD, few = term(plan, "fsdp2", TIME_DATA_INTER);
    assert_true(few < 6 * stage / (8 * 25e9) && few > 4 * (15 / 16.0) * stage / (8 * 25e9));
    plan.micro_batches = 16;
    assert_close(term(plan, "fsdp2", TIME_DATA_INTER), few, 0.01);
    plan.zero_stage = 2;
    assert_true(term(plan, "fsdp2", TIME_DATA_INTER) >= few);
    assert_true(term(plan, "deepspeed", TIME_DATA_INTER) >
                term(BUT(plan, it.micro_batches = 8), "deepspeed", TIME_DATA_INTER));
}

/* DeepSpeed has all of a host of Grace, torch no more than of another's. */
TEST(step_predict__offload_on_grace__of_deepspeed_alone)
{
    PLAN(plan, .data = 4, .zero_stage = 3, .offload = OFFLOAD_OPTIMIZER, .sequence = 512);
    struct cluster grace = {.device = device_find(NULL, "GH200"), .devices_per_node = 4};
    struct cluster slot = {grace.device, .devices_per_node = 4, .pcie_bytes_per_s = 50e9, .host_bytes_per_s = 75e9};
    const struct architecture a = gpt(4, 256, 4);
    assert_true(predict(a, plan, grace, "fsdp").seconds == predict(a, plan, slot, "fsdp").seconds);
    assert_true(predict(a, plan, grace, "deepspeed").seconds < predict(a, plan, slot, "deepspeed").seconds);
}

/* The Trainer's models launch each expert of a rank by itself, a loop over 62 of them for longer than all else. */
TEST(step_predict__looped_experts__launched_one_by_one)
{
    struct training_plan plan = {.data = 2, .micro_batch = 8, .sequence = 256, .flash_attention = true};
    struct architecture a = gpt(40, 1536, 12);
    set_experts(&a, 62, 6, 512);
    double looped = term_of(a, plan, "hf-trainer", TIME_LAUNCH);
    assert_close(looped, 40 * (1 + 0.4 * 62), 0.15);
    plan.expert = 2;
    assert_close(term_of(a, plan, "hf-trainer", TIME_LAUNCH), looped / 2, 0.15);
    plan.experts = EXPERTS_GROUPED;
    double grouped = term_of(a, plan, "hf-trainer", TIME_LAUNCH);
    assert_true(grouped <= 40);
    plan.experts = EXPERTS_FRAMEWORK;
    assert_close(term_of(a, BUT(plan, it.weights = WEIGHTS_16), "torch-ddp", TIME_LAUNCH), grouped, 1e-9);
}

/* Megatron-LM's router and its exchange of tokens are launched by themselves, and each expert of the rank is multiplied
 * by itself, though TransformerEngine groups them. Of that a layer's CUDA graph has the router alone. */
TEST(step_predict__grouped_experts__routed_and_multiplied_one_by_one)
{
    struct training_plan plan = {.data = 2, .sequence = 256, .flash_attention = true};
    struct architecture a = gpt(40, 256, 4);
    const struct time_coefficients *c = &framework_find("megatron")->time;
    double dense = 1 + c->module_launches, routing = c->routing_launches, each = c->grouped_launches;
    set_experts(&a, 64, 2, 128);
    assert_close(term_of(a, plan, "megatron", TIME_LAUNCH), 40 * (dense + routing + 64 * each), 0.02);
    plan.expert = 2;
    assert_close(term_of(a, plan, "megatron", TIME_LAUNCH), 40 * (dense + routing + 32 * each), 0.05);
    plan.cuda_graphs = true;
    assert_close(term_of(a, plan, "megatron", TIME_LAUNCH), 40 * (0.01 * dense + routing / 2 + 32 * each), 0.05);
}

/* The head is as the layers: MI300X's best products reach less of its peak than A100's. */
TEST(step_predict__head__products_of_the_device)
{
    static const char *const devices[] = {"A100-80GB", "MI300X"};
    struct architecture many = GPT;
    double shares[2];
    many.vocab += 51200;
    for (int i = 0; i < 2; i++) {
        double layers = term_on(on(devices[i]), PLANNED(.sequence = 2048), "megatron", TIME_MATRICES);
        double all = predict(many, PLANNED(.sequence = 2048), on(devices[i]), "megatron").terms[TIME_MATRICES];
        shares[i] = (all - layers) / layers;
    }
    assert_close(shares[0], shares[1], 1e-9);
}

/* What the graph of a compiled model has of its loss is read and written in 2 bytes, 10 for the 40 of an eager one. */
TEST(step_predict__compiled_loss__a_quarter_of_the_traffic)
{
    double eager = term(PLANNED(.sequence = 2048), "megatron", TIME_LOGITS);
    assert_true(eager > 0);
    assert_close(term(PLANNED(.sequence = 2048, .loss = LOSS_COMPILED), "megatron", TIME_LOGITS), eager / 4, 1e-9);
}

/* nanotron reduces gradients in buckets of 25 MiB, each over a tree of two nodes, behind the last backward pass. */
TEST(step_predict__buckets__latency_of_each)
{
    const struct cluster slow = A100_WITH(.inter_latency_s = 75e-6);
    const struct time_coefficients *c = &framework_find("nanotron")->time;
    PLAN(plan, .data = 16, .sequence = 512);
    double few = term(plan, "nanotron", TIME_DATA_INTER), many = term_on(slow, plan, "nanotron", TIME_DATA_INTER);
    /* 12, 4, 16 and 16 h²/4 parameters in the tensors of a layer. */
    double excess = 2 * 2048.0 * 2048 / 4 * (12 * 12 + 4 * 4 + 2 * 16 * 16) / (2.0 * 48);
    double buckets = ceil(2 * GPT_PARAMETERS / (c->bucket_bytes + excess));
    assert_close(many - few, buckets * 2 * 2 * 75e-6 / c->nominal[TIME_DATA_INTER], 1e-6);
    double hidden = term_on(slow, BUT(plan, it.micro_batch = 64), "nanotron", TIME_DATA_INTER);
    assert_true(hidden < many);
    assert_close(term_on(slow, BUT(plan, it.micro_batch = 128), "nanotron", TIME_DATA_INTER), hidden, 1e-9);
    assert_true(term_on(slow, BUT(plan, it.data = 8), "nanotron", TIME_DATA_INTER) == 0);
}

/* nanotron copies each parameter from what each rank sent: six of a layer. */
TEST(step_predict__gathered_tensors__a_copy_of_each_rank)
{
    PLAN(all, .data = 64, .sequence = 2048);
    struct training_plan sharded = BUT(all, it.zero_stage = 1);
    assert_close(term(sharded, "nanotron", TIME_LAUNCH) - term(all, "nanotron", TIME_LAUNCH), 0.005 * 6 * 24 * 64,
                 1e-9);
    assert_close(term(sharded, "megatron", TIME_LAUNCH), term(all, "megatron", TIME_LAUNCH), 1e-12);
}

/* TransformerEngine takes cuDNN's attention from Hopper on, others FlashAttention-2, unless it is said which. */
TEST(step_predict__attention_kernels__by_framework_and_plan)
{
    const double layouts = 0.3 * 2039 / 201; /* rotations are as fast as memory */
    PLAN(plan, .sequence = 4096, .flash_attention = true);
    struct training_plan older = BUT(plan, it.attention_kernel = ATTENTION_KERNEL_FLASH_2);
    struct training_plan newest = BUT(plan, it.attention_kernel = ATTENTION_KERNEL_LATEST);
    double flash = term_on(on("H100"), plan, "nanotron", TIME_ATTENTION);
    double latest = term_on(on("H100"), plan, "megatron", TIME_ATTENTION);
    assert_close(flash * 335e12, latest * 3.5 / (1 / 609e12 + 2.5 / 499e12), 1e-12);
    assert_close(term_on(on("H100"), older, "megatron", TIME_ATTENTION), flash, 1e-12);
    assert_close(term_on(on("H100"), newest, "nanotron", TIME_ATTENTION), latest, 1e-12);
    assert_close(term(newest, "nanotron", TIME_ATTENTION) * 201e12, flash * 335e12, 1e-12);
    double of_blackwell = term_on(on("B200"), newest, "nanotron", TIME_ATTENTION);
    assert_close(term_on(on("B200"), plan, "megatron", TIME_ATTENTION), of_blackwell, 1e-12);
    assert_true(of_blackwell < latest);
    assert_close(term_on(on("MI300X"), plan, "nanotron", TIME_ATTENTION), flash * 335 * (0.7 / 230.5 + layouts / 5300),
                 1e-9);
    assert_close(term_on(on("B200"), plan, "nanotron", TIME_ATTENTION), flash * 335 * (0.7 / 327.4 + layouts / 7700),
                 1e-9);
}

/* Of the term 0.7 is the kernel's. */
TEST(step_predict__large_heads__slower_kernels)
{
    PLAN(plan, .sequence = 4096, .flash_attention = true);
    assert_close(term_of(gpt(24, 2048, 8), plan, "fsdp", TIME_ATTENTION),
                 term(plan, "fsdp", TIME_ATTENTION) * (0.7 * 370 / 297 + 0.3), 1e-9);
}

/* The quadratic part is 1.4 of the term's weight of 2. */
TEST(step_predict__long_sequences__attention_of_kernels_alone)
{
    const struct architecture a = gpt(2, 1024, 8);
    PLAN(plan, .sequence = 4096, .flash_attention = true);
    double whole = term_of(a, plan, "fsdp", TIME_ATTENTION);
    for (plan.sequence = 8192; plan.sequence <= 1 << 17; plan.sequence *= 2) {
        double times = pow((double)plan.sequence / 4096, 2), each = (double)plan.sequence / 4096;
        struct training_plan triton = BUT(plan, it.attention_kernel = ATTENTION_KERNEL_TRITON);
        struct training_plan two = BUT(plan, it.context = 2);
        assert_close(term_of(a, plan, "fsdp", TIME_ATTENTION), whole * (0.7 * times + 0.3 * each), 1e-9);
        assert_close(term_of(a, triton, "fsdp", TIME_ATTENTION), whole * times, 1e-9);
        assert_close(term_of(a, two, "fsdp", TIME_ATTENTION), whole * times / 2, 1e-9);
        assert_close(term_of(a, two, "deepspeed", TIME_ATTENTION), whole * (0.7 * times + 0.3 * each) / 2, 1e-9);
    }
}

/* Products in 8 bits read what was cast for them. */
TEST(step_predict__products_in_8_bits__casts_pass_memory)
{
    struct training_plan plan = {.micro_batch = 2, .sequence = 2048, .flash_attention = true};
    struct architecture a = GPT;
    double bf16 = term_of(a, plan, "megatron", TIME_ELEMENTWISE);
    plan.precision = PRECISION_FP8;
    double numbers = 3 * 2048 + 2 * 2048 + 2 * 8192 + 2048; /* of queries, keys, values; the output; an MLP */
    assert_close(term_of(a, plan, "megatron", TIME_ELEMENTWISE) - bf16, 24 * 2 * 2048 * 4 * numbers / 8 / 2039e9, 1e-9);
}

/* Bytes per parameter that a rank sends: 2·g, g + 2, m·g + 2 or g + 2, under FSDP m·(g + 2), m·(4 + g); times
 * (R - 1)/R. */
TEST_ROWS(step_predict__zero_stages__volume_of_data_parallelism,
          (const char *framework; int64_t zero; double bytes, in_fp32), {"megatron", 0, 8, 8},
          {"megatron-distopt", 1, 6, 8}, {"deepspeed", 1, 4 + 2, 8 + 4}, {"deepspeed", 2, 3 * 4 + 2, 28},
          {"torch-ddp", 2, 4 + 2, 4 + 4}, {"fsdp", 2, 3 * 4, 3 * 8}, {"fsdp", 3, 3 * 6, 3 * 12},
          {"fsdp2", 3, 3 * (4 + 4), 3 * 12})
{
    /* so slow that nothing to speak of is hidden */
    const struct cluster slow = A100_WITH(.intra_bytes_per_s = 1e5);
    PLAN(plan, .data = 8, .micro_batches = 3, .sequence = 512, .zero_stage = row->zero);
    struct step_prediction s = predict(GPT, plan, slow, row->framework);
    assert_close(s.terms[TIME_DATA_INTRA], row->bytes * GPT_PARAMETERS * 7 / 8 / 1e5, 1e-5);
    assert_true(s.terms[TIME_DATA_INTER] == 0);
    plan.precision = PRECISION_FP32;
    assert_close(term_on(slow, plan, row->framework, TIME_DATA_INTRA), row->in_fp32 * GPT_PARAMETERS * 7 / 8 / 1e5,
                 1e-5);
}

/* FSDP without resharding after the forward pass gathers less often than with it, and hides it in the same way. */
TEST_ROWS(step_predict__fsdp_that_does_not_reshard__no_slower, (const char *text), {"fsdp"}, {"fsdp2"}, {"hf-trainer"},
          {"torchtitan"}, {"torchtune"})
{
    for (int64_t data = 8; data <= 512; data *= 8)
        for (int64_t m = 1; m <= 8; m *= 8) {
            struct training_plan plan = {.data = data, .micro_batches = m, .sequence = 2048, .zero_stage = 2};
            double kept = predict(GPT, plan, *a100(), row->text).seconds;
            plan.zero_stage = 3;
            assert_true(kept <= predict(GPT, plan, *a100(), row->text).seconds);
        }
}

/* The plan's word on gradients goes over what the framework sends. */
TEST(step_predict__gradient_bytes__of_the_plan)
{
    double all = term(PLANNED(.data = 8, .sequence = 512), "megatron", TIME_DATA_INTRA);
    PLAN(narrow, .data = 8, .sequence = 512, .gradient_bytes = 2);
    assert_close(term(narrow, "megatron", TIME_DATA_INTRA), all / 2, 1e-9);
    narrow.gradient_bytes = 6; /* in 16 bits and in fp32 */
    assert_close(term(narrow, "megatron", TIME_DATA_INTRA), all, 1e-9);
}

/* Rounding left less than nothing of it, which calibration refuses. */
TEST(step_predict__all_of_it_hidden__no_less_than_nothing)
{
    for (int64_t data = 2; data <= 64; data++)
        for (int bytes = 2; bytes <= 3; bytes++) {
            PLAN(plan, .data = data, .zero_stage = 1, .micro_batch = 16, .sequence = 4096, .gradient_bytes = bytes,
                 .overlap_gradients = true, .overlap_parameters = true);
            struct step_prediction s = predict(GPT, plan, *a100(), "megatron");
            assert_true(s.terms[TIME_DATA_INTRA] >= 0 && s.terms[TIME_DATA_INTER] >= 0);
        }
}

/* Between nodes all adapters of the group's members on a node carry the ring. */
TEST(step_predict__data_parallel_over_nodes__adapters_of_a_node)
{
    PLAN(plan, .data = 64, .sequence = 512);
    assert_close(term(plan, "megatron", TIME_DATA_INTER), 8 * GPT_PARAMETERS * 63 / 64 / (8 * 25e9), 1e-9);
    plan.tensor = 8; /* one member on a node */
    assert_close(term(plan, "megatron", TIME_DATA_INTER), 8 * GPT_PARAMETERS / 8 * 63 / 64 / 25e9, 2e-3);
    plan = PLANNED(.data = 64, .sequence = 512, .zero_stage = 3, .shard_ranks = 8);
    const struct cluster slow = A100_WITH(.intra_bytes_per_s = 1e5, .inter_bytes_per_s = 1e5 / 12);
    struct step_prediction hybrid = predict(GPT, plan, slow, "fsdp");
    assert_close(hybrid.terms[TIME_DATA_INTRA], 6 * GPT_PARAMETERS * 7 / 8 / 1e5, 1e-5);
    assert_close(hybrid.terms[TIME_DATA_INTER], 2 * 2 * GPT_PARAMETERS / 8 * 7 / 8 / (1e5 / 12), 1e-5);
}

/* Eight experts' ranks are neighbours where experts are not cut, whatever the tensor degree of the rest. Over two
 * nodes, half of what all exchange stays in its own; adapters deliver 0.9 where links deliver 0.65. */
TEST(step_predict__experts_that_are_not_cut__within_a_node)
{
    struct architecture a = gpt(4, 1024, 16);
    struct training_plan plan = {.tensor = 2, .data = 8, .expert = 8, .expert_tensor = 2, .sequence = 1024};
    const double network = 25e9 * 0.9 / 0.65;
    set_experts(&a, 8, 2, 0);
    double cut = term_of(a, plan, "megatron", TIME_EXPERT);
    plan.expert_tensor = 1;
    assert_close(term_of(a, plan, "megatron", TIME_EXPERT) / (7 / 8.0) * 300e9, cut / (2 * 1 / 2.0) * network, 1e-12);
    plan.dispatcher = DISPATCH_ONCE; /* to eight ranks; over two nodes to each of these */
    double ranks = 8 * (1 - pow(1 - 1 / 8.0, 2)), nodes = 2 * (1 - pow(1 - 1 / 2.0, 2));
    double within = term_of(a, plan, "megatron", TIME_EXPERT);
    plan.expert_tensor = 2;
    assert_close(term_of(a, plan, "megatron", TIME_EXPERT) / nodes * network, within / ranks * 300e9, 1e-12);
}

/* DeepSpeed adds up gradients that are on the host; torch, which has weights in fp32, does not. */
TEST(step_predict__offload__moves_and_updates_on_the_host)
{
    ROWS(cases, const char *framework; int64_t stage, micro_batches; double moved, host /* bytes a parameter */) = {
        {"deepspeed", 1, 4, 4 + 2, 42},
        {"deepspeed", 2, 1, 4 + 2, 42},
        {"deepspeed", 2, 4, 4 + 2 * (4 + 3) + 2, 42},
        {"deepspeed", 3, 4, 4 + 2 * (4 + 4) + 2, 42},
        {"fsdp2", 3, 4, 2 * 4 + 2, 28},
    };
    const double mine = GPT_PARAMETERS / 8;
    for (size_t i = 0; i < LENGTH(cases); i++) {
        PLAN(plan, .data = 8, .sequence = 512, .offload = OFFLOAD_OPTIMIZER, .zero_stage = cases[i].stage,
             .micro_batches = cases[i].micro_batches);
        assert_close(term(plan, cases[i].framework, TIME_OFFLOAD),
                     cases[i].moved * mine / 25e9 + cases[i].host * mine * 8 / 75e9, 1e-9);
    }
    PLAN(plan, .data = 8, .sequence = 512, .zero_stage = 2, .offload = OFFLOAD_OPTIMIZER);
    assert_true(term(plan, "deepspeed", TIME_OPTIMIZER) == 0);
}

/* Each cast of torch.autocast is a kernel that reads and writes, unless a compiler fuses it. */
TEST(step_predict__autocast__casts_are_kernels)
{
    struct architecture a = gpt(24, 256, 4);
    struct training_plan plan = {.sequence = 8, .flash_attention = true};
    struct step_prediction cast = predict(a, plan, *a100(), "torch-ddp");
    plan.compiled = true;
    struct step_prediction compiled = predict(a, plan, *a100(), "torch-ddp");
    assert_close(cast.terms[TIME_LAUNCH] / compiled.terms[TIME_LAUNCH], 1 + 6 * 4 * 0.01, 0.01);
    plan.compiled = false;
    struct step_prediction narrow = predict(a, BUT(plan, it.weights = WEIGHTS_16), *a100(), "torch-ddp");
    assert_close(cast.terms[TIME_LAUNCH] / narrow.terms[TIME_LAUNCH], 1 + 6 * 4 * 0.01, 0.01);
    assert_true(cast.terms[TIME_ELEMENTWISE] > 1.1 * narrow.terms[TIME_ELEMENTWISE]);
}

/* Norms, sums and casts of a layer under autocast move 28 bytes a hidden unit forward and 56 backward beside what
 * 16 bits would, of which 8 and 24 are passes over what it keeps; weights are cast, and their gradients. */
TEST(step_predict__autocast_without_dropout__by_its_operations)
{
    struct architecture a = GPT;
    struct training_plan plan = {.sequence = 1024, .flash_attention = true};
    const double bytes = 24 * (2048.0 * 1024 * (4 + (24 + 32) / 8.0) + 12 * 2048.0 * 2048 * (6 + 6) / 8);
    a.dropout = false;
    struct step_prediction wide = predict(a, plan, *a100(), "torch-ddp");
    struct step_prediction narrow = predict(a, BUT(plan, it.weights = WEIGHTS_16), *a100(), "torch-ddp");
    assert_close(wide.terms[TIME_ELEMENTWISE] - narrow.terms[TIME_ELEMENTWISE],
                 bytes / a100()->device->memory_bytes_per_s, 1e-3); /* without biases */
}

/* FSDP wraps peft's adapters one by one, so no layer is gathered ahead; FSDP2 has them in their layer's unit, of one
 * type, which nothing is cast to. */
TEST(step_predict__adapters_in_their_layers_unit__gathered_ahead_and_not_cast)
{
    PLAN(plan, .data = 8, .sequence = 4096, .zero_stage = 3, .flash_attention = true, LORA(TARGETS_OF_ATTENTION));
    struct step_prediction alone = predict(GPT, plan, *a100(), "fsdp");
    struct step_prediction within = predict(GPT, plan, *a100(), "fsdp2");
    assert_true(within.terms[TIME_DATA_INTRA] < 0.3 * alone.terms[TIME_DATA_INTRA]);
    assert_true(within.terms[TIME_ELEMENTWISE] < 0.8 * alone.terms[TIME_ELEMENTWISE]);
    assert_true(term(plan, "deepspeed", TIME_DATA_INTRA) < 0.3 * alone.terms[TIME_DATA_INTRA]);
}

/* Frozen weights come from the host for each gather, as they are stored. */
TEST(step_predict__offload__frozen_weights_moved)
{
    PLAN(plan, .data = 8, .sequence = 512, .zero_stage = 3, .offload = OFFLOAD_OPTIMIZER, LORA(TARGETS_OF_ATTENTION));
    const double frozen = 24 * 12 * 2048.0 * 2048 + GPT_HEAD, states = term(plan, "fsdp", TIME_OFFLOAD);
    plan.offload = OFFLOAD_PARAMETERS;
    double all = term(plan, "fsdp", TIME_OFFLOAD) - states;
    assert_close(all, 2 * 2 * frozen / 8 / 25e9, 0.01);
    double stored = term(BUT(plan, it.quantization = QUANTIZATION_NF4), "fsdp", TIME_OFFLOAD) - states;
    assert_close(stored / all, 9.0 / 32, 0.01);
}

/* Two devices of a mesh share what joins these two, all of them what joins each to all others; a switch gives any two
 * of them everything. */
TEST(step_predict__group_in_a_mesh__links_to_its_members)
{
    const struct cluster mesh = on("MI300X"), stated = {.device = mesh.device, .intra_bytes_per_s = 100e9};
    PLAN(two, .tensor = 2, .sequence = 2048);
    double sent = term_on(mesh, two, "megatron", TIME_TENSOR) * 64 / (1 / 2.0);
    assert_close(term_on(mesh, BUT(two, it.tensor = 8), "megatron", TIME_TENSOR) * 448 / (7 / 8.0), sent, 1e-9);
    assert_close(term_on(stated, two, "megatron", TIME_TENSOR) * 100 * 2, sent, 1e-9);
    two = PLANNED(.data = 2, .sequence = 2048);
    sent = term_on(mesh, two, "megatron", TIME_DATA_INTRA) * 64 / (1 / 2.0);
    assert_close(term_on(mesh, BUT(two, it.data = 8), "megatron", TIME_DATA_INTRA) * 448 / (7 / 8.0), sent, 1e-9);
}

/* FSDP2 and DeepSpeed copy what they gather out of a buffer, in each pass, and gradients into one, FSDP neither. */
TEST(step_predict__gathered_parameters__copied_by_fsdp2)
{
    const double parameters = 24 * 12 * 2048.0 * 2048 + 51200 * 2048.0, speed = 2039e9;
    PLAN(plan, .data = 8, .zero_stage = 3, .micro_batch = 2, .sequence = 2048,
         .optimizer_kernel = OPTIMIZER_KERNEL_FUSED);
    double views = term(plan, "fsdp", TIME_OPTIMIZER);
    double copies = term(plan, "fsdp2", TIME_OPTIMIZER);
    assert_close(copies - views, (2 * 4 + 2 + 4) * parameters / speed, 1e-3);
    double others = (30 + 2 + 2 * 2) / 8.0; /* of a rank's shard: the step, and gradients added up */
    assert_close(term(plan, "deepspeed", TIME_OPTIMIZER), (others + 2 * 4 + 2 + 2) * parameters / speed, 1e-3);
    plan.zero_stage = 2; /* gathered for the forward pass alone */
    assert_close(copies - term(plan, "fsdp2", TIME_OPTIMIZER), 4 * parameters / speed, 1e-3);
    assert_close(term(BUT(plan, it.data = 1), "fsdp2", TIME_OPTIMIZER), 8 * views, 1e-3);
    struct architecture a = gpt(4, 1024, 16);
    struct training_plan experts = {.data = 8, .expert = 8, .zero_stage = 3, .sequence = 1024}, shared;
    experts.optimizer_kernel = OPTIMIZER_KERNEL_FUSED;
    shared = experts;
    a.experts = 8;
    shared.expert = 4;
    double alone = term_of(a, experts, "fsdp2", TIME_OPTIMIZER) - term_of(a, experts, "fsdp", TIME_OPTIMIZER);
    assert_close(term_of(a, shared, "fsdp2", TIME_OPTIMIZER) - term_of(a, shared, "fsdp", TIME_OPTIMIZER) - alone,
                 14 * 4 * 2 * 8 * 1024.0 * 1024 / speed, 1e-3);
}

/* Between the products of attention that is not fused, Megatron has one kernel, torch's operations pass each score. */
TEST(step_predict__scores__as_often_as_their_kernels)
{
    struct training_plan plan = {.micro_batch = 2, .sequence = 1024, .tensor = 1};
    const double scores = 24 * 16 * 2 * 1024.0 * 1024 / 8 / 2039e9; /* an eighth of the bytes are counted */
    struct architecture llama = shaped(ARCHITECTURE_LLAMA, 24, 2048, 16, 51200);
    double of_flash[2], more[5];
    for (int i = 0; i < 5; i++) {
        const char *const frameworks_of[] = {"megatron", "torch-ddp", "hf-trainer", "hf-trainer", "megatron"};
        struct architecture a = i == 2 ? llama : GPT;
        plan.weights = i == 3 ? WEIGHTS_FP32 : WEIGHTS_16;
        plan.attention_kernel = i == 4 ? ATTENTION_KERNEL_EAGER : ATTENTION_KERNEL_NONE;
        for (int flash = 0; flash < 2; flash++) {
            plan.flash_attention = flash;
            of_flash[flash] = term_of(a, plan, frameworks_of[i], TIME_ELEMENTWISE);
        }
        more[i] = (of_flash[0] - of_flash[1]) / scores;
    }
    assert_close(more[0], 8 + 14 + 3 + 5, 1e-9);
    assert_close(more[1], 16 + 18 + 5 + 5, 1e-9);
    assert_close(more[2], 24 + 28, 1e-9);
    assert_close(more[3], 32 + 36 + 9 + 9, 1e-9);
    assert_close(more[4], more[1], 1e-9);
}

/* RMS norms of torch's operations move 32 bytes a number more than Megatron's kernel forward, and 86 backward. */
TEST(step_predict__eager_norms__bytes_of_their_operations)
{
    struct training_plan fused = {.micro_batch = 2, .sequence = 1024, .tensor = 2, .flash_attention = true};
    struct architecture a = shaped(ARCHITECTURE_LLAMA, 24, 2048, 16, 51200);
    const double numbers = 24 * 2 * 2 * 1024 * 2048.0 / 8 / 2039e9;
    for (int i = 0; i < 4; i++) {
        fused.recompute = i == 1 ? RECOMPUTE_FULL : RECOMPUTE_NONE;
        fused.sequence_parallel = i == 2;
        struct training_plan eager = fused;
        eager.norms = NORMS_EAGER;
        a.rms_norm = i != 3;
        double more = term_of(a, eager, "megatron", TIME_ELEMENTWISE) - term_of(a, fused, "megatron", TIME_ELEMENTWISE);
        const double bytes[] = {32 + 86, 2 * 32 + 86, (32 + 86) / 2.0, 0};
        assert_close(more / numbers, bytes[i], 1e-9);
        assert_close(term_of(a, eager, "hf-trainer", TIME_ELEMENTWISE),
                     term_of(a, fused, "hf-trainer", TIME_ELEMENTWISE), 0);
    }
}

#define FUSED .sequence = 2048, .optimizer_kernel = OPTIMIZER_KERNEL_FUSED
#define LISTED .sequence = 2048, .optimizer_kernel = OPTIMIZER_KERNEL_FOREACH
#define PASSES(bytes) ((bytes)*GPT_PARAMETERS / 2039e9)

/* A fused AdamW reads and writes weights and moments and reads the gradient; lists of tensors pass memory 20 times. */
STEPS(step_predict__optimizer_step__as_often_as_its_kernels, 1e-2,
      STEP("torch-ddp", TIME_OPTIMIZER, PASSES(7 * 4), FUSED), STEP("hf-trainer", TIME_OPTIMIZER, PASSES(7 * 2), FUSED),
      STEP("megatron", TIME_OPTIMIZER, PASSES(30 + 2 * 4), FUSED),
      STEP("torch-ddp", TIME_OPTIMIZER, PASSES(20 * 4), LISTED),
      STEP("hf-trainer", TIME_OPTIMIZER, PASSES(20 * 2), LISTED),
      STEP("torch-ddp", TIME_OPTIMIZER, PASSES(3 * 4), LISTED, .optimizer = OPTIMIZER_SGD))

/* Micro-batches after the first add theirs: what was there is read and written, and the new one read. */
TEST_ROWS(step_predict__micro_batches__gradients_added_up, (const char *framework; double bytes), {"internevo", 6},
          {"nanotron", 10})
{
    PLAN(plan, .micro_batch = 2, .micro_batches = 4, .sequence = 2048);
    PLAN(once, .micro_batch = 8, .sequence = 2048);
    assert_close(term(plan, row->framework, TIME_OPTIMIZER) - term(once, row->framework, TIME_OPTIMIZER),
                 3 * row->bytes * (24 * 12 * 2048.0 * 2048 + GPT_HEAD) / 2039e9, 1e-3);
}

/* A head size that is no multiple of 8 leaves the tensor cores where attention is not fused. */
TEST(step_predict__head_size__of_scores)
{
    double seconds[2][2];
    for (int fused = 0; fused < 2; fused++)
        for (int even = 0; even < 2; even++) /* heads of 135 and 120 */
            seconds[fused][even] = predict(gpt(24, 2160, even ? 18 : 16),
                                           PLANNED(.sequence = 2048, .flash_attention = fused), *a100(), "deepspeed")
                                       .seconds;
    assert_true(seconds[0][0] > 1.2 * seconds[0][1]);
    assert_close(seconds[1][0], seconds[1][1], 0.015);
}

/* Products of an H100 reach less of its peak than an A100's, in 8 bits still less. */
TEST(step_predict__device__best_products)
{
    PLAN(plan, .sequence = 2048, .flash_attention = true);
    struct training_plan narrow = BUT(plan, it.precision = PRECISION_FP8);
    struct architecture a = GPT;
    a.vocab = 128;
    double ampere = term_of(a, plan, "megatron", TIME_MATRICES) * 312e12;
    double hopper = predict(a, plan, on("H100"), "megatron").terms[TIME_MATRICES] * 989.5e12;
    assert_close(hopper, ampere * 0.869 / 0.803, 1e-3);
    hopper = predict(a, narrow, on("H100"), "megatron").terms[TIME_MATRICES] * 2 * 989.5e12;
    assert_close(hopper, ampere * 0.869 / 0.709, 1e-2);
}

/* Attention's rates are those of one benchmark of FlashAttention-2, and one chip keeps them at another clock. */
TEST(step_predict__device__attention_of_one_benchmark)
{
    PLAN(plan, .sequence = 2048, .flash_attention = true);
    assert_close(a100()->device->attention_flops / on("H100").device->attention_flops, 201.0 / 335, 1e-12);
    assert_close(term_on(on("A800"), plan, "fsdp", TIME_ATTENTION), term(plan, "fsdp", TIME_ATTENTION), 1e-12);
    double hopper = term_on(on("H100"), plan, "megatron", TIME_ATTENTION) * 989.5;
    assert_close(term_on(on("H100-NVL"), plan, "megatron", TIME_ATTENTION) * 835.5, hopper, 1e-3);
    assert_close(term_on(on("H100-96GB"), plan, "megatron", TIME_ATTENTION) * 912, hopper, 1e-3); /* at 500 W */
}

/* GeForce boosts beyond its datasheet's clock, and its attention is bound by its products. */
TEST(step_predict__geforce__peak_reached)
{
    PLAN(plan, .sequence = 2048, .flash_attention = true);
    struct training_plan wide = BUT(plan, it.precision = PRECISION_FP32);
    const struct cluster geforce = on("RTX-4090");
    assert_close(term_on(geforce, plan, "fsdp", TIME_MATRICES) * 179.2 / 0.869, term(plan, "fsdp", TIME_MATRICES) * 312,
                 1e-3);
    assert_close(term_on(geforce, plan, "fsdp", TIME_ATTENTION) * 0.88 * 165.2,
                 term(plan, "fsdp", TIME_ATTENTION) * 201, 1e-2);
    assert_close(term_on(geforce, wide, "fsdp", TIME_MATRICES) * 57.55, term(wide, "fsdp", TIME_MATRICES) * 19.18,
                 1e-3);
}

/* Experts that others wait for, unless they are balanced; layers in bf16 among those in fewer bits. */
TEST(step_predict__busiest_experts_and_layers_in_bf16__as_slow)
{
    struct architecture a = gpt(4, 1024, 16);
    struct cluster cluster = *a100();
    struct training_plan plan = {.micro_batch = 4, .data = 8, .expert = 8, .sequence = 1024, .flash_attention = true};
    double imbalance = framework_find("megatron")->memory.expert_imbalance;
    cluster.device = device_find(NULL, "H100");
    set_experts(&a, 8, 2, 4096);
    struct step_prediction s = predict(a, plan, cluster, "megatron");
    plan.balanced_experts = true;
    struct step_prediction even = predict(a, plan, cluster, "megatron");
    assert_true(imbalance > 1);
    assert_close(s.terms[TIME_EXPERT], imbalance * even.terms[TIME_EXPERT], 1e-12);
    double peak = device_find(NULL, "H100")->peak_flops * device_find(NULL, "H100")->product_share / PRODUCT_SHARE_A100;
    assert_close(s.terms[TIME_MATRICES] - even.terms[TIME_MATRICES],
                 (imbalance - 1) * 3 * 4 * 1024.0 * 4 * 2 * 2 * 2 * 1024 * 4096.0 / peak, 1e-9);
    plan.expert = 1; /* all experts here: none waits for another */
    double alone = predict(a, plan, cluster, "megatron").terms[TIME_MATRICES];
    plan.balanced_experts = false;
    assert_true(predict(a, plan, cluster, "megatron").terms[TIME_MATRICES] == alone);
    a.experts = a.experts_per_token = a.expert_ffn = 0;
    double bf16 = predict(a, plan, cluster, "megatron").terms[TIME_MATRICES];
    plan.precision = PRECISION_FP8;
    double fp8 = predict(a, plan, cluster, "megatron").terms[TIME_MATRICES];
    plan.bf16_layers = 1;
    assert_close(predict(a, plan, cluster, "megatron").terms[TIME_MATRICES], (bf16 + 3 * fp8) / 4, 1e-12);
    assert_close(predict(a, BUT(plan, it.bf16_layers = 9), cluster, "megatron").terms[TIME_MATRICES], bf16, 1e-12);
}

/* Megatron-LM computes another chunk while it sends. */
TEST(step_predict__interleaved__transfers_hidden)
{
    PLAN(plan, .pipeline = 4, .micro_batches = 8, .sequence = 2048);
    assert_true(term_of(gpt(32, 2048, 16), plan, "megatron", TIME_PIPELINE) > 0);
    plan.virtual_stages = 4;
    plan.schedule = SCHEDULE_INTERLEAVED;
    assert_true(term_of(gpt(32, 2048, 16), plan, "megatron", TIME_PIPELINE) == 0);
}

TEST(step_predict__absurd__refused)
{
    struct architecture a = GPT;
    struct training_plan plan = {.micro_batch = 1000000, .micro_batches = 1000000, .sequence = 1000000};
    struct cluster cluster = *a100();
    struct step_prediction s = {.seconds = 42};
    all_completed(&a, &plan, &cluster);
    assert_false(step_predict(&a, &plan, &cluster, framework_find("megatron"), &s));
    assert_true(s.seconds == 42);
}
