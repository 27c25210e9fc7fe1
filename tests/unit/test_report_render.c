/* report: what each format makes of rows, exactly; errors of rows and sinks. */
#include "report/render.h"
#include "report_fixture.h"
#include "unit_test.h"

static const char *const names[] = {"name", "zero_stage", "throughput", NULL};
static const char *const units[] = {NULL, "", "samples/s"};

static const struct cell ordinary[] = {
    TEXT("tiny"), INT(0),  FLOAT(12.5),    //
    TEXT("wide"), INT(-3), FLOAT(1.0 / 3), //
    TEXT(""),     NONE,    NONE,           //
};

static const struct cell hostile[] = {
    TEXT("=cmd|' /C calc'!A0"),
    TEXT("a\"b,c"),
    TEXT("one\r\ntwo"), //
    TEXT("nul\0byte"),
    TEXT("bad\xFF\xC0\xAFutf"),
    TEXT("\xE2\x80\xAE"
         "right"), //
    FLOAT(NAN),
    FLOAT(INFINITY),
    FLOAT(-INFINITY), //
    TEXT("'=x"),
    TEXT("a|b*c_d_ `e` <f>\\"),
    TEXT("tab\there\x1B[2J"), //
};

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})
#define CELLS(...) ((const struct cell[]){__VA_ARGS__})
#define EXPECTED(text) text, sizeof(text) - 1

