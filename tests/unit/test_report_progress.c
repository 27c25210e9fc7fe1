/* report: progress as a line for a terminal, a line for a log and JSON. */
#include <cjson/cJSON.h>

#include "report/progress.h"
#include "report/text.h"
#include "unit_test.h"
#include "util/utf8.h"

static const struct run_counts counts = {
    .total = 456,
    .ok_now = 110,
    .failed_now = 3,
    .failed = 4,
    .running = 4,
    .pending = 329,
    .to_come = 329,
    .elapsed_ms = 90000,
    .has_best = true,
    .best = 45.25,
    .best_job_id = 7,
    .failures = {[FAILURE_OOM] = 2, [FAILURE_TIMEOUT] = 1},
};

static const struct sweep_progress half = {
    .counts = &counts,
    .jobs_per_second = 12.34,
    .eta_ms = 200000,
    .best_unit = "samples/s",
    .objective = "throughput",
};

static const struct run_counts waiting = {.total = 8, .pending = 8, .to_come = 8};
static const struct sweep_progress begun = {.counts = &waiting, .eta_ms = -1, .jobs_per_second = NAN};

static void check_line(const struct sweep_progress *p, size_t columns, bool ascii, const char *expected)
{
    OWNED_BUFFER out = BUFFER_INIT;
    progress_add_line(p, columns, ascii, &out);
    assert_string_equal(buffer_text(&out), expected);
}

TEST(line__wide_terminal__everything_with_a_bar)
{
    check_line(&half, 200, true,
               "[#######.....................]   26%  123/456  4 failed  4 running  12.3 jobs/s  eta 3m20s  "
               "best 45.25 samples/s (job 7)");
    check_line(&begun, 30, false, "[░░░░░░░░░░░░░░░░░]    0%  0/8");
}

TEST(line__narrower__parts_left_out_in_order)
{
    check_line(&half, 88, true,
               " 26%  123/456  4 failed  4 running  12.3 jobs/s  eta 3m20s  best 45.25 samples/s (job 7)");
    check_line(&half, 87, true,
               "[######...................]   26%  123/456  4 failed  4 running  12.3 jobs/s  eta 3m20s");
    check_line(&half, 58, true, " 26%  123/456  4 failed  4 running  12.3 jobs/s  eta 3m20s");
    check_line(&half, 57, true, "[##......]   26%  123/456  4 failed  4 running  eta 3m20s");
    check_line(&half, 44, true, " 26%  123/456  4 failed  eta 3m20s");
    check_line(&half, 34, true, " 26%  123/456  4 failed  eta 3m20s");
    check_line(&half, 33, true, "123/456  4 failed  eta 3m20s");
    check_line(&half, 18, true, "123/456  4 failed");
    check_line(&half, 16, true, "123/456");
    check_line(&half, 6, true, "123...");
    check_line(&half, 6, false, "123/4…");
    check_line(&half, 0, true, "");
}

TEST(line__long_unit__cut_at_40_columns)
{
    const struct run_counts c = {.total = 1, .pending = 1, .has_best = true, .best = 2};
    const struct sweep_progress p = {.counts = &c,
                                     .eta_ms = -1,
                                     .best_unit = "0123456789012345678901234567890123456789x"};
    check_line(&p, 71, true, "  0%  0/1  best 2 0123456789012345678901234567890123456... (job 0)");
}

TEST(line__any_width__never_wider)
{
    struct sweep_progress p = half;
    p.best_unit = "モデル\x1B[2J\xFF\n\xE2\x80\xAE very long unit that goes on and on and on";
    for (size_t columns = 0; columns < 250; columns++) {
        for (int ascii = 0; ascii < 2; ascii++) {
            OWNED_BUFFER out = BUFFER_INIT;
            progress_add_line(&p, columns, ascii, &out);
            assert_true(text_columns(buffer_text(&out), out.length) <= columns);
            for (size_t i = 0; i < out.length; i++)
                assert_true((unsigned char)out.data[i] >= ' ' && (!ascii || (unsigned char)out.data[i] < 0x7F));
            assert_int_equal(utf8_first_invalid(buffer_text(&out), out.length), out.length);
        }
    }
}

TEST_ROWS(line__nothing_to_do_or_all_done__no_division,
          (struct run_counts counts; int64_t eta_ms; size_t columns; const char *line), {{0}, -1, 80, "0/0"},
          {{.total = 3, .ok_now = 2, .failed_now = 1, .failed = 1},
           0,
           60,
           "[############################]  100%  3/3  1 failed"},
          {{.total = 1000, .ok_now = 999, .pending = 1}, -1, 16, " 99%  999/1000"})
{
    check_line(&(struct sweep_progress){.counts = &row->counts, .eta_ms = row->eta_ms}, row->columns, true, row->line);
}

