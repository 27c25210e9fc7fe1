/* Predictions of published tables that were frozen before they were predicted: tests/data/unseen, whose columns are
 * inputs. What was printed first is in docs/benchmarks.md; what was fitted since, in tests/data/README.md. */
#include "predict/predictor.h"
#include "shared_data.h"
#include "unit_test.h"
#include "util/parse.h"

#define GIB 1073741824.0

struct unseen {
    size_t rows, inside, far;
    double error;
};

struct figures {
    struct unseen memory, time;
    size_t excluded;
};

static void set_input(struct input_value *value, const char *text)
{
    value->kind = parse_double(text, &value->number) ? INPUT_NUMBER : INPUT_TEXT;
    value->text = text;
}

static void read_inputs(const struct shared_table *t, size_t row, struct input_value *values)
{
    memset(values, 0, INPUT_COUNT * sizeof *values);
    for (size_t i = 0; i < INPUT_COUNT; i++)
        for (size_t c = 0; c < t->column_count; c++) {
            const char *text = strcmp(t->header[c], inputs[i].name) == 0 ? shared_text(t, row, t->header[c]) : "";
            if (*text)
                set_input(&values[i], text);
        }
}

static void count(struct unseen *u, double measured, double predicted, double low, double high)
{
    double off = log(measured / predicted);
    u->rows++;
    u->error += fabs(predicted / measured - 1);
    u->inside += measured >= low && measured <= high;
    u->far += off > 2 * log(high / predicted) || off < 2 * log(low / predicted);
}

/* 0 where a table has no such column. */
static double column(const struct shared_table *t, size_t row, const char *name)
{
    for (size_t c = 0; c < t->column_count; c++)
        if (strcmp(t->header[c], name) == 0)
            return shared_number(t, row, name);
    return 0;
}

static void tell(const char *table, const char *what, const struct unseen *u)
{
    double n = (double)u->rows;
    if (u->rows)
        print_message("%s, %s: %zu rows, error %.1f %%, %.0f %% inside, %zu beyond twice the interval\n", table, what,
                      u->rows, 100 * u->error / n, 100 * (double)u->inside / n, u->far);
}

/* The share of a prediction that no model states are. */
static double estimated_of(const struct predictor *p, const struct prediction *found)
{
    const double *weights = predictor_prior(p, found->where.framework)->memory.weights;
    const double *terms = found->memory.most.terms;
    return 1 - (weights[MEMORY_UNSHARDED] * terms[MEMORY_UNSHARDED] + weights[MEMORY_SHARDED] * terms[MEMORY_SHARDED]) /
                   found->memory.most.bytes;
}

/* The inputs of a row, with what the source says of all rows ("input=value"), or those of a framework or a device
 * ("input=value@H100"), and a table has no column for; "input?=value": of rows that say nothing of it themselves. */
static void take_inputs(const struct shared_table *t, size_t row, char *said, struct input_value *values)
{
    read_inputs(t, row, values);
    for (char *of; (of = strsep(&said, " "));) {
        const char *name = strsep(&of, "="), *text = strsep(&of, "@");
        bool is_told = name[strlen(name) - 1] == '?';
        OWNED char *input = xstrndup(name, strlen(name) - is_told);
        struct input_value *value = &values[input_find(input)];
        is_told = is_told && value->kind != INPUT_ABSENT;
        if (!is_told && (!of || strcmp(of, shared_text(t, row, "framework")) == 0 ||
                         strcmp(of, shared_text(t, row, "device")) == 0))
            set_input(value, text);
    }
}

static void predict_row(struct predictor *p, const struct shared_table *t, size_t row, const char *said,
                        struct figures *f)
{
    struct input_value values[INPUT_COUNT];
    const struct prediction *found;
    struct error e = ERROR_INIT;
    OWNED char *words = said ? xstrdup(said) : NULL;
    take_inputs(t, row, words, values);
    FAIL_WHERE(predictor_predict(p, values, &found, &e) < 0, "row %zu: %s", row + 2, e.text);
    double bytes = column(t, row, "memory_gib") * GIB, seconds = column(t, row, "step_s");
    f->excluded += found->verdict == OOM_CERTAIN;
    assert_true((bytes <= 0 || found->has_memory) && (seconds <= 0 || found->has_time));
    if (bytes > 0)
        count(&f->memory, bytes, found->measured_bytes, found->measured_low, found->measured_high);
    if (bytes > 0 && getenv("MESHSWEEP_EACH_ROW"))
        print_message("as in first.csv: line %zu, %.4g, %.3g\n", row + 2, bytes / found->measured_bytes,
                      estimated_of(p, found));
    if (seconds > 0)
        count(&f->time, seconds, found->seconds, found->low_s, found->high_s);
    if (seconds > 0 && getenv("MESHSWEEP_EACH_ROW"))
        print_message("as in first_time.csv: line %zu, %.4g\n", row + 2, seconds / found->seconds);
}

/* What a table's figures were when they were measured: errors and rows far off at most, shares inside at least. */
struct bounds {
    const char *table;
    size_t rows;
    enum memory_counter counter;
    double memory_error, memory_inside, time_error, time_inside;
    size_t memory_far, time_far, excluded;
    const char *said;         /* of all rows; NULL: no more */
    enum memory_rank rank;    /* whose memory it is */
    double network_bandwidth; /* of a device, bytes/s; 0: as its table says */
};

static void assert_within(const struct unseen *u, double error, double inside, size_t far)
{
    double n = (double)u->rows;
    assert_true(u->error <= error * n && (double)u->inside >= inside * n && u->far <= far);
}

static void open_tables(void)
{
    char folder[4096];
    snprintf(folder, sizeof folder, "%s/tests/data/unseen", getenv("srcdir") ? getenv("srcdir") : "..");
    setenv("MESHSWEEP_SHARED_DATA", folder, 1);
}

