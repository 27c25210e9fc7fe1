/* trainer: the command line. */
#include <string.h>

#include "trainer/options.h"
#include "unit_test.h"

enum { MIB = 1 << 20 };

static int parse(struct options *o, struct error *e, const char *const *arguments)
{
    char *argv[32] = {"meshsweep-trainer"};
    int argc = 1;

    for (; arguments[argc - 1]; argc++)
        argv[argc] = (char *)arguments[argc - 1];
    argv[argc] = NULL;
    return options_parse(o, argc, argv, e);
}

TEST(options_parse__both_spellings__values)
{
    struct options o;
    struct error e;

    assert_int_equal(parse(&o, &e,
                           (const char *const[]){"--layers", "3", "--hidden=96", "--heads", "6", "--device-memory",
                                                 "1.5MiB", "--lr=2e-4", "--ranks", "2", "--activation-checkpointing",
                                                 "--metrics", "m.jsonl", "--seed", "18446744073709551615", NULL}),
                     0);
    assert_int_equal(o.layers, 3);
    assert_int_equal(o.hidden, 96);
    assert_int_equal(o.device_memory_bytes, 3 * MIB / 2);
    assert_true(o.learning_rate == 2e-4);
    assert_true(o.checkpointing);
    assert_string_equal(o.metrics_path, "m.jsonl");
    assert_true(o.seed == UINT64_MAX);
    assert_int_equal(options_accumulation(&o), 2);
}

TEST(options_parse__few_steps__warm_up_leaves_one)
{
    struct options o;
    struct error e;

    assert_int_equal(parse(&o, &e, (const char *const[]){"--steps", "1", NULL}), 0);
    assert_int_equal(o.warmup_steps, 0);
    assert_int_equal(parse(&o, &e, (const char *const[]){"--steps", "9", NULL}), 0);
    assert_int_equal(o.warmup_steps, 2);
}

TEST(options_parse__wrong_use__one_sentence_and_status_2)
{
    static const struct {
        const char *arguments[7];
        const char *text;
    } cases[] = {
        {{"--hiden", "64"}, "unknown option '--hiden'; see --help"},
        {{"64"}, "unexpected argument '64'; see --help"},
        {{"--hidden"}, "--hidden needs a value"},
        {{"--help=x"}, "--help takes no value"},
        {{"--zero-stage", "4"}, "--zero-stage 4: must be a whole number from 0 to 3"},
        {{"--layers", "2x"}, "--layers 2x: must be a whole number from 1 to 4096"},
        {{"--layers="}, "--layers : must be a whole number from 1 to 4096"},
        {{"--vocab", "255"}, "--vocab 255: must be a whole number from 256 to 65536"},
        {{"--lr", "nan"}, "--lr nan: must be a number above 0"},
        {{"--lr", "-1"}, "--lr -1: must be a number above 0"},
        {{"--seed", "-1"}, "--seed -1: must be a whole number from 0"},
        {{"--device-memory", "24Mi"}, "--device-memory 24Mi: must be a size such as 24MiB, 1.5GiB or 500MB"},
        {{"--device-memory", "0"}, "--device-memory 0: must be a size such as 24MiB, 1.5GiB or 500MB"},
        {{"--hidden", "64", "--heads", "5"}, "--hidden 64 is not a multiple of --heads 5"},
        {{"--global-batch", "16", "--micro-batch", "4", "--ranks", "3"},
         "--global-batch 16 is not a multiple of --micro-batch 4 times --ranks 3"},
        {{"--steps", "5", "--warmup-steps", "5"}, "--warmup-steps 5 leaves none of --steps 5 to measure"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct options o;
        struct error e = {0};
        assert_int_equal(parse(&o, &e, cases[i].arguments), -1);
        assert_int_equal(e.status, STATUS_USAGE);
        assert_string_equal(e.text, cases[i].text);
    }
}
