/* Predictions of published tables that nothing was fitted to: tests/data/unseen, whose columns are inputs. What was
 * printed first is in docs/benchmarks.md. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static void read_inputs(const struct shared_table *t, size_t row, struct input_value *values)
{
    memset(values, 0, INPUT_COUNT * sizeof *values);
    for (size_t i = 0; i < INPUT_COUNT; i++)
        for (size_t c = 0; c < t->column_count; c++) {
            const char *text = strcmp(t->header[c], inputs[i].name) == 0 ? shared_text(t, row, t->header[c]) : "";
            if (!*text)
                continue;
            values[i].kind = parse_double(text, &values[i].number) ? INPUT_NUMBER : INPUT_TEXT;
            values[i].text = text;
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

/* What the source says of all its rows, or those of a framework, and a table has no column for. */
struct said {
    const char *input;
    double value;
    const char *text;      /* NULL: `value` */
    const char *framework; /* NULL: all rows */
};

static void predict_row(struct predictor *p, const struct shared_table *t, size_t row, const struct said *said,
                        struct figures *f)
{
    struct input_value values[INPUT_COUNT];
    const struct prediction *found;
    struct error e = ERROR_INIT;
    read_inputs(t, row, values);
    for (; said && said->input; said++)
        if (!said->framework || strcmp(said->framework, shared_text(t, row, "framework")) == 0)
            values[input_find(said->input)] =
                (struct input_value){said->text ? INPUT_TEXT : INPUT_NUMBER, said->value, said->text};
    if (predictor_predict(p, values, &found, &e) < 0)
        fail_msg("row %zu: %s", row + 2, e.text);
    double bytes = column(t, row, "memory_gib") * GIB, seconds = column(t, row, "step_s");
    f->excluded += found->verdict == OOM_CERTAIN;
    assert_true((bytes <= 0 || found->has_memory) && (seconds <= 0 || found->has_time));
    if (bytes > 0)
        count(&f->memory, bytes, found->measured_bytes, found->measured_low, found->measured_high);
    if (seconds > 0)
        count(&f->time, seconds, found->seconds, found->low_s, found->high_s);
}

/* What a table's figures were when they were measured: errors and rows far off at most, shares inside at least. */
struct bounds {
    const char *table;
    size_t rows;
    enum memory_counter counter;
    double memory_error, memory_inside, time_error, time_inside;
    size_t memory_far, time_far, excluded;
    const struct said *said; /* of all rows; NULL: no more */
};

static void assert_within(const struct unseen *u, double error, double inside, size_t far)
{
    double n = (double)u->rows;
    assert_true(u->error <= error * n && (double)u->inside >= inside * n && u->far <= far);
}

/* `rank`: whose memory it is. */
static void predict_table(const struct bounds *b, enum memory_rank rank)
{
    struct figures f = {.excluded = 0};
    HELD_AT(predictor) *p = NULL;
    HELD(shared_table) t;
    char folder[4096];
    snprintf(folder, sizeof folder, "%s/tests/data/unseen", getenv("srcdir") ? getenv("srcdir") : "..");
    setenv("MESHSWEEP_SHARED_DATA", folder, 1);
    assert_true(shared_table_load(b->table, &t));
    assert_int_equal(t.row_count, b->rows);
    FAIL_IF(predictor_create(&(struct predictor_options){.counter = b->counter, .rank = rank}, &p, &e));
    for (size_t row = 0; row < t.row_count; row++)
        predict_row(p, &t, row, b->said, &f);
    tell(b->table, "memory", &f.memory);
    tell(b->table, "time", &f.time);
    print_message("%s: %zu of %zu excluded although they ran\n", b->table, f.excluded, t.row_count);
    assert_true(f.excluded <= b->excluded);
    assert_within(&f.memory, b->memory_error, b->memory_inside, b->memory_far);
    assert_within(&f.time, b->time_error, b->time_inside, b->time_far);
}

/* ChatGLM-Finetuning gives DeepSpeed a model that from_pretrained made outside of zero.Init (train.py). */
static const struct said built_whole[] = {{.input = "loaded_whole", .value = 1}, {.input = NULL}};

/* vectorlm's benchmark calls train_step of its trainer, which does not count steps, so that the optimizer never has
 * one (profiling/benchmark.py, vectorlm/trainer.py): there are no moments. */
static const struct said never_steps[] = {{.input = "optimizer", .text = "sgd"}, {.input = NULL}};