static struct predictor *new_predictor(const struct bounds *b)
{
    const struct predictor_options options = {.counter = b->counter,
                                              .rank = b->rank,
                                              .network_bandwidth = b->network_bandwidth};
    struct predictor *p;
    FAIL_IF(predictor_create(&options, &p, &e));
    return p;
}

static void predict_table(const struct bounds *b)
{
    struct figures f = {.excluded = 0};
    HELD_AT(predictor) *p = new_predictor(b);
    HELD(shared_table) t;
    open_tables();
    assert_true(shared_table_load(b->table, &t));
    assert_int_equal(t.row_count, b->rows);
    for (size_t row = 0; row < t.row_count; row++)
        predict_row(p, &t, row, b->said, &f);
    tell(b->table, "memory", &f.memory);
    tell(b->table, "time", &f.time);
    print_message("%s: %zu of %zu excluded although they ran\n", b->table, f.excluded, t.row_count);
    assert_true(f.excluded <= b->excluded);
    assert_within(&f.memory, b->memory_error, b->memory_inside, b->memory_far);
    assert_within(&f.time, b->time_error, b->time_inside, b->time_far);
}

/* ChatGLM-Finetuning and RLHF give DeepSpeed a model that from_pretrained made outside of zero.Init (train.py; in
 * src/train_sft.py it comes before TrainingArguments). */
static const char built_whole[] = "loaded_whole=1";

/* vectorlm's benchmark calls train_step of its trainer, which does not count steps, so that the optimizer never has
 * one (profiling/benchmark.py, vectorlm/trainer.py): there are no moments. */
static const char never_steps[] = "optimizer=sgd";

/* The course has its own DDP written, which reduces gradients where they are (cs336, assignment 2). */
static const char own_reduction[] = "unbucketed_gradients=1@torch-ddp";

#define NO_AIM 1e9, 0, 1e9, 0, SIZE_MAX, SIZE_MAX, SIZE_MAX

/* Qwen pads to one length (finetune.py, preprocess) and trains under autocast (--bf16 of finetune/finetune_lora_ds.sh),
 * fsdp_qlora trains on dummies (benchmarks_03_2024.md), and ms-swift on 91 to max_length tokens (Benchmark.md).
 * universal-llm-trainer pads to one length, too (src/data_collection, _pad),
 * and so passes a mask, though its samples fill all tokens (gpu_test.md). Its loop passes the model's logits to torch's
 * loss (src/models/llama3.py, forward); its configurations (config/) have amp_training false and deterministic true. */
static const char equal[] = "packing=1";
static const char of_trainer[] = "packing=1 autocast=1@hf-trainer";
static const char vary[] = "packing=0";
static const char own_loop[] =
    "sync_each_batch=1 packing=1 narrow_loss=1 padding_mask=1 deterministic=1 autocast=0 wide_products=1";

/* atorch's loop (fsdp_llama2.py) has a pass's output in a variable until the next pass is done, with the keys and
 * values of all layers: use_cache is on by default, and torch's checkpoint_wrapper, unlike the model's own, leaves it
 * so. */
static const char keeps_outputs[] = "held_outputs=cache@hf-trainer";

/* ao's developers have Meta's H100, whose memory is slower (torchao/testing/training/roofline_utils.py) and of which
 * the tutorial's has 95 GiB. torchtitan takes cuDNN's attention on B200 (models/attention.py, 14 May 2025). */
static const char of_meta[] = "device=H100-96GB@H100 flash_attention=fused@B200";

/* KempnerForge accumulates without synchronization (kempnerforge/training/grad.py, maybe_no_sync), in the fp32 that it
 * reduces (kempnerforge/distributed/parallel.py, default_mp_policy), and its head answers Replicate()
 * (tensor_parallel.py beside it). */
static const char own_fsdp2[] = "sync_each_batch=0 gathered_logits=1";

/* Aleph-Alpha/scaling keeps gradients as its weights, in 16 bits, until it steps (core/optimizer/parameter_group.py,
 * step_prequel). Its norm is of torch's operations (core/nn/norm/rms_norm.py) but in rows with its "RMS kernel". */
static const char own_megatron[] = "gradient_bytes=2 norm_kernel?=eager";

/* prime-rl's loop of full fine-tuning deletes `logits`, but not `out`, which has them until the next pass is done
 * (src/prime_rl/trainer/sft/train.py). */
static const char keeps_logits[] = "held_outputs=logits";

/* Democratizing-LLM-FT's loop holds `logits` until the next pass is done (FSDP_sAC.py), and its model has Transformers'
 * norms (models/qwen2/modeling_qwen2.py) and, in torch 2.8 (slurm/), cuDNN's attention on Hopper and Blackwell. */
static const char own_qwen[] =
    "flash_attention=cudnn@H100 flash_attention=cudnn@GB200 held_outputs=logits norm_kernel=eager";

