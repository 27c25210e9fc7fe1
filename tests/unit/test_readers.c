/* run: metrics out of logs and files, and their summaries. */
#include <inttypes.h>
#include <sys/stat.h>
#include <time.h>

#include "metrics/readers.h"
#include "unit_test.h"
#include "util/file.h"

static struct reader_set *set_of(const struct metric *metrics, size_t count)
{
    struct reader_set *set;
    const struct job_config job = {.metrics = (struct metric *)metrics, .metric_count = count};
    FAIL_IF(reader_set_create(&job, &set, &e));
    return set;
}

static struct metric regex_metric(const char *pattern)
{
    return (struct metric){.name = (char *)"speed", .reader = READER_REGEX, .pattern = (char *)pattern};
}

/* Returns what these metrics find where a log, or the file of the first, has this text. */
static struct sample_list read_with(const struct metric *metrics, size_t count, const char *text)
{
    HELD_AT(reader_set) *set = set_of(metrics, count);
    struct sample_list l;
    const char *path = metrics->file ? metrics->file : "log";
    put(path, text);
    readers_read(set, "log", NULL, ".", &l);
    unlink(path);
    return l;
}

static struct sample_list read_regex(const char *pattern, const char *text)
{
    const struct metric m = regex_metric(pattern);
    return read_with(&m, 1, text);
}

static struct sample_list read_metrics(const char *text)
{
    HELD_AT(reader_set) *set = set_of(NULL, 0);
    struct sample_list l;
    put("metrics.jsonl", text);
    readers_read(set, NULL, "metrics.jsonl", NULL, &l);
    return l;
}

/* Frees what was read: "NAME@STEP=VALUE …", and "!N" where N lines were malformed. */
static void assert_read(struct sample_list l, const char *expected)
{
    OWNED_BUFFER b = BUFFER_INIT;
    for (size_t i = 0; i < l.count; i++) {
        const struct sample *s = &l.samples[i];
        buffer_printf(&b, "%s@%" PRId64 "=%.17g ", l.names[s->metric], s->step, isnan(s->value) ? NAN : s->value);
    }
    if (l.malformed_lines > 0)
        buffer_printf(&b, "!%zu ", l.malformed_lines);
    sample_list_free(&l);
    OWNED char *wanted = xasprintf("%s%s", expected, *expected ? " " : "");
    assert_string_equal(buffer_text(&b), wanted);
}

TEST(readers__regex__one_sample_per_line_in_order)
{
    assert_read(read_regex("speed ([0-9.eE+-]+)", "speed 1.5\nnothing\nspeed 2e3 speed 9\nspeed -4\n"),
                "speed@0=1.5 speed@1=2000 speed@2=-4");
    assert_read(read_regex("([0-9.]+)it/s", " 10%| 1.5it/s\r 20%| 2.5it/s\r 30%| 3.5it/s"), /* a progress bar */
                "speed@0=1.5 speed@1=2.5 speed@2=3.5");
    assert_read(read_regex("[0-9]+$", "step 17\n"), "speed@0=17"); /* without a group the whole match */
}

