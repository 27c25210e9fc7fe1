/* Predictions of two published tables that nothing was fitted to: tests/data/unseen, whose columns are inputs. What was
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

static void tell(const char *what, const struct unseen *u)
{
    double n = (double)u->rows;
    print_message("unseen, %s: %zu rows, error %.1f %%, %.0f %% inside, %zu beyond twice the interval\n", what, u->rows,
                  100 * u->error / n, 100 * (double)u->inside / n, u->far);
}

TEST(predictions__unseen_tables__figures)
{
    const struct predictor_options options = {.counter = COUNTS_DEVICE};
    struct unseen memory = {0}, time = {0};
    size_t lost = 0;
    struct predictor *p = NULL;
    struct error e = ERROR_INIT;
    struct shared_table t;
    char folder[4096];
    snprintf(folder, sizeof folder, "%s/tests/data/unseen", getenv("srcdir") ? getenv("srcdir") : "..");
    setenv("MESHSWEEP_SHARED_DATA", folder, 1);
    if (!shared_table_load("finetuning.csv", &t))
        fail_msg("%s has no finetuning.csv", folder);
    assert_int_equal(predictor_create(&options, &p, &e), 0);
    for (size_t row = 0; row < t.row_count; row++) {
        struct input_value values[INPUT_COUNT];
        const struct prediction *found;
        read_inputs(&t, row, values);
        if (predictor_predict(p, values, &found, &e) < 0)
            fail_msg("row %zu: %s", row + 2, e.text);
        double bytes = shared_number(&t, row, "memory_gib") * GIB, seconds = shared_number(&t, row, "step_s");
        lost += found->verdict == OOM_CERTAIN;
        if (bytes > 0)
            count(&memory, bytes, found->measured_bytes, found->measured_low, found->measured_high);
        if (seconds > 0)
            count(&time, seconds, found->seconds, found->low_s, found->high_s);
        if (getenv("MESHSWEEP_EACH_ROW"))
            print_message("%s: %.1f of %.1f GiB; %.3g of %.3g s\n", shared_text(&t, row, "row"),
                          found->measured_bytes / GIB, bytes / GIB, found->seconds, seconds);
    }
    tell("memory", &memory);
    tell("time", &time);
    print_message("unseen: %zu of %zu excluded although they ran\n", lost, t.row_count);
    assert_true(memory.error <= 0.10 * (double)memory.rows && memory.inside >= 0.85 * (double)memory.rows);
    assert_true(time.error <= 0.27 * (double)time.rows && time.inside >= 0.70 * (double)time.rows && lost <= 1);
    predictor_free(p);
    shared_table_free(&t);
}