static const struct bounds tables[] = {
    {"finetuning.csv", 95, COUNTS_DEVICE, 0.08, 0.92, 0.15, 0.97, 1, 0, 1, of_trainer, RANK_MOST_LOADED, 0},
    {"fsdp-qlora.csv", 30, COUNTS_RESERVED, 0.075, 0.9, 0.22, 0.99, 0, 0, 0, equal, RANK_MOST_LOADED, 0},
    {"automodel.csv", 13, COUNTS_RESERVED, 0, 0, 0.15, 0.99, 0, 0, 0, NULL, RANK_MOST_LOADED, 0},
    {"bert.csv", 28, COUNTS_RESERVED, 0, 0, 0.178, 0.99, 0, 0, 0, NULL, RANK_MOST_LOADED, 0},
    {"ms-swift.csv", 58, COUNTS_RESERVED, NO_AIM, NULL, RANK_MOST_LOADED, 0},
    {"ms-swift.csv", 58, COUNTS_RESERVED, NO_AIM, vary, RANK_MOST_LOADED, 0},
    {"universal-llm-trainer.csv", 49, COUNTS_RESERVED, 0.08, 0.99, 0.137, 0.99, 0, 0, 0, own_loop, RANK_MOST_LOADED, 0},
    {"gdgpt.csv", 66, COUNTS_RESERVED, 0, 0, 0.165, 0.96, 0, 1, 0, NULL, RANK_MOST_LOADED, 0},
    {"libai.csv", 42, COUNTS_RESERVED, 0, 0, 0.065, 0.99, 0, 0, 0, NULL, RANK_MOST_LOADED, 0},
    {"easy-gpt.csv", 15, COUNTS_RESERVED, 0.17, 0.86, 0.56, 0.99, 0, 0, 0, NULL, RANK_MOST_LOADED, 0},
    {"flagperf.csv", 45, COUNTS_DEVICE, 0.095, 0.95, 0.065, 0.99, 0, 0, 1, NULL, RANK_MOST_LOADED, 0},
    {"torchtune.csv", 11, COUNTS_ALLOCATED, 0.105, 0.9, 0.27, 0.99, 0, 0, 0, NULL, RANK_MOST_LOADED, 0},
    {"trainer-guide.csv", 9, COUNTS_DEVICE, 0.10, 0.99, 0.075, 0.99, 0, 0, 0, NULL, RANK_MOST_LOADED, 0},
    {"lightning.csv", 2, COUNTS_ALLOCATED, 0.475, 0, 0.26, 0.99, 1, 0, 0, NULL, RANK_MOST_LOADED, 0},
    {"vocabulary-parallelism.csv", 16, COUNTS_RESERVED, NO_AIM, NULL, RANK_MOST_LOADED, 0},
    {"chatglm-finetuning.csv", 11, COUNTS_DEVICE, 0.18, 0, 0, 0, SIZE_MAX, SIZE_MAX, 0, built_whole, RANK_MOST_LOADED,
     0},
    {"yafsdp.csv", 16, COUNTS_RESERVED, NO_AIM, NULL, RANK_MOST_LOADED, 0},
    {"vectorlm.csv", 18, COUNTS_RESERVED, 0, 0, 0.145, 0.71, 0, 0, 0, never_steps, RANK_MOST_LOADED, 0},
    {"rlhf.csv", 60, COUNTS_DEVICE, 0.205, 0.93, 0.48, 0.99, 0, 0, 0, built_whole, RANK_MOST_LOADED, 0},
    {"llms-from-scratch.csv", 12, COUNTS_RESERVED, 0.06, 0.99, 0.17, 0.99, 0, 0, 0, NULL, RANK_MOST_LOADED, 0},
    {"torchao.csv", 24, COUNTS_RESERVED, 0.155, 0.87, 0.21, 0.99, 0, 0, 0, of_meta, RANK_MOST_LOADED, 0},
    {"thunder.csv", 29, COUNTS_ALLOCATED, 0.12, 0.99, 0.2, 0.99, 0, 0, 0, NULL, RANK_MOST_LOADED, 0},
    {"megatron-kwai.csv", 16, COUNTS_ALLOCATED, NO_AIM, NULL, RANK_MOST_LOADED, 0},
    {"easycontext.csv", 5, COUNTS_RESERVED, NO_AIM, NULL, RANK_MOST_LOADED, 0},
    {"vertex.csv", 19, COUNTS_DEVICE, NO_AIM, NULL, RANK_MOST_LOADED, 0},
    {"optimum-benchmark.csv", 49, COUNTS_RESERVED, 0, 0, 0.22, 0.99, 0, 0, 0, NULL, RANK_MOST_LOADED, 0},
    {"prime-rl.csv", 53, COUNTS_RESERVED, 0.06, 0.99, 0.205, 0.91, 0, 0, 0, keeps_logits, RANK_FIRST, 0},
    {"kempnerforge.csv", 27, COUNTS_ALLOCATED, 0.18, 0.84, 0.285, 0.99, 0, 0, 0, own_fsdp2, RANK_FIRST, 0},
    {"transformers-benchmarking.csv", 66, COUNTS_DEVICE, 0.17, 0.90, 0.17, 0.99, 0, 0, 0, NULL, RANK_MOST_LOADED, 0},
    {"mingpt.csv", 13, COUNTS_ALLOCATED, NO_AIM, NULL, RANK_MOST_LOADED, 0},
    {"bench-deep-compile.csv", 84, COUNTS_ALLOCATED, 0.06, 0.99, 0.295, 0.99, 0, 0, 0, NULL, RANK_FIRST, 0},
    {"parallelization-layouts.csv", 297, COUNTS_RESERVED, 0, 0, 0.16, 0.99, 0, 0, 2, own_megatron, RANK_MOST_LOADED, 0},
    {"lai-proj.csv", 13, COUNTS_RESERVED, NO_AIM, NULL, RANK_MOST_LOADED, 0},
    {"lambda-benchmark.csv", 136, COUNTS_DEVICE, 0.055, 0.99, 0.18, 0.96, 0, 1, 0, NULL, RANK_MOST_LOADED, 0},
    {"fsdp-benchmark.csv", 35, COUNTS_ALLOCATED, 0.03, 1, 0.115, 0.99, 0, 0, 0, NULL, RANK_FIRST, 0},
    {"timm.csv", 26, COUNTS_ALLOCATED, 0, 0, 0.19, 0.99, 0, 0, 0, NULL, RANK_FIRST, 0},
    {"democratizing-llm-ft.csv", 20, COUNTS_ALLOCATED, 0.065, 0.99, 0.32, 0.69, 0, 6, 0, own_qwen, RANK_FIRST, 0},
    {"simumax.csv", 43, COUNTS_ALLOCATED, 0.05, 0.94, 0.17, 0.99, 0, 0, 0, NULL, RANK_MOST_LOADED, 0},
    {"lucie-training.csv", 77, COUNTS_ALLOCATED, 0, 0, 0.345, 0.93, 0, 0, 0, NULL, RANK_FIRST, 0},
    {"dgxc-benchmarking.csv", 106, COUNTS_ALLOCATED, 0, 0, 0.06, 0.99, 0, 0, 1, NULL, RANK_FIRST, 0},
    {"llm-ft-idris.csv", 20, COUNTS_ALLOCATED, 0, 0, 0.12, 0.99, 0, 0, 0, own_qwen, RANK_FIRST, 0},
    {"lambda-benchmark-later.csv", 159, COUNTS_DEVICE, 0, 0, 0.13, 0.98, 0, 0, 0, NULL, RANK_MOST_LOADED, 0},
    {"megatron-tutorials.csv", 54, COUNTS_DEVICE, 0.06, 0.99, 0.14, 0.99, 0, 0, 3, NULL, RANK_MOST_LOADED, 0},
    {"minitrainbench.csv", 35, COUNTS_ALLOCATED, 0.21, 0.97, 0.18, 0.99, 0, 0, 0, NULL, RANK_MOST_LOADED, 0},
    {"gollem.csv", 21, COUNTS_ALLOCATED, 0.065, 0.99, 0.66, 0.80, 0, 0, 0, NULL, RANK_FIRST, 0},
    {"milabench.csv", 68, COUNTS_DEVICE, 0.04, 0.99, 0.27, 0.99, 0, 0, 0, NULL, RANK_MOST_LOADED, 0},
    {"ptd-benchmark.csv", 108, COUNTS_ALLOCATED, 0.048, 1, 0.21, 0.99, 0, 0, 0, NULL, RANK_FIRST, 0},
    {"gipfelsturm.csv", 42, COUNTS_ALLOCATED, 0.015, 0.99, 0.07, 0.99, 0, 0, 0, NULL, RANK_FIRST, 25e9},
    {"lsaie.csv", 30, COUNTS_ALLOCATED, 0.01, 1, 0.055, 0.99, 0, 0, 0, NULL, RANK_FIRST, 25e9},
    {"nano-megatron.csv", 18, COUNTS_ALLOCATED, 0.13, 0.99, 0.13, 0.99, 0, 0, 0, NULL, RANK_FIRST, 0},
    {"supercomputing-for-ai.csv", 27, COUNTS_RESERVED, 0.165, 0.99, 0.115, 0.99, 0, 0, 0, NULL, RANK_FIRST, 25e9},
    {"attention-benchmark.csv", 22, COUNTS_ALLOCATED, 0.03, 0.99, 0.175, 0.94, 0, 0, 0, NULL, RANK_FIRST, 25e9},
    {"ml-infrastructure-engineer.csv", 21, COUNTS_ALLOCATED, 0.055, 0.99, 0.13, 0.94, 0, 0, 0, NULL, RANK_MOST_LOADED,
     50e9},
    {"ml-infrastructure-engineer-ethernet.csv", 10, COUNTS_ALLOCATED, 0.08, 0.99, 0.275, 0.77, 0, 0, 0, NULL,
     RANK_FIRST, 2.35e9},
    {"paip-pretrain.csv", 26, COUNTS_ALLOCATED, 0, 0, 0.19, 0.99, 0, 0, 0, NULL, RANK_FIRST, 0},
    {"megatron-deepspeed-lock-clock.csv", 11, COUNTS_ALLOCATED, 0.245, 0.26, 0.205, 0.99, 1, 0, 0, NULL,
     RANK_MOST_LOADED, 0},
    {"modalities.csv", 115, COUNTS_ALLOCATED, 0, 0, 0.095, 0.98, 0, 0, 0, NULL, RANK_FIRST, 25e9},
    {"cs336.csv", 24, COUNTS_ALLOCATED, 0.085, 0.99, 0.19, 0.99, 0, 0, 1, NULL, RANK_FIRST, 0},
    {"lsai-project.csv", 10, COUNTS_ALLOCATED, 0, 0, 0.195, 0.99, 0, 0, 0, NULL, RANK_FIRST, 25e9},
    {"distributed-training-models.csv", 10, COUNTS_ALLOCATED, 0.07, 0.99, 0.505, 0.69, 0, 0, 0, NULL, RANK_FIRST, 0},
    {"training-efficiency.csv", 20, COUNTS_ALLOCATED, 0.1, 0.89, 0.215, 0.99, 0, 0, 0, NULL, RANK_FIRST, 0},
    {"summerquest.csv", 57, COUNTS_ALLOCATED, 0.11, 0.93, 0.23, 0.99, 0, 0, 0, NULL, RANK_FIRST, 0},
    {"peft-methods.csv", 10, COUNTS_ALLOCATED, 0, 0, 0.165, 0.99, 0, 0, 0, NULL, RANK_FIRST, 0},
    {"lora-bench.csv", 4, COUNTS_ALLOCATED, 0, 0, 0.06, 0.99, 0, 0, 0, NULL, RANK_FIRST, 0},
    {"adana.csv", 39, COUNTS_ALLOCATED, 0.075, 0.99, 0.6, 0.99, 0, 0, 0, NULL, RANK_FIRST, 0},
    {"llm-system.csv", 18, COUNTS_ALLOCATED, 0.175, 0.99, 0.49, 0.99, 0, 0, 0, NULL, RANK_MOST_LOADED, 0},
    {"gpt2-optimization.csv", 6, COUNTS_ALLOCATED, 0.195, 0.99, 0.33, 0.99, 0, 0, 0, NULL, RANK_FIRST, 3.125e9},
    {"lumi-llm-scaling.csv", 5, COUNTS_ALLOCATED, 0.03, 0.99, 0.295, 0.99, 0, 0, 0, NULL, RANK_FIRST, 12.5e9},
    {"cs336-a2.csv", 20, COUNTS_ALLOCATED, 0, 0, 0.18, 0.99, 0, 0, 0, own_reduction, RANK_FIRST, 0},
    {"halo.csv", 116, COUNTS_ALLOCATED, 0.19, 0.87, 0.42, 0.86, 0, 0, 0, NULL, RANK_FIRST, 0},
    {"poc-training.csv", 14, COUNTS_RESERVED, 0.055, 0.99, 0.195, 0.99, 0, 0, 0, NULL, RANK_LAST, 50e9},
    {"poc-training-ddp.csv", 1, COUNTS_ALLOCATED, 0.015, 0.99, 0.115, 0.99, 0, 0, 0, NULL, RANK_FIRST, 50e9},
    {"bench-cluster.csv", 26, COUNTS_ALLOCATED, 0.17, 0.95, 0.42, 0.72, 0, 0, 0, NULL, RANK_FIRST, 0},
    {"orcd.csv", 10, COUNTS_ALLOCATED, 0.01, 0.99, 0.06, 0.99, 0, 0, 0, NULL, RANK_FIRST, 50e9},
    {"orcd-mi355x.csv", 19, COUNTS_DEVICE, 0.09, 0.99, 0.215, 0.88, 0, 0, 1, NULL, RANK_LAST, 0},
    {"distributed-pretraining-llm.csv", 7, COUNTS_ALLOCATED, 0, 0, 0.1, 0.99, 0, 0, 0, NULL, RANK_FIRST, 0},
    {"lambda-torchtitan.csv", 25, COUNTS_RESERVED, 0.07, 0.99, 0.18, 0.99, 0, 0, 0, NULL, RANK_FIRST, 100e9},
    {"ulysses.csv", 30, COUNTS_ALLOCATED, 0.14, 0.99, 0.525, 0.96, 0, 0, 0, NULL, RANK_FIRST, 6.5e9},
    {"cs336-forks.csv", 40, COUNTS_ALLOCATED, 0.065, 0.87, 0.225, 0.99, 0, 0, 0, own_reduction, RANK_MOST_LOADED, 0},
    {"awsome-distributed-ai.csv", 16, COUNTS_ALLOCATED, 0, 0, 0.365, 0.99, 0, 0, 0, NULL, RANK_LAST, 50e9},
    {"awsome-distributed-ai-b300.csv", 39, COUNTS_ALLOCATED, 0, 0, 0.37, 0.99, 0, 0, 0, NULL, RANK_LAST, 100e9},
    {"pretraining-bench.csv", 5, COUNTS_ALLOCATED, 0.09, 0.99, 0.06, 0.99, 0, 0, 0, NULL, RANK_FIRST, 0},
    {"moe-modelzoo.csv", 8, COUNTS_ALLOCATED, 0, 0, 0.235, 0.99, 0, 0, 0, NULL, RANK_FIRST, 50e9},
    {"large-scale-ai-engineering.csv", 19, COUNTS_RESERVED, 0.2, 0.99, 0.225, 0.99, 0, 0, 0, NULL, RANK_FIRST, 25e9},
    {"large-scale-ai-teams.csv", 35, COUNTS_ALLOCATED, 0.045, 0.89, 0.2, 0.99, 0, 0, 0, NULL, RANK_MOST_LOADED, 25e9},
    {"llm-training-scaling.csv", 6, COUNTS_ALLOCATED, 0.055, 0.99, 0.175, 0.99, 0, 0, 0, NULL, RANK_FIRST, 0},
    {"training-parallelism-strategies.csv", 7, COUNTS_ALLOCATED, 0.07, 0.85, 0.08, 0.99, 0, 0, 0, NULL,
     RANK_MOST_LOADED, 0},
    {"lumen.csv", 15, COUNTS_DEVICE, 0.045, 0.99, 0.07, 0.99, 0, 0, 0, NULL, RANK_LAST, 0},
    {"qat-precision-bench.csv", 59, COUNTS_ALLOCATED, 0.05, 0.99, 0.21, 0.99, 0, 0, 0, NULL, RANK_FIRST, 0},
    {"mini-llm-distributed-training.csv", 7, COUNTS_ALLOCATED, 0.18, 0.99, 0.215, 0.99, 0, 0, 0, NULL, RANK_FIRST, 0},
    {"oellm-autoexp.csv", 64, COUNTS_DEVICE, 0.09, 0.99, 0.16, 0.99, 0, 0, 0, NULL, RANK_LAST, 25e9},
    {"oellm-autoexp-235b.csv", 13, COUNTS_DEVICE, 0.14, 0.91, 0.41, 0.91, 0, 0, 0, NULL, RANK_LAST, 25e9},
    {"exemplar-performance.csv", 45, COUNTS_ALLOCATED, 0, 0, 0.425, 0.57, 0, 0, 0, NULL, RANK_FIRST, 0},
    {"cs336-fsdp.csv", 34, COUNTS_ALLOCATED, 0.12, 0.95, 0.17, 0.99, 0, 0, 0, own_reduction, RANK_FIRST, 0},
    {"cs336-teams.csv", 33, COUNTS_ALLOCATED, 0.05, 0.99, 0.135, 0.99, 0, 0, 0, own_reduction, RANK_FIRST, 0},
    {"llmfromscratch.csv", 20, COUNTS_ALLOCATED, 0.125, 0.99, 0.305, 0.99, 0, 0, 0, NULL, RANK_FIRST, 0},
    {"qwen3-torchtitan.csv", 5, COUNTS_RESERVED, 0.36, 0.39, 0.48, 0.79, 0, 0, 0, NULL, RANK_FIRST, 0},
    {"llm-infra-bench.csv", 26, COUNTS_ALLOCATED, 0.07, 0.99, 0.145, 0.99, 0, 0, 0, NULL, RANK_FIRST, 0},
    {"llm-infra-bench-later.csv", 15, COUNTS_ALLOCATED, 0.03, 0.99, 0.17, 0.99, 0, 0, 0, NULL, RANK_FIRST, 0},
    {"dist-trainer.csv", 12, COUNTS_ALLOCATED, 0.11, 0.99, 0.41, 0.41, 0, 0, 0, NULL, RANK_FIRST, 0},
    {"can-i-finetune-this.csv", 13, COUNTS_ALLOCATED, 0.14, 0.99, 0, 0, 0, 0, 0, NULL, RANK_FIRST, 0},
    {"it5423.csv", 16, COUNTS_ALLOCATED, 0.085, 0.99, 0.195, 0.99, 0, 0, 0, NULL, RANK_MOST_LOADED, 0},
    {"minidist.csv", 27, COUNTS_ALLOCATED, 2.825, 0.55, 0.25, 0.99, 0, 0, 0, NULL, RANK_MOST_LOADED, 0},
    {"megatron-abci.csv", 56, COUNTS_ALLOCATED, 0, 0, 0.12, 0.99, 0, 0, 0, NULL, RANK_FIRST, 12.5e9},
    {"megatron-tsubame.csv", 106, COUNTS_ALLOCATED, 0, 0, 0.075, 0.99, 0, 0, 0, NULL, RANK_FIRST, 25e9},
    {"gpt2-fsdp-triton.csv", 8, COUNTS_ALLOCATED, 0.065, 0.99, 0.085, 0.99, 0, 0, 0, keeps_logits, RANK_FIRST, 0},
    {"nebius-torchtitan.csv", 3, COUNTS_RESERVED, 0.15, 0.66, 0.255, 0.99, 0, 0, 0, NULL, RANK_FIRST, 50e9},
    {"trl-sft-benchmark.csv", 36, COUNTS_DEVICE, 0.095, 0.99, 0.22, 0.99, 0, 0, 0, NULL, RANK_FIRST, 50e9},
    {"zero-offload-liger.csv", 24, COUNTS_ALLOCATED, 0.15, 0.99, 0, 0, 0, 0, 0, NULL, RANK_FIRST, 0},
    {"long-context-finetuning.csv", 16, COUNTS_ALLOCATED, 0.2, 0.99, 0.16, 0.99, 0, 0, 0, NULL, RANK_FIRST, 0},
    {"multi-gpu-training.csv", 18, COUNTS_ALLOCATED, 0.035, 0.99, 0.165, 0.99, 0, 0, 0, NULL, RANK_FIRST, 0},
    {"memopro.csv", 18, COUNTS_ALLOCATED, 0.085, 0.99, 0.285, 0.92, 0, 0, 0, NULL, RANK_FIRST, 0},
    {"dp-tp-pp-lab.csv", 19, COUNTS_ALLOCATED, 0.01, 0.99, 0.09, 0.99, 0, 0, 0, NULL, RANK_MOST_LOADED, 0},
    {"timelyfreeze.csv", 40, COUNTS_RESERVED, 0.26, 0.69, 0.205, 0.99, 0, 0, 0, NULL, RANK_MOST_LOADED, 0},
    {"pier-llm-pretraining.csv", 7, COUNTS_ALLOCATED, 0.04, 0.99, 0.07, 0.99, 0, 0, 0, NULL, RANK_FIRST, 50e9},
    {"gipfelsturm-models.csv", 34, COUNTS_ALLOCATED, 0, 0, 0.085, 0.99, 0, 0, 0, NULL, RANK_FIRST, 25e9},
    {"gipfelsturm-later.csv", 16, COUNTS_ALLOCATED, 0.015, 0.99, 0.06, 0.99, 0, 0, 0, NULL, RANK_FIRST, 25e9},
    {"nemo-perf-nvfp4.csv", 10, COUNTS_ALLOCATED, 0.145, 0.99, 0.08, 0.99, 0, 0, 0, NULL, RANK_FIRST, 0},
    {"small-malaysian-lm.csv", 20, COUNTS_ALLOCATED, 0, 0, 0.205, 0.99, 0, 0, 0, NULL, RANK_FIRST, 0},
    {"nvfp4-training-harness.csv", 22, COUNTS_RESERVED, 0.21, 0.99, 0.15, 0.99, 0, 0, 0, NULL, RANK_FIRST, 0},
    {"together-dgxc.csv", 9, COUNTS_ALLOCATED, 0, 0, 0.125, 0.77, 0, 0, 0, NULL, RANK_FIRST, 50e9},
    {"gipfelsturm-device.csv", 5, COUNTS_DEVICE, 0.04, 0.99, 0.055, 0.99, 0, 0, 0, NULL, RANK_MOST_LOADED, 25e9},
    {"megatron-bridge-cards.csv", 44, COUNTS_ALLOCATED, 0.055, 0.99, 0.19, 0.94, 0, 0, 0, NULL, RANK_FIRST, 50e9},
    {"megatron-bridge-tuning.csv", 7, COUNTS_ALLOCATED, 0, 0, 0.275, 0.99, 0, 0, 0, NULL, RANK_FIRST, 50e9},
    {"sailor.csv", 15, COUNTS_DEVICE, 0.125, 0.99, 0.27, 0.99, 0, 0, 0, NULL, RANK_MOST_LOADED, 22.9e9},
    {"qwen3-optimised-pretraining.csv", 6, COUNTS_ALLOCATED, 0.02, 0.99, 0.08, 0.99, 0, 0, 0, NULL, RANK_FIRST, 3.1e9},
    {"nemo-launcher.csv", 32, COUNTS_ALLOCATED, 0, 0, 0.095, 0.99, 0, 0, 2, NULL, RANK_FIRST, 25e9},
    {"nemo-launcher-h100.csv", 15, COUNTS_ALLOCATED, 0, 0, 0.055, 0.99, 0, 0, 1, NULL, RANK_FIRST, 50e9},
    {"flash-attention-training.csv", 5, COUNTS_ALLOCATED, 0, 0, 0.38, 0.99, 0, 0, 1, NULL, RANK_FIRST, 0},
    {"ds-verify-loss.csv", 8, COUNTS_RESERVED, 0.18, 0.87, 0.32, 0.99, 0, 0, 0, NULL, RANK_MOST_LOADED, 0},
    {"ds-verify-loss-device.csv", 8, COUNTS_DEVICE, 0.18, 0.74, 0.17, 0.99, 0, 0, 0, NULL, RANK_MOST_LOADED, 0},
    {"picotron.csv", 36, COUNTS_ALLOCATED, 0.055, 0.99, 0.125, 0.99, 0, 0, 0, NULL, RANK_MOST_LOADED, 0},
    {"ds-bf16-master.csv", 2, COUNTS_ALLOCATED, 0.045, 0.99, 0.135, 0.99, 0, 0, 0, NULL, RANK_FIRST, 0},
    {"gipfelsturm-teams.csv", 23, COUNTS_ALLOCATED, 0.02, 0.99, 0.065, 0.99, 0, 0, 0, NULL, RANK_FIRST, 25e9},
    {"geodesic-megatron.csv", 10, COUNTS_ALLOCATED, 0.08, 0.99, 0.09, 0.99, 0, 0, 0, NULL, RANK_FIRST, 25e9},
    {"geodesic-megatron-midtrain.csv", 8, COUNTS_RESERVED, 0.045, 0.99, 0.105, 0.99, 0, 0, 0, NULL, RANK_LAST, 25e9},
    {"geodesic-megatron-sft.csv", 18, COUNTS_DEVICE, 0.04, 0.99, 0.25, 0.99, 0, 0, 0, NULL, RANK_MOST_LOADED, 25e9},
    {"geodesic-megatron-b300.csv", 5, COUNTS_ALLOCATED, 0, 0, 0.32, 0.99, 0, 0, 0, NULL, RANK_FIRST, 0},
    {"training-llama-3-2.csv", 9, COUNTS_ALLOCATED, 0.085, 0.99, 0.08, 0.99, 0, 0, 0, NULL, RANK_FIRST, 0},
    {"training-llama-3-2-reserved.csv", 8, COUNTS_RESERVED, 0.105, 0.99, 0.055, 0.99, 0, 0, 0, NULL, RANK_FIRST, 0},
    {"automodel-scalingai.csv", 12, COUNTS_ALLOCATED, 0.23, 0.99, 0.195, 0.99, 0, 0, 0, NULL, RANK_FIRST, 0},
    {"atorch.csv", 14, COUNTS_ALLOCATED, 0.03, 0, 1e9, 0, SIZE_MAX, SIZE_MAX, 0, keeps_outputs, RANK_FIRST, 0},
};