/* The expression takes a part of the number: that is another number. */
TEST_ROWS(readers__part_of_a_number__no_sample_and_told, (const char *pattern, *line, *example),
          {"wps: +([0-9.,]+)", "wps: 1.01e+04  iter: 3", "speed: 1.01 of 1.01e+04"},
          {"loss ([-0-9.]+)", "loss -1.5e-05", "speed: 1.5 of 1.5e-05"},
          {"tps ([0-9]+)", "tps 12,345,678 mfu 3", "speed: 12 of 12,345,678"},
          {"tps ([0-9]+)", "tps 1,234.5", "speed: 1 of 1,234.5"},
          {"time ([0-9]+)", "time 118.61ms", "speed: 118 of 118.61"},
          {"time.*([0-9.]+)ms", "iter 20: time 118ms", "speed: 8 of 118"},
          {"time ([0-9])", "time 12", "speed: 1 of 12"},
          {"time [0-9]+", "time 1e+3", NULL}, /* no group: what it takes begins with no digit, and is no number */
          {"time ([0-9]+)[.]", "time 118.61ms", NULL}, {"time ([0-9]+)", "time 118.", NULL},
          {"time ([0-9]+)", "time 118, loss 3", NULL},
          {"time ([0-9]+)", "time 118,20 of 30", "speed: 118 of 118,20"}, /* a decimal comma */
          {"time ([0-9]+)", "time 1185,2 ms", "speed: 1185 of 1185,2"}, {"time ([0-9]+)", "time 1,2,3", NULL},
          {"time ([0-9]+)", "time 118e of 3", NULL}, {"layer0*([0-9]+)", "layer0012", NULL},
          {"time ([0-9]+)", "time 0x1F", "speed: 0 of 0x1F"}, {"time ([0-9]+)", "time 1_000", "speed: 1 of 1_000"},
          {"rank_([0-9]+)", "rank_1_000", NULL}, {"step ([0-9]+)", "step 7/8", NULL},
          {"^[0-9]+,([0-9]+)", "1,118,256", NULL}, {"^([0-9]+)", "118,256", NULL},
          {"speed ([0-9.]+)", "speed 118.5ms", NULL})
{
    HELD(sample_list) l = read_regex(row->pattern, row->line);
    assert_int_equal(l.cut_numbers, row->example != NULL);
    assert_string_equal(l.cut_example, row->example ? row->example : "");
    if (row->example)
        assert_int_equal(l.count, 0);
}

TEST(readers__numerator__over_what_is_read_or_the_fallback)
{
    struct metric own = {.reader = READER_REGEX, .pattern = (char *)"took ([0-9.]+)"};
    struct metric m = regex_metric("rate ([0-9.]+)");
    m.numerator = (char *)"config.json:batch.size";
    m.fallback = &own;
    put("config.json", "{\"batch\": {\"size\": 16}}");
    assert_read(read_with(&m, 1, "rate 4\nrate 0\nrate 8\ntook 7\n"), "speed@0=4 speed@1=2"); /* nothing is no time */
    put("config.json", "{\"batch\": \"auto\"}");
    assert_read(read_with(&m, 1, "rate 4\nrate 0\nrate 8\ntook 7\n"), "speed@0=7");
}

TEST(readers__sum__of_all_groups_or_nothing)
{
    struct metric m = regex_metric("f: ([^ ]+) b: ([^ ]+)( s: ([0-9.]+))?");
    m.sum = true;
    assert_read(read_with(&m, 1, "f: 1.5 b: 2 s: 3\n"), ""); /* " s: 3" is a group that is no number */
    m.pattern = (char *)"f: ([^ ]+) b: ([^ ]+)";
    assert_read(read_with(&m, 1, "f: 1.5 b: 2\nf: 1 b: none\nf: 1 b: 0.25\n"), "speed@0=3.5 speed@1=1.25");
}

/* --- one definition of a number --- */

/* Returns what the reader finds in a file of this text, which holds at most one number. NaN is one; NOTHING: none. */
#define NOTHING (-987.25)
static double number_in(struct metric m, const char *text)
{
    HELD(sample_list) l = read_with(&m, 1, text);
    assert_true(l.count <= 1);
    return l.count ? l.samples[0].value : NOTHING;
}

static void assert_number(const char *reader, const char *text, double found, double expected)
{
    if (isnan(expected) ? !isnan(found) : !(found == expected))
        fail_msg("%s reads \"%s\" as %g, not %g", reader, text, found, expected);
}

