/* predict: lines of measured memory over the micro-batch. */
#include "frameworks.h"
#include "predict/memory_lines.h"
#include "published_tables.h"

TEST(memory_lines__two_sizes__line_as_far_as_it_reaches)
{
    HELD_AT(memory_lines) *l = memory_lines_create();
    double bytes = 42;
    memory_lines_add(l, 7, 2, 12);
    assert_false(memory_lines_bytes(l, 7, 2, &bytes));
    memory_lines_add(l, 7, 4, 14);
    assert_true(memory_lines_bytes(l, 7, 8, &bytes) && fabs(bytes - 18) < 1e-9);
    assert_true(memory_lines_bytes(l, 7, 1, &bytes) && fabs(bytes - 11) < 1e-9);
    bytes = 42;
    assert_false(memory_lines_bytes(l, 7, 9, &bytes) || memory_lines_bytes(l, 8, 2, &bytes));
    assert_true(bytes == 42);
    /* Larger ones that take less are no line; nor is one that begins below nothing. */
    memory_lines_add(l, 9, 1, 20);
    memory_lines_add(l, 9, 2, 10);
    memory_lines_add(l, 10, 1, 10);
    memory_lines_add(l, 10, 2, 30);
    assert_false(memory_lines_bytes(l, 9, 2, &bytes) || memory_lines_bytes(l, 10, 2, &bytes));
}

TEST_ROWS(memory_lines__sizes_that_say_nothing__no_line, (double x[2], y[2]; size_t count), {{1, 1}, {2, 3}, 2},
          {{1, 2}, {3, 3}, 2}, {{1, 2}, {4, 3}, 2}, {{1}, {2}, 1}, {{0}, {0}, 0})
{
    HELD_AT(memory_lines) *l = memory_lines_create();
    double bytes = 42;
    for (size_t i = 0; i < row->count; i++)
        memory_lines_add(l, 1, row->x[i], row->y[i]);
    assert_false(memory_lines_bytes(l, 1, 1, &bytes) || bytes != 42);
}

TEST(memory_lines__more_than_are_kept__oldest_and_new_classes_forgotten)
{
    HELD_AT(memory_lines) *l = memory_lines_create();
    double bytes;
    memory_lines_add(l, 0, 1, 1000);
    for (int i = 0; i < MEMORY_LINE_POINTS; i++)
        memory_lines_add(l, 0, 1 + i, 10 + i);
    assert_true(memory_lines_bytes(l, 0, 16, &bytes) && fabs(bytes - 25) < 1e-9);
    for (uint64_t class = 1; class <= 2 * MEMORY_LINES_MOST; class ++) {
        memory_lines_add(l, class * 2048, 1, 1);
        memory_lines_add(l, class * 2048, 2, 2);
    }
    assert_true(memory_lines_bytes(l, 2048 * (MEMORY_LINES_MOST - 1), 2, &bytes));
    assert_false(memory_lines_bytes(l, 2048 * (MEMORY_LINES_MOST + 1), 2, &bytes));
}

static int compare_micro_batches(const void *a, const void *b)
{
    const struct published_run *x = a, *y = b;
    return (x->plan.micro_batch > y->plan.micro_batch) - (x->plan.micro_batch < y->plan.micro_batch);
}

/* Compares nanotron's runs from the smallest micro-batch to the largest: those whose class has a line by then. */
TEST(memory_lines__ultrascale_runs__nearer_than_the_model)
{
    HELD(shared_table) t;
    OWNED struct published_run *runs = NULL;
    size_t count = 0, known = 0;
    double by_model = 0, by_line = 0;
    NEEDS(shared_table_load("ultrascale-1B-8B.csv", &t));
    for (size_t row = 0; row < t.row_count; row++) {
        runs = array_grow(runs, count, sizeof *runs);
        count += ultrascale_read(&t, row, 8, &runs[count]) && !runs[count].failed;
    }
    qsort(runs, count, sizeof *runs, compare_micro_batches);
    HELD_AT(memory_lines) *l = memory_lines_create();
    for (size_t i = 0; i < count; i++) {
        const struct training_plan *p = &runs[i].plan;
        const uint64_t class = (uint64_t)(runs[i].architecture.hidden * 1000003 + p->tensor * 10007 +
                                          p->pipeline * 101 + p->data * 1009 * 1009 + p->zero_stage);
        const struct memory_prediction m = published_memory(&runs[i], &framework_find("nanotron")->memory);
        double bytes, model = m.first.bytes, width = m.high_bytes / m.most.bytes;
        if (memory_lines_bytes(l, class, (double)p->micro_batch, &bytes)) {
            known++;
            by_model += fabs(model / runs[i].memory_bytes - 1);
            by_line +=
                fabs((bytes > model / width && bytes < model * width ? bytes : model) / runs[i].memory_bytes - 1);
        }
        memory_lines_add(l, class, (double)p->micro_batch, runs[i].memory_bytes);
    }
    print_message("memory of %zu runs with two smaller ones of their class: by their line %.1f %%, by the model %.1f "
                  "%%\n",
                  known, 100 * by_line / (double)known, 100 * by_model / (double)known);
    assert_true(known > 100 && by_line < by_model);
}
