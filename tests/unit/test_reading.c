/* run: output that is read while it is written, lines of any length, and quantiles of any number of values. */
#include <fcntl.h>

#include "metrics/reading.h"
#include "process/job_file.h"
#include "unit_test.h"
#include "util/rng.h"

static struct metric a_metric = {.name = (char *)"v", .reader = READER_REGEX, .pattern = (char *)"v=([0-9.]+)"};
static struct metric json_metric = {.name = (char *)"j", .reader = READER_JSONL, .path = (char *)"j"};

static struct reader_set *set_of(struct metric *metrics, size_t count)
{
    struct reader_set *set = NULL;
    const struct job_config job = {.metrics = metrics, .metric_count = count};
    FAIL_IF(reader_set_create(&job, &set, &e));
    return set;
}

static void put_filler(FILE *file, size_t bytes)
{
    char block[4096];
    memset(block, 'x', sizeof block);
    for (; bytes > 0; bytes -= bytes < sizeof block ? bytes : sizeof block)
        fwrite(block, 1, bytes < sizeof block ? bytes : sizeof block, file);
}

static struct sample_list read_all(const struct reader_set *set)
{
    struct sample_list l;
    readers_read(set, "log", "metrics.jsonl", NULL, &l);
    return l;
}

/* --- long lines --- */

TEST_ROWS(long_line__number_anywhere__found_once, (size_t value), {0}, {10}, {61430}, {61440}, {61441}, {65530},
          {65536}, {65540}, {200000}, {100000000})
{
    HELD_AT(reader_set) *set = set_of(&a_metric, 1);
    for (size_t shift = 0; shift < 8; shift++) {
        FILE *file = fopen("log", "w");
        put_filler(file, row->value + shift);
        fputs("v=12345678", file);
        put_filler(file, 70000);
        fputs("v=99\nv=3\n", file);
        fclose(file);
        struct sample_list l = read_all(set);
        assert_int_equal(l.count, 2);
        assert_float_equal(l.samples[0].value, 12345678, 0);
        assert_float_equal(l.samples[1].value, 3, 0);
        sample_list_free(&l);
        if (row->value > 1000000)
            break;
    }
}

TEST(long_line__anchors__those_of_the_line)
{
    struct metric first = a_metric, last = a_metric;
    first.pattern = (char *)"^v=([0-9]+)";
    last.pattern = (char *)"v=([0-9]+)$";
    FILE *file = fopen("log", "w");
    for (int i = 0; i < 100000; i++)
        fprintf(file, "v=%d ", i);
    fputs("v=7\n", file);
    fclose(file);
    const double expected[] = {0, 7};
    struct metric *const metrics[] = {&first, &last};
    for (size_t i = 0; i < 2; i++) {
        HELD_AT(reader_set) *set = set_of(metrics[i], 1);
        HELD(sample_list) l = read_all(set);
        assert_int_equal(l.count, 1);
        assert_float_equal(l.samples[0].value, expected[i], 0);
    }
}

TEST(long_line__json__read_whole_or_counted)
{
    HELD_AT(reader_set) *set = set_of(&json_metric, 1);
    const char *const paths[] = {"log", "metrics.jsonl"};
    for (size_t i = 0; i < 2; i++) {
        FILE *file = fopen(paths[i], "w");
        fputs("{\"j\": 1, \"text\": \"", file);
        put_filler(file, 1 << 20);
        fputs("\"}\n{\"j\": 2, \"text\": \"", file);
        put_filler(file, 5 << 20);
        fputs("\"}\n{\"j\": 3}\n", file);
        fclose(file);
    }
    HELD(sample_list) l = read_all(set);
    assert_int_equal(l.oversized_lines, 2);
    assert_int_equal(l.malformed_lines, 0);
    assert_int_equal(l.series[0].tally.reported, 2);
    assert_float_equal(l.samples[0].value, 1, 0);
    assert_float_equal(l.samples[1].value, 3, 0);
    assert_int_equal(truncate("metrics.jsonl", 0), 0);
}

/* --- following --- */

static bool follow(struct output_reading *r, const char *path, int64_t bytes)
{
    output_reading_attach(r, job_file_open(path));
    return output_reading_follow(r, NULL, bytes);
}

static void expect_same(const struct sample_list *a, const struct sample_list *b)
{
    assert_int_equal(a->name_count, b->name_count);
    assert_int_equal(a->count, b->count);
    for (size_t i = 0; i < a->count; i++) {
        assert_int_equal(a->samples[i].metric, b->samples[i].metric);
        assert_int_equal(a->samples[i].step, b->samples[i].step);
        assert_float_equal(a->samples[i].value, b->samples[i].value, 0);
    }
}