/* All readers of text take the same for a number. A key's number may have a unit, here of seconds. */
TEST_ROWS(readers__one_table_of_texts__the_same_number_for_all, (const char *text; double number, with_unit),
          {"12", 12, 12}, {"  12.5  ", 12.5, 12.5}, {"12.", 12, 12}, {".5", .5, .5}, {"12.5,", 12.5, 12.5},
          {"99%", 99, NOTHING}, /* no share of a time */
          {"+1e-3", 1e-3, 1e-3}, {"-1.5E+05", -1.5e5, -1.5e5}, {"0012", 12, 12}, {"1,234", 1234, 1234},
          {"12,345,678.5", 12345678.5, 12345678.5}, {"nan", NAN, NAN}, {"NaN", NAN, NAN},
          {"-inf", -INFINITY, -INFINITY}, {"Inf", INFINITY, INFINITY}, {"Infinity", INFINITY, INFINITY},
          {"-1e400", -INFINITY, -INFINITY}, {"1e-400", 0, 0}, {"", NOTHING, NOTHING}, {"0x1F", NOTHING, NOTHING},
          {"0xFF", NOTHING, NOTHING}, {"0b101", NOTHING, NOTHING}, {"1_000", NOTHING, NOTHING},
          {"1'000", NOTHING, NOTHING}, {"7/8", NOTHING, NOTHING}, {"2024-01-02", NOTHING, NOTHING},
          {"2024-Jan-02", NOTHING, NOTHING}, {"12:30:45", NOTHING, NOTHING}, {"1.2.3", NOTHING, NOTHING},
          {"1-2", NOTHING, NOTHING}, {"1.5e", NOTHING, NOTHING}, {"1.5e+", NOTHING, NOTHING},
          {"1.5D+03", NOTHING, NOTHING}, {"1,5", NOTHING, NOTHING}, {"0,123", NOTHING, NOTHING},
          {"1,23,456", NOTHING, NOTHING}, {"1234,567", NOTHING, NOTHING}, {",123", NOTHING, NOTHING},
          {"-", NOTHING, NOTHING}, {"--5", NOTHING, NOTHING}, {"none", NOTHING, NOTHING}, {"nano", NOTHING, NOTHING},
          {"info", NOTHING, NOTHING},
          {"0.333333333333333333333333333333333333333333333333333333333333333", NOTHING, NOTHING}, /* over 64 bytes */
          {"1.5k", NOTHING, 1500}, {"12ms", NOTHING, .012}, {"12 ms", NOTHING, .012}, {"12\xc2\xb5s", NOTHING, 12e-6},
          {"12ms3", NOTHING, NOTHING}, {"12GB", NOTHING, NOTHING}, {"12s/80s", NOTHING, NOTHING},
          {"3 step: 4", NOTHING, 3}, {"3 lr_0: 4", NOTHING, 3})
{
    struct metric regex = regex_metric("v=([^|]*)\\|"),
                  key = regex_metric("v: *([-+]?([.0-9]|[nN][aA][nN]|[iI][nN][fF]))");
    struct metric csv = {.name = (char *)"speed", .reader = READER_CSV, .path = (char *)"v", .file = (char *)"table"};
    key.is_key = true;
    key.unit = (char *)"s";
    const char *text = row->text;
    OWNED char *line = xasprintf("v=%s|\n", text), *named = xasprintf("v: %s\n", text);
    OWNED char *table = xasprintf("v,w\n\"%s\",x\n", text);
    assert_number("regex", text, number_in(regex, line), row->number);
    assert_number("csv", text, number_in(csv, table), row->number);
    assert_number("key", text, number_in(key, named), row->with_unit);
}

TEST(readers__csv__last_row_without_line_end)
{
    struct metric csv = {.name = (char *)"speed", .reader = READER_CSV, .path = (char *)"v", .file = (char *)"table"};
    assert_number("csv", "one row", number_in(csv, "step,v\n1,0.5"), 0.5);
    assert_number("csv", "quoted", number_in(csv, "step,v\n1,\"0.5\""), 0.5);
    assert_number("csv", "the header alone", number_in(csv, "step,v"), NOTHING);
    assert_number("csv", "cells that are missing", number_in(csv, "v,step,loss\n17,1"), NOTHING);
}

TEST(readers__binary_log__survived)
{
    struct metric m = regex_metric("speed ([0-9]+)");
    HELD_AT(reader_set) *set = set_of(&m, 1);
    char noise[200000];
    for (size_t i = 0; i < sizeof noise; i++)
        noise[i] = (char)(i * 7919 >> 3);
    memcpy(noise + 150000, "\nspeed 5\n", 9);
    FAIL_IF(file_write_atomic("log", noise, sizeof noise, &e));
    struct sample_list l;
    readers_read(set, "log", NULL, NULL, &l);
    assert_read(l, "speed@0=5");
}