#define NO_AIM 1e9, 0, 1e9, 0, SIZE_MAX, SIZE_MAX, SIZE_MAX

/* Qwen pads to one length (finetune.py, preprocess), fsdp_qlora trains on dummies (benchmarks_03_2024.md), and ms-swift
 * on 91 to max_length tokens (Benchmark.md). universal-llm-trainer pads to one length, too (src/data_collection, _pad),
 * and so passes a mask, though its samples fill all tokens (gpu_test.md). Its loop passes the model's logits to torch's
 * loss (src/models/llama3.py, forward); its configurations (config/) have amp_training false and deterministic true. */
static const struct said equal[] = {{.input = "packing", .value = 1}, {.input = NULL}};
static const struct said vary[] = {{.input = "packing", .value = 0}, {.input = NULL}};
static const struct said own_loop[] = {{.input = "packing", .value = 1},      {.input = "narrow_loss", .value = 1},
                                       {.input = "padding_mask", .value = 1}, {.input = "deterministic", .value = 1},
                                       {.input = "autocast", .value = 0},     {.input = NULL}};

/* atorch's loop (fsdp_llama2.py) has a pass's output in a variable until the next pass is done, with the keys and
 * values of all layers: use_cache is on by default, and torch's checkpoint_wrapper, unlike the model's own, leaves it
 * so. */
static const struct said keeps_outputs[] = {{.input = "held_outputs", .text = "cache", .framework = "hf-trainer"},
                                            {.input = NULL}};

TEST(predictions__unseen_tables__within_their_bounds)
{
    static const struct bounds tables[] = {
        {"finetuning.csv", 95, COUNTS_DEVICE, 0.08, 0.92, 0.19, 0.85, 0, 0, 1, equal},
        {"fsdp-qlora.csv", 30, COUNTS_RESERVED, 0.1, 0.9, 0.25, 0.9, 0, 1, 0, equal},
        {"automodel.csv", 13, COUNTS_RESERVED, 0, 0, 0.15, 0.9, 0, 0, 0, NULL},
        {"bert.csv", 28, COUNTS_RESERVED, 0, 0, 0.15, 0.9, 0, 0, 0, NULL},
        {"ms-swift.csv", 58, COUNTS_RESERVED, NO_AIM, NULL},
        {"ms-swift.csv", 58, COUNTS_RESERVED, NO_AIM, vary},
        {"universal-llm-trainer.csv", 49, COUNTS_RESERVED, 0.08, 0.99, 0.20, 0.89, 0, 0, 0, own_loop},
        {"gdgpt.csv", 66, COUNTS_RESERVED, 0, 0, 0.23, 0.88, 0, 0, 0, NULL},
        {"libai.csv", 42, COUNTS_RESERVED, 0, 0, 0.08, 1, 0, 0, 0, NULL},
        {"easy-gpt.csv", 15, COUNTS_RESERVED, 0.14, 0.99, 0.66, 0.33, 0, 2, 0, NULL},
        {"flagperf.csv", 45, COUNTS_DEVICE, 0.10, 0.95, 0.09, 1, 0, 0, 1, NULL},
        {"torchtune.csv", 11, COUNTS_ALLOCATED, 0.10, 0.81, 0.28, 0.9, 0, 0, 0, NULL},
        {"trainer-guide.csv", 9, COUNTS_DEVICE, 0.09, 0.77, 0.18, 1, 0, 0, 0, NULL},
        {"lightning.csv", 2, COUNTS_ALLOCATED, 0.50, 0, 0.5, 0.5, 1, 1, 0, NULL},
        {"vocabulary-parallelism.csv", 16, COUNTS_RESERVED, NO_AIM, NULL},
        {"chatglm-finetuning.csv", 11, COUNTS_DEVICE, 0.20, 0, 0, 0, SIZE_MAX, SIZE_MAX, 0, built_whole},
        {"yafsdp.csv", 16, COUNTS_RESERVED, NO_AIM, NULL},
        {"vectorlm.csv", 18, COUNTS_RESERVED, 0, 0, 0.15, 1, 0, 0, 0, never_steps},
    };
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        predict_table(&tables[i], RANK_MOST_LOADED);
    predict_table(&(struct bounds){"atorch.csv", 14, COUNTS_ALLOCATED, 0.05, 0, 1e9, 0, SIZE_MAX, SIZE_MAX, 0,
                                   keeps_outputs},
                  RANK_FIRST);
}