TEST(predictions__unseen_tables__within_their_bounds)
{
    for (size_t i = round_first(); i < LENGTH(tables); i += round_step())
        predict_table(&tables[i]);
}

/* --- as first predicted --- */

/* What was printed first, and what is learned of it. */
struct quantity {
    enum predicted_quantity which;
    const char *table, *name;
    const struct unseen_spread *of_new, *of_compared; /* NULL: nothing is learned of these */
    double inside_least, far_most;                    /* of each derivation, by the others */
};

/* Of a kind that its framework was compared with, or not; nothing is learned of what its profile or a key says. */
enum first_kind { FIRST_TOLD, FIRST_COMPARED, FIRST_NEW };

/* A row of such a table, with what is compared now. */
struct first {
    const struct bounds *table;
    char framework[32];
    feature_set features;
    size_t derivation;
    double ratio, share; /* measured over predicted; of memory what is not states, of time what is products */
    enum first_kind kind;
    double low, high; /* the interval over the prediction; where it is learned, what no key says of it */
    double width;     /* which is learned of memory, at least */
};

struct firsts {
    struct first rows[8192];
    size_t count;
};

static const struct bounds *table_of(const char *name)
{
    const struct bounds *b = tables;
    while (strcmp(b->table, name) != 0)
        b++;
    return b;
}