/* NULL is apart from empty, cells that are hostile to a format's readers are quoted, guarded or escaped. */
TEST_ROWS(
    every_format__rows__exactly,
    (render_function * render; const char *const *header, *const *units; const struct cell *cells; size_t rows;
     struct render_options options; const char *expected; size_t bytes /* NULs among them */),
    {render_csv, names, units, ordinary, 3, RENDER_OPTIONS_INIT,
     EXPECTED("name,zero_stage,throughput\r\n"
              "tiny,0,12.5\r\n"
              "wide,-3,0.3333333333333333\r\n"
              "\"\",,\r\n")},
    {render_csv, names, units, hostile, 4, RENDER_OPTIONS_INIT,
     EXPECTED("name,zero_stage,throughput\r\n"
              "'=cmd|' /C calc'!A0,\"a\"\"b,c\",\"one\r\ntwo\"\r\n"
              "\"nul\0byte\",bad\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBDutf,\xE2\x80\xAE"
              "right\r\n"
              "NaN,Infinity,'-Infinity\r\n"
              "''=x,a|b*c_d_ `e` <f>\\,\"tab\there\x1B[2J\"\r\n")},
    {render_csv, names, NULL, ordinary, 1, {.lf = true}, EXPECTED("name,zero_stage,throughput\ntiny,0,12.5\n")},
    {render_csv, LIST("-x", "(pp, tp)"), NULL, NULL, 0, RENDER_OPTIONS_INIT, EXPECTED("'-x,\"(pp, tp)\"\r\n")},
    /* Blanks and a byte order mark are quoted for other readers. */
    {render_csv,
     LIST("\xEF\xBB\xBFname", "b c"),
     NULL,
     CELLS(TEXT(" x"), TEXT("x "), TEXT("x y"), TEXT(" ")),
     2,
     {.lf = true},
     EXPECTED("\"\xEF\xBB\xBFname\",b c\n\" x\",\"x \"\nx y,\" \"\n")},
    {render_tsv, names, units, ordinary, 3, RENDER_OPTIONS_INIT,
     EXPECTED("name\tzero_stage\tthroughput\n"
              "tiny\t0\t12.5\n"
              "wide\t-3\t0.3333333333333333\n"
              "\t\\N\t\\N\n")},
    {render_tsv, names, units, hostile, 4, RENDER_OPTIONS_INIT,
     EXPECTED("name\tzero_stage\tthroughput\n"
              "'=cmd|' /C calc'!A0\ta\"b,c\tone\\r\\ntwo\n"
              "nul\\0byte\tbad\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBDutf\t\xE2\x80\xAE"
              "right\n"
              "NaN\tInfinity\t'-Infinity\n"
              "''=x\ta|b*c_d_ `e` <f>\\\\\ttab\\there\x1B[2J\n")},
    {render_json, names, units, ordinary, 3, RENDER_OPTIONS_INIT,
     EXPECTED("[\n{\"name\":\"tiny\",\"zero_stage\":0,\"throughput\":12.5},\n"
              "{\"name\":\"wide\",\"zero_stage\":-3,\"throughput\":0.3333333333333333},\n"
              "{\"name\":\"\",\"zero_stage\":null,\"throughput\":null}\n]\n")},
    {render_json, names, units, NULL, 0, RENDER_OPTIONS_INIT, EXPECTED("[]\n")},
    {render_jsonl, names, units, NULL, 0, RENDER_OPTIONS_INIT, EXPECTED("")},
    {render_jsonl, names, units, hostile, 4, RENDER_OPTIONS_INIT,
     EXPECTED("{\"name\":\"=cmd|' /C calc'!A0\",\"zero_stage\":\"a\\\"b,c\",\"throughput\":\"one\\u000d\\ntwo\"}\n"
              "{\"name\":\"nul\\u0000byte\",\"zero_stage\":\"bad\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBDutf\","
              "\"throughput\":\"\xE2\x80\xAE"
              "right\"}\n"
              "{\"name\":\"NaN\",\"zero_stage\":\"Infinity\",\"throughput\":\"-Infinity\"}\n"
              "{\"name\":\"'=x\",\"zero_stage\":\"a|b*c_d_ `e` <f>\\\\\",\"throughput\":\"tab\\there\\u001b[2J\"}\n")},
    {render_markdown, names, units, ordinary, 3, RENDER_OPTIONS_INIT,
     EXPECTED("| name | zero_stage | throughput (samples/s) |\n"
              "| --- | --- | --- |\n"
              "| tiny | 0 | 12.5 |\n"
              "| wide | -3 | 0.333333 |\n"
              "|  |  |  |\n")},
    {render_markdown, names, units, hostile, 4, RENDER_OPTIONS_INIT,
     EXPECTED("| name | zero_stage | throughput (samples/s) |\n"
              "| --- | --- | --- |\n"
              "| =cmd\\|' /C calc'!A0 | a\"b,c | one<br>two |\n"
              "| nul\\\\x00byte | bad\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBDutf | \\\\u202eright |\n"
              "| NaN | Infinity | -Infinity |\n"
              "| '=x | a\\|b\\*c_d\\_ \\`e\\` \\<f\\>\\\\ | tab\\\\there\\\\x1b\\[2J |\n")},
    {render_table, names, units, ordinary, 3, RENDER_OPTIONS_INIT,
     EXPECTED("name  zero_stage  throughput (samples/s)\n"
              "────  ──────────  ──────────────────────\n"
              "tiny           0                    12.5\n"
              "wide          -3                0.333333\n"
              "\n")},
    {render_table, names, units, hostile, 4, RENDER_OPTIONS_INIT,
     EXPECTED("name                zero_stage         throughput (samples/s)\n"
              "──────────────────  ─────────────────  ──────────────────────\n"
              "=cmd|' /C calc'!A0  a\"b,c              one\\r\\ntwo\n"
              "nul\\x00byte         bad\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBDutf          \\u202eright\n"
              "               NaN           Infinity               -Infinity\n"
              "'=x                 a|b*c_d_ `e` <f>\\  tab\\there\\x1b[2J\n")},
    /* Wide and combining characters are aligned by columns. */
    {render_table, LIST("名", "n"), NULL,
     CELLS(TEXT("モデル"), INT(1),
           TEXT("e\xCC\x81"
                "a"),
           INT(20)),
     2, RENDER_OPTIONS_INIT,
     EXPECTED("名       n\n"
              "──────  ──\n"
              "モデル   1\n"
              "e\xCC\x81"
              "a      20\n")},
    {render_table,
     LIST("é", "n"),
     NULL,
     CELLS(TEXT("abcdefghijkl"), INT(1), TEXT("\xF0\x9F\x98\x80"), INT(2)),
     2,
     {.ascii = true, .cell_width = 10},
     EXPECTED("\\u00e9      n\n"
              "----------  -\n"
              "abcdefg...  1\n"
              "\\U0001f600  2\n")},
    {render_table,
     LIST("name"),
     NULL,
     CELLS(TEXT("abcdef"), TEXT("abcdefg"), TEXT("日本語日")),
     3,
     {.cell_width = 6},
     EXPECTED("name\n──────\nabcdef\nabcde…\n日本…\n")},
    {render_table, LIST("long title", "b"), NULL, CELLS(NONE, INT(1), NONE, TEXT("x")), 2, RENDER_OPTIONS_INIT,
     EXPECTED("long title  b\n──────────  ─\n            1\n            x\n")})
{
    OWNED char *text = fixture_render(row->render, row->cells, row->rows, row->header, row->units, row->options);
    if (memcmp(text, row->expected, row->bytes + 1) != 0)
        fail_msg("\n%s\ninstead of\n%s", text, row->expected);
}

