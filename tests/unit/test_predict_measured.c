/* predict: memory of runs of our own on one H100 (tests/data/README.md), under torch.autocast and without, by two
 * frameworks' profiles as they ship. */
#include "frameworks.h"
#include "predict/memory.h"
#include "shared_data.h"
#include "unit_test.h"

#define USABLE_BYTES 84.5e9 /* of an H100, as PyTorch names it when it runs out */

static bool load(const char *name, struct shared_table *out)
{
    const char *source = getenv("srcdir");
    char directory[4096];
    snprintf(directory, sizeof directory, "%s/tests/data/h100", source ? source : ".");
    setenv("MESHSWEEP_SHARED_DATA", directory, 1);
    return shared_table_load(name, out);
}

static struct memory_prediction predicted(const struct architecture *a, const struct training_plan *plan,
                                          const char *framework)
{
    struct architecture architecture = *a;
    struct training_plan whole = *plan;
    struct cluster cluster = {.device = device_find(NULL, "H100")};
    struct memory_prediction m = {.sigma = 0};
    FAIL_IF(architecture_complete(&architecture, &e) || plan_complete(&whole, &architecture, &e) ||
            cluster_complete(&cluster, &e) ||
            memory_predict(&architecture, &whole, &cluster, &framework_find(framework)->memory, &m, &e));
    return m;
}

/* The errors of predicted memory over rows. */
struct comparison {
    double error, worst;
    size_t rows;
};

static void compare(struct comparison *c, const struct shared_table *t, size_t row, const struct memory_prediction *m)
{
    double error = fabs(m->most.allocated_bytes / shared_number(t, row, "peak_bytes") - 1);
    c->error += error;
    c->worst = fmax(c->worst, error);
    c->rows++;
}

static bool is_text(const struct shared_table *t, size_t row, const char *column, const char *text)
{
    return strcmp(shared_text(t, row, column), text) == 0;
}

static void tell(const char *name, const struct comparison *c)
{
    print_message("%s: %zu runs, mean error %.1f %%, largest %.1f %%\n", name, c->rows,
                  100 * c->error / (double)c->rows, 100 * c->worst);
}

static struct architecture llama_of(const struct shared_table *t, size_t row)
{
    struct architecture a = architecture_of(ARCHITECTURE_LLAMA);
    a.layers = (int64_t)shared_number(t, row, "layers");
    a.hidden = (int64_t)shared_number(t, row, "hidden");
    a.heads = (int64_t)shared_number(t, row, "heads");
    a.kv_heads = (int64_t)shared_number(t, row, "kv_heads");
    a.ffn = (int64_t)shared_number(t, row, "ffn");
    a.vocab = (int64_t)shared_number(t, row, "vocab");
    a.tied_embeddings = shared_number(t, row, "tied") != 0;
    return a;
}

TEST(memory_predict__trainer_with_weights_in_two_types__as_measured)
{
    HELD(shared_table) t;
    struct comparison full = {0}, cast = {0}, lora = {0}, cast_lora = {0};
    if (!load("finetune.csv", &t))
        fail_msg("no table");
    for (size_t row = 0; row < t.row_count; row++) {
        struct architecture a = llama_of(&t, row);
        bool adapts = is_text(&t, row, "peft", "lora"), casts = is_text(&t, row, "weights", "fp32");
        struct training_plan plan = {.sequence = (int64_t)shared_number(&t, row, "seq"),
                                     .micro_batch = (int64_t)shared_number(&t, row, "micro_batch"),
                                     .weights = casts ? WEIGHTS_FP32 : WEIGHTS_16,
                                     .recompute =
                                         shared_number(&t, row, "recompute") != 0 ? RECOMPUTE_FULL : RECOMPUTE_NONE,
                                     .tuning = adapts ? TUNING_LORA : TUNING_FULL,
                                     .lora_rank = 16,
                                     .lora_targets = is_text(&t, row, "lora_targets", "attention")
                                                         ? TARGETS_OF_ATTENTION
                                                         : TARGETS_OF_ATTENTION | TARGETS_OF_MLP,
                                     .lora_dropout = shared_number(&t, row, "lora_dropout") > 0,
                                     .optimizer_kernel = is_text(&t, row, "optim", "adamw_torch")
                                                             ? OPTIMIZER_KERNEL_FOREACH
                                                             : OPTIMIZER_KERNEL_FUSED,
                                     .flash_attention = true};
        struct memory_prediction m = predicted(&a, &plan, "hf-trainer");
        if (is_text(&t, row, "state", "oom"))
            assert_true(m.most.allocated_bytes > USABLE_BYTES);
        else
            compare(adapts ? casts ? &cast_lora : &lora : casts ? &cast : &full, &t, row, &m);
    }
    tell("full, weights in bf16", &full);
    tell("full, weights in fp32", &cast);
    tell("LoRA, weights in bf16", &lora);
    tell("LoRA, weights in fp32", &cast_lora);
    assert_true(full.rows == 20 && full.error <= 0.005 * 20 && full.worst <= 0.01);
    assert_true(cast.rows == 19 && cast.error <= 0.01 * 19 && cast.worst <= 0.045);
    assert_true(lora.rows == 25 && lora.error <= 0.01 * 25 && lora.worst <= 0.02);
    assert_true(cast_lora.rows == 10 && cast_lora.error <= 0.01 * 10 && cast_lora.worst <= 0.02);
}

TEST(memory_predict__one_rank_under_autocast__as_measured)
{
    HELD(shared_table) t;
    struct comparison all = {0};
    if (!load("torch.csv", &t))
        fail_msg("no table");
    for (size_t row = 0; row < t.row_count; row++) {
        struct architecture a = architecture_of(ARCHITECTURE_GPT);
        a.layers = (int64_t)shared_number(&t, row, "layers");
        a.hidden = (int64_t)shared_number(&t, row, "hidden");
        a.heads = (int64_t)shared_number(&t, row, "heads");
        a.vocab = 256;
        a.dropout = false;
        struct training_plan plan = {.sequence = (int64_t)shared_number(&t, row, "seq"),
                                     .micro_batch = (int64_t)shared_number(&t, row, "micro_batch"),
                                     .precision =
                                         is_text(&t, row, "precision", "fp32") ? PRECISION_FP32 : PRECISION_BF16,
                                     .recompute =
                                         shared_number(&t, row, "recompute") != 0 ? RECOMPUTE_FULL : RECOMPUTE_NONE,
                                     .flash_attention = true};
        a.positions = plan.sequence;
        plan.micro_batches = (int64_t)shared_number(&t, row, "global_batch") / plan.micro_batch;
        struct memory_prediction m = predicted(&a, &plan, "torch-ddp");
        compare(&all, &t, row, &m);
    }
    tell("one rank", &all);
    assert_true(all.rows == 35 && all.error <= 0.015 * 35 && all.worst <= 0.055);
}