#define TOY_BYTES 1e9 /* of a prediction that is mostly the base: nothing is learned of a plan's kind */

static void take_interval(const struct prediction *found, enum predicted_quantity which, struct first *out)
{
    struct evidence_widths w;
    bool is_time = which == QUANTITY_OF_TIME, is_toy = !is_time && found->measured_bytes < TOY_BYTES;
    snprintf(out->framework, sizeof out->framework, "%s", found->where.framework);
    out->features = evidence_features(found->features, which);
    bool is_compared = is_time ? found->time_calibrated : found->memory_calibrated || is_toy;
    out->kind = !found->by_evidence[which] ? FIRST_TOLD : is_compared ? FIRST_COMPARED : FIRST_NEW;
    out->low = is_time ? found->low_s / found->seconds : found->measured_low / found->measured_bytes;
    out->high = is_time ? found->high_s / found->seconds : found->measured_high / found->measured_bytes;
    evidence_widths_of(out->framework, NULL, &w);
    if (is_time && out->kind != FIRST_TOLD) {
        out->share = (found->step.terms[TIME_MATRICES] + found->step.terms[TIME_ATTENTION]) / found->step.seconds;
        out->low = found->better;
        out->high = found->worse;
    } else if (out->kind == FIRST_NEW) {
        out->width = evidence_width(&w, out->features);
        out->low = found->memory.least;
        out->high = found->memory.other;
    }
}

