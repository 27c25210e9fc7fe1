/* predict: memory of runs of our own on one H100 (tests/data/README.md), under torch.autocast and without, by two
 * frameworks' profiles as they ship. */
#include "frameworks.h"
#include "predict/memory.h"
#include "published_tables.h"

#define USABLE_BYTES 84.5e9 /* of an H100, as PyTorch names it when it runs out */

static bool load(const char *name, struct shared_table *out)
{
    const char *source = getenv("srcdir");
    char directory[4096];
    snprintf(directory, sizeof directory, "%s/tests/data/h100", source ? source : ".");
    setenv("MESHSWEEP_SHARED_DATA", directory, 1);
    return shared_table_load(name, out);
}

static const char finetune[] =
    "family:llama " SHAPE "kv_heads ffn vocab tied_embeddings=tied seq micro_batch recompute:full@recompute=1 "
    "recompute:none@recompute=0 weights_dtype=weights bf16:1 peft:lora@peft=lora lora_rank:16 lora_targets "
    "lora_dropout "
    "optimizer_kernel:foreach@optim=adamw_torch optimizer_kernel:fused@optim=adamw_torch_fused device:H100 "
    "devices_per_node:1";
static const char torch[] =
    SHAPE "vocab:256 dropout:0 positions=seq seq micro_batch global_batch precision recompute:full@recompute=1 "
          "recompute:none@recompute=0 device:H100 devices_per_node:1";

static const struct table tables[] =
    {{.given = finetune, .memory = "peak_bytes", .unit = 1, .ran = "state", .ran_value = "ok", .failed = "oom"},
     {.given = torch, .memory = "peak_bytes", .unit = 1}};

/* The errors of predicted memory over rows. */
struct comparison {
    double error, worst;
    size_t rows;
};

static void compare(struct comparison *c, const struct published_run *run, const struct memory_prediction *m)
{
    double error = fabs(m->most.allocated_bytes / run->memory_bytes - 1);
    c->error += error;
    c->worst = fmax(c->worst, error);
    c->rows++;
}

static void tell(const char *name, const struct comparison *c)
{
    print_message("%s: %zu runs, mean error %.1f %%, largest %.1f %%\n", name, c->rows,
                  100 * c->error / (double)c->rows, 100 * c->worst);
}

TEST(memory_predict__trainer_with_weights_in_two_types__as_measured)
{
    HELD(shared_table) t;
    struct comparison full = {0}, cast = {0}, lora = {0}, cast_lora = {0};
    FAIL_WHERE(!load("finetune.csv", &t), "no table");
    for (size_t row = 0; row < t.row_count; row++) {
        struct published_run run;
        assert_true(published_read(&t, row, &tables[0], &run));
        bool adapts = run.plan.tuning == TUNING_LORA, casts = run.plan.weights == WEIGHTS_FP32;
        struct memory_prediction m = published_memory(&run, &framework_find("hf-trainer")->memory);
        if (run.failed)
            assert_true(m.most.allocated_bytes > USABLE_BYTES);
        else
            compare(adapts ? casts ? &cast_lora : &lora : casts ? &cast : &full, &run, &m);
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
    FAIL_WHERE(!load("torch.csv", &t), "no table");
    for (size_t row = 0; row < t.row_count; row++) {
        struct published_run run;
        assert_true(published_read(&t, row, &tables[1], &run));
        struct memory_prediction m = published_memory(&run, &framework_find("torch-ddp")->memory);
        compare(&all, &run, &m);
    }
    tell("one rank", &all);
    assert_true(all.rows == 35 && all.error <= 0.015 * 35 && all.worst <= 0.055);
}