TEST(reader_set__bad_pattern__said_with_its_place)
{
    struct metric m = regex_metric("speed (");
    m.at = (struct position){"a.toml", 7, 3};
    struct reader_set *set = NULL;
    struct error e = ERROR_INIT;
    const struct job_config job = {.metrics = &m, .metric_count = 1};
    assert_int_equal(reader_set_create(&job, &set, &e), -1);
    assert_int_equal(e.kind, ERROR_USAGE);
    assert_memory_equal(e.text, "a.toml:7:3: metric `speed`: ", 28);
    assert_null(set);
}

/* --- $MESHSWEEP_METRICS --- */

TEST_ROWS(readers__metrics_file__every_numeric_member, (const char *text, *read),
          {"{\"loss\": 2.5, \"step\": 10, \"note\": \"x\", \"deep\": {\"a\": 1}, \"ok\": true}\n\n"
           "{\"loss\": 2.25, \"speed\": 3}\n",
           "loss@10=2.5 loss@11=2.25 speed@0=3"},
          {"{\"a\\u0000b\": 1, \"c\": 2}\n{\"a\\\\u0000b\": 3}\n", "a\\u0000b@0=3 !1"}, /* with its line */
          {"{\"loss\": NaN, \"a\": Infinity, \"b\": -Infinity, \"c\": \"say NaN\"}\n"
           "{\"loss\": \"NaN\", \"q\\\"NaN\": 1}\n",
           "loss@0=nan a@0=inf b@0=-inf loss@1=nan q\"NaN@0=1"},
          {"{\"a\": 1}\nnot json\n[1, 2]\n{\"a\": 2} {\"a\": 3}\n{\"a\": 4}\n{\"a\": 5", "a@0=1 a@1=4 !4"},
          /* Odd steps are counted instead. */
          {"{\"a\": 1, \"step\": -5}\n{\"a\": 1, \"step\": 1e300}\n{\"a\": 1, \"step\": \"x\"}\n", "a@0=1 a@1=1 a@2=1"})
{
    assert_read(read_metrics(row->text), row->read);
}

/* A walk over the members, not a search for each: 100,000 took minutes. */
TEST(readers__metrics_file__a_line_of_many_members)
{
    FILE *file = fopen("metrics.jsonl", "w");
    for (int i = 0; i < 100000; i++)
        fprintf(file, "%s\"key_%d\": %d", i ? ", " : "{", i, i);
    fputs(", \"step\": 7}\n", file);
    fclose(file);
    HELD_AT(reader_set) *set = set_of(NULL, 0);
    HELD(sample_list) l;
    const clock_t begin = clock();
    readers_read(set, NULL, "metrics.jsonl", NULL, &l);
    assert_true((double)(clock() - begin) / CLOCKS_PER_SEC < 20);
    assert_int_equal(l.count, SAMPLE_NAMES_MOST);
    assert_int_equal(l.nameless, 100000 - SAMPLE_NAMES_MOST);
    assert_true(l.samples[999].step == 7 && l.samples[999].value == 999);
}

TEST(readers__a_name_per_step__bounded)
{
    FILE *file = fopen("metrics.jsonl", "w");
    for (int i = 0; i < 5000; i++)
        fprintf(file, "{\"loss_%d\": 1, \"same\": 2}\n", i);
    fclose(file);
    HELD_AT(reader_set) *set = set_of(NULL, 0);
    HELD(sample_list) l;
    readers_read(set, NULL, "metrics.jsonl", NULL, &l);
    assert_int_equal(l.name_count, 1000);
    assert_int_equal(l.count, 999 + 5000);
    assert_int_equal(l.nameless, 4001);
    assert_string_equal(l.names[l.samples[l.count - 1].metric], "same");
    assert_int_equal(l.samples[l.count - 1].step, 4999);
}

TEST(readers__files_that_are_missing_or_no_files__no_samples)
{
    assert_int_equal(mkfifo("fifo", 0600), 0);
    struct metric metrics[] =
        {regex_metric("x ([0-9]+)"),
         {.name = (char *)"j", .reader = READER_JSON, .path = (char *)"a", .file = (char *)"fifo"},
         {.name = (char *)"k", .reader = READER_JSONL, .path = (char *)"a", .file = (char *)"fifo"}};
    HELD_AT(reader_set) *set = set_of(metrics, 3);
    struct sample_list l;
    readers_read(set, "/no/such/log", "fifo", ".", &l);
    assert_int_equal(l.count, 0);
    assert_int_equal(l.name_count, 3);
    sample_list_free(&l);
}