/* Those of a table, as it stands in `first` from row `*at` on. */
static void take_firsts(const struct shared_table *first, enum predicted_quantity which, size_t *at, struct firsts *out)
{
    const struct bounds *b = table_of(shared_text(first, *at, "table"));
    HELD_AT(predictor) *p = new_predictor(b);
    HELD(shared_table) t;
    assert_true(shared_table_load(b->table, &t));
    for (; *at < first->row_count && strcmp(shared_text(first, *at, "table"), b->table) == 0; ++*at) {
        struct input_value values[INPUT_COUNT];
        const struct prediction *found;
        struct first *row = &out->rows[out->count++];
        assert_true(out->count <= LENGTH(out->rows));
        OWNED char *said = b->said ? xstrdup(b->said) : NULL;
        take_inputs(&t, (size_t)shared_number(first, *at, "line") - 2, said, values);
        FAIL_IF(predictor_predict(p, values, &found, &e));
        *row = (struct first){.table = b,
                              .derivation = (size_t)shared_number(first, *at, "derivation"),
                              .ratio = shared_number(first, *at, "ratio"),
                              .share = which == QUANTITY_OF_TIME ? 0 : shared_number(first, *at, "estimated")};
        take_interval(found, which, row);
    }
}

#define HALF_WEIGHT 5.0 /* rows of a kind in a source that make half of its weight, as in evidence.c */
#define RATIO_LEAST 0.05

