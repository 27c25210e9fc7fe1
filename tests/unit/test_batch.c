/* deepspeed/batch: the three numbers of a batch, given, "auto" or missing. */

#include "deepspeed/ds_check.h"
#include "unit_test.h"

/* The members of {CONFIG} without blanks after completion, or the error. */
static void expect(const char *config, long long ranks, bool resolve, const char *expected)
{
    struct json root;
    OWNED_BUFFER b = BUFFER_INIT;
    struct error e = ERROR_INIT;
    buffer_printf(&b, "{%s}", config);
    assert_int_equal(json_text_parse("ds.json", buffer_text(&b), &root, &e), 0);
    buffer_clear(&b);
    if (batch_complete(&root, ranks, resolve, &e) < 0) {
        assert_int_equal(e.kind, ERROR_USAGE);
        buffer_add_text(&b, e.text);
    } else {
        json_text_add(&root, 0, &b);
    }
    assert_string_equal(buffer_text(&b), expected);
    json_text_free(&root);
}

#define TRAIN "\"train_batch_size\":"
#define MICRO "\"train_micro_batch_size_per_gpu\":"
#define STEPS "\"gradient_accumulation_steps\":"

TEST(batch_complete__two_of_three__the_third)
{
    expect(TRAIN "64," MICRO "4", 8, false, "{" TRAIN "64," MICRO "4," STEPS "2}");
    expect(TRAIN "64," STEPS "2", 8, false, "{" TRAIN "64," STEPS "2," MICRO "4}");
    expect(MICRO "4," STEPS "2", 8, false, "{" MICRO "4," STEPS "2," TRAIN "64}");
    expect(TRAIN "64," MICRO "4," STEPS "2", 8, false, "{" TRAIN "64," MICRO "4," STEPS "2}");
    expect(TRAIN "64," MICRO "4," STEPS "null", 8, true, "{" TRAIN "64," MICRO "4," STEPS "2}");
}

TEST(batch_complete__one_of_three__accumulation_of_one)
{
    expect(TRAIN "64", 8, false, "{" TRAIN "64," MICRO "8," STEPS "1}");
    expect(MICRO "4", 8, false, "{" MICRO "4," TRAIN "32," STEPS "1}");
    /* Nothing follows from the accumulation alone. */
    expect(STEPS "2", 8, false, "{" STEPS "2}");
    expect("\"steps_per_print\":10", 8, false, "{\"steps_per_print\":10}");
}

TEST(batch_complete__auto__kept_or_replaced)
{
    expect(TRAIN "64," MICRO "4," STEPS "\"auto\"", 8, false, "{" TRAIN "64," MICRO "4," STEPS "\"auto\"}");
    expect(TRAIN "64," MICRO "4," STEPS "\"auto\"", 8, true, "{" TRAIN "64," MICRO "4," STEPS "2}");
    /* A size that the job fills in is not guessed. */
    expect(TRAIN "64," MICRO "\"auto\"", 8, false, "{" TRAIN "64," MICRO "\"auto\"}");
    expect(TRAIN "64," MICRO "\"auto\"", 8, true, "{" TRAIN "64," MICRO "8," STEPS "1}");
    expect(TRAIN "\"auto\"," MICRO "\"auto\"," STEPS "\"auto\"", 8, true,
           "{" TRAIN "\"auto\"," MICRO "\"auto\"," STEPS "\"auto\"}");
    /* Two known ones must still divide. */
    expect(TRAIN "63," MICRO "4," STEPS "\"auto\"", 8, false,
           "the batch sizes contradict each other: train_batch_size 63, train_micro_batch_size_per_gpu 4, "
           "data-parallel size 8 (the first must be the product of the others)");
}

TEST(batch_complete__not_whole_or_not_agreeing__said)
{
    expect(TRAIN "64," MICRO "4," STEPS "3", 8, true,
           "the batch sizes contradict each other: train_batch_size 64, train_micro_batch_size_per_gpu 4, "
           "gradient_accumulation_steps 3, data-parallel size 8 (the first must be the product of the others)");
    expect(TRAIN "4", 8, false,
           "the batch sizes contradict each other: train_batch_size 4, data-parallel size 8 (the first must be the "
           "product of the others)");
    expect(TRAIN "64," STEPS "3", 8, false,
           "the batch sizes contradict each other: train_batch_size 64, gradient_accumulation_steps 3, data-parallel "
           "size 8 (the first must be the product of the others)");
    expect(TRAIN "0", 8, false, "train_batch_size must be a whole number above 0");
    expect(MICRO "-4", 8, false, "train_micro_batch_size_per_gpu must be a whole number above 0");
    expect(STEPS "1.5", 8, false, "gradient_accumulation_steps must be a whole number above 0");
    expect(TRAIN "\"64\"", 8, false, "train_batch_size must be a whole number above 0");
}

static void expect_ranks(const char *specs, long long expected)
{
    struct json root;
    FAIL_IF(json_text_parse("specs.json", specs, &root, &e));
    assert_int_equal(batch_ranks(&root), expected);
    json_text_free(&root);
}

TEST(batch_ranks__derived_then_the_spec_then_all_devices__by_sequence_parallel_size)
{
    expect_ranks("{}", 1);
    expect_ranks("{\"cluster_spec\":{\"num_hosts\":2,\"num_devices_per_host\":4}}", 8);
    expect_ranks("{\"cluster_spec\":{\"num_hosts\":2,\"num_devices_per_host\":4},\"parallel_spec\":{\"dp\":4}}", 4);
    expect_ranks("{\"derived\":{\"dp\":2},\"parallel_spec\":{\"dp\":4}}", 2);
    expect_ranks("{\"derived\":{\"dp\":8},\"parallel_spec\":{\"sequence_parallel_size\":4}}", 2);
    expect_ranks("{\"derived\":{\"dp\":2},\"parallel_spec\":{\"sequence_parallel_size\":4}}", 1);
}