/* --- JSON readers --- */

TEST_ROWS(readers__json_path__each_number_there, (enum reader_kind kind; const char *path, *text, *read),
          {READER_JSON, "a", "{\"a\": 1}", "speed@0=1"}, {READER_JSON, "a.b", "{\"a\": {\"b\": 2}}", "speed@0=2"},
          {READER_JSON, "a.0", "{\"a\": [6, 7]}", "speed@0=6"},
          {READER_JSON, "a.1.b", "{\"a\": [{\"b\": 1}, {\"b\": 3}]}", "speed@0=3"},
          {READER_JSON, "a.b", "{\"a.b\": 4}", "speed@0=4"},
          {READER_JSON, "x.a.b", "{\"x\": {\"a.b\": 5}}", "speed@0=5"},
          {READER_JSON, "a", "{\n \"a\":\n NaN\n}\n", "speed@0=nan"},
          {READER_JSON, "times", "{\"times\": [3, null, 1, 2]}", "speed@0=3 speed@1=1 speed@2=2"},
          {READER_JSON, "b", "{\"a\": 1}", ""}, {READER_JSON, "a.b", "{\"a\": [1, 2]}", ""},
          {READER_JSON, "a.5", "{\"a\": [1, 2]}", ""}, {READER_JSON, "a.-1", "{\"a\": [1, 2]}", ""},
          {READER_JSON, "a", "{\"a\": \"1\"}", ""}, {READER_JSON, "a", "{\"a\": true}", ""},
          {READER_JSON, "a", "{\"a\": 1", ""}, {READER_JSON, "a", "", ""},
          {READER_JSONL, "m.v", "{\"step\": 5, \"m\": {\"v\": 1}}\nhello\n{\"m\": {\"v\": 2}}\n{\"m\"",
           "speed@5=1 speed@6=2 !2"})
{
    const struct metric m = {.name = (char *)"speed",
                             .reader = row->kind,
                             .path = (char *)row->path,
                             .file = (char *)"out.json"};
    assert_read(read_with(&m, 1, row->text), row->read);
}

TEST(readers__json_lines_in_the_log__other_output_is_no_fault)
{
    const struct metric metrics[] = {{.name = (char *)"a", .reader = READER_JSONL, .path = (char *)"a"},
                                     {.name = (char *)"b", .reader = READER_JSONL, .path = (char *)"b"}};
    assert_read(read_with(metrics, 2, "starting\n  {\"a\": 1, \"b\": 2}\n[1]\n{torn\n{\"b\": 3}\n"),
                "a@0=1 b@0=2 b@1=3 !1");
}

/* --- summaries --- */

static struct summary summary_of(enum take take, int64_t warmup, const double *values, size_t count)
{
    HELD(sample_list) l = SAMPLE_LIST_INIT;
    sample_list_add_name(&l, "v", (struct sample_filter){warmup, 0, 0});
    for (size_t i = 0; i < count; i++)
        sample_list_add(&l, 0, -1, values[i]);
    sample_list_complete(&l);
    struct summary s = sample_list_summarise(&l, 0, take);
    return s;
}

TEST(summarise__known_values__each_statistic)
{
    static const double values[] = {100, 4, 1, 3, 2};
    struct summary s = summary_of(TAKE_MEDIAN, 1, values, 5);
    assert_int_equal(s.count, 4);
    assert_float_equal(s.value, 2.5, 0);
    assert_float_equal(s.median, 2.5, 0);
    assert_float_equal(s.mean, 2.5, 0);
    assert_float_equal(s.minimum, 1, 0);
    assert_float_equal(s.maximum, 4, 0);
    assert_float_equal(s.p90, 3.7, 1e-12);
    assert_float_equal(s.stddev, sqrt(5.0 / 3), 1e-12);
    assert_float_equal(summary_of(TAKE_LAST, 1, values, 5).value, 2, 0);
    assert_float_equal(summary_of(TAKE_MAX, 1, values, 5).value, 4, 0);
    assert_float_equal(summary_of(TAKE_MIN, 1, values, 5).value, 1, 0);
    assert_float_equal(summary_of(TAKE_MEAN, 0, values, 5).value, 22, 0);
    assert_float_equal(summary_of(TAKE_P90, 1, values, 5).value, 3.7, 1e-12);
}