TEST_ROWS(line__rates__unit_in_which_they_can_be_read, (double rate; const char *line),
          {2345.6, "  0%  0/9  2346 jobs/s"}, {1, "  0%  0/9  1.0 jobs/s"}, {0.5, "  0%  0/9  30.0 jobs/min"},
          {0.001, "  0%  0/9  3.6 jobs/h"}, {1e-5, "  0%  0/9  0.036 jobs/h"}, {0, "  0%  0/9"}, {-1, "  0%  0/9"},
          {INFINITY, "  0%  0/9"})
{
    const struct run_counts c = {.total = 9, .pending = 9};
    struct sweep_progress p = {.counts = &c, .eta_ms = -1};
    p.jobs_per_second = row->rate;
    check_line(&p, strlen(row->line), true, row->line);
}

static void check_plain(const struct sweep_progress *p, const char *expected)
{
    OWNED_BUFFER out = BUFFER_INIT;
    progress_add_plain(p, &out);
    assert_string_equal(buffer_text(&out), expected);
}

TEST(plain__all_and_little__complete_line)
{
    check_plain(&half, "123/456 done (26%): 119 ok (9 before), 4 failed (2 oom, 1 timeout, 1 before), 4 running, 329 "
                       "pending; 1m30s elapsed, 12.3 jobs/s, eta 3m20s; best 45.25 samples/s (job 7)");
    const struct run_counts before = {.total = 12, .elapsed_ms = 94}, held = {.total = 3, .failed = 2, .held = 1};
    check_plain(&(struct sweep_progress){.counts = &before, .eta_ms = -1},
                "12/12 done (100%): 12 ok, nothing to run; 94ms elapsed");
    check_plain(&(struct sweep_progress){.counts = &held, .held_for = "a server"},
                "2/3 done (66%): 0 ok, 2 failed (2 before), 1 held (a server); 0ms elapsed");
    check_plain(&begun, "0/8 done (0%): 0 ok, 8 pending; 0ms elapsed");
}

TEST(plain__hostile_unit__one_line)
{
    const struct run_counts c = {.total = 8, .pending = 8, .to_come = 8, .has_best = true, .best = NAN};
    check_plain(&(struct sweep_progress){.counts = &c, .eta_ms = -1, .best_unit = "a\nb\x1B[2J"},
                "0/8 done (0%): 0 ok, 8 pending; 0ms elapsed; best NaN a\\nb\\x1b[2J (job 0)");
}

#define BEGIN "{\"event\":\"progress\",\"schema_version\":1,"

static void check_json(const struct sweep_progress *p, const char *expected)
{
    OWNED_BUFFER out = BUFFER_INIT;
    progress_add_json(EVENT_PROGRESS, p, &out);
    assert_string_equal(buffer_text(&out), expected);
    cJSON *parsed = cJSON_Parse(buffer_text(&out));
    assert_non_null(parsed);
    cJSON_Delete(parsed);
}

TEST(json__all_and_little__one_object)
{
    check_json(&half, BEGIN "\"total\":456,\"done\":123,\"ok\":110,\"failed\":3,\"skipped\":10,\"pruned\":0,\"held\":0,"
                            "\"running\":4,\"waiting\":0,\"being_recorded\":0,"
                            "\"pending\":329,"
                            "\"elapsed_ms\":90000,\"jobs_per_second\":12.34,\"eta_ms\":200000,"
                            "\"best\":{\"job\":7,\"objective\":\"throughput\",\"value\":45.25,\"unit\":\"samples/s\"},"
                            "\"failure_classes\":{\"oom\":2,\"timeout\":1}}");
    check_json(&begun,
               BEGIN "\"total\":8,\"done\":0,\"ok\":0,\"failed\":0,\"skipped\":0,\"pruned\":0,\"held\":0,"
                     "\"running\":0,\"waiting\":0,\"being_recorded\":0,\"pending\":8,"
                     "\"elapsed_ms\":0,\"jobs_per_second\":null,\"eta_ms\":null,\"best\":null,\"failure_classes\":{}}");
}

TEST(json__best_not_finite_and_unnamed__nulls)
{
    const struct run_counts c = {.total = 8, .pending = 8, .to_come = 8, .has_best = true, .best = -INFINITY};
    check_json(&(struct sweep_progress){.counts = &c, .eta_ms = -1, .best_unit = ""},
               BEGIN "\"total\":8,\"done\":0,\"ok\":0,\"failed\":0,\"skipped\":0,\"pruned\":0,\"held\":0,\"running\":0,"
                     "\"waiting\":0,\"being_recorded\":0,"
                     "\"pending\":8,"
                     "\"elapsed_ms\":0,\"jobs_per_second\":null,\"eta_ms\":null,"
                     "\"best\":{\"job\":0,\"objective\":null,\"value\":null,\"unit\":null},\"failure_classes\":{}}");
}

TEST_ROWS(eta__magnitudes__rounded_up, (int64_t ms; const char *text), {-1, "unknown"}, {0, "<1s"}, {999, "<1s"},
          {1000, "1s"}, {1001, "2s"}, {59000, "59s"}, {59001, "1m00s"}, {200000, "3m20s"}, {200001, "3m21s"},
          {7500000, "2h05m"}, {367200000, "4d06h"}, {INT64_C(99) * 86400000, "99d00h"},
          {INT64_C(99) * 86400000 + 1, ">99d"}, {INT64_MAX, ">99d"})
{
    char text[32];
    assert_string_equal(progress_format_eta(row->ms, text, sizeof text), row->text);
}