static double weight_of(const struct firsts *f, const struct first *row)
{
    double alike = 0;
    for (size_t i = 0; i < f->count; i++)
        alike += f->rows[i].table == row->table && f->rows[i].features == row->features &&
                 strcmp(f->rows[i].framework, row->framework) == 0;
    return 1 / (alike + HALF_WEIGHT);
}

/* ln(measured / predicted) of what is estimated of memory; of time, times the share of products. */
static double off_by(enum predicted_quantity which, const struct first *row)
{
    return which == QUANTITY_OF_TIME
               ? log(row->ratio) * fmax(row->share, UNSEEN_PRODUCTS)
               : log(fmax(RATIO_LEAST, 1 + (row->ratio - 1) / fmax(row->share, UNSEEN_ESTIMATED)));
}

/* Its two halves, each as half of a normal distribution about 0. Rows of a source and a kind share what was not known
 * of it, so they are one sample. */
static struct unseen_spread learn(const struct firsts *f, enum predicted_quantity which, enum first_kind kind,
                                  size_t without)
{
    double squares[2] = {0}, weights[2] = {0};
    for (size_t i = 0; i < f->count; i++) {
        const struct first *row = &f->rows[i];
        double off = off_by(which, row);
        double weight = row->kind == kind && row->derivation != without ? weight_of(f, row) : 0;
        squares[off > 0] += weight * off * off;
        weights[off > 0] += weight;
    }
    return (struct unseen_spread){1.645 * sqrt(squares[0] / weights[0]), 1.645 * sqrt(squares[1] / weights[1])};
}