TEST(summarise__warm_up_takes_all__the_last_stays)
{
    static const double values[] = {5, 6, 7};
    struct summary s = summary_of(TAKE_MEDIAN, 3, values, 3);
    assert_int_equal(s.count, 1);
    assert_float_equal(s.value, 7, 0);
    assert_float_equal(s.stddev, 0, 0);
    s = summary_of(TAKE_MEDIAN, INT64_MAX, values, 3);
    assert_int_equal(s.count, 1);
    assert_int_equal(summary_of(TAKE_MEDIAN, 2, NULL, 0).reported, 0);
    assert_true(isnan(summary_of(TAKE_MEDIAN, 2, NULL, 0).value));
}

TEST(summarise__not_finite__counted_and_left_out)
{
    static const double first[] = {NAN, 1, 2}, last[] = {1, 0.5, NAN}, none[] = {NAN, INFINITY, -INFINITY};
    struct summary s = summary_of(TAKE_MEDIAN, 0, first, 3);
    assert_float_equal(s.value, 1.5, 0);
    assert_int_equal(s.count, 2);
    assert_int_equal(s.not_finite, 1);
    assert_int_equal(s.reported, 3);
    assert_true(s.ended_finite);
    assert_int_equal(summary_of(TAKE_MEDIAN, 1, first, 3).not_finite, 0);
    assert_float_equal(summary_of(TAKE_LAST, 0, first, 3).value, 2, 0);
    s = summary_of(TAKE_MIN, 0, last, 3);
    assert_float_equal(s.value, 0.5, 0);
    assert_false(s.ended_finite);
    assert_true(isnan(summary_of(TAKE_LAST, 0, last, 3).value));
    s = summary_of(TAKE_MEAN, 0, none, 3);
    assert_true(isnan(s.value) && isnan(s.maximum) && isnan(s.p90));
    assert_int_equal(s.count, 0);
    assert_int_equal(s.not_finite, 3);
}

TEST(thin__a_million_steps__even_with_first_and_last_and_exact_statistics)
{
    enum { STEPS = 1000000 };
    HELD(sample_list) l = SAMPLE_LIST_INIT;
    for (int i = 0; i < 3; i++)
        sample_list_add_name(&l, (const char *[]){"a", "b", "c"}[i], (struct sample_filter){i, 0, 0});
    for (int i = 0; i < STEPS; i++) {
        sample_list_add(&l, 0, i, i);
        sample_list_add(&l, 1, i, i == 12345 ? 1e9 : 1);
    }
    sample_list_add(&l, 2, 0, 7);
    sample_list_complete(&l);
    assert_true(l.count <= SAMPLES_MOST + 2 && l.count > SAMPLES_MOST / 4);
    int64_t stride = l.series[0].stride, before = -1, last = -1;
    size_t rare = 0;
    for (size_t i = 0; i < l.count; i++) {
        rare += l.samples[i].metric == 2;
        if (l.samples[i].metric != 0)
            continue;
        assert_true(before < 0 ? l.samples[i].step == 0
                               : l.samples[i].step == before + stride || l.samples[i].step == STEPS - 1);
        before = last = l.samples[i].step;
    }
    assert_int_equal(last, STEPS - 1);
    assert_int_equal(rare, 1);
    struct summary s = sample_list_summarise(&l, 0, TAKE_MEAN);
    assert_float_equal(s.value, (STEPS - 1) / 2.0, 1e-6);
    assert_float_equal(s.median, 0.5 * STEPS, 0.005 * STEPS);
    assert_float_equal(s.p90, 0.9 * STEPS, 0.005 * STEPS);
    assert_int_equal(s.count, STEPS);
    s = sample_list_summarise(&l, 1, TAKE_MAX);
    assert_float_equal(s.value, 1e9, 0);
    assert_int_equal(s.count, STEPS - 1);
    assert_float_equal(sample_list_summarise(&l, 2, TAKE_MEDIAN).value, 7, 0);
}

TESTS_APART()