/* Written in pieces that end anywhere, and read between them: the same as all at once. */
TEST(follow__cut_anywhere__same_as_at_once)
{
    struct metric metrics[] = {a_metric, json_metric};
    HELD_AT(reader_set) *set = set_of(metrics, 2);
    OWNED_BUFFER text = BUFFER_INIT;

    struct rng rng = rng_stream(7, 0);
    for (int i = 0; i < 3000; i++) {
        buffer_printf(&text, "%s v=%d%s", i % 7 ? "step" : "", i, i % 3 ? "\n" : "\r");
        if (i % 5 == 0)
            buffer_printf(&text, "{\"j\": %d}\r\n", i);
        for (int k = 0; i % 400 == 0 && k < 150000; k++)
            buffer_add_char(&text, 'y');
    }
    FILE *file = fopen("log", "w");
    HELD_AT(output_reading) *r = output_reading_create(set);
    for (size_t at = 0; at < text.length;) {
        size_t n = 1 + rng_below(&rng, 40000);
        n = n < text.length - at ? n : text.length - at;
        fwrite(text.data + at, 1, n, file);
        fflush(file);
        at += n;
        while (follow(r, "log", 1 + (int64_t)rng_below(&rng, 30000)))
            continue;
        assert_int_equal(output_reading_position(r), at);
    }
    fclose(file);
    HELD(sample_list) followed, looked, whole = read_all(set);
    output_reading_look(r, "log", NULL, NULL, &looked);
    output_reading_finish(r, "log", NULL, NULL, &followed);
    assert_true(whole.count > 3500);
    expect_same(&followed, &whole);
    assert_true(looked.count >= whole.count - 1);
    assert_true(output_reading_found_any(r));
}

TEST(follow__given_back_before_it_was_read__skipped_and_counted)
{
    HELD_AT(reader_set) *set = set_of(&a_metric, 1);
    FILE *file = fopen("log", "w");
    fputs("v=1\n", file);
    put_filler(file, 1 << 20);
    fputs("\nv=2\n", file);
    fclose(file);
    int fd = open("log", O_WRONLY);
    int rc = fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 1 << 16, 1 << 19);
    close(fd);
    NEEDS(rc >= 0);
    HELD(sample_list) l = read_all(set);
    assert_int_equal(l.count, 2);
    assert_int_equal(l.unread_bytes, 1 << 19);
}

TEST(follow__first_sample__seen_when_it_is_there)
{
    HELD_AT(reader_set) *set = set_of(&a_metric, 1), *none = set_of(NULL, 0);
    HELD_AT(output_reading) *r = output_reading_create(set), *nothing = output_reading_create(none);
    FILE *file = fopen("log", "w");
    fputs("v unknown\nv=", file);
    fflush(file);
    assert_false(follow(r, "log", 0));
    assert_false(output_reading_found_any(r));
    fputs("3\n", file);
    fclose(file);
    follow(r, "log", 0);
    assert_true(output_reading_found_any(r));
    assert_false(follow(nothing, "log", 0));
    assert_int_equal(output_reading_position(nothing), INT64_MAX);
    assert_false(follow(r, "/no/such/log", 0));
}

/* --- many --- */

TEST(many_metrics__each_step__last_and_extremes_are_exact)
{
    enum { METRICS = 21, STEPS = 50001 };
    HELD(sample_list) l = SAMPLE_LIST_INIT;
    char name[16];
    for (int m = 0; m < METRICS; m++) {
        snprintf(name, sizeof name, "m%d", m);
        sample_list_add_name(&l, name, (struct sample_filter){0, 0, 0});
    }
    for (int i = 0; i < STEPS; i++)
        for (int m = 0; m < METRICS; m++)
            sample_list_add(&l, (size_t)m, i, i == 777 ? -5 : i == 20001 ? 1e6 : i);
    sample_list_complete(&l);
    assert_true(l.count <= SAMPLES_MOST + METRICS);
    for (int m = 0; m < METRICS; m++) {
        struct summary s = sample_list_summarise(&l, (size_t)m, TAKE_LAST);
        assert_float_equal(s.value, STEPS - 1, 0);
        assert_float_equal(s.minimum, -5, 0);
        assert_float_equal(s.maximum, 1e6, 0);
        assert_int_equal(s.count, STEPS);
        assert_float_equal(s.median, STEPS / 2, 0.005 * STEPS);
    }
}

/* Every second step is slow: of evenly spaced samples all would be of one kind. */
TEST(many_samples__period_of_two__both_kinds_in_the_quantiles)
{
    HELD(sample_list) l = SAMPLE_LIST_INIT;
    sample_list_add_name(&l, "t", (struct sample_filter){0, 0, 0});
    for (int i = 0; i < 1000001; i++)
        sample_list_add(&l, 0, i, i % 2 ? 2 : 1 + i * 1e-9);
    sample_list_complete(&l);
    struct summary s = sample_list_summarise(&l, 0, TAKE_P90);
    assert_float_equal(s.value, 2, 0);
    assert_in_range((int64_t)(s.median * 1000), 1000, 1001);
}

TEST(sketch__values_in_any_order__within_the_stated_error)
{
    enum { COUNT = 1000000 };

    struct rng rng = rng_stream(3, 0);
    for (int order = 0; order < 4; order++) {
        HELD_AT(quantile_sketch) *q = quantile_sketch_create();
        for (int i = 0; i < COUNT; i++) {
            const double orders[] = {i, COUNT - 1 - i, (double)((i * 7919LL) % COUNT), (double)rng_below(&rng, COUNT)};
            quantile_sketch_add(q, orders[order]);
        }
        HELD_AT(quantile_sketch) *copy = quantile_sketch_copy(q);
        for (double share = 0; share <= 1; share += 0.05)
            assert_float_equal(quantile_sketch_at(copy, share), share * COUNT, 0.005 * COUNT);
    }
    assert_null(quantile_sketch_copy(NULL));
}

TESTS_APART()