TEST(table__widest_rows_in_and_after_the_sample__aligned_and_whole)
{
    static const char *const two[] = {"n", "m", NULL};
    static const char begin[] = "  n  m\n───  ─\n  1  7\n", end[] = "\n100  7\n  1  7\n123456  7\n";
    OWNED struct cell *cells = xcalloc(2 * 1002, sizeof *cells);
    for (size_t i = 0; i < 1002; i++) {
        cells[2 * i] = (struct cell)INT(i == 1001 ? 123456 : i == 999 ? 100 : 1);
        cells[2 * i + 1] = (struct cell)INT(7);
    }
    OWNED char *text = fixture_render(render_table, cells, 1002, two, NULL, (struct render_options)RENDER_OPTIONS_INIT);
    assert_memory_equal(text, begin, strlen(begin));
    assert_string_equal(text + strlen(text) - strlen(end), end);
}

/* Many rows are offered; a failing sink must end the reading long before. */
static int endless_next(void *context, struct cell *cells, struct error *e)
{
    struct fixture_rows *f = context;
    (void)e;
    for (size_t i = 0; i < 3; i++)
        cells[i] = ordinary[i];
    return ++f->calls <= 120000;
}

/* Rows that cannot be read, disks that are full soon, and at the last write. A workbook is whole before its first
 * byte. */
TEST_ROWS(every_format__row_or_sink_that_fails__passed_through_and_stopped,
          (const char *text; bool endless; size_t row_fails_at, room; size_t rows_most, writes),
          {"row 2 cannot be read", false, 2, NEVER, 3, 0},
          {"out.csv: No space left on device", true, NEVER, 1, 99999, 2},
          {"out.csv: No space left on device", false, NEVER, 0, 99999, 1})
{
    for (const struct report_format *format = report_formats; format->name; format++) {
        struct fixture_rows f = {ordinary, 3, 3, row->row_fails_at, 0, 0};
        struct fixture_sink s = {BUFFER_INIT, row->room, 0};
        struct row_source rows = fixture_source(3, names, units, &f);
        rows.next = row->endless ? endless_next : rows.next;
        struct render_options options = RENDER_OPTIONS_INIT;
        struct error e = ERROR_INIT;
        assert_int_equal(format->render(&rows, &options, &(struct report_sink){fixture_write, &s}, &e), -1);
        assert_string_equal(e.text, row->text);
        assert_int_equal(e.kind, ERROR_FAILED);
        assert_true(f.calls <= row->rows_most || (row->endless && format->render == render_xlsx));
        assert_true(row->writes == 0 || s.calls == row->writes);
        buffer_free(&s.text);
    }
}

TEST(every_format__megabyte_text_and_no_limit__bounded_lines)
{
    size_t length = 3u << 20;
    OWNED char *text = xmalloc(length);
    memset(text, '"', length);
    struct cell cells[] =
        {{.kind = CELL_TEXT, .text = text, .length = length}, INT(1), INT(2), TEXT("x"), INT(1), INT(2)};
    for (const struct report_format *format = report_formats; format->name; format++) {
        OWNED char *out =
            fixture_render(format->render, cells, 2, names, NULL, (struct render_options){.cell_width = 0});
        /* A cell of a workbook holds less, and that is packed. */
        assert_true(strlen(out) >= length || format->render == render_xlsx);
        assert_true(strlen(out) <= 2 * length + 100000);
    }
}

TEST(report_format_find__known_and_unknown__hint)
{
    struct error e = ERROR_INIT;
    const struct report_format *format = NULL;
    assert_int_equal(report_format_find("jsonl", &format, &e), 0);
    assert_ptr_equal(format->render, render_jsonl);
    format = NULL;
    assert_int_equal(report_format_find("markdwon", &format, &e), -1);
    assert_null(format);
    assert_int_equal(e.kind, ERROR_USAGE);
    assert_string_equal(e.text, "unknown format 'markdwon'; did you mean 'markdown'? "
                                "(table, csv, tsv, json, jsonl, markdown, xlsx)");
    assert_int_equal(report_format_find("xml-pretty", &format, &e), -1);
    assert_string_equal(e.text, "unknown format 'xml-pretty' (table, csv, tsv, json, jsonl, markdown, xlsx)");
}
