/* Predictions of published tables that nothing was fitted to: tests/data/unseen, whose columns are inputs. What was
 * printed first is in docs/benchmarks.md. Of the tables that are frozen only the rows are asserted. */
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
    size_t excluded, missing;
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

static void predict_row(struct predictor *p, const struct shared_table *t, size_t row, struct figures *f)
{
    struct input_value values[INPUT_COUNT];
    const struct prediction *found;
    struct error e = ERROR_INIT;
    read_inputs(t, row, values);
    if (predictor_predict(p, values, &found, &e) < 0)
        fail_msg("row %zu: %s", row + 2, e.text);
    double bytes = column(t, row, "memory_gib") * GIB, seconds = column(t, row, "step_s");
    f->excluded += found->verdict == OOM_CERTAIN;
    f->missing += (bytes > 0 && !found->has_memory) || (seconds > 0 && !found->has_time);
    if (bytes > 0 && found->has_memory)
        count(&f->memory, bytes, found->measured_bytes, found->measured_low, found->measured_high);
    if (seconds > 0 && found->has_time)
        count(&f->time, seconds, found->seconds, found->low_s, found->high_s);
    if (getenv("MESHSWEEP_EACH_ROW"))
        print_message("%s: %.1f of %.1f GiB; %.3g of %.3g s\n", shared_text(t, row, "row"), found->measured_bytes / GIB,
                      bytes / GIB, found->seconds, seconds);
}

static struct figures predict_table(const char *name, enum memory_counter counter, size_t rows)
{
    const struct predictor_options options = {.counter = counter};
    struct figures f = {.excluded = 0};
    struct predictor *p = NULL;
    struct error e = ERROR_INIT;
    struct shared_table t;
    char folder[4096];
    snprintf(folder, sizeof folder, "%s/tests/data/unseen", getenv("srcdir") ? getenv("srcdir") : "..");
    setenv("MESHSWEEP_SHARED_DATA", folder, 1);
    if (!shared_table_load(name, &t))
        fail_msg("%s has no %s", folder, name);
    assert_int_equal(t.row_count, rows);
    assert_int_equal(predictor_create(&options, &p, &e), 0);
    for (size_t row = 0; row < t.row_count; row++)
        predict_row(p, &t, row, &f);
    tell(name, "memory", &f.memory);
    tell(name, "time", &f.time);
    print_message("%s: %zu of %zu excluded although they ran\n", name, f.excluded, t.row_count);
    assert_int_equal(f.missing, 0);
    predictor_free(p);
    shared_table_free(&t);
    return f;
}

TEST(predictions__unseen_table_of_fine_tuning__within_its_bounds)
{
    struct figures f = predict_table("finetuning.csv", COUNTS_DEVICE, 95);
    assert_true(f.memory.error <= 0.10 * (double)f.memory.rows && f.memory.inside >= 0.85 * (double)f.memory.rows);
    assert_true(f.time.error <= 0.19 * (double)f.time.rows && f.time.inside >= 0.85 * (double)f.time.rows);
    assert_true(f.excluded <= 1);
}

TEST(predictions__frozen_tables__each_row_predicted)
{
    predict_table("fsdp-qlora.csv", COUNTS_RESERVED, 30);
    predict_table("automodel.csv", COUNTS_RESERVED, 13);
    predict_table("bert.csv", COUNTS_RESERVED, 28);
    predict_table("ms-swift.csv", COUNTS_RESERVED, 58);
}