/* `spread`: of its kind; NULL: nothing is learned of that. */
static void count_first(struct unseen *u, enum predicted_quantity which, const struct first *row,
                        const struct unseen_spread *spread)
{
    double (*const of)(double, double) = which == QUANTITY_OF_TIME ? evidence_of_products : evidence_of_estimated;
    double low = spread ? row->low * fmin(exp(-row->width), of(row->share, -spread->below)) : row->low;
    double high = spread ? row->high * fmax(exp(row->width), of(row->share, spread->above)) : row->high;
    count(u, row->ratio, 1, low, high);
}

static void leave_out(const struct firsts *all, const struct quantity *q, size_t derivation)
{
    const struct unseen_spread spread = learn(all, q->which, FIRST_NEW, derivation),
                               compared = learn(all, q->which, FIRST_COMPARED, derivation),
                               *const of_kind[] = {NULL, q->of_compared ? &compared : NULL, &spread};
    struct unseen u = {.rows = 0};
    size_t new_kinds = 0;
    for (size_t i = 0; i < all->count; i++)
        if (all->rows[i].derivation == derivation) {
            count_first(&u, q->which, &all->rows[i], of_kind[all->rows[i].kind]);
            new_kinds += all->rows[i].kind == FIRST_NEW;
        }
    if (u.rows == 0)
        return; /* of the other quantity alone */
    print_message("%s of derivation %zu by the others, %.2f to %.2f: %zu rows, %zu of new kinds, %.0f %% inside, %zu "
                  "beyond twice the interval\n",
                  q->name, derivation, exp(-spread.below), exp(spread.above), u.rows, new_kinds,
                  100 * (double)u.inside / (double)u.rows, u.far);
    assert_true((double)u.inside >= q->inside_least * (double)u.rows && (double)u.far <= q->far_most * (double)u.rows);
}

#define WIDER                                                                                                          \
    0.08 /* what a width may have more than is learned: sources that are near narrow it for those that are not */

static void assert_learned(const struct firsts *all, enum predicted_quantity which, enum first_kind kind,
                           const char *name, const struct unseen_spread *as)
{
    const struct unseen_spread spread = learn(all, which, kind, 0);
    print_message("unseen_%s = {%.2f, %.2f}\n", name, spread.below, spread.above);
    assert_true(spread.below - as->below <= 0.05 && as->below - spread.below <= WIDER);
    assert_true(spread.above - as->above <= 0.05 && as->above - spread.above <= WIDER);
}

static void leave_each_out(const struct quantity *q)
{
    static struct firsts all;
    HELD(shared_table) first;
    open_tables();
    all.count = 0;
    assert_true(shared_table_load(q->table, &first));
    for (size_t at = 0; at < first.row_count;)
        take_firsts(&first, q->which, &at, &all);
    for (size_t d = 1; d <= all.rows[all.count - 1].derivation; d++)
        leave_out(&all, q, d);
    assert_learned(&all, q->which, FIRST_NEW, q->name, q->of_new);
    if (q->of_compared)
        assert_learned(&all, q->which, FIRST_COMPARED, "compared_time", q->of_compared);
}

/* What each derivation says of intervals that know nothing of it. The third had a loop without autocast and with
 * padding masks, of which nothing had been known, in kinds that were compared; the seventh a loop that keeps whole
 * gradients while it accumulates; the eighth Megatron's layouts in a trainer that is not Megatron's; the 17th GPUs
 * whose clocks were locked. */
TEST(first_predictions__each_derivation_left_out__inside_the_interval)
{
    NEEDS(!rounds_are_few());
    leave_each_out(&(struct quantity){QUANTITY_OF_MEMORY, "first.csv", "memory", &unseen_memory, NULL, 0.73, 0.13});
    leave_each_out(
        &(struct quantity){QUANTITY_OF_TIME, "first_time.csv", "time", &unseen_time, &unseen_compared_time, 0.80, 0.1});
}
